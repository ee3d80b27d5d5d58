// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Why a change was refused.
use core::fmt;
use core::ops::RangeInclusive;

use crate::memory::NoMemory;
use crate::Key;

/// Why a change was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason<K = u64> {
    /// It overlaps this range, which is there already.
    Overlaps(RangeInclusive<K>),
    /// The key, of bytes, is there already.
    Exists,
    /// There is no such entry, or it has changed since.
    Absent,
    /// The range is empty.
    Empty,
    /// The range has 2^64 keys, and an index holds ranges of at most 2^64 - 1; or the key, of
    /// bytes, is longer than 2^30.
    TooLong,
    /// There is no memory.
    NoMemory,
    /// The C library has reported this `errno`, which its headers do not name for the call.
    Other(i32),
}

impl<K> Reason<K> {
    /// The same with other keys.
    fn map<L>(self, of: impl Fn(&K) -> L) -> Reason<L> {
        match self {
            Reason::Overlaps(there) => Reason::Overlaps(of(there.start())..=of(there.end())),
            Reason::Exists => Reason::Exists,
            Reason::Absent => Reason::Absent,
            Reason::Empty => Reason::Empty,
            Reason::TooLong => Reason::TooLong,
            Reason::NoMemory => Reason::NoMemory,
            Reason::Other(errno) => Reason::Other(errno),
        }
    }
}

impl Reason {
    /// The same with keys for their numbers.
    pub(crate) fn with_keys<K: Key>(self) -> Reason<K> {
        self.map(|&word| K::from_word(word))
    }
}

#[cfg(feature = "serde")]
impl<K: Key> Reason<K> {
    /// The same with numbers for keys, which can be printed.
    pub(crate) fn plain(self) -> Reason {
        self.map(|key| key.into_word())
    }
}

impl<K: fmt::Debug> fmt::Display for Reason<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Overlaps(range) => {
                write!(f, "it overlaps {:?}..={:?}", range.start(), range.end())
            }
            Reason::Exists => write!(f, "the key is there already"),
            Reason::Absent => write!(f, "there is no such entry"),
            Reason::Empty => write!(f, "the range is empty"),
            Reason::TooLong => write!(f, "the range has 2^64 keys, or the key is too long"),
            Reason::NoMemory => write!(f, "there is no memory"),
            Reason::Other(errno) => write!(f, "the library has reported errno {errno}"),
        }
    }
}

impl<K: fmt::Debug> std::error::Error for Reason<K> {}

impl<K> From<NoMemory> for Reason<K> {
    fn from(_: NoMemory) -> Self {
        Reason::NoMemory
    }
}

/// A refused insert or replacement: the reason, and the value back.
#[derive(Clone, PartialEq, Eq)]
pub struct InsertError<V, K = u64> {
    /// Why.
    pub reason: Reason<K>,
    /// What was to be inserted.
    pub value: V,
}

impl<V> InsertError<V> {
    pub(crate) fn with_keys<K: Key>(self) -> InsertError<V, K> {
        InsertError { reason: self.reason.with_keys(), value: self.value }
    }
}

/// A refused insert: the reason, and key and value back.
#[derive(Clone, PartialEq, Eq)]
pub struct BytesError<K, V> {
    /// Why.
    pub reason: Reason,
    /// What was to be inserted, and its value.
    pub key: K,
    /// The value.
    pub value: V,
}

/// What was refused is not printed: it need not be printable.
macro_rules! refused {
    ($($name:ident<$one:ident, $other:ident> [$($of:tt)*];)*) => {$(
        impl<$($of)*> fmt::Debug for $name<$one, $other> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut text = f.debug_struct(stringify!($name));
                text.field("reason", &self.reason).finish_non_exhaustive()
            }
        }

        impl<$($of)*> fmt::Display for $name<$one, $other> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.reason.fmt(f)
            }
        }

        impl<$($of)*> std::error::Error for $name<$one, $other> {}

        impl<$($of)*> From<$name<$one, $other>> for std::io::Error {
            fn from(refused: $name<$one, $other>) -> Self {
                use std::io::{Error, ErrorKind};
                use std::string::ToString;
                let text = refused.to_string();
                match refused.reason {
                    Reason::NoMemory => ErrorKind::OutOfMemory.into(),
                    Reason::Other(errno) => Error::from_raw_os_error(errno),
                    Reason::Overlaps(_) | Reason::Exists => Error::new(ErrorKind::AlreadyExists, text),
                    Reason::Absent => Error::new(ErrorKind::NotFound, text),
                    Reason::Empty | Reason::TooLong => Error::new(ErrorKind::InvalidInput, text),
                }
            }
        }
    )*};
}

refused! {
    InsertError<V, K> [V, K: fmt::Debug];
    BytesError<K, V> [K, V];
}

/// Why a call of a [`RangeAllocator`](crate::RangeAllocator) was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocError {
    /// No hole fits.
    NoSpace,
    /// A part of the range is taken.
    Taken,
    /// The arguments are invalid: an empty range, a size or a boundary that is not a multiple of the
    /// unit, an alignment that is not a power of two, a range outside the allocator; of a free, a part
    /// that is not allocated.
    Invalid,
    /// There is no memory.
    NoMemory,
    /// The C library has reported this `errno`, which its headers do not name for the call.
    Other(i32),
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocError::NoSpace => f.write_str("no hole fits"),
            AllocError::Taken => f.write_str("a part of the range is taken"),
            AllocError::Invalid => f.write_str("an argument is invalid"),
            AllocError::NoMemory => f.write_str("there is no memory"),
            AllocError::Other(errno) => write!(f, "the library has reported errno {errno}"),
        }
    }
}

impl std::error::Error for AllocError {}
