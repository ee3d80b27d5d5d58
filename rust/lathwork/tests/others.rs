// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! IntervalMap, RangeAllocator and RangeLocks beside plain code.
use std::cell::UnsafeCell;
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

mod common;
use common::check;

use lathwork::{
    AllocError, IntervalMap, NotLocked, Options, Policy, RangeAllocator, RangeLocks, Reason,
};

/// Keys that meet each other, at both ends of all keys and between.
fn key(n: u16) -> u64 {
    let few = u64::from(n / 6 % 300);
    match n % 6 {
        0..=3 => few,
        4 => u64::MAX - few,
        _ => u64::from(n) << 48 | few,
    }
}

#[test]
fn intervals() {
    fn property(set: Vec<(u16, u16, u8)>, at: Vec<(u16, u16)>) {
        let map = IntervalMap::new();
        let mut model: Vec<(RangeInclusive<u64>, u8)> = Vec::new();
        for (i, &(first, more, value)) in set.iter().enumerate() {
            let (first, value) = (key(first), value % 4);
            let keys = first..=first.saturating_add((more % 1000).into());
            map.insert(keys.clone(), value).unwrap();
            model.push((keys, value));
            if i % 3 == 2 {
                let (keys, value) = model.swap_remove(i % model.len());
                assert!(map.remove(keys.clone(), &value));
                assert!(model.contains(&(keys.clone(), value)) || !map.remove(keys, &value));
            }
        }
        let copy = |(range, value): (_, lathwork::Ref<'_, u8>)| (range, *value);
        let sorted = |found: &mut dyn Iterator<Item = (RangeInclusive<u64>, u8)>| {
            let mut found: Vec<_> = found.map(|(r, v)| (*r.start(), *r.end(), v)).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(sorted(&mut map.iter().map(copy)), sorted(&mut model.iter().cloned()));
        assert_eq!(map.len(), model.len());
        for (a, b) in at.into_iter().take(20) {
            let (a, b) = (key(a), key(b));
            let stabbed = |r: &RangeInclusive<u64>| r.contains(&a);
            let met = |r: &RangeInclusive<u64>| a <= b && *r.start() <= b && a <= *r.end();
            let inside = |r: &RangeInclusive<u64>| a <= *r.start() && *r.end() <= b;
            assert_eq!(
                sorted(&mut map.stab(a).map(copy)),
                sorted(&mut model.iter().filter(|e| stabbed(&e.0)).cloned())
            );
            assert_eq!(
                sorted(&mut map.overlapping(a..=b).map(copy)),
                sorted(&mut model.iter().filter(|e| met(&e.0)).cloned())
            );
            assert_eq!(
                sorted(&mut map.within(a..=b).map(copy)),
                sorted(&mut model.iter().filter(|e| inside(&e.0)).cloned())
            );
            assert_eq!(
                map.count_overlapping(a..=b),
                model.iter().filter(|e| met(&e.0)).count() as u64
            );
            assert_eq!(map.nearest(a).is_some(), !model.is_empty());
        }
    }
    check(100, 200, property as fn(_, _));
}

#[test]
fn allocations() {
    fn property(steps: Vec<(u8, u8, bool)>) {
        let space = RangeAllocator::new(4096..=4096 * 513 - 1, 4096).unwrap();
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for &(pages, align, free) in &steps {
            let (pages, align) = (u64::from(pages % 19 + 1), align % 5);
            if free && !taken.is_empty() {
                let (first, size) = taken.swap_remove(pages as usize % taken.len());
                space.free(first, size).unwrap();
                continue;
            }
            let (size, align) = (4096 * pages, 4096u64 << align);
            if let Ok(first) = space.alloc(size, align) {
                assert!(first % align == 0 && first >= 4096 && first + size <= 4096 * 513);
                assert!(taken.iter().all(|&(f, s)| first + size <= f || f + s <= first));
                taken.push((first, size));
            }
        }
        let sum: u64 = taken.iter().map(|entry| entry.1).sum();
        assert_eq!(space.allocated(), sum);
        let keys = |runs: lathwork::Runs<'_>| runs.map(|r| r.end() - r.start() + 1).sum::<u64>();
        assert_eq!(keys(space.taken()), sum);
        assert_eq!(keys(space.holes()), 4096 * 512 - sum);
    }
    check(100, 300, property as fn(_));
}

/// Blocks of one size at multiples of it: there is room as long as a place is free.
#[test]
fn blocks_of_one_size() {
    fn property(order: u8, steps: Vec<(u8, usize)>) {
        let space = RangeAllocator::new(4096..=4096 * 513 - 1, 4096).unwrap();
        let (size, mut taken) = (4096u64 << (order % 7), Vec::new());
        let places = 4096 * 513 / size - 1;
        for &(what, which) in &steps {
            if what % 4 == 0 && !taken.is_empty() {
                space.free(taken.swap_remove(which % taken.len()), size).unwrap();
                continue;
            }
            let first = space.alloc(size, size);
            assert_eq!(first.is_ok(), (taken.len() as u64) < places);
            taken.extend(first);
        }
        assert_eq!(space.allocated(), size * taken.len() as u64);
    }
    check(60, 900, property as fn(_, _));
}

/// The place that a search of all addresses finds.
#[test]
fn policies() {
    fn property(steps: Vec<(u8, u8, u8, u16)>) {
        let space = RangeAllocator::try_with(0..600, 1, Options::new().exact()).unwrap();
        let (mut free, mut taken) = ([true; 600], Vec::new());
        for (what, size, align, at) in steps {
            let (what, size, align) = (what % 7, u64::from(size % 39 + 1), align % 4);
            let at = u64::from(at % 600);
            if what == 0 && !taken.is_empty() {
                let (first, size): (u64, u64) = taken.swap_remove(at as usize % taken.len());
                space.free(first, size).unwrap();
                (first..first + size).for_each(|address| free[address as usize] = true);
                continue;
            }
            let (policy, align) = match what {
                0 | 1 => (Policy::First, 1 << align),
                2 => (Policy::Last, 1 << align),
                3 => (Policy::Next(at), 1 << align),
                4 => (Policy::Near(at), 1 << align),
                5 => (Policy::Exact(at), 1),
                _ => (Policy::Best, 1), // with an alignment it need not be the shortest
            };
            let fits = |first: u64| {
                first % align == 0
                    && first + size <= 600
                    && (first..first + size).all(|address| free[address as usize])
            };
            let hole = |first: u64| {
                let before = (0..first).rev().take_while(|&a| free[a as usize]).count();
                before + (first..600).take_while(|&a| free[a as usize]).count()
            };
            let mut all = (0..600).filter(|&first| fits(first));
            let expected = match policy {
                Policy::First => all.next(),
                Policy::Last => all.next_back(),
                Policy::Next(from) => (from..600).find(|&first| fits(first)).or_else(|| all.next()),
                Policy::Near(to) => all.min_by_key(|&first| first.abs_diff(to)),
                Policy::Exact(at) => Some(at).filter(|&at| fits(at)),
                _ => all.min_by_key(|&first| hole(first)),
            };
            let found = space.alloc_by(policy, .., size, align).ok();
            if let (Policy::Near(to), Some(expected), Some(found)) = (policy, expected, found) {
                // of two at the same distance either
                assert!(fits(found));
                assert_eq!(found.abs_diff(to), expected.abs_diff(to));
            } else {
                assert_eq!(found, expected, "{:?} of {} at {}", policy, size, align);
            }
            if let Some(first) = found {
                (first..first + size).for_each(|address| free[address as usize] = false);
                taken.push((first, size));
            }
        }
    }
    check(30, 120, property as fn(_));
}

#[test]
fn what_is_refused() {
    #[allow(clippy::reversed_empty_ranges)]
    let empty = 5..=4;
    let refused = IntervalMap::<u64, u8>::new().insert(empty.clone(), 1).unwrap_err();
    assert_eq!(refused.reason, Reason::Empty);
    assert!(RangeAllocator::new(empty, 1).is_err());
    let space = RangeAllocator::new(0..=u64::MAX, 1).unwrap();
    assert!(space.reserve(u64::MAX..=u64::MAX).is_ok());
    assert_eq!(space.reserve(7..=u64::MAX), Err(AllocError::Taken));
    assert_eq!(space.alloc(0, 0), Err(AllocError::Invalid));
    assert_eq!(space.alloc_within(16..=31, 17, 0), Err(AllocError::NoSpace));
    let held = space.hold(10, 0).unwrap();
    let first = *held.range().start();
    assert_eq!(space.allocated(), 11);
    drop(held);
    assert_eq!(space.allocated(), 1);
    assert!(space.reserve(first..=first + 9).is_ok());
}

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
