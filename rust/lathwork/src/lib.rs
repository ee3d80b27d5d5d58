// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Ordered containers that several threads use at the same time without a lock around them.
//!
//! | type | what it holds |
//! |---|---|
//! | [`PointMap<K, V>`] | keys with a value each, and their ranks |
//! | [`BytesMap<K, V>`] | the same for strings and other keys of bytes |
//! | [`RangeMap<K, V>`] | disjoint ranges of keys with a value each: whose range is this key in? |
//! | [`RangeSet<K>`] | keys as disjoint ranges, with unions and intersections |
//! | [`IntervalMap<K, V>`] | intervals that may overlap: which of them cover this key? |
//! | [`RangeAllocator`] | free ranges of addresses: allocate, reserve, free |
//! | [`RangeLocks<K>`] | ranges of keys that threads hold for a while, alone or shared |
//! | `Store<K>` | with the feature `store`: values of bytes by numbers or bytes, in memory, files, or shared |
//!
//! ```
//! let map = lathwork::RangeMap::new();
//! map.insert(10..30, String::from("file")).unwrap();
//! map.insert(20..25, String::from("patch")).unwrap(); // over what is there
//! assert_eq!(*map.get(22).unwrap(), "patch");
//! assert_eq!(map.get_key_value(29).unwrap().0, 25..=29);
//! assert!(map.try_insert(0..15, String::from("other")).is_err()); // overlaps: refused
//! map.remove(..22).unwrap(); // these keys, whatever ranges have them
//! assert_eq!(map.len(), 2);
//! ```
//!
//! Reads take no lock, and a write locks the one small node that it changes (a `RangeMap`'s page
//! says which calls do more). All calls but those that take `&mut self` may run concurrently.
//!
//! # Keys and ranges
//!
//! [`Key`] says what a key can be: integers, `char`, `Ipv4Addr`, types of the program's. Every
//! range argument is a [`KeyRange`]: `a..b`, `a..=b`, `a..`, `..`, a reference to one, one key.
//! What is returned is a `RangeInclusive`, which can end at the last key. Without a suffix numbers
//! are `i32`, as everywhere in Rust: write `RangeMap::<u64, _>::new()` where nothing else says it.
//!
//! # Values
//!
//! A value has any type. Numbers, `bool`, `char` and types without bytes are in the 64-bit word of
//! an entry; `Copy` values of up to 64 bytes are in the leaves of a map that is made by
//! [`PointMap::of_copies`] or [`RangeMap::of_copies`]; any other value is in its own memory with 32 bytes before it, so a `Box` around it
//! is of no use. A read returns a [`Ref`], which derefs to the value. While a thread has a [`Ref`]
//! to a value in its own memory, what was removed since then is not dropped (an RCU read-side
//! critical section): keep it for a short time. Removed values are dropped by later removals, by
//! [`RangeMap::reclaim`], or with the map.
//!
//! The drop of a value may call any map, its own too. If it panics, the map stays valid and no
//! other value is lost: those that were to be dropped by the same call are dropped while unwinding.
//! As with a `Vec`, the program is aborted if one of these panics again.
//!
//! # Memory
//!
//! Calls that need memory return an error without it, and `try_new()` and `try_with()` make a map
//! if there is some; removals need none. `new()`, `clone()`, `extend()` and `collect()` do without
//! memory what `Box::new` does. [`Options::memory`] names an allocator for all memory of a map.
//!
//! # Platforms
//!
//! Linux on 64-bit processors, with libc and a C compiler. The library reads the environment
//! variable `LATH_ISA`, see its manual.
//!
//! The feature `serde` writes and reads the maps and sets. `store` adds `Store`, a key-value store in
//! memory, in a file or shared by processes; it needs the header `xxhash.h` to be built (Debian:
//! `libxxhash-dev`).
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
extern crate std;

mod ahead;
mod algebra;
mod bytes;
mod bytes_map;
mod code;
mod common;
mod entry;
mod error;
mod handle;
mod index;
mod interval_map;
mod key;
mod lock;
mod memory;
#[cfg(miri)]
mod miri;
mod octets;
mod own;
mod point_map;
mod range_allocator;
mod range_locks;
mod range_map;
mod range_set;
mod reference;
mod retired;
mod scan;
mod section;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "store")]
mod store_error;
mod value;
#[cfg(feature = "serde")]
mod with_serde;

pub use algebra::Algebra;
pub use bytes::{Bytes, BytesRange};
pub use bytes_map::{BytesEntries, BytesEntry, BytesMap, BytesMut, IntoBytesEntries};
pub use common::Shown;
pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use error::{AllocError, BytesError, InsertError, Reason};
pub use interval_map::{IntervalMap, Intervals};
pub use key::{Key, KeyRange};
#[cfg(feature = "store")]
pub use lathwork_sys::lath_store_stats as StoreStats;
pub use memory::{Allocator, NoMemory, Options};
pub use octets::{AsOctets, Octets};
pub use point_map::{IntoPoints, PointMap, Points, PointsMut};
pub use range_allocator::{Held, Policy, RangeAllocator, Runs};
pub use range_locks::{NotLocked, RangeGuard, RangeLocks};
pub use range_map::{Gaps, IntoRanges, RangeMap, Ranges};
pub use range_set::{IntoSetRanges, RangeSet, SetRanges};
pub use reference::{Anywhere, InNode, Place, Ref};
pub use section::synchronize;
#[cfg(feature = "store")]
pub use store::{
    remove_store, Change, Pages, Store, StoreEntries, StoreKey, StoreOptions, StoreRange,
    StoreValue,
};
#[cfg(feature = "store")]
pub use store_error::StoreError;

/// What must not compile; tests/drops.rs has what is not `Send` or `Sync`.
///
/// What a map shows stays within its life:
///
/// ```compile_fail,E0505
/// let map = lathwork::PointMap::from([(1, Box::new(1))]);
/// let value = map.get(1);
/// drop(map);
/// drop(value);
/// ```
///
/// ```compile_fail,E0505
/// let map = lathwork::BytesMap::from([("key", 1)]);
/// let (key, value) = map.first_key_value().unwrap();
/// drop(map);
/// drop(key);
/// ```
///
/// What it derefs to lives no longer than it:
///
/// ```compile_fail,E0716
/// let map = lathwork::PointMap::from([(1, String::new())]);
/// let text: &str = map.get(1).unwrap().as_str();
/// println!("{text}");
/// ```
///
/// The calls that return values at once, or in place, need a map that nobody looks at:
///
/// ```compile_fail,E0502
/// let mut map = lathwork::PointMap::from([(1, String::new())]);
/// let value = map.get(1);
/// map.take(1);
/// drop(value);
/// ```
///
/// ```compile_fail,E0502
/// let mut map = lathwork::PointMap::from([(1, 5)]);
/// let value = map.get_mut(1);
/// for (_, other) in &map {
///     assert_eq!(Some(*other), value.as_deref().copied());
/// }
/// ```
///
/// A store in shared memory, which others may change, is not opened by a safe call:
///
#[cfg_attr(feature = "store", doc = "```compile_fail,E0133")]
#[cfg_attr(not(feature = "store"), doc = "```ignore")]
/// let store = lathwork::Store::<u64>::open_shared("shm:name");
/// ```
///
/// A value is changed through no `Ref`, and a map of long-lived references takes no short-lived one:
///
/// ```compile_fail,E0594
/// let map = lathwork::PointMap::from([(1, 5)]);
/// *map.get(1).unwrap() = 6;
/// ```
///
/// ```compile_fail,E0597
/// let map: lathwork::PointMap<u32, &'static u8> = lathwork::PointMap::new();
/// let short = 1;
/// map.insert(1, &short).unwrap();
/// ```
#[doc(hidden)]
pub struct Rejects;
