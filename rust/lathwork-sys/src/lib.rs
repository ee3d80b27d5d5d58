// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The calls of lathwork's C library, as its headers declare them. The crate `lathwork` has them as
//! safe types.
//!
//! The library is compiled from one C file: no system package is needed, but a C compiler that
//! knows C11 and the GNU extensions (gcc, clang). It needs Linux on a 64-bit processor, and libc.
#![no_std]
#![allow(non_camel_case_types)]

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("lathwork needs Linux on a 64-bit processor");

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;

pub type c_int = i32;
pub type c_uint = u32;
pub type c_char = u8;

/// Numbers and structs of the headers are lists, of which tests/layout.rs makes what it compares
/// with C.
macro_rules! numbers {
    ($($type:ty: $($name:ident = $number:expr),*;)*) => {$($(
        pub const $name: $type = $number;
    )*)*};
}

/// Structs whose fields can all be 0. Without fields: words that the library owns.
macro_rules! structs {
    ($($name:ident { $($field:ident: $type:ty),* })*) => {$(
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name { $(pub $field: $type),* }

        impl Default for $name {
            fn default() -> Self {
                // SAFETY: numbers, pointers and functions that may be absent.
                unsafe { core::mem::MaybeUninit::zeroed().assume_init() }
            }
        }
    )*};
}

/// Words that the library owns, on cache lines of their own.
macro_rules! opaque {
    ($($name:ident $words:expr;)*) => {$(
        #[repr(C, align(64))]
        pub struct $name([u64; $words]);

        impl Default for $name {
            fn default() -> Self {
                $name([0; $words])
            }
        }
    )*};
}

include!("declared.rs");
#[cfg(feature = "store")]
pub mod store;

pub type lath_void_fn = Option<unsafe extern "C" fn()>;
pub type lath_rcu_fn = Option<unsafe extern "C" fn(*mut lath_rcu_head)>;
pub type lath_item_fn = Option<unsafe extern "C" fn(*mut c_void, *const lath_item)>;
pub type lath_bytes_fn = Option<unsafe extern "C" fn(*mut c_void, u64)>;
pub type lath_interval_fn = Option<unsafe extern "C" fn(*mut c_void, *const lath_interval)>;
pub type lath_bytes_key_fn =
    Option<unsafe extern "C" fn(ctx: *mut c_void, value: u64, key: *mut lath_bytes_key)>;

// SAFETY: it is constant.
unsafe impl Sync for lath_rcu {}

/// What the crate lathwork keeps for each thread; in src/thread.c, not a part of the library.
#[repr(C)]
pub struct lathwork_sys_thread {
    pub sections: Cell<usize>,
    pub drops: Cell<usize>,
    pub number: Cell<usize>,
    pub ending: Cell<usize>,
    pub reserve: Cell<*mut c_void>,
}

#[repr(C)]
pub struct lath_space {
    _private: [u8; 0],
}

// What the calls take: short names, so that each call is one line.
type Index = *mut lath_index;
type Item = *mut lath_item;
type Intervals = *mut lath_intervals;
type Interval = *mut lath_interval;
type Iter = *mut lath_interval_iter;
type Bytes = *mut lath_bytes;
type Queue = *mut lath_sortq;
type Request = *mut lath_request;
type Locks = *mut lath_range_locks;
type Hold = *mut lath_range_hold;
type Space = *mut lath_space;
type Text = *mut c_char;
type Any = *mut c_void;
type Key = *const lath_bytes_key;
type Config = *const lath_config;
type Each = lath_item_fn;

extern "C" {
    pub fn lathwork_sys_thread() -> *mut lathwork_sys_thread;
    pub fn lathwork_sys_number() -> usize;
    pub fn lathwork_sys_word(at: *const u64) -> u64;
    pub fn lathwork_sys_yield(rounds: usize);
    pub fn lathwork_sys_enter();
    pub fn lathwork_sys_exit();
    /// As the inline functions of the header.
    pub fn lathwork_sys_sortq_insert(queue: Queue, request: Request) -> c_int;
    pub fn lathwork_sys_sortq_dispatch(queue: Queue) -> Request;
    pub static lath_rcu_auto: lath_rcu;
    pub static lathwork_sys_rcu: lath_rcu;
    pub static lathwork_sys_retired: AtomicUsize;
    pub fn lath_rcu_step(most: usize) -> usize;

    pub fn lath_version() -> *const c_char;

    pub fn lath_index_init(index: Index, config: Config) -> c_int;
    pub fn lath_index_clone(copy: Index, index: Index, config: Config) -> c_int;
    pub fn lath_index_fini(index: Index, each: Each, arg: Any);
    pub fn lath_index_clear(index: Index, each: Each, arg: Any) -> i64;
    pub fn lath_index_insert_item(index: Index, item: *const lath_item, conflict: Item) -> c_int;
    pub fn lath_index_erase_item(index: Index, key: u64, old: Item) -> c_int;
    pub fn lath_index_erase_item_at(index: Index, point: u64, old: Item) -> c_int;
    pub fn lath_index_erase_if(index: Index, key: u64, expected: u64, there: Item) -> c_int;
    pub fn lath_index_replace_if(
        index: Index, key: u64, expected: u64, value: u64, there: Item,
    ) -> c_int;
    pub fn lath_index_resize(index: Index, key: u64, size: u64) -> c_int;
    pub fn lath_index_split(index: Index, at: u64, value: u64) -> c_int;
    pub fn lath_index_erase_range(index: Index, key: u64, size: u64, each: Each, arg: Any) -> i64;
    pub fn lath_index_store_range(
        index: Index, item: *const lath_item, each: Each, arg: Any,
    ) -> c_int;
    pub fn lath_index_scan_back(
        index: Index, from: u64, first: u64, items: Item, max: usize, next: *mut u64,
    ) -> usize;
    pub fn lath_index_replace_item(index: Index, key: u64, value: u64, old: Item) -> c_int;
    pub fn lath_index_lookup_item(index: Index, point: u64, found: Item) -> c_int;
    pub fn lath_index_get(index: Index, point: u64, value: *mut u64) -> c_int;
    pub fn lath_index_ceiling_item(index: Index, key: u64, found: Item) -> c_int;
    pub fn lath_index_floor_item(index: Index, key: u64, found: Item) -> c_int;
    pub fn lath_index_scan(
        index: Index, from: u64, last: u64, items: Item, max: usize, next: *mut u64,
    ) -> usize;
    pub fn lath_index_scan_places(
        index: Index, from: u64, last: u64, items: Item, max: usize, next: *mut u64,
    ) -> usize;
    pub fn lath_index_rank(index: Index, key: u64) -> i64;
    pub fn lath_index_select(index: Index, rank: u64, found: Item) -> c_int;
    pub fn lath_index_count(index: Index) -> u64;
    pub fn lath_index_verify(index: Index, level: c_int, report: Text, size: usize) -> c_int;

    pub fn lath_intervals_init(set: Intervals, bounds: c_int, config: Config) -> c_int;
    pub fn lath_intervals_fini(set: Intervals, each: lath_interval_fn, arg: Any);
    pub fn lath_intervals_insert(set: Intervals, interval: *const lath_interval) -> c_int;
    pub fn lath_intervals_erase(set: Intervals, interval: *const lath_interval) -> c_int;
    pub fn lath_intervals_count_overlap(set: Intervals, first: u64, end: u64) -> u64;
    pub fn lath_intervals_nearest(set: Intervals, point: u64, found: Interval) -> c_int;
    pub fn lath_intervals_count(set: Intervals) -> u64;
    pub fn lath_interval_iter_stab(iter: Iter, set: Intervals, point: u64);
    pub fn lath_interval_iter_overlap(iter: Iter, set: Intervals, first: u64, end: u64);
    pub fn lath_interval_iter_within(iter: Iter, set: Intervals, first: u64, end: u64);
    pub fn lath_interval_iter_all(iter: Iter, set: Intervals);
    pub fn lath_interval_next(iter: Iter, interval: Interval) -> c_int;
    pub fn lath_intervals_verify(set: Intervals, report: Text, size: usize) -> c_int;

    pub fn lath_bytes_init(set: Bytes, records: *const lath_bytes_records, config: Config)
        -> c_int;
    pub fn lath_bytes_fini(set: Bytes, each: lath_bytes_fn, arg: Any);
    pub fn lath_bytes_insert(set: Bytes, value: u64, there: *mut u64) -> c_int;
    pub fn lath_bytes_replace(set: Bytes, value: u64, old: *mut u64) -> c_int;
    pub fn lath_bytes_erase(set: Bytes, key: Key, old: *mut u64) -> c_int;
    pub fn lath_bytes_erase_if(set: Bytes, expected: u64, there: *mut u64) -> c_int;
    pub fn lath_bytes_replace_if(set: Bytes, expected: u64, value: u64, there: *mut u64) -> c_int;
    pub fn lath_bytes_get(set: Bytes, key: Key, value: *mut u64) -> c_int;
    pub fn lath_bytes_scan(
        set: Bytes, from: Key, flags: c_uint, values: *mut u64, max: usize,
    ) -> usize;
    pub fn lath_bytes_count(set: Bytes) -> u64;
    pub fn lath_bytes_rank(set: Bytes, key: Key, flags: c_uint) -> i64;
    pub fn lath_bytes_select(set: Bytes, rank: u64, value: *mut u64) -> c_int;
    pub fn lath_bytes_verify(set: Bytes, report: Text, size: usize) -> c_int;

    pub fn lath_request_pool_init(
        pool: *mut lath_request_pool, first_hook: Any, stride: u64, count: u32,
    ) -> c_int;
    pub fn lath_sortq_memsize(
        config: *const lath_sortq_config, pool: *const lath_request_pool,
    ) -> usize;
    pub fn lath_sortq_init(
        queue: Queue, config: *const lath_sortq_config, pool: *mut lath_request_pool, memory: Any,
    ) -> c_int;
    pub fn lath_sortq_remove(queue: Queue, request: Request) -> c_int;
    pub fn lath_sortq_first(queue: Queue) -> Request;
    pub fn lath_sortq_first_from(queue: Queue, sector: u64) -> Request;
    pub fn lath_sortq_set_head(queue: Queue, sector: u64) -> c_int;
    pub fn lath_sortq_head(queue: *const lath_sortq) -> u64;
    pub fn lath_sortq_barrier(queue: Queue);
    pub fn lath_sortq_count(queue: *const lath_sortq) -> u32;
    pub fn lath_sortq_verify(queue: Queue) -> c_int;

    pub fn lath_range_locks_init(locks: Locks, config: *const lath_range_config) -> c_int;
    pub fn lath_range_locks_fini(locks: Locks);
    pub fn lath_range_lock_for(
        locks: Locks, hold: Hold, first: u64, last: u64, mode: c_int, nanoseconds: u64, owner: u64,
    ) -> c_int;
    pub fn lath_range_unlock(locks: Locks, hold: Hold);
    pub fn lath_range_downgrade(locks: Locks, hold: Hold);
    pub fn lath_range_resize(locks: Locks, hold: Hold, key: u64, size: u64) -> c_int;

    pub fn lath_space_create(space: *mut Space, config: *const lath_space_config) -> c_int;
    pub fn lath_space_destroy(space: Space);
    pub fn lath_space_alloc(
        space: Space, size: u64, align: u64, cookie: u64, key: *mut u64,
    ) -> c_int;
    pub fn lath_space_alloc_request(
        space: Space, want: *const lath_hole_request, cookie: u64, key: *mut u64,
    ) -> c_int;
    pub fn lath_space_reserve(space: Space, key: u64, size: u64, cookie: u64) -> c_int;
    pub fn lath_space_free(space: Space, key: u64, size: u64) -> c_int;
    pub fn lath_space_trim(space: Space);
    pub fn lath_space_next(space: Space, from: u64, run: Item) -> c_int;
    pub fn lath_space_next_free(space: Space, from: u64, run: Item) -> c_int;
    pub fn lath_space_get_stats(space: Space, stats: *mut lath_space_stats);
}
