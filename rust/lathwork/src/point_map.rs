// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Single keys with values.
use core::borrow::Borrow;
use core::marker::PhantomData;

use lathwork_sys as sys;

use crate::common::{
    both_ends, collected, compared, constructors, from_array, indexed, inserted, iterated, keyed,
    of_copies,
};
use crate::entry::{Alone, OccupiedEntry};
use crate::error::{InsertError, Reason};
use crate::handle::made;
use crate::index::{Entry, Index};
use crate::key::{word, words};
use crate::memory::{NoMemory, Options};
use crate::own::IntoEntries;
use crate::scan::{Scan, Values};
use crate::value::value_size;
use crate::{Key, KeyRange, Ref};

/// An ordered map from keys to values, for any number of threads.
///
/// ```
/// use lathwork::PointMap;
///
/// let map = PointMap::new();
/// map.insert(7, String::from("seven")).unwrap();
/// map.insert(9, String::from("nine")).unwrap();
/// assert_eq!(map.get(7).unwrap().len(), 5);
/// assert_eq!(map.range(..8).map(|(key, _)| key).collect::<Vec<i32>>(), [7]);
///
/// let squares: PointMap<u32, u32> = (1..=3).map(|n| (n, n * n)).collect();
/// let last = squares.iter().rev().next().unwrap();
/// assert_eq!((last.0, *last.1), (3, 9));
/// assert!(squares.clone().into_keys().eq([1, 2, 3]));
/// assert!(squares.into_values().rev().eq([9, 4, 1]));
/// ```
pub struct PointMap<K: Key, V> {
    pub(crate) index: Index<V>,
    of: PhantomData<fn(K) -> K>,
}

impl<K: Key, V> PointMap<K, V> {
    constructors!("map");
    of_copies!();

    /// An empty map that is made as `options` says.
    pub fn try_with(options: Options) -> Result<Self, NoMemory> {
        Ok(PointMap { index: Index::new(sys::LATH_POINTS, options)?, of: PhantomData })
    }

    /// Gives `key` a value. Returns the one that it had. O(log n).
    ///
    /// ```
    /// let map = lathwork::PointMap::new();
    /// assert!(map.insert(1, "one").unwrap().is_none());
    /// assert_eq!(*map.insert(1, "uno").unwrap().unwrap(), "one");
    /// ```
    pub fn insert(&self, key: K, value: V) -> Result<Option<Ref<'_, V>>, InsertError<V, K>> {
        self.index.drop_some();
        let done = self.index.put(key.into_word(), value);
        done.map_err(InsertError::with_keys)
    }

    /// Inserts a key that is not there.
    ///
    /// ```
    /// let map = lathwork::PointMap::new();
    /// map.try_insert(1, "one").unwrap();
    /// assert_eq!(map.try_insert(1, "uno").unwrap_err().value, "uno");
    /// ```
    pub fn try_insert(&self, key: K, value: V) -> Result<Ref<'_, V>, InsertError<V, K>> {
        let word = key.into_word();
        let insert = |stored: &_| self.index.insert_stored(word, word, stored);
        let done = self.index.insert(value, insert);
        done.map_err(InsertError::with_keys)
    }

    /// The value of `key`, which is `make()` if there was none. Of threads that find none at the
    /// same time one inserts its value, and all get that one.
    ///
    /// ```
    /// let map = lathwork::PointMap::new();
    /// assert_eq!(*map.get_or_insert_with(1, || "one").unwrap(), "one");
    /// assert_eq!(*map.get_or_insert_with(1, || unreachable!()).unwrap(), "one");
    /// ```
    pub fn get_or_insert_with(
        &self, key: K, make: impl FnOnce() -> V,
    ) -> Result<Ref<'_, V>, InsertError<V, K>> {
        if let Some(there) = self.get(key) {
            return Ok(there);
        }
        let mut value = make();
        loop {
            let refused = match self.try_insert(key, value) {
                Err(refused) if matches!(refused.reason, Reason::Overlaps(_)) => refused,
                done => return done,
            };
            if let Some(there) = self.get(key) {
                return Ok(there);
            }
            value = refused.value; // it was there, and has been removed
        }
    }

    /// Gives `key` the value that `change` makes of the present one, as one step: if another thread
    /// changes it first, `change` is called again. Returns the new value; None: the key is not
    /// there.
    ///
    /// ```
    /// let map = lathwork::PointMap::new();
    /// map.insert(1, 10).unwrap();
    /// std::thread::scope(|s| {
    ///     for _ in 0..4 {
    ///         s.spawn(|| drop(map.update(1, |n| n + 1).unwrap()));
    ///     }
    /// });
    /// assert_eq!(*map.get(1).unwrap(), 14);
    /// ```
    pub fn update(
        &self, key: impl Borrow<K>, mut change: impl FnMut(&V) -> V,
    ) -> Result<Option<Ref<'_, V>>, InsertError<V, K>> {
        self.index.drop_some();
        let key = word(key);
        loop {
            let old = match self.index.get(key) {
                Some(old) => old,
                None => return Ok(None),
            };
            match self.index.replace_if(key, &old, change(&old)) {
                Ok(new) => return Ok(Some(new)),
                Err(refused) if refused.reason == Reason::Absent => {}
                Err(refused) => return Err(refused.with_keys()),
            }
        }
    }

    indexed!((K, Ref<'_, V>), entry);

    /// A copy of a map whose values are in words.
    fn whole(&self) -> Option<Self> {
        Some(PointMap { index: self.index.copy(sys::LATH_POINTS)?, of: PhantomData })
    }

    keyed!(K, Ref<'_, V>, PointsMut<'_, K, V>);

    /// Removes `key`. Its value is dropped when no thread has a [`Ref`] to it.
    pub fn remove(&self, key: impl Borrow<K>) -> Option<Ref<'_, V>> {
        self.index.drop_some();
        self.index.remove(sys::lath_index_erase_item, word(key)).map(|found| found.2)
    }

    /// Removes `key`, waits until no thread has a [`Ref`] or an iterator of that time, of any map, and
    /// returns the value, which nobody uses then. A `Ref` that was forgotten is waited for for ever.
    ///
    /// ```
    /// let slots = lathwork::PointMap::from([(1, vec![0u8; 4096])]);
    /// let memory: Vec<u8> = slots.remove_and_wait(1).unwrap();
    /// assert_eq!(memory.len(), 4096);
    /// ```
    ///
    /// # Panics
    ///
    /// If this thread has a `Ref` to a value in its own memory, or an iterator over such: it would wait
    /// for itself.
    pub fn remove_and_wait(&self, key: impl Borrow<K>) -> Option<V> {
        self.index.remove_and_wait(word(key))
    }

    fn pop(&self, first: bool) -> Option<(K, Ref<'_, V>)> {
        self.index.drop_some();
        self.index.pop(first).map(entry)
    }

    /// The value of `key`, to be changed: no one else has the map. In a map
    /// [`of_copies`](Self::of_copies) of more than 8 bytes, the first such call gives each value its
    /// own memory; [`update`](Self::update) does not.
    ///
    /// ```
    /// let mut map = lathwork::PointMap::from([(1, 5), (2, 6)]);
    /// if let Some(n) = map.get_mut(1) {
    ///     *n += 1;
    /// }
    /// for (key, n) in &mut map {
    ///     *n *= key;
    /// }
    /// assert!(map.into_values().eq([6, 12]));
    /// ```
    pub fn get_mut(&mut self, key: impl Borrow<K>) -> Option<&mut V> {
        self.apart().get_mut(word(key))
    }

    /// The entries with these keys, in order, to be changed: no one else has the map.
    pub fn range_mut(&mut self, keys: impl KeyRange<K>) -> PointsMut<'_, K, V> {
        PointsMut(self.apart().scan_mut(words(&keys)), PhantomData)
    }

    /// The index, for calls that change values where they are: long ones leave the leaves.
    fn apart(&mut self) -> &mut Index<V> {
        if self.index.inline() && value_size::<V>() > 0 {
            let options = Options { copied: false, ..self.index.options };
            let mut apart = made(Index::new(sys::LATH_POINTS, options));
            made(self.index.hand_over_from(0, &mut apart));
            self.index = apart;
        }
        &mut self.index
    }

    /// The place of the first key: no one else has the map.
    pub fn first_entry(&mut self) -> Option<OccupiedEntry<'_, Self>> {
        let key = self.index.end(true).map(entry)?.0;
        self.entry(key).occupied()
    }

    /// The place of the last key.
    pub fn last_entry(&mut self) -> Option<OccupiedEntry<'_, Self>> {
        let key = self.index.end(false).map(entry)?.0;
        self.entry(key).occupied()
    }

    /// Removes `key` and returns its value: no one else has the map.
    pub fn take(&mut self, key: impl Borrow<K>) -> Option<V> {
        let taken = self.index.take_value(word(key), not_shared);
        taken.map(|(_, _, value)| value)
    }

    /// Gives `key` another value. Returns the old one; if the key is not there,
    /// [`Reason::Absent`] and `value` back.
    pub fn replace(&self, key: K, value: V) -> Result<Ref<'_, V>, InsertError<V, K>> {
        self.index.drop_some();
        let done = self.index.replace(key.into_word(), value, || ());
        done.map_err(InsertError::with_keys)
    }

    /// Removes the entries with these keys for which `gone` returns true, one by one as the iterator
    /// comes to them. An entry whose value another thread changes meanwhile stays.
    ///
    /// ```
    /// let map: lathwork::PointMap<u8, u8> = (0..10).map(|n| (n, n)).collect();
    /// assert_eq!(map.extract_if(5.., |_, value| value % 2 == 0).count(), 2);
    /// assert_eq!(map.len(), 8);
    /// ```
    pub fn extract_if<'a>(
        &'a self, keys: impl KeyRange<K>, mut gone: impl FnMut(&K, &V) -> bool + 'a,
    ) -> impl Iterator<Item = (K, Ref<'a, V>)> + 'a {
        self.index.drop_some();
        let entries = self.range(keys);
        entries.filter(move |(key, value)| {
            gone(key, value) && self.index.remove_if(key.into_word(), value)
        })
    }

    /// Moves the entries at or behind `key` into their own map. Without memory it returns an
    /// error, and all entries are in this map.
    ///
    /// ```
    /// let mut low: lathwork::PointMap<u8, u8> = (0..10).map(|n| (n, n)).collect();
    /// let high = low.split_off(7).unwrap();
    /// assert_eq!((low.len(), high.len(), high.first_key_value().unwrap().0), (7, 3, 7));
    /// ```
    pub fn split_off(&mut self, key: impl Borrow<K>) -> Result<Self, NoMemory> {
        let mut other = Self::try_with(self.index.options)?;
        match self.index.hand_over_from(word(key), &mut other.index) {
            Ok(()) => Ok(other),
            Err(none) => {
                // what has left may find memory again; else it stays where it is, and is returned
                match other.index.hand_over_from(0, &mut self.index) {
                    Ok(()) => Err(none),
                    Err(_) => Ok(other),
                }
            }
        }
    }

    /// Moves all entries of `other` into this map; a key that both have gets the value of `other`.
    /// Without memory some entries are in `other` still.
    pub fn append(&mut self, other: &mut Self) -> Result<(), NoMemory> {
        other.index.hand_over_from(0, &mut self.index)
    }

    /// How many keys are below `key`. O(log n).
    ///
    /// ```
    /// let map = lathwork::PointMap::from([(30, ()), (10, ()), (20, ())]);
    /// assert_eq!(map.rank(25), 2);
    /// assert_eq!(map.select(2).unwrap().0, 30);
    /// ```
    pub fn rank(&self, key: impl Borrow<K>) -> usize {
        // SAFETY: the index is initialised.
        let rank = unsafe { sys::lath_index_rank(self.index.raw(), word(key)) };
        usize::try_from(rank).expect("lathwork: rank returned an error")
    }

    /// The entry that has this many before it. O(log n).
    pub fn select(&self, rank: usize) -> Option<(K, Ref<'_, V>)> {
        self.index.find(sys::lath_index_select, rank as u64).map(entry)
    }

    /// All entries in order, as [`RangeMap::iter`](crate::RangeMap::iter): it may show an entry
    /// that was removed after the iterator began.
    pub fn iter(&self) -> Points<'_, K, V> {
        self.range(..)
    }

    /// The entries with these keys, in order.
    ///
    /// ```
    /// let map: lathwork::PointMap<u8, char> = [(1, 'a'), (5, 'b')].into();
    /// assert_eq!(map.range(2..).next().unwrap().0, 5);
    /// ```
    pub fn range(&self, keys: impl KeyRange<K>) -> Points<'_, K, V> {
        Points { scan: self.index.scan(words(&keys)), of: PhantomData }
    }
}

fn entry<K: Key, V>(found: Entry<'_, V>) -> (K, Ref<'_, V>) {
    (K::from_word(found.0), found.2)
}

fn not_shared<V>(_: &V) -> V {
    unreachable!("lathwork: no two points share a value")
}

compared!(PointMap [K: Key] [] index.all());

collected!(
    impl [K: Key, V] PointMap<K, V>, of [] (K, V),
    clone [K: Key, V: Clone] |(key, value)| (key, (*value).clone()), by index.options, or whole
);
from_array!(impl [K: Key, V] PointMap<K, V>, of (K, V));
iterated!(impl [K: Key, V] &'a PointMap<K, V>, Points<'a, K, V>, iter);
iterated!(impl [K: Key, V] &'a mut PointMap<K, V>, PointsMut<'a, K, V>, iter_mut);

impl<K: Key, V> Alone for PointMap<K, V> {
    type Key = K;
    type Value = V;

    fn value(&mut self, key: &K) -> Option<&mut V> {
        self.get_mut(key)
    }

    fn add(&mut self, key: K, value: V) -> &mut V {
        inserted(self.try_insert(key, value).map_err(|refused| refused.reason));
        self.get_mut(key).expect("lathwork: an entry has gone")
    }

    fn take_entry(&mut self, key: &K) -> Option<(K, V)> {
        Some((*key, self.take(key)?))
    }
}

impl<K: Key, V> IntoIterator for PointMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoPoints<K, V>;

    fn into_iter(self) -> IntoPoints<K, V> {
        let index = self.index;
        let clone = not_shared;
        IntoPoints(IntoEntries { index, clone }, PhantomData)
    }
}

/// Entries in order. It copies up to 32 ahead, as [`Ranges`](crate::Ranges) does.
pub struct Points<'a, K: Key, V> {
    scan: Scan<'a, V>,
    of: PhantomData<fn(K) -> K>,
}

both_ends!(impl ['a, K: Key, V] Points<'a, K, V>, (K, Ref<'a, V>), scan, entry);

/// Entries in order, with values that can be changed.
pub struct PointsMut<'a, K: Key, V>(Values<'a, V>, PhantomData<fn(K) -> K>);

both_ends!(impl ['a, K: Key, V] PointsMut<'a, K, V>, (K, &'a mut V), 0, |(key, value)| {
    (K::from_word(key), value)
});

/// Entries by value, in order.
pub struct IntoPoints<K: Key, V>(IntoEntries<V>, PhantomData<fn(K) -> K>);

both_ends!(impl [K: Key, V] IntoPoints<K, V>, (K, V), 0, |(key, _, value)| {
    (K::from_word(key), value)
});
