// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Numbers and structs of the headers, those of the store too. lib.rs makes Rust's of them, tests/layout.rs compares with C.
numbers! {
    c_int: ENOENT = 2, E2BIG = 7, EAGAIN = 11, ENOMEM = 12, EBUSY = 16, EEXIST = 17, EINVAL = 22,
        ENOSPC = 28, EROFS = 30, ERANGE = 34, EDEADLK = 35, EOPNOTSUPP = 95;
    c_int: LATH_RANGES = 0, LATH_POINTS = 1, LATH_CLOSED = 1;
    c_uint: LATH_HUGE_PAGES = 1 << 0, LATH_SMALL_PAGES = 1 << 3, LATH_RANKS = 1 << 6;
    c_int: LATH_HOLE_FIRST = 0, LATH_HOLE_LAST = 1, LATH_HOLE_BEST = 2, LATH_HOLE_NEXT = 3,
        LATH_HOLE_NEAR = 4, LATH_HOLE_EXACT = 5;
    c_int: LATH_SHARED_RANGE = 0, LATH_EXCLUSIVE_RANGE = 1;
    c_uint: LATH_RANGE_DEADLOCKS = 1 << 0, LATH_SPACE_NO_ARENAS = 1 << 0;
    c_uint: LATH_BYTES_BACK = 1 << 0, LATH_BYTES_BEHIND = 1 << 1;
    usize: LATH_INDEX_WORDS = 64, LATH_BYTES_WORDS = LATH_INDEX_WORDS * 7 / 4,
        LATH_INTERVALS_WORDS = 128 + LATH_INDEX_WORDS / 2;
    c_int: LATH_STORE_NUMBERS = 0, LATH_STORE_BYTES = 1;
    c_int: LATH_PAGES_HUGE = 0, LATH_PAGES_HUGETLB = 1, LATH_PAGES_SMALL = 2;
    c_uint: LATH_STORE_EVICT = 1 << 0, LATH_STORE_VERSIONS = 1 << 1,
        LATH_STORE_READ_ONLY = 1 << 2, LATH_STORE_EXISTING = 1 << 3, LATH_STORE_FOREIGN = 1 << 4;
    c_int: LATH_STORE_KEEP = 0, LATH_STORE_PUT = 1, LATH_STORE_REMOVE = 2;
}

opaque! {
    lath_index LATH_INDEX_WORDS;
    lath_intervals LATH_INTERVALS_WORDS;
    lath_bytes LATH_BYTES_WORDS;
    lath_range_locks 40;
}

structs! {
    lath_item { key: u64, size: u64, value: u64 }
    lath_interval { first: u64, end: u64, value: u64 }
    lath_interval_iter {
        set: *mut lath_intervals, first_low: u64, first_high: u64, last_low: u64, last_high: u64,
        from: u64, order: u64, place: u32, at: u32, copied: u32, ahead: [lath_interval; 16]
    }
    lath_bytes_key { data: *const c_void, size: u64, tag: u64 }
    lath_bytes_records { key_of: lath_bytes_key_fn, ctx: *mut c_void, flags: c_uint }
    lath_range_config {
        size: usize, flags: c_uint, usual: u64, buckets: c_uint, allocator: *const lath_allocator,
        look: Option<unsafe extern "C" fn(arg: *mut c_void) -> u64>, look_arg: *mut c_void
    }
    lath_range_hold { first: u64, last: u64, owner: u64, opaque: [u64; 17] }
    lath_rcu_head { next: *mut lath_rcu_head, func: lath_rcu_fn }
    lath_rcu {
        name: *const c_char, read_lock: lath_void_fn, read_unlock: lath_void_fn,
        call: Option<unsafe extern "C" fn(*mut lath_rcu_head, lath_rcu_fn)>,
        synchronize: lath_void_fn, drain: lath_void_fn, register_thread: lath_void_fn,
        unregister_thread: lath_void_fn
    }
    lath_allocator {
        alloc: Option<
            unsafe extern "C" fn(ctx: *mut c_void, size: usize, align: usize) -> *mut c_void
        >,
        free: Option<unsafe extern "C" fn(ctx: *mut c_void, block: *mut c_void, size: usize)>,
        ctx: *mut c_void
    }
    lath_config {
        size: usize, layout: c_int, flags: c_uint, rcu: *const lath_rcu,
        allocator: *const lath_allocator, id: u64, value_size: usize
    }
    lath_space_config {
        size: usize, low: u64, high: u64, unit: u64, below: u64, flags: c_uint,
        rcu: *const lath_rcu, allocator: *const lath_allocator
    }
    lath_hole_request {
        size: u64, align: u64, low: u64, high: u64, below: u64, hint: u64, policy: c_int
    }
    lath_space_stats {
        allocated: u64, free: u64, cached: u64, arena_free: u64, arenas: u64, ranges: u64,
        segments: u64, bytes: u64, bad_frees: u64
    }
    lath_store_key { data: *const c_void, n: u64 }
    lath_store_options {
        size: usize, keys: c_int, pages: c_int, flags: c_uint, limit: u64, reserve: u64,
        prefault: u64, numa: *const c_char, rcu: *const lath_rcu, why: *mut c_char,
        why_size: usize
    }
    lath_store_ref {
        data: *const c_void, size: u64, version: u64, expires: u64, small: [u8; 16]
    }
    lath_store_entry { key: lath_store_key, value: *const c_void, size: u64, expires: u64 }
    lath_store_change {
        action: c_int, value: *const c_void, size: u64, tail: *const c_void, tail_size: u64,
        expires: u64
    }
    lath_store_range {
        from: *const lath_store_key, to: *const lath_store_key, prefix: *const lath_store_key,
        backward: c_int
    }
    lath_store_stats {
        items: u64, committed: u64, index_bytes: u64, record_bytes: u64, pending_bytes: u64,
        free_bytes: u64, lost_bytes: u64, resident: u64, huge: u64, layers: u64, evicted: u64,
        expired: u64, fragmentation_permille: u64
    }
}
