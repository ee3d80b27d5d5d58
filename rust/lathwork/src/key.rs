// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Keys as words, and ranges of them.
use core::borrow::Borrow;
use core::num::{NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU8, NonZeroUsize};
use core::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};
use core::time::Duration;

/// What can be a key of a [`PointMap`](crate::PointMap), a [`RangeMap`](crate::RangeMap), a
/// [`RangeSet`](crate::RangeSet) or an [`IntervalMap`](crate::IntervalMap): integers of up to 64
/// bits, those that are not zero, `bool`, `char`, `Ipv4Addr`, pairs and triples that have no more
/// bits together, a `Duration` of up to 584 years (a longer one panics), and types of the program's
/// that are like these. Longer keys, of 128 bits too, belong into a [`BytesMap`](crate::BytesMap).
///
/// ```
/// use lathwork::PointMap;
///
/// let flows = PointMap::from([((7u32, 80u16), "web"), ((7, 22), "shell")]);
/// assert_eq!(flows.range((7, 0)..(8, 0)).map(|(flow, _)| flow.1).collect::<Vec<_>>(), [22, 80]);
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Block(u32);
///
/// lathwork::key!(Block(u32)); // a newtype is a key as what is in it
/// let map = lathwork::RangeMap::new();
/// map.insert(Block(8)..Block(16), "root").unwrap();
/// assert_eq!(map.get_key_value(Block(9)).unwrap().0, Block(8)..=Block(15));
/// ```
#[cfg_attr(
    lathwork_hints,
    diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a key of 64 bits",
        label = "a key is an integer, a `char`, a pair of small ones, or a newtype of these",
        note = "for a newtype of a key: `lathwork::key!(NAME(TYPE));`",
        note = "strings, paths and other bytes are keys of a `BytesMap`; those of 128 bits by `Octets`"
    )
)]
pub trait Key: Copy {
    /// The lowest key.
    const FIRST: Self;
    /// The highest key.
    const LAST: Self;
    /// Of a key that can be a part of a pair: it has 2 to the power of this many numbers, from 0 on.
    const BITS: u32 = 64;

    /// The key as a number. Numbers are in the order of their keys, without a gap from that of
    /// `FIRST` to that of `LAST`.
    fn into_word(self) -> u64;

    /// The key of such a number.
    fn from_word(word: u64) -> Self;
}

/// The number of an integer is its distance from the lowest one.
macro_rules! integers {
    ($($name:ty)*) => {$(
        impl Key for $name {
            const FIRST: $name = <$name>::MIN;
            const LAST: $name = <$name>::MAX;
            const BITS: u32 = <$name>::BITS;

            fn into_word(self) -> u64 {
                (self as i64).wrapping_sub(<$name>::MIN as i64) as u64
            }

            fn from_word(word: u64) -> $name {
                (word as i64).wrapping_add(<$name>::MIN as i64) as $name
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

/// The code points that are no characters are left out.
fn gap(place: u32) -> u32 {
    if place < 0xd800 {
        0
    } else {
        0x800
    }
}

impl Key for char {
    const FIRST: char = '\0';
    const LAST: char = char::MAX;

    fn into_word(self) -> u64 {
        let code = u32::from(self);
        (code - gap(code)).into()
    }

    fn from_word(word: u64) -> char {
        let place = word as u32;
        char::from_u32(place + gap(place)).expect("lathwork: the number of a char")
    }
}

impl Key for std::net::Ipv4Addr {
    const FIRST: Self = Self::new(0, 0, 0, 0);
    const LAST: Self = Self::new(255, 255, 255, 255);
    const BITS: u32 = 32;

    fn into_word(self) -> u64 {
        u32::from(self).into()
    }

    fn from_word(word: u64) -> Self {
        (word as u32).into()
    }
}

impl Key for bool {
    const FIRST: bool = false;
    const LAST: bool = true;
    const BITS: u32 = 1;

    fn into_word(self) -> u64 {
        self.into()
    }

    fn from_word(word: u64) -> bool {
        word != 0
    }
}

macro_rules! not_zero {
    ($($name:ident: $number:ty;)*) => {$(
        impl Key for $name {
            const FIRST: $name = match <$name>::new(1) {
                Some(one) => one,
                None => unreachable!(),
            };
            const LAST: $name = match <$name>::new(<$number>::MAX) {
                Some(last) => last,
                None => unreachable!(),
            };

            fn into_word(self) -> u64 {
                self.get() as u64
            }

            fn from_word(word: u64) -> $name {
                <$name>::new(word as $number).expect("lathwork: the number of a key")
            }
        }
    )*};
}

not_zero! {
    NonZeroU8: u8;
    NonZeroU16: u16;
    NonZeroU32: u32;
    NonZeroU64: u64;
    NonZeroUsize: usize;
}

/// Its nanoseconds.
impl Key for Duration {
    const FIRST: Duration = Duration::ZERO;
    const LAST: Duration = Duration::from_nanos(u64::MAX);

    fn into_word(self) -> u64 {
        u64::try_from(self.as_nanos()).expect("a Duration that is a key has at most 2^64 - 1 ns")
    }

    fn from_word(word: u64) -> Duration {
        Duration::from_nanos(word)
    }
}

/// In the order of tuples: the first part counts most.
macro_rules! tuple {
    ($($part:ident)*, $first:ident $($other:ident)*) => {
        impl<$($part: Key),*> Key for ($($part,)*) {
            const FIRST: Self = ($($part::FIRST,)*);
            const LAST: Self = ($($part::LAST,)*);
            const BITS: u32 = {
                let bits = 0 $(+ $part::BITS)*;
                assert!(bits <= 64, "the parts of a key have more than 64 bits");
                bits
            };

            #[allow(non_snake_case)]
            fn into_word(self) -> u64 {
                let _ = Self::BITS;
                let ($($part,)*) = self;
                let word = $first.into_word();
                $(let word = word << $other::BITS | $other.into_word();)*
                word
            }

            #[allow(non_snake_case)]
            fn from_word(word: u64) -> Self {
                let left = Self::BITS;
                $(
                    let left = left - $part::BITS;
                    let $part = $part::from_word(word >> left & (u64::MAX >> (64 - $part::BITS)));
                )*
                let _ = left;
                ($($part,)*)
            }
        }
    };
}

tuple!(A B, A B);
tuple!(A B C, A B C);

/// Makes a newtype of a key a key: `key!(NAME(TYPE));`, see [`Key`].
#[macro_export]
macro_rules! key {
    ($name:ident($of:ty)) => {
        impl $crate::Key for $name {
            const FIRST: Self = $name(<$of as $crate::Key>::FIRST);
            const LAST: Self = $name(<$of as $crate::Key>::LAST);
            const BITS: u32 = <$of as $crate::Key>::BITS;

            fn into_word(self) -> u64 {
                $crate::Key::into_word(self.0)
            }

            fn from_word(word: u64) -> Self {
                $name($crate::Key::from_word(word))
            }
        }
    };
}

/// The number of a key that a call looks for, which takes `key` and `&key`.
pub(crate) fn word<K: Key>(key: impl Borrow<K>) -> u64 {
    let key: &K = key.borrow();
    key.into_word()
}

/// Which keys an argument names: any range of `core::ops`, a reference to `a..b` or `a..=b`, a pair
/// of [`Bound`]s, or one key.
///
/// ```
/// let map = lathwork::RangeMap::from([(0..8, 'a')]);
/// map.insert(3, 'b').unwrap();
/// assert_eq!(map.overlapping(&(3..8)).count(), 2);
/// ```
pub trait KeyRange<K> {
    /// The first and the last number of the range; None if it is empty.
    #[doc(hidden)]
    fn words(&self) -> Option<(u64, u64)>;
}

impl<K: Key> KeyRange<K> for K {
    fn words(&self) -> Option<(u64, u64)> {
        Some((self.into_word(), self.into_word()))
    }
}

macro_rules! key_ranges {
    ($($name:ty)*) => {$(
        impl<K: Key> KeyRange<K> for $name {
            fn words(&self) -> Option<(u64, u64)> {
                let (from, to): (Bound<&K>, Bound<&K>) = (self.start_bound(), self.end_bound());
                between(from, to)
            }
        }
    )*};
}

key_ranges! {
    RangeFull Range<K> RangeInclusive<K> RangeFrom<K> RangeTo<K> RangeToInclusive<K>
    &Range<K> &RangeInclusive<K> (Bound<K>, Bound<K>) (Bound<&K>, Bound<&K>)
}

fn between<K: Key>(from: Bound<&K>, to: Bound<&K>) -> Option<(u64, u64)> {
    let first = match from {
        Bound::Included(key) => key.into_word(),
        Bound::Excluded(key) if key.into_word() == K::LAST.into_word() => return None,
        Bound::Excluded(key) => key.into_word() + 1,
        Bound::Unbounded => K::FIRST.into_word(),
    };
    let last = match to {
        Bound::Included(key) => key.into_word(),
        Bound::Excluded(key) if key.into_word() == K::FIRST.into_word() => return None,
        Bound::Excluded(key) => key.into_word() - 1,
        Bound::Unbounded => K::LAST.into_word(),
    };
    (first <= last).then_some((first, last))
}

/// The first and the last number of a range; None if it is empty.
pub(crate) fn words<K: Key>(range: &impl KeyRange<K>) -> Option<(u64, u64)> {
    range.words()
}

/// The keys from one number to another.
pub(crate) fn keys<K: Key>(first: u64, last: u64) -> RangeInclusive<K> {
    K::from_word(first)..=K::from_word(last)
}

/// The last key of an item of the C library.
pub(crate) fn last_of(item: &lathwork_sys::lath_item) -> u64 {
    item.key.wrapping_add(item.size).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_order<K: Key + PartialEq + core::fmt::Debug>(keys: &[K]) {
        let mut before = None;
        for &key in keys {
            assert!(before < Some(key.into_word()));
            assert_eq!(K::from_word(key.into_word()), key);
            before = Some(key.into_word());
        }
        assert_eq!(words::<K>(&(..)), Some((K::FIRST.into_word(), K::LAST.into_word())));
    }

    #[test]
    fn numbers_of_keys_are_in_order() {
        in_order(&[0u8, 1, 255]);
        in_order(&[0u16, 7, u16::MAX]);
        in_order(&[0u64, 1, u64::MAX]);
        in_order(&[0usize, 7, usize::MAX]);
        in_order(&[i8::MIN, -1, 0, i8::MAX]);
        in_order(&[i32::MIN, -1, 0, i32::MAX]);
        in_order(&[i64::MIN, -1, 0, i64::MAX]);
        in_order(&[false, true]);
        in_order(&[NonZeroU64::FIRST, NonZeroU64::new(5).unwrap()]);
        in_order(&[Duration::ZERO, Duration::from_nanos(u64::MAX)]);
        in_order(&[(0u32, 0u32), (0, u32::MAX), (1, 0), (u32::MAX, u32::MAX)]);
        in_order(&[(-1i8, true, -5i16), (0, false, -7), (0, false, 7), (0, true, -9)]);
        in_order(&[((1u8, 2u8), 3u32), ((1, 3), 0)]);
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct Gfn(u32);
        crate::key!(Gfn(u32));
        in_order(&[(1u16, Gfn(9)), (2, Gfn(0))]);
        in_order(&[[127, 0, 0, 1], [192, 168, 0, 1]].map(std::net::Ipv4Addr::from));
        in_order(&['\0', 'a', '\u{d7ff}', '\u{e000}', char::MAX]);
        assert_eq!('\u{e000}'.into_word(), '\u{d7ff}'.into_word() + 1);
    }

    #[test]
    fn bounds() {
        assert_eq!(words(&(3u8..7)), Some((3, 6)));
        assert_eq!(words(&(3u8..=7)), Some((3, 7)));
        assert_eq!(words(&(3u8..)), Some((3, 255)));
        assert_eq!(words::<u8>(&(..)), Some((0, 255)));
        assert_eq!(words(&(..3u8)), Some((0, 2)));
        assert_eq!(words(&(..0u8)), None);
        assert_eq!(words(&(5u8..5)), None);
        assert_eq!(words(&(Bound::Excluded(5u8), Bound::Included(6))), Some((6, 6)));
        assert_eq!(words(&(Bound::Excluded(255u8), Bound::Unbounded)), None);
        let mut used_up = 5u8..=5;
        used_up.next();
        assert_eq!(words(&used_up), None);
    }
}
