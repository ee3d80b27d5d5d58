// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Disjoint ranges with values.
use alloc::string::String;
use core::fmt;
use core::iter::FusedIterator;
use core::ops::RangeInclusive;

use lathwork_sys as sys;

use crate::index::{Index, InsertError, Ref, Scan};
use crate::Value;

/// An ordered map from disjoint ranges of keys to values, for any number of threads.
///
/// ```
/// use lathwork::RangeMap;
///
/// let map = RangeMap::new();
/// std::thread::scope(|s| {
///     s.spawn(|| map.insert(0x1000..=0x2fff, 1u32).unwrap());
///     s.spawn(|| map.insert(0x5000..=0x5fff, 2u32).unwrap());
/// });
/// assert_eq!(*map.get(0x2000).unwrap(), 1);
/// assert!(map.get(0x3000).is_none());
/// assert_eq!(map.iter().count(), 2);
/// ```
///
/// A range has at most 2^64 - 1 keys.
pub struct RangeMap<V: Value> {
    pub(crate) index: Index<V>,
}

impl<V: Value> RangeMap<V> {
    /// An empty map.
    pub fn new() -> Self {
        RangeMap {
            index: Index::new(sys::LATH_RANGES, 0),
        }
    }

    /// Inserts a range, unless it overlaps one that is there. O(log n).
    pub fn insert(&self, range: RangeInclusive<u64>, value: V) -> Result<(), InsertError<V>> {
        self.index.insert(range, value)
    }

    /// The value of the range that contains `key`. O(log n), mostly two or three cache misses.
    pub fn get(&self, key: u64) -> Option<Ref<'_, V>> {
        self.index.get(key)
    }

    /// The same with the range.
    pub fn get_range(&self, key: u64) -> Option<(RangeInclusive<u64>, Ref<'_, V>)> {
        // SAFETY: `find` passes an initialised index and a valid pointer; likewise below.
        self.index
            .find(|index, item| unsafe { sys::lath_index_lookup_item(index, key, item) })
    }

    /// Whether a range contains `key`.
    pub fn contains(&self, key: u64) -> bool {
        self.index.contains(key)
    }

    /// The first range that begins at or behind `key`.
    pub fn ceiling(&self, key: u64) -> Option<(RangeInclusive<u64>, Ref<'_, V>)> {
        self.index
            .find(|index, item| unsafe { sys::lath_index_ceiling_item(index, key, item) })
    }

    /// The last range that begins at or before `key`.
    pub fn floor(&self, key: u64) -> Option<(RangeInclusive<u64>, Ref<'_, V>)> {
        self.index
            .find(|index, item| unsafe { sys::lath_index_floor_item(index, key, item) })
    }

    /// Removes the range that begins at `first`. Its value is dropped when no thread has a [`Ref`]
    /// to it.
    pub fn remove(&self, first: u64) -> Option<(RangeInclusive<u64>, Ref<'_, V>)> {
        self.index.remove(first)
    }

    /// Removes the range that begins at `first`, and returns its value: no one else has the map.
    pub fn take(&mut self, first: u64) -> Option<(RangeInclusive<u64>, V)> {
        self.index.take(first)
    }

    /// Gives the range that begins at `first` another value. Returns the old one; if there is no
    /// such range, `value` back.
    pub fn replace(&self, first: u64, value: V) -> Result<Ref<'_, V>, V> {
        self.index.replace(first, value)
    }

    /// The number of ranges. O(n).
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is none. O(log n).
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// All ranges in order. A range that is there all the time is seen once, one that is never
    /// there is not seen. One that is removed after the iterator has begun may be seen or not: the
    /// iterator copies up to 32 ranges ahead, and shows these as they were then. Its `Ref`s stay
    /// valid.
    ///
    /// ```
    /// let map = lathwork::RangeMap::new();
    /// for i in 0..100 {
    ///     map.insert(10 * i..=10 * i + 4, Box::new(i)).unwrap();
    /// }
    /// let mut seen = 0;
    /// for (range, value) in &map {
    ///     map.remove(*range.start()); // this one, and
    ///     map.remove(*range.start() + 10); // the next one, which is seen if it was copied
    ///     assert_eq!(*value, *range.start() / 10);
    ///     seen += 1;
    /// }
    /// assert!(map.is_empty() && (50..=100).contains(&seen));
    /// ```
    pub fn iter(&self) -> Ranges<'_, V> {
        Ranges {
            first: None,
            scan: self.index.scan(0, u64::MAX),
        }
    }

    /// The ranges that have a key in common with `keys`, in order.
    ///
    /// ```
    /// let map = lathwork::RangeMap::new();
    /// for i in 0..10 {
    ///     map.insert(100 * i..=100 * i + 49, i).unwrap();
    /// }
    /// let seen: Vec<u64> = map.overlapping(149..=300).map(|(_, value)| *value).collect();
    /// assert_eq!(seen, [1, 2, 3]);
    /// ```
    pub fn overlapping(&self, keys: RangeInclusive<u64>) -> Ranges<'_, V> {
        let (from, last) = (*keys.start(), *keys.end());
        let nothing = keys.is_empty();
        let before = if nothing { None } else { self.get_range(from) };
        let next = match &before {
            Some((range, _)) => range.end().checked_add(1),
            None => Some(from),
        };
        let scan = match next {
            Some(next) if !nothing => self.index.scan(next, last),
            _ => self.index.scan(1, 0),
        };
        Ranges {
            first: before,
            scan,
        }
    }

    /// Removes all ranges and drops their values. If the drop of one panics, the others are dropped
    /// while unwinding, as those of a `Vec` are.
    pub fn clear(&mut self) {
        self.index.clear();
    }

    /// Drops the values of removed ranges that no thread can look at any more, in the order in
    /// which they were removed. Calls that remove drop up to 256 of them now and then, and the end
    /// of the map drops them all.
    ///
    /// It leaves values to a later call if another thread is choosing what to drop, or if it is
    /// called by the drop of a value that is dropped by such a call, and so on, eight times. So
    /// values may remove each other, in any number, without using up the stack.
    pub fn reclaim(&self) {
        self.index.reclaim();
    }

    /// Checks the invariants of the index, for tests: the first that is broken.
    pub fn verify(&mut self) -> Result<(), String> {
        self.index.verify()
    }
}

impl<V: Value> Default for RangeMap<V> {
    fn default() -> Self {
        RangeMap::new()
    }
}

impl<V: Value> fmt::Debug for RangeMap<V>
where
    V::Target: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'a, V: Value> IntoIterator for &'a RangeMap<V> {
    type Item = (RangeInclusive<u64>, Ref<'a, V>);
    type IntoIter = Ranges<'a, V>;

    fn into_iter(self) -> Ranges<'a, V> {
        self.iter()
    }
}

/// The ranges of a map in order, from [`RangeMap::iter`] or [`RangeMap::overlapping`]. It copies up
/// to 32 ahead: what is removed meanwhile may still be seen.
pub struct Ranges<'a, V: Value> {
    first: Option<(RangeInclusive<u64>, Ref<'a, V>)>,
    scan: Scan<'a, V>,
}

impl<'a, V: Value> Iterator for Ranges<'a, V> {
    type Item = (RangeInclusive<u64>, Ref<'a, V>);

    fn next(&mut self) -> Option<Self::Item> {
        self.first.take().or_else(|| self.scan.next())
    }
}

impl<V: Value> FusedIterator for Ranges<'_, V> {}
