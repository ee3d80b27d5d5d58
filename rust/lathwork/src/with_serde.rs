// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The feature `serde`. Maps of keys are maps; those of ranges are sequences of ranges and values,
//! a set of ranges is a sequence of ranges.
use core::fmt;
use core::marker::PhantomData;
use core::ops::RangeInclusive;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use crate::{Bytes, BytesMap, BytesRef, IntervalMap, Key, PointMap, RangeMap, RangeSet, Ref};

impl<V: Serialize> Serialize for Ref<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<K: Key + Serialize, V: Serialize> Serialize for PointMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

/// The key of an entry, and its value.
struct Name<'a, K, V>(BytesRef<'a, K, V>);
struct Body<'a, K, V>(BytesRef<'a, K, V>);

impl<K: Serialize, V> Serialize for Name<'_, K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.key().serialize(serializer)
    }
}

impl<K, V: Serialize> Serialize for Body<'_, K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.value().serialize(serializer)
    }
}

impl<K: Bytes + Serialize, V: Serialize> Serialize for BytesMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|entry| (Name(entry.clone()), Body(entry))))
    }
}

impl<K: Key + Serialize, V: Serialize> Serialize for RangeMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<K: Key + Serialize, V: Serialize> Serialize for IntervalMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<K: Key + Serialize> Serialize for RangeSet<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

/// Reads what a container of type T is made of.
struct Reads<T>(PhantomData<T>);

impl<T> Reads<T> {
    fn new() -> Self {
        Reads(PhantomData)
    }
}

macro_rules! maps {
    ($($name:ident $bound:ident;)*) => {$(
        impl<'de, K, V> Visitor<'de> for Reads<$name<K, V>>
        where
            K: $bound + Deserialize<'de>,
            V: Deserialize<'de>,
        {
            type Value = $name<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let map = $name::try_new().map_err(A::Error::custom)?;
                while let Some((key, value)) = entries.next_entry()? {
                    let done = map.insert(key, value);
                    done.map_err(|refused| A::Error::custom(refused.reason.plain()))?;
                }
                Ok(map)
            }
        }

        impl<'de, K, V> Deserialize<'de> for $name<K, V>
        where
            K: $bound + Deserialize<'de>,
            V: Deserialize<'de>,
        {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_map(Reads::<Self>::new())
            }
        }
    )*};
}

maps! {
    PointMap Key;
    BytesMap Bytes;
}

/// A range that overlaps an earlier one is an error in a map of ranges: none was written so.
macro_rules! ranges {
    ($($name:ident $insert:ident;)*) => {$(
        impl<'de, K, V> Visitor<'de> for Reads<$name<K, V>>
        where
            K: Key + Deserialize<'de>,
            V: Deserialize<'de>,
        {
            type Value = $name<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence of ranges and values")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let map = $name::try_new().map_err(A::Error::custom)?;
                while let Some((range, value)) = entries.next_element::<(RangeInclusive<K>, V)>()? {
                    let done = map.$insert(range, value);
                    done.map_err(|refused| A::Error::custom(refused.reason.plain()))?;
                }
                Ok(map)
            }
        }

        impl<'de, K, V> Deserialize<'de> for $name<K, V>
        where
            K: Key + Deserialize<'de>,
            V: Deserialize<'de>,
        {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_seq(Reads::<Self>::new())
            }
        }
    )*};
}

ranges! {
    RangeMap try_insert;
    IntervalMap insert;
}

impl<'de, K: Key + Deserialize<'de>> Visitor<'de> for Reads<RangeSet<K>> {
    type Value = RangeSet<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence of ranges")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut ranges: A) -> Result<Self::Value, A::Error> {
        let set = RangeSet::try_new().map_err(A::Error::custom)?;
        while let Some(range) = ranges.next_element::<RangeInclusive<K>>()? {
            // ranges that touch stay two, as they were
            set.try_insert(range)
                .map_err(|reason| A::Error::custom(reason.plain()))?;
        }
        Ok(set)
    }
}

impl<'de, K: Key + Deserialize<'de>> Deserialize<'de> for RangeSet<K> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Reads::<Self>::new())
    }
}
