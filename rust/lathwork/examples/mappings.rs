// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What an address space keeps: mappings that are put over others, cut, and looked up by any
//! thread.
use lathwork::RangeMap;

#[derive(Debug)]
struct Mapping {
    file: String,
    writable: bool,
}

fn main() {
    let space = RangeMap::<u64, Mapping>::new();
    let map = |first, size, file: &str, writable| {
        let file = file.to_string();
        let mapping = Mapping { file, writable };
        space.insert(first..first + size, mapping).expect("memory for a mapping");
    };
    map(0x40_0000, 0x10_0000, "/bin/program", false);
    map(0x48_0000, 0x1000, "guard page", false);
    map(0x7000_0000, 0x20_0000, "stack", true);
    space.remove(0x7000_0000..0x7001_0000).expect("memory for a cut");

    let (range, fault) = space.get_key_value(0x48_0123).expect("a mapping");
    println!("{:#x} is in {:x?}: {}", 0x48_0123, range, fault.file);
    for (range, mapping) in &space {
        let mode = if mapping.writable { "rw" } else { "r-" };
        println!("{:012x}-{:012x} {} {}", range.start(), range.end(), mode, mapping.file);
    }
    let free = space.gaps(0x40_0000..).next().expect("a gap");
    println!("the first gap begins at {:#x}", free.start());
}
