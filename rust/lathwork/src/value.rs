// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What an entry's word can hold.
use alloc::boxed::Box;
use alloc::sync::Arc;

/// A type whose values are stored in the 64-bit word of an entry: numbers, and pointers that own
/// what they point to.
///
/// # Safety
///
/// `from_word(into_word(v))` is `v`. Between the two, `target(&word)` is valid as often as wanted,
/// on each thread that may share a `Self`; as a copy of the word does as well as the word itself,
/// `Target` has no interior mutability unless it lies behind a pointer.
pub unsafe trait Value: Sized {
    /// What a [`Ref`](crate::Ref) derefs to.
    type Target: ?Sized;

    /// The value as a word.
    fn into_word(self) -> u64;

    /// The value of a word.
    ///
    /// # Safety
    ///
    /// The word comes from `into_word`, and nothing else uses it any more.
    unsafe fn from_word(word: u64) -> Self;

    /// Looks at the value of a word.
    ///
    /// # Safety
    ///
    /// The word comes from `into_word`, and its value is not taken by `from_word` while the result
    /// is used.
    unsafe fn target(word: &u64) -> &Self::Target;
}

/// The `size` bytes of a word that hold its lowest bits.
fn low_bytes(word: &u64, size: usize) -> *const u8 {
    let first = if cfg!(target_endian = "big") {
        8 - size
    } else {
        0
    };
    (word as *const u64).cast::<u8>().wrapping_add(first)
}

macro_rules! numbers {
    ($($name:ty: $into:expr, $from:expr;)*) => {$(
        // SAFETY: the low bytes of the word are the number.
        unsafe impl Value for $name {
            type Target = $name;

            fn into_word(self) -> u64 {
                let into: fn($name) -> u64 = $into;
                into(self)
            }

            unsafe fn from_word(word: u64) -> Self {
                let from: fn(u64) -> $name = $from;
                from(word)
            }

            unsafe fn target(word: &u64) -> &$name {
                &*low_bytes(word, core::mem::size_of::<$name>()).cast()
            }
        }
    )*};
}

numbers! {
    u8: |v| v.into(), |w| w as u8;
    u16: |v| v.into(), |w| w as u16;
    u32: |v| v.into(), |w| w as u32;
    u64: |v| v, |w| w;
    usize: |v| v as u64, |w| w as usize;
    i8: |v| v as u8 as u64, |w| w as i8;
    i16: |v| v as u16 as u64, |w| w as i16;
    i32: |v| v as u32 as u64, |w| w as i32;
    i64: |v| v as u64, |w| w as i64;
    isize: |v| v as u64, |w| w as isize;
    f32: |v| v.to_bits().into(), |w| f32::from_bits(w as u32);
    f64: |v| v.to_bits(), f64::from_bits;
    bool: |v| v.into(), |w| w != 0;
    char: |v| u32::from(v).into(), |w| char::from_u32(w as u32).unwrap();
}

// SAFETY: there is nothing to hold.
unsafe impl Value for () {
    type Target = ();

    fn into_word(self) -> u64 {
        0
    }

    unsafe fn from_word(_: u64) -> Self {}

    unsafe fn target(_: &u64) -> &() {
        &()
    }
}

macro_rules! pointers {
    ($($name:ty, $into:expr, $from:expr;)*) => {$(
        // SAFETY: the word is the address of a T that the pointer owns.
        unsafe impl<T> Value for $name {
            type Target = T;

            fn into_word(self) -> u64 {
                $into(self) as usize as u64
            }

            unsafe fn from_word(word: u64) -> Self {
                $from(word as usize as *mut T)
            }

            unsafe fn target(word: &u64) -> &T {
                &*(*word as usize as *const T)
            }
        }
    )*};
}

pointers! {
    Box<T>, Box::into_raw, Box::from_raw;
    Arc<T>, Arc::into_raw, Arc::from_raw;
}

// SAFETY: the word is the address of a T, which outlives the reference.
unsafe impl<T> Value for &T {
    type Target = T;

    fn into_word(self) -> u64 {
        self as *const T as usize as u64
    }

    unsafe fn from_word(word: u64) -> Self {
        &*(word as usize as *const T)
    }

    unsafe fn target(word: &u64) -> &T {
        &*(*word as usize as *const T)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same<V: Value<Target = V> + Copy + PartialEq + core::fmt::Debug>(values: &[V]) {
        for &v in values {
            let word = v.into_word();
            assert_eq!(unsafe { *V::target(&word) }, v);
            assert_eq!(unsafe { V::from_word(word) }, v);
        }
    }

    #[test]
    fn numbers_keep_their_value() {
        same(&[0u8, 7, 255]);
        same(&[0u16, 65535]);
        same(&[0u32, u32::MAX]);
        same(&[0u64, u64::MAX]);
        same(&[0usize, usize::MAX]);
        same(&[-128i8, -1, 0, 127]);
        same(&[-32768i16, -1, 32767]);
        same(&[i32::MIN, -1, i32::MAX]);
        same(&[i64::MIN, -1, i64::MAX]);
        same(&[isize::MIN, -1]);
        same(&[-1.5f32, 0.0, f32::MAX]);
        same(&[-1.5f64, 0.0, f64::MIN]);
        same(&[false, true]);
        same(&['a', '\u{10ffff}']);
        same(&[()]);
    }

    #[test]
    fn pointers_keep_what_they_point_to() {
        let text = [1u8, 2, 3];
        let word = (&text).into_word();
        assert_eq!(unsafe { <&[u8; 3]>::target(&word) }, &text);
        assert_eq!(unsafe { <&[u8; 3]>::from_word(word) }, &text);

        let word = Box::new(Box::new(7)).into_word();
        assert_eq!(**unsafe { Box::<Box<i32>>::target(&word) }, 7);
        drop(unsafe { Box::<Box<i32>>::from_word(word) });

        let one = Arc::new(7);
        let word = one.clone().into_word();
        assert_eq!(unsafe { Arc::<i32>::target(&word) }, &7);
        assert_eq!(Arc::strong_count(&one), 2);
        drop(unsafe { Arc::<i32>::from_word(word) });
        assert_eq!(Arc::strong_count(&one), 1);
    }
}
