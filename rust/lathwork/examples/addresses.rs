// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! An allocator of addresses for devices: first fit, last fit, a fixed place, and what is left.
use lathwork::{Options, Policy, RangeAllocator};

fn main() {
    let pool = RangeAllocator::try_with(0x1000..0x10_0000, 0x1000, Options::new().exact())
        .expect("a pool");
    pool.reserve(0x2_0000..0x3_0000).expect("the range of a device");
    let low = pool.alloc_by(Policy::First, .., 0x4000, 0).expect("room below");
    let high = pool.alloc_by(Policy::Last, .., 0x4000, 0x4000).expect("room above");
    let near = pool.alloc_by(Policy::Near(0x2_8000), .., 0x1000, 0).expect("room near it");
    println!("{low:#x} {high:#x} {near:#x}");
    pool.free_range(0x2_4000..0x2_8000).expect("a part of the device's range");
    for hole in pool.holes() {
        println!("free: {:#x}..={:#x}", hole.start(), hole.end());
    }
}
