// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! An index of the C library whose words are values: what the maps share.
use alloc::format;
use alloc::string::String;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{self, needs_drop};
use core::ops::{Deref, RangeInclusive};
use core::ptr;

use lathwork_sys as sys;
use sys::lath_item;

use crate::code;
use crate::handle::Handle;
use crate::retired::{drop_each, Retired};
use crate::section::Section;
use crate::Value;

/// Why an insert was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It overlaps this range, which is there already.
    Overlaps(RangeInclusive<u64>),
    /// The range is empty.
    Empty,
    /// The range has 2^64 keys; an index holds ranges of at most 2^64 - 1.
    TooLong,
    /// There is no memory.
    NoMemory,
    /// The C library has reported this `errno`, which its headers do not name for the call.
    Other(i32),
}

/// A refused insert: the reason, and the value back.
#[derive(Clone, PartialEq, Eq)]
pub struct InsertError<V> {
    /// Why.
    pub reason: Reason,
    /// What was to be inserted.
    pub value: V,
}

impl<V> fmt::Debug for InsertError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InsertError")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<V> fmt::Display for InsertError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Overlaps(range) => {
                write!(f, "it overlaps {}..={}", range.start(), range.end())
            }
            Reason::Empty => write!(f, "the range is empty"),
            Reason::TooLong => write!(f, "the range has 2^64 keys"),
            Reason::NoMemory => write!(f, "there is no memory"),
            Reason::Other(errno) => write!(f, "the library has reported errno {errno}"),
        }
    }
}

#[cfg(feature = "std")]
impl<V> std::error::Error for InsertError<V> {}

/// A value in a map. What it derefs to stays valid while it lives, also if the entry is removed
/// meanwhile. It belongs to one thread.
///
/// It keeps removed values from being dropped, and the drop of a map waits for it: drop it soon. One
/// that is forgotten (`mem::forget`) lasts until its thread ends.
pub struct Ref<'a, V: Value> {
    word: u64,
    section: Option<Section>,
    of: PhantomData<(&'a V, *const ())>,
}

impl<V: Value> Ref<'_, V> {
    /// `word` is in an index, or was when `section` had begun already.
    fn new(word: u64, section: Option<Section>) -> Self {
        Ref {
            word,
            section,
            of: PhantomData,
        }
    }
}

impl<V: Value> Clone for Ref<'_, V> {
    fn clone(&self) -> Self {
        Ref::new(self.word, self.section.as_ref().map(|_| Section::enter()))
    }
}

impl<V: Value> Deref for Ref<'_, V> {
    type Target = V::Target;

    fn deref(&self) -> &V::Target {
        // SAFETY: the section began while the word was in the index, and values that leave it are
        // dropped after all sections of that time. A value without a drop is not taken at all.
        unsafe { V::target(&self.word) }
    }
}

impl<V: Value> fmt::Debug for Ref<'_, V>
where
    V::Target: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<V: Value> PartialEq<V::Target> for Ref<'_, V>
where
    V::Target: PartialEq,
{
    fn eq(&self, other: &V::Target) -> bool {
        **self == *other
    }
}

pub(crate) struct Index<V: Value> {
    index: Handle<sys::lath_index>,
    retired: Retired<V>,
    of: PhantomData<UnsafeCell<V>>, // a shared map takes values: it is invariant
}

// SAFETY: any thread may call the index; values go to other threads with it, and are dropped there.
unsafe impl<V: Value + Send> Send for Index<V> {}
// SAFETY: one thread's value is read, and dropped, by others.
unsafe impl<V: Value + Send + Sync> Sync for Index<V> {}

pub(crate) fn range_of(item: &lath_item) -> RangeInclusive<u64> {
    item.key..=item.key.wrapping_add(item.size).wrapping_sub(1)
}

impl<V: Value> Index<V> {
    pub(crate) fn new(layout: sys::c_int, flags: sys::c_uint) -> Self {
        let config = sys::lath_config {
            size: mem::size_of::<sys::lath_config>(),
            layout,
            flags,
            rcu: ptr::null(),
            allocator: ptr::null(),
            id: 0,
        };
        Index {
            // SAFETY: both pointers are valid.
            index: Handle::new(|index| unsafe { sys::lath_index_init(index, &config) }),
            retired: Retired::new(),
            of: PhantomData,
        }
    }

    pub(crate) fn raw(&self) -> *mut sys::lath_index {
        self.index.get()
    }

    pub(crate) fn insert(
        &self,
        range: RangeInclusive<u64>,
        value: V,
    ) -> Result<(), InsertError<V>> {
        let (first, last) = (*range.start(), *range.end());
        if first > last || range.is_empty() {
            return Err(InsertError {
                reason: Reason::Empty,
                value,
            });
        }
        let size = (last - first).wrapping_add(1);
        if size == 0 {
            return Err(InsertError {
                reason: Reason::TooLong,
                value,
            });
        }
        let item = lath_item {
            key: first,
            size,
            value: value.into_word(),
        };
        let mut there = lath_item::default();
        // SAFETY: the index is initialised; all pointers are valid.
        let result = unsafe { sys::lath_index_insert_item(self.raw(), &item, &mut there) };
        let reason = match code::refusal(result, || Reason::Overlaps(range_of(&there))) {
            Ok(()) => return Ok(()),
            Err(reason) => reason,
        };
        // SAFETY: the word is not in the index.
        Err(InsertError {
            reason,
            value: unsafe { V::from_word(item.value) },
        })
    }

    /// A section, if values need one while they are looked at.
    fn section() -> Option<Section> {
        if needs_drop::<V>() {
            Some(Section::enter())
        } else {
            None
        }
    }

    /// Calls a function of the library that finds an item.
    pub(crate) fn find(
        &self,
        call: impl FnOnce(*mut sys::lath_index, *mut lath_item) -> sys::c_int,
    ) -> Option<(RangeInclusive<u64>, Ref<'_, V>)> {
        let section = Self::section();
        let mut item = lath_item::default();
        if !code::found(call(self.raw(), &mut item)) {
            return None;
        }
        Some((range_of(&item), Ref::new(item.value, section)))
    }

    pub(crate) fn get(&self, point: u64) -> Option<Ref<'_, V>> {
        let section = Self::section();
        let mut word = 0;
        // SAFETY: the index is initialised; the pointer is valid.
        if unsafe { sys::lath_index_get(self.raw(), point, &mut word) } != 1 {
            return None;
        }
        Some(Ref::new(word, section))
    }

    pub(crate) fn contains(&self, point: u64) -> bool {
        let mut word = 0;
        // SAFETY: as in get().
        unsafe { sys::lath_index_get(self.raw(), point, &mut word) == 1 }
    }

    /// Removes the entry that begins at `key`.
    pub(crate) fn remove(&self, key: u64) -> Option<(RangeInclusive<u64>, Ref<'_, V>)> {
        self.drop_some();
        // SAFETY: the index is initialised; the pointer is valid.
        let found = self.find(|index, old| unsafe { sys::lath_index_erase_item(index, key, old) });
        if let Some((_, value)) = &found {
            self.retire(value.word);
        }
        found
    }

    /// Removes it, for a caller that alone has the index: then no one has a `Ref`.
    pub(crate) fn take(&mut self, key: u64) -> Option<(RangeInclusive<u64>, V)> {
        let mut old = lath_item::default();
        // SAFETY: the index is initialised; the word has left it and nobody else has it.
        unsafe {
            if !code::found(sys::lath_index_erase_item(self.raw(), key, &mut old)) {
                return None;
            }
            Some((range_of(&old), V::from_word(old.value)))
        }
    }

    /// Gives the entry that begins at `key` another value. Returns the old one, or `value` back.
    pub(crate) fn replace(&self, key: u64, value: V) -> Result<Ref<'_, V>, V> {
        self.drop_some();
        let section = Self::section();
        let (word, mut old) = (value.into_word(), lath_item::default());
        // SAFETY: the index is initialised; the pointer is valid; a refused word is not in it.
        unsafe {
            if !code::found(sys::lath_index_replace_item(
                self.raw(),
                key,
                word,
                &mut old,
            )) {
                return Err(V::from_word(word));
            }
        }
        self.retire(old.value);
        Ok(Ref::new(old.value, section))
    }

    /// For a call that is about to remove a value: drops earlier ones now and then.
    fn drop_some(&self) {
        if needs_drop::<V>() {
            self.retired.drop_some();
        }
    }

    /// Has a value that left the index dropped when no reader can look at it.
    fn retire(&self, word: u64) {
        if needs_drop::<V>() {
            self.retired.push(word);
        }
    }

    /// Drops the values that were removed and that no reader can look at any more.
    pub(crate) fn reclaim(&self) {
        self.retired.drop_all();
    }

    pub(crate) fn len(&self) -> usize {
        // SAFETY: the index is initialised.
        unsafe { sys::lath_index_count(self.raw()) as usize }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let mut item = lath_item::default();
        // SAFETY: the index is initialised; the pointer is valid.
        !code::found(unsafe { sys::lath_index_ceiling_item(self.raw(), 0, &mut item) })
    }

    /// The entries that begin in `from..=last`.
    pub(crate) fn scan(&self, from: u64, last: u64) -> Scan<'_, V> {
        Scan {
            index: self,
            _section: Self::section(),
            items: [lath_item::default(); SCAN],
            at: 0,
            copied: 0,
            from,
            last,
            more: from <= last,
        }
    }

    pub(crate) fn verify(&self) -> Result<(), String> {
        let mut report = [0u8; 256];
        // SAFETY: the index is initialised; the report has that size. The caller has &mut.
        let broken =
            unsafe { sys::lath_index_verify(self.raw(), 6, report.as_mut_ptr(), report.len()) };
        let length = report
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(report.len());
        match broken {
            0 => Ok(()),
            number => Err(format!(
                "I{number}: {}",
                String::from_utf8_lossy(&report[..length])
            )),
        }
    }

    /// Removes and drops all values. If the drop of one panics, the others are dropped all the
    /// same.
    pub(crate) fn clear(&mut self) {
        if needs_drop::<V>() {
            drop_each(Taken {
                index: self,
                from: 0,
            });
        } else {
            // SAFETY: the index is initialised.
            unsafe { sys::lath_index_clear(self.raw(), None, ptr::null_mut()) };
        }
    }
}

/// Takes values out of an index, in order.
struct Taken<'a, V: Value> {
    index: &'a mut Index<V>,
    from: u64,
}

impl<V: Value> Iterator for Taken<'_, V> {
    type Item = V;

    fn next(&mut self) -> Option<V> {
        let mut item = lath_item::default();
        // SAFETY: the index is initialised; the pointer is valid.
        let code = unsafe { sys::lath_index_ceiling_item(self.index.raw(), self.from, &mut item) };
        if !code::found(code) {
            return None;
        }
        self.from = item.key;
        self.index.take(item.key).map(|(_, value)| value)
    }
}

impl<V: Value> Drop for Index<V> {
    fn drop(&mut self) {
        if !needs_drop::<V>() {
            return;
        }
        let (values, _records) = self.retired.end();
        let rest = Taken {
            index: self,
            from: 0,
        };
        drop_each(values.chain(rest));
    }
}

const SCAN: usize = 32;

/// Copies entries ahead, some at a time.
pub(crate) struct Scan<'a, V: Value> {
    index: &'a Index<V>,
    _section: Option<Section>,
    items: [lath_item; SCAN],
    at: usize,
    copied: usize,
    from: u64,
    last: u64,
    more: bool,
}

impl<'a, V: Value> Iterator for Scan<'a, V> {
    type Item = (RangeInclusive<u64>, Ref<'a, V>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.copied {
            if !self.more {
                return None;
            }
            let mut next = 0;
            // SAFETY: the index is initialised; all pointers are valid.
            self.copied = unsafe {
                sys::lath_index_scan(
                    self.index.raw(),
                    self.from,
                    self.last,
                    self.items.as_mut_ptr(),
                    SCAN,
                    &mut next,
                )
            };
            self.at = 0;
            self.more = self.copied == SCAN && next != 0 && next <= self.last;
            self.from = next;
            if self.copied == 0 {
                return None;
            }
        }
        let item = &self.items[self.at];
        self.at += 1;
        // the scan's section began before the item was read
        Some((range_of(item), Ref::new(item.value, Index::<V>::section())))
    }
}

impl<V: Value> core::iter::FusedIterator for Scan<'_, V> {}
