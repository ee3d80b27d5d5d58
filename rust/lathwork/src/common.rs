// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the maps and sets have in common, made once.
use core::ops::Deref;

use crate::error::Reason;
use crate::handle::made;
use crate::memory::NoMemory;

/// What `extend()` makes of the result of an insert: an empty range is left out.
pub(crate) fn inserted<T, K>(done: Result<T, Reason<K>>) -> Option<T> {
    let refused: Reason = match done {
        Ok(there) => return Some(there),
        Err(Reason::Empty) => return None,
        Err(Reason::NoMemory) => made(Err(NoMemory)),
        Err(Reason::Other(errno)) => Reason::Other(errno),
        Err(_) => Reason::TooLong,
    };
    panic!("lathwork: {refused}");
}

/// The constructors without options.
macro_rules! constructors {
    ($what:literal) => {
        #[doc = concat!("An empty ", $what, ".")]
        pub fn new() -> Self {
            crate::handle::made(Self::try_new())
        }

        #[doc = concat!("An empty ", $what, ", if there is memory for it.")]
        pub fn try_new() -> Result<Self, crate::memory::NoMemory> {
            Self::try_with(crate::memory::Options::new())
        }
    };
}

/// `Default`, `Debug`, what a map is made of: `impl [GENERICS] NAME of [MORE GENERICS] ENTRY`, and
/// `Clone` by copies of entries. The attributes are of `Extend`.
macro_rules! collected {
    (
        $(#[$doc:meta])* impl [$($of:tt)*] $name:ty, of [$($more:tt)*] $entry:ty,
        clone [$($cloned:tt)*] $copy:expr, by $($options:ident).+ $(, or $whole:ident)?
    ) => {
        impl<$($cloned)*> Clone for $name {
            /// A map of the same options. Another thread may change this one during the call.
            fn clone(&self) -> Self {
                $(
                    if let Some(map) = self.$whole() {
                        return map;
                    }
                )?
                let map = crate::handle::made(Self::try_with(self.$($options).+));
                (&map).extend(self.iter().map($copy));
                map
            }
        }

        impl<$($of)*> core::panic::UnwindSafe for $name where V: core::panic::RefUnwindSafe {}
        impl<$($of)*> core::panic::RefUnwindSafe for $name where V: core::panic::RefUnwindSafe {}

        impl<$($of)*> Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }

        impl<$($of)*> core::fmt::Debug for $name
        where
            K: core::fmt::Debug,
            V: core::fmt::Debug,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_map().entries(self.iter()).finish()
            }
        }

        $(#[$doc])*
        impl<$($of)*, $($more)*> Extend<$entry> for $name {
            fn extend<I: IntoIterator<Item = $entry>>(&mut self, entries: I) {
                (&*self).extend(entries);
            }
        }

        /// A shared map is extended too.
        impl<$($of)*, $($more)*> Extend<$entry> for &$name {
            fn extend<I: IntoIterator<Item = $entry>>(&mut self, entries: I) {
                for (key, value) in entries {
                    let done = self.insert(key, value);
                    crate::common::inserted(done.map_err(|refused| refused.reason));
                }
            }
        }

        impl<$($of)*, $($more)*> FromIterator<$entry> for $name {
            fn from_iter<I: IntoIterator<Item = $entry>>(entries: I) -> Self {
                let all = Self::new();
                (&all).extend(entries);
                all
            }
        }
    };
}

/// `From` an array, likewise.
macro_rules! from_array {
    (impl [$($of:tt)*] $name:ty, of $entry:ty) => {
        impl<$($of)*, const N: usize> From<[$entry; N]> for $name {
            fn from(entries: [$entry; N]) -> Self {
                entries.into_iter().collect()
            }
        }
    };
}

/// Comparisons and hashes, entry by entry, of `NAME<K, V> [GENERICS] [those that are compared too]
/// CALL`, whose result is an iterator over all entries.
macro_rules! compared {
    ($name:ident [$($of:tt)*] [$($key:ident)*] $($all:tt)*) => {
        impl<$($of)*, V: PartialEq> PartialEq for $name<K, V> where $($key: PartialEq)* {
            fn eq(&self, other: &Self) -> bool {
                self.$($all)*.eq(other.$($all)*)
            }
        }

        impl<$($of)*, V: Eq> Eq for $name<K, V> where $($key: Eq)* {}

        impl<$($of)*, V: PartialOrd> PartialOrd for $name<K, V> where $($key: PartialOrd)* {
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                self.$($all)*.partial_cmp(other.$($all)*)
            }
        }

        impl<$($of)*, V: Ord> Ord for $name<K, V> where $($key: Ord)* {
            fn cmp(&self, other: &Self) -> core::cmp::Ordering {
                self.$($all)*.cmp(other.$($all)*)
            }
        }

        /// Of what the map holds now: one that is a key elsewhere must not be changed.
        impl<$($of)*, V: core::hash::Hash> core::hash::Hash for $name<K, V>
        where
            $($key: core::hash::Hash)*
        {
            fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
                self.$($all)*.for_each(|entry| entry.hash(state));
            }
        }
    };
}

/// A reference to a map is entries in order: `impl [GENERICS] REFERENCE, ITERATOR, CALL`.
macro_rules! iterated {
    (impl [$($of:tt)*] $name:ty, $iterator:ty, $call:ident) => {
        impl<'a, $($of)*> IntoIterator for $name {
            type Item = <$iterator as Iterator>::Item;
            type IntoIter = $iterator;

            fn into_iter(self) -> $iterator {
                self.$call()
            }
        }
    };
}

/// Constructors of a map whose values are in its index.
macro_rules! of_copies {
    () => {
        /// An empty map that keeps values of up to 64 bytes in its leaves beside their keys, and not each
        /// in its own memory: reads copy one and need no section. Values with an alignment of more than 8
        /// bytes are as those of [`new`](Self::new). So are numbers, which are in the leaves of any map.
        ///
        /// ```
        /// #[derive(Clone, Copy, PartialEq, Debug)]
        /// struct Extent {
        ///     block: u64,
        ///     blocks: u32,
        /// }
        ///
        /// let extents = lathwork::PointMap::of_copies();
        /// extents.insert(7, Extent { block: 100, blocks: 3 }).unwrap();
        /// assert_eq!(extents.get(7).unwrap().block, 100);
        /// extents.update(7, |extent| Extent { blocks: 4, ..*extent }).unwrap();
        /// assert_eq!(*extents.get(7).unwrap(), Extent { block: 100, blocks: 4 });
        /// ```
        pub fn of_copies() -> Self
        where
            V: Copy,
        {
            crate::handle::made(Self::try_of_copies(crate::memory::Options::new()))
        }

        /// The same, made as `options` says.
        pub fn try_of_copies(
            options: crate::memory::Options,
        ) -> Result<Self, crate::memory::NoMemory>
        where
            V: Copy,
        {
            Self::try_with(crate::memory::Options { copied: true, ..options })
        }
    };
}

/// The calls of a map that its `index` has, whose entries become items by `make`.
macro_rules! indexed {
    ($item:ty, $make:expr) => {
        /// The value of `key`; of a `RangeMap` that of the range that contains it. `get(k)` and
        /// `get(&k)` are the same, here and in all calls that look for a key. O(log n), mostly two or
        /// three cache misses.
        pub fn get(&self, key: impl core::borrow::Borrow<K>) -> Option<crate::Ref<'_, V>> {
            self.index.get(crate::key::word(key))
        }

        /// The same with the key or the range.
        pub fn get_key_value(&self, key: impl core::borrow::Borrow<K>) -> Option<$item> {
            self.index.at(crate::key::word(key)).map($make)
        }

        /// Whether an entry has `key`.
        pub fn contains_key(&self, key: impl core::borrow::Borrow<K>) -> bool {
            self.index.contains(crate::key::word(key))
        }

        /// The first entry.
        pub fn first_key_value(&self) -> Option<$item> {
            self.index.end(true).map($make)
        }

        /// The last entry.
        pub fn last_key_value(&self) -> Option<$item> {
            self.index.end(false).map($make)
        }

        /// The first entry that begins at or behind `key`.
        #[doc(alias = "lower_bound")]
        pub fn ceiling(&self, key: impl core::borrow::Borrow<K>) -> Option<$item> {
            let call = lathwork_sys::lath_index_ceiling_item;
            self.index.find(call, crate::key::word(key)).map($make)
        }

        /// The last entry that begins at or before `key`.
        #[doc(alias = "upper_bound")]
        pub fn floor(&self, key: impl core::borrow::Borrow<K>) -> Option<$item> {
            let call = lathwork_sys::lath_index_floor_item;
            self.index.find(call, crate::key::word(key)).map($make)
        }

        /// The number of entries: exact if no thread changes the map, else that of a set of entries that
        /// were there while it ran. O(log n), and some 30 ns for each leaf whose number of entries has changed
        /// since the last call.
        pub fn len(&self) -> usize {
            self.index.len()
        }

        /// Whether there is none. O(log n).
        pub fn is_empty(&self) -> bool {
            self.index.is_empty()
        }

        /// Removes all entries and drops their values. If the drop of one panics, the others are
        /// dropped while unwinding, as those of a `Vec` are.
        pub fn clear(&mut self) {
            self.index.clear();
        }

        /// Drops the values of removed entries that no thread can look at any more, in the order in
        /// which they were removed. Calls that remove drop up to 256 of them now and then, and the
        /// end of the map drops them all.
        ///
        /// It leaves values to a later call if another thread is choosing what to drop, or if it is
        /// called by the drop of a value that is dropped by such a call, and so on, eight times. So
        /// values may remove each other, in any number, without using up the stack.
        pub fn reclaim(&self) {
            self.index.reclaim();
        }

        /// Checks the invariants of the index, for tests: the first that is broken.
        pub fn verify(&mut self) -> Result<(), alloc::string::String> {
            self.index.verify()
        }
    };
}

/// What maps of single keys have, each with its `range()`, `range_mut()`, `extract_if()` and `pop()`.
macro_rules! keyed {
    ($key:ty, $value:ty, $entries_mut:ty) => {
        /// All keys in order.
        pub fn keys(&self) -> crate::common::Shown<impl DoubleEndedIterator<Item = $key> + '_> {
            crate::common::Shown(self.iter().map(|(key, _)| key))
        }

        /// All values in the order of their keys.
        pub fn values(&self) -> crate::common::Shown<impl DoubleEndedIterator<Item = $value> + '_> {
            crate::common::Shown(self.iter().map(|(_, value)| value))
        }

        /// All values in the order of their keys, to be changed: no one else has the map.
        pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + '_ {
            self.iter_mut().map(|(_, value)| value)
        }

        /// All entries in order, to be changed: no one else has the map.
        pub fn iter_mut(&mut self) -> $entries_mut {
            self.range_mut(..)
        }

        /// All keys by value, in order; the values are dropped.
        pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> {
            self.into_iter().map(|(key, _)| key)
        }

        /// All values by value, in the order of their keys; the keys are dropped.
        pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
            self.into_iter().map(|(_, value)| value)
        }

        /// The place of `key`: no one else has the map.
        pub fn entry(&mut self, key: K) -> crate::Entry<'_, Self> {
            crate::Entry::new(self, key)
        }

        /// Removes the entry with the lowest key. Of threads that call it at the same time each gets
        /// another one.
        pub fn pop_first(&self) -> Option<($key, $value)> {
            self.pop(true)
        }

        /// Removes the entry with the highest key.
        pub fn pop_last(&self) -> Option<($key, $value)> {
            self.pop(false)
        }

        /// Removes the entries for which `keep` returns false. An entry whose value another thread
        /// changes meanwhile is kept.
        pub fn retain(&self, mut keep: impl FnMut(&K, &V) -> bool) {
            let gone = self.extract_if(.., |key, value| !keep(key, value));
            gone.for_each(drop);
        }
    };
}

/// An iterator from both ends: `step` makes one from the front or the back.
macro_rules! stepped {
    (impl [$($of:tt)*] $name:ty, $item:ty, $step:expr) => {
        impl<$($of)*> Iterator for $name {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let step: fn(&mut Self, bool) -> Option<Self::Item> = $step;
                step(self, false)
            }
        }

        impl<$($of)*> DoubleEndedIterator for $name {
            fn next_back(&mut self) -> Option<Self::Item> {
                let step: fn(&mut Self, bool) -> Option<Self::Item> = $step;
                step(self, true)
            }
        }

        impl<$($of)*> core::iter::FusedIterator for $name {}
    };
}

/// An iterator that makes its items of those of another one, which `field` is, from both ends.
macro_rules! both_ends {
    (impl [$($of:tt)*] $name:ty, $item:ty, $field:tt, $make:expr) => {
        crate::common::stepped!(impl [$($of)*] $name, $item, |this, back| {
            let next = if back { this.$field.next_back() } else { this.$field.next() };
            next.map($make)
        });
    };
}

pub(crate) use {
    both_ends, collected, compared, constructors, from_array, indexed, iterated, keyed, of_copies,
    stepped,
};

/// Keys or values of a map that an iterator shows in place: what each derefs to can be copied.
///
/// ```
/// let map = lathwork::PointMap::from([(1, 'a'), (2, 'b')]);
/// assert_eq!(map.values().copied().rev().collect::<String>(), "ba");
/// ```
#[derive(Clone, Debug)]
pub struct Shown<I>(pub(crate) I);

impl<T: Clone, P: Deref<Target = T>, I: DoubleEndedIterator<Item = P>> Shown<I> {
    /// Clones of them.
    pub fn cloned(self) -> impl DoubleEndedIterator<Item = T> {
        self.0.map(|part| (*part).clone())
    }

    /// Copies of them.
    pub fn copied(self) -> impl DoubleEndedIterator<Item = T>
    where
        T: Copy,
    {
        self.0.map(|part| *part)
    }
}

both_ends!(impl [I: DoubleEndedIterator] Shown<I>, I::Item, 0, |part| part);
