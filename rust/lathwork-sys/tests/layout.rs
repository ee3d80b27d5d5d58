// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The structs have the size, the alignment and the offsets that the C compiler gives them.
use lathwork_sys::*;
use std::mem::{align_of, size_of, MaybeUninit};
use std::process::Command;

fn offset<T, F>(field: impl Fn(*const T) -> *const F) -> usize {
    let value = MaybeUninit::<T>::uninit();
    field(value.as_ptr()) as usize - value.as_ptr() as usize
}

macro_rules! shapes {
    ($text:expr; $($name:ident { $($field:ident),* })*) => {$(
        $text += &format!(
            "_Static_assert(sizeof(struct {0}) == {1}, \"size of {0}\");\n\
             _Static_assert(_Alignof(struct {0}) == {2}, \"alignment of {0}\");\n",
            stringify!($name), size_of::<$name>(), align_of::<$name>());
        $($text += &format!(
            "_Static_assert(offsetof(struct {0}, {1}) == {2}, \"{0}.{1}\");\n",
            stringify!($name), stringify!($field).trim_start_matches("r#"),
            offset(|s: *const $name| unsafe { std::ptr::addr_of!((*s).$field) }));)*
    )*};
}

macro_rules! numbers {
    ($text:expr; $($name:ident),*) => {
        $($text += &format!("_Static_assert({0} == {1}, \"{0}\");\n", stringify!($name), $name);)*
    };
}

#[test]
fn as_in_c() {
    let mut text = String::from("#include <errno.h>\n#include \"lathwork.h\"\n");
    shapes! { text;
        lath_index {}
        lath_intervals {}
        lath_bytes {}
        lath_sortq {}
        lath_request { sector, sectors, tag, r#where, time, node }
        lath_request_pool { base, stride, count }
        lath_sortq_config { size, engine, flags, simd }
        lath_bytes_key { data, size, tag }
        lath_bytes_records { key_of, ctx, flags }
        lath_allocator { alloc, free, ctx }
        lath_range_config { size, flags, usual, buckets, allocator, look, look_arg }
        lath_range_hold { first, last, owner }
        lath_range_locks {}
        lath_item { key, size, value }
        lath_interval { first, end, value }
        lath_rcu_head { next, func }
        lath_rcu {
            name, read_lock, read_unlock, call, synchronize, drain, register_thread,
            unregister_thread
        }
        lath_config { size, layout, flags, rcu, allocator, id, value_size }
        lath_space_config { size, low, high, unit, below, flags, rcu, allocator }
        lath_hole_request { size, align, low, high, below, hint, policy }
        lath_space_stats {
            allocated, free, cached, arena_free, arenas, ranges, segments, bytes, bad_frees
        }
        lath_interval_iter {
            set, first_low, first_high, last_low, last_high, from, order, place, at, copied, ahead
        }
    }
    numbers! { text;
        ENOENT, ENOMEM, EAGAIN, E2BIG, EBUSY, EEXIST, EINVAL, ENOSPC, LATH_RANGES, LATH_POINTS,
        LATH_HUGE_PAGES, LATH_NODE_EACH, LATH_HOLES, LATH_SMALL_PAGES, LATH_GAPPED, LATH_RANKS,
        LATH_HALF_OPEN, LATH_CLOSED, LATH_INDEX_WORDS, LATH_INTERVALS_WORDS, LATH_BYTES_WORDS,
        LATH_BYTES_BACK, LATH_BYTES_BEHIND, LATH_SPACE_NO_ARENAS, LATH_SPACE_NO_MAGAZINES,
        LATH_SORTQ_HYBRID, LATH_SORTQ_FIFO, LATH_SORTQ_LOWEST, LATH_SORTQ_MAX_REQUESTS,
        LATH_SORTQ_SECTOR_BITS, LATH_SIMD_BEST, LATH_HOLE_FIRST, LATH_HOLE_LAST, LATH_HOLE_BEST,
        LATH_HOLE_NEXT, LATH_HOLE_NEAR, LATH_HOLE_EXACT
    }

    #[cfg(feature = "store")]
    of_the_store(&mut text);

    let file = std::env::temp_dir().join(format!("lathwork-layout-{}.c", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let done = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=c11", "-fsyntax-only", "-I", env!("LATHWORK_INCLUDE")])
        .arg(&file)
        .output()
        .unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[cfg(feature = "store")]
fn of_the_store(text: &mut String) {
    use store::*;

    *text = format!("#define LATHWORK_STORE\n{text}");
    shapes! { *text;
        lath_store_options {
            size, keys, pages, flags, limit, reserve, prefault, numa, rcu, why, why_size
        }
        lath_store_key { data, n }
        lath_store_ref { data, size, version, expires, small }
        lath_store_entry { key, value, size, expires }
        lath_store_change { action, value, size, tail, tail_size, expires }
        lath_store_range { from, to, prefix, backward }
        lath_store_stats {
            items, committed, index_bytes, record_bytes, pending_bytes, free_bytes, lost_bytes,
            resident, huge, layers, evicted, expired, fragmentation_permille
        }
    }
    numbers! { *text;
        LATH_STORE_NUMBERS, LATH_STORE_BYTES, LATH_PAGES_HUGE, LATH_PAGES_HUGETLB,
        LATH_PAGES_SMALL, LATH_STORE_EVICT, LATH_STORE_VERSIONS, LATH_STORE_READ_ONLY,
        LATH_STORE_EXISTING, LATH_STORE_FOREIGN, LATH_STORE_KEEP, LATH_STORE_PUT,
        LATH_STORE_REMOVE, EROFS, ERANGE, EOPNOTSUPP
    }
}

#[test]
fn the_headers_version() {
    let version = unsafe { std::ffi::CStr::from_ptr(lath_version().cast()) };
    assert_eq!(version.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
}
