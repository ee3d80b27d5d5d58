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

impl<V> Ref<'_, V> {
    /// `stored` is in an index, or was when `section` had begun already; with a section it is in a node.
    pub(crate) fn new(stored: Stored, section: Option<Section>) -> Self {
        Ref { stored, section, of: PhantomData }
    }

    pub(crate) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// Another one to the same value. As of a `std::cell::Ref`, it is called `Ref::clone(&value)`:
    /// `value.clone()` clones the value.
    #[allow(clippy::should_implement_trait)]
    pub fn clone(this: &Self) -> Self {
        Ref::new(this.stored, this.section.as_ref().map(|_| Section::enter()))
    }
}

impl<V> Deref for Ref<'_, V> {
    type Target = V;

    fn deref(&self) -> &V {
        // SAFETY: the section began while the word was in the index, and values that leave it are
        // dropped after all sections of that time. A value without a section is a copy.
        unsafe { self.stored.target(self.section.is_some()) }
    }
}

/// The key or the value of an entry that an iterator over a [`BytesMap`](crate::BytesMap) shows. It
/// derefs to that, and is a section, as a [`Ref`].
pub struct BytesPart<'a, T> {
    part: *const T,
    _section: Section,
    of: PhantomData<&'a T>,
}

impl<T> BytesPart<'_, T> {
    /// # Safety
    ///
    /// `part` is in an entry of a map, or was when `section` had begun already, and the lifetime is
    /// within that of the map.
    pub(crate) unsafe fn new(part: *const T, section: Section) -> Self {
        BytesPart { part, _section: section, of: PhantomData }
    }
}

impl<T> Deref for BytesPart<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the section began while the entry was in the map.
        unsafe { &*self.part }
    }
}

/// What a set of bytes has the address of.
pub(crate) struct Pair<K, V> {
    pub(crate) key: K,
    pub(crate) value: V,
}

/// An entry of a [`BytesMap`](crate::BytesMap) that is looked at: it derefs to the value. It stays
/// valid while it lives, also if it is removed since, and is a section, as a [`Ref`].
pub struct BytesRef<'a, K, V> {
    pub(crate) word: u64,
    section: Section,
    of: PhantomData<(&'a (K, V), *const ())>,
}

impl<'a, K, V> BytesRef<'a, K, V> {
    /// `word` is in a set, or was when `section` had begun already.
    pub(crate) fn new(word: u64, section: Section) -> Self {
        BytesRef { word, section, of: PhantomData }
    }

    pub(crate) fn into_parts(self) -> (BytesPart<'a, K>, BytesPart<'a, V>) {
        let (key, value): (*const K, *const V) = (self.key(), self.value());
        // SAFETY: the sections begin before that of the entry ends.
        unsafe {
            let key = BytesPart::new(key, Section::enter());
            (key, BytesPart::new(value, self.section))
        }
    }

    fn pair(&self) -> &Pair<K, V> {
        // SAFETY: the section began while the pair was in the set.
        unsafe { &*value::node_value(self.word) }
    }

    /// The key.
    pub fn key(&self) -> &K {
        &self.pair().key
    }

    /// The value.
    pub fn value(&self) -> &V {
        &self.pair().value
    }
}

impl<K, V> Deref for BytesRef<'_, K, V> {
    type Target = V;

    fn deref(&self) -> &V {
        self.value()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for BytesRef<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.key(), self.value()).fmt(f)
    }
}

macro_rules! numbers {
    ($name:ident: $($number:ty)*) => {$(
        impl<'a> Sum<$name<'a, $number>> for $number {
            fn sum<I: Iterator<Item = $name<'a, $number>>>(values: I) -> $number {
                values.map(|value| *value).sum()
            }
        }
    )*};
}

/// Is printed, compared, hashed and summed as what it derefs to.
macro_rules! as_target {
    ($name:ident) => {
        impl<V> AsRef<V> for $name<'_, V> {
            fn as_ref(&self) -> &V {
                self
            }
        }

        impl<V: fmt::Debug> fmt::Debug for $name<'_, V> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<V: fmt::Display> fmt::Display for $name<'_, V> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<V> Borrow<V> for $name<'_, V> {
            fn borrow(&self) -> &V {
                self
            }
        }

        impl<V: Hash> Hash for $name<'_, V> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }

        impl PartialEq<str> for $name<'_, String> {
            fn eq(&self, other: &str) -> bool {
                **self == *other
            }
        }

        impl PartialEq<&str> for $name<'_, String> {
            fn eq(&self, other: &&str) -> bool {
                **self == **other
            }
        }

        numbers!($name: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

        impl<V: PartialEq> PartialEq<V> for $name<'_, V> {
            fn eq(&self, other: &V) -> bool {
                **self == *other
            }
        }

        impl<V: PartialEq> PartialEq for $name<'_, V> {
            fn eq(&self, other: &Self) -> bool {
                **self == **other
            }
        }

        impl<V: Eq> Eq for $name<'_, V> {}

        impl<V: PartialOrd> PartialOrd for $name<'_, V> {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                (**self).partial_cmp(&**other)
            }
        }

        impl<V: Ord> Ord for $name<'_, V> {
            fn cmp(&self, other: &Self) -> Ordering {
                (**self).cmp(&**other)
            }
        }
    };
}

as_target!(Ref);
as_target!(BytesPart);
