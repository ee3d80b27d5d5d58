// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! An allocator of addresses.
use core::fmt;
use core::iter::FusedIterator;
use core::mem;
use core::ops::RangeInclusive;
use core::ptr;

use lathwork_sys as sys;
use sys::lath_item;

use crate::code::{allocation, found};
use crate::error::AllocError;
use crate::handle::{rcu, Handle, Space};
use crate::key::{last_of, words, KeyRange};
use crate::memory::Options;

/// Finds and keeps account of free ranges among addresses, for any number of threads.
///
/// ```
/// let dma = lathwork::RangeAllocator::new(4096..1 << 40, 4096).unwrap();
/// let buffer = dma.alloc(2 << 20, 2 << 20).unwrap();
/// assert_eq!(buffer % (2 << 20), 0);
/// dma.free(buffer, 2 << 20).unwrap();
/// let held = dma.hold(8192, 0).unwrap(); // freed at the end of the scope
/// assert_eq!(held.range().end() - held.range().start(), 8191);
/// ```
pub struct RangeAllocator {
    space: Handle<Space, ()>,
}

/// Where [`RangeAllocator::alloc_by`] takes addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// The lowest place.
    First,
    /// The highest place.
    Last,
    /// In the shortest hole that fits.
    Best,
    /// The lowest place from this address on, else the lowest of all.
    Next(u64),
    /// The place that is nearest to this address.
    Near(u64),
    /// At this address, or none.
    Exact(u64),
}

impl Policy {
    fn numbers(self) -> (sys::c_int, u64) {
        match self {
            Policy::First => (sys::LATH_HOLE_FIRST, 0),
            Policy::Last => (sys::LATH_HOLE_LAST, 0),
            Policy::Best => (sys::LATH_HOLE_BEST, 0),
            Policy::Next(from) => (sys::LATH_HOLE_NEXT, from),
            Policy::Near(to) => (sys::LATH_HOLE_NEAR, to),
            Policy::Exact(at) => (sys::LATH_HOLE_EXACT, at),
        }
    }
}

impl RangeAllocator {
    /// An allocator of these addresses, all free. Sizes and boundaries are multiples of `unit`, a
    /// power of two.
    pub fn new(addresses: impl KeyRange<u64>, unit: u64) -> Result<Self, AllocError> {
        Self::try_with(addresses, unit, Options::new())
    }

    /// The same, made as `options` says: [`Options::exact`] and [`Options::memory`] have a meaning.
    pub fn try_with(
        addresses: impl KeyRange<u64>, unit: u64, options: Options,
    ) -> Result<Self, AllocError> {
        let (low, last) = words(&addresses).ok_or(AllocError::Invalid)?;
        let flags = if options.exact { sys::LATH_SPACE_NO_ARENAS } else { 0 };
        let space = Handle::new(options.memory, |space: *mut Space, allocator| {
            let config = sys::lath_space_config {
                size: mem::size_of::<sys::lath_space_config>(),
                low,
                high: last.wrapping_add(1), // 0 is 2^64
                unit,
                flags,
                rcu: rcu(),
                allocator,
                ..Default::default()
            };
            // SAFETY: both pointers are valid.
            unsafe { sys::lath_space_create(ptr::addr_of_mut!((*space).0), &config) }
        });
        match space {
            Ok(space) => Ok(RangeAllocator { space }),
            Err(errno) => Err(allocation(-errno).err().unwrap_or(AllocError::Other(errno))),
        }
    }

    fn raw(&self) -> *mut sys::lath_space {
        // SAFETY: the handle has a space that was created.
        unsafe { (*self.space.get()).0 }
    }

    /// Takes `size` addresses at a multiple of `align`, a power of two (0: the unit). Returns the
    /// first.
    ///
    /// It does not take the lowest place that fits. Sizes of up to 1024 units come from arenas,
    /// blocks of 4096 units; those of 1, 2, 4 .. 256 units from caches of free blocks, which leave
    /// gaps between blocks and give out first what was freed last. So where a range lies depends on
    /// earlier calls, and on the thread. [`alloc_within`](Self::alloc_within) is first fit.
    ///
    /// ```
    /// let space = lathwork::RangeAllocator::new(0x1000..0x2000, 1).unwrap();
    /// assert_eq!(space.alloc(0x110, 0), Ok(0x1000));
    /// // 0x1200 is free too
    /// assert_ne!(space.alloc(0x100, 0x100), Ok(0x1200));
    ///
    /// let space = lathwork::RangeAllocator::new(0x1000..0x2000, 1).unwrap();
    /// assert_eq!(space.alloc_within(.., 0x110, 0), Ok(0x1000));
    /// assert_eq!(space.alloc_within(.., 0x100, 0x100), Ok(0x1200));
    /// ```
    pub fn alloc(&self, size: u64, align: u64) -> Result<u64, AllocError> {
        let mut first = 0;
        // SAFETY: the space was created; the pointer is valid.
        allocation(unsafe { sys::lath_space_alloc(self.raw(), size, align, 0, &mut first) })?;
        Ok(first)
    }

    /// Takes the lowest place with all addresses within `limits`. The arenas from which
    /// [`alloc`](Self::alloc) has taken small sizes are passed over while there is another place.
    ///
    /// ```
    /// let space = lathwork::RangeAllocator::new(0..100_000, 1).unwrap();
    /// space.alloc(1, 0).unwrap(); // makes an arena of 0..=4095
    /// assert_eq!(space.alloc_within(.., 1, 0), Ok(4096));
    /// assert!(space.alloc_within(0..4096, 1, 0).unwrap() < 4096);
    /// ```
    pub fn alloc_within(
        &self, limits: impl KeyRange<u64>, size: u64, align: u64,
    ) -> Result<u64, AllocError> {
        self.alloc_by(Policy::First, limits, size, align)
    }

    /// Takes a place by a policy, with all addresses within `limits`. If there is none outside of
    /// the arenas, one of these may serve it at any place within the limits; an allocator that was
    /// made with [`Options::exact`] has none, and the policy holds always.
    ///
    /// ```
    /// use lathwork::{Options, Policy, RangeAllocator};
    ///
    /// let space = RangeAllocator::try_with(0..1000, 1, Options::new().exact()).unwrap();
    /// assert_eq!(space.alloc_by(Policy::Last, .., 10, 0), Ok(990));
    /// assert_eq!(space.alloc_by(Policy::Near(500), .., 10, 0), Ok(500));
    /// assert_eq!(space.alloc_by(Policy::Next(505), .., 10, 0), Ok(510));
    /// assert_eq!(space.alloc_by(Policy::Best, .., 10, 0), Ok(520));
    /// assert!(space.alloc_by(Policy::Exact(505), .., 10, 0).is_err());
    /// ```
    pub fn alloc_by(
        &self, policy: Policy, limits: impl KeyRange<u64>, size: u64, align: u64,
    ) -> Result<u64, AllocError> {
        let (low, last) = words(&limits).ok_or(AllocError::Invalid)?;
        let (policy, hint) = policy.numbers();
        let want = sys::lath_hole_request {
            size,
            align,
            low,
            high: last.wrapping_add(1),
            hint,
            policy,
            ..Default::default()
        };
        let mut first = 0;
        // SAFETY: the space was created; the pointers are valid.
        allocation(unsafe { sys::lath_space_alloc_request(self.raw(), &want, 0, &mut first) })?;
        Ok(first)
    }

    /// Takes exactly these addresses.
    pub fn reserve(&self, addresses: impl KeyRange<u64>) -> Result<(), AllocError> {
        let (first, size) = sized(&addresses)?;
        // SAFETY: the space was created.
        allocation(unsafe { sys::lath_space_reserve(self.raw(), first, size, 0) })
    }

    /// Frees these addresses, as [`free`](Self::free).
    ///
    /// ```
    /// let space = lathwork::RangeAllocator::new(0..1000, 1).unwrap();
    /// space.reserve(100..200).unwrap();
    /// space.free_range(120..130).unwrap();
    /// assert_eq!(space.allocated(), 90);
    /// ```
    pub fn free_range(&self, addresses: impl KeyRange<u64>) -> Result<(), AllocError> {
        let (first, size) = sized(&addresses)?;
        self.free(first, size)
    }

    /// Frees `size` addresses from `first` on, once: a second free of a block may be taken, and
    /// give it to two owners ([`Options::exact`] refuses it). One allocation, several that touch, or
    /// a part of one. If a part of them is not allocated, that part's surroundings are unchanged; magazines
    /// of blocks may see that later only.
    pub fn free(&self, first: u64, size: u64) -> Result<(), AllocError> {
        // SAFETY: the space was created.
        allocation(unsafe { sys::lath_space_free(self.raw(), first, size) })
    }

    /// As [`alloc`](Self::alloc), freed when the result is dropped.
    pub fn hold(&self, size: u64, align: u64) -> Result<Held<'_>, AllocError> {
        let first = self.alloc(size, align)?;
        Ok(Held { of: self, first, size })
    }

    /// The number of addresses that are allocated.
    pub fn allocated(&self) -> u64 {
        let mut stats = sys::lath_space_stats::default();
        // SAFETY: the space was created; the pointer is valid.
        unsafe { sys::lath_space_get_stats(self.raw(), &mut stats) };
        stats.allocated
    }

    /// The longest runs of allocated addresses, in order.
    pub fn taken(&self) -> Runs<'_> {
        Runs { of: self, next: sys::lath_space_next, from: Some(0) }
    }

    /// The longest runs of free addresses, in order.
    pub fn holes(&self) -> Runs<'_> {
        Runs { of: self, next: sys::lath_space_next_free, from: Some(0) }
    }

    /// Gives up what is cached for later allocations.
    pub fn trim(&self) {
        // SAFETY: the space was created.
        unsafe { sys::lath_space_trim(self.raw()) };
    }
}

/// First address and number of addresses.
fn sized(addresses: &impl KeyRange<u64>) -> Result<(u64, u64), AllocError> {
    let (first, last) = words(addresses).ok_or(AllocError::Invalid)?;
    let size = (last - first).checked_add(1).ok_or(AllocError::Invalid)?;
    Ok((first, size))
}

impl fmt::Debug for RangeAllocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.taken()).finish()
    }
}

/// Addresses that are freed when this is dropped.
#[derive(Debug)]
pub struct Held<'a> {
    of: &'a RangeAllocator,
    first: u64,
    size: u64,
}

impl Held<'_> {
    /// The addresses.
    pub fn range(&self) -> RangeInclusive<u64> {
        self.first..=self.first + (self.size - 1)
    }

    /// Keeps them allocated. Returns the first.
    pub fn leak(self) -> u64 {
        let first = self.first;
        mem::forget(self);
        first
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // a free that needs memory and finds none leaves the addresses allocated
        let _ = self.of.free(self.first, self.size);
    }
}

type Next = unsafe extern "C" fn(*mut sys::lath_space, u64, *mut lath_item) -> sys::c_int;

/// Runs of addresses in order.
pub struct Runs<'a> {
    of: &'a RangeAllocator,
    next: Next,
    from: Option<u64>,
}

impl Iterator for Runs<'_> {
    type Item = RangeInclusive<u64>;

    fn next(&mut self) -> Option<RangeInclusive<u64>> {
        let mut run = lath_item::default();
        // SAFETY: the space was created; the pointer is valid.
        if !found(unsafe { (self.next)(self.of.raw(), self.from?, &mut run) }) {
            self.from = None;
            return None;
        }
        let range = run.key..=last_of(&run);
        self.from = range.end().checked_add(1);
        Some(range)
    }
}

impl FusedIterator for Runs<'_> {}
