// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The queue of an IO scheduler.
use core::alloc::Layout;
use core::fmt;
use core::mem::{self, MaybeUninit};
use core::ptr::{self, NonNull};

use lathwork_sys as sys;

use crate::memory::{Memory, NoMemory, Options};
use crate::retired::drop_each;

/// In which order a [`SortQueue`] returns requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// As a one-way sweep over a device: ascending from the last one returned, then from the lowest
    /// sector again.
    Sweep,
    /// The lowest sector first.
    Lowest,
    /// As they came, for devices that need no order.
    Arrival,
}

/// A request that waits in a [`SortQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    place: u32,
    age: u32,
}

/// Why a request was not queued; it is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused<T> {
    /// The queue has as many requests as it was made for.
    Full(T),
    /// The sector is 2^44 or above.
    Sector(T),
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Full(_) => "the queue is full",
            Refused::Sector(_) => "the sector is 2^44 or above",
        })
    }
}

#[cfg(feature = "std")]
impl<T: fmt::Debug> std::error::Error for Refused<T> {}

/// A request, or room for one.
#[repr(C)]
struct Slot<T> {
    hook: sys::lath_request, // the first field: a hook's address is its slot's
    value: MaybeUninit<T>,
    queued: bool,
    /// How many requests were here.
    age: u32,
    /// The next free slot.
    next: u32,
}

/// A queue of a bounded number of requests, which returns them in the order of their sectors. One
/// thread at a time uses it: put it into a `Mutex`.
///
/// ```
/// let mut queue = lathwork::SortQueue::try_new(100).unwrap();
/// for sector in [800, 100, 500] {
///     queue.push(sector, format!("read {sector}")).unwrap();
/// }
/// assert_eq!(queue.pop(), Some((100, String::from("read 100"))));
/// queue.push(50, String::from("behind the sweep")).unwrap();
/// assert_eq!(queue.pop().unwrap().0, 500);
/// assert_eq!(queue.pop().unwrap().0, 800);
/// assert_eq!(queue.pop().unwrap().0, 50);
/// ```
///
/// No call but the constructor needs memory.
pub struct SortQueue<T> {
    queue: NonNull<sys::lath_sortq>,
    slots: NonNull<Slot<T>>,
    count: u32,
    free: u32,
    layouts: (Layout, Layout), // of the queue with its memory, and of the slots
    memory: Memory,
}

// SAFETY: it has its values, and no other thread has the queue.
unsafe impl<T: Send> Send for SortQueue<T> {}
// SAFETY: calls with a shared reference change nothing.
unsafe impl<T: Sync> Sync for SortQueue<T> {}

const NONE: u32 = u32::MAX;

impl<T> SortQueue<T> {
    /// A queue for up to `requests` of them, at most 2^20 - 1, in the order of a sweep.
    ///
    /// # Panics
    ///
    /// If `requests` is 0 or above 2^20 - 1.
    pub fn try_new(requests: u32) -> Result<Self, NoMemory> {
        Self::try_with(requests, Order::Sweep, Options::new())
    }

    /// The same in another order; [`Options::memory`] has a meaning.
    ///
    /// # Panics
    ///
    /// As [`try_new`](Self::try_new).
    pub fn try_with(requests: u32, order: Order, options: Options) -> Result<Self, NoMemory> {
        assert!(
            (1..=sys::LATH_SORTQ_MAX_REQUESTS).contains(&requests),
            "lathwork: a queue of {requests} requests"
        );
        let slots_layout = Layout::array::<Slot<T>>(requests as usize).map_err(|_| NoMemory)?;
        let slots = options.memory.alloc(slots_layout)?.cast::<Slot<T>>();
        for place in 0..requests {
            let next = Some(place + 1).filter(|&next| next < requests);
            let slot = Slot {
                hook: sys::lath_request::default(),
                value: MaybeUninit::uninit(),
                queued: false,
                age: 0,
                next: next.unwrap_or(NONE),
            };
            // SAFETY: the layout has room for it.
            unsafe { slots.as_ptr().add(place as usize).write(slot) };
        }
        // SAFETY: the slots are initialised; they have the layout that frees them.
        let made = unsafe {
            make_queue(slots.cast(), mem::size_of::<Slot<T>>(), requests, order, &options)
        };
        match made {
            Ok((queue, layout)) => Ok(SortQueue {
                queue,
                slots,
                count: requests,
                free: 0,
                layouts: (layout, slots_layout),
                memory: options.memory,
            }),
            Err(none) => {
                // SAFETY: allocated above.
                unsafe { options.memory.free(slots.as_ptr().cast(), slots_layout) };
                Err(none)
            }
        }
    }

    fn raw(&self) -> *mut sys::lath_sortq {
        self.queue.as_ptr()
    }

    fn slot(&self, place: u32) -> *mut Slot<T> {
        debug_assert!(place < self.count);
        // SAFETY: there are that many.
        unsafe { self.slots.as_ptr().add(place as usize) }
    }

    /// Adds a request, behind those with the same sector.
    pub fn push(&mut self, sector: u64, value: T) -> Result<Ticket, Refused<T>> {
        if sector >> sys::LATH_SORTQ_SECTOR_BITS != 0 {
            return Err(Refused::Sector(value));
        }
        if self.free == NONE {
            return Err(Refused::Full(value));
        }
        let place = self.free;
        // SAFETY: the slot is free: its value is not there, and it is in no queue.
        unsafe {
            let slot = self.slot(place);
            self.free = (*slot).next;
            (*slot).hook.sector = sector;
            (*slot).value = MaybeUninit::new(value);
            (*slot).queued = true;
            let age = (*slot).age;
            let result = sys::lathwork_sys_sortq_insert(self.raw(), slot.cast());
            assert!(result == 0, "lathwork: insert returned {result}");
            Ok(Ticket { place, age })
        }
    }

    /// Takes a request that has left the queue out of its slot.
    ///
    /// # Safety
    ///
    /// The slot has a request, and it is in no queue.
    unsafe fn take(&mut self, slot: *mut Slot<T>) -> (u64, T) {
        (*slot).queued = false;
        (*slot).age = (*slot).age.wrapping_add(1);
        (*slot).next = self.free;
        self.free = slot.offset_from(self.slots.as_ptr()) as u32;
        ((*slot).hook.sector, (*slot).value.as_ptr().read())
    }

    /// Removes the next request of the order. Returns it with its sector.
    pub fn pop(&mut self) -> Option<(u64, T)> {
        // SAFETY: the queue is initialised, and returns a request that was pushed.
        unsafe {
            let slot = sys::lathwork_sys_sortq_dispatch(self.raw()).cast::<Slot<T>>();
            (!slot.is_null()).then(|| self.take(slot))
        }
    }

    fn look(&mut self, request: *mut sys::lath_request) -> Option<(u64, &T)> {
        let slot = request.cast::<Slot<T>>();
        // SAFETY: the queue returns a request that was pushed and stays.
        (!slot.is_null()).then(|| unsafe { ((*slot).hook.sector, &*(*slot).value.as_ptr()) })
    }

    /// The next request of the order, which stays.
    pub fn peek(&mut self) -> Option<(u64, &T)> {
        // SAFETY: the queue is initialised.
        let first = unsafe { sys::lath_sortq_first(self.raw()) };
        self.look(first)
    }

    /// The request with the lowest sector at or behind `sector`. None in the order of arrival.
    pub fn first_from(&mut self, sector: u64) -> Option<(u64, &T)> {
        // SAFETY: likewise.
        let first = unsafe { sys::lath_sortq_first_from(self.raw(), sector) };
        self.look(first)
    }

    /// Removes a request that waits. None: it has left already.
    ///
    /// ```
    /// let mut queue = lathwork::SortQueue::try_new(10).unwrap();
    /// let ticket = queue.push(7, 'a').unwrap();
    /// assert_eq!(queue.remove(ticket), Some((7, 'a')));
    /// assert_eq!(queue.remove(ticket), None);
    /// ```
    pub fn remove(&mut self, ticket: Ticket) -> Option<(u64, T)> {
        if ticket.place >= self.count {
            return None; // of a larger queue
        }
        let slot = self.slot(ticket.place);
        // SAFETY: the slot is initialised, and what is queued is in this queue.
        unsafe {
            if !(*slot).queued || (*slot).age != ticket.age {
                return None;
            }
            let result = sys::lath_sortq_remove(self.raw(), slot.cast());
            assert!(result == 0, "lathwork: remove returned {result}");
            Some(self.take(slot))
        }
    }

    /// Requests that are pushed from now on leave after those that wait.
    pub fn barrier(&mut self) {
        // SAFETY: the queue is initialised.
        unsafe { sys::lath_sortq_barrier(self.raw()) };
    }

    /// The sector from which the sweep goes on.
    pub fn head(&self) -> u64 {
        // SAFETY: likewise; the call changes nothing.
        unsafe { sys::lath_sortq_head(self.raw()) }
    }

    /// Lets the sweep go on from this sector. Returns whether it can: the order is a sweep, and the
    /// sector is below 2^44.
    pub fn set_head(&mut self, sector: u64) -> bool {
        // SAFETY: likewise.
        unsafe { sys::lath_sortq_set_head(self.raw(), sector) == 0 }
    }

    /// The number of requests that wait.
    pub fn len(&self) -> usize {
        // SAFETY: likewise; the call changes nothing.
        unsafe { sys::lath_sortq_count(self.raw()) as usize }
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many requests it was made for.
    pub fn capacity(&self) -> usize {
        self.count as usize
    }

    /// Checks the invariants of the queue, for tests: the number of the first that is broken.
    pub fn verify(&mut self) -> Result<(), i32> {
        // SAFETY: likewise.
        match unsafe { sys::lath_sortq_verify(self.raw()) } {
            0 => Ok(()),
            broken => Err(broken),
        }
    }
}

/// Makes a queue of the slots, with its memory behind it.
///
/// # Safety
///
/// There are `count` slots of `stride` bytes, which begin with their hook and stay where they are.
unsafe fn make_queue(
    slots: NonNull<u8>, stride: usize, count: u32, order: Order, options: &Options,
) -> Result<(NonNull<sys::lath_sortq>, Layout), NoMemory> {
    let config = sys::lath_sortq_config {
        size: mem::size_of::<sys::lath_sortq_config>(),
        engine: if order == Order::Arrival { sys::LATH_SORTQ_FIFO } else { sys::LATH_SORTQ_HYBRID },
        flags: if order == Order::Lowest { sys::LATH_SORTQ_LOWEST } else { 0 },
        simd: sys::LATH_SIMD_BEST,
    };
    let mut pool = sys::lath_request_pool { base: ptr::null_mut(), stride: 0, count: 0 };
    let first = slots.as_ptr().cast();
    let result = sys::lath_request_pool_init(&mut pool, first, stride as u64, count);
    assert!(result == 0, "lathwork: pool_init returned {result}");
    let size = sys::lath_sortq_memsize(&config, &pool);
    let head = Layout::new::<sys::lath_sortq>(); // its size is a multiple of 64, and so its end
    let layout = Layout::from_size_align(head.size() + size, head.align()).map_err(|_| NoMemory)?;
    let block = options.memory.alloc(layout)?;
    let memory = block.as_ptr().add(head.size()).cast();
    let queue = block.cast::<sys::lath_sortq>();
    let result = sys::lath_sortq_init(queue.as_ptr(), &config, &mut pool, memory);
    assert!(result == 0, "lathwork: sortq_init returned {result}");
    Ok((queue, layout))
}

impl<T> Drop for SortQueue<T> {
    fn drop(&mut self) {
        struct Free<'a, T>(&'a SortQueue<T>);
        impl<T> Drop for Free<'_, T> {
            fn drop(&mut self) {
                let (queue, slots) = self.0.layouts;
                // SAFETY: both were allocated so, and nothing uses them any more.
                unsafe {
                    self.0.memory.free(self.0.queue.as_ptr().cast(), queue);
                    self.0.memory.free(self.0.slots.as_ptr().cast(), slots);
                }
            }
        }
        let _free = Free(self);
        // the others are dropped too if the drop of one panics
        drop_each((0..self.count).filter_map(|place| {
            let slot = self.slot(place);
            // SAFETY: what is queued has a value, which nothing uses afterwards.
            unsafe { (*slot).queued.then(|| (*slot).value.as_ptr().read()) }
        }));
    }
}

impl<T> fmt::Debug for SortQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SortQueue")
            .field("len", &self.len())
            .field("head", &self.head())
            .finish_non_exhaustive()
    }
}
