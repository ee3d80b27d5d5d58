// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Values that are looked at.
use alloc::string::String;
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::iter::Sum;
use core::marker::PhantomData;
use core::ops::Deref;

use crate::section::Section;
use crate::value::{self, Stored};

/// A value in a map. What it derefs to stays valid while it lives, also if the entry is removed
/// in the meantime. It belongs to one thread. It is compared, ordered, hashed, printed and summed as
/// its value is; `get(k).map(|v| v.clone())` is an `Option` of the value.
///
/// ```
/// let map = lathwork::PointMap::from([(1, String::from("one"))]);
/// assert!(map.get(1).unwrap() == "one");
/// let name: String = map.get(&2).map(|name| name.clone()).unwrap_or_default();
/// assert_eq!(map.values().cloned().collect::<Vec<String>>(), ["one"]);
/// assert_eq!(lathwork::PointMap::from([(1, 10), (2, 5)]).values().sum::<i32>(), 15);
/// ```
///
/// It keeps removed values from being dropped, and the memory of maps that have been dropped from
/// being freed: drop it soon. One that is forgotten (`mem::forget`) lasts for ever, and so does what
/// it keeps; one in a thread-local variable to the end of its thread.
pub struct Ref<'a, V> {
    stored: Stored,
    section: Option<Section>,
    of: PhantomData<(&'a V, *const ())>,
}

impl<'a, V> Ref<'a, V> {
    /// `stored` is in an index, or was when `section` had begun already; with a section it is in a
    /// node.
    pub(crate) fn new(stored: Stored, section: Option<Section>) -> Self {
        let section = match section {
            // SAFETY: the section keeps the node.
            Some(section) => return unsafe { Ref::at(value::node_value(stored.first()), section) },
            None => None,
        };
        Ref { stored, section, of: PhantomData }
    }

    /// One to a value, or to a part of one, in a node.
    ///
    /// # Safety
    ///
    /// It is in a container, or was when `section` had begun already; `'a` is within the life of
    /// that.
    pub(crate) unsafe fn at(value: *const V, section: Section) -> Self {
        let stored = Stored::word(value as usize as u64);
        Ref { stored, section: Some(section), of: PhantomData }
    }

    /// As the index has it.
    pub(crate) fn stored(&self) -> Stored {
        match self.section {
            Some(_) => Stored::word(value::word_of::<V>(self.stored.first())),
            None => self.stored,
        }
    }

    /// Another one to the same value. As of a `std::cell::Ref`, it is called `Ref::clone(&value)`:
    /// `value.clone()` clones the value.
    #[allow(clippy::should_implement_trait)]
    pub fn clone(this: &Self) -> Self {
        let section = this.section.as_ref().map(|_| Section::enter());
        Ref { stored: this.stored, section, of: PhantomData }
    }
}

impl<V> Deref for Ref<'_, V> {
    type Target = V;

    fn deref(&self) -> &V {
        // SAFETY: the section began while the value was in the container, and values that leave it
        // are dropped after all sections of that time. A value without a section is a copy.
        unsafe {
            match self.section {
                Some(_) => &*(self.stored.first() as usize as *const V),
                None => self.stored.target(false),
            }
        }
    }
}

/// What a set of bytes has the address of.
pub(crate) struct Pair<K, V> {
    pub(crate) key: K,
    pub(crate) value: V,
}

/// An entry of a `BytesMap` that was found.
pub(crate) struct Found<'a, K, V> {
    pub(crate) word: u64,
    section: Section,
    of: PhantomData<&'a (K, V)>,
}

impl<'a, K, V> Found<'a, K, V> {
    /// `word` is in a set, or was when `section` had begun already.
    pub(crate) fn new(word: u64, section: Section) -> Self {
        Found { word, section, of: PhantomData }
    }

    pub(crate) fn pair(&self) -> &Pair<K, V> {
        // SAFETY: the section began while the pair was in the set.
        unsafe { &*value::node_value(self.word) }
    }

    pub(crate) fn into_value(self) -> Ref<'a, V> {
        let value: *const V = &self.pair().value;
        // SAFETY: likewise.
        unsafe { Ref::at(value, self.section) }
    }

    pub(crate) fn into_entry(self) -> (Ref<'a, K>, Ref<'a, V>) {
        let key: *const K = &self.pair().key;
        // SAFETY: likewise; the second section begins before the first one ends.
        let key = unsafe { Ref::at(key, Section::enter()) };
        (key, self.into_value())
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl<'a> Sum<Ref<'a, $number>> for $number {
            fn sum<I: Iterator<Item = Ref<'a, $number>>>(values: I) -> $number {
                values.map(|value| *value).sum()
            }
        }
    )*};
}

// It is printed, compared, hashed and summed as what it derefs to.

impl<V> AsRef<V> for Ref<'_, V> {
    fn as_ref(&self) -> &V {
        self
    }
}

impl<V: fmt::Debug> fmt::Debug for Ref<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<V: fmt::Display> fmt::Display for Ref<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<V> Borrow<V> for Ref<'_, V> {
    fn borrow(&self) -> &V {
        self
    }
}

impl<V: Hash> Hash for Ref<'_, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl PartialEq<str> for Ref<'_, String> {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Ref<'_, String> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

numbers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

impl<V: PartialEq> PartialEq<V> for Ref<'_, V> {
    fn eq(&self, other: &V) -> bool {
        **self == *other
    }
}

impl<V: PartialEq> PartialEq for Ref<'_, V> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<V: Eq> Eq for Ref<'_, V> {}

impl<V: PartialOrd> PartialOrd for Ref<'_, V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<V: Ord> Ord for Ref<'_, V> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}
