// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `lathwork/store.h`. With the feature `store`.
use crate::{c_char, c_int, c_uint, lath_rcu};
use core::ffi::c_void;

include!("declared_store.rs");

#[repr(C)]
pub struct lath_store {
    opaque: [u8; 0],
}

#[repr(C)]
pub struct lath_store_iter {
    opaque: [u8; 0],
}

pub type lath_store_update_fn = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        old: *const lath_store_ref,
        change: *mut lath_store_change,
    ) -> c_int,
>;
pub type lath_store_progress_fn =
    Option<unsafe extern "C" fn(arg: *mut c_void, items: u64, bytes: u64) -> c_int>;

// What the calls take: short names, so that each call is one line.
type Store = *mut lath_store;
type Key = lath_store_key;
type Ref = *mut lath_store_ref;
type Iter = *mut lath_store_iter;
type Bytes = *const c_void;
type Any = *mut c_void;
type Text = *const c_char;
type Progress = lath_store_progress_fn;
type Range = *const lath_store_range;

extern "C" {
    pub fn lath_store_open(
        store: *mut Store, spec: Text, options: *const lath_store_options,
    ) -> c_int;
    pub fn lath_store_close(store: Store) -> c_int;
    pub fn lath_store_leave(store: Store) -> c_int;
    pub fn lath_store_sync(store: Store) -> c_int;
    pub fn lath_store_remove(spec: Text, why: *mut c_char, why_size: usize) -> c_int;
    pub fn lath_store_read_begin(store: Store);
    pub fn lath_store_read_end(store: Store);
    pub fn lath_store_get_ref(store: Store, key: Key, value: Ref) -> c_int;
    pub fn lath_store_mget(store: Store, n: usize, keys: *const Key, refs: Ref) -> usize;
    pub fn lath_store_set(store: Store, key: Key, value: Bytes, size: usize) -> c_int;
    pub fn lath_store_add(store: Store, key: Key, value: Bytes, size: usize) -> c_int;
    pub fn lath_store_replace(store: Store, key: Key, value: Bytes, size: usize) -> c_int;
    pub fn lath_store_delete(store: Store, key: Key) -> c_int;
    pub fn lath_store_mset(
        store: Store, n: usize, entries: *const lath_store_entry, results: *mut c_int,
    ) -> usize;
    pub fn lath_store_cas(
        store: Store, key: Key, expected: Bytes, expected_size: usize, value: Bytes, size: usize,
    ) -> c_int;
    pub fn lath_store_set_if(
        store: Store, key: Key, version: u64, value: Bytes, size: usize,
    ) -> c_int;
    pub fn lath_store_incr(store: Store, key: Key, by: i64, now: *mut i64) -> c_int;
    pub fn lath_store_append(store: Store, key: Key, tail: Bytes, size: usize) -> i64;
    pub fn lath_store_expire(store: Store, key: Key, expires: u64) -> c_int;
    pub fn lath_store_update(store: Store, key: Key, f: lath_store_update_fn, arg: Any) -> c_int;
    pub fn lath_store_iter_begin(store: Store, range: Range, iter: *mut Iter) -> c_int;
    pub fn lath_store_iter_next(iter: Iter, key: *mut Key, value: Ref) -> c_int;
    pub fn lath_store_iter_end(iter: Iter);
    pub fn lath_store_count(store: Store, range: Range) -> i64;
    pub fn lath_store_items(store: Store) -> i64;
    pub fn lath_store_get_stats(store: Store, stats: *mut lath_store_stats) -> c_int;
    pub fn lath_store_get_pages(store: Store, stats: *mut lath_store_stats) -> c_int;
    pub fn lath_store_sweep(store: Store) -> i64;
    pub fn lath_store_compact(store: Store) -> i64;
    pub fn lath_store_save(store: Store, path: Text, progress: Progress, arg: Any) -> c_int;
    pub fn lath_store_load(store: Store, path: Text, progress: Progress, arg: Any) -> c_int;
    pub fn lath_store_reason() -> Text;
}
