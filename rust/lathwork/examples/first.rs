// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The first program of doc/rust.md.
use lathwork::{RangeAllocator, RangeMap};

fn main() {
    let map = RangeMap::new();
    std::thread::scope(|s| {
        s.spawn(|| map.insert(0x1000..0x3000, "file").unwrap());
        s.spawn(|| map.insert(0x5000..0x6000, "heap").unwrap());
    });
    println!("{}", map.get(0x2000).unwrap());
    map.remove(0x1800..0x2000).unwrap(); // these keys, whatever ranges have them
    let dma = RangeAllocator::new(4096..1 << 32, 4096).unwrap();
    println!("{:x}", dma.alloc(2 << 20, 2 << 20).unwrap());
}
