// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Values that have left an index and that readers may still look at.
//!
//! A removal puts the value's node on a stack, and hands it to the RCU flavour, whose callback
//! marks it when no reader can look at the value any more. A thread that drops values moves the
//! stack to the end of a queue and takes marked nodes from the queue's front. Each node is moved
//! once and taken once, so a removal costs the same however many wait: grace periods end in the
//! order of retirement, and behind a node that is not marked there is hardly one that is. No step
//! needs memory: what it needs is in the node.
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::memory::Memory;
use crate::section::this_thread;
use crate::value::{self, Header, Owned};

/// After this many removals the next one drops values whose readers are gone.
const PENDING: usize = 64;
/// So many at most: faster than they are removed, yet the time of one call has a bound.
const AT_ONCE: usize = 4 * PENDING;
/// Drops that call the map, whose values' drops call a map, and so on: at most this many within each
/// other. A chain of values that remove one another would use up the stack.
const NESTED: usize = 8;

/// Nodes in the order of their retirement.
struct Queue {
    first: *mut Header,
    last: *mut Header,
}

impl Queue {
    const EMPTY: Queue = Queue { first: ptr::null_mut(), last: ptr::null_mut() };

    /// Appends a stack, the newest node of which is `newest`.
    ///
    /// # Safety
    ///
    /// The caller alone has the queue and the stack.
    unsafe fn append(&mut self, newest: *mut Header) {
        if newest.is_null() {
            return;
        }
        let first = value::reversed(newest);
        if self.first.is_null() {
            self.first = first;
        } else {
            value::set_next(self.last, first);
        }
        self.last = newest;
    }

    /// Takes the first `most` nodes, as long as no reader looks at their values.
    ///
    /// # Safety
    ///
    /// The caller alone has the queue.
    unsafe fn take_unseen(&mut self, most: usize) -> *mut Header {
        let (first, mut end, mut taken) = (self.first, ptr::null_mut::<Header>(), 0);
        while taken < most && !self.first.is_null() && value::is_unseen(self.first) {
            end = self.first;
            self.first = value::next_of(end);
            taken += 1;
        }
        if end.is_null() {
            return ptr::null_mut();
        }
        value::set_next(end, ptr::null_mut());
        first
    }
}

/// The values that left one index.
pub(crate) struct Retired<V> {
    stack: AtomicPtr<Header>, // any thread pushes
    pending: AtomicUsize,     // pushed since the last look at the queue
    taken: AtomicBool,        // a thread has the queue
    queue: UnsafeCell<Queue>,
    of: PhantomData<V>,
}

impl<V> Retired<V> {
    pub(crate) fn new() -> Self {
        Retired {
            stack: AtomicPtr::new(ptr::null_mut()),
            pending: AtomicUsize::new(0),
            taken: AtomicBool::new(false),
            queue: UnsafeCell::new(Queue::EMPTY),
            of: PhantomData,
        }
    }

    /// Takes a node that has left the index: its value is dropped when no reader can look at it.
    ///
    /// # Safety
    ///
    /// `value::leave()` has returned true for it, and it is pushed once.
    pub(crate) unsafe fn push(&self, node: *mut Header) {
        value::retire(node);
        let mut newest = self.stack.load(Ordering::Relaxed);
        loop {
            value::set_next(node, newest);
            match self.stack.compare_exchange_weak(
                newest,
                node,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => newest = now,
            }
        }
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// For a call that is about to remove a value: drops some others now and then. Not within the
    /// call's own section, as the drop of a value may wait for a thread that waits for sections.
    pub(crate) fn drop_some(&self, memory: Memory) {
        if self.pending.load(Ordering::Relaxed) >= PENDING {
            self.drop_unseen(AT_ONCE, memory);
        }
    }

    /// Drops all values that no reader can look at any more.
    pub(crate) fn drop_all(&self, memory: Memory) {
        self.drop_unseen(usize::MAX, memory);
    }

    fn drop_unseen(&self, most: usize, memory: Memory) {
        let nested = match Nested::enter() {
            Some(nested) => nested,
            None => return, // a later call drops them; `pending` stays
        };
        // one thread at a time; the others need not wait for it
        if self.taken.swap(true, Ordering::Acquire) {
            return;
        }
        self.pending.store(0, Ordering::Relaxed);
        let stack = self.stack.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: this thread alone has the queue until `taken` is false again, and took the stack.
        let unseen = unsafe {
            let queue = &mut *self.queue.get();
            queue.append(stack);
            queue.take_unseen(most)
        };
        self.taken.store(false, Ordering::Release);
        // the queue is free again: the drop of a value may call the map
        let dropped = drop_each(Nodes::<V>::new(unseen, Some(memory)));
        if dropped >= most {
            self.pending.store(PENDING, Ordering::Relaxed); // the next removal goes on
        }
        drop(nested);
    }

    /// Takes all values, for a caller that alone has the index: then no one has a `Ref`. Their
    /// nodes stay: callbacks may not have run. The second result is the first of these.
    pub(crate) fn end(&mut self) -> (Nodes<V>, *mut Header) {
        let queue = self.queue.get_mut();
        // SAFETY: the caller alone has the map.
        unsafe { queue.append(*self.stack.get_mut()) };
        *self.stack.get_mut() = ptr::null_mut();
        let first = core::mem::replace(queue, Queue::EMPTY).first;
        (Nodes::new(first, None), first)
    }
}

/// Values that no reader can look at, each to be dropped in its node; with a memory the node is
/// freed then.
pub(crate) struct Nodes<V> {
    first: *mut Header,
    memory: Option<Memory>,
    of: PhantomData<V>,
}

impl<V> Nodes<V> {
    pub(crate) fn new(first: *mut Header, memory: Option<Memory>) -> Self {
        Nodes { first, memory, of: PhantomData }
    }
}

impl<V> Iterator for Nodes<V> {
    type Item = Owned<V>;

    fn next(&mut self) -> Option<Owned<V>> {
        if self.first.is_null() {
            return None;
        }
        // SAFETY: its value is the list's; a callback that may still come does not look at next.
        unsafe {
            let owned = Owned::new(self.first, self.memory);
            self.first = value::next_of(self.first);
            Some(owned)
        }
    }
}

/// Drops each value; returns how many. If the drop of one panics, the others are dropped while
/// unwinding, as those of a `Vec` are.
pub(crate) fn drop_each<I: Iterator>(values: I) -> usize {
    struct Rest<I: Iterator>(I);
    impl<I: Iterator> Drop for Rest<I> {
        fn drop(&mut self) {
            self.0.by_ref().for_each(drop);
        }
    }
    let (mut rest, mut dropped) = (Rest(values), 0);
    for value in &mut rest.0 {
        drop(value);
        dropped += 1;
    }
    dropped
}

/// The thread drops values of an index.
struct Nested;

impl Nested {
    /// None if it does already, and `NESTED` times within each other.
    fn enter() -> Option<Nested> {
        let drops = &this_thread().drops;
        if drops.get() >= NESTED {
            return None;
        }
        drops.set(drops.get() + 1);
        Some(Nested)
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        let drops = &this_thread().drops;
        drops.set(drops.get() - 1);
    }
}

#[cfg(all(test, miri))]
mod tests {
    extern crate std;
    use super::*;
    use std::sync::Arc;
    use std::thread;

    unsafe impl<V> Sync for Retired<V> {}

    #[test]
    fn each_value_is_dropped_once() {
        type Value = Arc<u8>;
        let (memory, token) = (Memory::default(), Arc::new(1));
        let mut retired = Retired::<Value>::new();
        thread::scope(|s| {
            for _ in 0..3 {
                let (retired, token) = (&retired, &token);
                s.spawn(move || {
                    for i in 0..30 {
                        let word = value::into_node(token.clone(), &memory).unwrap();
                        // SAFETY: it was in an index, so to say.
                        unsafe {
                            assert!(value::leave(word));
                            retired.push(value::header_of(word));
                        }
                        if i % 7 == 0 {
                            retired.drop_all(memory);
                        }
                    }
                });
            }
        });
        crate::miri::drain();
        retired.drop_all(memory);
        assert_eq!(Arc::strong_count(&token), 1);
        assert!(retired.end().1.is_null());
    }
}
