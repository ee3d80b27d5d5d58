// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The feature `serde`. Maps of keys are maps; those of ranges are sequences of ranges and values,
//! a set of ranges is a sequence of ranges. A range is a struct of its first and its last key: serde
//! gives `a..b` and `a..=b` the names `start` and `end` both, by which a reader cannot tell whether
//! the key at the end belongs to the range.
use alloc::string::String;
use core::fmt;
use core::marker::PhantomData;
use core::ops::RangeInclusive;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::{Bytes, BytesMap, BytesPart, IntervalMap, Key, PointMap, RangeMap, RangeSet, Ref};

const NAMES: &[&str] = &["first", "last"];

/// A range as it is written and read.
struct Keys<K>(RangeInclusive<K>);

impl<K: Serialize> Serialize for Keys<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut range = serializer.serialize_struct("Range", NAMES.len())?;
        range.serialize_field(NAMES[0], self.0.start())?;
        range.serialize_field(NAMES[1], self.0.end())?;
        range.end()
    }
}

/// Which of the names it is: 0 or 1.
struct Name(usize);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_identifier(Reads::<Name>::new())
    }
}

impl Visitor<'_> for Reads<Name> {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name first or last")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Name, E> {
        match usize::try_from(number) {
            Ok(number) if number < NAMES.len() => Ok(Name(number)),
            _ => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Name, E> {
        self.visit_bytes(name.as_bytes())
    }

    fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<Name, E> {
        let found = NAMES.iter().position(|there| there.as_bytes() == name);
        let unknown = || E::unknown_field(&String::from_utf8_lossy(name), NAMES);
        found.map(Name).ok_or_else(unknown)
    }
}

impl<'de, K: Deserialize<'de>> Visitor<'de> for Reads<Keys<K>> {
    type Value = Keys<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a range: its first and its last key")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut ends: A) -> Result<Keys<K>, A::Error> {
        let (first, last) = (ends.next_element()?, ends.next_element()?);
        let missing = |n| A::Error::invalid_length(n, &self);
        let first = first.ok_or_else(|| missing(0))?;
        Ok(Keys(first..=last.ok_or_else(|| missing(1))?))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut ends: A) -> Result<Keys<K>, A::Error> {
        let mut found = [None, None];
        while let Some(Name(n)) = ends.next_key()? {
            if found[n].replace(ends.next_value()?).is_some() {
                return Err(A::Error::duplicate_field(NAMES[n]));
            }
        }
        let missing = |n: usize| A::Error::missing_field(NAMES[n]);
        let [first, last] = found;
        let first = first.ok_or_else(|| missing(0))?;
        Ok(Keys(first..=last.ok_or_else(|| missing(1))?))
    }
}

impl<'de, K: Deserialize<'de>> Deserialize<'de> for Keys<K> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_struct("Range", NAMES, Reads::<Self>::new())
    }
}

impl<V: Serialize> Serialize for Ref<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<T: Serialize> Serialize for BytesPart<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<K: Key + Serialize, V: Serialize> Serialize for PointMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<K: Bytes + Serialize, V: Serialize> Serialize for BytesMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<K: Key + Serialize, V: Serialize> Serialize for RangeMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|(range, value)| (Keys(range), value)))
    }
}

impl<K: Key + Serialize, V: Serialize> Serialize for IntervalMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|(range, value)| (Keys(range), value)))
    }
}

impl<K: Key + Serialize> Serialize for RangeSet<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Keys))
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
                while let Some((Keys(range), value)) = entries.next_element::<(Keys<K>, V)>()? {
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
        while let Some(Keys(range)) = ranges.next_element::<Keys<K>>()? {
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
