// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a caller does that alone has an index: no one has a `Ref` then.
use alloc::format;
use alloc::string::String;
use core::{mem, ptr};

use lathwork_sys as sys;
use sys::lath_item;

use crate::code;
use crate::common::stepped;
use crate::error::Reason;
use crate::index::Index;
use crate::memory::NoMemory;
use crate::value::{self, header_of, Stored};

/// The entries of an index by value, in order, from both ends. `clone` makes the value of an entry
/// that shares it with another one.
pub(crate) struct IntoEntries<V> {
    pub(crate) index: Index<V>,
    pub(crate) clone: fn(&V) -> V,
}

impl<V> IntoEntries<V> {
    fn pop(&mut self, first: bool) -> Option<(u64, u64, V)> {
        let key = self.index.end(first)?.0;
        let clone = self.clone;
        self.index.take_value(key, clone)
    }
}

stepped!(impl [V] IntoEntries<V>, (u64, u64, V), |this, back| this.pop(!back));

impl<V> Index<V> {
    /// Removes the entry at `key` and returns its value, for a caller that alone has the index.
    pub(crate) fn take_value(&mut self, key: u64, clone: fn(&V) -> V) -> Option<(u64, u64, V)> {
        let (first, last, stored) = self.take(key)?;
        // SAFETY: the value was in the index and has left it; no one has a Ref.
        let value = unsafe {
            if self.inline() || value::leave(stored.first()) {
                stored.take(self.inline(), &self.memory())
            } else {
                clone(stored.target(true))
            }
        };
        Some((first, last, value))
    }

    /// Moves an entry into `to`, in the place of one that is there, for a caller that alone has
    /// both. Without memory nothing has changed. Not for entries that share a value.
    fn hand_over(
        &mut self, item: &lath_item, stored: &Stored, to: &mut Index<V>,
    ) -> Result<(), NoMemory> {
        let stays = match (self.inline(), to.inline()) {
            (false, false) => self.memory().is(&to.memory()),
            (from, to) => from && to,
        };
        // SAFETY: the value is in one place again at the end of this function.
        let there = unsafe {
            if stays {
                *stored
            } else {
                let value = ptr::read(stored.target::<V>(!self.inline()));
                let made = Stored::new(value, to.inline(), &to.memory());
                made.map_err(|value| {
                    mem::forget(value);
                    NoMemory
                })?
            }
        };
        let mut moved = *item;
        moved.value = there.given::<V>(to.inline());
        // SAFETY: the indexes are initialised; all pointers are valid.
        let done = unsafe {
            let result = sys::lath_index_insert_item(to.raw(), &moved, ptr::null_mut());
            match code::refusal(result, || Reason::Overlaps(0..=0)) {
                Err(Reason::Overlaps(_)) => {
                    let (result, _, old) = Stored::filled::<V>(to.inline(), |old| {
                        sys::lath_index_replace_item(to.raw(), moved.key, moved.value, old)
                    });
                    let no_other = || unreachable!("replace never returns EEXIST");
                    code::refusal(result, no_other).map(|()| to.left(&old))
                }
                done => done,
            }
        };
        if done.is_err() {
            if !stays && !to.inline() {
                // SAFETY: made above, and its value is where it was.
                unsafe { value::free::<V>(header_of(there.first()), &to.memory()) };
            }
            return Err(NoMemory);
        }
        let taken = self.take(item.key);
        debug_assert!(taken.is_some());
        if !stays && !self.inline() {
            // SAFETY: its value has moved.
            unsafe { value::free::<V>(header_of(stored.first()), &self.memory()) };
        }
        Ok(())
    }

    /// Moves the entries that begin at `from` or behind it into `to`. Without memory for one it and
    /// those behind it stay.
    pub(crate) fn hand_over_from(&mut self, from: u64, to: &mut Index<V>) -> Result<(), NoMemory> {
        while let Some((item, stored)) = self.item(sys::lath_index_ceiling_item, from) {
            self.hand_over(&item, &stored, to)?;
        }
        Ok(())
    }

    /// Checks the invariants, for tests: the first that is broken. The caller has `&mut` to the
    /// map.
    pub(crate) fn verify(&self) -> Result<(), String> {
        // SAFETY: the index is initialised; the report has that size.
        verified(|report, size| unsafe { sys::lath_index_verify(self.raw(), 6, report, size) })
    }
}

/// The result of a call that checks a structure.
pub(crate) fn verified(
    call: impl FnOnce(*mut sys::c_char, usize) -> sys::c_int,
) -> Result<(), String> {
    let mut report = [0u8; 256];
    let broken = call(report.as_mut_ptr(), report.len());
    let length = report.iter().position(|&byte| byte == 0);
    let text = String::from_utf8_lossy(&report[..length.unwrap_or(report.len())]);
    match broken {
        0 => Ok(()),
        number => Err(format!("I{number}: {text}")),
    }
}
