// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `lathwork/store.h`. With the feature `store`.
use crate::{c_char, c_int, c_uint};
use core::ffi::c_void;

pub const LATH_STORE_NUMBERS: c_int = 0;
pub const LATH_STORE_BYTES: c_int = 1;
pub const LATH_PAGES_HUGE: c_int = 0;
pub const LATH_PAGES_HUGETLB: c_int = 1;
pub const LATH_PAGES_SMALL: c_int = 2;
pub const LATH_STORE_EVICT: c_uint = 1 << 0;
pub const LATH_STORE_VERSIONS: c_uint = 1 << 1;
pub const LATH_STORE_READ_ONLY: c_uint = 1 << 2;
pub const LATH_STORE_EXISTING: c_uint = 1 << 3;
pub const LATH_STORE_FOREIGN: c_uint = 1 << 4;
pub const LATH_STORE_KEEP: c_int = 0;
pub const LATH_STORE_PUT: c_int = 1;
pub const LATH_STORE_REMOVE: c_int = 2;

#[repr(C)]
pub struct lath_store {
    opaque: [u8; 0],
}

#[repr(C)]
pub struct lath_store_iter {
    opaque: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lath_store_key {
    pub data: *const c_void,
    pub n: u64,
}

#[repr(C)]
pub struct lath_store_options {
    pub size: usize,
    pub keys: c_int,
    pub pages: c_int,
    pub flags: c_uint,
    pub limit: u64,
    pub reserve: u64,
    pub prefault: u64,
    pub numa: *const c_char,
    pub rcu: *const crate::lath_rcu,
    pub why: *mut c_char,
    pub why_size: usize,
}

#[repr(C)]
#[derive(Debug)]
pub struct lath_store_ref {
    pub data: *const c_void,
    pub size: u64,
    pub version: u64,
    pub expires: u64,
    pub small: [u8; 16],
}

#[repr(C)]
pub struct lath_store_entry {
    pub key: lath_store_key,
    pub value: *const c_void,
    pub size: u64,
    pub expires: u64,
}

#[repr(C)]
pub struct lath_store_change {
    pub action: c_int,
    pub value: *const c_void,
    pub size: u64,
    pub tail: *const c_void,
    pub tail_size: u64,
    pub expires: u64,
}

pub type lath_store_update_fn = Option<
    unsafe extern "C" fn(
        arg: *mut c_void,
        old: *const lath_store_ref,
        change: *mut lath_store_change,
    ) -> c_int,
>;

#[repr(C)]
pub struct lath_store_range {
    pub from: *const lath_store_key,
    pub to: *const lath_store_key,
    pub prefix: *const lath_store_key,
    pub backward: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct lath_store_stats {
    pub items: u64,
    pub committed: u64,
    pub index_bytes: u64,
    pub record_bytes: u64,
    pub pending_bytes: u64,
    pub free_bytes: u64,
    pub lost_bytes: u64,
    pub resident: u64,
    pub huge: u64,
    pub layers: u64,
    pub evicted: u64,
    pub expired: u64,
    pub fragmentation_permille: u64,
}

pub type lath_store_progress_fn =
    Option<unsafe extern "C" fn(arg: *mut c_void, items: u64, bytes: u64) -> c_int>;

extern "C" {
    pub fn lath_store_open(
        store: *mut *mut lath_store,
        spec: *const c_char,
        options: *const lath_store_options,
    ) -> c_int;
    pub fn lath_store_close(store: *mut lath_store) -> c_int;
    pub fn lath_store_leave(store: *mut lath_store) -> c_int;
    pub fn lath_store_sync(store: *mut lath_store) -> c_int;
    pub fn lath_store_remove(spec: *const c_char, why: *mut c_char, why_size: usize) -> c_int;
    pub fn lath_store_read_begin(store: *mut lath_store);
    pub fn lath_store_read_end(store: *mut lath_store);
    pub fn lath_store_get_ref(
        store: *mut lath_store,
        key: lath_store_key,
        value: *mut lath_store_ref,
    ) -> c_int;
    pub fn lath_store_mget(
        store: *mut lath_store,
        n: usize,
        keys: *const lath_store_key,
        refs: *mut lath_store_ref,
    ) -> usize;
    pub fn lath_store_set(
        store: *mut lath_store,
        key: lath_store_key,
        value: *const c_void,
        size: usize,
    ) -> c_int;
    pub fn lath_store_add(
        store: *mut lath_store,
        key: lath_store_key,
        value: *const c_void,
        size: usize,
    ) -> c_int;
    pub fn lath_store_replace(
        store: *mut lath_store,
        key: lath_store_key,
        value: *const c_void,
        size: usize,
    ) -> c_int;
    pub fn lath_store_delete(store: *mut lath_store, key: lath_store_key) -> c_int;
    pub fn lath_store_mset(
        store: *mut lath_store,
        n: usize,
        entries: *const lath_store_entry,
        results: *mut c_int,
    ) -> usize;
    pub fn lath_store_cas(
        store: *mut lath_store,
        key: lath_store_key,
        expected: *const c_void,
        expected_size: usize,
        value: *const c_void,
        size: usize,
    ) -> c_int;
    pub fn lath_store_set_if(
        store: *mut lath_store,
        key: lath_store_key,
        version: u64,
        value: *const c_void,
        size: usize,
    ) -> c_int;
    pub fn lath_store_incr(
        store: *mut lath_store,
        key: lath_store_key,
        by: i64,
        now: *mut i64,
    ) -> c_int;
    pub fn lath_store_append(
        store: *mut lath_store,
        key: lath_store_key,
        tail: *const c_void,
        size: usize,
    ) -> i64;
    pub fn lath_store_expire(store: *mut lath_store, key: lath_store_key, expires: u64) -> c_int;
    pub fn lath_store_update(
        store: *mut lath_store,
        key: lath_store_key,
        f: lath_store_update_fn,
        arg: *mut c_void,
    ) -> c_int;
    pub fn lath_store_iter_begin(
        store: *mut lath_store,
        range: *const lath_store_range,
        iter: *mut *mut lath_store_iter,
    ) -> c_int;
    pub fn lath_store_iter_next(
        iter: *mut lath_store_iter,
        key: *mut lath_store_key,
        value: *mut lath_store_ref,
    ) -> c_int;
    pub fn lath_store_iter_end(iter: *mut lath_store_iter);
    pub fn lath_store_count(store: *mut lath_store, range: *const lath_store_range) -> i64;
    pub fn lath_store_items(store: *mut lath_store) -> i64;
    pub fn lath_store_get_stats(store: *mut lath_store, stats: *mut lath_store_stats) -> c_int;
    pub fn lath_store_get_pages(store: *mut lath_store, stats: *mut lath_store_stats) -> c_int;
    pub fn lath_store_sweep(store: *mut lath_store) -> i64;
    pub fn lath_store_compact(store: *mut lath_store) -> i64;
    pub fn lath_store_save(
        store: *mut lath_store,
        path: *const c_char,
        progress: lath_store_progress_fn,
        arg: *mut c_void,
    ) -> c_int;
    pub fn lath_store_load(
        store: *mut lath_store,
        path: *const c_char,
        progress: lath_store_progress_fn,
        arg: *mut c_void,
    ) -> c_int;
    pub fn lath_store_reason() -> *const c_char;
}
