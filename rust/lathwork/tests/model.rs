// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The containers against BTreeMap and the crates rangemap and vm-allocator: random calls, the same
//! answers.
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use lathwork::{IntervalMap, PointMap, RangeAllocator, RangeMap, RangeSet, Reason};
use proptest::collection::vec;
use proptest::prelude::*;
use vm_allocator::{AddressAllocator, AllocPolicy};

#[derive(Clone, Debug)]
enum Step {
    Insert(u64, u64, u32),
    Remove(u64),
    Replace(u64, u32),
    Take(u64),
    Get(u64),
    Overlapping(u64, u64),
    Neighbours(u64),
}

/// Keys that meet each other, at both ends of all keys and between.
fn key() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..300u64, 1 => (0..300u64).prop_map(|k| u64::MAX - k), 1 => any::<u64>()]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (key(), 0..20u64, any::<u32>()).prop_map(|(k, n, v)| Step::Insert(k, n, v)),
        2 => key().prop_map(Step::Remove),
        1 => (key(), any::<u32>()).prop_map(|(k, v)| Step::Replace(k, v)),
        1 => key().prop_map(Step::Take),
        2 => key().prop_map(Step::Get),
        1 => (key(), key()).prop_map(|(a, b)| Step::Overlapping(a, b)),
        1 => key().prop_map(Step::Neighbours),
    ]
}

/// First key to last key and value.
#[derive(Default)]
struct Model(BTreeMap<u64, (u64, u32)>);

impl Model {
    fn at(&self, key: u64) -> Option<(RangeInclusive<u64>, u32)> {
        let (&first, &(last, value)) = self.0.range(..=key).next_back()?;
        (key <= last).then_some((first..=last, value))
    }

    fn overlapping(&self, keys: RangeInclusive<u64>) -> Vec<(RangeInclusive<u64>, u32)> {
        let all = self.0.iter().map(|(&first, &(last, value))| (first..=last, value));
        all.filter(|(r, _)| !keys.is_empty() && r.start() <= keys.end() && keys.start() <= r.end())
            .collect()
    }
}

/// A value that the model has as a number.
trait Number {
    fn number(&self) -> u32;
}

impl Number for u32 {
    fn number(&self) -> u32 {
        *self
    }
}

impl Number for String {
    fn number(&self) -> u32 {
        self.parse().unwrap()
    }
}

fn copied<V: Number>(
    entry: Option<(RangeInclusive<u64>, lathwork::Ref<'_, V>)>,
) -> Option<(RangeInclusive<u64>, u32)> {
    entry.map(|(range, value)| (range, value.number()))
}

/// A step that changes nothing.
fn look<V: Number>(step: &Step, map: &RangeMap<u64, V>, model: &Model) {
    match *step {
        Step::Get(key) => {
            assert_eq!(copied(map.get_key_value(key)), model.at(key));
            assert_eq!(
                map.get(key).map(|value| value.number()),
                model.at(key).map(|entry| entry.1)
            );
            assert_eq!(map.contains_key(key), model.at(key).is_some());
        }
        Step::Overlapping(a, b) => {
            let seen: Vec<_> = map.overlapping(a..=b).map(|(r, v)| (r, v.number())).collect();
            assert_eq!(seen, model.overlapping(a..=b));
        }
        Step::Neighbours(key) => {
            let entry = |(&first, &(last, value)): (&u64, &(u64, u32))| (first..=last, value);
            assert_eq!(copied(map.ceiling(key)), model.0.range(key..).next().map(entry));
            assert_eq!(copied(map.floor(key)), model.0.range(..=key).next_back().map(entry));
        }
        _ => unreachable!(),
    }
}

/// The same steps on a map of V and on the model.
fn play<V: Number + Clone>(steps: &[Step], make: fn(u32) -> V) {
    let (mut map, mut model) = (RangeMap::<u64, V>::new(), Model::default());
    for step in steps {
        match *step {
            Step::Insert(first, more, value) => {
                let range = first..=first.saturating_add(more);
                let there = model.overlapping(range.clone());
                match map.try_insert(range.clone(), make(value)) {
                    Ok(_) => {
                        assert!(there.is_empty());
                        model.0.insert(first, (*range.end(), value));
                    }
                    Err(refused) => match refused.reason {
                        Reason::Overlaps(with) => assert!(there.iter().any(|(r, _)| *r == with)),
                        other => panic!("{other:?}"),
                    },
                }
            }
            Step::Remove(first) => {
                let was = model.0.remove(&first).map(|(last, value)| (first..=last, value));
                assert_eq!(copied(map.remove_starting(first)), was);
            }
            Step::Replace(first, value) => {
                let there = model.0.get_mut(&first);
                let was = there.map(|entry| std::mem::replace(&mut entry.1, value));
                assert_eq!(map.replace(first, make(value)).ok().map(|old| old.number()), was);
            }
            Step::Take(first) => {
                let was = model.0.remove(&first);
                assert_eq!(
                    map.take_starting(first).map(|(range, _)| *range.end()),
                    was.map(|entry| entry.0)
                );
            }
            _ => look(step, &map, &model),
        }
    }
    let all: Vec<_> = map.iter().map(|(range, value)| (range, value.number())).collect();
    assert_eq!(all, model.overlapping(0..=u64::MAX));
    assert_eq!(map.len(), model.0.len());
    assert_eq!(map.is_empty(), model.0.is_empty());
    map.verify().unwrap();
    map.clear();
    assert!(map.is_empty() && map.iter().next().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn maps_of_numbers(steps in vec(step(), 1..400)) {
        play::<u32>(&steps, |value| value);
    }

    #[test]
    fn maps_of_strings(steps in vec(step(), 1..400)) {
        play::<String>(&steps, |value| value.to_string());
    }

    /// Ranges that the crate rangemap accepts too, as it cuts what it meets.
    #[test]
    fn like_rangemap(ranges in vec((0..2000u64, 0..30u64), 1..200), points in vec(0..2100u64, 50)) {
        let (ours, mut theirs) = (RangeMap::new(), rangemap::RangeInclusiveMap::new());
        for (i, &(first, more)) in ranges.iter().enumerate() {
            let range = first..=first + more;
            let free = !theirs.overlaps(&range);
            prop_assert_eq!(ours.try_insert(range.clone(), i).is_ok(), free);
            if free {
                theirs.insert(range, i);
            }
        }
        for point in points {
            prop_assert_eq!(ours.get(point).map(|value| *value), theirs.get(&point).copied());
        }
        let all: Vec<_> = ours.iter().map(|(range, value)| (range, *value)).collect();
        let theirs = theirs.iter().map(|(range, &i)| (range.clone(), i));
        prop_assert_eq!(all, theirs.collect::<Vec<_>>());
    }

    #[test]
    fn points_and_ranks(keys in vec((key(), any::<bool>()), 1..500), at in vec(key(), 20)) {
        let (map, mut model) = (PointMap::new(), BTreeMap::new());
        for &(key, insert) in &keys {
            if insert {
                let new = model.insert(key, -1i64).is_none();
                prop_assert_eq!(map.try_insert(key, -1i64).is_ok(), new);
            } else {
                prop_assert_eq!(map.remove(key).map(|value| *value), model.remove(&key));
            }
        }
        prop_assert_eq!(map.len(), model.len());
        for key in at {
            prop_assert_eq!(map.rank(key), model.range(..key).count());
            prop_assert_eq!(map.get(key).map(|value| *value), model.get(&key).copied());
            prop_assert_eq!(map.ceiling(key).map(|e| e.0), model.range(key..).next().map(|e| *e.0));
            let floor = model.range(..=key).next_back().map(|e| *e.0);
            prop_assert_eq!(map.floor(key).map(|e| e.0), floor);
        }
        for (rank, key) in model.keys().enumerate() {
            prop_assert_eq!(map.select(rank).map(|entry| entry.0), Some(*key));
        }
        prop_assert!(map.select(model.len()).is_none());
        let some: Vec<u64> = map.range(5..=200).map(|entry| entry.0).collect();
        prop_assert_eq!(some, model.range(5..=200).map(|entry| *entry.0).collect::<Vec<_>>());
    }

    #[test]
    fn intervals(set in vec((key(), 0..1000u64, 0..4u8), 1..200), at in vec((key(), key()), 20)) {
        let map = IntervalMap::new();
        let mut model: Vec<(RangeInclusive<u64>, u8)> = Vec::new();
        for (i, &(first, more, value)) in set.iter().enumerate() {
            let keys = first..=first.saturating_add(more);
            map.insert(keys.clone(), value).unwrap();
            model.push((keys, value));
            if i % 3 == 2 {
                let (keys, value) = model.swap_remove(i % model.len());
                prop_assert!(map.remove(keys.clone(), &value));
                prop_assert!(model.contains(&(keys.clone(), value)) || !map.remove(keys, &value));
            }
        }
        let copy = |(range, value): (_, lathwork::Ref<'_, u8>)| (range, *value);
        let sorted = |found: &mut dyn Iterator<Item = (RangeInclusive<u64>, u8)>| {
            let mut found: Vec<_> = found.map(|(r, v)| (*r.start(), *r.end(), v)).collect();
            found.sort_unstable();
            found
        };
        prop_assert_eq!(sorted(&mut map.iter().map(copy)), sorted(&mut model.iter().cloned()));
        prop_assert_eq!(map.len(), model.len());
        for (a, b) in at {
            let stabbed = |r: &RangeInclusive<u64>| r.contains(&a);
            let met = |r: &RangeInclusive<u64>| a <= b && *r.start() <= b && a <= *r.end();
            let inside = |r: &RangeInclusive<u64>| a <= *r.start() && *r.end() <= b;
            prop_assert_eq!(sorted(&mut map.stab(a).map(copy)),
                            sorted(&mut model.iter().filter(|e| stabbed(&e.0)).cloned()));
            prop_assert_eq!(sorted(&mut map.overlapping(a..=b).map(copy)),
                            sorted(&mut model.iter().filter(|e| met(&e.0)).cloned()));
            prop_assert_eq!(sorted(&mut map.within(a..=b).map(copy)),
                            sorted(&mut model.iter().filter(|e| inside(&e.0)).cloned()));
            prop_assert_eq!(map.count_overlapping(a..=b),
                            model.iter().filter(|e| met(&e.0)).count() as u64);
            prop_assert_eq!(map.nearest(a).is_some(), !model.is_empty());
        }
    }

    #[test]
    fn allocations(steps in vec((1..20u64, 0..5u32, any::<bool>()), 1..300)) {
        let space = RangeAllocator::new(4096..=4096 * 513 - 1, 4096).unwrap();
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for &(pages, align, free) in &steps {
            if free && !taken.is_empty() {
                let (first, size) = taken.swap_remove(pages as usize % taken.len());
                space.free(first, size).unwrap();
                continue;
            }
            let (size, align) = (4096 * pages, 4096u64 << align);
            if let Ok(first) = space.alloc(size, align) {
                prop_assert!(first % align == 0 && first >= 4096 && first + size <= 4096 * 513);
                prop_assert!(taken.iter().all(|&(f, s)| first + size <= f || f + s <= first));
                taken.push((first, size));
            }
        }
        let sum: u64 = taken.iter().map(|entry| entry.1).sum();
        prop_assert_eq!(space.allocated(), sum);
        let keys = |runs: lathwork::Runs<'_>| runs.map(|r| r.end() - r.start() + 1).sum::<u64>();
        prop_assert_eq!(keys(space.taken()), sum);
        prop_assert_eq!(keys(space.holes()), 4096 * 512 - sum);
    }

    /// Blocks of one size: there is room for another one when vm-allocator has room, and not
    /// otherwise. (Its `ExactMatch` hands out what is taken, up to 0.1.4: places are not compared.)
    #[test]
    fn as_vm_allocator(order in 0..7u32, steps in vec((0..4u8, any::<usize>()), 1..900)) {
        let space = RangeAllocator::new(4096..=4096 * 513 - 1, 4096).unwrap();
        let mut peer = AddressAllocator::new(4096, 4096 * 512).unwrap();
        let (size, mut taken) = (4096u64 << order, Vec::new());
        for &(what, which) in &steps {
            if what == 0 && !taken.is_empty() {
                let (first, range) = taken.swap_remove(which % taken.len());
                space.free(first, size).unwrap();
                peer.free(&range).unwrap();
                continue;
            }
            match (space.alloc(size, size), peer.allocate(size, size, AllocPolicy::FirstMatch)) {
                (Ok(first), Ok(range)) => taken.push((first, range)),
                (ours, theirs) => prop_assert_eq!(ours.is_ok(), theirs.is_ok()),
            }
        }
        prop_assert_eq!(space.allocated(), size * taken.len() as u64);
    }
}

#[test]
fn what_is_refused() {
    let map = RangeMap::new();
    #[allow(clippy::reversed_empty_ranges)]
    let empty = 5..=4;
    assert_eq!(map.insert(empty.clone(), 1u8).unwrap_err().reason, Reason::Empty);
    let refused = map.insert(0..=u64::MAX, 2u8).unwrap_err();
    assert_eq!((refused.reason, refused.value), (Reason::TooLong, 2));
    map.insert(1..=u64::MAX, 3).unwrap();
    assert_eq!(map.get_key_value(u64::MAX).map(|(range, _)| range), Some(1..=u64::MAX));
    assert!(map.try_insert(0..=0, 4).is_ok());
    assert_eq!(map.overlapping(empty.clone()).count(), 0);
    assert_eq!(map.overlapping(0..=u64::MAX).count(), 2);
    assert_eq!(map.overlapping(u64::MAX..=u64::MAX).count(), 1);
    assert_eq!(
        IntervalMap::<u64, u8>::new().insert(empty.clone(), 1).unwrap_err().reason,
        Reason::Empty
    );

    let set = RangeSet::<u64>::new();
    set.insert(3..=5).unwrap();
    assert_eq!(set.try_insert(5..=9), Err(Reason::Overlaps(3..=5)));
    assert_eq!(format!("{set:?}"), "{3..=5}");

    let space = RangeAllocator::new(0..=u64::MAX, 1).unwrap();
    assert!(space.reserve(u64::MAX..=u64::MAX).is_ok());
    assert_eq!(space.reserve(7..=u64::MAX), Err(lathwork::AllocError::Taken));
    assert_eq!(space.alloc(0, 0), Err(lathwork::AllocError::Invalid));
    assert_eq!(space.alloc_within(16..=31, 17, 0), Err(lathwork::AllocError::NoSpace));
    assert!(RangeAllocator::new(empty, 1).is_err());
    let held = space.hold(10, 0).unwrap();
    let first = *held.range().start();
    assert_eq!(space.allocated(), 11);
    drop(held);
    assert_eq!(space.allocated(), 1);
    assert!(space.reserve(first..=first + 9).is_ok());
}
