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

use core::ffi::c_void;

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

pub type lath_void_fn = Option<unsafe extern "C" fn()>;
pub type lath_rcu_fn = Option<unsafe extern "C" fn(*mut lath_rcu_head)>;
pub type lath_item_fn = Option<unsafe extern "C" fn(*mut c_void, *const lath_item)>;
pub type lath_bytes_fn = Option<unsafe extern "C" fn(*mut c_void, u64)>;
pub type lath_interval_fn = Option<unsafe extern "C" fn(*mut c_void, *const lath_interval)>;
pub type lath_bytes_key_fn =
    Option<unsafe extern "C" fn(ctx: *mut c_void, value: u64, key: *mut lath_bytes_key)>;

pub type lath_store_update_fn = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        old: *const lath_store_ref,
        change: *mut lath_store_change,
    ) -> c_int,
>;
pub type lath_store_progress_fn =
    Option<unsafe extern "C" fn(arg: *mut c_void, items: u64, bytes: u64) -> c_int>;

// SAFETY: it is constant.
unsafe impl Sync for lath_rcu {}

/// Structures that the library allocates.
macro_rules! hidden {
    ($($name:ident)*) => {$(
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
        }
    )*};
}

hidden!(lath_space lath_store lath_store_iter);

// What the calls take: short names, so that each call is one line.
type Index = *mut lath_index;
type Item = *mut lath_item;
type Intervals = *mut lath_intervals;
type Interval = *mut lath_interval;
type Iter = *mut lath_interval_iter;
type Bytes = *mut lath_bytes;
type Locks = *mut lath_range_locks;
type Hold = *mut lath_range_hold;
type Space = *mut lath_space;
type Text = *mut c_char;
type Any = *mut c_void;
type Key = *const lath_bytes_key;
type Config = *const lath_config;
type Each = lath_item_fn;
type Store = *mut lath_store;
type StoreKey = lath_store_key;
type StoreRef = *mut lath_store_ref;
type StoreIter = *mut lath_store_iter;
type Value = *const c_void;
type Spec = *const c_char;
type Progress = lath_store_progress_fn;
type Range = *const lath_store_range;

extern "C" {
    /// In src/word.c, not a part of the library.
    pub fn lathwork_sys_word(at: *const u64) -> u64;
    pub static lath_rcu_auto: lath_rcu;
    pub fn lath_rcu_keep_open();
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

    /// `lathwork/store.h`, with the feature `store`.
    pub fn lath_store_open(
        store: *mut Store, spec: Spec, options: *const lath_store_options,
    ) -> c_int;
    pub fn lath_store_close(store: Store) -> c_int;
    pub fn lath_store_leave(store: Store) -> c_int;
    pub fn lath_store_sync(store: Store) -> c_int;
    pub fn lath_store_remove(spec: Spec, why: *mut c_char, why_size: usize) -> c_int;
    pub fn lath_store_read_begin(store: Store);
    pub fn lath_store_read_end(store: Store);
    pub fn lath_store_get_ref(store: Store, key: StoreKey, value: StoreRef) -> c_int;
    pub fn lath_store_mget(store: Store, n: usize, keys: *const StoreKey, refs: StoreRef) -> usize;
    pub fn lath_store_set(store: Store, key: StoreKey, value: Value, size: usize) -> c_int;
    pub fn lath_store_add(store: Store, key: StoreKey, value: Value, size: usize) -> c_int;
    pub fn lath_store_replace(store: Store, key: StoreKey, value: Value, size: usize) -> c_int;
    pub fn lath_store_delete(store: Store, key: StoreKey) -> c_int;
    pub fn lath_store_mset(
        store: Store, n: usize, entries: *const lath_store_entry, results: *mut c_int,
    ) -> usize;
    pub fn lath_store_cas(
        store: Store, key: StoreKey, expected: Value, expected_size: usize, value: Value,
        size: usize,
    ) -> c_int;
    pub fn lath_store_set_if(
        store: Store, key: StoreKey, version: u64, value: Value, size: usize,
    ) -> c_int;
    pub fn lath_store_incr(store: Store, key: StoreKey, by: i64, now: *mut i64) -> c_int;
    pub fn lath_store_append(store: Store, key: StoreKey, tail: Value, size: usize) -> i64;
    pub fn lath_store_expire(store: Store, key: StoreKey, expires: u64) -> c_int;
    pub fn lath_store_update(
        store: Store, key: StoreKey, f: lath_store_update_fn, arg: Any,
    ) -> c_int;
    pub fn lath_store_iter_begin(store: Store, range: Range, iter: *mut StoreIter) -> c_int;
    pub fn lath_store_iter_next(iter: StoreIter, key: *mut StoreKey, value: StoreRef) -> c_int;
    pub fn lath_store_iter_end(iter: StoreIter);
    pub fn lath_store_count(store: Store, range: Range) -> i64;
    pub fn lath_store_items(store: Store) -> i64;
    pub fn lath_store_get_stats(store: Store, stats: *mut lath_store_stats) -> c_int;
    pub fn lath_store_get_pages(store: Store, stats: *mut lath_store_stats) -> c_int;
    pub fn lath_store_sweep(store: Store) -> i64;
    pub fn lath_store_compact(store: Store) -> i64;
    pub fn lath_store_save(store: Store, path: Spec, progress: Progress, arg: Any) -> c_int;
    pub fn lath_store_load(store: Store, path: Spec, progress: Progress, arg: Any) -> c_int;
    pub fn lath_store_reason() -> Spec;
}
