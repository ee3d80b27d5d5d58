// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Read-side critical sections, and what has to wait for their end.
//!
//! To end a structure of the C library a thread waits for the sections of all threads, so it may be
//! in none itself. A container that is dropped while its thread has a [`Section`] leaves the memory
//! of its nodes, in which no value is any more, to the end of the thread's outermost section.
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;

use lathwork_sys as sys;

/// A call that waits for sections, and its argument.
struct Postponed {
    call: unsafe fn(*mut ()),
    arg: *mut (),
    next: *mut Postponed,
}

thread_local! {
    static SECTIONS: Cell<usize> = const { Cell::new(0) };
    // a list without a destructor: usable while the thread ends
    static POSTPONED: Cell<*mut Postponed> = const { Cell::new(ptr::null_mut()) };
}

/// The thread is in a read-side critical section. Sections nest.
pub(crate) struct Section {
    of_this_thread: PhantomData<*const ()>,
}

impl Section {
    pub(crate) fn enter() -> Section {
        SECTIONS.with(|n| n.set(n.get() + 1));
        // SAFETY: the library's own flavour has all its functions.
        unsafe { (sys::lath_rcu_auto.read_lock.unwrap_unchecked())() };
        Section {
            of_this_thread: PhantomData,
        }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        // SAFETY: enter() began it on this thread.
        unsafe { (sys::lath_rcu_auto.read_unlock.unwrap_unchecked())() };
        let left = SECTIONS.with(|n| {
            n.set(n.get() - 1);
            n.get()
        });
        if left == 0 {
            run_postponed();
        }
    }
}

fn run_postponed() {
    loop {
        let first = POSTPONED.with(|list| list.get());
        if first.is_null() {
            return;
        }
        // SAFETY: outside_sections() made it with Box, and it is in this thread's list alone.
        let postponed = unsafe { Box::from_raw(first) };
        POSTPONED.with(|list| list.set(postponed.next));
        // SAFETY: as outside_sections() was promised.
        unsafe { (postponed.call)(postponed.arg) };
    }
}

/// Calls `call(arg)` as soon as the thread is in no section: now, or at the end of the outermost
/// one.
///
/// # Safety
///
/// `call(arg)` is valid at any later time on this thread, borrows nothing and does not panic.
pub(crate) unsafe fn outside_sections(call: unsafe fn(*mut ()), arg: *mut ()) {
    if SECTIONS.with(|n| n.get()) == 0 {
        call(arg);
        return;
    }
    POSTPONED.with(|list| {
        let postponed = Box::new(Postponed {
            call,
            arg,
            next: list.get(),
        });
        list.set(Box::into_raw(postponed));
    });
}
