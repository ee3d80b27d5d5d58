// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What calls of the C library return, as errors of this crate. The headers name the codes of each
//! call; a code that they do not name is reported as what it is, never as another error.
//!
//! | calls | 0 | errors |
//! |---|---|---|
//! | init, create | done | `-ENOMEM`: the allocation failed, as of a `Box`; others: panic |
//! | insert (index, intervals) | done | [`refusal`] |
//! | find, erase, replace, rank, select | found | [`found`] |
//! | erase_if, replace_if | done | [`unchanged`] |
//! | spaces | done | [`allocation`] |
use lathwork_sys as sys;

use crate::error::{AllocError, Reason};

/// The result of an insert. `overlaps` is called if the index has named an item that is there.
pub(crate) fn refusal(code: sys::c_int, overlaps: impl FnOnce() -> Reason) -> Result<(), Reason> {
    match code.wrapping_neg() {
        0 => Ok(()),
        sys::EEXIST => Err(overlaps()),
        sys::ENOMEM => Err(Reason::NoMemory),
        sys::E2BIG => Err(Reason::TooLong),
        other => Err(Reason::Other(other)),
    }
}

/// Whether a search, an erase or a replacement has found its entry.
///
/// # Panics
///
/// If the call has failed for another reason than that there is none.
pub(crate) fn found(code: sys::c_int) -> bool {
    match code.wrapping_neg() {
        0 => true,
        sys::ENOENT => false,
        other => panic!("lathwork: a search returned errno {other}"),
    }
}

/// Whether a change that expects an entry has found it so.
pub(crate) fn unchanged(code: sys::c_int) -> bool {
    code != -sys::EAGAIN && found(code)
}

/// The result of a call of a space.
pub(crate) fn allocation(code: sys::c_int) -> Result<(), AllocError> {
    match code.wrapping_neg() {
        0 => Ok(()),
        sys::ENOSPC => Err(AllocError::NoSpace),
        sys::EBUSY => Err(AllocError::Taken),
        sys::EINVAL => Err(AllocError::Invalid),
        sys::ENOMEM => Err(AllocError::NoMemory),
        other => Err(AllocError::Other(other)),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    /// Each code that a call might return, and others.
    #[test]
    fn all_codes() {
        for code in (-4095..=4095).chain([sys::c_int::MIN, sys::c_int::MAX]) {
            let (errno, there) = (code.wrapping_neg(), Reason::Overlaps(1..=2));
            let inserted = match errno {
                0 => Ok(()),
                7 => Err(Reason::TooLong),
                12 => Err(Reason::NoMemory),
                17 => Err(there.clone()),
                _ => Err(Reason::Other(errno)),
            };
            assert_eq!(refusal(code, || there), inserted, "{code}");
            let allocated = match errno {
                0 => Ok(()),
                12 => Err(AllocError::NoMemory),
                16 => Err(AllocError::Taken),
                22 => Err(AllocError::Invalid),
                28 => Err(AllocError::NoSpace),
                _ => Err(AllocError::Other(errno)),
            };
            assert_eq!(allocation(code), allocated, "{code}");
        }
    }

    #[test]
    fn of_searches() {
        assert!(found(0) && !found(-2) && !unchanged(-11));
        for code in [-133, -12, -1, 1, 3] {
            let panic = std::panic::catch_unwind(|| found(code)).unwrap_err();
            let text = panic.downcast::<std::string::String>().unwrap();
            assert!(text.ends_with(&std::format!(" {}", -code)), "{text}");
        }
    }
}
