// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Single keys with values.
use alloc::string::String;
use core::fmt;
use core::iter::FusedIterator;
use core::ops::RangeInclusive;

use lathwork_sys as sys;

use crate::index::{Index, InsertError, Ref, Scan};
use crate::Value;

const NO_RANKS: &str = "the map was not made by PointMap::with_ranks()";

/// An ordered map from `u64` to values, for any number of threads.
///
/// ```
/// let map = lathwork::PointMap::new();
/// map.insert(7, "seven".to_string().into_boxed_str().len()).unwrap();
/// map.insert(9, 4).unwrap();
/// assert_eq!(*map.get(7).unwrap(), 5);
/// assert_eq!(map.range(0..=8).map(|(key, _)| key).collect::<Vec<_>>(), [7]);
/// ```
pub struct PointMap<V: Value> {
    index: Index<V>,
}

impl<V: Value> PointMap<V> {
    /// An empty map.
    pub fn new() -> Self {
        PointMap {
            index: Index::new(sys::LATH_POINTS, 0),
        }
    }

    /// An empty map that counts: [`rank`](Self::rank) and [`select`](Self::select) work, and
    /// [`len`](Self::len) is O(log n).
    ///
    /// ```
    /// let map = lathwork::PointMap::with_ranks();
    /// for key in [30, 10, 20] {
    ///     map.insert(key, ()).unwrap();
    /// }
    /// assert_eq!(map.rank(25), 2);
    /// assert_eq!(map.select(2).unwrap().0, 30);
    /// ```
    pub fn with_ranks() -> Self {
        PointMap {
            index: Index::new(sys::LATH_POINTS, sys::LATH_RANKS),
        }
    }

    /// Inserts a key that is not there.
    pub fn insert(&self, key: u64, value: V) -> Result<(), InsertError<V>> {
        self.index.insert(key..=key, value)
    }

    /// The value of `key`.
    pub fn get(&self, key: u64) -> Option<Ref<'_, V>> {
        self.index.get(key)
    }

    /// Whether `key` is there.
    pub fn contains(&self, key: u64) -> bool {
        self.index.contains(key)
    }

    /// The first entry at or behind `key`.
    pub fn ceiling(&self, key: u64) -> Option<(u64, Ref<'_, V>)> {
        // SAFETY: `find` passes an initialised index and a valid pointer; likewise below.
        let found = |index, item| unsafe { sys::lath_index_ceiling_item(index, key, item) };
        self.index.find(found).map(entry)
    }

    /// The last entry at or before `key`.
    pub fn floor(&self, key: u64) -> Option<(u64, Ref<'_, V>)> {
        let found = |index, item| unsafe { sys::lath_index_floor_item(index, key, item) };
        self.index.find(found).map(entry)
    }

    /// Removes `key`. Its value is dropped when no thread has a [`Ref`] to it.
    pub fn remove(&self, key: u64) -> Option<Ref<'_, V>> {
        self.index.remove(key).map(|(_, value)| value)
    }

    /// Removes `key` and returns its value: no one else has the map.
    pub fn take(&mut self, key: u64) -> Option<V> {
        self.index.take(key).map(|(_, value)| value)
    }

    /// Gives `key` another value. Returns the old one; if the key is not there, `value` back.
    pub fn replace(&self, key: u64, value: V) -> Result<Ref<'_, V>, V> {
        self.index.replace(key, value)
    }

    /// How many keys are below `key`. O(log n).
    ///
    /// # Panics
    ///
    /// If the map was not made by [`with_ranks`](Self::with_ranks).
    pub fn rank(&self, key: u64) -> usize {
        // SAFETY: the index is initialised.
        let rank = unsafe { sys::lath_index_rank(self.index.raw(), key) };
        assert!(rank != -i64::from(sys::EINVAL), "{}", NO_RANKS);
        usize::try_from(rank).expect("lathwork: rank returned an unknown error")
    }

    /// The entry that has this many before it. O(log n).
    ///
    /// # Panics
    ///
    /// If the map was not made by [`with_ranks`](Self::with_ranks).
    pub fn select(&self, rank: usize) -> Option<(u64, Ref<'_, V>)> {
        let found = self.index.find(|index, item| {
            let result = unsafe { sys::lath_index_select(index, rank as u64, item) };
            assert!(result != -sys::EINVAL, "{}", NO_RANKS);
            result
        });
        found.map(entry)
    }

    /// The number of keys. O(n), or O(log n) with ranks.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// All entries in order, as [`RangeMap::iter`](crate::RangeMap::iter): it may show an entry
    /// that was removed after the iterator began.
    pub fn iter(&self) -> Points<'_, V> {
        Points(self.index.scan(0, u64::MAX))
    }

    /// The entries with these keys, in order.
    pub fn range(&self, keys: RangeInclusive<u64>) -> Points<'_, V> {
        if keys.is_empty() {
            return Points(self.index.scan(1, 0));
        }
        Points(self.index.scan(*keys.start(), *keys.end()))
    }

    /// Removes all entries and drops their values, as [`RangeMap::clear`](crate::RangeMap::clear).
    pub fn clear(&mut self) {
        self.index.clear();
    }

    /// As [`RangeMap::reclaim`](crate::RangeMap::reclaim).
    pub fn reclaim(&self) {
        self.index.reclaim();
    }

    /// Checks the invariants of the index, for tests: the first that is broken.
    pub fn verify(&mut self) -> Result<(), String> {
        self.index.verify()
    }
}

fn entry<V: Value>(found: (RangeInclusive<u64>, Ref<'_, V>)) -> (u64, Ref<'_, V>) {
    (*found.0.start(), found.1)
}

impl<V: Value> Default for PointMap<V> {
    fn default() -> Self {
        PointMap::new()
    }
}

impl<V: Value> fmt::Debug for PointMap<V>
where
    V::Target: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'a, V: Value> IntoIterator for &'a PointMap<V> {
    type Item = (u64, Ref<'a, V>);
    type IntoIter = Points<'a, V>;

    fn into_iter(self) -> Points<'a, V> {
        self.iter()
    }
}

/// Entries in order. It copies up to 32 ahead, as [`Ranges`](crate::Ranges) does.
pub struct Points<'a, V: Value>(Scan<'a, V>);

impl<'a, V: Value> Iterator for Points<'a, V> {
    type Item = (u64, Ref<'a, V>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(entry)
    }
}

impl<V: Value> FusedIterator for Points<'_, V> {}
