// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Read-side critical sections, and what has to wait for their end.
//!
//! To close a store a thread waits for the sections of all threads, so it may be in none itself. A
//! store that is dropped while its thread has a [`Section`] leaves its memory to the end of the
//! thread's outermost section. A container waits for no section: see `handle`.
use core::marker::PhantomData;
#[cfg(feature = "store")]
use core::ptr;

use lathwork_sys as sys;

/// Has a function of the C library's kind called with `head` when all sections of now are over, and
/// after all that were handed over before.
///
/// # Safety
///
/// The head lives until then; the call may be made by any thread, in which it waits for nothing.
pub(crate) unsafe fn when_over(
    head: *mut sys::lath_rcu_head,
    call: unsafe extern "C" fn(*mut sys::lath_rcu_head),
) {
    #[cfg(miri)]
    return crate::miri::call(head, call);
    #[cfg(not(miri))]
    sys::lath_rcu_auto.call.unwrap_unchecked()(head, Some(call));
}

/// A call that waits for sections. It lies in what it is about, so it needs no memory.
#[cfg(feature = "store")]
pub(crate) struct Postponed {
    call: unsafe fn(*mut Postponed),
    next: *mut Postponed,
}

#[cfg(feature = "store")]
impl Postponed {
    pub(crate) fn new(call: unsafe fn(*mut Postponed)) -> Self {
        Postponed {
            call,
            next: ptr::null_mut(),
        }
    }
}

/// What is kept for this thread: sections, what is postponed, drops within each other.
pub(crate) fn this_thread() -> &'static sys::lathwork_sys_thread {
    // SAFETY: it is valid until the thread ends, and what is made from it does not leave the
    // thread.
    #[cfg(miri)]
    return unsafe { &*crate::miri::lathwork_sys_thread() };
    #[cfg(not(miri))]
    unsafe {
        &*sys::lathwork_sys_thread()
    }
}

/// The thread is in a read-side critical section. Sections nest.
pub(crate) struct Section {
    of_this_thread: PhantomData<*const ()>,
}

impl Section {
    pub(crate) fn enter() -> Section {
        // SAFETY: it may be called at any time.
        unsafe { sys::lathwork_sys_enter() };
        Section {
            of_this_thread: PhantomData,
        }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        // SAFETY: enter() began it on this thread.
        let _postponed = unsafe { sys::lathwork_sys_exit() };
        #[cfg(feature = "store")]
        if !_postponed.is_null() {
            run_postponed();
        }
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
        InSection {
            of_this_thread: PhantomData,
        }
    }
}

#[cfg(feature = "store")]
impl Drop for InSection {
    /// A call of the library has ended it.
    fn drop(&mut self) {
        let thread = this_thread();
        thread.sections.set(thread.sections.get() - 1);
        if thread.sections.get() == 0 {
            run_postponed();
        }
    }
}

#[cfg(feature = "store")]
fn run_postponed() {
    let list = &this_thread().postponed;
    loop {
        let first = list.get().cast::<Postponed>();
        if first.is_null() {
            return;
        }
        // SAFETY: outside_sections() put it into this thread's list alone, and was promised the
        // rest.
        unsafe {
            list.set((*first).next.cast());
            ((*first).call)(first);
        }
    }
}

/// Makes the call as soon as the thread is in no section: now, or at the end of the outermost one.
///
/// # Safety
///
/// The call is valid at any later time on this thread, borrows nothing and does not panic.
#[cfg(feature = "store")]
pub(crate) unsafe fn outside_sections(postponed: *mut Postponed) {
    let thread = this_thread();
    if thread.sections.get() == 0 {
        ((*postponed).call)(postponed);
        return;
    }
    (*postponed).next = thread.postponed.get().cast();
    thread.postponed.set(postponed.cast());
}
