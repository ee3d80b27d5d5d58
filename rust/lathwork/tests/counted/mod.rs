// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the tests have as a value, to see that each is dropped once.
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;

/// Counts those that live. The drop of a copy does not panic.
#[derive(Debug)]
pub struct Counted<T>(pub T, pub Arc<AtomicUsize>, bool);

impl<T> Counted<T> {
    pub fn new(value: T, alive: &Arc<AtomicUsize>) -> Self {
        Self::bomb(value, alive, false)
    }

    /// Its drop panics, if it is one and the thread does not panic already.
    pub fn bomb(value: T, alive: &Arc<AtomicUsize>, is_one: bool) -> Self {
        alive.fetch_add(1, SeqCst);
        Counted(value, alive.clone(), is_one)
    }
}

impl<T: Copy> Clone for Counted<T> {
    fn clone(&self) -> Self {
        Counted::new(self.0, &self.1)
    }
}

impl<T: PartialEq> PartialEq for Counted<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, SeqCst);
        if self.2 && !std::thread::panicking() {
            panic!("a drop that panics");
        }
    }
}
