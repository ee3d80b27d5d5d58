// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The entries of an index in order, from both ends.
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ptr;

use lathwork_sys as sys;
use sys::lath_item;

use crate::ahead::{Ahead, AHEAD};
use crate::common::stepped;
use crate::index::{Entry, Index};
use crate::key::last_of;
use crate::section::Section;
use crate::value::{value_mut, value_size, Stored};
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

    /// The same, with values that are changed where they are.
    pub(crate) fn scan_mut(&mut self, keys: Option<(u64, u64)>) -> Values<'_, V> {
        Values(self.scan(keys), PhantomData)
    }

    /// The value of the entry that begins at `key`, to be changed where it is. Values have a word,
    /// or nodes.
    pub(crate) fn get_mut(&mut self, key: u64) -> Option<&mut V> {
        // SAFETY: as of Values.
        self.place(key).map(|word| unsafe { value_mut(word, !self.inline()) })
    }

    /// The address of the node of the entry that begins at `key`, or of its value.
    fn place(&self, key: u64) -> Option<u64> {
        let scan = if self.inline() { sys::lath_index_scan_places } else { sys::lath_index_scan };
        let mut item = lath_item::default();
        // SAFETY: the index is initialised, and there is room for one item.
        let found = unsafe { scan(self.raw(), key, key, &mut item, 1, ptr::null_mut()) };
        (found == 1).then_some(item.value)
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
    /// The next item from the front or the back; with `PLACES` one from the front has the address of
    /// its value.
    #[inline(always)]
    fn item<const BACK: bool, const PLACES: bool>(&mut self, copied: bool) -> Option<lath_item> {
        let (from, last) = self.keys?;
        let index = self.index.raw();
        let words = &mut self.words[usize::from(BACK)];
        // SAFETY: the index is initialised; the pointers are valid.
        let scan = |items| unsafe {
            room::<V>(copied, words, items);
            if BACK {
                sys::lath_index_scan_back(index, last, from, items, AHEAD, &mut 0)
            } else if PLACES {
                sys::lath_index_scan_places(index, from, last, items, AHEAD, &mut 0)
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
        item
    }

    /// The next entry from the front or the back.
    #[inline(always)] // what is copied of a Ref is few bytes then
    fn step<const BACK: bool>(&mut self) -> Option<Entry<'a, V>> {
        let copied = self.index.inline();
        let item = self.item::<BACK, false>(copied)?;
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

/// Entries of an index of points whose values are changed where they are: in nodes, or as words in
/// its leaves.
///
/// A `&mut` to the map is borrowed as long as these values are. So no thread makes another call of
/// the map, and no `Ref` or iterator of it is used any more: those that were forgotten cannot be, and
/// those that were leaked borrow the map for ever. What the library's own threads do, for which no
/// call waits, is to free what has left and to make pages present: neither looks at values. No two
/// points share a node. The walk itself reads values behind its ends alone, which it has not shown.
pub(crate) struct Values<'a, V>(Scan<'a, V>, PhantomData<&'a mut V>);

stepped!(impl ['a, V] Values<'a, V>, (u64, &'a mut V), |this, back| {
    let (index, inline) = (this.0.index, this.0.index.inline());
    let item = match (back, inline) {
        (true, _) => this.0.item::<true, false>(inline),
        (false, true) => this.0.item::<false, true>(inline),
        (false, false) => this.0.item::<false, false>(inline),
    }?;
    let word = if back && inline { index.place(item.key)? } else { item.value };
    // SAFETY: as above.
    Some((item.key, unsafe { value_mut(word, !inline) }))
});
