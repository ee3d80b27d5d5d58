// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the tests of crossbeam-skiplist, of the BTreeMap of std and of rangemap look at, beyond the
//! random calls of points.rs, bytes.rs and cuts.rs.
use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::RangeInclusive;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;

use lathwork::{BytesMap, PointMap, RangeMap, RangeSet};

fn bounds(max: u16) -> Vec<Bound<u16>> {
    let each = |key| [Included(key), Excluded(key)];
    let mut all: Vec<_> = (0..max).flat_map(each).collect();
    all.push(Unbounded);
    all
}

fn in_bytes(bound: Bound<u16>) -> Bound<[u8; 2]> {
    match bound {
        Included(key) => Included(key.to_be_bytes()),
        Excluded(key) => Excluded(key.to_be_bytes()),
        Unbounded => Unbounded,
    }
}

/// All pairs of bounds, from both ends; bounds at which BTreeMap panics are empty ranges.
#[test]
fn every_range_of_every_size() {
    for size in [0u16, 1, 2, 7] {
        let model: BTreeMap<u16, u16> = (0..size).map(|n| (n * 2 + 1, n)).collect();
        let map: PointMap<u16, u16> = model.clone().into_iter().collect();
        let bytes: BytesMap<[u8; 2], u16> =
            model.iter().map(|(&key, &n)| (key.to_be_bytes(), n)).collect();
        for low in bounds(size * 2 + 2) {
            for high in bounds(size * 2 + 2) {
                let inside = |key: &u16| {
                    let above = match low {
                        Included(low) => *key >= low,
                        Excluded(low) => *key > low,
                        Unbounded => true,
                    };
                    above
                        && match high {
                            Included(high) => *key <= high,
                            Excluded(high) => *key < high,
                            Unbounded => true,
                        }
                };
                let expected: Vec<u16> = model.keys().copied().filter(inside).collect();
                let ours: Vec<u16> = map.range((low, high)).map(|(key, _)| key).collect();
                assert_eq!(ours, expected, "{:?} to {:?}", low, high);
                let mut back: Vec<u16> = map.range((low, high)).rev().map(|(key, _)| key).collect();
                back.reverse();
                assert_eq!(back, expected);
                let mut both = map.range((low, high));
                let (mut front, mut rear) = (Vec::new(), Vec::new());
                while let Some((key, _)) = both.next() {
                    front.push(key);
                    rear.extend(both.next_back().map(|(key, _)| key));
                }
                assert!(both.next().is_none() && both.next_back().is_none());
                front.extend(rear.into_iter().rev());
                assert_eq!(front, expected);
                let of_bytes = (in_bytes(low), in_bytes(high));
                let ours: Vec<u16> =
                    bytes.range(of_bytes).map(|(key, _)| u16::from_be_bytes(*key)).collect();
                assert_eq!(ours, expected);
            }
        }
    }
}

/// Each place to split at, each pair of maps to append.
#[test]
fn parts_of_maps() {
    for size in [0u32, 1, 2, 33, 200] {
        for at in 0..=size + 1 {
            let mut map: PointMap<u32, String> = (1..=size).map(|n| (n, n.to_string())).collect();
            let mut high = map.split_off(at).unwrap();
            assert!(map.keys().eq(1..at.max(1).min(size + 1)));
            assert!(high.keys().eq(at.max(1)..=size));
            map.append(&mut high).unwrap();
            assert!(high.is_empty() && map.keys().eq(1..=size));
            map.verify().unwrap();
        }
    }
    // of equal keys those of the other map stay
    let mut map: PointMap<u32, u32> = (0..10).map(|n| (n, n)).collect();
    map.append(&mut (5..15).map(|n| (n, n * 10)).collect()).unwrap();
    assert!(map
        .iter()
        .map(|(key, value)| (key, *value))
        .eq((0..15).map(|n| (n, n * (1 + 9 * (n / 5).min(1))))));
}

/// What is not taken of an iterator by value is dropped, and so is the rest when one drop panics.
#[test]
fn what_is_left_of_an_iterator() {
    struct Counted(Arc<AtomicUsize>, bool);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            if self.1 && !thread::panicking() {
                panic!("a drop");
            }
        }
    }
    for panics in [None, Some(3), Some(8)] {
        let dropped = Arc::new(AtomicUsize::new(0));
        let map: PointMap<usize, Counted> =
            (0..10).map(|n| (n, Counted(dropped.clone(), Some(n) == panics))).collect();
        let done = catch_unwind(AssertUnwindSafe(|| {
            let mut entries = map.into_iter();
            assert!(entries.next().is_some() && entries.next_back().is_some());
            assert_eq!(dropped.load(SeqCst), 2);
        }));
        assert_eq!(done.is_err(), panics.is_some());
        assert_eq!(dropped.load(SeqCst), 10);
    }
}

/// A closure that panics has changed nothing, and the map goes on.
#[test]
fn closures_that_panic() {
    let map: PointMap<u32, String> = (0..10).map(|n| (n, n.to_string())).collect();
    let words: BytesMap<&str, String> = BytesMap::new();
    words.insert("one", "1".into()).unwrap();
    fn panics(call: impl FnOnce()) {
        catch_unwind(AssertUnwindSafe(call)).unwrap_err();
    }
    panics(|| drop(map.get_or_insert_with(10, || panic!())));
    panics(|| drop(map.update(3, |_| panic!())));
    panics(|| drop(map.entry(3).and_modify(|_| panic!())));
    panics(|| map.retain(|&key, _| if key < 5 { false } else { panic!() }));
    panics(|| drop(words.get_or_insert_with("two", || panic!())));
    panics(|| drop(words.update("one", |_| panic!())));
    panics(|| words.retain(|_, _| panic!()));
    assert!(map.keys().eq(5..10));
    assert_eq!(*map.get(7).unwrap(), "7");
    assert_eq!((words.len(), words.get("one").unwrap().as_str()), (1, "1"));
    map.insert(3, "new".into()).unwrap();
    assert_eq!(*map.first_key_value().unwrap().1, "new");
}

/// Of threads that insert one key at the same moment one does, and all see its value.
#[test]
fn one_of_many_inserts() {
    for round in 0..200u32 {
        let (map, words) = (PointMap::new(), BytesMap::new());
        let (made, begin) = (AtomicUsize::new(0), Barrier::new(3));
        let seen: Vec<(usize, usize, bool)> = thread::scope(|s| {
            let (map, words, made, begin) = (&map, &words, &made, &begin);
            let race = move |own: usize| {
                begin.wait();
                let value = map.get_or_insert_with(round, || Box::new(own)).unwrap();
                let word = words.get_or_insert_with(round.to_string(), || own);
                let first = map.try_insert(round + 1, Box::new(own)).is_ok();
                made.fetch_add(first as usize, SeqCst);
                let removed = map.remove(round + 1);
                (**value, *word.unwrap(), removed.is_some())
            };
            let threads = [1, 2, 3].map(|own| s.spawn(move || race(own)));
            threads.map(|thread| thread.join().unwrap()).to_vec()
        });
        let (value, word, _) = seen[0];
        assert!(seen.iter().all(|seen| (seen.0, seen.1) == (value, word)));
        assert_eq!(
            (**map.get(round).unwrap(), *words.get(&round.to_string()).unwrap()),
            (value, word)
        );
        // as many removals hit as inserts did
        let removed = seen.iter().filter(|seen| seen.2).count();
        assert_eq!((removed, map.len()), (made.load(SeqCst), 1));
    }
}

/// Updates of one key of bytes by threads: none is lost, while others replace and remove another.
#[test]
fn updates_of_bytes_are_not_lost() {
    let words = BytesMap::new();
    words.insert("count", vec![0u32]).unwrap();
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                for n in 0..2000u32 {
                    words.update("count", |value| vec![value[0] + 1]).unwrap().unwrap();
                    match n % 3 {
                        0 => drop(words.insert("other", vec![n]).unwrap()),
                        1 => drop(words.remove("other")),
                        _ => drop(words.update("other", |value| value.clone()).unwrap()),
                    }
                }
            });
        }
    });
    assert_eq!(words.get("count").unwrap()[0], 6000);
}

/// An iterator that other threads insert and remove beside shows what is there all the time, in
/// order.
#[test]
fn an_iterator_beside_changes() {
    let map: PointMap<u32, Arc<u32>> = (0..3000).map(|n| (n * 2, Arc::new(n * 2))).collect();
    let done = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            for n in 0..6000 {
                map.insert(n * 7919 % 3000 * 2 + 1, Arc::new(0)).unwrap();
                map.remove(n * 104_729 % 3000 * 2 + 1);
            }
            done.store(1, SeqCst);
        });
        while done.load(SeqCst) == 0 {
            let (mut last, mut even) = (None, 0);
            for (key, value) in &map {
                assert!(last < Some(key) && (*value == key.into() || **value == 0));
                even += (key % 2 == 0) as u32;
                last = Some(key);
            }
            assert_eq!(even, 3000);
            let back: Vec<u32> = map.keys().rev().filter(|key| key % 2 == 0).collect();
            assert!(back.into_iter().eq((0..3000).rev().map(|n| n * 2)));
        }
    });
}

/// One range over, under, within and beside another, equal or not, as tables of rangemap have them.
#[test]
fn each_place_of_two_ranges() {
    let all = |map: &RangeMap<u8, char>| -> Vec<(RangeInclusive<u8>, char)> {
        map.iter().map(|(range, value)| (range, *value)).collect()
    };
    for first in 0..10u8 {
        for last in first..10 {
            let (map, merged, removed) = (RangeMap::new(), RangeMap::new(), RangeMap::new());
            for map in [&map, &merged, &removed] {
                map.insert(3..=6, 'a').unwrap();
            }
            map.insert(first..=last, 'b').unwrap();
            merged.insert_merged(first..=last, 'a').unwrap();
            removed.remove(first..=last).unwrap();
            let mut rest = Vec::new();
            if first > 3 {
                rest.push((3..=(first - 1).min(6), 'a'));
            }
            if last < 6 {
                rest.push(((last + 1).max(3)..=6, 'a'));
            }
            rest.retain(|(range, _)| !range.is_empty());
            rest.dedup();
            assert_eq!(all(&removed), rest, "{} to {}", first, last);
            rest.push((first..=last, 'b'));
            rest.sort_by_key(|(range, _)| *range.start());
            assert_eq!(all(&map), rest);
            let one = if last < 2 || first > 7 {
                let mut two = vec![(3..=6, 'a'), (first..=last, 'a')];
                two.sort_by_key(|(range, _)| *range.start());
                two
            } else {
                vec![(first.min(3)..=last.max(6), 'a')]
            };
            assert_eq!(all(&merged), one);
            let set = RangeSet::from([3..=6, first..=last]);
            assert!(set.iter().eq(one.iter().map(|(range, _)| range.clone())));
            let free: Vec<u8> = map.gaps(..10).flatten().collect();
            assert!(free.iter().copied().eq((0..10).filter(|&key| !map.contains_key(key))));
            assert_eq!(map.gaps(..).last(), Some((last.max(6) + 1)..=255));
        }
    }
}

/// Ends of the type are keys as others.
#[test]
fn ends_of_the_type() {
    let map = RangeMap::new();
    map.insert(i8::MIN..=i8::MAX, "all").unwrap();
    assert!(map.gaps(..).next().is_none());
    map.remove(i8::MIN..=i8::MIN).unwrap();
    map.remove(i8::MAX..).unwrap();
    assert_eq!(map.gaps(..).collect::<Vec<_>>(), [-128..=-128, 127..=127]);
    map.insert_merged(..=-127, "all").unwrap();
    map.insert_merged(127.., "all").unwrap();
    assert_eq!(map.first_key_value().unwrap().0, -128..=127);
    assert!(
        map.insert(5..5, "none").is_err()
            && map.insert((Excluded(127), Unbounded), "none").is_err()
    );
}
