// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What has bytes to be ordered by.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A key of a [`BytesMap`](crate::BytesMap), or what one is looked up by: strings and slices of bytes.
///
/// # Safety
///
/// `bytes` returns the same bytes as long as the key lives, also from another thread, and after the
/// key was moved. It does not panic.
pub unsafe trait Bytes {
    /// The bytes, by which keys are ordered.
    fn bytes(&self) -> &[u8];
}

macro_rules! bytes {
    ($($name:ty, $self:ident => $bytes:expr;)*) => {$(
        // SAFETY: none changes through a shared reference.
        unsafe impl Bytes for $name {
            fn bytes(&$self) -> &[u8] {
                $bytes
            }
        }
    )*};
}

bytes! {
    [u8], self => self;
    str, self => self.as_bytes();
    Vec<u8>, self => self;
    String, self => self.as_bytes();
    Box<[u8]>, self => self;
    Box<str>, self => self.as_bytes();
    Arc<[u8]>, self => self;
    Arc<str>, self => self.as_bytes();
}

// SAFETY: likewise.
unsafe impl<const N: usize> Bytes for [u8; N] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

// SAFETY: likewise.
unsafe impl<T: Bytes + ?Sized> Bytes for &T {
    fn bytes(&self) -> &[u8] {
        (**self).bytes()
    }
}
