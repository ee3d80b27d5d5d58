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
///
/// What a map of an index shows has room for a copy; what a `BytesMap` shows is an address, and has
/// the type `Ref<V, InNode>`.
pub struct Ref<'a, V, P: Place<V> = Anywhere> {
    place: P,
    of: PhantomData<(&'a V, *const ())>,
}

/// Where the value of a [`Ref`] is: [`Anywhere`], or [`InNode`].
pub trait Place<V>: sealed::Value<V> {}

mod sealed {
    pub trait Value<V> {
        fn value(&self) -> *const V;
        fn again(&self) -> Self;
    }
}

/// In the [`Ref`] itself, or in a node.
pub struct Anywhere(Stored, Option<Section>);

/// In memory of its own.
pub struct InNode(usize, Section);

impl<V> Place<V> for Anywhere {}
impl<V> Place<V> for InNode {}

impl<V> sealed::Value<V> for Anywhere {
    fn value(&self) -> *const V {
        // SAFETY: the section keeps the node; a value without one is a copy.
        unsafe { self.0.target(self.1.is_some()) }
    }

    fn again(&self) -> Self {
        Anywhere(self.0, self.1.as_ref().map(|_| Section::enter()))
    }
}

impl<V> sealed::Value<V> for InNode {
    fn value(&self) -> *const V {
        self.0 as *const V
    }

    fn again(&self) -> Self {
        InNode(self.0, Section::enter())
    }
}

impl<V> Ref<'_, V> {
    /// `stored` is in an index, or was when `section` had begun already; with a section it is in a
    /// node.
    pub(crate) fn new(stored: Stored, section: Option<Section>) -> Self {
        Ref { place: Anywhere(stored, section), of: PhantomData }
    }

    /// As the index has it.
    pub(crate) fn stored(&self) -> &Stored {
        &self.place.0
    }
}

impl<V> Ref<'_, V, InNode> {
    /// Where the value is.
    pub(crate) fn address(&self) -> *mut V {
        self.place.0 as *mut V
    }
}

impl<V, P: Place<V>> Ref<'_, V, P> {
    /// Another one to the same value. As of a `std::cell::Ref`, it is called `Ref::clone(&value)`:
    /// `value.clone()` clones the value.
    #[allow(clippy::should_implement_trait)]
    pub fn clone(this: &Self) -> Self {
        Ref { place: this.place.again(), of: PhantomData }
    }
}

impl<V, P: Place<V>> Deref for Ref<'_, V, P> {
    type Target = V;

    fn deref(&self) -> &V {
        // SAFETY: the section began while the value was in the container, and values that leave it
        // are dropped after all sections of that time. A value without a section is a copy.
        unsafe { &*self.place.value() }
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

    pub(crate) fn into_value(self) -> Ref<'a, V, InNode> {
        let value: *const V = &self.pair().value;
        Ref { place: InNode(value as usize, self.section), of: PhantomData }
    }

    pub(crate) fn into_entry(self) -> (Ref<'a, K, InNode>, Ref<'a, V, InNode>) {
        let key: *const K = &self.pair().key;
        // the second section begins before the first one ends
        let key = Ref { place: InNode(key as usize, Section::enter()), of: PhantomData };
        (key, self.into_value())
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl<'a, P: Place<$number>> Sum<Ref<'a, $number, P>> for $number {
            fn sum<I: Iterator<Item = Ref<'a, $number, P>>>(values: I) -> $number {
                values.map(|value| *value).sum()
            }
        }
    )*};
}

// It is printed, compared, hashed and summed as what it derefs to.

impl<V, P: Place<V>> AsRef<V> for Ref<'_, V, P> {
    fn as_ref(&self) -> &V {
        self
    }
}

impl<V: fmt::Debug, P: Place<V>> fmt::Debug for Ref<'_, V, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<V: fmt::Display, P: Place<V>> fmt::Display for Ref<'_, V, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<V, P: Place<V>> Borrow<V> for Ref<'_, V, P> {
    fn borrow(&self) -> &V {
        self
    }
}

impl<V: Hash, P: Place<V>> Hash for Ref<'_, V, P> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<P: Place<String>> PartialEq<str> for Ref<'_, String, P> {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl<P: Place<String>> PartialEq<&str> for Ref<'_, String, P> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

numbers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

impl<V: PartialEq, P: Place<V>> PartialEq<V> for Ref<'_, V, P> {
    fn eq(&self, other: &V) -> bool {
        **self == *other
    }
}

impl<V: PartialEq, P: Place<V>> PartialEq for Ref<'_, V, P> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<V: Eq, P: Place<V>> Eq for Ref<'_, V, P> {}

impl<V: PartialOrd, P: Place<V>> PartialOrd for Ref<'_, V, P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<V: Ord, P: Place<V>> Ord for Ref<'_, V, P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}
