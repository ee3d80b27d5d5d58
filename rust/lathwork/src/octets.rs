// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Keys of bytes that are made of numbers, addresses and pairs.
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::Bytes;

/// A number, an address or a pair as the key of a [`BytesMap`](crate::BytesMap): its bytes, which have
/// the order of what they are made of.
///
/// ```
/// use lathwork::{BytesMap, Octets};
///
/// let map = BytesMap::new();
/// map.insert(Octets::from(1u128 << 100), "far").unwrap();
/// assert_eq!(*map.get(&Octets::from(1u128 << 100)).unwrap(), "far");
///
/// let files = BytesMap::new(); // all names of a directory follow one another
/// for (directory, name) in [(7u64, "b"), (7, "a"), (6, "c")] {
///     files.insert(Octets::from((directory, name.to_string())), ()).unwrap();
/// }
/// let of_7 = files.prefix(&Octets::from(7u64)).map(|(key, _)| key.get().1);
/// assert_eq!(of_7.collect::<Vec<_>>(), ["a", "b"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Octets<T: AsOctets>(T::Octets);

/// What [`Octets`] are made of: integers, addresses of the internet, a `Duration`; a pair whose first
/// part is one of these; strings and vectors of bytes as the last part.
///
/// # Safety
///
/// The octets are in the order of the values, and those of one value never change.
pub unsafe trait AsOctets {
    /// An array or a vector of bytes.
    type Octets: AsRef<[u8]> + Clone;
    /// How many bytes each value has; None: they differ.
    const SIZE: Option<usize>;
    /// The bytes of the value.
    fn octets(&self) -> Self::Octets;
    /// The value of these bytes.
    fn of(octets: &[u8]) -> Self;
}

impl<T: AsOctets> Octets<T> {
    /// What it was made of.
    pub fn get(&self) -> T {
        T::of(self.0.as_ref())
    }
}

impl<T: AsOctets> From<T> for Octets<T> {
    fn from(value: T) -> Self {
        Octets(value.octets())
    }
}

// SAFETY: nothing changes them.
unsafe impl<T: AsOctets> Bytes for Octets<T> {
    fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<T: AsOctets + fmt::Debug> fmt::Debug for Octets<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

macro_rules! as_octets {
    ($($name:ty: $size:literal, $this:ident => $octets:expr, $there:ident => $of:expr;)*) => {$(
        // SAFETY: the highest bits come first.
        unsafe impl AsOctets for $name {
            type Octets = [u8; $size];
            const SIZE: Option<usize> = Some($size);

            fn octets(&self) -> Self::Octets {
                let $this = *self;
                $octets
            }

            fn of(octets: &[u8]) -> Self {
                let $there: Self::Octets = octets.try_into().expect("lathwork: octets of a key");
                $of
            }
        }
    )*};
}

/// The lowest signed number gets the lowest bytes.
macro_rules! numbers {
    ($($unsigned:ident $signed:ident $size:literal;)*) => {
        as_octets! {$(
            $unsigned: $size, n => n.to_be_bytes(), octets => <$unsigned>::from_be_bytes(octets);
            $signed: $size, n => (n ^ <$signed>::MIN).to_be_bytes(),
                octets => <$signed>::from_be_bytes(octets) ^ <$signed>::MIN;
        )*}
    };
}

numbers! { u8 i8 1; u16 i16 2; u32 i32 4; u64 i64 8; u128 i128 16; }

as_octets! {
    Duration: 12, time => {
        let mut octets = [0; 12];
        octets[..8].copy_from_slice(&time.as_secs().octets());
        octets[8..].copy_from_slice(&time.subsec_nanos().octets());
        octets
    }, octets => Duration::new(u64::of(&octets[..8]), u32::of(&octets[8..]));
}

as_octets! {
    std::net::Ipv4Addr: 4, address => address.octets(), octets => octets.into();
    std::net::Ipv6Addr: 16, address => address.octets(), octets => octets.into();
}

macro_rules! last_part {
    ($($name:ty: $octets:ident => $of:expr;)*) => {$(
        // SAFETY: bytes are in the order of themselves.
        unsafe impl AsOctets for $name {
            type Octets = Vec<u8>;
            const SIZE: Option<usize> = None;

            fn octets(&self) -> Vec<u8> {
                self.bytes().to_vec()
            }

            fn of($octets: &[u8]) -> Self {
                $of
            }
        }
    )*};
}

last_part! {
    Vec<u8>: octets => octets.to_vec();
    String: octets => String::from_utf8(octets.to_vec()).expect("lathwork: octets of a key");
}

// SAFETY: all first parts have as many bytes.
unsafe impl<A: AsOctets, B: AsOctets> AsOctets for (A, B) {
    type Octets = Vec<u8>;
    const SIZE: Option<usize> = match (A::SIZE, B::SIZE) {
        (Some(first), Some(second)) => Some(first + second),
        (Some(_), None) => None,
        (None, _) => panic!("the first part of a key has no fixed size"),
    };

    fn octets(&self) -> Vec<u8> {
        let _ = Self::SIZE;
        let mut octets = self.0.octets().as_ref().to_vec();
        octets.extend_from_slice(self.1.octets().as_ref());
        octets
    }

    fn of(octets: &[u8]) -> Self {
        let _ = Self::SIZE;
        let (first, second) = octets.split_at(A::SIZE.unwrap_or(0));
        (A::of(first), B::of(second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_order<T: AsOctets + PartialEq + fmt::Debug>(values: impl IntoIterator<Item = T>) {
        let all: Vec<_> = values.into_iter().map(|v| (v.octets(), v)).collect();
        for (octets, value) in &all {
            assert_eq!(T::of(octets.as_ref()), *value);
        }
        assert!(all.windows(2).all(|w| w[0].0.as_ref() < w[1].0.as_ref()));
    }

    #[test]
    fn octets_are_in_order() {
        in_order([0, 1, 256, u128::MAX]);
        in_order([i64::MIN, -1, 0, 1, i64::MAX]);
        in_order([Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(1), Duration::MAX]);
        in_order([(-5i8, 9u16), (-5, 300), (4, 0)]);
        let name = String::from;
        in_order([(1u64, name("")), (1, name("b")), (256, name("a"))]);
        in_order([((1u8, 2u8), name("x")), ((2, 0), name(""))]);
    }
}
