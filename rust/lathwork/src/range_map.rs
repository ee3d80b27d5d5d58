// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Disjoint ranges with values.
use core::borrow::Borrow;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::ops::RangeInclusive;

use lathwork_sys as sys;

use crate::common::{
    both_ends, collected, compared, constructors, from_array, indexed, iterated, of_copies, stepped,
};
use crate::error::{InsertError, Reason};
use crate::index::{Entry, Index};
use crate::key::{keys, word, words};
use crate::lock::Lock;
use crate::memory::{NoMemory, Options, Reserve};
use crate::own::IntoEntries;
use crate::scan::Scan;
use crate::{Key, KeyRange, Ref};

/// An ordered map from disjoint ranges of keys to values, for any number of threads.
///
/// ```
/// use lathwork::RangeMap;
///
/// let map = RangeMap::new();
/// std::thread::scope(|s| {
///     s.spawn(|| map.insert(0x1000..0x3000, "file").unwrap());
///     s.spawn(|| map.insert(0x5000..0x6000, "heap").unwrap());
/// });
/// assert_eq!(*map.get(0x2000).unwrap(), "file");
/// assert!(map.get(0x3000).is_none());
///
/// map.remove(0x1800..0x2000).unwrap(); // a part of "file"
/// let left: Vec<_> = map.iter().map(|(range, _)| range).collect();
/// assert_eq!(left, [0x1000..=0x17ff, 0x2000..=0x2fff, 0x5000..=0x5fff]);
/// ```
///
/// A range has at most 2^64 - 1 keys.
///
/// Reads take no lock. `insert` of a value that is in the leaves (see [the crate](crate#values)),
/// `try_insert`, `replace`, `remove_starting` and `remove_covering` run concurrently. The others
/// that change the map, `insert` of other values, `remove`, `insert_merged` and `pop_...`, run one
/// at a time, and wait for those that are in progress.
pub struct RangeMap<K: Key, V> {
    pub(crate) index: Index<V>,
    lock: Lock,
    of: PhantomData<fn(K) -> K>,
}

fn entry<K: Key, V>((first, last, value): Entry<'_, V>) -> (RangeInclusive<K>, Ref<'_, V>) {
    (keys(first, last), value)
}

impl<K: Key, V> RangeMap<K, V> {
    constructors!("map");
    of_copies!();

    /// An empty map that is made as `options` says.
    pub fn try_with(options: Options) -> Result<Self, NoMemory> {
        Ok(RangeMap {
            index: Index::new(sys::LATH_RANGES, options)?,
            lock: Lock::new(),
            of: PhantomData,
        })
    }

    /// The numbers of a range that is not empty, and the value, or why there is no such range.
    fn range_and(range: &impl KeyRange<K>, value: V) -> Result<(u64, u64, V), InsertError<V, K>> {
        let reason = match words(range) {
            Some((0, u64::MAX)) => Reason::TooLong,
            Some((first, last)) => return Ok((first, last, value)),
            None => Reason::Empty,
        };
        Err(InsertError { reason, value })
    }

    /// Gives all keys of a range this value, as one step. Ranges that are there within it are
    /// removed, those that it meets in part are cut. O(log n).
    ///
    /// ```
    /// let map = lathwork::RangeMap::new();
    /// map.insert(0..30, String::from("old")).unwrap();
    /// map.insert(10..20, String::from("new")).unwrap();
    /// let all: Vec<_> = map.iter().map(|(range, value)| (range, value.to_string())).collect();
    /// let text = |s: &str| s.to_string();
    /// assert_eq!(all, [(0..=9, text("old")), (10..=19, text("new")), (20..=29, text("old"))]);
    /// ```
    pub fn insert(&self, range: impl KeyRange<K>, value: V) -> Result<(), InsertError<V, K>> {
        self.put(&range, value, None)
    }

    /// As [`insert`](Self::insert), and what touches the range and has an equal value becomes one
    /// range with it. `==` of the values must not call the map.
    ///
    /// ```
    /// let map = lathwork::RangeMap::new();
    /// map.insert_merged(0..10, 'a').unwrap();
    /// map.insert_merged(10..20, 'a').unwrap();
    /// assert_eq!(map.iter().next().unwrap().0, 0..=19);
    /// ```
    pub fn insert_merged(&self, range: impl KeyRange<K>, value: V) -> Result<(), InsertError<V, K>>
    where
        V: PartialEq,
    {
        self.put(&range, value, Some(V::eq))
    }

    /// Puts a range over what is there; with `same` what touches it becomes one range with it.
    fn put(
        &self, range: &impl KeyRange<K>, value: V, same: Option<fn(&V, &V) -> bool>,
    ) -> Result<(), InsertError<V, K>> {
        let (first, last, value) = Self::range_and(range, value)?;
        self.index.drop_some();
        let stored = self.index.stored(value).map_err(InsertError::with_keys)?;
        // before the lock: no value is dropped under it
        let section = same.and_then(|_| self.index.section());
        let done = Reserve::change(self.index.memory(), |reserve| {
            let (mut first, mut last) = (first, last);
            // a range of a node that is cut in two shares it, which takes two steps
            let (_shared, _alone) = match same.is_none() && self.index.inline() {
                true => (Some(self.lock.shared()), None),
                false => (None, Some(self.lock.alone())),
            };
            if let Some(same) = same {
                // SAFETY: the value is ours.
                let value: &V = unsafe { stored.target(section.is_some()) };
                let before = first.checked_sub(1).and_then(|key| self.index.at(key));
                let behind = last.checked_add(1).and_then(|key| self.index.at(key));
                for (from, to, there) in before.into_iter().chain(behind) {
                    let (from, to) = (from.min(first), to.max(last));
                    if same(&there, value) && (from, to) != (0, u64::MAX) {
                        (first, last) = (from, to);
                    }
                }
            }
            reserve.within(|| self.index.store(first, last, &stored))
        });
        drop(section);
        // SAFETY: a refused value is not in the index.
        done.map_err(|reason| unsafe { self.index.refused(reason, stored) }.with_keys())
    }

    /// Inserts a range, unless it overlaps one that is there. O(log n).
    ///
    /// ```
    /// let map = lathwork::RangeMap::new();
    /// map.try_insert(10..30, 1).unwrap();
    /// let refused = map.try_insert(25..35, 2).unwrap_err();
    /// assert_eq!((refused.reason, refused.value), (lathwork::Reason::Overlaps(10..=29), 2));
    /// ```
    pub fn try_insert(
        &self, range: impl KeyRange<K>, value: V,
    ) -> Result<Ref<'_, V>, InsertError<V, K>> {
        let (first, last, value) = Self::range_and(&range, value)?;
        let done = self.index.insert(value, |stored| {
            Reserve::change(self.index.memory(), |reserve| {
                let _change = self.lock.shared();
                reserve.within(|| self.index.insert_stored(first, last, stored))
            })
        });
        done.map_err(InsertError::with_keys)
    }

    indexed!((RangeInclusive<K>, Ref<'_, V>), entry);

    /// A copy of a map whose values are in words.
    fn whole(&self) -> Option<Self> {
        Some(RangeMap {
            index: self.index.copy(sys::LATH_RANGES)?,
            lock: Lock::new(),
            of: PhantomData,
        })
    }

    /// Removes these keys: ranges within them go, those that they meet in part are cut. A range
    /// that goes beyond at both ends becomes two of the same value, which may need memory: without
    /// it no key has been removed. A read may see a part of the keys removed, and the others not
    /// yet.
    pub fn remove(&self, range: impl KeyRange<K>) -> Result<(), NoMemory> {
        self.index.drop_some();
        match words(&range) {
            Some((first, last)) => Reserve::change(self.index.memory(), |reserve| {
                let _change = self.lock.alone();
                reserve.within(|| self.index.cut(first, last))
            }),
            None => Ok(()),
        }
    }

    /// Removes the range that begins at `first`. Its value is dropped when no thread has a [`Ref`]
    /// to it.
    pub fn remove_starting(
        &self, first: impl Borrow<K>,
    ) -> Option<(RangeInclusive<K>, Ref<'_, V>)> {
        self.index.drop_some();
        let _change = self.lock.shared();
        self.index.remove(sys::lath_index_erase_item, word(first)).map(entry)
    }

    /// Removes the range that contains `key`.
    ///
    /// ```
    /// let map = lathwork::RangeMap::new();
    /// map.insert(10..30, 1).unwrap();
    /// assert!(map.remove_starting(15).is_none());
    /// assert_eq!(map.remove_covering(15).unwrap().0, 10..=29);
    /// ```
    pub fn remove_covering(&self, key: impl Borrow<K>) -> Option<(RangeInclusive<K>, Ref<'_, V>)> {
        self.index.drop_some();
        let _change = self.lock.shared();
        self.index.remove(sys::lath_index_erase_item_at, word(key)).map(entry)
    }

    /// Removes the first range.
    pub fn pop_first(&self) -> Option<(RangeInclusive<K>, Ref<'_, V>)> {
        self.index.drop_some();
        let _change = self.lock.alone(); // none is cut between finding and removing it
        self.index.pop(true).map(entry)
    }

    /// Removes the last range.
    pub fn pop_last(&self) -> Option<(RangeInclusive<K>, Ref<'_, V>)> {
        self.index.drop_some();
        let _change = self.lock.alone();
        self.index.pop(false).map(entry)
    }

    /// Removes the range that begins at `first`, and returns its value: no one else has the map.
    /// The value is cloned if another part of a range that was cut has it too.
    pub fn take_starting(&mut self, first: impl Borrow<K>) -> Option<(RangeInclusive<K>, V)>
    where
        V: Clone,
    {
        let (first, last, value) = self.index.take_value(word(first), V::clone)?;
        Some((keys(first, last), value))
    }

    /// Gives the range that begins at `first` another value. Returns the old one; if there is no
    /// such range, [`Reason::Absent`] and `value` back.
    pub fn replace(&self, first: K, value: V) -> Result<Ref<'_, V>, InsertError<V, K>> {
        self.index.drop_some();
        let lock = || self.lock.shared();
        let done = self.index.replace(first.into_word(), value, lock);
        done.map_err(InsertError::with_keys)
    }

    /// Removes the ranges for which `keep` returns false. One that another thread changes in the meantime
    /// may be kept.
    pub fn retain(&self, mut keep: impl FnMut(&RangeInclusive<K>, &V) -> bool) {
        self.index.drop_some();
        for (range, value) in self {
            let (first, last) = (range.start().into_word(), range.end().into_word());
            if !keep(&range, &value) {
                let _change = self.lock.alone(); // none is cut between the comparison and the removal
                if matches!(self.index.at(first), Some((f, l, _)) if (f, l) == (first, last)) {
                    self.index.remove_if(first, &value);
                }
            }
        }
    }

    /// Moves the keys at or behind `key` into their own map; a range that contains it and a
    /// key before it is cut. Without memory all of them stay.
    ///
    /// ```
    /// let mut low = lathwork::RangeMap::from([(0..10, 'a'), (20..30, 'b')]);
    /// let high = low.split_off(25).unwrap();
    /// assert_eq!(low.last_key_value().unwrap().0, 20..=24);
    /// assert_eq!(high.first_key_value().unwrap().0, 25..=29);
    /// ```
    pub fn split_off(&mut self, key: K) -> Result<Self, NoMemory>
    where
        V: Clone,
    {
        let other = Self::try_with(self.index.options)?;
        let from = key.into_word();
        for (range, value) in self.overlapping(key..=K::LAST) {
            let (first, last) = (range.start().into_word(), range.end().into_word());
            let range = keys::<K>(first.max(from), last);
            let done = other.try_insert(range, (*value).clone());
            done.map_err(|_| NoMemory)?;
        }
        self.remove(key..=K::LAST)?;
        Ok(other)
    }

    /// Moves all ranges of `other` over those of this map. Without memory some are in `other`
    /// still.
    pub fn append(&mut self, other: &mut Self) -> Result<(), NoMemory>
    where
        V: Clone,
    {
        while let Some((range, value)) = other.first_key_value() {
            let first = *range.start();
            let done = self.insert(range, (*value).clone());
            done.map_err(|_| NoMemory)?;
            drop(value);
            other.take_starting(first);
        }
        Ok(())
    }

    /// All ranges in order. A range that is there all the time is seen once, one that is never
    /// there is not seen. One that is removed after the iterator has begun may be seen or not: the
    /// iterator copies up to 32 ranges ahead, and shows these as they were then. Its `Ref`s stay
    /// valid.
    ///
    /// ```
    /// let map = lathwork::RangeMap::new();
    /// for i in 0..100 {
    ///     map.insert(10 * i..10 * i + 5, Box::new(i)).unwrap();
    /// }
    /// let mut seen = 0;
    /// for (range, value) in &map {
    ///     map.remove_starting(*range.start()); // this one, and
    ///     map.remove_starting(*range.start() + 10); // the next one, seen if it was copied
    ///     assert_eq!(**value, *range.start() / 10);
    ///     seen += 1;
    /// }
    /// assert!(map.is_empty() && (50..=100).contains(&seen));
    /// ```
    pub fn iter(&self) -> Ranges<'_, K, V> {
        self.overlapping(..)
    }

    /// The ranges that have a key in common with `keys`, in order.
    ///
    /// ```
    /// let map = lathwork::RangeMap::new();
    /// for i in 0..10 {
    ///     map.insert(100 * i..100 * i + 50, i).unwrap();
    /// }
    /// let seen: Vec<i32> = map.overlapping(149..=300).map(|(_, value)| *value).collect();
    /// assert_eq!(seen, [1, 2, 3]);
    /// let back: Vec<i32> = map.overlapping(149..=300).rev().map(|(_, value)| *value).collect();
    /// assert_eq!(back, [3, 2, 1]);
    /// ```
    pub fn overlapping(&self, keys: impl KeyRange<K>) -> Ranges<'_, K, V> {
        let range = words(&keys);
        let first = range.and_then(|(from, _)| self.index.at(from));
        // behind the range that contains the first key, if there is one
        let rest = range.and_then(|(from, last)| match &first {
            Some(there) => Some((there.1.checked_add(1)?, last)),
            None => Some((from, last)),
        });
        Ranges {
            first,
            scan: self.index.scan(rest.filter(|(from, last)| from <= last)),
            of: PhantomData,
        }
    }

    /// The runs of keys within `keys` that no range contains, in order.
    ///
    /// ```
    /// let map = lathwork::RangeMap::from([(10..20, 'a'), (30..40, 'b')]);
    /// assert_eq!(map.gaps(0..35).collect::<Vec<_>>(), [0..=9, 20..=29]);
    /// ```
    pub fn gaps(&self, keys: impl KeyRange<K>) -> Gaps<'_, K, V> {
        let range = words(&keys);
        Gaps { taken: self.overlapping(keys), left: range }
    }
}

compared!(RangeMap [K: Key] [] index.all());

collected!(
    /// Ranges that overlap: the last one counts. Empty ones are left out.
    ///
    /// # Panics
    ///
    /// If a range has 2^64 keys.
    impl [K: Key, V] RangeMap<K, V>, of [R: KeyRange<K>,] (R, V),
    clone [K: Key, V: Clone] |(range, value)| (range, (*value).clone()), by index.options, or whole
);
from_array!(impl [K: Key, R: KeyRange<K>, V] RangeMap<K, V>, of (R, V));
iterated!(impl [K: Key, V] &'a RangeMap<K, V>, Ranges<'a, K, V>, iter);

/// A value that two parts of a range have is cloned for the first of them.
impl<K: Key, V: Clone> IntoIterator for RangeMap<K, V> {
    type Item = (RangeInclusive<K>, V);
    type IntoIter = IntoRanges<K, V>;

    fn into_iter(self) -> IntoRanges<K, V> {
        let index = self.index;
        let clone = V::clone;
        IntoRanges(IntoEntries { index, clone }, PhantomData)
    }
}

/// The ranges of a map in order, from [`RangeMap::iter`] or [`RangeMap::overlapping`]. It copies up
/// to 32 ahead: what is removed after that may still be seen.
pub struct Ranges<'a, K: Key, V> {
    first: Option<Entry<'a, V>>,
    scan: Scan<'a, V>,
    of: PhantomData<fn(K) -> K>,
}

stepped!(impl ['a, K: Key, V] Ranges<'a, K, V>, (RangeInclusive<K>, Ref<'a, V>), |this, back| {
    let next = if back {
        this.scan.next_back().or_else(|| this.first.take())
    } else {
        this.first.take().or_else(|| this.scan.next())
    };
    next.map(entry)
});

/// Ranges by value, in order.
pub struct IntoRanges<K: Key, V>(IntoEntries<V>, PhantomData<fn(K) -> K>);

both_ends!(impl [K: Key, V] IntoRanges<K, V>, (RangeInclusive<K>, V), 0, |(first, last, value)| {
    (keys(first, last), value)
});

/// Runs of keys that no range contains, from [`RangeMap::gaps`].
pub struct Gaps<'a, K: Key, V> {
    taken: Ranges<'a, K, V>,
    left: Option<(u64, u64)>,
}

impl<K: Key, V> Iterator for Gaps<'_, K, V> {
    type Item = RangeInclusive<K>;

    fn next(&mut self) -> Option<RangeInclusive<K>> {
        loop {
            let (from, last) = self.left?;
            let (gap, next) = match self.taken.next() {
                Some((there, _)) => {
                    let (first, end) = (there.start().into_word(), there.end().into_word());
                    let gap = (first > from).then(|| (from, first - 1));
                    (gap, end.checked_add(1).filter(|&next| next <= last))
                }
                None => (Some((from, last)), None),
            };
            self.left = next.map(|next| (next, last));
            if let Some((first, last)) = gap {
                return Some(keys(first, last));
            }
        }
    }
}

impl<K: Key, V> FusedIterator for Gaps<'_, K, V> {}
