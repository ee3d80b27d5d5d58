// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The place of a key in a map that threads share.
use crate::error::{InsertError, Reason};
use crate::key::Key;
use crate::{PointMap, Ref};

/// The place of a key in a [`PointMap`], from [`PointMap::entry`]. Other threads may insert the key
/// and remove it at any time, so each call looks for it anew, and is one step.
pub struct Entry<'a, K: Key, V> {
    pub(crate) map: &'a PointMap<K, V>,
    pub(crate) key: K,
    refused: Option<Reason<K>>,
}

impl<K: Key, V> PointMap<K, V> {
    /// The place of `key`, as of a `BTreeMap`.
    ///
    /// ```
    /// let map = lathwork::PointMap::new();
    /// map.entry("ab".len()).or_insert(1).unwrap();
    /// assert_eq!(*map.entry(2).or_insert(5).unwrap(), 1);
    /// map.entry(2).and_modify(|n| *n += 1).or_insert(1).unwrap();
    /// assert_eq!(map.get(2).unwrap(), 2);
    /// ```
    pub fn entry(&self, key: K) -> Entry<'_, K, V> {
        Entry { map: self, key, refused: None }
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
        match self.refused {
            None => self.map.get_or_insert_with(self.key, make),
            Some(reason) => Err(InsertError { reason, value: make() }),
        }
    }

    /// The value that is there, which is the default one if there was none.
    pub fn or_default(self) -> Result<Ref<'a, V>, InsertError<V, K>>
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes a clone of the value, if there is one, and puts it in its place, as one step: if another
    /// thread changes the value first, `change` gets a clone of that one. Without memory `or_insert`
    /// returns the error.
    pub fn and_modify(mut self, mut change: impl FnMut(&mut V)) -> Self
    where
        V: Clone,
    {
        let changed = self.map.update(&self.key, |value| {
            let mut value = value.clone();
            change(&mut value);
            value
        });
        self.refused = changed.err().map(|refused| refused.reason);
        self
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
