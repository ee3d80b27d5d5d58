// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Disjoint ranges.
use alloc::string::String;
use core::borrow::Borrow;
use core::fmt;
use core::ops::{BitAnd, BitOr, BitXor, RangeInclusive, Sub};

use crate::algebra::Algebra;
use crate::common::{both_ends, constructors, from_array, inserted, iterated};
use crate::error::{InsertError, Reason};
use crate::memory::{NoMemory, Options};
use crate::range_map::{Gaps, IntoRanges, RangeMap, Ranges};
use crate::{Key, KeyRange};

/// A set of keys as disjoint ranges, for any number of threads.
///
/// ```
/// use lathwork::RangeSet;
///
/// let set = RangeSet::new();
/// set.insert(10..20).unwrap();
/// set.insert(15..25).unwrap(); // one range with the other one
/// assert_eq!(set.get(12), Some(10..=24));
/// set.remove(12..14).unwrap();
/// assert_eq!(set.iter().collect::<Vec<_>>(), [10..=11, 14..=24]);
///
/// let other = RangeSet::from([0..=10, 24..=30]);
/// assert_eq!(set.intersection(&other).collect::<Vec<_>>(), [10..=10, 24..=24]);
/// assert_eq!(&set | &other, RangeSet::from([0..=11, 14..=30]));
/// ```
///
/// `insert` leaves no two ranges that touch; `try_insert` inserts a range as it is, so that ranges
/// that touch stay two: for an account of what was allocated.
#[derive(Clone)]
pub struct RangeSet<K: Key = u64> {
    map: RangeMap<K, ()>,
}

fn reason<K: Key>(refused: InsertError<(), K>) -> Reason<K> {
    refused.reason
}

/// Calls of the map that return a range: `NAME(ARGUMENT) CALL`.
macro_rules! ranges {
    ($($(#[$doc:meta])* $name:ident($($key:ident)?) $call:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(&self $(, $key: impl Borrow<K>)?) -> Option<RangeInclusive<K>> {
            self.map.$call($($key)?).map(|(range, _)| range)
        }
    )*};
}

impl<K: Key> RangeSet<K> {
    constructors!("set");

    /// An empty set that is made as `options` says.
    pub fn try_with(options: Options) -> Result<Self, NoMemory> {
        let map = RangeMap::try_with(options)?;
        Ok(RangeSet { map })
    }

    /// Adds keys: what overlaps the range or touches it becomes one range with it. O(log n).
    pub fn insert(&self, range: impl KeyRange<K>) -> Result<(), Reason<K>> {
        self.map.insert_merged(range, ()).map_err(reason)
    }

    /// Inserts a range as it is, unless it overlaps one that is there. O(log n).
    ///
    /// ```
    /// let set = lathwork::RangeSet::new();
    /// set.try_insert(10..20).unwrap();
    /// set.try_insert(20..30).unwrap();
    /// assert_eq!(set.try_insert(5..15), Err(lathwork::Reason::Overlaps(10..=19)));
    /// assert_eq!(set.len(), 2);
    /// ```
    pub fn try_insert(&self, range: impl KeyRange<K>) -> Result<(), Reason<K>> {
        let done = self.map.try_insert(range, ());
        done.map(drop).map_err(reason)
    }

    ranges! {
        /// The range that contains `key`.
        get(key) get_key_value;
        /// The first range.
        first() first_key_value;
        /// The last range.
        last() last_key_value;
        /// The first range that begins at or behind `key`.
        ceiling(key) ceiling;
        /// The last range that begins at or before `key`.
        floor(key) floor;
        /// Removes the range that begins at `first`.
        remove_starting(first) remove_starting;
        /// Removes the range that contains `key`.
        remove_covering(key) remove_covering;
        /// Removes the first range.
        pop_first() pop_first;
        /// Removes the last range.
        pop_last() pop_last;
    }

    /// Whether a range contains `key`.
    pub fn contains(&self, key: impl Borrow<K>) -> bool {
        self.map.contains_key(key)
    }

    /// Removes these keys, as [`RangeMap::remove`].
    pub fn remove(&self, range: impl KeyRange<K>) -> Result<(), NoMemory> {
        self.map.remove(range)
    }

    /// Removes the ranges for which `keep` returns false.
    pub fn retain(&self, mut keep: impl FnMut(&RangeInclusive<K>) -> bool) {
        self.map.retain(|range, _| keep(range));
    }

    /// As [`RangeMap::split_off`].
    pub fn split_off(&mut self, key: K) -> Result<Self, NoMemory> {
        let map = self.map.split_off(key)?;
        Ok(RangeSet { map })
    }

    /// Moves the ranges of `other` into this set. Without memory some are in `other` still.
    pub fn append(&mut self, other: &mut Self) -> Result<(), NoMemory> {
        while let Some(range) = other.first() {
            let first = *range.start();
            self.insert(range).map_err(|_| NoMemory)?;
            other.remove_starting(first);
        }
        Ok(())
    }

    /// The number of ranges, as [`RangeMap::len`].
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// All ranges in order, as [`RangeMap::iter`].
    pub fn iter(&self) -> SetRanges<'_, K> {
        SetRanges(self.map.iter())
    }

    /// The ranges that have a key in common with `keys`, in order.
    pub fn overlapping(&self, keys: impl KeyRange<K>) -> SetRanges<'_, K> {
        SetRanges(self.map.overlapping(keys))
    }

    /// The runs of keys within `keys` that are not in the set, in order.
    pub fn gaps(&self, keys: impl KeyRange<K>) -> Gaps<'_, K, ()> {
        self.map.gaps(keys)
    }

    /// The keys that are in one set or the other, as ranges of which no two touch.
    pub fn union<'a>(&'a self, other: &'a Self) -> Algebra<'a, K> {
        Algebra::new(self.map.iter(), other.map.iter(), |one, other| one || other)
    }

    /// The keys that are in both sets.
    pub fn intersection<'a>(&'a self, other: &'a Self) -> Algebra<'a, K> {
        Algebra::new(self.map.iter(), other.map.iter(), |one, other| one && other)
    }

    /// The keys of this set that are not in the other one.
    pub fn difference<'a>(&'a self, other: &'a Self) -> Algebra<'a, K> {
        Algebra::new(self.map.iter(), other.map.iter(), |one, other| one && !other)
    }

    /// The keys that are in exactly one of the sets.
    pub fn symmetric_difference<'a>(&'a self, other: &'a Self) -> Algebra<'a, K> {
        Algebra::new(self.map.iter(), other.map.iter(), |one, other| one != other)
    }

    /// Whether all keys of this set are in the other one.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).next().is_none()
    }

    /// Whether no key is in both sets.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.intersection(other).next().is_none()
    }

    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.map.clear();
    }

    /// Checks the invariants of the index, for tests: the first that is broken.
    pub fn verify(&mut self) -> Result<(), String> {
        self.map.verify()
    }
}

impl<K: Key> Default for RangeSet<K> {
    fn default() -> Self {
        RangeSet::new()
    }
}

impl<K: Key + fmt::Debug> fmt::Debug for RangeSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<K: Key> PartialEq for RangeSet<K> {
    /// Whether both have the same ranges.
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
    }
}

impl<K: Key> Eq for RangeSet<K> {}

/// Empty ranges are left out.
///
/// # Panics
///
/// If a range has 2^64 keys, or becomes one of this many.
impl<K: Key, R: KeyRange<K>> Extend<R> for RangeSet<K> {
    fn extend<I: IntoIterator<Item = R>>(&mut self, ranges: I) {
        for range in ranges {
            inserted(self.insert(range));
        }
    }
}

impl<K: Key, R: KeyRange<K>> FromIterator<R> for RangeSet<K> {
    fn from_iter<I: IntoIterator<Item = R>>(ranges: I) -> Self {
        let mut set = RangeSet::new();
        set.extend(ranges);
        set
    }
}

from_array!(impl [K: Key, R: KeyRange<K>] RangeSet<K>, of R);

macro_rules! operators {
    ($($operator:ident $call:ident $iterator:ident;)*) => {$(
        impl<K: Key> $operator for &RangeSet<K> {
            type Output = RangeSet<K>;

            fn $call(self, other: Self) -> RangeSet<K> {
                self.$iterator(other).collect()
            }
        }
    )*};
}

operators! {
    BitOr bitor union;
    BitAnd bitand intersection;
    Sub sub difference;
    BitXor bitxor symmetric_difference;
}

iterated!(impl [K: Key] &'a RangeSet<K>, SetRanges<'a, K>, iter);

impl<K: Key> IntoIterator for RangeSet<K> {
    type Item = RangeInclusive<K>;
    type IntoIter = IntoSetRanges<K>;

    fn into_iter(self) -> IntoSetRanges<K> {
        IntoSetRanges(self.map.into_iter())
    }
}

/// The ranges of a set in order.
pub struct SetRanges<'a, K: Key = u64>(Ranges<'a, K, ()>);

both_ends!(impl ['a, K: Key] SetRanges<'a, K>, RangeInclusive<K>, 0, |(range, _)| range);

/// The ranges of a set by value, in order.
pub struct IntoSetRanges<K: Key = u64>(IntoRanges<K, ()>);

both_ends!(impl [K: Key] IntoSetRanges<K>, RangeInclusive<K>, 0, |(range, ())| range);
