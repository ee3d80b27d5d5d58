// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The place of a key in a map, for a caller that alone has the map.
use core::ptr::NonNull;

mod sealed {
    /// A map, for a caller that alone has it.
    pub trait Alone {
        type Key;
        type Value;
        fn value(&mut self, key: &Self::Key) -> Option<&mut Self::Value>;
        /// Inserts a key that is not there.
        fn add(&mut self, key: Self::Key, value: Self::Value) -> &mut Self::Value;
        fn take_entry(&mut self, key: &Self::Key) -> Option<(Self::Key, Self::Value)>;
    }
}
pub(crate) use sealed::Alone;

/// The place of a key in a map, from `entry()` of a [`PointMap`](crate::PointMap) or a
/// [`BytesMap`](crate::BytesMap), as of a `BTreeMap`: no one else has the map. Of a map that is
/// shared `get_or_insert_with()` and `update()` are one step each.
///
/// ```
/// let mut map = lathwork::PointMap::new();
/// *map.entry("ab".len()).or_insert(0) += 1;
/// map.entry(2).and_modify(|n| *n += 1).or_insert(7);
/// assert_eq!(map.get(2).unwrap(), 2);
/// ```
pub enum Entry<'a, M: Alone> {
    /// The key is there.
    Occupied(OccupiedEntry<'a, M>),
    /// It is not.
    Vacant(VacantEntry<'a, M>),
}

/// The place of a key that is there.
pub struct OccupiedEntry<'a, M: Alone> {
    map: &'a mut M,
    key: M::Key,
    value: NonNull<M::Value>,
}

/// The place of a key that is not there.
pub struct VacantEntry<'a, M: Alone> {
    map: &'a mut M,
    key: M::Key,
}

impl<'a, M: Alone> Entry<'a, M> {
    pub(crate) fn new(map: &'a mut M, key: M::Key) -> Self {
        match map.value(&key).map(NonNull::from) {
            Some(value) => Entry::Occupied(OccupiedEntry { map, key, value }),
            None => Entry::Vacant(VacantEntry { map, key }),
        }
    }

    pub(crate) fn occupied(self) -> Option<OccupiedEntry<'a, M>> {
        match self {
            Entry::Occupied(there) => Some(there),
            Entry::Vacant(_) => None,
        }
    }

    /// The key.
    pub fn key(&self) -> &M::Key {
        match self {
            Entry::Occupied(there) => &there.key,
            Entry::Vacant(vacant) => &vacant.key,
        }
    }

    /// The value that is there, which is `value` if there was none. Without memory it does what
    /// `Box::new` does.
    pub fn or_insert(self, value: M::Value) -> &'a mut M::Value {
        self.or_insert_with(|| value)
    }

    /// The value that is there, which is `make()` if there was none.
    pub fn or_insert_with(self, make: impl FnOnce() -> M::Value) -> &'a mut M::Value {
        self.or_insert_with_key(|_| make())
    }

    /// The value that is there, which is `make(key)` if there was none.
    pub fn or_insert_with_key(self, make: impl FnOnce(&M::Key) -> M::Value) -> &'a mut M::Value {
        match self {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(vacant) => {
                let value = make(&vacant.key);
                vacant.insert(value)
            }
        }
    }

    /// The value that is there, which is the default one if there was none.
    pub fn or_default(self) -> &'a mut M::Value
    where
        M::Value: Default,
    {
        self.or_insert_with(Default::default)
    }

    /// Changes the value, if there is one.
    pub fn and_modify(mut self, change: impl FnOnce(&mut M::Value)) -> Self {
        if let Entry::Occupied(there) = &mut self {
            change(there.get_mut());
        }
        self
    }
}

impl<'a, M: Alone> OccupiedEntry<'a, M> {
    /// The key.
    pub fn key(&self) -> &M::Key {
        &self.key
    }

    /// The value.
    pub fn get(&self) -> &M::Value {
        // SAFETY: the map is borrowed, so its values stay where they are, and nothing else uses this
        // one; likewise below.
        unsafe { self.value.as_ref() }
    }

    /// The value, to be changed.
    pub fn get_mut(&mut self) -> &mut M::Value {
        // SAFETY: likewise.
        unsafe { self.value.as_mut() }
    }

    /// The value, as long as the map is borrowed.
    pub fn into_mut(mut self) -> &'a mut M::Value {
        // SAFETY: likewise.
        unsafe { self.value.as_mut() }
    }

    /// Gives the key another value; returns the one that it had.
    pub fn insert(&mut self, value: M::Value) -> M::Value {
        core::mem::replace(self.get_mut(), value)
    }

    /// Removes the key; returns its value.
    pub fn remove(self) -> M::Value {
        self.remove_entry().1
    }

    /// Removes the key; returns it and its value.
    pub fn remove_entry(self) -> (M::Key, M::Value) {
        self.map.take_entry(&self.key).expect("lathwork: an entry has gone")
    }
}

impl<'a, M: Alone> VacantEntry<'a, M> {
    /// The key.
    pub fn key(&self) -> &M::Key {
        &self.key
    }

    /// The key back.
    pub fn into_key(self) -> M::Key {
        self.key
    }

    /// Inserts the key with this value.
    pub fn insert(self, value: M::Value) -> &'a mut M::Value {
        self.map.add(self.key, value)
    }
}
