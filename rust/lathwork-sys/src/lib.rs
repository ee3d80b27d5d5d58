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

#[cfg(feature = "store")]
pub mod store;

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;

pub type c_int = i32;
pub type c_uint = u32;
pub type c_char = u8;

pub const ENOENT: c_int = 2;
pub const EAGAIN: c_int = 11;
pub const E2BIG: c_int = 7;
pub const ENOMEM: c_int = 12;
pub const EBUSY: c_int = 16;
pub const EEXIST: c_int = 17;
pub const EINVAL: c_int = 22;
pub const EDEADLK: c_int = 35;
pub const ETIMEDOUT: c_int = 110;
pub const ENOSPC: c_int = 28;
pub const EROFS: c_int = 30;
pub const ERANGE: c_int = 34;
pub const EOPNOTSUPP: c_int = 95;

pub const LATH_RANGES: c_int = 0;
pub const LATH_POINTS: c_int = 1;

pub const LATH_HUGE_PAGES: c_uint = 1 << 0;
pub const LATH_NODE_EACH: c_uint = 1 << 1;
pub const LATH_HOLES: c_uint = 1 << 2;
pub const LATH_SMALL_PAGES: c_uint = 1 << 3;
pub const LATH_GAPPED: c_uint = 1 << 5;
pub const LATH_RANKS: c_uint = 1 << 6;

pub const LATH_HALF_OPEN: c_int = 0;
pub const LATH_CLOSED: c_int = 1;

/// lath_hole_request.policy
pub const LATH_HOLE_FIRST: c_int = 0;
pub const LATH_HOLE_LAST: c_int = 1;
pub const LATH_HOLE_BEST: c_int = 2;
pub const LATH_HOLE_NEXT: c_int = 3;
pub const LATH_HOLE_NEAR: c_int = 4;
pub const LATH_HOLE_EXACT: c_int = 5;

pub const LATH_SHARED_RANGE: c_int = 0;
pub const LATH_EXCLUSIVE_RANGE: c_int = 1;
pub const LATH_RANGE_DEADLOCKS: c_uint = 1 << 0;

pub const LATH_SPACE_NO_ARENAS: c_uint = 1 << 0;
pub const LATH_SPACE_NO_MAGAZINES: c_uint = 1 << 1;

pub const LATH_BYTES_BACK: c_uint = 1 << 0;
pub const LATH_BYTES_BEHIND: c_uint = 1 << 1;

pub const LATH_BYTES_WORDS: usize = LATH_INDEX_WORDS * 7 / 4;
pub const LATH_INDEX_WORDS: usize = 64;
pub const LATH_INTERVALS_WORDS: usize = 128 + LATH_INDEX_WORDS / 2;

/// What the crate lathwork keeps for each thread; in src/thread.c, not a part of the library.
#[repr(C)]
pub struct lathwork_sys_thread {
    pub sections: Cell<usize>,
    pub drops: Cell<usize>,
    pub number: Cell<usize>,
    pub ending: Cell<usize>,
    pub reserve: Cell<*mut c_void>,
}

/// Any 64-bit words that the library owns.
#[repr(C, align(64))]
pub struct lath_index {
    opaque: [u64; LATH_INDEX_WORDS],
}

#[repr(C, align(64))]
pub struct lath_intervals {
    opaque: [u64; LATH_INTERVALS_WORDS],
}

#[repr(C, align(64))]
pub struct lath_bytes {
    opaque: [u64; LATH_BYTES_WORDS],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lath_bytes_key {
    pub data: *const c_void,
    pub size: u64,
    pub tag: u64,
}

pub type lath_bytes_key_fn =
    Option<unsafe extern "C" fn(ctx: *mut c_void, value: u64, key: *mut lath_bytes_key)>;

#[repr(C)]
pub struct lath_bytes_records {
    pub key_of: lath_bytes_key_fn,
    pub ctx: *mut c_void,
    pub flags: c_uint,
}

pub const LATH_SORTQ_HYBRID: c_int = 0;
pub const LATH_SORTQ_FIFO: c_int = 6;
pub const LATH_SORTQ_LOWEST: c_uint = 1 << 0;
pub const LATH_SORTQ_MAX_REQUESTS: u32 = (1 << 20) - 1;
pub const LATH_SORTQ_SECTOR_BITS: u32 = 44;
pub const LATH_SIMD_BEST: c_int = 0;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct lath_request {
    pub sector: u64,
    pub sectors: u32,
    pub tag: u32,
    pub r#where: usize,
    pub time: u64,
    pub node: [u64; 6],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct lath_request_pool {
    pub base: *mut c_void,
    pub stride: u64,
    pub count: u32,
}

#[repr(C)]
pub struct lath_sortq_config {
    pub size: usize,
    pub engine: c_int,
    pub flags: c_uint,
    pub simd: c_int,
}

#[repr(C, align(64))]
pub struct lath_sortq {
    opaque: [u64; 160],
}

#[repr(C)]
pub struct lath_range_config {
    pub size: usize,
    pub flags: c_uint,
    pub usual: u64,
    pub buckets: c_uint,
    pub allocator: *const lath_allocator,
    pub look: Option<unsafe extern "C" fn(arg: *mut c_void) -> u64>,
    pub look_arg: *mut c_void,
}

#[repr(C, align(64))]
pub struct lath_range_locks {
    opaque: [u64; 40],
}

impl Default for lath_range_locks {
    fn default() -> Self {
        lath_range_locks { opaque: [0; 40] }
    }
}

#[repr(C)]
#[derive(Default)]
pub struct lath_range_hold {
    pub first: u64,
    pub last: u64,
    pub owner: u64,
    opaque: [u64; 17],
}

#[repr(C)]
pub struct lath_space {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct lath_item {
    pub key: u64,
    pub size: u64,
    pub value: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct lath_interval {
    pub first: u64,
    pub end: u64,
    pub value: u64,
}

#[repr(C)]
pub struct lath_rcu_head {
    pub next: *mut lath_rcu_head,
    pub func: Option<unsafe extern "C" fn(*mut lath_rcu_head)>,
}

#[repr(C)]
pub struct lath_rcu {
    pub name: *const c_char,
    pub read_lock: Option<unsafe extern "C" fn()>,
    pub read_unlock: Option<unsafe extern "C" fn()>,
    pub call: Option<
        unsafe extern "C" fn(*mut lath_rcu_head, Option<unsafe extern "C" fn(*mut lath_rcu_head)>),
    >,
    pub synchronize: Option<unsafe extern "C" fn()>,
    pub drain: Option<unsafe extern "C" fn()>,
    pub register_thread: Option<unsafe extern "C" fn()>,
    pub unregister_thread: Option<unsafe extern "C" fn()>,
}

// SAFETY: it is constant.
unsafe impl Sync for lath_rcu {}

/// Memory for nodes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lath_allocator {
    pub alloc:
        Option<unsafe extern "C" fn(ctx: *mut c_void, size: usize, align: usize) -> *mut c_void>,
    pub free: Option<unsafe extern "C" fn(ctx: *mut c_void, block: *mut c_void, size: usize)>,
    pub ctx: *mut c_void,
}

#[repr(C)]
pub struct lath_config {
    pub size: usize,
    pub layout: c_int,
    pub flags: c_uint,
    pub rcu: *const lath_rcu,
    pub allocator: *const lath_allocator,
    pub id: u64,
    pub value_size: usize,
}

#[repr(C)]
pub struct lath_space_config {
    pub size: usize,
    pub low: u64,
    pub high: u64,
    pub unit: u64,
    pub below: u64,
    pub flags: c_uint,
    pub rcu: *const lath_rcu,
    pub allocator: *const lath_allocator,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct lath_hole_request {
    pub size: u64,
    pub align: u64,
    pub low: u64,
    pub high: u64,
    pub below: u64,
    pub hint: u64,
    pub policy: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct lath_space_stats {
    pub allocated: u64,
    pub free: u64,
    pub cached: u64,
    pub arena_free: u64,
    pub arenas: u64,
    pub ranges: u64,
    pub segments: u64,
    pub bytes: u64,
    pub bad_frees: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct lath_interval_iter {
    pub set: *mut lath_intervals,
    pub first_low: u64,
    pub first_high: u64,
    pub last_low: u64,
    pub last_high: u64,
    pub from: u64,
    pub order: u64,
    pub place: u32,
    pub at: u32,
    pub copied: u32,
    pub ahead: [lath_interval; 16],
}

pub type lath_item_fn = Option<unsafe extern "C" fn(*mut c_void, *const lath_item)>;
pub type lath_bytes_fn = Option<unsafe extern "C" fn(*mut c_void, u64)>;
pub type lath_interval_fn = Option<unsafe extern "C" fn(*mut c_void, *const lath_interval)>;

extern "C" {
    pub fn lathwork_sys_thread() -> *mut lathwork_sys_thread;
    pub fn lathwork_sys_number() -> usize;
    pub fn lathwork_sys_word(at: *const u64) -> u64;
    pub fn lathwork_sys_yield(rounds: usize);
    pub fn lathwork_sys_enter();
    pub fn lathwork_sys_exit();
    /// As the inline functions of the header.
    pub fn lathwork_sys_sortq_insert(queue: *mut lath_sortq, request: *mut lath_request) -> c_int;
    pub fn lathwork_sys_sortq_dispatch(queue: *mut lath_sortq) -> *mut lath_request;
    pub static lath_rcu_auto: lath_rcu;
    pub static lathwork_sys_rcu: lath_rcu;
    pub static lathwork_sys_retired: AtomicUsize;
    pub fn lath_rcu_step(most: usize) -> usize;

    pub fn lath_version() -> *const c_char;

    pub fn lath_index_init(index: *mut lath_index, config: *const lath_config) -> c_int;
    pub fn lath_index_clone(
        copy: *mut lath_index,
        index: *mut lath_index,
        config: *const lath_config,
    ) -> c_int;
    pub fn lath_index_fini(index: *mut lath_index, each: lath_item_fn, arg: *mut c_void);
    pub fn lath_index_clear(index: *mut lath_index, each: lath_item_fn, arg: *mut c_void) -> i64;
    pub fn lath_index_insert_item(
        index: *mut lath_index,
        item: *const lath_item,
        conflict: *mut lath_item,
    ) -> c_int;
    pub fn lath_index_erase_item(index: *mut lath_index, key: u64, old: *mut lath_item) -> c_int;
    pub fn lath_index_erase_item_at(
        index: *mut lath_index,
        point: u64,
        old: *mut lath_item,
    ) -> c_int;
    pub fn lath_index_erase_if(
        index: *mut lath_index,
        key: u64,
        expected: u64,
        there: *mut lath_item,
    ) -> c_int;
    pub fn lath_index_replace_if(
        index: *mut lath_index,
        key: u64,
        expected: u64,
        value: u64,
        there: *mut lath_item,
    ) -> c_int;
    pub fn lath_index_resize(index: *mut lath_index, key: u64, size: u64) -> c_int;
    pub fn lath_index_split(index: *mut lath_index, at: u64, value: u64) -> c_int;
    pub fn lath_index_erase_range(
        index: *mut lath_index,
        key: u64,
        size: u64,
        each: lath_item_fn,
        arg: *mut c_void,
    ) -> i64;
    pub fn lath_index_store_range(
        index: *mut lath_index,
        item: *const lath_item,
        each: lath_item_fn,
        arg: *mut c_void,
    ) -> c_int;
    pub fn lath_index_scan_back(
        index: *mut lath_index,
        from: u64,
        first: u64,
        items: *mut lath_item,
        max: usize,
        next: *mut u64,
    ) -> usize;
    pub fn lath_index_replace_item(
        index: *mut lath_index,
        key: u64,
        value: u64,
        old: *mut lath_item,
    ) -> c_int;
    pub fn lath_index_lookup_item(
        index: *mut lath_index,
        point: u64,
        found: *mut lath_item,
    ) -> c_int;
    pub fn lath_index_get(index: *mut lath_index, point: u64, value: *mut u64) -> c_int;
    pub fn lath_index_overlap_item(
        index: *mut lath_index,
        key: u64,
        size: u64,
        found: *mut lath_item,
    ) -> c_int;
    pub fn lath_index_ceiling_item(
        index: *mut lath_index,
        key: u64,
        found: *mut lath_item,
    ) -> c_int;
    pub fn lath_index_floor_item(index: *mut lath_index, key: u64, found: *mut lath_item) -> c_int;
    pub fn lath_index_scan(
        index: *mut lath_index,
        from: u64,
        last: u64,
        items: *mut lath_item,
        max: usize,
        next: *mut u64,
    ) -> usize;
    pub fn lath_index_load_sorted(
        index: *mut lath_index,
        n: usize,
        items: *const lath_item,
        bad: *mut usize,
    ) -> c_int;
    pub fn lath_index_rank(index: *mut lath_index, key: u64) -> i64;
    pub fn lath_index_select(index: *mut lath_index, rank: u64, found: *mut lath_item) -> c_int;
    pub fn lath_index_count(index: *mut lath_index) -> u64;
    pub fn lath_index_verify(
        index: *mut lath_index,
        level: c_int,
        report: *mut c_char,
        report_size: usize,
    ) -> c_int;

    pub fn lath_intervals_init(
        set: *mut lath_intervals,
        bounds: c_int,
        config: *const lath_config,
    ) -> c_int;
    pub fn lath_intervals_fini(set: *mut lath_intervals, each: lath_interval_fn, arg: *mut c_void);
    pub fn lath_intervals_insert(set: *mut lath_intervals, interval: *const lath_interval)
        -> c_int;
    pub fn lath_intervals_erase(set: *mut lath_intervals, interval: *const lath_interval) -> c_int;
    pub fn lath_intervals_count_overlap(set: *mut lath_intervals, first: u64, end: u64) -> u64;
    pub fn lath_intervals_nearest(
        set: *mut lath_intervals,
        point: u64,
        found: *mut lath_interval,
    ) -> c_int;
    pub fn lath_intervals_count(set: *mut lath_intervals) -> u64;
    pub fn lath_interval_iter_stab(
        iter: *mut lath_interval_iter,
        set: *mut lath_intervals,
        point: u64,
    );
    pub fn lath_interval_iter_overlap(
        iter: *mut lath_interval_iter,
        set: *mut lath_intervals,
        first: u64,
        end: u64,
    );
    pub fn lath_interval_iter_within(
        iter: *mut lath_interval_iter,
        set: *mut lath_intervals,
        first: u64,
        end: u64,
    );
    pub fn lath_interval_iter_all(iter: *mut lath_interval_iter, set: *mut lath_intervals);
    pub fn lath_interval_next(iter: *mut lath_interval_iter, interval: *mut lath_interval)
        -> c_int;

    pub fn lath_intervals_verify(
        set: *mut lath_intervals,
        report: *mut c_char,
        report_size: usize,
    ) -> c_int;

    pub fn lath_bytes_init(
        set: *mut lath_bytes,
        records: *const lath_bytes_records,
        config: *const lath_config,
    ) -> c_int;
    pub fn lath_bytes_fini(set: *mut lath_bytes, each: lath_bytes_fn, arg: *mut c_void);
    pub fn lath_bytes_clear(set: *mut lath_bytes, each: lath_bytes_fn, arg: *mut c_void);
    pub fn lath_bytes_insert(set: *mut lath_bytes, value: u64, there: *mut u64) -> c_int;
    pub fn lath_bytes_replace(set: *mut lath_bytes, value: u64, old: *mut u64) -> c_int;
    pub fn lath_bytes_erase(
        set: *mut lath_bytes,
        key: *const lath_bytes_key,
        old: *mut u64,
    ) -> c_int;
    pub fn lath_bytes_erase_if(set: *mut lath_bytes, expected: u64, there: *mut u64) -> c_int;
    pub fn lath_bytes_replace_if(
        set: *mut lath_bytes,
        expected: u64,
        value: u64,
        there: *mut u64,
    ) -> c_int;
    pub fn lath_bytes_get(
        set: *mut lath_bytes,
        key: *const lath_bytes_key,
        value: *mut u64,
    ) -> c_int;
    pub fn lath_bytes_scan(
        set: *mut lath_bytes,
        from: *const lath_bytes_key,
        flags: c_uint,
        values: *mut u64,
        max: usize,
    ) -> usize;
    pub fn lath_bytes_count(set: *mut lath_bytes) -> u64;
    pub fn lath_bytes_rank(set: *mut lath_bytes, key: *const lath_bytes_key, flags: c_uint) -> i64;
    pub fn lath_bytes_select(set: *mut lath_bytes, rank: u64, value: *mut u64) -> c_int;
    pub fn lath_bytes_verify(
        set: *mut lath_bytes,
        report: *mut c_char,
        report_size: usize,
    ) -> c_int;

    pub fn lath_request_pool_init(
        pool: *mut lath_request_pool,
        first_hook: *mut c_void,
        stride: u64,
        count: u32,
    ) -> c_int;
    pub fn lath_sortq_memsize(
        config: *const lath_sortq_config,
        pool: *const lath_request_pool,
    ) -> usize;
    pub fn lath_sortq_init(
        queue: *mut lath_sortq,
        config: *const lath_sortq_config,
        pool: *mut lath_request_pool,
        memory: *mut c_void,
    ) -> c_int;
    pub fn lath_sortq_remove(queue: *mut lath_sortq, request: *mut lath_request) -> c_int;
    pub fn lath_sortq_first(queue: *mut lath_sortq) -> *mut lath_request;
    pub fn lath_sortq_first_from(queue: *mut lath_sortq, sector: u64) -> *mut lath_request;
    pub fn lath_sortq_set_head(queue: *mut lath_sortq, sector: u64) -> c_int;
    pub fn lath_sortq_head(queue: *const lath_sortq) -> u64;
    pub fn lath_sortq_barrier(queue: *mut lath_sortq);
    pub fn lath_sortq_count(queue: *const lath_sortq) -> u32;
    pub fn lath_sortq_verify(queue: *mut lath_sortq) -> c_int;

    pub fn lath_range_locks_init(
        locks: *mut lath_range_locks,
        config: *const lath_range_config,
    ) -> c_int;
    pub fn lath_range_locks_fini(locks: *mut lath_range_locks);
    pub fn lath_range_lock_for(
        locks: *mut lath_range_locks,
        hold: *mut lath_range_hold,
        first: u64,
        last: u64,
        mode: c_int,
        nanoseconds: u64,
        owner: u64,
    ) -> c_int;
    pub fn lath_range_unlock(locks: *mut lath_range_locks, hold: *mut lath_range_hold);
    pub fn lath_range_downgrade(locks: *mut lath_range_locks, hold: *mut lath_range_hold);
    pub fn lath_range_resize(
        locks: *mut lath_range_locks,
        hold: *mut lath_range_hold,
        key: u64,
        size: u64,
    ) -> c_int;

    pub fn lath_space_create(
        space: *mut *mut lath_space,
        config: *const lath_space_config,
    ) -> c_int;
    pub fn lath_space_destroy(space: *mut lath_space);
    pub fn lath_space_alloc(
        space: *mut lath_space,
        size: u64,
        align: u64,
        cookie: u64,
        key: *mut u64,
    ) -> c_int;
    pub fn lath_space_alloc_request(
        space: *mut lath_space,
        want: *const lath_hole_request,
        cookie: u64,
        key: *mut u64,
    ) -> c_int;
    pub fn lath_space_reserve(space: *mut lath_space, key: u64, size: u64, cookie: u64) -> c_int;
    pub fn lath_space_free(space: *mut lath_space, key: u64, size: u64) -> c_int;
    pub fn lath_space_trim(space: *mut lath_space);
    pub fn lath_space_next(space: *mut lath_space, from: u64, run: *mut lath_item) -> c_int;
    pub fn lath_space_next_free(space: *mut lath_space, from: u64, run: *mut lath_item) -> c_int;
    pub fn lath_space_get_stats(space: *mut lath_space, stats: *mut lath_space_stats);
}
