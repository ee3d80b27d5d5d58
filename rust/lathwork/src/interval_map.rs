// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Intervals that overlap.
use alloc::string::String;
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::RangeInclusive;

use lathwork_sys as sys;
use sys::{lath_interval, lath_interval_iter};

use crate::code;
use crate::common::{collected, constructors, iterated};
use crate::error::{InsertError, Reason};
use crate::handle::{config, no_memory, Handle};
use crate::key::{keys, word, words};
use crate::memory::{NoMemory, Options};
use crate::own::verified;
use crate::retired::drop_each;
use crate::section::Section;
use crate::value::{self, header_of, number, Owned, Stored};
use crate::{Key, KeyRange, Ref};

/// Any number of intervals with a value each, for any number of threads: which of them cover a key,
/// or have a key in common with a range?
///
/// ```
/// let map = lathwork::IntervalMap::new();
/// map.insert(10..=30, String::from("long")).unwrap();
/// map.insert(20..=20, String::from("short")).unwrap();
/// let mut at: Vec<String> = map.stab(20).map(|(_, value)| value.to_string()).collect();
/// at.sort();
/// assert_eq!(at, ["long", "short"]);
/// assert!(map.remove(20..=20, "short"));
/// ```
///
/// An interval that is inserted twice is there twice. Searches return intervals in no particular
/// order.
pub struct IntervalMap<K: Key, V> {
    set: Handle<sys::lath_intervals, V>,
    options: Options,
    keys: PhantomData<fn(K) -> K>,
}

/// A section, if values need one while they are looked at.
fn section<V>() -> Option<Section> {
    (!number::<V>()).then(Section::enter)
}

impl<K: Key, V> IntervalMap<K, V> {
    constructors!("map");

    /// An empty map that is made as `options` says.
    pub fn try_with(options: Options) -> Result<Self, NoMemory> {
        let init = |set, nodes| {
            let config = config(sys::LATH_RANGES, options.flags, nodes);
            // SAFETY: both pointers are valid.
            unsafe { sys::lath_intervals_init(set, sys::LATH_CLOSED, &config) }
        };
        Ok(IntervalMap {
            set: Handle::new(options.memory, init).map_err(no_memory)?,
            options,
            keys: PhantomData,
        })
    }

    /// Inserts an interval; if it is empty or there is no memory, it is refused.
    pub fn insert(&self, range: impl KeyRange<K>, value: V) -> Result<(), InsertError<V, K>> {
        let refused = |reason, value| Err(InsertError { reason, value });
        let (first, end) = match words(&range) {
            Some(range) => range,
            None => return refused(Reason::Empty, value),
        };
        let memory = self.set.memory();
        let value = match Stored::new(value, number::<V>(), &memory) {
            Ok(stored) => stored.first(),
            Err(value) => return refused(Reason::NoMemory, value),
        };
        let interval = lath_interval { first, end, value };
        // SAFETY: the set is initialised; the pointer is valid.
        let result = unsafe { sys::lath_intervals_insert(self.set.get(), &interval) };
        code::refusal(result, || Reason::Exists).map_err(|reason| InsertError {
            reason: reason.with_keys(),
            // SAFETY: a refused word is not in the set.
            value: unsafe { Stored::word(value).take(number::<V>(), &memory) },
        })
    }

    /// Removes one interval with these keys and an equal value. Returns whether there was one.
    pub fn remove<Q: ?Sized>(&self, range: impl KeyRange<K>, value: &Q) -> bool
    where
        V: PartialEq<Q>,
    {
        if !number::<V>() {
            self.set.drop_some();
        }
        let exact = words(&range);
        let (first, end) = match exact {
            Some(range) => range,
            None => return false,
        };
        let within = self.begin(Some(()), |iter, set| unsafe {
            sys::lath_interval_iter_within(iter, set, first, end)
        });
        // another thread may remove one that was found
        let mut same = within.filter(|there| (there.0, there.1) == (first, end));
        same.any(|(_, _, there)| *there == *value && self.erase(first, end, there.stored().first()))
    }

    /// Removes one interval with this word, unless another thread has.
    fn erase(&self, first: u64, end: u64, word: u64) -> bool {
        let interval = lath_interval { first, end, value: word };
        // SAFETY: the set is initialised; the pointer is valid; the word has left it then.
        unsafe {
            let gone = code::found(sys::lath_intervals_erase(self.set.get(), &interval));
            if gone && !number::<V>() {
                self.set.left(word);
            }
            gone
        }
    }

    /// Removes the intervals for which `keep` returns false.
    pub fn retain(&self, mut keep: impl FnMut(&RangeInclusive<K>, &V) -> bool) {
        for (range, value) in self {
            let (first, end) = (range.start().into_word(), range.end().into_word());
            if !keep(&range, &value) {
                self.erase(first, end, value.stored().first());
            }
        }
    }

    /// The intervals that cover `key`.
    pub fn stab(&self, key: impl Borrow<K>) -> Intervals<'_, K, V> {
        let key = word(key);
        // SAFETY: `begin` passes valid pointers; likewise below.
        let found = self
            .begin(Some(()), |iter, set| unsafe { sys::lath_interval_iter_stab(iter, set, key) });
        Intervals(found, PhantomData)
    }

    /// The intervals that have a key in common with `keys`.
    pub fn overlapping(&self, keys: impl KeyRange<K>) -> Intervals<'_, K, V> {
        self.search(&keys, sys::lath_interval_iter_overlap)
    }

    /// The intervals that lie within `keys`.
    pub fn within(&self, keys: impl KeyRange<K>) -> Intervals<'_, K, V> {
        self.search(&keys, sys::lath_interval_iter_within)
    }

    fn search(
        &self, keys: &impl KeyRange<K>,
        begin: unsafe extern "C" fn(*mut lath_interval_iter, *mut sys::lath_intervals, u64, u64),
    ) -> Intervals<'_, K, V> {
        let keys = words(keys);
        let (first, end) = keys.unwrap_or((1, 0));
        // SAFETY: as in stab().
        let found = self.begin(keys, |iter, set| unsafe { begin(iter, set, first, end) });
        Intervals(found, PhantomData)
    }

    /// All intervals.
    pub fn iter(&self) -> Intervals<'_, K, V> {
        let found =
            self.begin(Some(()), |iter, set| unsafe { sys::lath_interval_iter_all(iter, set) });
        Intervals(found, PhantomData)
    }

    /// How many intervals have a key in common with `keys`. Looks at each of them.
    pub fn count_overlapping(&self, keys: impl KeyRange<K>) -> u64 {
        match words(&keys) {
            // SAFETY: the set is initialised.
            Some((first, end)) => unsafe {
                sys::lath_intervals_count_overlap(self.set.get(), first, end)
            },
            None => 0,
        }
    }

    /// An interval that covers `key`, or else one that is nearest to it.
    pub fn nearest(&self, key: impl Borrow<K>) -> Option<(RangeInclusive<K>, Ref<'_, V>)> {
        let section = section::<V>();
        let mut there = lath_interval::default();
        // SAFETY: the set is initialised; the pointer is valid.
        let result = unsafe { sys::lath_intervals_nearest(self.set.get(), word(key), &mut there) };
        code::found(result).then(|| {
            let range = keys(there.first, there.end);
            (range, Ref::new(Stored::word(there.value), section))
        })
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

    /// Removes all intervals and drops their values.
    pub fn clear(&mut self) {
        drop_each(Taken(self));
    }

    /// As [`RangeMap::reclaim`](crate::RangeMap::reclaim).
    pub fn reclaim(&self) {
        self.set.reclaim();
    }

    /// Checks the invariants of the set, for tests: the first that is broken.
    pub fn verify(&mut self) -> Result<(), String> {
        // SAFETY: the set is initialised; the report has that size.
        verified(|report, size| unsafe { sys::lath_intervals_verify(self.set.get(), report, size) })
    }

    /// Begins a search; None: it finds nothing.
    fn begin<T>(
        &self, keys: Option<T>,
        call: impl FnOnce(*mut lath_interval_iter, *mut sys::lath_intervals),
    ) -> Search<'_, V> {
        let iter = keys.map(|_| {
            let mut iter = MaybeUninit::<lath_interval_iter>::zeroed();
            call(iter.as_mut_ptr(), self.set.get());
            // SAFETY: numbers and a pointer, of which any bits are a value.
            unsafe { iter.assume_init() }
        });
        Search { iter, _section: section::<V>(), of: PhantomData }
    }
}

/// Takes values out of a set, for a caller that alone has it.
struct Taken<'a, K: Key, V>(&'a mut IntervalMap<K, V>);

impl<K: Key, V> Iterator for Taken<'_, K, V> {
    type Item = Option<Owned<V>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, end, value) = {
            let mut all = self
                .0
                .begin(Some(()), |iter, set| unsafe { sys::lath_interval_iter_all(iter, set) });
            let (first, end, value) = all.next()?;
            (first, end, value.stored().first())
        };
        let interval = lath_interval { first, end, value };
        // SAFETY: the set is initialised; no one has a Ref.
        unsafe {
            let gone = sys::lath_intervals_erase(self.0.set.get(), &interval);
            assert!(code::found(gone), "lathwork: an interval has gone");
            let memory = self.0.set.memory();
            let last = !number::<V>() && value::leave(value);
            Some(last.then(|| Owned::new(header_of(value), Some(memory))))
        }
    }
}

impl<K: Key, V> Drop for IntervalMap<K, V> {
    fn drop(&mut self) {
        if number::<V>() {
            return;
        }
        let values = self.set.end();
        drop_each(values.map(Some).chain(Taken(self)));
    }
}

collected!(
    /// Empty intervals are left out.
    impl [K: Key, V] IntervalMap<K, V>, of [R: KeyRange<K>,] (R, V),
    clone [K: Key, V: Clone] |(range, value)| (range, (*value).clone()), by options
);
iterated!(impl [K: Key, V] &'a IntervalMap<K, V>, Intervals<'a, K, V>, iter);

/// Whether both have the same intervals with equal values, each as often.
impl<K: Key, V: PartialEq> PartialEq for IntervalMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        let mut ours: Vec<_> = self.iter().0.collect();
        let mut theirs: Vec<_> = other.iter().0.collect();
        ours.sort_by_key(|there| (there.0, there.1));
        theirs.sort_by_key(|there| (there.0, there.1));
        ours.len() == theirs.len()
            && ours.iter().enumerate().all(|(at, one)| {
                let same =
                    theirs[at..].iter().take_while(|there| (there.0, there.1) == (one.0, one.1));
                let found = same.into_iter().position(|there| *there.2 == *one.2);
                found.map(|behind| theirs.swap(at, at + behind)).is_some()
            })
    }
}

impl<K: Key, V: Eq> Eq for IntervalMap<K, V> {}

/// A search, with numbers for keys.
struct Search<'a, V> {
    iter: Option<lath_interval_iter>,
    _section: Option<Section>,
    of: PhantomData<(&'a V, *const ())>,
}

impl<'a, V> Iterator for Search<'a, V> {
    type Item = (u64, u64, Ref<'a, V>);

    fn next(&mut self) -> Option<Self::Item> {
        let mut there = lath_interval::default();
        let iter = self.iter.as_mut()?;
        // SAFETY: the iterator was begun, and its set lives.
        if unsafe { sys::lath_interval_next(iter, &mut there) } == 1 {
            // the search's section began before the interval was read
            let value = Ref::new(Stored::word(there.value), section::<V>());
            return Some((there.first, there.end, value));
        }
        self.iter = None;
        None
    }
}

/// The result of a search. An interval that is there during the whole search is found once. It
/// copies up to 16 ahead, and shows these as they were then.
pub struct Intervals<'a, K: Key, V>(Search<'a, V>, PhantomData<fn(K) -> K>);

impl<'a, K: Key, V> Iterator for Intervals<'a, K, V> {
    type Item = (RangeInclusive<K>, Ref<'a, V>);

    fn next(&mut self) -> Option<Self::Item> {
        let (first, end, value) = self.0.next()?;
        Some((keys(first, end), value))
    }
}

impl<K: Key, V> FusedIterator for Intervals<'_, K, V> {}
