// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Values are dropped once: by threads, with readers, in sections, in a panic.
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{mpsc, Arc, Barrier};
use std::thread;

use lathwork::{BytesMap, IntervalMap, PointMap, RangeAllocator, RangeMap, RangeSet};

/// Counts those that live, and is recognised.
struct Counted {
    alive: Arc<AtomicUsize>,
    value: u64,
    check: u64,
    bomb: bool,
}

impl Counted {
    fn new(alive: &Arc<AtomicUsize>, value: u64) -> Self {
        alive.fetch_add(1, SeqCst);
        Counted { alive: alive.clone(), value, check: !value, bomb: false }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Counted::new(&self.alive, self.value)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert_eq!(self.check, !self.value);
        self.check = 0;
        self.alive.fetch_sub(1, SeqCst);
        if self.bomb && !thread::panicking() {
            panic!("a drop that panics");
        }
    }
}

#[test]
fn at_the_end_of_the_map() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut map = RangeMap::new();
    for i in 0..1000 {
        map.insert(10 * i..=10 * i + 5, Counted::new(&alive, i)).unwrap();
    }
    assert!(map.try_insert(13..=13, Counted::new(&alive, 13)).is_err());
    assert_eq!(alive.load(SeqCst), 1000);
    for i in 0..10 {
        assert_eq!(map.remove_starting(10 * i).unwrap().1.value, i);
    }
    let (range, value) = map.take_starting(500).unwrap();
    assert_eq!((range, value.value), (500..=505, 50));
    drop(value);
    assert!(map.replace(600, Counted::new(&alive, 7)).is_ok());
    assert!(map.replace(601, Counted::new(&alive, 8)).is_err());
    drop(map);
    assert_eq!(alive.load(SeqCst), 0);
}

#[test]
fn of_shared_values() {
    let value = Arc::new(5u32);
    let map = PointMap::new();
    for key in 0..100 {
        map.insert(key, value.clone()).unwrap();
    }
    assert_eq!(Arc::strong_count(&value), 101);
    for key in 0..50 {
        map.remove(key);
    }
    drop(map);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn not_while_it_is_looked_at() {
    let alive = Arc::new(AtomicUsize::new(0));
    let map = RangeMap::new();
    map.insert(1..=1, Counted::new(&alive, 1)).unwrap();
    let held = map.get(1).unwrap();
    assert!(map.remove_starting(1).is_some());
    for i in 0..1000 {
        map.insert(5..=5, Counted::new(&alive, i)).unwrap();
        map.remove_starting(5);
    }
    thread::sleep(std::time::Duration::from_millis(100));
    map.reclaim();
    assert!(alive.load(SeqCst) > 0);
    assert_eq!((held.value, held.check), (1, !1));
    let again = held.clone();
    drop(held);
    assert_eq!(again.value, 1);
    drop(again);
    // the others are dropped after a while
    for _ in 0..5000 {
        map.reclaim();
        if alive.load(SeqCst) == 0 {
            return;
        }
        thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("{} values live", alive.load(SeqCst));
}

#[test]
fn of_containers_in_a_section() {
    let alive = Arc::new(AtomicUsize::new(0));
    let outer = PointMap::new();
    outer.insert(1, Box::new(1u8)).unwrap();
    let in_section = outer.get(1).unwrap();

    let inner = RangeMap::new();
    inner.insert(1..=2, Counted::new(&alive, 1)).unwrap();
    inner.insert(3..=4, Counted::new(&alive, 3)).unwrap();
    inner.remove_starting(1);
    drop(inner); // would wait for the section of this thread
    assert_eq!(alive.load(SeqCst), 0);
    drop(RangeSet::<u64>::new());
    let intervals = IntervalMap::new();
    intervals.insert(1..=2, 3u8).unwrap();
    drop(intervals);
    let space = RangeAllocator::new(0..=99, 1).unwrap();
    space.alloc(5, 0).unwrap();
    drop(space);
    assert_eq!(**in_section, 1);
    drop(in_section);
    drop(outer);
}

#[test]
fn of_maps_in_maps() {
    let alive = Arc::new(AtomicUsize::new(0));
    let outer = RangeMap::new();
    for i in 0..200 {
        let inner = PointMap::new();
        inner.insert(i, Counted::new(&alive, i)).unwrap();
        outer.insert(i..=i, inner).unwrap();
    }
    for i in 0..150 {
        let (_, inner) = outer.remove_starting(i).unwrap();
        assert_eq!(inner.get(i).unwrap().value, i);
    }
    drop(outer);
    assert_eq!(alive.load(SeqCst), 0);
}

#[test]
fn one_that_panics() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut map = RangeMap::new();
    for i in 0..50 {
        let mut value = Counted::new(&alive, i);
        value.bomb = i == 7;
        map.insert(i..=i, value).unwrap();
    }
    let taken = catch_unwind(AssertUnwindSafe(|| drop(map.take_starting(7))));
    assert!(taken.is_err());
    assert_eq!(map.len(), 49);
    map.verify().unwrap();

    let mut value = Counted::new(&alive, 7);
    value.bomb = true;
    map.insert(7..=7, value).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| map.clear())).is_err());
    assert_eq!((map.len(), alive.load(SeqCst)), (0, 0));
    drop(map);
}

/// Of keys that are alone with their first eight bytes, that share them, and that have a tree of their
/// own; as many as are read ahead, and one more or less.
#[test]
fn of_bytes() {
    for n in [0, 1, 31, 32, 33, 64, 65, 1000] {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut map = BytesMap::new();
        let fill = |map: &BytesMap<String, Counted>, bomb| {
            for i in 0..n {
                let mut value = Counted::new(&alive, i);
                value.bomb = i == bomb;
                let before = if i % 2 == 0 { "a" } else { "eight bytes and more: " };
                map.insert(format!("{before}{i}"), value).unwrap();
            }
            assert_eq!(alive.load(SeqCst) as u64, n);
        };
        fill(&map, n);
        map.clear();
        map.verify().unwrap();
        assert_eq!((map.len(), alive.load(SeqCst)), (0, 0));

        fill(&map, n / 2);
        let cleared = catch_unwind(AssertUnwindSafe(|| map.clear()));
        assert_eq!(cleared.is_err(), n > 0);
        assert_eq!((map.len(), alive.load(SeqCst)), (0, 0));

        fill(&map, n);
        drop(map);
        assert_eq!(alive.load(SeqCst), 0);
    }
}

#[test]
fn by_threads() {
    let alive = Arc::new(AtomicUsize::new(0));
    let map = RangeMap::<u64, Counted>::new();
    let start = Barrier::new(3);
    thread::scope(|s| {
        for thread in 0..2u64 {
            let (map, start, alive) = (&map, &start, &alive);
            s.spawn(move || {
                start.wait();
                let mut random = thread + 1;
                for _ in 0..20000 {
                    random =
                        random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let key = (random >> 33) % 500;
                    if random >> 63 == 0 {
                        let _ = map.try_insert(4 * key..=4 * key + 2, Counted::new(alive, key));
                    } else if let Some((range, value)) = map.remove_starting(4 * key) {
                        assert_eq!(
                            (*range.start(), value.value, value.check),
                            (4 * key, key, !key)
                        );
                    }
                }
            });
        }
        start.wait();
        for round in 0..20000u64 {
            if let Some(value) = map.get(round % 2000) {
                assert_eq!((value.value, value.check), (round % 2000 / 4, !(round % 2000 / 4)));
            }
            if round % 1000 == 0 {
                let mut last = None;
                for (range, value) in &map {
                    assert!(last < Some(*range.start()) && value.check == !value.value);
                    last = Some(*range.end());
                }
            }
        }
    });
    let left = map.len();
    drop(map);
    assert!(left <= 500);
    assert_eq!(alive.load(SeqCst), 0);
}

#[test]
fn send_and_sync() {
    fn both<T: Send + Sync>() {}
    both::<RangeMap<u64, Box<u8>>>();
    both::<RangeSet<u32>>();
    both::<PointMap<u8, &'static str_box::Str>>();
    both::<IntervalMap<u64, String>>();
    both::<RangeAllocator>();
    let map = PointMap::new();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        map.insert(1, Box::new(2u8)).unwrap();
        sender.send(map).unwrap();
    });
    assert_eq!(**receiver.recv().unwrap().get(1).unwrap(), 2);
}

mod str_box {
    pub struct Str;
}
