// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Structures of the C library on the heap, with their end.
use alloc::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use core::ptr::{self, NonNull};

use lathwork_sys as sys;

use crate::section::outside_sections;

/// A structure that the C library initialises in memory of ours and that does not move.
pub(crate) trait Structure: Sized {
    /// Ends it. Waits for sections.
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

pub(crate) struct Handle<T: Structure>(NonNull<T>);

impl<T: Structure> Handle<T> {
    /// `init` returns 0, or a negative errno: then there is no structure.
    pub(crate) fn new(init: impl FnOnce(*mut T) -> sys::c_int) -> Handle<T> {
        let layout = Layout::new::<T>();
        // SAFETY: the layout has a size; init gets memory of that layout.
        let memory = unsafe { alloc_zeroed(layout) }.cast::<T>();
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
        match init(memory.as_ptr()) {
            0 => Handle(memory),
            error => {
                // SAFETY: allocated above.
                unsafe { dealloc(memory.as_ptr().cast(), layout) };
                if error == -sys::ENOMEM {
                    handle_alloc_error(layout);
                }
                unreachable!("lathwork: init returned {error}");
            }
        }
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T: Structure> Drop for Handle<T> {
    fn drop(&mut self) {
        unsafe fn end<T: Structure>(arg: *mut ()) {
            T::fini(arg.cast());
            dealloc(arg.cast(), Layout::new::<T>());
        }
        // SAFETY: nobody else has the structure, and it lives until end() is called.
        unsafe { outside_sections(end::<T>, self.0.as_ptr().cast()) };
    }
}
