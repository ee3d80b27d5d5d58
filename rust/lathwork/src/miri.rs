// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What Miri runs in the place of C code, which it cannot run.
use std::sync::Mutex;
use std::thread::{self, JoinHandle};
use std::vec::Vec;

use lathwork_sys as sys;

static CALLS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

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
