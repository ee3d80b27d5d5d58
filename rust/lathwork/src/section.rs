// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Read-side critical sections. The end of a container waits for none: see `handle`.
use core::cell::Cell;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr;
use std::thread_local;

use lathwork_sys as sys;

/// Has a function of the C library's kind called with `head` when all sections of now are over, and
/// after all that were handed over before.
///
/// # Safety
///
/// The head lives until then; the call may be made by any thread, in which it waits for nothing.
pub(crate) unsafe fn when_over(
    head: *mut sys::lath_rcu_head, call: unsafe extern "C" fn(*mut sys::lath_rcu_head),
) {
    #[cfg(miri)]
    return crate::miri::call(head, call);
    #[cfg(not(miri))]
    sys::lath_rcu_auto.call.unwrap_unchecked()(head, Some(call));
}

/// What is kept for each thread.
pub(crate) struct Thread {
    /// In how many sections it is.
    pub(crate) sections: Cell<usize>,
    /// How many calls that drop removed values are within each other.
    pub(crate) drops: Cell<usize>,
    /// It runs the end of a container.
    pub(crate) ending: Cell<bool>,
    /// Of the call that it makes under a lock.
    pub(crate) reserve: Cell<*mut c_void>,
}

thread_local! {
    static HERE: Thread = const { Thread {
        sections: Cell::new(0), drops: Cell::new(0), ending: Cell::new(false), reserve: Cell::new(ptr::null_mut()),
    } };
}

/// What is kept for this thread.
pub(crate) fn this_thread() -> &'static Thread {
    // SAFETY: it has no drop, so it is valid until the thread ends, and what is made from it does not
    // leave the thread.
    HERE.with(|here| unsafe { &*(here as *const Thread) })
}

/// # Panics
///
/// If this thread is in a section: it would wait for itself.
pub(crate) fn may_wait() {
    let sections = this_thread().sections.get();
    assert!(sections == 0, "lathwork: this thread has a Ref, and would wait for itself");
}

/// Waits until no thread has a [`Ref`](crate::Ref) to a value in its own memory, or an iterator over such,
/// that it has now, of any map. Then the maps' `reclaim()` drops all that was removed before. A `Ref`
/// that was forgotten is waited for for ever.
///
/// ```
/// let map = lathwork::PointMap::from([(1, String::from("one"))]);
/// map.remove(1);
/// lathwork::synchronize();
/// map.reclaim(); // the string is dropped now
/// ```
///
/// # Panics
///
/// If this thread has one itself.
pub fn synchronize() {
    may_wait();
    // SAFETY: it may be called outside of sections; the second call waits for callbacks.
    #[cfg(not(miri))]
    unsafe {
        sys::lath_rcu_auto.synchronize.unwrap_unchecked()();
        sys::lath_rcu_auto.drain.unwrap_unchecked()();
    }
}

/// The thread is in a read-side critical section. Sections nest.
pub(crate) struct Section {
    of_this_thread: PhantomData<*const ()>,
}

impl Section {
    #[inline(never)] // as its end: what is around it is inlined then
    pub(crate) fn enter() -> Section {
        let sections = &this_thread().sections;
        // SAFETY: they may be called at any time.
        unsafe {
            if sections.get() == 0 {
                sys::lath_rcu_keep_open(); // a leaked reference outlives the thread
            }
            sys::lath_rcu_auto.read_lock.unwrap_unchecked()();
        }
        sections.set(sections.get() + 1);
        Section { of_this_thread: PhantomData }
    }
}

impl Drop for Section {
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: enter() began it on this thread.
        unsafe { sys::lath_rcu_auto.read_unlock.unwrap_unchecked()() };
        let sections = &this_thread().sections;
        sections.set(sections.get() - 1);
    }
}

/// The thread is in a section that a call of the library has begun.
#[cfg(feature = "store")]
pub(crate) struct InSection {
    of_this_thread: PhantomData<*const ()>,
}

#[cfg(feature = "store")]
impl InSection {
    pub(crate) fn begun() -> InSection {
        let sections = &this_thread().sections;
        sections.set(sections.get() + 1);
        InSection { of_this_thread: PhantomData }
    }
}

#[cfg(feature = "store")]
impl Drop for InSection {
    /// A call of the library has ended it.
    fn drop(&mut self) {
        let sections = &this_thread().sections;
        sections.set(sections.get() - 1);
    }
}
