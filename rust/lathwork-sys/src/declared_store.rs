// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Numbers and structs of lathwork/store.h, as declared.rs.
numbers! {
    c_int: LATH_STORE_NUMBERS = 0, LATH_STORE_BYTES = 1;
    c_int: LATH_PAGES_HUGE = 0, LATH_PAGES_HUGETLB = 1, LATH_PAGES_SMALL = 2;
    c_uint: LATH_STORE_EVICT = 1 << 0, LATH_STORE_VERSIONS = 1 << 1,
        LATH_STORE_READ_ONLY = 1 << 2, LATH_STORE_EXISTING = 1 << 3, LATH_STORE_FOREIGN = 1 << 4;
    c_int: LATH_STORE_KEEP = 0, LATH_STORE_PUT = 1, LATH_STORE_REMOVE = 2;
}

structs! {
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
