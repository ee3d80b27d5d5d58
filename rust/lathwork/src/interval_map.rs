// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Intervals that overlap.
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{self, MaybeUninit};
use core::ops::RangeInclusive;
use core::ptr;

use lathwork_sys as sys;
use sys::{lath_interval, lath_interval_iter};

use crate::code;
use crate::handle::Handle;
use crate::index::{InsertError, Reason};
use crate::Value;

/// Any number of closed intervals with a value each, for any number of threads: which of them cover
/// a key, or have a key in common with a range? Values are `Copy`: numbers or references.
///
/// ```
/// let map = lathwork::IntervalMap::new();
/// map.insert(10..=30, 1u32).unwrap();
/// map.insert(20..=20, 2).unwrap();
/// let mut at: Vec<u32> = map.stab(20).map(|(_, value)| value).collect();
/// at.sort();
/// assert_eq!(at, [1, 2]);
/// ```
///
/// An interval that is inserted twice is there twice. Searches return intervals in no particular
/// order.
pub struct IntervalMap<V: Value + Copy> {
    set: Handle<sys::lath_intervals>,
    of: PhantomData<UnsafeCell<V>>, // invariant, as it takes values when it is shared
}

// SAFETY: any thread may call the set; values are copied between threads.
unsafe impl<V: Value + Copy + Send> Send for IntervalMap<V> {}
// SAFETY: likewise.
unsafe impl<V: Value + Copy + Send + Sync> Sync for IntervalMap<V> {}

fn found<V: Value + Copy>(interval: &lath_interval) -> (RangeInclusive<u64>, V) {
    // SAFETY: the word comes from insert(), and a copy of a value is as good as the value.
    (interval.first..=interval.end, unsafe {
        V::from_word(interval.value)
    })
}

impl<V: Value + Copy> IntervalMap<V> {
    /// An empty map.
    pub fn new() -> Self {
        let config = sys::lath_config {
            size: mem::size_of::<sys::lath_config>(),
            layout: sys::LATH_RANGES,
            flags: 0,
            rcu: ptr::null(),
            allocator: ptr::null(),
            id: 0,
        };
        // SAFETY: both pointers are valid.
        let init = |set| unsafe { sys::lath_intervals_init(set, sys::LATH_CLOSED, &config) };
        IntervalMap {
            set: Handle::new(init),
            of: PhantomData,
        }
    }

    /// Inserts an interval; if it is empty or there is no memory, it is refused.
    pub fn insert(&self, keys: RangeInclusive<u64>, value: V) -> Result<(), InsertError<V>> {
        if keys.is_empty() {
            return Err(InsertError {
                reason: Reason::Empty,
                value,
            });
        }
        let interval = as_interval(&keys, value);
        // SAFETY: the set is initialised; the pointer is valid.
        let result = unsafe { sys::lath_intervals_insert(self.set.get(), &interval) };
        code::refusal(result, || Reason::Overlaps(keys))
            .map_err(|reason| InsertError { reason, value })
    }

    /// Removes one interval with these keys and this value. Returns whether there was one.
    pub fn remove(&self, keys: RangeInclusive<u64>, value: V) -> bool {
        // SAFETY: the set is initialised; the pointer is valid.
        !keys.is_empty()
            && code::found(unsafe {
                sys::lath_intervals_erase(self.set.get(), &as_interval(&keys, value))
            })
    }

    /// The intervals that cover `key`.
    pub fn stab(&self, key: u64) -> Intervals<'_, V> {
        // SAFETY: `begin` passes valid pointers; likewise below.
        self.begin(|iter, set| unsafe { sys::lath_interval_iter_stab(iter, set, key) })
    }

    /// The intervals that have a key in common with `keys`.
    pub fn overlapping(&self, keys: RangeInclusive<u64>) -> Intervals<'_, V> {
        if keys.is_empty() {
            return Intervals {
                iter: None,
                of: PhantomData,
            };
        }
        self.begin(|iter, set| unsafe {
            sys::lath_interval_iter_overlap(iter, set, *keys.start(), *keys.end())
        })
    }

    /// The intervals that lie within `keys`.
    pub fn within(&self, keys: RangeInclusive<u64>) -> Intervals<'_, V> {
        if keys.is_empty() {
            return Intervals {
                iter: None,
                of: PhantomData,
            };
        }
        self.begin(|iter, set| unsafe {
            sys::lath_interval_iter_within(iter, set, *keys.start(), *keys.end())
        })
    }

    /// All intervals.
    pub fn iter(&self) -> Intervals<'_, V> {
        self.begin(|iter, set| unsafe { sys::lath_interval_iter_all(iter, set) })
    }

    /// How many intervals have a key in common with `keys`. Looks at each of them.
    pub fn count_overlapping(&self, keys: RangeInclusive<u64>) -> u64 {
        if keys.is_empty() {
            return 0;
        }
        // SAFETY: the set is initialised.
        unsafe { sys::lath_intervals_count_overlap(self.set.get(), *keys.start(), *keys.end()) }
    }

    /// An interval that covers `key`, or else one that is nearest to it.
    pub fn nearest(&self, key: u64) -> Option<(RangeInclusive<u64>, V)> {
        let mut interval = lath_interval::default();
        // SAFETY: the set is initialised; the pointer is valid.
        let result = unsafe { sys::lath_intervals_nearest(self.set.get(), key, &mut interval) };
        code::found(result).then(|| found(&interval))
    }

    /// The number of intervals. O(n).
    pub fn len(&self) -> usize {
        // SAFETY: the set is initialised.
        unsafe { sys::lath_intervals_count(self.set.get()) as usize }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    fn begin(
        &self,
        call: impl FnOnce(*mut lath_interval_iter, *mut sys::lath_intervals),
    ) -> Intervals<'_, V> {
        let mut iter = MaybeUninit::<lath_interval_iter>::zeroed();
        call(iter.as_mut_ptr(), self.set.get());
        // SAFETY: numbers and a pointer, of which any bits are a value.
        Intervals {
            iter: Some(unsafe { iter.assume_init() }),
            of: PhantomData,
        }
    }
}

fn as_interval<V: Value>(keys: &RangeInclusive<u64>, value: V) -> lath_interval {
    lath_interval {
        first: *keys.start(),
        end: *keys.end(),
        value: value.into_word(),
    }
}

impl<V: Value + Copy> Default for IntervalMap<V> {
    fn default() -> Self {
        IntervalMap::new()
    }
}

impl<V: Value + Copy + fmt::Debug> fmt::Debug for IntervalMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'a, V: Value + Copy> IntoIterator for &'a IntervalMap<V> {
    type Item = (RangeInclusive<u64>, V);
    type IntoIter = Intervals<'a, V>;

    fn into_iter(self) -> Intervals<'a, V> {
        self.iter()
    }
}

/// The result of a search. An interval that is there during the whole search is found once. It
/// copies up to 16 ahead, and shows these as they were then.
pub struct Intervals<'a, V: Value + Copy> {
    iter: Option<lath_interval_iter>,
    of: PhantomData<&'a IntervalMap<V>>,
}

impl<V: Value + Copy> Iterator for Intervals<'_, V> {
    type Item = (RangeInclusive<u64>, V);

    fn next(&mut self) -> Option<Self::Item> {
        let mut interval = lath_interval::default();
        let iter = self.iter.as_mut()?;
        // SAFETY: the iterator was begun, and its set lives.
        if unsafe { sys::lath_interval_next(iter, &mut interval) } == 1 {
            return Some(found(&interval));
        }
        self.iter = None;
        None
    }
}

impl<V: Value + Copy> core::iter::FusedIterator for Intervals<'_, V> {}
