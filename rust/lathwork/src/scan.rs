// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The entries of an index in order, from both ends.
use alloc::vec::Vec;

use lathwork_sys as sys;
use sys::lath_item;

use crate::ahead::{Ahead, AHEAD};
use crate::index::{Entry, Index};
use crate::key::last_of;
use crate::section::Section;
use crate::value::{value_size, Stored};
use crate::Ref;

/// The entries that begin in a range of keys. Copies entries ahead, some at a time.
pub(crate) struct Scan<'a, V> {
    index: &'a Index<V>,
    _section: Option<Section>,
    /// At the front and at the back.
    ahead: [Ahead<lath_item>; 2],
    /// Their values, if one has more than a word.
    words: [Vec<u64>; 2],
    /// The first and the last key at which the entries begin that are still to come.
    keys: Option<(u64, u64)>,
}

impl<V> Index<V> {
    /// The entries that begin in a range of keys; None: none.
    pub(crate) fn scan(&self, keys: Option<(u64, u64)>) -> Scan<'_, V> {
        Scan {
            index: self,
            _section: self.section(),
            ahead: [Ahead::new(), Ahead::new()],
            words: [Vec::new(), Vec::new()],
            keys,
        }
    }

    /// All entries.
    pub(crate) fn all(&self) -> Scan<'_, V> {
        self.scan(Some((0, u64::MAX)))
    }
}

/// Gives `AHEAD` items room for values that have more than a word.
unsafe fn room<V>(copied: bool, words: &mut Vec<u64>, items: *mut lath_item) {
    let each = value_size::<V>() / 8;
    if copied && each > 0 {
        words.resize(each * AHEAD, 0);
        for i in 0..AHEAD {
            (*items.add(i)).value = words.as_mut_ptr().add(each * i) as usize as u64;
        }
    }
}

impl<'a, V> Scan<'a, V> {
    /// The next entry from the front or the back.
    #[inline(always)] // what is copied of a Ref is few bytes then
    fn step<const BACK: bool>(&mut self) -> Option<Entry<'a, V>> {
        let (from, last) = self.keys?;
        let (index, copied) = (self.index.raw(), self.index.inline());
        let words = &mut self.words[usize::from(BACK)];
        // SAFETY: the index is initialised; the pointers are valid.
        let scan = |items| unsafe {
            room::<V>(copied, words, items);
            if BACK {
                sys::lath_index_scan_back(index, last, from, items, AHEAD, &mut 0)
            } else {
                sys::lath_index_scan(index, from, last, items, AHEAD, &mut 0)
            }
        };
        let item = self.ahead[usize::from(BACK)].next(scan);
        let item = item.filter(|item| from <= item.key && item.key <= last);
        // behind the range: what is cut of it meanwhile is not seen as another one
        self.keys = item.and_then(|item| match BACK {
            true => Some((from, item.key.checked_sub(1)?)),
            false => Some((last_of(&item).checked_add(1)?, last)),
        });
        self.keys = self.keys.filter(|keys| keys.0 <= keys.1);
        let item = item?;
        // SAFETY: it was copied, and its words are still there.
        let stored = unsafe { Stored::of::<V>(&item, copied) };
        // the scan's section began before the item was read
        Some((item.key, last_of(&item), Ref::new(stored, self.index.section())))
    }
}

impl<'a, V> Iterator for Scan<'a, V> {
    type Item = Entry<'a, V>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        self.step::<false>()
    }
}

impl<V> DoubleEndedIterator for Scan<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step::<true>()
    }
}

impl<V> core::iter::FusedIterator for Scan<'_, V> {}
