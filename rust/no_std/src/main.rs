// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A program with `core`, `alloc` and libc alone: it would not link if lathwork used `std`, which
//! has a panic handler too. Without one a panic cannot unwind:
//!
//!     cargo rustc -p no_std -- -C panic=abort
#![no_std]
#![no_main]

extern crate alloc;

use alloc::boxed::Box;
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::panic::PanicInfo;

use lathwork::{PointMap, RangeAllocator, RangeMap};

#[link(name = "c")]
#[link(name = "gcc_s")] // what the C compiler needs; std would bring it along
extern "C" {
    fn aligned_alloc(align: usize, size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
    fn abort() -> !;
}

struct Libc;

// SAFETY: as aligned_alloc() and free(); the size is a multiple of the alignment.
unsafe impl GlobalAlloc for Libc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        aligned_alloc(layout.align(), layout.pad_to_align().size()).cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        free(block.cast());
    }
}

#[global_allocator]
static LIBC: Libc = Libc;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: it may be called at any time.
    unsafe { abort() }
}

/// core and alloc come compiled to unwind, and name this; nothing unwinds here.
#[no_mangle]
extern "C" fn rust_eh_personality() {}

#[no_mangle]
extern "C" fn main() -> i32 {
    let map = RangeMap::new();
    map.insert(0x1000..0x3000, Box::new("file")).unwrap();
    assert!(map.try_insert(0x2000..0x4000, Box::new("heap")).is_err());
    let file = map.get(0x2000).unwrap(); // a section
    drop(PointMap::<u8, u32>::new());
    assert_eq!(**file, "file");
    drop(file);

    let pool = RangeAllocator::new(4096..1 << 32, 4096).unwrap();
    assert_eq!(pool.alloc(2 << 20, 2 << 20).unwrap() % (2 << 20), 0);
    0
}
