// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Locks on ranges: what excludes what, what a guard gives back, and counters that they protect.
use std::cell::UnsafeCell;
use std::thread;
use std::time::{Duration, Instant};

use lathwork::{NotLocked, RangeLocks};

fn is_free(locks: &RangeLocks<u64>, range: std::ops::RangeInclusive<u64>) -> bool {
    locks.try_lock(range).is_ok()
}

#[test]
fn guards_hold_and_give_back() {
    let locks = RangeLocks::with_usual(16);
    let mut mine = locks.lock(10..20u64).unwrap();
    assert_eq!(mine.range(), 10..=19);
    assert_eq!(format!("{mine:?}"), "RangeGuard(10..=19)");
    assert!(!is_free(&locks, 19..=19) && is_free(&locks, 20..=u64::MAX));
    assert_eq!(locks.try_lock_shared(0..11).err(), Some(NotLocked::Busy));
    let begin = Instant::now();
    assert_eq!(locks.lock_for(0..11, Duration::from_millis(20)).err(), Some(NotLocked::Busy));
    assert!(begin.elapsed() >= Duration::from_millis(20));
    mine.downgrade();
    assert!(locks.lock_shared_for(.., Duration::ZERO).is_ok() && !is_free(&locks, 15..=15));
    mine.resize(15..=2000).unwrap();
    assert!(is_free(&locks, 10..=14) && !is_free(&locks, 2000..=2000));
    assert_eq!(mine.resize(3000..4000), Err(NotLocked::Empty));
    assert_eq!(mine.resize(5..5), Err(NotLocked::Empty));
    assert_eq!(mine.range(), 15..=2000);
    mine.resize(..).unwrap();
    assert_eq!(mine.range(), 0..=u64::MAX);
    assert!(!is_free(&locks, 0..=0));
    drop(mine);
    assert!(is_free(&locks, 0..=u64::MAX));
    assert_eq!(locks.lock(7..7).err(), Some(NotLocked::Empty));
}

#[test]
fn cycles_are_refused() {
    let locks = RangeLocks::with_deadlocks(1);
    let mine = locks.lock('a'..='f').unwrap();
    assert_eq!(locks.lock('f'..='z').err(), Some(NotLocked::Deadlock));
    drop(mine);
    assert!(locks.lock('f'..='z').is_ok());
}

struct Counters(Vec<UnsafeCell<u64>>);

unsafe impl Sync for Counters {}

#[test]
fn threads_take_turns() {
    let locks = RangeLocks::with_usual(8);
    let counters = Counters((0..100).map(|_| UnsafeCell::new(0)).collect());
    let (locks, all) = (&locks, &counters);
    thread::scope(|scope| {
        for t in 0..4u64 {
            scope.spawn(move || {
                for i in 0..2000u64 {
                    let first = (i * 7 + t * 13) % 90;
                    let guard = locks.lock(first..first + 1 + i % 10).unwrap();
                    for k in guard.range() {
                        // alone: the range is held
                        unsafe { *all.0[k as usize].get() += 1 }
                    }
                }
            });
        }
    });
    let sum: u64 = counters.0.into_iter().map(UnsafeCell::into_inner).sum();
    assert_eq!(sum, 4 * 200 * (1..=10).sum::<u64>());
}
