// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! PointMap with the calls of BTreeMap, by threads too, and the policies of RangeAllocator.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use lathwork::{BytesMap, Options, PointMap, Policy, RangeAllocator, Reason};
use proptest::collection::vec;
use proptest::prelude::*;

type Pairs = Vec<(i16, String)>;

fn ours<'a>(entries: impl Iterator<Item = (i16, lathwork::Ref<'a, String>)>) -> Pairs {
    entries.map(|(key, value)| (key, value.to_string())).collect()
}

fn theirs<'a>(entries: impl Iterator<Item = (&'a i16, &'a String)>) -> Pairs {
    entries.map(|(&key, value)| (key, value.clone())).collect()
}

fn one((key, value): (i16, lathwork::Ref<'_, String>)) -> (i16, String) {
    (key, value.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]

    #[test]
    fn as_btree_map(steps in vec((0..12u8, -60..60i16, any::<u8>()), 1..250)) {
        let (mut map, mut model) = (PointMap::new(), BTreeMap::new());
        for (what, key, value) in steps {
            let value = value.to_string();
            match what {
                0..=3 => {
                    let old = map.insert(key, value.clone()).unwrap().map(|old| old.to_string());
                    prop_assert_eq!(old, model.insert(key, value));
                }
                4 => {
                    let there = map.entry(key).or_insert(value.clone()).unwrap();
                    prop_assert_eq!(&*there, &*model.entry(key).or_insert(value));
                }
                5 => {
                    map.entry(key).and_modify(|old| old.push('+')).or_default().unwrap();
                    model.entry(key).and_modify(|old| old.push('+')).or_default();
                }
                6 => {
                    let old = map.remove(key).map(|old| old.to_string());
                    prop_assert_eq!(old, model.remove(&key));
                }
                7 => prop_assert_eq!(map.take(key), model.remove(&key)),
                8 => prop_assert_eq!(map.pop_first().map(one), model.pop_first()),
                9 => prop_assert_eq!(map.pop_last().map(one), model.pop_last()),
                10 => {
                    let (mut high, mut rest) = (map.split_off(key).unwrap(), model.split_off(&key));
                    prop_assert_eq!(ours(high.iter()), theirs(rest.iter()));
                    high.insert(key, value.clone()).unwrap();
                    rest.insert(key, value);
                    map.append(&mut high).unwrap();
                    model.append(&mut rest);
                    prop_assert!(high.is_empty());
                }
                _ => {
                    map.retain(|at, value| (at ^ key) & 3 != 0 || value.len() > 2);
                    model.retain(|at, value| (at ^ key) & 3 != 0 || value.len() > 2);
                }
            }
            prop_assert_eq!(ours(map.range(key..)), theirs(model.range(key..)));
            prop_assert_eq!(ours(map.range(..=key).rev()), theirs(model.range(..=key).rev()));
            prop_assert_eq!(map.first_key_value().map(|e| e.0), model.keys().next().copied());
            prop_assert_eq!(map.last_key_value().map(|e| e.0), model.keys().next_back().copied());
        }
        map.verify().unwrap();
        prop_assert!(map.clone() == map);
        let back: Vec<_> = map.into_iter().rev().collect();
        prop_assert_eq!(back, model.into_iter().rev().collect::<Vec<_>>());
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..Default::default() })]

    /// The place that a search of all addresses finds.
    #[test]
    fn policies(steps in vec((0..7u8, 1..40u64, 0..4u32, 0..600u64), 1..120)) {
        let space = RangeAllocator::try_with(0..600, 1, Options::new().exact()).unwrap();
        let (mut free, mut taken) = ([true; 600], Vec::new());
        for (what, size, align, at) in steps {
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
                prop_assert!(fits(found));
                prop_assert_eq!(found.abs_diff(to), expected.abs_diff(to));
            } else {
                prop_assert_eq!(found, expected, "{:?} of {} at {}", policy, size, align);
            }
            if let Some(first) = found {
                (first..first + size).for_each(|address| free[address as usize] = false);
                taken.push((first, size));
            }
        }
    }
}

#[test]
fn each_entry_is_popped_once() {
    let map: PointMap<u32, String> = (0..4000).map(|n| (n, n.to_string())).collect();
    let mut seen: Vec<u32> = thread::scope(|s| {
        let pop = |first| {
            let map = &map;
            s.spawn(move || {
                let mut seen = Vec::new();
                while let Some((key, value)) = if first { map.pop_first() } else { map.pop_last() }
                {
                    assert_eq!(*value, key.to_string());
                    seen.push(key);
                }
                seen
            })
        };
        let threads = [pop(true), pop(false), pop(true)];
        threads.map(|thread| thread.join().unwrap()).concat()
    });
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..4000));
}

/// Values that replace one another, while entries are popped: each is returned once.
#[test]
fn each_value_comes_out_once() {
    let map = PointMap::new();
    let mut seen: Vec<u32> = thread::scope(|s| {
        let (map, mut threads) = (&map, Vec::new());
        for thread in 0..3u32 {
            threads.push(s.spawn(move || {
                let mut seen = Vec::new();
                for n in 0..20_000 {
                    let came_out = match n % 4 {
                        3 => map.pop_first().map(|(_, value)| value),
                        _ => map.insert(n % 2, vec![thread * 20_000 + n]).unwrap(),
                    };
                    seen.extend(came_out.map(|value| value[0]));
                }
                seen
            }));
        }
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    seen.extend(map.into_iter().map(|(_, value)| value[0]));
    seen.sort_unstable();
    assert!(seen.into_iter().eq((0..60_000).filter(|n| n % 4 != 3)));
}

#[test]
fn updates_are_not_lost() {
    let map = PointMap::new();
    let made = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                for n in 0..3000 {
                    let inserted = map.get_or_insert_with(n % 5, || {
                        made.fetch_add(1, SeqCst);
                        vec![0]
                    });
                    assert!(inserted.unwrap().len() == 1);
                    map.update(n % 5, |value| vec![value[0] + 1]).unwrap().unwrap();
                }
            });
        }
    });
    assert!((5..=15).contains(&made.load(SeqCst)));
    assert_eq!(map.values().map(|value| value[0]).sum::<i32>(), 9000);
    assert!(map.update(9, |value| value.clone()).unwrap().is_none());
    assert_eq!(map.replace(9, vec![]).unwrap_err().reason, Reason::Absent);
}

/// What was removed after an iterator began may be seen, and is valid.
#[test]
fn an_iterator_and_removals() {
    let value = Arc::new(5);
    let map: PointMap<u32, Arc<i32>> = (0..100).map(|n| (n, value.clone())).collect();
    let mut seen = 0;
    for (key, value) in &map {
        map.remove(key + 1);
        assert_eq!(**value, 5);
        seen += 1;
    }
    assert!((50..=100).contains(&seen));
    drop(map);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// What `wait` returns, while another thread has for a while what `look` returns.
fn waits<T, R>(look: impl FnOnce() -> T + Send, wait: impl FnOnce() -> R) -> R {
    let (looks, done) = (std::sync::Barrier::new(2), AtomicBool::new(false));
    thread::scope(|s| {
        s.spawn(|| {
            let held = look();
            looks.wait();
            thread::sleep(Duration::from_millis(50));
            assert!(!done.load(SeqCst), "it has not waited");
            drop(held);
        });
        looks.wait();
        let result = wait();
        done.store(true, SeqCst);
        result
    })
}

#[test]
fn waits_for_readers() {
    let one = Arc::new(1);
    let (map, words) = (PointMap::new(), BytesMap::new());
    for key in 0..3 {
        map.insert(key, one.clone()).unwrap();
        words.insert(key.to_string(), one.clone()).unwrap();
    }
    let value = waits(|| map.get(1), || map.remove_and_wait(1).unwrap());
    let entry = waits(|| words.get("1"), || words.remove_and_wait("1").unwrap());
    assert!(*value == 1 && entry.0 == "1");
    assert!(map.remove_and_wait(1).is_none() && words.remove_and_wait("1").is_none());
    waits(|| words.iter(), lathwork::synchronize);
    map.remove(0);
    words.remove("0");
    lathwork::synchronize();
    map.reclaim();
    words.reclaim();
    assert_eq!(Arc::strong_count(&one), 5);
    let held = map.get(2);
    let refused =
        |call: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err();
    assert!(refused(&lathwork::synchronize) && refused(&|| drop(map.remove_and_wait(2))));
    assert!(held.is_some() && map.len() == 1);
    assert_eq!(PointMap::from([(1, 5)]).remove_and_wait(1), Some(5)); // no section is needed
}
