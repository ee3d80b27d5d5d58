// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A lock of the changes of a map of ranges. Most changes are one call of the C library and run
//! concurrently. Those of several calls, which cut a range, exclude all other changes. Reads take
//! no lock.
use core::hint::spin_loop;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::{thread, thread_local};

/// Threads spread over this many places, so that they do not share a cache line as a rule.
const PLACES: usize = 8;
/// A thread is alone, or waits for that. The other bits count changes.
const ALONE: usize = 1 << (usize::BITS - 1);

#[repr(align(64))]
struct Place(AtomicUsize);

pub(crate) struct Lock([Place; PLACES]);

/// A change runs, until this is dropped.
pub(crate) struct Shared<'a>(&'a AtomicUsize);
/// Only this change runs, until this is dropped.
pub(crate) struct Alone<'a>(&'a Lock);

/// Threads are numbered from 0 on.
static NUMBERS: AtomicUsize = AtomicUsize::new(0);
thread_local!(static NUMBER: usize = NUMBERS.fetch_add(1, Ordering::Relaxed));

/// Lets other threads run, or after the first rounds sleeps a little.
pub(crate) fn pause(rounds: usize) {
    match rounds {
        0..=15 => thread::yield_now(),
        _ => thread::sleep(Duration::from_micros(50)),
    }
}

/// Waits until `call` returns true. What it waits for are a few calls of the C library.
fn wait(mut call: impl FnMut() -> bool) {
    let mut times = 0;
    while !call() {
        times += 1;
        if times % 64 == 0 {
            pause(times / 64);
        } else {
            spin_loop();
        }
    }
}

impl Lock {
    pub(crate) fn new() -> Self {
        Lock([(); PLACES].map(|()| Place(AtomicUsize::new(0))))
    }

    pub(crate) fn shared(&self) -> Shared<'_> {
        let place = &self.0[NUMBER.with(|number| *number) % PLACES].0;
        wait(|| {
            if place.fetch_add(1, Ordering::Acquire) & ALONE == 0 {
                return true;
            }
            place.fetch_sub(1, Ordering::Relaxed);
            false
        });
        Shared(place)
    }

    pub(crate) fn alone(&self) -> Alone<'_> {
        // the first place decides between two that want to be alone
        wait(|| self.0[0].0.fetch_or(ALONE, Ordering::Acquire) & ALONE == 0);
        for place in &self.0[1..] {
            place.0.fetch_or(ALONE, Ordering::Acquire);
        }
        for place in &self.0 {
            wait(|| place.0.load(Ordering::Acquire) == ALONE);
        }
        Alone(self)
    }
}

impl Drop for Shared<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        for place in self.0 .0.iter().rev() {
            place.0.fetch_and(!ALONE, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::cell::UnsafeCell;

    const TIMES: usize = if cfg!(miri) { 60 } else { 3000 };

    #[test]
    fn one_that_is_alone_excludes_all() {
        struct Counts(UnsafeCell<[usize; 2]>, AtomicUsize);
        unsafe impl Sync for Counts {}
        let (lock, counts) = (Lock::new(), Counts(UnsafeCell::new([0; 2]), AtomicUsize::new(0)));
        thread::scope(|s| {
            for _ in 0..3 {
                let (lock, counts) = (&lock, &counts);
                s.spawn(move || {
                    for i in 0..TIMES {
                        if i % 3 == 0 {
                            let _alone = lock.alone();
                            assert_eq!(counts.1.load(Ordering::Relaxed), 0);
                            // SAFETY: no other thread is here, which is what is tested.
                            unsafe { (*counts.0.get())[0] += 1 };
                        } else {
                            let _shared = lock.shared();
                            counts.1.fetch_add(1, Ordering::Relaxed);
                            thread::yield_now();
                            counts.1.fetch_sub(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(unsafe { (*counts.0.get())[0] }, TIMES);
    }
}
