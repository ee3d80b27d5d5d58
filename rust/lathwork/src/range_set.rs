// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Disjoint ranges.
use core::fmt;
use core::iter::FusedIterator;
use core::ops::RangeInclusive;

use crate::index::Reason;
use crate::range_map::{RangeMap, Ranges};

/// A set of disjoint ranges of keys, for any number of threads. Ranges that touch stay two ranges.
///
/// ```
/// let set = lathwork::RangeSet::new();
/// set.insert(10..=19).unwrap();
/// assert!(set.insert(15..=24).is_err());
/// assert_eq!(set.get(12), Some(10..=19));
/// assert_eq!(set.remove(10), Some(10..=19));
/// ```
#[derive(Default)]
pub struct RangeSet {
    map: RangeMap<()>,
}

impl RangeSet {
    /// An empty set.
    pub fn new() -> Self {
        RangeSet::default()
    }

    /// Inserts a range, unless it overlaps one that is there. O(log n).
    pub fn insert(&self, range: RangeInclusive<u64>) -> Result<(), Reason> {
        self.map.insert(range, ()).map_err(|refused| refused.reason)
    }

    /// The range that contains `key`.
    pub fn get(&self, key: u64) -> Option<RangeInclusive<u64>> {
        self.map.get_range(key).map(|(range, _)| range)
    }

    /// Whether a range contains `key`.
    pub fn contains(&self, key: u64) -> bool {
        self.map.contains(key)
    }

    /// The first range that begins at or behind `key`.
    pub fn ceiling(&self, key: u64) -> Option<RangeInclusive<u64>> {
        self.map.ceiling(key).map(|(range, _)| range)
    }

    /// The last range that begins at or before `key`.
    pub fn floor(&self, key: u64) -> Option<RangeInclusive<u64>> {
        self.map.floor(key).map(|(range, _)| range)
    }

    /// Removes the range that begins at `first`.
    pub fn remove(&self, first: u64) -> Option<RangeInclusive<u64>> {
        self.map.remove(first).map(|(range, _)| range)
    }

    /// The number of ranges. O(n).
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// All ranges in order, as [`RangeMap::iter`].
    pub fn iter(&self) -> SetRanges<'_> {
        SetRanges(self.map.iter())
    }

    /// The ranges that have a key in common with `keys`, in order.
    pub fn overlapping(&self, keys: RangeInclusive<u64>) -> SetRanges<'_> {
        SetRanges(self.map.overlapping(keys))
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.map.clear();
    }
}

impl fmt::Debug for RangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for &'a RangeSet {
    type Item = RangeInclusive<u64>;
    type IntoIter = SetRanges<'a>;

    fn into_iter(self) -> SetRanges<'a> {
        self.iter()
    }
}

/// The ranges of a set in order.
pub struct SetRanges<'a>(Ranges<'a, ()>);

impl Iterator for SetRanges<'_> {
    type Item = RangeInclusive<u64>;

    fn next(&mut self) -> Option<RangeInclusive<u64>> {
        self.0.next().map(|(range, _)| range)
    }
}

impl FusedIterator for SetRanges<'_> {}
