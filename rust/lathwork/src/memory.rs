// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Where the memory of a container comes from.
use alloc::alloc::{alloc, dealloc};
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::fmt;
use core::ptr::{self, NonNull};

use lathwork_sys as sys;

use crate::section::this_thread;

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

impl std::error::Error for NoMemory {}

/// How a container is made: `try_with()` of each container takes it.
///
/// ```
/// use std::alloc::System;
/// use lathwork::{Options, PointMap};
///
/// let map = PointMap::try_with(Options::new().memory(&System)).unwrap();
/// map.insert(30u32, "thirty").unwrap();
/// assert_eq!(map.rank(31), 1);
/// ```
#[derive(Clone, Copy, Default)]
pub struct Options {
    pub(crate) memory: Memory,
    pub(crate) flags: sys::c_uint,
    pub(crate) exact: bool,
    /// Only of a container whose values are `Copy`.
    pub(crate) copied: bool,
}

impl Options {
    /// The defaults: memory of the program's global allocator for values, pages of the system for
    /// nodes.
    pub fn new() -> Self {
        Options::default()
    }

    /// Takes all memory of the container from `allocator`: nodes, values, and the container's own.
    /// The library calls it from any thread, never while it holds a lock. It may call containers, but
    /// not drop one. What a container retired comes back when no thread has a [`Ref`](crate::Ref)
    /// of that time, the last of it soon after the container's drop.
    pub fn memory(self, allocator: Allocator) -> Self {
        let memory = Memory(Some(allocator));
        Options { memory, ..self }
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
        Options { exact: true, ..self }
    }

    fn flag(self, flag: sys::c_uint) -> Self {
        let flags = self.flags | flag;
        Options { flags, ..self }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("memory", &self.memory.0.map(|allocator| allocator as *const _))
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

    /// Whether a block of one may be freed by the other. What begins with an allocator may be one
    /// too, at the same address: both pointers have to be equal, that to the methods as well.
    pub(crate) fn is(&self, other: &Memory) -> bool {
        match (self.0, other.0) {
            (Some(one), Some(other)) => ptr::eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
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

/// Blocks for a call of the library that is made while a lock of the crate's is held: the program's
/// allocator, which may call the container, is called in front of the lock and behind it.
pub(crate) struct Reserve {
    memory: Memory,
    blocks: [(*mut u8, usize); 8], // size 0: none
    /// What the last call lacked; 0: nothing.
    lacks: usize,
}

impl Reserve {
    /// Makes a change that takes a lock and calls the library `within` it. One that has failed
    /// since it lacked a block has changed nothing, and is made again with one more.
    pub(crate) fn change<T, E>(
        memory: Memory, mut change: impl FnMut(&mut Reserve) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut reserve = Reserve { memory, blocks: [(ptr::null_mut(), 0); 8], lacks: 0 };
        loop {
            let done = change(&mut reserve);
            let lacks = core::mem::replace(&mut reserve.lacks, 0);
            if done.is_ok() || lacks == 0 {
                return done;
            }
            match Layout::from_size_align(lacks, ALIGN).map(|layout| memory.alloc(layout)) {
                Ok(Ok(block)) if reserve.give(block.as_ptr(), lacks) => {}
                Ok(Ok(block)) => {
                    // SAFETY: just allocated.
                    unsafe { reserve.free(block.as_ptr(), lacks) };
                    return done;
                }
                _ => return done,
            }
        }
    }

    /// Makes a call that may ask for blocks.
    pub(crate) fn within<R>(&mut self, call: impl FnOnce() -> R) -> R {
        this_thread().reserve.set((self as *mut Reserve).cast());
        let done = call();
        this_thread().reserve.set(ptr::null_mut());
        done
    }

    fn take(&mut self, size: usize) -> *mut u8 {
        match self.blocks.iter_mut().find(|block| block.1 == size) {
            Some(block) => core::mem::replace(block, (ptr::null_mut(), 0)).0,
            None => {
                self.lacks = size;
                ptr::null_mut()
            }
        }
    }

    /// Keeps a block, if there is a place for it.
    fn give(&mut self, block: *mut u8, size: usize) -> bool {
        let free = self.blocks.iter_mut().find(|block| block.1 == 0);
        free.map(|place| *place = (block, size)).is_some()
    }

    unsafe fn free(&self, block: *mut u8, size: usize) {
        let layout = Layout::from_size_align_unchecked(size, ALIGN);
        self.memory.free(block, layout);
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        for (block, size) in self.blocks {
            if size > 0 {
                // SAFETY: nobody has taken it.
                unsafe { self.free(block, size) };
            }
        }
    }
}

/// That of the call that this thread makes under a lock.
unsafe fn reserve<'a>() -> Option<&'a mut Reserve> {
    this_thread().reserve.get().cast::<Reserve>().as_mut()
}

unsafe extern "C" fn alloc_block(ctx: *mut c_void, size: usize, align: usize) -> *mut c_void {
    let memory = &*ctx.cast::<Memory>();
    if let Some(reserve) = reserve() {
        return reserve.take(size).cast();
    }
    match Layout::from_size_align(size, ALIGN) {
        Ok(layout) if align <= ALIGN && size > 0 => {
            memory.alloc(layout).map_or(ptr::null_mut(), |block| block.as_ptr().cast())
        }
        _ => ptr::null_mut(),
    }
}

unsafe extern "C" fn free_block(ctx: *mut c_void, block: *mut c_void, size: usize) {
    let memory = &*ctx.cast::<Memory>();
    if !block.is_null() && !reserve().map_or(false, |reserve| reserve.give(block.cast(), size)) {
        memory.free(block.cast(), Layout::from_size_align_unchecked(size, ALIGN));
    }
}
