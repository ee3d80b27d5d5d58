// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Ordered containers that several threads use at the same time without a lock around them.
//!
//! | type | what it holds |
//! |---|---|
//! | [`RangeMap<V>`] | disjoint ranges of `u64` with a value each; a lookup of any key of a range finds it |
//! | [`RangeSet`] | disjoint ranges |
//! | [`PointMap<V>`] | single keys; ranks if asked for |
//! | [`IntervalMap<V>`] | intervals that may overlap: which of them cover this key? |
//! | [`RangeAllocator`] | free ranges of addresses: allocate, reserve, free |
//!
//! ```
//! let map = lathwork::RangeMap::new();
//! map.insert(10..=29, Box::new("file")).unwrap();
//! assert!(map.insert(25..=34, Box::new("other")).is_err()); // overlaps: refused
//! let (range, value) = map.get_range(15).unwrap();
//! assert_eq!((range, *value), (10..=29, "file"));
//! ```
//!
//! Reads take no lock, and a write locks the one small node that it changes. All calls but those
//! that take `&mut self` may run concurrently.
//!
//! # Values
//!
//! An entry has one word for its value. [`Value`] says what fits: numbers, `Box<T>`, `Arc<T>`,
//! references. A read returns a [`Ref`], which derefs to the number or to the `T`. While a thread
//! has a [`Ref`] to a `Box` or `Arc`, what was removed since then is not dropped (an RCU read-side
//! critical section): keep it for a short time. Removed values are dropped by later removals, by
//! [`RangeMap::reclaim`], or with the map.
//!
//! The drop of a value may call any map, its own too. If it panics, the map stays valid and no
//! other value is lost: those that were to be dropped by the same call are dropped while unwinding.
//! As with a `Vec`, the program is aborted if one of these panics again.
//!
//! # Platforms
//!
//! Linux on 64-bit processors, with libc and a C compiler. The library reads the environment
//! variable `LATH_ISA`, see its manual.
//!
//! The crate uses `core` and `alloc`. The feature `std`, on by default, adds
//! `std::error::Error` for its errors and nothing else. The C library needs libc either way.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod code;
mod handle;
mod index;
mod interval_map;
mod point_map;
mod range_allocator;
mod range_map;
mod range_set;
mod retired;
mod section;
mod value;

pub use index::{InsertError, Reason, Ref};
pub use interval_map::{IntervalMap, Intervals};
pub use point_map::{PointMap, Points};
pub use range_allocator::{AllocError, Held, RangeAllocator, Runs};
pub use range_map::{RangeMap, Ranges};
pub use range_set::{RangeSet, SetRanges};
pub use value::Value;

/// What must not compile.
///
/// A value that is not `Send` keeps its map on one thread:
///
/// ```compile_fail,E0277
/// let map = lathwork::PointMap::new();
/// map.insert(1, Box::new(std::rc::Rc::new(1))).unwrap();
/// std::thread::spawn(move || drop(map));
/// ```
///
/// One that is not `Sync` is not shared:
///
/// ```compile_fail,E0277
/// let map = lathwork::PointMap::new();
/// map.insert(1, Box::new(std::cell::Cell::new(1))).unwrap();
/// std::thread::scope(|s| s.spawn(|| map.len()));
/// ```
///
/// A [`Ref`] stays on its thread, and within the life of its map:
///
/// ```compile_fail,E0277
/// let map = lathwork::PointMap::new();
/// map.insert(1, Box::new(1)).unwrap();
/// let value = map.get(1);
/// std::thread::scope(|s| s.spawn(move || drop(value)));
/// ```
///
/// ```compile_fail,E0505
/// let map = lathwork::PointMap::new();
/// map.insert(1, Box::new(1)).unwrap();
/// let value = map.get(1);
/// drop(map);
/// drop(value);
/// ```
///
/// A map of long-lived references takes no short-lived one:
///
/// ```compile_fail,E0597
/// let map: lathwork::PointMap<&'static u8> = lathwork::PointMap::new();
/// let short = 1;
/// map.insert(1, &short).unwrap();
/// ```
#[doc(hidden)]
pub struct Rejects;
