// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Maps of `Copy` values beside maps of the same values in nodes.
use lathwork::{Options, PointMap, RangeMap};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Some bytes of it are of no part.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Uneven(u8, u64, Option<u16>);

/// One call; what it returns, as a text.
fn call<V>(map: &mut PointMap<u8, V>, step: u8, key: u8, value: V) -> String
where
    V: Copy + PartialEq + std::fmt::Debug,
{
    match step % 11 {
        0 => format!("{:?}", map.insert(key, value)),
        1 => format!("{:?}", map.try_insert(key, value).map_err(|e| e.value)),
        2 => format!("{:?}", map.remove(key)),
        3 => format!("{:?}", map.update(key, |_| value)),
        4 => format!("{:?}", map.replace(key, value)),
        5 => format!("{:?}", map.pop_first()),
        6 => format!("{:?}", map.take(key)),
        7 => format!("{:?}", map.extract_if(key.., |_, v| *v == value).count()),
        8 => format!("{:?}", map.range(key..).collect::<Vec<_>>()),
        9 => format!("{:?}", map.values().copied().rev().collect::<Vec<_>>()),
        _ => format!("{:?}", map.get(key)),
    }
}

fn points<V: Copy + PartialEq + std::fmt::Debug>(steps: &[(u8, u8, u8)], make: fn(u8) -> V) {
    let mut copies = PointMap::<u8, V>::of_copies();
    let mut nodes = PointMap::<u8, V>::new();
    for &(step, key, n) in steps {
        if step > 240 {
            // into one of the other kind, and back
            let (mut high, mut other) = (copies.split_off(key).unwrap(), PointMap::new());
            other.append(&mut high).unwrap();
            assert!(high.is_empty() && other == nodes.split_off(key).unwrap());
            copies.append(&mut other).unwrap();
            nodes.append(&mut copies.clone()).unwrap();
        }
        let ours = call(&mut copies, step, key, make(n));
        assert_eq!(ours, call(&mut nodes, step, key, make(n)));
        assert!(copies == nodes && copies.clone() == nodes);
    }
    copies.verify().unwrap();
    assert!(copies.into_iter().eq(nodes));
}

fn ranges<V: Copy + PartialEq + std::fmt::Debug>(steps: &[(u8, u8, u8)], make: fn(u8) -> V) {
    let mut copies = RangeMap::<u8, V>::of_copies();
    let mut nodes = RangeMap::<u8, V>::new();
    for &(step, key, n) in steps {
        let (value, keys) = (make(n % 2), key..=key.saturating_add(n % 40));
        for map in [&copies, &nodes] {
            match step % 5 {
                0 | 1 => map.insert(keys.clone(), value).unwrap(),
                2 => map.insert_merged(keys.clone(), value).unwrap(),
                3 => map.remove(keys.clone()).unwrap(),
                _ => drop(map.remove_covering(key)),
            }
        }
        assert_eq!(copies, nodes);
    }
    let high = (copies.split_off(100).unwrap(), nodes.split_off(100).unwrap());
    assert_eq!(high.0, high.1);
    assert_eq!(copies.take_starting(7), nodes.take_starting(7));
    copies.verify().unwrap();
    assert!(copies.into_iter().eq(nodes));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn copies_are_as_nodes(steps in proptest::collection::vec(any::<(u8, u8, u8)>(), 1..120)) {
        macro_rules! sizes {
            ($($size:literal)*) => {$(
                points::<[u8; $size]>(&steps, |n| [n; $size]);
                ranges::<[u8; $size]>(&steps, |n| [n; $size]);
            )*};
        }
        sizes!(1 3 8 9 16 17 24 40 64 65);
        points::<u64>(&steps, u64::from);
        points::<Uneven>(&steps, |n| Uneven(n, 7, (n > 9).then(|| n.into())));
        ranges::<Uneven>(&steps, |n| Uneven(n, 7, (n > 0).then(|| n.into())));
        points::<Option<u32>>(&steps, |n| (n > 100).then(|| n.into()));
        points::<(&str, u8)>(&steps, |n| (["a", "bc"][usize::from(n % 2)], n));
    }
}

#[test]
fn a_value_is_read_as_one() {
    let (map, stop) = (PointMap::<u32, [u64; 8]>::of_copies(), AtomicBool::new(false));
    std::thread::scope(|s| {
        for thread in 0..2u64 {
            let (map, stop) = (&map, &stop);
            s.spawn(move || {
                for n in 0..40_000 {
                    let key = (n % 64) as u32;
                    map.insert(key, [n + thread; 8]).unwrap();
                    map.update(key, |old| [old[7] + 1; 8]).unwrap();
                    if n % 5 == 0 {
                        map.remove(key);
                    }
                }
                stop.store(true, Relaxed);
            });
        }
        s.spawn(|| {
            while !stop.load(Relaxed) {
                for (key, value) in &map {
                    assert_eq!(*value, [value[0]; 8]);
                    assert!(map.get(key).map_or(true, |now| *now == [now[3]; 8]));
                }
            }
        });
    });
}

#[test]
fn a_copy_outlives_its_entry() {
    let map = PointMap::of_copies();
    map.insert(1, [5u64; 4]).unwrap();
    let found = map.get(1).unwrap();
    map.insert(1, [6; 4]).unwrap();
    let again = lathwork::Ref::clone(&found);
    map.remove(1);
    assert_eq!((*found, *again), ([5; 4], [5; 4]));
}

/// The system's allocator, which counts blocks.
struct Counting(AtomicUsize);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.fetch_add(1, Relaxed);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        System.dealloc(block, layout);
    }
}

#[test]
fn copies_are_no_blocks() {
    static COUNTING: Counting = Counting(AtomicUsize::new(0));
    let map = PointMap::try_of_copies(Options::new().memory(&COUNTING)).unwrap();
    for key in 0..10_000u64 {
        map.insert(key, [key; 4]).unwrap();
    }
    assert_eq!(*map.get(77).unwrap(), [77; 4]);
    assert!(COUNTING.0.load(Relaxed) < 1000);
}
