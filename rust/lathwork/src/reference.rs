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
/// It keeps removed values from being dropped, and the drop of a map waits for it: drop it soon.
/// One that is forgotten (`mem::forget`) lasts until its thread ends.
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
