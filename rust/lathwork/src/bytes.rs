// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What has bytes to be ordered by.
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use core::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};

/// A key of a [`BytesMap`](crate::BytesMap), or what one is looked up by: strings, paths and slices
/// of bytes.
///
/// # Safety
///
/// `bytes` returns the same bytes as long as the key lives, also from another thread, and after the
/// key was moved. It does not panic.
#[cfg_attr(
    lathwork_hints,
    diagnostic::on_unimplemented(
        message = "`{Self}` has no bytes to be ordered by",
        label = "a key of a `BytesMap` is a string, a path or bytes",
        note = "numbers are keys of a `PointMap`; those of 128 bits, and addresses of IPv6, by `Octets`"
    )
)]
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
    Rc<[u8]>, self => self;
    Rc<str>, self => self.as_bytes();
    Cow<'_, [u8]>, self => self;
    Cow<'_, str>, self => self.as_bytes();
}

bytes! {
    std::ffi::CStr, self => self.to_bytes();
    std::ffi::CString, self => self.to_bytes();
    std::ffi::OsStr, self => std::os::unix::ffi::OsStrExt::as_bytes(self);
    std::ffi::OsString, self => self.as_os_str().bytes();
    std::path::Path, self => self.as_os_str().bytes();
    std::path::PathBuf, self => self.as_os_str().bytes();
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

/// Which keys of bytes an argument names: any range of `core::ops`, or a pair of [`Bound`]s.
pub trait BytesRange {
    /// The bytes of its ends.
    #[doc(hidden)]
    fn ends(&self) -> (Bound<&[u8]>, Bound<&[u8]>);
}

impl BytesRange for RangeFull {
    fn ends(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

fn of<Q: Bytes>(bound: Bound<&Q>) -> Bound<&[u8]> {
    match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(key.bytes()),
        Bound::Excluded(key) => Bound::Excluded(key.bytes()),
    }
}

macro_rules! bytes_ranges {
    ($($name:ty)*) => {$(
        impl<Q: Bytes> BytesRange for $name {
            fn ends(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
                let (from, to): (Bound<&Q>, Bound<&Q>) = (self.start_bound(), self.end_bound());
                (of(from), of(to))
            }
        }
    )*};
}

bytes_ranges! {
    Range<Q> RangeInclusive<Q> RangeFrom<Q> RangeTo<Q> RangeToInclusive<Q> (Bound<Q>, Bound<Q>)
}
