// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Structures of the C library on the heap, with their end.
//!
//! A structure ends when the callbacks of all that it has retired have run, so after the sections of
//! the time of its drop. One of these may last for ever (a [`Ref`](crate::Ref) that was forgotten),
//! so the drop does not depend on them: the end is a callback itself. If there is nothing to wait
//! for, or no thread is in a section, the drop runs it; else the drop tries for a few milliseconds, and leaves it to the library's
//! thread.
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::{self, MaybeUninit};
use core::ptr::{self, addr_of, addr_of_mut, NonNull};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::Once;

use lathwork_sys as sys;

use crate::lock::pause;
use crate::memory::{Memory, NoMemory};
use crate::retired::{Nodes, Retired};
use crate::section::{this_thread, when_over};
use crate::value::{self, header_of, Header};

/// A structure that the C library initialises in memory of ours and that does not move.
pub(crate) trait Structure: Sized {
    /// Grace periods after which all callbacks of what it has retired have run.
    const PERIODS: u8 = 1;
    /// Ends it, when all callbacks of what it has retired have run.
    unsafe fn fini(this: *mut Self);
}

impl Structure for sys::lath_index {
    unsafe fn fini(this: *mut Self) {
        sys::lath_index_fini(this, None, ptr::null_mut());
    }
}

impl Structure for sys::lath_intervals {
    unsafe fn fini(this: *mut Self) {
        sys::lath_intervals_fini(this, None, ptr::null_mut());
    }
}

impl Structure for sys::lath_bytes {
    const PERIODS: u8 = 2; // rows that were left in one are retired in the next
    unsafe fn fini(this: *mut Self) {
        sys::lath_bytes_fini(this, None, ptr::null_mut());
    }
}

/// A space, which the C library allocates by itself.
pub(crate) struct Space(pub(crate) *mut sys::lath_space);

impl Structure for Space {
    unsafe fn fini(this: *mut Self) {
        sys::lath_space_destroy((*this).0);
    }
}

#[repr(C)]
struct Block<T> {
    end: sys::lath_rcu_head, // the first field: end() gets its address
    periods: AtomicU8,       // until the end
    /// The drop or the end has gone: the other one frees the block.
    left: AtomicBool,
    /// What `retired()` was when it was made.
    retired: usize,
    structure: T,
    memory: Memory,
    /// Nodes without values, whose memory is freed with the structure.
    dead: *mut Header,
}

/// A structure, and the values of type V that have left it.
pub(crate) struct Handle<T: Structure, V> {
    block: NonNull<Block<T>>,
    retired: Retired<V>,
    of: PhantomData<UnsafeCell<V>>, // invariant: when it is shared it takes values
}

// SAFETY: any thread may call a structure; values go to other threads with it, and are dropped there.
unsafe impl<T: Structure, V: Send> Send for Handle<T, V> {}
// SAFETY: one thread's value is read, and dropped, by others.
unsafe impl<T: Structure, V: Send + Sync> Sync for Handle<T, V> {}

impl<T: Structure, V> Handle<T, V> {
    /// `init` gets zeroed memory and an allocator, and returns 0 or a negative errno: then there is
    /// no structure, and the caller gets the errno.
    pub(crate) fn new(
        memory: Memory, init: impl FnOnce(*mut T, *const sys::lath_allocator) -> sys::c_int,
    ) -> Result<Self, sys::c_int> {
        let layout = Layout::new::<Block<T>>();
        let raw = memory.alloc(layout).map_err(|NoMemory| sys::ENOMEM)?;
        let block = raw.cast::<Block<T>>();
        // SAFETY: the memory has the layout of a block; a structure is any bits.
        let result = unsafe {
            let block = block.as_ptr();
            addr_of_mut!((*block).periods).write(AtomicU8::new(T::PERIODS));
            addr_of_mut!((*block).left).write(AtomicBool::new(false));
            addr_of_mut!((*block).retired).write(retired());
            ptr::write_bytes(addr_of_mut!((*block).structure), 0, 1);
            addr_of_mut!((*block).memory).write(memory);
            addr_of_mut!((*block).dead).write(ptr::null_mut());
            let nodes = Memory::for_nodes(addr_of!((*block).memory));
            let nodes = nodes.as_ref().map_or(ptr::null(), |nodes| nodes as *const _);
            init(addr_of_mut!((*block).structure), nodes)
        };
        if result != 0 {
            // SAFETY: allocated above.
            unsafe { memory.free(raw.as_ptr(), layout) };
            return Err(result.wrapping_neg());
        }
        Ok(Handle { block, retired: Retired::new(), of: PhantomData })
    }

    pub(crate) fn get(&self) -> *mut T {
        // SAFETY: the block lives.
        unsafe { addr_of_mut!((*self.block.as_ptr()).structure) }
    }

    pub(crate) fn memory(&self) -> Memory {
        // SAFETY: likewise; it never changes.
        unsafe { (*self.block.as_ptr()).memory }
    }

    /// An entry with this word of a node has left; its value is dropped when nobody looks at it.
    ///
    /// # Safety
    ///
    /// The word was in the structure, and has left it once.
    pub(crate) unsafe fn left(&self, word: u64) {
        if value::leave(word) {
            self.retired.push(header_of(word));
        }
    }

    /// The same for a node that no entry has any more.
    ///
    /// # Safety
    ///
    /// `value::leave()` has returned true for it.
    pub(crate) unsafe fn retire(&self, node: *mut Header) {
        self.retired.push(node);
    }

    /// For a call that is about to remove a value: drops earlier ones now and then.
    pub(crate) fn drop_some(&self) {
        self.retired.drop_some(self.memory());
    }

    /// Drops the values that were removed and that no reader can look at any more.
    pub(crate) fn reclaim(&self) {
        self.retired.drop_all(self.memory());
    }

    /// The values that have left, for an owner that ends. The memory of their nodes is freed with
    /// the structure: their callbacks may not have run.
    pub(crate) fn end(&mut self) -> Nodes<V> {
        let (values, nodes) = self.retired.end();
        // SAFETY: the block lives.
        unsafe { (*self.block.as_ptr()).dead = nodes };
        values
    }
}

unsafe extern "C" fn end<T: Structure, V>(head: *mut sys::lath_rcu_head) {
    let block = head.cast::<Block<T>>();
    if (*block).periods.fetch_sub(1, Ordering::Relaxed) > 1 {
        return when_over(head, end::<T, V>);
    }
    let memory = (*block).memory;
    this_thread().ending.set(true);
    T::fini(addr_of_mut!((*block).structure));
    this_thread().ending.set(false);
    let mut at = (*block).dead;
    while !at.is_null() {
        let next = value::next_of(at);
        value::free::<V>(at, &memory);
        at = next;
    }
    leave(block);
}

/// # Safety
///
/// Called by the end and by the drop, which do not use the block any more.
unsafe fn leave<T>(block: *mut Block<T>) {
    let memory = (*block).memory;
    if (*block).left.swap(true, Ordering::AcqRel) {
        memory.free(block.cast(), Layout::new::<Block<T>>());
    }
}

/// How often a drop tries to run the end, which takes up to two steps: less if the last one has not come
/// to it.
static PATIENCE: AtomicUsize = AtomicUsize::new(PATIENT);
const PATIENT: usize = 100;

impl<T: Structure, V> Drop for Handle<T, V> {
    fn drop(&mut self) {
        let block = self.block.as_ptr();
        // SAFETY: nobody else has the structure; the block lives until both have left.
        unsafe {
            if (*block).retired == retired() && (*block).dead.is_null() {
                // there is no callback to wait for
                *(*block).periods.get_mut() = 1;
                *(*block).left.get_mut() = true;
                return end::<T, V>(block.cast());
            }
            when_over(block.cast(), end::<T, V>);
            let (ended, mut rounds) = (&(*block).left, 0);
            let most = match this_thread().sections.get() {
                0 => PATIENCE.load(Ordering::Relaxed),
                _ => 0, // this thread is in the way
            };
            while rounds < most && !ended.load(Ordering::Acquire) {
                if sys::lath_rcu_step(usize::MAX) == 0 {
                    pause(rounds);
                }
                rounds += 1;
            }
            if most > 0 {
                let came = ended.load(Ordering::Acquire);
                PATIENCE.store(if came { PATIENT } else { 4 }, Ordering::Relaxed);
            }
            leave(block);
        }
    }
}

/// What a constructor that cannot fail does without memory.
pub(crate) fn made<T>(result: Result<T, NoMemory>) -> T {
    result.unwrap_or_else(|NoMemory| alloc::alloc::handle_alloc_error(Layout::new::<Block<u64>>()))
}

/// The errors of init and create: memory, or else a defect of this crate.
pub(crate) fn no_memory(errno: sys::c_int) -> NoMemory {
    assert!(errno == sys::ENOMEM, "lathwork: init returned errno {errno}");
    NoMemory
}

/// How often structures have retired something.
static RETIRED: AtomicUsize = AtomicUsize::new(0);

fn retired() -> usize {
    RETIRED.load(Ordering::Relaxed)
}

unsafe extern "C" fn retire(head: *mut sys::lath_rcu_head, func: sys::lath_rcu_fn) {
    RETIRED.fetch_add(1, Ordering::Relaxed);
    sys::lath_rcu_auto.call.unwrap_unchecked()(head, func);
}

/// Not in the end of a structure: all callbacks of it have run.
unsafe extern "C" fn drain() {
    if !this_thread().ending.get() {
        sys::lath_rcu_auto.drain.unwrap_unchecked()();
    }
}

/// The RCU flavour of all structures: `lath_rcu_auto`, whose ends do not wait.
pub(crate) fn rcu() -> *const sys::lath_rcu {
    static BEGUN: Once = Once::new();
    static mut RCU: MaybeUninit<sys::lath_rcu> = MaybeUninit::uninit();
    // SAFETY: it does not change once it is made.
    unsafe {
        let rcu = addr_of_mut!(RCU).cast::<sys::lath_rcu>();
        let ours =
            || sys::lath_rcu { call: Some(retire), drain: Some(drain), ..sys::lath_rcu_auto };
        BEGUN.call_once(|| rcu.write(ours()));
        rcu
    }
}

/// A configuration for an index, a set of intervals or a set of byte keys.
pub(crate) fn config(
    layout: sys::c_int, flags: sys::c_uint, allocator: *const sys::lath_allocator,
) -> sys::lath_config {
    sys::lath_config {
        size: mem::size_of::<sys::lath_config>(),
        layout,
        flags,
        rcu: rcu(),
        allocator,
        id: 0,
        value_size: 0,
    }
}
