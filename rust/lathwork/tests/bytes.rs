// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Maps of byte strings against BTreeMap, by threads, and with values that count.
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;

mod counted;
use counted::Counted;

use lathwork::{BytesMap, BytesPart, Options, Reason};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<u8>, u32),
    TryInsert(Vec<u8>, u32),
    Replace(Vec<u8>, u32),
    Update(Vec<u8>, u32),
    Remove(Vec<u8>),
    Take(Vec<u8>),
    PopFirst,
    PopLast,
    SplitOff(Vec<u8>),
    Range(Vec<u8>, Vec<u8>),
}

/// Keys of few different bytes and some length, so that they agree in their beginnings.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let byte = || prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(255)];
    (0..3usize, vec(byte(), 0..5)).prop_map(|(many, end)| {
        let mut key = vec![b'x'; many * 8];
        key.extend(end);
        key
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (key(), any::<u32>()).prop_map(|(k, v)| Step::Insert(k, v)),
        2 => (key(), any::<u32>()).prop_map(|(k, v)| Step::TryInsert(k, v)),
        1 => (key(), any::<u32>()).prop_map(|(k, v)| Step::Replace(k, v)),
        2 => (key(), any::<u32>()).prop_map(|(k, v)| Step::Update(k, v)),
        2 => key().prop_map(Step::Remove),
        1 => key().prop_map(Step::Take),
        1 => Just(Step::PopFirst),
        1 => Just(Step::PopLast),
        1 => key().prop_map(Step::SplitOff),
        2 => (key(), key()).prop_map(|(a, b)| Step::Range(a, b)),
    ]
}

type Pairs = Vec<(Vec<u8>, u32)>;

type Parts<'a> = (BytesPart<'a, Vec<u8>>, BytesPart<'a, u32>);

fn pairs<'a>(entries: impl Iterator<Item = Parts<'a>>) -> Pairs {
    entries.map(|(key, value)| ((*key).clone(), *value)).collect()
}

fn of_model<'a>(entries: impl Iterator<Item = (&'a Vec<u8>, &'a u32)>) -> Pairs {
    entries.map(|(key, &value)| (key.clone(), value)).collect()
}

fn check_range(map: &BytesMap<Vec<u8>, u32>, model: &BTreeMap<Vec<u8>, u32>, a: &[u8], b: &[u8]) {
    let (a, b) = (a.min(b).to_vec(), a.max(b).to_vec());
    assert_eq!(pairs(map.range(a.clone()..b.clone())), of_model(model.range(a.clone()..b.clone())));
    let bounds = (Bound::Excluded(a.clone()), Bound::Included(b.clone()));
    if a < b {
        let back = of_model(model.range(bounds.clone()).rev());
        assert_eq!(pairs(map.range(bounds).rev()), back);
    }
    let one = |found: Option<lathwork::BytesRef<'_, Vec<u8>, u32>>| found.map(|entry| *entry);
    let ceiling = model.range(a.clone()..).next().map(|(_, &value)| value);
    let floor = model.range(..=a.clone()).next_back().map(|(_, &value)| value);
    assert_eq!((one(map.ceiling(&a)), one(map.floor(&a))), (ceiling, floor));
    let begin = of_model(model.iter().filter(|(key, _)| key.starts_with(&a)));
    assert_eq!(pairs(map.prefix(&a)), begin);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]

    #[test]
    fn as_btree_map(steps in vec(step(), 1..200)) {
        let (mut map, mut model) = (BytesMap::new(), BTreeMap::new());
        for step in steps {
            match step {
                Step::Insert(key, value) => {
                    let old = map.insert(key.clone(), value).unwrap().map(|old| *old);
                    prop_assert_eq!(old, model.insert(key, value));
                }
                Step::TryInsert(key, value) => {
                    let there = model.contains_key(&key);
                    match map.try_insert(key.clone(), value) {
                        Ok(_) => prop_assert!(!there && model.insert(key, value).is_none()),
                        Err(refused) => {
                            prop_assert!(there);
                            prop_assert_eq!((refused.reason, refused.key), (Reason::Exists, key));
                        }
                    }
                }
                Step::Replace(key, value) => match map.replace(key.clone(), value) {
                    Ok(old) => prop_assert_eq!(Some(*old), model.insert(key, value)),
                    Err(refused) => {
                        prop_assert_eq!(refused.reason, Reason::Absent);
                        prop_assert_eq!((&refused.key, refused.value), (&key, value));
                        prop_assert!(!model.contains_key(&key));
                    }
                },
                Step::Update(key, by) => {
                    let new = map.update(key.clone(), |value| value ^ by).unwrap();
                    let there = model.get_mut(&key).map(|value| {
                        *value ^= by;
                        *value
                    });
                    prop_assert_eq!(new.map(|entry| *entry), there);
                }
                Step::Remove(key) => {
                    prop_assert_eq!(map.remove(&key).map(|old| *old), model.remove(&key));
                }
                Step::Take(key) => prop_assert_eq!(map.take(&key), model.remove_entry(&key)),
                Step::PopFirst => {
                    let first = map.pop_first().map(|entry| (entry.key().clone(), *entry));
                    let key = model.keys().next().cloned();
                    prop_assert_eq!(first, key.and_then(|key| model.remove_entry(&key)));
                }
                Step::PopLast => {
                    let last = map.pop_last().map(|entry| (entry.key().clone(), *entry));
                    let key = model.keys().next_back().cloned();
                    prop_assert_eq!(last, key.and_then(|key| model.remove_entry(&key)));
                }
                Step::SplitOff(key) => {
                    let (mut high, rest) = (map.split_off(&key).unwrap(), model.split_off(&key));
                    prop_assert_eq!(pairs(high.iter()), of_model(rest.iter()));
                    prop_assert_eq!(pairs(map.iter()), of_model(model.iter()));
                    map.append(&mut high).unwrap();
                    model.extend(rest);
                }
                Step::Range(a, b) => {
                    check_range(&map, &model, &a, &b);
                    prop_assert_eq!(map.rank(&a), model.range(..a).count());
                    prop_assert_eq!(map.get(&b).map(|v| *v), model.get(&b).copied());
                }
            }
        }
        prop_assert_eq!(pairs(map.iter()), of_model(model.iter()));
        prop_assert_eq!(map.len(), model.len());
        for (rank, key) in model.keys().enumerate() {
            let found = map.select(rank).map(|entry| entry.key().clone());
            prop_assert_eq!(found.as_ref(), Some(key));
        }
        map.verify().unwrap();
        prop_assert!(map.clone() == map);
        prop_assert_eq!(map.into_iter().collect::<Vec<_>>(), model.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn from_both_ends() {
    let map: BytesMap<[u8; 2], u32> =
        (0..300u32).map(|n| ([(n / 256) as u8, n as u8], n)).collect();
    for seed in 0..60u32 {
        let (mut all, mut random) = (map.range([0, 10]..[1, 10]), seed);
        let (mut low, mut high) = (10, 265);
        while low <= high {
            random = random.wrapping_mul(1664525).wrapping_add(1013904223);
            if random >> 26 < seed {
                assert_eq!(all.next().unwrap().1, low);
                low += 1;
            } else {
                assert_eq!(all.next_back().unwrap().1, high);
                high -= 1;
            }
        }
        if seed % 2 == 0 {
            assert!(all.next().is_none());
        }
        assert!(all.next_back().is_none() && all.next().is_none());
    }
}

#[test]
fn drops_by_threads() {
    let alive = Arc::new(AtomicUsize::new(0));
    let map = BytesMap::<String, Counted<u64>>::new();
    thread::scope(|s| {
        for thread in 0..3u64 {
            let (map, alive) = (&map, &alive);
            s.spawn(move || {
                let mut random = thread;
                for _ in 0..8000 {
                    random =
                        random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let n = (random >> 33) % 300;
                    let key = format!("a key with a long beginning {n}");
                    match random >> 62 {
                        0 => drop(map.insert(key, Counted::new(n, alive)).ok().unwrap()),
                        1 => {
                            let value = map.get_or_insert_with(key, || Counted::new(n, alive));
                            assert_eq!(value.ok().unwrap().0, n);
                        }
                        2 => drop(map.pop_first()),
                        _ => {
                            if let Some(old) = map.remove(&key) {
                                assert_eq!((old.key(), old.0), (&key, n));
                            }
                        }
                    }
                }
            });
        }
        for _ in 0..200 {
            let keys: Vec<String> = map.keys().map(|key| (*key).clone()).collect();
            assert!(keys.windows(2).all(|w| w[0] < w[1]));
        }
    });
    let mut map = map;
    map.verify().unwrap();
    assert_eq!(map.iter().count(), map.len());
    map.retain(|_, value| value.0 % 2 == 0);
    map.clear();
    assert!(map.is_empty());
    map.insert(String::new(), Counted::new(1, &alive)).ok().unwrap();
    drop(map);
    assert_eq!(alive.load(SeqCst), 0);
}

#[test]
fn keys_and_values_outlive_their_iterator() {
    let alive = Arc::new(AtomicUsize::new(0));
    let map: BytesMap<String, Counted<u64>> =
        (0..5).map(|n| (n.to_string(), Counted::new(n, &alive))).collect();
    let (key, value) = map.iter().nth(1).unwrap();
    let copy = value.clone();
    drop(value);
    map.retain(|key, _| key != "1");
    // time for a grace period, were there no section
    let reclaim = || {
        for _ in 0..20 {
            thread::sleep(std::time::Duration::from_millis(10));
            map.reclaim();
        }
    };
    reclaim();
    assert_eq!((key.as_str(), copy.0), ("1", 1));
    drop(copy); // the key alone keeps the entry
    reclaim();
    assert_eq!((key.as_str(), alive.load(SeqCst)), ("1", 5));
    drop(key);
    for (name, (key, value)) in ["0", "2", "3", "4"].into_iter().zip(&map) {
        assert_eq!((&**key, value.0), (name, name.parse().unwrap()));
    }
    drop(map);
    assert_eq!(alive.load(SeqCst), 0);
}

#[test]
fn only_keys_or_values() {
    let alive = Arc::new(AtomicUsize::new(0));
    let make = || -> BytesMap<String, Counted<u64>> {
        let entry = |n: u64| (n.to_string(), Counted::new(n, &alive));
        (0..5).map(entry).collect()
    };
    let map = make();
    assert!(map.keys().rev().map(|key| (*key).clone()).eq(["4", "3", "2", "1", "0"]));
    assert!(map.values().map(|value| value.0).eq(0..5));
    assert!(map.into_keys().eq(["0", "1", "2", "3", "4"]));
    assert_eq!(alive.load(SeqCst), 0);
    let mut values = make().into_values();
    let (first, last) = (values.next().unwrap(), values.next_back().unwrap());
    assert_eq!((first.0, last.0, alive.load(SeqCst)), (0, 4, 5));
    drop(values); // and the entries that it has not shown
    assert_eq!(alive.load(SeqCst), 2);
}

#[test]
fn a_panic_while_the_map_ends() {
    for removed in [0, 5, 20] {
        let alive = Arc::new(AtomicUsize::new(0));
        let map: BytesMap<String, Counted<u64>> =
            (0..40).map(|n| (n.to_string(), Counted::bomb(n, &alive, n == 7))).collect();
        for n in 0..removed {
            map.remove(n.to_string().as_str());
        }
        let end = std::panic::AssertUnwindSafe(move || drop(map));
        assert!(std::panic::catch_unwind(end).is_err());
        assert_eq!(alive.load(SeqCst), 0);
    }
}

#[test]
fn keys_of_no_bytes() {
    let map = BytesMap::try_with(Options::new()).unwrap();
    map.insert([0u8; 0], ()).unwrap();
    assert_eq!(map.try_insert([], ()).unwrap_err().reason, Reason::Exists);
    assert!(map.contains_key("") && map.remove("").is_some() && map.is_empty());
}
