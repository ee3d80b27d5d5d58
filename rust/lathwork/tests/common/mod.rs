// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What several of the tests need.
#![allow(dead_code)]
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// A value that counts those that live, and is recognised. The drop of a copy does not panic.
#[derive(Debug)]
pub struct Counted<T: Copy + Send + 'static = u64>(pub T, pub Arc<AtomicUsize>, bool, u64);

const ALIVE: u64 = 0x616c_6976_6521;

impl<T: Copy + Send> Counted<T> {
    pub fn new(value: T, alive: &Arc<AtomicUsize>) -> Self {
        Self::bomb(value, alive, false)
    }

    /// Its drop panics with the value, if it is one and the thread does not panic already.
    pub fn bomb(value: T, alive: &Arc<AtomicUsize>, is_one: bool) -> Self {
        alive.fetch_add(1, SeqCst);
        Counted(value, alive.clone(), is_one, ALIVE)
    }

    pub fn check(&self) {
        assert_eq!(self.3, ALIVE, "a value that was dropped");
    }
}

impl<T: Copy + Send> Clone for Counted<T> {
    fn clone(&self) -> Self {
        Counted::new(self.0, &self.1)
    }
}

impl<T: Copy + Send + PartialEq> PartialEq for Counted<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Copy + Send> Drop for Counted<T> {
    fn drop(&mut self) {
        self.check();
        self.3 = 0;
        self.1.fetch_sub(1, SeqCst);
        if self.2 && !thread::panicking() {
            std::panic::panic_any(self.0);
        }
    }
}

pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// Calls `call` until it returns true, at most a minute: grace periods end when they end.
pub fn wait_for(what: &str, mut call: impl FnMut() -> bool) {
    let start = Instant::now();
    while !call() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Calls a property so often with random arguments; vectors have up to `size` elements.
pub fn check<P: quickcheck::Testable>(times: u64, size: usize, property: P) {
    quickcheck::QuickCheck::new().gen(quickcheck::Gen::new(size)).tests(times).quickcheck(property);
}
