// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Keys as words, and ranges of them.
use core::ops::{Bound, RangeBounds, RangeInclusive};

/// What can be a key of a [`PointMap`](crate::PointMap), a [`RangeMap`](crate::RangeMap), a
/// [`RangeSet`](crate::RangeSet) or an [`IntervalMap`](crate::IntervalMap): integers of up to 64
/// bits, `char`, `Ipv4Addr`, and types of the program's that are like these. Longer keys, of 128
/// bits too, belong into a [`BytesMap`](crate::BytesMap).
///
/// ```
/// use lathwork::{Key, RangeMap};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Block(u32);
///
/// impl Key for Block {
///     const FIRST: Block = Block(0);
///     const LAST: Block = Block(u32::MAX);
///     fn into_word(self) -> u64 {
///         self.0.into()
///     }
///     fn from_word(word: u64) -> Block {
///         Block(word as u32)
///     }
/// }
///
/// let map = RangeMap::new();
/// map.insert(Block(8)..Block(16), "root").unwrap();
/// assert_eq!(map.get_range(Block(9)).unwrap().0, Block(8)..=Block(15));
/// ```
pub trait Key: Copy {
    /// The lowest key.
    const FIRST: Self;
    /// The highest key.
    const LAST: Self;

    /// The key as a number. Numbers are in the order of their keys, without a gap from that of
    /// `FIRST` to that of `LAST`.
    fn into_word(self) -> u64;

    /// The key of such a number.
    fn from_word(word: u64) -> Self;
}

macro_rules! unsigned {
    ($($name:ty)*) => {$(
        impl Key for $name {
            const FIRST: $name = <$name>::MIN;
            const LAST: $name = <$name>::MAX;

            fn into_word(self) -> u64 {
                self as u64
            }

            fn from_word(word: u64) -> $name {
                word as $name
            }
        }
    )*};
}

/// The number of a signed key is its distance from the lowest one.
macro_rules! signed {
    ($($name:ty)*) => {$(
        impl Key for $name {
            const FIRST: $name = <$name>::MIN;
            const LAST: $name = <$name>::MAX;

            fn into_word(self) -> u64 {
                (self as i64).wrapping_sub(<$name>::MIN as i64) as u64
            }

            fn from_word(word: u64) -> $name {
                (word as i64).wrapping_add(<$name>::MIN as i64) as $name
            }
        }
    )*};
}

unsigned!(u8 u16 u32 u64 usize);
signed!(i8 i16 i32 i64 isize);

/// The code points that are no characters are left out.
const SURROGATES: core::ops::Range<u32> = 0xd800..0xe000;

impl Key for char {
    const FIRST: char = '\0';
    const LAST: char = char::MAX;

    fn into_word(self) -> u64 {
        let code = u32::from(self);
        let gap = if code < SURROGATES.start {
            0
        } else {
            SURROGATES.end - SURROGATES.start
        };
        (code - gap).into()
    }

    fn from_word(word: u64) -> char {
        let place = word as u32;
        let gap = if place < SURROGATES.start {
            0
        } else {
            SURROGATES.end - SURROGATES.start
        };
        char::from_u32(place + gap).expect("lathwork: the number of a char")
    }
}

#[cfg(feature = "std")]
impl Key for std::net::Ipv4Addr {
    const FIRST: Self = Self::new(0, 0, 0, 0);
    const LAST: Self = Self::new(255, 255, 255, 255);

    fn into_word(self) -> u64 {
        u32::from(self).into()
    }

    fn from_word(word: u64) -> Self {
        (word as u32).into()
    }
}

/// The first and the last number of a range; None if it is empty.
pub(crate) fn words<K: Key>(range: &impl RangeBounds<K>) -> Option<(u64, u64)> {
    let first = match range.start_bound() {
        Bound::Included(key) => key.into_word(),
        Bound::Excluded(key) if key.into_word() == K::LAST.into_word() => return None,
        Bound::Excluded(key) => key.into_word() + 1,
        Bound::Unbounded => K::FIRST.into_word(),
    };
    let last = match range.end_bound() {
        Bound::Included(key) => key.into_word(),
        Bound::Excluded(key) if key.into_word() == K::FIRST.into_word() => return None,
        Bound::Excluded(key) => key.into_word() - 1,
        Bound::Unbounded => K::LAST.into_word(),
    };
    (first <= last).then_some((first, last))
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
        assert_eq!(
            words::<K>(&(..)),
            Some((K::FIRST.into_word(), K::LAST.into_word()))
        );
    }

    #[test]
    fn numbers_of_keys_are_in_order() {
        in_order(&[0u8, 1, 255]);
        in_order(&[0u64, 1, u64::MAX]);
        in_order(&[i8::MIN, -1, 0, i8::MAX]);
        in_order(&[i32::MIN, -1, 0, i32::MAX]);
        in_order(&[i64::MIN, -1, 0, i64::MAX]);
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
        assert_eq!(
            words(&(Bound::Excluded(5u8), Bound::Included(6))),
            Some((6, 6))
        );
        assert_eq!(words(&(Bound::Excluded(255u8), Bound::Unbounded)), None);
        let mut used_up = 5u8..=5;
        used_up.next();
        assert_eq!(words(&used_up), None);
    }
}
