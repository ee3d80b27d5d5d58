// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Why a call on a store failed.
use alloc::string::{String, ToString};
use core::fmt;
use std::ffi::{CStr, CString};
use std::io;

use lathwork_sys as sys;
use lathwork_sys as c;

/// Why a call on a [`Store`](crate::Store) failed. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The machine has no more memory.
    NoMemory,
    /// The store's limit is reached, and nothing may or can be evicted.
    Full,
    /// The key is longer than 65535 bytes, or the value than 2^40.
    TooLong,
    /// The value is not a number.
    NotNumber,
    /// The number does not fit in 64 bits.
    Overflow,
    /// The store was opened to be read only.
    ReadOnly,
    /// A store of this kind or without versions cannot do it.
    Unsupported,
    /// What a file, a shared object or the system refuse.
    System {
        /// The error of the system.
        errno: i32,
        /// What was wrong, in words.
        reason: String,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StoreError::NoMemory => "there is no memory",
            StoreError::Full => "the limit of the store is reached",
            StoreError::TooLong => "the key has more than 65535 bytes, or the value 2^40",
            StoreError::NotNumber => "the value is not a number",
            StoreError::Overflow => "the number does not fit in 64 bits",
            StoreError::ReadOnly => "the store is read only",
            StoreError::Unsupported => "this store cannot do it",
            StoreError::System { reason, .. } => reason,
        })
    }
}

impl std::error::Error for StoreError {}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::NoMemory => io::ErrorKind::OutOfMemory,
            StoreError::System { errno, .. } => io::Error::from_raw_os_error(*errno).kind(),
            StoreError::ReadOnly => io::ErrorKind::PermissionDenied,
            StoreError::Unsupported => io::ErrorKind::Unsupported,
            StoreError::Full => io::ErrorKind::Other,
            _ => io::ErrorKind::InvalidInput,
        };
        io::Error::new(kind, error)
    }
}

/// The error of a call on single entries: a negative errno.
pub(crate) fn refused(result: i64) -> StoreError {
    let errno = result.wrapping_neg() as i32;
    match errno {
        sys::ENOMEM => StoreError::NoMemory,
        sys::ENOSPC => StoreError::Full,
        sys::E2BIG => StoreError::TooLong,
        sys::EINVAL => StoreError::NotNumber,
        sys::ERANGE => StoreError::Overflow,
        sys::EROFS => StoreError::ReadOnly,
        sys::EOPNOTSUPP => StoreError::Unsupported,
        _ => system(errno, io::Error::from_raw_os_error(errno).to_string()),
    }
}

pub(crate) fn system(errno: i32, reason: String) -> StoreError {
    StoreError::System { errno, reason }
}

/// The error of a call on the whole store, which has said why.
pub(crate) fn refused_whole(result: i64) -> StoreError {
    let errno = result.wrapping_neg() as i32;
    // SAFETY: never NULL, and valid until the next such call of this thread.
    let reason = unsafe { CStr::from_ptr(c::lath_store_reason().cast()) };
    match errno {
        sys::ENOMEM => StoreError::NoMemory,
        sys::EROFS => StoreError::ReadOnly,
        sys::EOPNOTSUPP => StoreError::Unsupported,
        _ => system(errno, reason.to_string_lossy().into_owned()),
    }
}

pub(crate) fn done(result: i64) -> Result<u64, StoreError> {
    u64::try_from(result).map_err(|_| refused(result))
}

pub(crate) fn done_whole(result: i64) -> Result<u64, StoreError> {
    u64::try_from(result).map_err(|_| refused_whole(result))
}

/// Whether the call was done; false: it returned one of these errors.
pub(crate) fn unless(result: i64, errors: &[i32]) -> Result<bool, StoreError> {
    if errors.iter().any(|&errno| result == -i64::from(errno)) {
        return Ok(false);
    }
    done(result).map(|_| true)
}

pub(crate) fn text(bytes: &[u8]) -> Result<CString, StoreError> {
    let refusal = |_| system(sys::EINVAL, String::from("the name has a byte 0"));
    CString::new(bytes).map_err(refusal)
}
