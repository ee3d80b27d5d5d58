// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Byte strings with values.
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem;
use core::ops::Bound;
use core::ptr;

use lathwork_sys as sys;
use sys::{lath_bytes, lath_bytes_key};

use crate::ahead::{Ahead, AHEAD};
use crate::bytes::{Bytes, BytesRange};
use crate::code;
use crate::common::{
    collected, compared, constructors, from_array, inserted, iterated, keyed, stepped,
};
use crate::entry::Alone;
use crate::error::{BytesError, Reason};
use crate::handle::{config, made, no_memory, Handle};
use crate::memory::{NoMemory, Options};
use crate::own::verified;
use crate::reference::{Found, InNode, Pair, Ref};
use crate::retired::drop_each;
use crate::section::{may_wait, synchronize, Section};
use crate::value::{self, header_of, Header, Owned};

/// An ordered map from byte strings to values, for any number of threads. Keys are ordered as their
/// bytes are, a key before those that begin with it.
///
/// ```
/// use lathwork::BytesMap;
///
/// let map = BytesMap::new();
/// map.insert(String::from("pear"), 3).unwrap();
/// map.insert(String::from("apple"), 5).unwrap();
/// assert_eq!(*map.get("pear").unwrap(), 3);
/// for (word, number) in &map {
///     println!("{word} {number}");
/// }
/// let all: Vec<_> = map.iter().map(|(word, number)| ((*word).clone(), *number)).collect();
/// assert_eq!(all, [("apple".to_string(), 5), ("pear".to_string(), 3)]);
/// assert_eq!(map.range("b"..).count(), 1);
/// assert_eq!(map.prefix("ap").count(), 1);
/// ```
///
/// Numbers of 128 bits, IPv6 addresses, and pairs of a number and a string are keys by
/// [`Octets`](crate::Octets).
///
/// An insert that replaces a value replaces the key too.
pub struct BytesMap<K: Bytes, V> {
    set: Handle<lath_bytes, Pair<K, V>>,
    options: Options,
}

/// An entry as a [`BytesMap`] shows it.
pub type BytesEntry<'a, K, V> = (Ref<'a, K, InNode>, Ref<'a, V, InNode>);

fn key_of(bytes: &[u8]) -> lath_bytes_key {
    lath_bytes_key { data: bytes.as_ptr().cast(), size: bytes.len() as u64, tag: 0 }
}

/// The key of a pair.
///
/// # Safety
///
/// The word is of a pair that lives as long as the result is used.
unsafe fn bytes_of<'a, K: Bytes, V>(word: u64) -> &'a [u8] {
    let pair: *const Pair<K, V> = value::node_value(word);
    let bytes = (*pair).key.bytes();
    core::slice::from_raw_parts(bytes.as_ptr(), bytes.len())
}

/// For the C library.
unsafe extern "C" fn tell_key<K: Bytes, V>(_: *mut c_void, word: u64, key: *mut lath_bytes_key) {
    key.write(key_of(bytes_of::<K, V>(word)));
}

impl<K: Bytes, V> BytesMap<K, V> {
    constructors!("map");

    /// An empty map that is made as `options` says.
    pub fn try_with(options: Options) -> Result<Self, NoMemory> {
        let init = |set, nodes| {
            let records = sys::lath_bytes_records {
                key_of: Some(tell_key::<K, V>),
                ctx: ptr::null_mut(),
                flags: 0,
            };
            let config = config(sys::LATH_RANGES, options.flags | sys::LATH_RANKS, nodes);
            // SAFETY: all pointers are valid.
            unsafe { sys::lath_bytes_init(set, &records, &config) }
        };
        Ok(BytesMap { set: Handle::new(options.memory, init).map_err(no_memory)?, options })
    }

    fn raw(&self) -> *mut lath_bytes {
        self.set.get()
    }

    fn word(&self, key: K, value: V) -> Result<u64, BytesError<K, V>> {
        let pair = Pair { key, value };
        value::into_node(pair, &self.set.memory()).map_err(|Pair { key, value }| BytesError {
            reason: Reason::NoMemory,
            key,
            value,
        })
    }

    /// The error of a call that has refused a word.
    ///
    /// # Safety
    ///
    /// The word is in no set.
    unsafe fn refused(&self, reason: Reason, word: u64) -> BytesError<K, V> {
        let Pair { key, value } = value::from_node(word, &self.set.memory());
        BytesError { reason, key, value }
    }

    /// Calls a function of the library that finds a word.
    fn find(
        &self, call: impl FnOnce(*mut lath_bytes, *mut u64) -> bool,
    ) -> Option<Found<'_, K, V>> {
        let (section, mut word) = (Section::enter(), 0);
        call(self.raw(), &mut word).then(|| Found::new(word, section))
    }

    fn value(&self, word: u64, section: Section) -> Ref<'_, V, InNode> {
        Found::<K, V>::new(word, section).into_value()
    }

    /// A pair has left the set.
    fn left(&self, word: u64) {
        // SAFETY: it has left once.
        unsafe { self.set.left(word) };
    }

    /// Gives `key` a value. Returns the entry that was there. O(log n) for each eight bytes that do
    /// not tell the key from others.
    pub fn insert(&self, key: K, value: V) -> Result<Option<Ref<'_, V, InNode>>, BytesError<K, V>> {
        self.set.drop_some();
        let section = Section::enter();
        let (word, mut old) = (self.word(key, value)?, 0);
        // a thread may remove the key, or insert it, between the two calls
        loop {
            // SAFETY: the set is initialised; all pointers are valid.
            let result = unsafe { sys::lath_bytes_insert(self.raw(), word, &mut old) };
            match code::refusal(result, || Reason::Exists) {
                Ok(()) => return Ok(None),
                Err(Reason::Exists) => {}
                // SAFETY: a refused word is not in the set.
                Err(reason) => return Err(unsafe { self.refused(reason, word) }),
            }
            // SAFETY: as above.
            if code::found(unsafe { sys::lath_bytes_replace(self.raw(), word, &mut old) }) {
                self.left(old);
                return Ok(Some(self.value(old, section)));
            }
        }
    }

    /// Inserts a key that is not there.
    pub fn try_insert(&self, key: K, value: V) -> Result<Ref<'_, V, InNode>, BytesError<K, V>> {
        let section = Section::enter();
        let (word, mut there) = (self.word(key, value)?, 0);
        // SAFETY: as in insert().
        let result = unsafe { sys::lath_bytes_insert(self.raw(), word, &mut there) };
        match code::refusal(result, || Reason::Exists) {
            Ok(()) => Ok(self.value(word, section)),
            // SAFETY: likewise.
            Err(reason) => Err(unsafe { self.refused(reason, word) }),
        }
    }

    /// The value of `key`.
    pub fn get<Q: Bytes + ?Sized>(&self, key: &Q) -> Option<Ref<'_, V, InNode>> {
        self.look(key.bytes()).map(Found::into_value)
    }

    /// The same with the key of the entry.
    pub fn get_key_value<Q: Bytes + ?Sized>(&self, key: &Q) -> Option<BytesEntry<'_, K, V>> {
        self.look(key.bytes()).map(Found::into_entry)
    }

    fn look(&self, key: &[u8]) -> Option<Found<'_, K, V>> {
        let key = key_of(key);
        // SAFETY: `find` passes an initialised set and a valid pointer; likewise below.
        self.find(|set, word| unsafe { sys::lath_bytes_get(set, &key, word) } == 1)
    }

    /// The value of `key`, which is `make()` if there was none: as
    /// [`PointMap::get_or_insert_with`](crate::PointMap::get_or_insert_with).
    pub fn get_or_insert_with(
        &self, key: K, make: impl FnOnce() -> V,
    ) -> Result<Ref<'_, V, InNode>, BytesError<K, V>> {
        if let Some(there) = self.get(&key) {
            return Ok(there);
        }
        let (mut key, mut value) = (key, make());
        loop {
            let refused = match self.try_insert(key, value) {
                Err(refused) if refused.reason == Reason::Exists => refused,
                done => return done,
            };
            if let Some(there) = self.get(&refused.key) {
                return Ok(there);
            }
            (key, value) = (refused.key, refused.value); // it was there, and has been removed
        }
    }

    /// Gives `key` the value that `change` makes of the present one, as one step: if another thread
    /// changes it first, `change` is called again. Returns the new value; None: the key is not
    /// there.
    ///
    /// ```
    /// let words = lathwork::BytesMap::new();
    /// for word in "a rose is a rose".split(' ') {
    ///     words.get_or_insert_with(word, || 0).unwrap();
    ///     words.update(word, |n| n + 1).unwrap();
    /// }
    /// assert_eq!(*words.get("rose").unwrap(), 2);
    /// ```
    pub fn update(
        &self, key: impl Into<K>, mut change: impl FnMut(&V) -> V,
    ) -> Result<Option<Ref<'_, V, InNode>>, BytesError<K, V>> {
        self.set.drop_some();
        let mut key = key.into();
        loop {
            let old = match self.look(key.bytes()) {
                Some(old) => old, // a section, in which no other record gets its word
                None => return Ok(None),
            };
            let (section, word) = (Section::enter(), self.word(key, change(&old.pair().value))?);
            // SAFETY: the set is initialised; both records have this key.
            let done = unsafe { sys::lath_bytes_replace_if(self.raw(), old.word, word, &mut 0) };
            if code::unchanged(done) {
                self.left(old.word);
                return Ok(Some(self.value(word, section)));
            }
            // SAFETY: a refused word is not in the set.
            key = unsafe { self.refused(Reason::Absent, word) }.key;
        }
    }

    /// Gives `key` another value. Returns the old one; if the key is not there,
    /// [`Reason::Absent`], and key and value back.
    pub fn replace(&self, key: K, value: V) -> Result<Ref<'_, V, InNode>, BytesError<K, V>> {
        self.set.drop_some();
        let word = self.word(key, value)?;
        let replace = |set, old| code::found(unsafe { sys::lath_bytes_replace(set, word, old) });
        match self.find(replace) {
            Some(old) => {
                self.left(old.word);
                Ok(old.into_value())
            }
            // SAFETY: a refused word is not in the set.
            None => Err(unsafe { self.refused(Reason::Absent, word) }),
        }
    }

    /// Whether `key` is there.
    pub fn contains_key<Q: Bytes + ?Sized>(&self, key: &Q) -> bool {
        self.look(key.bytes()).is_some()
    }

    /// The entry with the lowest key.
    pub fn first_key_value(&self) -> Option<BytesEntry<'_, K, V>> {
        self.iter().next()
    }

    /// The entry with the highest key.
    pub fn last_key_value(&self) -> Option<BytesEntry<'_, K, V>> {
        self.iter().next_back()
    }

    /// The first entry at or behind `key`.
    pub fn ceiling<Q: Bytes + ?Sized>(&self, key: &Q) -> Option<BytesEntry<'_, K, V>> {
        self.nearest(0, key.bytes())
    }

    /// The last entry at or before `key`.
    pub fn floor<Q: Bytes + ?Sized>(&self, key: &Q) -> Option<BytesEntry<'_, K, V>> {
        self.nearest(sys::LATH_BYTES_BACK, key.bytes())
    }

    fn nearest(&self, back: sys::c_uint, key: &[u8]) -> Option<BytesEntry<'_, K, V>> {
        let key = key_of(key);
        let scan = |set, word| unsafe { sys::lath_bytes_scan(set, &key, back, word, 1) } == 1;
        self.find(scan).map(Found::into_entry)
    }

    /// Removes `key`. It and its value are dropped when no thread looks at them any more.
    pub fn remove<Q: Bytes + ?Sized>(&self, key: &Q) -> Option<Ref<'_, V, InNode>> {
        self.set.drop_some();
        let key = key_of(key.bytes());
        let erase = |set, word| code::found(unsafe { sys::lath_bytes_erase(set, &key, word) });
        let gone = self.find(erase)?;
        self.left(gone.word);
        Some(gone.into_value())
    }

    /// The value of `key`, to be changed: no one else has the map.
    pub fn get_mut<Q: Bytes + ?Sized>(&mut self, key: &Q) -> Option<&mut V> {
        let word = self.look(key.bytes())?.word;
        // SAFETY: as of BytesMut.
        Some(unsafe { pair_mut::<K, V>(word) }.1)
    }

    /// Removes this entry, unless another thread has changed it.
    fn remove_if(&self, entry: &Found<'_, K, V>) -> bool {
        // SAFETY: the set is initialised; the entry is in a section, so its pair lives.
        let result = unsafe { sys::lath_bytes_erase_if(self.raw(), entry.word, &mut 0) };
        let gone = code::unchanged(result);
        if gone {
            self.left(entry.word);
        }
        gone
    }

    /// As [`PointMap::remove_and_wait`](crate::PointMap::remove_and_wait).
    ///
    /// # Panics
    ///
    /// If this thread has a reference to an entry, or an iterator.
    pub fn remove_and_wait<Q: Bytes + ?Sized>(&self, key: &Q) -> Option<(K, V)> {
        may_wait();
        let gone = {
            let (key, mut word) = (key_of(key.bytes()), 0);
            // SAFETY: the set is initialised; the pointers are valid.
            code::found(unsafe { sys::lath_bytes_erase(self.raw(), &key, &mut word) })
                .then_some(word)
        }?;
        synchronize();
        // SAFETY: it has left the set, and nobody looks at it any more.
        let Pair { key, value } = unsafe { value::from_node(gone, &self.set.memory()) };
        Some((key, value))
    }

    fn pop(&self, first: bool) -> Option<BytesEntry<'_, K, V>> {
        self.set.drop_some();
        loop {
            let found = self.iter().step(!first)?;
            if self.remove_if(&found) {
                return Some(found.into_entry());
            }
        }
    }

    /// Removes `key` and returns it with its value: no one else has the map.
    pub fn take<Q: Bytes + ?Sized>(&mut self, key: &Q) -> Option<(K, V)> {
        let word = self.look(key.bytes())?.word;
        Some(self.take_word(word))
    }

    /// Takes an entry that is there, for a caller that alone has the map.
    fn take_word(&mut self, word: u64) -> (K, V) {
        // SAFETY: the pair is in the set; afterwards it is nobody's.
        unsafe {
            let gone = code::unchanged(sys::lath_bytes_erase_if(self.raw(), word, &mut 0));
            assert!(gone, "lathwork: an entry has gone");
            let Pair { key, value } = value::from_node::<Pair<K, V>>(word, &self.set.memory());
            (key, value)
        }
    }

    /// As [`PointMap::extract_if`](crate::PointMap::extract_if).
    ///
    /// ```
    /// let map = lathwork::BytesMap::from([("a", 1), ("b", 2), ("c", 3)]);
    /// let odd = map.extract_if("b".., |_, n| n % 2 == 1);
    /// assert!(odd.map(|(key, n)| (*key, *n)).eq([("c", 3)]));
    /// ```
    pub fn extract_if<'a>(
        &'a self, keys: impl BytesRange, mut gone: impl FnMut(&K, &V) -> bool + 'a,
    ) -> impl Iterator<Item = BytesEntry<'a, K, V>> + 'a {
        self.set.drop_some();
        let mut entries = self.range(keys);
        let all = core::iter::from_fn(move || entries.step(false));
        let left = all.filter(move |entry: &Found<'a, K, V>| {
            gone(&entry.pair().key, &entry.pair().value) && self.remove_if(entry)
        });
        left.map(Found::into_entry)
    }

    /// Moves the entries at or behind `key` into their own map. Without memory all of them
    /// stay.
    pub fn split_off<Q: Bytes + ?Sized>(&mut self, key: &Q) -> Result<Self, NoMemory> {
        let mut other = Self::try_with(self.options)?;
        let from = (Bound::Included(key.bytes()), Bound::Unbounded);
        loop {
            let word = match self.range(from).step(false) {
                Some(entry) => entry.word,
                None => return Ok(other),
            };
            let (key, value) = self.take_word(word);
            if let Err(refused) = other.insert(key, value) {
                // back: what a removal has freed is enough as a rule
                made(self.insert(refused.key, refused.value).map_err(|_| NoMemory));
                made(self.append(&mut other));
                return Err(NoMemory);
            }
        }
    }

    /// Moves all entries of `other` into this map; a key that both have gets the value of `other`.
    /// Without memory some entries are in `other` still.
    pub fn append(&mut self, other: &mut Self) -> Result<(), NoMemory> {
        while let Some(word) = other.iter().step(false).map(|entry| entry.word) {
            let (key, value) = other.take_word(word);
            if let Err(refused) = self.insert(key, value) {
                made(other.insert(refused.key, refused.value).map_err(|_| NoMemory));
                return Err(NoMemory);
            }
        }
        Ok(())
    }

    /// How many keys are before `key`. O(log n).
    pub fn rank<Q: Bytes + ?Sized>(&self, key: &Q) -> usize {
        // SAFETY: the set is initialised; the pointer is valid.
        let rank = unsafe { sys::lath_bytes_rank(self.raw(), &key_of(key.bytes()), 0) };
        usize::try_from(rank).expect("lathwork: rank returned an error")
    }

    /// The entry that has this many before it. O(log n).
    pub fn select(&self, rank: usize) -> Option<BytesEntry<'_, K, V>> {
        let select = |set, word| unsafe { sys::lath_bytes_select(set, rank as u64, word) };
        self.find(|set, word| code::found(select(set, word))).map(Found::into_entry)
    }

    /// The number of entries. O(log n): see [`PointMap::len`](crate::PointMap::len).
    pub fn len(&self) -> usize {
        // SAFETY: the set is initialised.
        unsafe { sys::lath_bytes_count(self.raw()) as usize }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.first_key_value().is_none()
    }

    /// All entries in order. It copies up to 32 ahead, as
    /// [`RangeMap::iter`](crate::RangeMap::iter).
    pub fn iter(&self) -> BytesEntries<'_, K, V> {
        self.between(Edge::Open, Edge::Open)
    }

    keyed!(Ref<'_, K, InNode>, Ref<'_, V, InNode>, BytesMut<'_, K, V>);

    /// The entries with these keys, in order.
    pub fn range(&self, keys: impl BytesRange) -> BytesEntries<'_, K, V> {
        let (from, to) = keys.ends();
        self.between(Edge::of(from), Edge::of(to))
    }

    /// The entries with these keys, in order, to be changed: no one else has the map.
    pub fn range_mut(&mut self, keys: impl BytesRange) -> BytesMut<'_, K, V> {
        BytesMut(self.range(keys), PhantomData)
    }

    /// The entries whose keys begin with `prefix`, in order.
    pub fn prefix<Q: Bytes + ?Sized>(&self, prefix: &Q) -> BytesEntries<'_, K, V> {
        let first = prefix.bytes().to_vec();
        let mut behind = first.clone(); // the first key behind all that begin so
        while behind.last() == Some(&u8::MAX) {
            behind.pop();
        }
        let last = match behind.last_mut() {
            Some(byte) => {
                *byte += 1;
                Edge::Without(behind)
            }
            None => Edge::Open,
        };
        self.between(Edge::With(first), last)
    }

    fn between(&self, low: Edge, high: Edge) -> BytesEntries<'_, K, V> {
        BytesEntries {
            map: self,
            _section: Section::enter(),
            ahead: [Ahead::new(), Ahead::new()],
            edges: [low, high],
            done: false,
        }
    }

    /// Removes all entries and drops them.
    pub fn clear(&mut self) {
        match Self::try_with(self.options) {
            Ok(empty) => drop(mem::replace(self, empty)), // waits for nobody
            Err(NoMemory) => {
                while let Some(word) = self.iter().step(false).map(|entry| entry.word) {
                    drop(self.take_word(word));
                }
            }
        }
    }

    /// As [`RangeMap::reclaim`](crate::RangeMap::reclaim).
    pub fn reclaim(&self) {
        self.set.reclaim();
    }

    /// Checks the invariants of the set, for tests: the first that is broken.
    pub fn verify(&mut self) -> Result<(), String> {
        // SAFETY: the set is initialised; the report has that size.
        verified(|report, size| unsafe { sys::lath_bytes_verify(self.raw(), report, size) })
    }
}

impl<K: Bytes, V> Drop for BytesMap<K, V> {
    fn drop(&mut self) {
        /// Drops the rest of the entries, also while the drop of an earlier one unwinds.
        struct Rest<'a, K: Bytes, V>(&'a mut BytesMap<K, V>);
        impl<K: Bytes, V> Drop for Rest<'_, K, V> {
            fn drop(&mut self) {
                drop_each(Taken::new(self.0));
            }
        }
        let values = self.set.end();
        let _rest = Rest(self);
        drop_each(values);
    }
}

/// Where entries begin or end that are still to come.
enum Edge {
    Open,
    With(Vec<u8>),
    Without(Vec<u8>),
    /// Not the entry with this word, which was the last one.
    Passed(u64),
}

impl Edge {
    fn of(bound: Bound<&[u8]>) -> Edge {
        match bound {
            Bound::Unbounded => Edge::Open,
            Bound::Included(key) => Edge::With(key.to_vec()),
            Bound::Excluded(key) => Edge::Without(key.to_vec()),
        }
    }

    /// The bytes, and whether the key itself is within.
    ///
    /// # Safety
    ///
    /// The entry that was passed lives.
    unsafe fn bytes<K: Bytes, V>(&self) -> Option<(&[u8], bool)> {
        match self {
            Edge::Open => None,
            Edge::With(bytes) => Some((bytes, true)),
            Edge::Without(bytes) => Some((bytes, false)),
            Edge::Passed(word) => Some((bytes_of::<K, V>(*word), false)),
        }
    }
}

/// Copies the words of a set behind `edge`; returns how many.
///
/// # Safety
///
/// The set is initialised, the entry that was passed lives, and there is room for `AHEAD` words.
unsafe fn scan_words<K: Bytes, V>(
    set: *mut lath_bytes, edge: &Edge, back: sys::c_uint, words: *mut u64,
) -> usize {
    let from = edge.bytes::<K, V>();
    let key = from.map(|(bytes, _)| key_of(bytes));
    let behind = match from {
        Some((_, false)) => sys::LATH_BYTES_BEHIND,
        _ => 0,
    };
    let from = key.as_ref().map_or(ptr::null(), |key| key as *const _);
    sys::lath_bytes_scan(set, from, back | behind, words, AHEAD)
}

/// Entries of a [`BytesMap`] in order, as keys and values. It copies up to 32 ahead: what is removed
/// after that may still be seen.
pub struct BytesEntries<'a, K: Bytes, V> {
    map: &'a BytesMap<K, V>,
    _section: Section,
    /// At the front and at the back.
    ahead: [Ahead<u64>; 2],
    edges: [Edge; 2],
    done: bool,
}

impl<'a, K: Bytes, V> BytesEntries<'a, K, V> {
    /// The next entry from the front or the back.
    fn step(&mut self, back: bool) -> Option<Found<'a, K, V>> {
        if self.done {
            return None;
        }
        let (near, far) = (usize::from(back), usize::from(!back));
        let flags = if back { sys::LATH_BYTES_BACK } else { 0 };
        // SAFETY: the iterator's section began before any of these words was read.
        let word = unsafe {
            let (set, edge) = (self.map.raw(), &self.edges[near]);
            let next = self.ahead[near].next(|words| scan_words::<K, V>(set, edge, flags, words));
            next.filter(|&word| match self.edges[far].bytes::<K, V>() {
                None => true,
                Some((bytes, with)) => {
                    let order = bytes_of::<K, V>(word).cmp(bytes);
                    let inside = if back { order.is_gt() } else { order.is_lt() };
                    inside || (with && order.is_eq())
                }
            })
        };
        match word {
            Some(word) => self.edges[near] = Edge::Passed(word),
            None => self.done = true,
        }
        Some(Found::new(word?, Section::enter()))
    }
}

stepped!(
    impl ['a, K: Bytes, V] BytesEntries<'a, K, V>, BytesEntry<'a, K, V>,
    |this, back| this.step(back).map(Found::into_entry)
);

/// The key and the value of a word, for a caller that alone has the map.
///
/// # Safety
///
/// The word is in the map, and nothing else looks at its value as long as the result is used.
unsafe fn pair_mut<'a, K, V>(word: u64) -> (&'a K, &'a mut V) {
    let pair = value::node_value::<Pair<K, V>>(word);
    (&*ptr::addr_of!((*pair).key), &mut *ptr::addr_of_mut!((*pair).value))
}

/// Entries of a [`BytesMap`] in order, with values that can be changed.
//
// A `&mut` to the map is borrowed meanwhile: see `Values`. The set looks at keys alone.
pub struct BytesMut<'a, K: Bytes, V>(BytesEntries<'a, K, V>, PhantomData<&'a mut V>);

stepped!(impl ['a, K: Bytes, V] BytesMut<'a, K, V>, (&'a K, &'a mut V), |this, back| {
    let word = this.0.step(back)?.word;
    // SAFETY: as above.
    Some(unsafe { pair_mut(word) })
});

/// Takes the pairs of a map that ends, in order. The set has their words.
struct Taken<'a, K: Bytes, V> {
    map: &'a mut BytesMap<K, V>,
    words: [u64; AHEAD],
    at: usize,
    copied: usize,
    /// What follows these: the set is asked for it while it can look at the last of them.
    later: [u64; AHEAD],
    follow: usize,
}

impl<'a, K: Bytes, V> Taken<'a, K, V> {
    fn new(map: &'a mut BytesMap<K, V>) -> Self {
        let mut taken =
            Taken { map, words: [0; AHEAD], at: 0, copied: 0, later: [0; AHEAD], follow: 0 };
        taken.read(&Edge::Open);
        taken
    }

    fn read(&mut self, edge: &Edge) {
        // SAFETY: the set is initialised; pairs behind the edge, and that of the edge, live.
        unsafe {
            self.follow = scan_words::<K, V>(self.map.raw(), edge, 0, self.later.as_mut_ptr());
            value::warm(self.later[..self.follow].iter().copied());
        }
    }
}

impl<K: Bytes, V> Iterator for Taken<'_, K, V> {
    type Item = Owned<Pair<K, V>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.copied {
            self.words = self.later;
            self.copied = core::mem::take(&mut self.follow);
            self.at = 0;
            if self.copied == AHEAD {
                self.read(&Edge::Passed(self.words[AHEAD - 1]));
            }
        }
        let word = *self.words[..self.copied].get(self.at)?;
        self.at += 1;
        // SAFETY: the pair is looked at once, and the set does not look at it any more.
        unsafe { Some(Owned::new(header_of(word), Some(self.map.set.memory()))) }
    }
}

/// Entries of a [`BytesMap`] by value, in order.
pub struct IntoBytesEntries<K: Bytes, V>(BytesMap<K, V>);

stepped!(impl [K: Bytes, V] IntoBytesEntries<K, V>, (K, V), |this, back| {
    let word = this.0.iter().step(back)?.word;
    Some(this.0.take_word(word))
});

compared!(BytesMap [K: Bytes] [K] iter());

collected!(
    /// # Panics
    ///
    /// If a key is longer than 2^30 bytes.
    impl [K: Bytes, V] BytesMap<K, V>, of [] (K, V),
    clone [K: Bytes + Clone, V: Clone] |(key, value)| ((*key).clone(), (*value).clone()), by options
);
from_array!(impl [K: Bytes, V] BytesMap<K, V>, of (K, V));
iterated!(impl [K: Bytes, V] &'a BytesMap<K, V>, BytesEntries<'a, K, V>, iter);
iterated!(impl [K: Bytes, V] &'a mut BytesMap<K, V>, BytesMut<'a, K, V>, iter_mut);

impl<K: Bytes, V> Alone for BytesMap<K, V> {
    type Key = K;
    type Value = V;

    fn value(&mut self, key: &K) -> Option<&mut V> {
        self.get_mut(key)
    }

    fn add(&mut self, key: K, value: V) -> &mut V {
        let there = self.try_insert(key, value).map(|there| there.address());
        let there = inserted(there.map_err(|refused| refused.reason));
        // SAFETY: as of BytesMut.
        unsafe { &mut *there.expect("lathwork: an entry has gone") }
    }

    fn take_entry(&mut self, key: &K) -> Option<(K, V)> {
        self.take(key)
    }
}

impl<K: Bytes, V> IntoIterator for BytesMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoBytesEntries<K, V>;

    fn into_iter(self) -> IntoBytesEntries<K, V> {
        IntoBytesEntries(self)
    }
}

// a word of a pair has room for flags that the C library keeps in its low bits
const _: () = assert!(mem::align_of::<Header>() >= 4);
