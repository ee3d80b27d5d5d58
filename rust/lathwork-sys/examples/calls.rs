// SPDX-License-Identifier: MIT OR GPL-2.0-only
// The mapping that an address belongs to: ranges and lookups by the calls of C.
use std::mem::MaybeUninit;
use std::ptr;

use lathwork_sys::*;

fn main() {
    let mut memory = Box::new(MaybeUninit::<lath_index>::uninit()); // it must not move
    let index = memory.as_mut_ptr();
    let insert = |key, size, value| {
        let item = lath_item { key, size, value };
        let mut there = lath_item::default();
        // SAFETY: the index is initialised, and the pointers are valid.
        match unsafe { lath_index_insert_item(index, &item, &mut there) } {
            0 => Ok(()),
            error if error == -EEXIST => Err(format!("{:#x} is taken", there.key)),
            error => Err(format!("errno {}", -error)),
        }
    };
    // SAFETY: the memory has the size and the alignment of an index; no config means ranges.
    assert_eq!(unsafe { lath_index_init(index, ptr::null()) }, 0);
    insert(0x1000, 0x2000, 1).expect("the first range");
    insert(0x8000, 0x1000, 2).expect("a range behind it");
    let refused = insert(0x2800, 0x1000, 3);
    assert_eq!(refused, Err("0x1000 is taken".to_string()));

    let mut found = lath_item::default();
    // SAFETY: the index is initialised; what is found is copied.
    unsafe {
        assert_eq!(lath_index_lookup_item(index, 0x2fff, &mut found), 0);
        println!("{:#x} + {:#x}: {}", found.key, found.size, found.value);
        assert_eq!(lath_index_lookup_item(index, 0x3000, &mut found), -ENOENT);
        lath_index_fini(index, None, ptr::null_mut());
    }
}
