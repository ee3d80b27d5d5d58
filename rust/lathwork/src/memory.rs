// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Where the memory of a container comes from.
use alloc::alloc::{alloc, dealloc};
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::fmt;
use core::ptr::{self, NonNull};

use lathwork_sys as sys;

/// An allocator of the program's, for all memory of a container.
pub type Allocator = &'static (dyn GlobalAlloc + Sync);

/// There is no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no memory")
    }
}

#[cfg(feature = "std")]
impl std::error::Error for NoMemory {}

/// How a container is made: `try_with()` of each container takes it.
///
/// ```
/// use std::alloc::System;
/// use lathwork::{Options, PointMap};
///
/// let map = PointMap::try_with(Options::new().memory(&System).ranks()).unwrap();
/// map.insert(30u32, "thirty").unwrap();
/// assert_eq!(map.rank(31), 1);
/// ```
#[derive(Clone, Copy, Default)]
pub struct Options {
    pub(crate) memory: Memory,
    pub(crate) flags: sys::c_uint,
    pub(crate) exact: bool,
}

impl Options {
    /// The defaults: memory of the program's global allocator for values, pages of the system for
    /// nodes, no ranks.
    pub fn new() -> Self {
        Options::default()
    }

    /// Takes all memory of the container from `allocator`: nodes, values, and the container's own.
    /// The library calls it from any thread, never while it holds a lock.
    pub fn memory(self, allocator: Allocator) -> Self {
        let memory = Memory(Some(allocator));
        Options { memory, ..self }
    }

    /// The container counts: `rank()` and `select()` work, and `len()` is O(log n). For
    /// [`PointMap`](crate::PointMap) and [`BytesMap`](crate::BytesMap).
    pub fn ranks(self) -> Self {
        self.flag(sys::LATH_RANKS)
    }

    /// All nodes in pages of 2 MiB.
    pub fn huge_pages(self) -> Self {
        self.flag(sys::LATH_HUGE_PAGES)
    }

    /// No pages of 2 MiB, for programs that fork and then write.
    pub fn small_pages(self) -> Self {
        self.flag(sys::LATH_SMALL_PAGES)
    }

    /// Of a [`RangeAllocator`](crate::RangeAllocator): no arenas and no caches. Each policy holds
    /// exactly, and a wrong free is refused at once; calls take longer.
    pub fn exact(self) -> Self {
        Options {
            exact: true,
            ..self
        }
    }

    fn flag(self, flag: sys::c_uint) -> Self {
        let flags = self.flags | flag;
        Options { flags, ..self }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field(
                "memory",
                &self.memory.0.map(|allocator| allocator as *const _),
            )
            .field("flags", &self.flags)
            .field("exact", &self.exact)
            .finish()
    }
}

/// The program's allocator; None: the global one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory(Option<Allocator>);

impl Memory {
    /// Memory for a layout that has a size.
    pub(crate) fn alloc(&self, layout: Layout) -> Result<NonNull<u8>, NoMemory> {
        // SAFETY: the layout has a size.
        let block = unsafe {
            match self.0 {
                Some(over) => over.alloc(layout),
                None => alloc(layout),
            }
        };
        NonNull::new(block).ok_or(NoMemory)
    }

    /// # Safety
    ///
    /// `block` comes from `alloc` of the same memory and layout, and is not used any more.
    pub(crate) unsafe fn free(&self, block: *mut u8, layout: Layout) {
        match self.0 {
            Some(over) => over.dealloc(block, layout),
            None => dealloc(block, layout),
        }
    }

    /// Whether a block of one may be freed by the other.
    pub(crate) fn is(&self, other: &Memory) -> bool {
        fn address(memory: &Memory) -> *const u8 {
            memory
                .0
                .map_or(ptr::null(), |over| over as *const _ as *const u8)
        }
        // an allocator without a size shares its address with others
        let sized = |memory: &Memory| memory.0.map_or(1, core::mem::size_of_val) > 0;
        address(self) == address(other) && sized(self) && sized(other)
    }

    /// For the C library; `this` stays where it is. None: the library's own pages.
    pub(crate) fn for_nodes(this: *const Memory) -> Option<sys::lath_allocator> {
        // SAFETY: the caller has it.
        unsafe { (*this).0 }.map(|_| sys::lath_allocator {
            alloc: Some(alloc_block),
            free: Some(free_block),
            ctx: this as *mut c_void,
        })
    }
}

/// The largest alignment for which the C library asks; it asks for no other above 16.
const ALIGN: usize = 64;

unsafe extern "C" fn alloc_block(ctx: *mut c_void, size: usize, align: usize) -> *mut c_void {
    let memory = &*ctx.cast::<Memory>();
    match Layout::from_size_align(size, ALIGN) {
        Ok(layout) if align <= ALIGN && size > 0 => memory
            .alloc(layout)
            .map_or(ptr::null_mut(), |block| block.as_ptr().cast()),
        _ => ptr::null_mut(),
    }
}

unsafe extern "C" fn free_block(ctx: *mut c_void, block: *mut c_void, size: usize) {
    let memory = &*ctx.cast::<Memory>();
    if !block.is_null() {
        memory.free(block.cast(), Layout::from_size_align_unchecked(size, ALIGN));
    }
}
