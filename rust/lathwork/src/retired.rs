// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Values that have left an index and that readers may still look at.
//!
//! A removal puts a record of the value on a stack, and hands the record's head to the RCU flavour,
//! whose callback marks it when no reader can look at the value any more. A thread that drops
//! values moves the stack to the end of a queue and takes marked records from the queue's front.
//! Each record is moved once and taken once, so a removal costs the same however many wait: grace
//! periods end in the order of retirement, and behind a record that is not marked there is hardly
//! one that is.
use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use lathwork_sys as sys;

use crate::section::{outside_sections, this_thread};
use crate::Value;

/// After so many removals the next one drops values whose readers are gone.
const PENDING: usize = 64;
/// So many at most: faster than they are removed, yet the time of one call has a bound.
const AT_ONCE: usize = 4 * PENDING;
/// Drops that call the map, whose values' drops call a map, and so on: at most so many within each
/// other. A chain of values that remove one another would use up the stack.
const NESTED: usize = 8;

/// A value that has left the index.
#[repr(C)]
struct Record {
    head: sys::lath_rcu_head,
    word: u64,
    unseen: AtomicBool, // no reader looks at it any more
    next: *mut Record,
}

unsafe extern "C" fn set_unseen(head: *mut sys::lath_rcu_head) {
    // the head is the first field
    (*head.cast::<Record>())
        .unseen
        .store(true, Ordering::Release);
}

/// Records in the order of their retirement.
struct Queue {
    first: *mut Record,
    last: *mut Record,
}

impl Queue {
    const EMPTY: Queue = Queue {
        first: ptr::null_mut(),
        last: ptr::null_mut(),
    };

    /// Appends a stack, the newest record of which is `newest`.
    ///
    /// # Safety
    ///
    /// The caller alone has the queue and the stack.
    unsafe fn append(&mut self, newest: *mut Record) {
        if newest.is_null() {
            return;
        }
        let (mut at, mut first) = (newest, ptr::null_mut());
        while !at.is_null() {
            let older = (*at).next;
            (*at).next = first;
            first = at;
            at = older;
        }
        if self.first.is_null() {
            self.first = first;
        } else {
            (*self.last).next = first;
        }
        self.last = newest;
    }

    /// Takes the first `most` records, as long as no reader looks at their values.
    ///
    /// # Safety
    ///
    /// The caller alone has the queue.
    unsafe fn take_unseen(&mut self, most: usize) -> *mut Record {
        let (first, mut end, mut taken) = (self.first, ptr::null_mut::<Record>(), 0);
        while taken < most && !self.first.is_null() && (*self.first).unseen.load(Ordering::Acquire)
        {
            end = self.first;
            self.first = (*end).next;
            taken += 1;
        }
        if end.is_null() {
            return ptr::null_mut();
        }
        (*end).next = ptr::null_mut();
        first
    }
}

/// The values that left one index.
pub(crate) struct Retired<V: Value> {
    stack: AtomicPtr<Record>, // any thread pushes
    pending: AtomicUsize,     // pushed since the last look at the queue
    taken: AtomicBool,        // a thread has the queue
    queue: UnsafeCell<Queue>,
    of: PhantomData<V>,
}

impl<V: Value> Retired<V> {
    pub(crate) fn new() -> Self {
        Retired {
            stack: AtomicPtr::new(ptr::null_mut()),
            pending: AtomicUsize::new(0),
            taken: AtomicBool::new(false),
            queue: UnsafeCell::new(Queue::EMPTY),
            of: PhantomData,
        }
    }

    /// Takes a value that has left the index, to be dropped when no reader can look at it.
    pub(crate) fn push(&self, word: u64) {
        let record = Box::into_raw(Box::new(Record {
            head: sys::lath_rcu_head {
                next: ptr::null_mut(),
                func: None,
            },
            word,
            unseen: AtomicBool::new(false),
            next: ptr::null_mut(),
        }));
        let mut newest = self.stack.load(Ordering::Relaxed);
        // SAFETY: the record lives until set_unseen() was called, see drop_unseen() and end().
        unsafe {
            let call = sys::lath_rcu_auto.call.unwrap_unchecked();
            call(ptr::addr_of_mut!((*record).head), Some(set_unseen));
            loop {
                (*record).next = newest;
                match self.stack.compare_exchange_weak(
                    newest,
                    record,
                    Ordering::Release,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => break,
                    Err(now) => newest = now,
                }
            }
        }
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// For a call that is about to remove a value: drops some others now and then. Not within the
    /// call's own section, as the drop of a value may wait for a thread that waits for sections.
    pub(crate) fn drop_some(&self) {
        if self.pending.load(Ordering::Relaxed) >= PENDING {
            self.drop_unseen(AT_ONCE);
        }
    }

    /// Drops all values that no reader can look at any more.
    pub(crate) fn drop_all(&self) {
        self.drop_unseen(usize::MAX);
    }

    fn drop_unseen(&self, most: usize) {
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
        let dropped = drop_each(Unseen::<V>(unseen, PhantomData));
        if dropped >= most {
            self.pending.store(PENDING, Ordering::Relaxed); // the next removal goes on
        }
        drop(nested);
    }

    /// Takes all values, for a caller that alone has the index: then no one has a `Ref`. The memory
    /// of their records is freed when the second result is dropped, after the first one.
    pub(crate) fn end(&mut self) -> (Values<V>, Records) {
        let queue = self.queue.get_mut();
        // SAFETY: the caller alone has the map.
        unsafe { queue.append(*self.stack.get_mut()) };
        *self.stack.get_mut() = ptr::null_mut();
        let first = core::mem::replace(queue, Queue::EMPTY).first;
        (Values(first, PhantomData), Records(first))
    }
}

/// Takes values that no reader can look at out of their records, and frees these.
struct Unseen<V: Value>(*mut Record, PhantomData<V>);

impl<V: Value> Iterator for Unseen<V> {
    type Item = V;

    fn next(&mut self) -> Option<V> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: push() made it with Box, and no reader nor callback uses it any more.
        unsafe {
            let record = Box::from_raw(self.0);
            self.0 = record.next;
            Some(V::from_word(record.word))
        }
    }
}

/// Takes values out of their records, which stay: their callbacks may not have run.
pub(crate) struct Values<V: Value>(*mut Record, PhantomData<V>);

impl<V: Value> Iterator for Values<V> {
    type Item = V;

    fn next(&mut self) -> Option<V> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: no one has a Ref to the value; the callback does not look at word and next.
        unsafe {
            let word = (*self.0).word;
            self.0 = (*self.0).next;
            Some(V::from_word(word))
        }
    }
}

/// Records without values. Their memory is freed after their callbacks.
pub(crate) struct Records(*mut Record);

impl Drop for Records {
    fn drop(&mut self) {
        unsafe fn free(arg: *mut ()) {
            // the callbacks of these have run, or run in this drain
            (sys::lath_rcu_auto.drain.unwrap_unchecked())();
            let mut at = arg.cast::<Record>();
            while !at.is_null() {
                at = Box::from_raw(at).next;
            }
        }
        if !self.0.is_null() {
            // SAFETY: the records are nobody's but their callbacks'.
            unsafe { outside_sections(free, self.0.cast()) };
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
