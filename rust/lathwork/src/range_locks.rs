// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Locks on ranges of keys.
use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::ops::RangeInclusive;
use core::ptr::NonNull;
use core::time::Duration;

use lathwork_sys as sys;

use crate::key::{words, Key, KeyRange};
use crate::memory::NoMemory;

/// Why a range was not locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotLocked {
    /// It has no keys, or [`resize`](RangeGuard::resize) was asked for one without a key in common.
    Empty,
    /// It would have to wait, or the time is over.
    Busy,
    /// Its owner would wait for itself, directly or through others
    /// ([`with_deadlocks`](RangeLocks::with_deadlocks)).
    Deadlock,
}

impl fmt::Display for NotLocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotLocked::Empty => "the range has no keys",
            NotLocked::Busy => "the range is locked",
            NotLocked::Deadlock => "the thread would wait for itself",
        })
    }
}

impl std::error::Error for NotLocked {}

/// Locks on ranges of keys: threads hold ranges that do not overlap, or share them, each as long as
/// its guard lives. Who waits is not overtaken by later ones.
///
/// A guard is a box of 160 bytes. A thread may hold several, but one that holds a range and waits
/// for another may wait for ever, whatever the order: make the locks
/// [`with_deadlocks`](Self::with_deadlocks), or use [`try_lock`](Self::try_lock).
///
/// ```
/// use lathwork::{NotLocked, RangeLocks};
///
/// let locks = RangeLocks::new();
/// let mine = locks.lock(4096..12288u64).unwrap();
/// assert_eq!(locks.try_lock(0..=4096).err(), Some(NotLocked::Busy));
/// let other = locks.lock_shared(12288..).unwrap();
/// drop(mine); // unlocks
/// assert!(locks.try_lock(0..=4096).is_ok());
/// # drop(other);
/// ```
pub struct RangeLocks<K: Key> {
    locks: NonNull<sys::lath_range_locks>, // a box: its address stays
    keys: PhantomData<fn(K)>,
}

// The calls of the library may be made by several threads at once.
unsafe impl<K: Key> Send for RangeLocks<K> {}
unsafe impl<K: Key> Sync for RangeLocks<K> {}

impl<K: Key> RangeLocks<K> {
    /// Locks for ranges of which most have one key.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn new() -> Self {
        Self::with_usual(1)
    }

    /// Locks for ranges of which most have at most this many keys: these cost least, and larger ones
    /// more. The other way round, ranges within this many keys of each other may meet in memory.
    ///
    /// # Panics
    /// If there is no memory.
    pub fn with_usual(keys: u64) -> Self {
        Self::try_with(keys, false).expect("lathwork")
    }

    /// The same; a call that closes a cycle of threads that wait for each other fails with
    /// [`NotLocked::Deadlock`].
    ///
    /// # Panics
    /// If there is no memory.
    pub fn with_deadlocks(usual: u64) -> Self {
        Self::try_with(usual, true).expect("lathwork")
    }

    /// As [`with_usual`](Self::with_usual) or [`with_deadlocks`](Self::with_deadlocks).
    pub fn try_with(usual: u64, deadlocks: bool) -> Result<Self, NoMemory> {
        let config = sys::lath_range_config {
            size: core::mem::size_of::<sys::lath_range_config>(),
            flags: if deadlocks { sys::LATH_RANGE_DEADLOCKS } else { 0 },
            usual,
            ..Default::default()
        };
        let locks = boxed(sys::lath_range_locks::default());
        match unsafe { sys::lath_range_locks_init(locks.as_ptr(), &config) } {
            0 => Ok(RangeLocks { locks, keys: PhantomData }),
            _ => {
                unsafe { drop(Box::from_raw(locks.as_ptr())) }
                Err(NoMemory)
            }
        }
    }

    /// Waits for the range, and holds it alone.
    pub fn lock(&self, range: impl KeyRange<K>) -> Result<RangeGuard<'_, K>, NotLocked> {
        self.get(range, sys::LATH_EXCLUSIVE_RANGE, u64::MAX)
    }

    /// Waits for the range, and holds it beside others that share it.
    pub fn lock_shared(&self, range: impl KeyRange<K>) -> Result<RangeGuard<'_, K>, NotLocked> {
        self.get(range, sys::LATH_SHARED_RANGE, u64::MAX)
    }

    /// As [`lock`](Self::lock), but does not wait.
    pub fn try_lock(&self, range: impl KeyRange<K>) -> Result<RangeGuard<'_, K>, NotLocked> {
        self.get(range, sys::LATH_EXCLUSIVE_RANGE, 0)
    }

    /// As [`lock_shared`](Self::lock_shared), but does not wait.
    pub fn try_lock_shared(&self, range: impl KeyRange<K>) -> Result<RangeGuard<'_, K>, NotLocked> {
        self.get(range, sys::LATH_SHARED_RANGE, 0)
    }

    /// As [`lock`](Self::lock), but waits at most so long.
    pub fn lock_for(
        &self, range: impl KeyRange<K>, most: Duration,
    ) -> Result<RangeGuard<'_, K>, NotLocked> {
        self.get(range, sys::LATH_EXCLUSIVE_RANGE, nanoseconds(most))
    }

    /// As [`lock_shared`](Self::lock_shared), but waits at most so long.
    pub fn lock_shared_for(
        &self, range: impl KeyRange<K>, most: Duration,
    ) -> Result<RangeGuard<'_, K>, NotLocked> {
        self.get(range, sys::LATH_SHARED_RANGE, nanoseconds(most))
    }

    fn get(
        &self, range: impl KeyRange<K>, mode: sys::c_int, nanoseconds: u64,
    ) -> Result<RangeGuard<'_, K>, NotLocked> {
        let (first, last) = words(&range).ok_or(NotLocked::Empty)?;
        let hold = boxed(sys::lath_range_hold::default());
        let (locks, at) = (self.locks.as_ptr(), hold.as_ptr());
        match unsafe { sys::lath_range_lock_for(locks, at, first, last, mode, nanoseconds, 0) } {
            0 => Ok(RangeGuard { locks: self, hold }),
            error => {
                unsafe { drop(Box::from_raw(at)) } // it is in no list
                Err(why(error))
            }
        }
    }
}

impl<K: Key> Default for RangeLocks<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key> fmt::Debug for RangeLocks<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeLocks").finish_non_exhaustive()
    }
}

// No guard lives, since each borrows the locks; a guard that was forgotten keeps its box.
impl<K: Key> Drop for RangeLocks<K> {
    fn drop(&mut self) {
        unsafe {
            sys::lath_range_locks_fini(self.locks.as_ptr());
            drop(Box::from_raw(self.locks.as_ptr()));
        }
    }
}

/// A box that others have the address of: as a pointer, so that moving it says nothing of its memory.
fn boxed<T>(value: T) -> NonNull<T> {
    NonNull::from(Box::leak(Box::new(value)))
}

fn nanoseconds(most: Duration) -> u64 {
    most.as_nanos().min(u64::MAX.into()) as u64
}

fn why(error: sys::c_int) -> NotLocked {
    match -error {
        sys::EINVAL => NotLocked::Empty,
        sys::EDEADLK => NotLocked::Deadlock,
        _ => NotLocked::Busy,
    }
}

/// A range of [`RangeLocks`] that is held until the guard is dropped, by the thread that locked it.
#[must_use = "the range is unlocked when its guard is dropped"]
pub struct RangeGuard<'a, K: Key> {
    locks: &'a RangeLocks<K>,
    hold: NonNull<sys::lath_range_hold>, // a box in lists of the locks: its address stays
}

// All methods that change the hold take it alone. Not Send: a range is its thread's, which must not
// seem to wait for itself when another one has the guard.
unsafe impl<K: Key> Sync for RangeGuard<'_, K> {}

impl<K: Key> RangeGuard<'_, K> {
    /// The keys that it holds.
    pub fn range(&self) -> RangeInclusive<K> {
        // written by this guard's methods only
        let (first, last) = unsafe { ((*self.hold.as_ptr()).first, (*self.hold.as_ptr()).last) };
        K::from_word(first)..=K::from_word(last)
    }

    /// Shares the range from now on, without an instant in between at which it is free.
    pub fn downgrade(&mut self) {
        unsafe { sys::lath_range_downgrade(self.locks.locks.as_ptr(), self.hold.as_ptr()) }
    }

    /// Changes the bounds. Keys that it gives up are free at once. If those that it gains are held or
    /// waited for it fails with [`NotLocked::Busy`]; locks made
    /// [`with_deadlocks`](RangeLocks::with_deadlocks) wait for them, and hold the others in the meantime.
    /// If it fails the range is as it was.
    pub fn resize(&mut self, range: impl KeyRange<K>) -> Result<(), NotLocked> {
        let (first, last) = words(&range).ok_or(NotLocked::Empty)?;
        let size = (last - first).wrapping_add(1); // of all keys: 0
        let done = unsafe {
            sys::lath_range_resize(self.locks.locks.as_ptr(), self.hold.as_ptr(), first, size)
        };
        if done == 0 {
            Ok(())
        } else {
            Err(why(done))
        }
    }
}

impl<K: Key + fmt::Debug> fmt::Debug for RangeGuard<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RangeGuard").field(&self.range()).finish()
    }
}

impl<K: Key> Drop for RangeGuard<'_, K> {
    fn drop(&mut self) {
        unsafe {
            sys::lath_range_unlock(self.locks.locks.as_ptr(), self.hold.as_ptr());
            drop(Box::from_raw(self.hold.as_ptr()));
        }
    }
}
