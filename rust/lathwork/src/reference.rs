// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Values that are looked at.
use core::cmp::Ordering;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use crate::section::Section;
use crate::value;

/// A value in a map. What it derefs to stays valid while it lives, also if the entry is removed
/// in the meantime. It belongs to one thread.
///
/// It keeps removed values from being dropped, and the memory of maps that have been dropped from
/// being freed: drop it soon. One that is forgotten (`mem::forget`) lasts for ever, and so does what
/// it keeps; one in a thread-local variable to the end of its thread.
pub struct Ref<'a, V> {
    word: u64,
    section: Option<Section>,
    of: PhantomData<(&'a V, *const ())>,
}

impl<V> Ref<'_, V> {
    /// `word` is in an index, or was when `section` had begun already.
    pub(crate) fn new(word: u64, section: Option<Section>) -> Self {
        Ref {
            word,
            section,
            of: PhantomData,
        }
    }

    pub(crate) fn word(&self) -> u64 {
        self.word
    }
}

impl<V> Clone for Ref<'_, V> {
    fn clone(&self) -> Self {
        Ref::new(self.word, self.section.as_ref().map(|_| Section::enter()))
    }
}

impl<V> Deref for Ref<'_, V> {
    type Target = V;

    fn deref(&self) -> &V {
        // SAFETY: the section began while the word was in the index, and values that leave it are
        // dropped after all sections of that time. A value in a word is a copy.
        unsafe { value::target(&self.word) }
    }
}

/// The key or the value of an entry that an iterator over a [`BytesMap`](crate::BytesMap) shows. It
/// derefs to that, and is a section, as a [`Ref`].
pub struct BytesPart<'a, T> {
    part: *const T,
    section: Section,
    of: PhantomData<&'a T>,
}

impl<T> BytesPart<'_, T> {
    /// # Safety
    ///
    /// `part` is in an entry of a map, or was when `section` had begun already, and the lifetime is
    /// within that of the map.
    pub(crate) unsafe fn new(part: *const T, section: Section) -> Self {
        BytesPart {
            part,
            section,
            of: PhantomData,
        }
    }
}

impl<T> Clone for BytesPart<'_, T> {
    fn clone(&self) -> Self {
        let _ = &self.section;
        BytesPart {
            part: self.part,
            section: Section::enter(),
            of: PhantomData,
        }
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
        BytesRef {
            word,
            section,
            of: PhantomData,
        }
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

impl<K, V> Clone for BytesRef<'_, K, V> {
    fn clone(&self) -> Self {
        let _ = &self.section;
        BytesRef::new(self.word, Section::enter())
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

/// Is printed and compared as what it derefs to.
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
