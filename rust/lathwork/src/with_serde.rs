// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The feature `serde`. Maps of keys are maps; those of ranges are sequences of ranges and values,
//! a set of ranges is a sequence of ranges. A range is a struct of its first and its last key: serde
//! gives `a..b` and `a..=b` the names `start` and `end` both, by which a reader cannot tell whether
//! the key at the end belongs to the range.
use alloc::string::String;
use core::fmt;
use core::marker::PhantomData;
use core::ops::RangeInclusive;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::reference::Place;
use crate::{Bytes, BytesMap, IntervalMap, Key, PointMap, RangeMap, RangeSet, Ref};

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
        while let Some(name) = ends.next_key::<String>()? {
            let at = NAMES.iter().position(|there| *there == name);
            let n = at.ok_or_else(|| A::Error::unknown_field(&name, NAMES))?;
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

/// `TYPE [GENERICS], with NAME: what is written`.
macro_rules! writes {
    ($($name:ty [$($of:tt)*], $this:ident, $to:ident: $written:expr;)*) => {$(
        impl<$($of)*> Serialize for $name {
            fn serialize<S: Serializer>(&self, $to: S) -> Result<S::Ok, S::Error> {
                let $this = self;
                $written
            }
        }
    )*};
}

writes! {
    Ref<'_, V, P> [V: Serialize, P: Place<V>], this, to: (**this).serialize(to);
    PointMap<K, V> [K: Key + Serialize, V: Serialize], this, to: to.collect_map(this);
    BytesMap<K, V> [K: Bytes + Serialize, V: Serialize], this, to: to.collect_map(this);
    RangeMap<K, V> [K: Key + Serialize, V: Serialize], this, to:
        to.collect_seq(this.iter().map(|(range, value)| (Keys(range), value)));
    IntervalMap<K, V> [K: Key + Serialize, V: Serialize], this, to:
        to.collect_seq(this.iter().map(|(range, value)| (Keys(range), value)));
    RangeSet<K> [K: Key + Serialize], this, to: to.collect_seq(this.iter().map(Keys));
}

/// Reads what a container of type T is made of.
struct Reads<T>(PhantomData<T>);

impl<T> Reads<T> {
    fn new() -> Self {
        Reads(PhantomData)
    }
}

/// `TYPE [GENERICS], WHAT: VISIT by DESERIALIZE; ENTRY is ITEM of next => result of its insert`.
macro_rules! reads {
    ($(
        $name:ident<$($arg:ident),*> [$($of:tt)*], $what:literal:
        $access:ident $visit:ident by $read:ident;
        $entry:pat = $next:ident $item:ty, $insert:ident($($part:expr),*), $reason:expr;
    )*) => {$(
        impl<'de, $($of)*> Visitor<'de> for Reads<$name<$($arg),*>> {
            type Value = $name<$($arg),*>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($what)
            }

            fn $visit<A: $access<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let all = $name::try_new().map_err(A::Error::custom)?;
                while let Some($entry) = { let next: Option<$item> = entries.$next()?; next } {
                    let done = all.$insert($($part),*).map_err($reason);
                    done.map_err(|reason| A::Error::custom(reason.plain()))?;
                }
                Ok(all)
            }
        }

        impl<'de, $($of)*> Deserialize<'de> for $name<$($arg),*> {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.$read(Reads::<Self>::new())
            }
        }
    )*};
}

// A range that overlaps an earlier one is an error in a map or a set of ranges: none was written so. Ranges that touch stay two,
// as they were.
reads! {
    PointMap<K, V> [K: Key + Deserialize<'de>, V: Deserialize<'de>], "a map":
        MapAccess visit_map by deserialize_map;
        (key, value) = next_entry (K, V), insert(key, value), |refused| refused.reason;
    BytesMap<K, V> [K: Bytes + Deserialize<'de>, V: Deserialize<'de>], "a map":
        MapAccess visit_map by deserialize_map;
        (key, value) = next_entry (K, V), insert(key, value), |refused| refused.reason;
    RangeMap<K, V> [K: Key + Deserialize<'de>, V: Deserialize<'de>], "a sequence of ranges and values":
        SeqAccess visit_seq by deserialize_seq;
        (Keys(keys), value) = next_element (Keys<K>, V), try_insert(keys, value), |refused| refused.reason;
    IntervalMap<K, V> [K: Key + Deserialize<'de>, V: Deserialize<'de>], "a sequence of ranges and values":
        SeqAccess visit_seq by deserialize_seq;
        (Keys(keys), value) = next_element (Keys<K>, V), insert(keys, value), |refused| refused.reason;
    RangeSet<K> [K: Key + Deserialize<'de>], "a sequence of ranges":
        SeqAccess visit_seq by deserialize_seq;
        Keys(keys) = next_element Keys<K>, try_insert(keys), |reason| reason;
}
