// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Calls that cut ranges: random ones give what the crate rangemap gives, values are dropped once,
//! and threads see keys with one of the values that they had.
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;

mod counted;
use counted::Counted;

use lathwork::{RangeMap, RangeSet};
use proptest::collection::vec;
use proptest::prelude::*;
use rangemap::{RangeInclusiveMap, RangeInclusiveSet};

#[derive(Clone, Debug)]
enum Step {
    Insert(u32, u32, u8),
    Merged(u32, u32, u8),
    Remove(u32, u32),
    Covering(u32),
    SplitOff(u32),
    Append(Vec<(u32, u32, u8)>),
}

fn range(first: u32, more: u32) -> RangeInclusive<u32> {
    first..=first.saturating_add(more)
}

/// Keys that meet each other, at both ends and between.
fn key() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..200u32, 1 => (0..50u32).prop_map(|k| u32::MAX - k)]
}

fn step() -> impl Strategy<Value = Step> {
    let some = || (key(), 0..40u32, 0..3u8);
    prop_oneof![
        6 => some().prop_map(|(k, n, v)| Step::Insert(k, n, v)),
        3 => some().prop_map(|(k, n, v)| Step::Merged(k, n, v)),
        4 => some().prop_map(|(k, n, _)| Step::Remove(k, n)),
        1 => key().prop_map(Step::Covering),
        1 => key().prop_map(Step::SplitOff),
        1 => vec(some(), 0..4).prop_map(Step::Append),
    ]
}

/// First key to last key and value, as plain code has it.
#[derive(Clone, Default)]
struct Model(BTreeMap<u32, (u32, u8)>);

impl Model {
    fn cut(&mut self, keys: &RangeInclusive<u32>) {
        for (first, (last, value)) in std::mem::take(&mut self.0) {
            if last < *keys.start() || first > *keys.end() {
                self.0.insert(first, (last, value));
                continue;
            }
            if first < *keys.start() {
                self.0.insert(first, (keys.start() - 1, value));
            }
            if last > *keys.end() {
                self.0.insert(keys.end() + 1, (last, value));
            }
        }
    }

    fn insert(&mut self, keys: &RangeInclusive<u32>, value: u8) {
        self.cut(keys);
        self.0.insert(*keys.start(), (*keys.end(), value));
    }

    fn merged(&mut self, keys: &RangeInclusive<u32>, value: u8) {
        let (mut first, mut last) = (*keys.start(), *keys.end());
        for (&from, &(to, there)) in &self.0 {
            let touches =
                to.saturating_add(1) >= *keys.start() && from <= keys.end().saturating_add(1);
            let reaches = from < *keys.start() || to > *keys.end();
            if there == value && touches && reaches {
                first = first.min(from);
                last = last.max(to);
            }
        }
        self.insert(&(first..=last), value);
    }

    fn all(&self) -> Vec<(RangeInclusive<u32>, u8)> {
        let all = self.0.iter();
        all.map(|(&first, &(last, value))| (first..=last, value)).collect()
    }
}

/// Compares all entries, also backwards, of a copy, and by value.
fn check_whole<V: Clone + PartialEq>(
    mut map: RangeMap<u32, V>,
    model: &Model,
    number: fn(&V) -> u8,
) {
    let mut back: Vec<_> = map.iter().rev().map(|(keys, v)| (keys, number(&v))).collect();
    back.reverse();
    assert_eq!(back, model.all());
    let copy = map.clone();
    assert!(copy == map);
    map.verify().unwrap();
    let owned: Vec<_> = map.into_iter().map(|(keys, value)| (keys, number(&value))).collect();
    assert_eq!(owned, model.all());
    drop(copy);
}

fn play<V: Clone + PartialEq>(steps: &[Step], make: impl Fn(u8) -> V, number: fn(&V) -> u8) {
    let (mut map, mut model) = (RangeMap::<u32, V>::new(), Model::default());
    for step in steps {
        match step {
            Step::Insert(first, more, value) => {
                map.insert(range(*first, *more), make(*value)).ok().unwrap();
                model.insert(&range(*first, *more), *value);
            }
            Step::Merged(first, more, value) => {
                map.insert_merged(range(*first, *more), make(*value)).ok().unwrap();
                model.merged(&range(*first, *more), *value);
            }
            Step::Remove(first, more) => {
                map.remove(range(*first, *more)).unwrap();
                model.cut(&range(*first, *more));
            }
            Step::Covering(key) => {
                let there = map.remove_covering(*key).map(|(keys, _)| keys);
                if let Some(keys) = &there {
                    assert!(keys.contains(key));
                    model.cut(keys);
                }
            }
            Step::SplitOff(key) => {
                let high = map.split_off(*key).unwrap();
                let (mut low, mut rest) = (model.clone(), model);
                low.cut(&(*key..=u32::MAX));
                if *key > 0 {
                    rest.cut(&(0..=*key - 1));
                }
                let seen: Vec<_> = high.iter().map(|(keys, v)| (keys, number(&v))).collect();
                assert_eq!(seen, rest.all());
                model = low;
            }
            Step::Append(more) => {
                let mut other = RangeMap::new();
                for (first, more, value) in more {
                    other.insert(range(*first, *more), make(*value)).ok().unwrap();
                }
                for (keys, value) in &other {
                    model.insert(&keys, number(&value));
                }
                map.append(&mut other).unwrap();
                assert!(other.is_empty());
            }
        }
        let seen: Vec<_> = map.iter().map(|(keys, value)| (keys, number(&value))).collect();
        assert_eq!(seen, model.all());
    }
    check_whole(map, &model, number);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() })]

    #[test]
    fn as_plain_code(steps in vec(step(), 1..60)) {
        play::<u8>(&steps, |value| value, |value| *value);
        let alive = Arc::default();
        play::<Counted<u8>>(&steps, |value| Counted::new(value, &alive), |value| value.0);
        prop_assert_eq!(alive.load(SeqCst), 0);
    }

    /// With values that merge, as that crate's do.
    #[test]
    fn as_rangemap(steps in vec((key(), 0..40u32, 0..4u8), 1..150), outer in (key(), 0..300u32)) {
        let (map, mut peer) = (RangeMap::new(), RangeInclusiveMap::new());
        let (set, mut peers) = (RangeSet::new(), RangeInclusiveSet::new());
        for &(first, more, value) in &steps {
            let keys = range(first, more);
            if value == 3 {
                map.remove(keys.clone()).unwrap();
                peer.remove(keys.clone());
                set.remove(keys.clone()).unwrap();
                peers.remove(keys);
            } else {
                map.insert_merged(keys.clone(), value.to_string()).unwrap();
                peer.insert(keys.clone(), value.to_string());
                set.insert(keys.clone()).unwrap();
                peers.insert(keys);
            }
        }
        let ours: Vec<_> = map.iter().map(|(keys, value)| (keys, value.to_string())).collect();
        let theirs = peer.iter().map(|(keys, value)| (keys.clone(), value.clone()));
        let theirs: Vec<_> = theirs.collect();
        prop_assert_eq!(ours, theirs);
        prop_assert_eq!(set.iter().collect::<Vec<_>>(), peers.iter().cloned().collect::<Vec<_>>());
        let outer = range(outer.0, outer.1);
        let gaps: Vec<_> = map.gaps(outer.clone()).collect();
        prop_assert_eq!(gaps, peer.gaps(&outer).collect::<Vec<_>>());
        let met: Vec<_> = map.overlapping(outer.clone()).map(|(keys, _)| keys).collect();
        let theirs = peer.overlapping(&outer).map(|(keys, _)| keys.clone());
        prop_assert_eq!(met, theirs.collect::<Vec<_>>());
    }

    #[test]
    fn sets_as_sets_of_keys(
        a in vec((0..60u8, 0..6u8), 0..12),
        b in vec((0..60u8, 0..6u8), 0..12),
    ) {
        let keys = |ranges: &[(u8, u8)]| -> std::collections::BTreeSet<u8> {
            ranges.iter().flat_map(|&(first, more)| first..=first + more).collect()
        };
        let set = |ranges: &[(u8, u8)]| -> RangeSet<u8> {
            ranges.iter().map(|&(first, more)| first..=first + more).collect()
        };
        let flat = |set: &RangeSet<u8>| set.iter().flatten().collect::<Vec<_>>();
        let (x, y, p, q) = (set(&a), set(&b), keys(&a), keys(&b));
        prop_assert_eq!(flat(&(&x | &y)), p.union(&q).copied().collect::<Vec<_>>());
        prop_assert_eq!(flat(&(&x & &y)), p.intersection(&q).copied().collect::<Vec<_>>());
        prop_assert_eq!(flat(&(&x - &y)), p.difference(&q).copied().collect::<Vec<_>>());
        prop_assert_eq!(flat(&(&x ^ &y)), p.symmetric_difference(&q).copied().collect::<Vec<_>>());
        prop_assert_eq!((x.is_subset(&y), x.is_disjoint(&y)), (p.is_subset(&q), p.is_disjoint(&q)));
        // none that touch
        let union: Vec<_> = x.union(&y).collect();
        prop_assert!(union.windows(2).all(|w| w[0].end() + 1 < *w[1].start()));
        prop_assert_eq!(&x | &y, union.into_iter().collect::<RangeSet<u8>>());
    }
}

#[test]
fn all_keys_of_64_bits() {
    let map = RangeMap::<u64, String>::new();
    let refused = map.insert(.., "all".to_string()).unwrap_err();
    assert_eq!((refused.reason, refused.value.as_str()), (lathwork::Reason::TooLong, "all"));
    map.insert(1.., "high".to_string()).unwrap();
    map.insert_merged(0..=0, "high".to_string()).unwrap(); // together they would be too long
    assert_eq!(map.len(), 2);
    map.remove(u64::MAX..).unwrap();
    assert_eq!(map.last_key_value().unwrap().0, 1..=u64::MAX - 1);
    map.remove(..).unwrap();
    assert!(map.is_empty());
    assert_eq!(map.gaps(..).collect::<Vec<_>>(), [0..=u64::MAX]);
    let all = RangeSet::from([0..=i64::MAX - 1, i64::MIN..=-1]);
    assert_eq!(all.iter().collect::<Vec<_>>(), [i64::MIN..=i64::MAX - 1]);
    #[allow(clippy::reversed_empty_ranges)]
    let empty = 5..=4;
    map.remove(empty.clone()).unwrap();
    assert_eq!(map.overlapping(empty.clone()).count() + map.gaps(empty).count(), 0);
}

/// Each key has a value that was inserted over it, and no value is lost or dropped twice.
#[test]
fn by_threads() {
    let alive = Arc::new(AtomicUsize::new(0));
    let map = RangeMap::<u32, Counted<u8>>::new();
    map.insert(0..1000, Counted::new(0, &alive)).unwrap();
    thread::scope(|s| {
        for thread in 1..=3u8 {
            let (map, alive) = (&map, &alive);
            s.spawn(move || {
                let mut random = u32::from(thread);
                for _ in 0..4000 {
                    random = random.wrapping_mul(1664525).wrapping_add(1013904223);
                    let (first, more) = (random >> 8 & 1023, random >> 20 & 31);
                    let keys = first..=first + more;
                    match random >> 29 {
                        0 | 1 => map.remove(keys).unwrap(),
                        2 => drop(map.remove_covering(first)),
                        3 => drop(map.try_insert(keys, Counted::new(thread, alive))),
                        4 => drop(map.pop_first()),
                        5 => map.insert_merged(keys, Counted::new(thread, alive)).ok().unwrap(),
                        _ => map.insert(keys, Counted::new(thread, alive)).ok().unwrap(),
                    }
                }
            });
        }
        for round in 0..4000u32 {
            if let Some(value) = map.get(round % 1024) {
                assert!(value.0 <= 3 && value.1.load(SeqCst) > 0);
            }
        }
    });
    let mut map = map;
    map.verify().unwrap();
    let ends: Vec<_> = map.iter().map(|(keys, _)| keys).collect();
    assert!(ends.windows(2).all(|w| w[0].end() < w[1].start()));
    drop(map);
    assert_eq!(alive.load(SeqCst), 0);
}

/// The range that a thread cuts in two is replaced by another thread at the same time: both parts
/// have its value, or it is gone.
#[test]
fn parts_of_one_range_by_threads() {
    let alive = Arc::new(AtomicUsize::new(0));
    let map = RangeMap::<u8, Counted<u8>>::new();
    thread::scope(|s| {
        for thread in 0..3u8 {
            let (map, alive) = (&map, &alive);
            s.spawn(move || {
                for _ in 0..10_000 {
                    let keys = [0..=9, 3..=5, 4..=6][usize::from(thread)].clone();
                    map.insert(keys, Counted::new(thread, alive)).ok().unwrap();
                }
            });
        }
    });
    drop(map);
    assert_eq!(alive.load(SeqCst), 0);
}

#[test]
fn an_iterator_from_both_ends() {
    let map: RangeMap<u32, u32> = (0..200).map(|n| (10 * n..10 * n + 5, n)).collect();
    for seed in 0..100u32 {
        let (mut all, mut random) = (map.overlapping(12..1984), seed);
        let (mut low, mut high) = (1, 198);
        while low <= high {
            random = random.wrapping_mul(1664525).wrapping_add(1013904223);
            // runs of one end: what was copied ahead there goes beyond the other end
            if random >> 26 < seed / 2 {
                assert_eq!(all.next().map(|(_, value)| *value), Some(low));
                low += 1;
            } else {
                assert_eq!(all.next_back().map(|(_, value)| *value), Some(high));
                high -= 1;
            }
        }
        if seed % 2 == 0 {
            assert!(all.next().is_none());
        }
        assert!(all.next_back().is_none() && all.next().is_none());
    }
}
