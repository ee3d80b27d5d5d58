// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What Miri runs in the place of C code, which it cannot run.
extern crate std;
use core::cell::Cell;
use core::ptr;
use std::sync::Mutex;
use std::thread::{self, JoinHandle};
use std::vec::Vec;

use lathwork_sys as sys;

const NONE: sys::lathwork_sys_thread = sys::lathwork_sys_thread {
    sections: Cell::new(0),
    drops: Cell::new(0),
    number: Cell::new(0),
    ending: Cell::new(0),
    reserve: Cell::new(ptr::null_mut()),
};
std::thread_local!(static HERE: sys::lathwork_sys_thread = const { NONE });
static NUMBERS: Mutex<usize> = Mutex::new(0);
static CALLS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

pub(crate) unsafe fn lathwork_sys_thread() -> *const sys::lathwork_sys_thread {
    HERE.with(ptr::from_ref)
}

pub(crate) unsafe fn lathwork_sys_number() -> usize {
    HERE.with(|here| {
        if here.number.get() == 0 {
            let mut numbers = NUMBERS.lock().unwrap();
            *numbers += 1;
            here.number.set(*numbers);
        }
        here.number.get()
    })
}

pub(crate) unsafe fn lathwork_sys_yield(_rounds: usize) {
    thread::yield_now();
}

/// Makes the call in another thread, at any time: the tests have no sections.
pub(crate) unsafe fn call(
    head: *mut sys::lath_rcu_head, call: unsafe extern "C" fn(*mut sys::lath_rcu_head),
) {
    let head = head as usize;
    let thread = thread::spawn(move || unsafe { call(head as *mut sys::lath_rcu_head) });
    CALLS.lock().unwrap().push(thread);
}

/// Waits for all calls that have been handed over.
pub(crate) fn drain() {
    for thread in CALLS.lock().unwrap().drain(..) {
        thread.join().unwrap();
    }
}
