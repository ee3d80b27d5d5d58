// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The place of a key in a map that threads share.
use crate::error::InsertError;
use crate::{Key, PointMap, Ref};

/// The place of a key in a [`PointMap`], from [`PointMap::entry`]. Other threads may insert the key
/// and remove it at any time, so each call looks for it anew, and is one step.
pub struct Entry<'a, K: Key, V> {
    pub(crate) map: &'a PointMap<K, V>,
    pub(crate) key: K,
}

impl<K: Key, V> PointMap<K, V> {
    /// The place of `key`, as of a `BTreeMap`.
    ///
    /// ```
    /// let map = lathwork::PointMap::new();
    /// map.entry("ab".len()).or_insert(1).unwrap();
    /// assert_eq!(*map.entry(2).or_insert(5).unwrap(), 1);
    /// ```
    pub fn entry(&self, key: K) -> Entry<'_, K, V> {
        Entry { map: self, key }
    }
}

impl<'a, K: Key, V> Entry<'a, K, V> {
    /// The key.
    pub fn key(&self) -> K {
        self.key
    }

    /// The value that is there.
    pub fn get(&self) -> Option<Ref<'a, V>> {
        self.map.get(self.key)
    }

    /// The value that is there, which is `value` if there was none.
    pub fn or_insert(self, value: V) -> Result<Ref<'a, V>, InsertError<V, K>> {
        self.or_insert_with(|| value)
    }

    /// The value that is there, which is `make()` if there was none.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> Result<Ref<'a, V>, InsertError<V, K>> {
        self.map.get_or_insert_with(self.key, make)
    }

    /// The value that is there, which is the default one if there was none.
    pub fn or_default(self) -> Result<Ref<'a, V>, InsertError<V, K>>
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Gives the key the value that `change` makes of the present one, if there is one.
    pub fn and_modify(self, change: impl FnMut(&V) -> V) -> Result<Self, InsertError<V, K>> {
        self.map.update(self.key, change)?;
        Ok(self)
    }

    /// Gives the key this value; returns the one that it had.
    pub fn insert(self, value: V) -> Result<Option<Ref<'a, V>>, InsertError<V, K>> {
        self.map.insert(self.key, value)
    }

    /// Removes the key.
    pub fn remove(self) -> Option<Ref<'a, V>> {
        self.map.remove(self.key)
    }
}
