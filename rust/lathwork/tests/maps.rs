// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! PointMap and BytesMap: the same calls give what a BTreeMap gives, with values of each kind; and
//! what several threads do to one map.
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

mod common;
use common::{check, Counted, Random};

use lathwork::{
    Bytes, BytesMap, Entry, InNode, Key, Options, Place, PointMap, RangeMap, Reason, Ref,
};

fn of_points<K, V: Clone>((key, value): (K, Ref<'_, V>)) -> (K, V) {
    (key, (*value).clone())
}

fn of_bytes<K: Clone, V: Clone>((key, value): (Ref<'_, K, InNode>, Ref<'_, V, InNode>)) -> (K, V) {
    ((*key).clone(), (*value).clone())
}

fn own<V: Clone, P: Place<V>>(value: Ref<'_, V, P>) -> V {
    (*value).clone()
}

type Steps<K> = [(u8, K, K, u8)];
/// Those from 16 on, but for the last one, change values where they are.
const KINDS: u8 = 20;

/// `fn NAME`: the same steps on a map and on a BTreeMap. `own` makes of what an iterator shows what
/// a BTreeMap has, `take` of what take() returns.
macro_rules! played {
    ($play:ident: $map:ident<$bound:ident>, $own:ident, $take:expr) => {
        fn $play<K, V>(mut map: $map<K, V>, steps: &Steps<K>, make: fn(u8) -> V)
        where
            K: $bound + Ord + Clone + Debug,
            V: Ord + Clone + Debug,
        {
            let mut model = BTreeMap::<K, V>::new();
            for (what, key, other, value) in steps.iter().cloned() {
                let (at, value, change) = (key.clone(), make(value), make(value / 2));
                match what % KINDS {
                    0..=4 => {
                        let old = map.insert(at, value.clone()).ok().unwrap().map(own);
                        assert_eq!(old, model.insert(key.clone(), value));
                    }
                    5 => match map.try_insert(at, value.clone()) {
                        Ok(_) => assert!(model.insert(key.clone(), value).is_none()),
                        Err(refused) => assert!(refused.value == value && model.contains_key(&key)),
                    },
                    6 => {
                        let there = map.get_or_insert_with(at, || value.clone()).ok().unwrap();
                        assert_eq!(*there, *model.entry(key.clone()).or_insert(value));
                    }
                    7 => match map.replace(at, value.clone()) {
                        Ok(old) => assert_eq!(Some(own(old)), model.insert(key.clone(), value)),
                        Err(refused) => {
                            assert!(refused.reason == Reason::Absent && refused.value == value);
                            assert!(!model.contains_key(&key));
                        }
                    },
                    8 => {
                        let new = map.update(at, |_| change.clone()).ok().unwrap().map(own);
                        let there = model.get_mut(&key);
                        there.into_iter().for_each(|value| *value = change.clone());
                        assert_eq!(new.as_ref(), model.get(&key));
                    }
                    9 => assert_eq!(map.remove(&key).map(own), model.remove(&key)),
                    10 => assert_eq!($take(map.take(&key)), model.remove(&key)),
                    11 => assert_eq!(map.pop_first().map($own), model.pop_first()),
                    12 => assert_eq!(map.pop_last().map($own), model.pop_last()),
                    13 => {
                        // by a map of another kind, if the values of this one are in leaves
                        let (mut high, mut between) = (map.split_off(&key).unwrap(), $map::new());
                        let mut rest = model.split_off(&key);
                        assert!(high.iter().map($own).eq(rest.clone()));
                        between.append(&mut high).unwrap();
                        between.insert(at, value.clone()).ok().unwrap();
                        rest.insert(key.clone(), value);
                        map.append(&mut between).unwrap();
                        model.append(&mut rest);
                        assert!(high.is_empty() && between.is_empty());
                        high.append(&mut map.clone()).unwrap();
                        assert!(high == map);
                    }
                    14 => {
                        let gone = map.extract_if((Included(at), Unbounded), |_, v| *v == value);
                        let (gone, before) = (gone.count(), model.len());
                        model.retain(|k, v| *k < key || *v != value);
                        assert_eq!(gone, before - model.len());
                    }
                    16 => {
                        let (map, model) = (map.entry(at), model.entry(key.clone()));
                        let change = |v: &mut V| *v = change.clone();
                        let there = model.and_modify(change).or_insert(value.clone());
                        assert_eq!(map.and_modify(change).or_insert(value), there);
                    }
                    17 => match map.entry(at) {
                        Entry::Occupied(mut there) => {
                            assert_eq!(Some(there.get()), model.get(&key));
                            assert_eq!(there.insert(value.clone()), model[&key]);
                            assert_eq!(there.key(), &key);
                            assert_eq!(there.remove(), value);
                            model.remove(&key);
                        }
                        Entry::Vacant(place) => {
                            assert!(model.insert(place.key().clone(), value.clone()).is_none());
                            *place.insert(change) = value;
                        }
                    },
                    18 => {
                        let keys = (Included(at), Unbounded);
                        let (mut all, mut model) =
                            (map.range_mut(keys.clone()), model.range_mut(keys));
                        for n in 0..=u8::MAX {
                            let (there, other) = match n % 3 {
                                0 => (all.next_back(), model.next_back()),
                                _ => (all.next(), model.next()),
                            };
                            let (there, other) = (there.map(|e| e.1), other.map(|e| e.1));
                            assert_eq!(there, other);
                            there.into_iter().chain(other).for_each(|v| *v = make(n));
                        }
                    }
                    _ => {
                        map.retain(|k, v| *k != other && *v != value);
                        model.retain(|k, v| *k != other && *v != value);
                    }
                }
                let (low, high) = (key.clone().min(other.clone()), key.clone().max(other));
                assert_eq!(map.get(&low).map(own), model.get(&low).cloned());
                assert_eq!(map.contains_key(&low), model.contains_key(&low));
                assert_eq!(map.get_key_value(&low).is_some(), model.contains_key(&low));
                assert_eq!(map.rank(&high), model.range(..&high).count());
                let next = model.range(&low..).next().map(|(k, v)| (k.clone(), v.clone()));
                assert_eq!(map.ceiling(&low).map($own), next);
                let last = model.range(..=&low).next_back().map(|(k, v)| (k.clone(), v.clone()));
                assert_eq!(map.floor(&low).map($own), last);
                let (first, last) = (model.keys().next(), model.keys().next_back());
                assert_eq!(map.first_key_value().map($own).map(|e| e.0).as_ref(), first);
                assert_eq!(map.last_key_value().map($own).map(|e| e.0).as_ref(), last);
                let empty = (Included(high.clone()), Excluded(low.clone())); // BTreeMap panics
                assert_eq!(map.range(empty).count(), 0);
                let bounds = match what % 5 {
                    0 => (Included(low), Unbounded),
                    1 => (Unbounded, Excluded(high)),
                    2 => (Excluded(low), Included(high)),
                    3 => (Unbounded, Unbounded),
                    _ => (Included(low), Included(high)),
                };
                let within = model.range(bounds.clone()).map(|(k, v)| (k.clone(), v.clone()));
                assert!(map.range(bounds.clone()).map($own).eq(within.clone()));
                assert!(map.range(bounds).rev().map($own).eq(within.rev()));
            }
            map.verify().unwrap();
            assert_eq!(map.len(), model.len());
            for (rank, key) in model.keys().enumerate() {
                assert_eq!(map.select(rank).map($own).map(|e| e.0).as_ref(), Some(key));
            }
            assert!(map.select(model.len()).is_none());
            assert!(map.values().cloned().eq(model.values().cloned()));
            assert!(map.clone().into_values().rev().eq(model.values().rev().cloned()));
            assert!(map.clone() == map && map.clone().into_keys().eq(model.keys().cloned()));
            assert!(map.into_iter().rev().eq(model.into_iter().rev()));
        }
    };
}

played!(play_points: PointMap<Key>, of_points, |taken| taken);
played!(play_bytes: BytesMap<Bytes>, of_bytes, |taken: Option<(K, V)>| taken.map(|e| e.1));

/// Some bytes of it are of no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Uneven(u8, u64, Option<u16>);

/// Keys that meet each other, at both ends of all keys and between.
fn number(n: u8) -> i16 {
    match i16::from(n) {
        n @ 0..=9 => i16::MIN + n / 2,
        n @ 10..=19 => i16::MAX - n / 2,
        n => n / 2 - 60,
    }
}

/// Keys of few different bytes and some length, so that they agree in their beginnings.
fn text(n: u8) -> Vec<u8> {
    let end = [2, 4, 6].map(|bits| [0, b'a', b'b', 255][usize::from(n >> bits & 3)]);
    [&[b'x'; 16][..usize::from(n % 3) * 8], &end[..usize::from(n % 4)]].concat()
}

fn with_keys<K>(steps: &[(u8, u8, u8, u8)], key: fn(u8) -> K) -> Vec<(u8, K, K, u8)> {
    steps.iter().map(|&(what, one, other, n)| (what, key(one), key(other), n % 8)).collect()
}

#[test]
fn points_as_btree_map() {
    fn property(steps: Vec<(u8, u8, u8, u8)>) {
        let mut steps = with_keys(&steps, number);
        play_points(PointMap::new(), &steps, |n| n.to_string());
        play_points(PointMap::new(), &steps, |n| -i64::from(n));
        play_points(PointMap::of_copies(), &steps, |n| Uneven(n, 7, None));
        steps.retain(|step| step.0 % KINDS < 16);
        play_points(PointMap::of_copies(), &steps, u64::from);
        play_points(PointMap::of_copies(), &steps, |n| Uneven(n, 7, (n > 9).then(|| n.into())));
        play_points(PointMap::of_copies(), &steps, |n| (n > 100).then(|| u32::from(n)));
        play_points(PointMap::of_copies(), &steps, |n| (["a", "bc"][usize::from(n % 2)], n));
    }
    check(60, 160, property as fn(_));
}

#[test]
fn bytes_as_btree_map() {
    fn property(steps: Vec<(u8, u8, u8, u8)>) {
        let steps = with_keys(&steps, text);
        play_bytes(BytesMap::new(), &steps, u32::from);
        play_bytes(BytesMap::new(), &steps, |n| n.to_string());
    }
    check(60, 160, property as fn(_));
}

#[test]
fn prefixes() {
    fn property(keys: Vec<u8>, prefix: u8) {
        let map: BytesMap<Vec<u8>, ()> = keys.iter().map(|&key| (text(key), ())).collect();
        let all: std::collections::BTreeSet<_> = keys.into_iter().map(text).collect();
        let prefix = text(prefix);
        let found = map.prefix(&prefix).map(|(key, _)| (*key).clone());
        assert!(found.eq(all.into_iter().filter(|key| key.starts_with(&prefix))));
    }
    check(60, 60, property as fn(_, _));
}

#[test]
fn copies_of_each_size() {
    fn property(steps: Vec<(u8, u8, u8, u8)>) {
        let mut steps = with_keys(&steps, number);
        steps.retain(|step| step.0 % KINDS < 16);
        macro_rules! sizes {
            ($($size:literal)*) => {$(
                play_points::<_, [u8; $size]>(PointMap::of_copies(), &steps, |n| [n; $size]);
            )*};
        }
        sizes!(1 3 8 9 16 17 24 40 64 65);
    }
    check(12, 160, property as fn(_));
}

/// Runs of one end: what was copied ahead there goes beyond the other end.
macro_rules! from_both_ends {
    ($all:expr, $low:expr, $high:expr) => {
        for seed in 0..100 {
            let (mut all, mut random) = ($all, Random(seed + 1));
            let (mut low, mut high) = ($low, $high);
            while low <= high {
                if random.below(100) < seed {
                    assert_eq!(*all.next().unwrap().1, low);
                    low += 1;
                } else {
                    assert_eq!(*all.next_back().unwrap().1, high);
                    high -= 1;
                }
            }
            assert!(seed % 2 == 1 || all.next().is_none());
            assert!(all.next_back().is_none() && all.next().is_none());
        }
    };
}

#[test]
fn iterators_from_both_ends() {
    let ranges: RangeMap<u32, u32> = (0..200).map(|n| (10 * n..10 * n + 5, n)).collect();
    from_both_ends!(ranges.overlapping(12..1984), 1, 198);
    let points: PointMap<u32, u32> = (0..200).map(|n| (10 * n, n)).collect();
    from_both_ends!(points.range(5..1985), 1, 198);
    let bytes: BytesMap<[u8; 2], u16> = (0..300u16).map(|n| (n.to_be_bytes(), n)).collect();
    from_both_ends!(bytes.range([0, 10]..[1, 10]), 10, 265);
}

/// A copy is read as a whole, and stays as it was.
#[test]
fn copies_are_read_as_one() {
    let map = PointMap::<u32, [u64; 8]>::of_copies();
    map.insert(100, [5; 8]).unwrap();
    let found = map.get(100).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
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
                map.insert(100, [6; 8]).unwrap();
                stop.store(true, SeqCst);
            });
        }
        while !stop.load(SeqCst) {
            for (key, value) in &map {
                assert_eq!(*value, [value[0]; 8]);
                assert!(map.get(key).map_or(true, |now| *now == [now[3]; 8]));
            }
        }
    });
    let again = Ref::clone(&found);
    map.remove(100);
    assert_eq!((*found, *again), ([5; 8], [5; 8]));
}

/// Of threads that pop, insert and replace, each value comes out once.
#[test]
fn each_value_comes_out_once() {
    let map: PointMap<u32, Vec<u32>> = (2..4002).map(|n| (n, vec![n + 100_000])).collect();
    let mut seen: Vec<u32> = thread::scope(|s| {
        let work = |thread: u32| {
            let map = &map;
            s.spawn(move || {
                let mut seen = Vec::new();
                for n in 0..20_000 {
                    let came_out = match n % 4 {
                        2 if thread > 0 => map.pop_last().map(|(_, value)| value),
                        2 | 3 => map.pop_first().map(|(_, value)| value),
                        _ => map.insert(n % 2, vec![thread * 20_000 + n]).unwrap(),
                    };
                    seen.extend(came_out.map(|value| value[0]));
                }
                seen
            })
        };
        [0, 1, 2].map(work).map(|thread| thread.join().unwrap()).concat()
    });
    seen.extend(map.into_iter().map(|(_, value)| value[0]));
    seen.sort_unstable();
    let inserted = (0..60_000).filter(|n| n % 4 < 2);
    assert!(seen.into_iter().eq(inserted.chain(100_002..104_002)));
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
        assert!(
            **map.get(round).unwrap() == value && words.get(&round.to_string()).unwrap() == word
        );
        // as many removals hit as inserts did
        let removed = seen.iter().filter(|seen| seen.2).count();
        assert_eq!((removed, map.len()), (made.load(SeqCst), 1));
    }
}

/// No update is lost while others insert, replace and remove.
#[test]
fn updates_are_not_lost() {
    let (map, words) = (PointMap::new(), BytesMap::new());
    thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                for n in 0..3000u32 {
                    let key = ["0", "1", "2", "3", "4"][n as usize % 5];
                    assert_eq!(map.get_or_insert_with(n % 5, || vec![0]).unwrap().len(), 1);
                    map.update(n % 5, |value| vec![value[0] + 1]).unwrap().unwrap();
                    words.get_or_insert_with(key, || vec![0]).unwrap();
                    words.update(key, |value| vec![value[0] + 1]).unwrap().unwrap();
                    match n % 3 {
                        0 => drop(words.insert("other", vec![n]).unwrap()),
                        1 => drop(words.remove("other")),
                        _ => drop(words.update("other", |value| value.clone()).unwrap()),
                    }
                }
            });
        }
    });
    words.remove("other");
    assert_eq!(map.values().map(|value| value[0]).sum::<u32>(), 9000);
    assert_eq!(words.values().map(|value| value[0]).sum::<u32>(), 9000);
}

/// An iterator that other threads insert and remove beside shows what is there all the time, in
/// order; what is removed while it is shown is valid.
#[test]
fn an_iterator_beside_changes() {
    let map: PointMap<u32, Arc<u32>> = (0..3000).map(|n| (n * 2, Arc::new(n * 2))).collect();
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            for n in 0..6000 {
                map.insert(n * 7919 % 3000 * 2 + 1, Arc::new(0)).unwrap();
                map.remove(n * 104_729 % 3000 * 2 + 1);
            }
            done.store(true, SeqCst);
        });
        while !done.load(SeqCst) {
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
    let mut seen = 0;
    for (key, value) in &map {
        map.remove(key);
        map.remove(key + 2);
        assert!(*value == key.into() || **value == 0);
        seen += 1;
    }
    assert!(map.is_empty() && seen >= 1500);
}

#[test]
fn bytes_by_threads() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut map = BytesMap::<String, Counted>::new();
    thread::scope(|s| {
        for thread in 1..4u64 {
            let (map, alive) = (&map, &alive);
            s.spawn(move || {
                let mut random = Random(thread);
                for _ in 0..8000 {
                    let n = random.below(300);
                    let key = format!("a key with a long beginning {n}");
                    match random.below(4) {
                        0 => drop(map.insert(key, Counted::new(n, alive)).ok().unwrap()),
                        1 => {
                            let value = map.get_or_insert_with(key, || Counted::new(n, alive));
                            assert_eq!(value.ok().unwrap().0, n);
                        }
                        2 => drop(map.pop_first()),
                        _ => map.remove(&key).into_iter().for_each(|old| assert_eq!(old.0, n)),
                    }
                }
            });
        }
        for _ in 0..200 {
            let keys: Vec<String> = map.keys().cloned().collect();
            assert!(keys.windows(2).all(|w| w[0] < w[1]));
        }
    });
    map.verify().unwrap();
    assert_eq!(map.iter().count(), map.len());
    map.retain(|_, value| value.0 % 2 == 0);
    map.clear();
    assert!(map.is_empty());
    map.insert(String::new(), Counted::new(1, &alive)).ok().unwrap();
    drop(map);
    assert_eq!(alive.load(SeqCst), 0);
}

/// Each of key and value alone keeps its entry.
#[test]
fn keys_and_values_outlive_their_iterator() {
    let alive = Arc::new(AtomicUsize::new(0));
    let map: BytesMap<String, Counted> =
        (0..5).map(|n| (n.to_string(), Counted::new(n, &alive))).collect();
    let (key, value) = map.iter().nth(1).unwrap();
    let copy = value.clone();
    drop(value);
    map.retain(|key, _| key != "1");
    // time for a grace period, were there no section
    let reclaim = || {
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(10));
            map.reclaim();
        }
    };
    reclaim();
    assert_eq!((key.as_str(), copy.0), ("1", 1));
    drop(copy); // the key alone keeps the entry
    reclaim();
    assert_eq!((key.as_str(), alive.load(SeqCst)), ("1", 5));
    drop(key);
    let mut values = map.into_values();
    let (first, last) = (values.next().unwrap(), values.next_back().unwrap());
    assert_eq!((first.0, last.0), (0, 4));
    drop(values); // and the entries that it has not shown
    assert_eq!(alive.load(SeqCst), 2);
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
    panics(|| drop(map.clone().entry(3).and_modify(|_| panic!())));
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

/// What `wait` returns, while another thread has for a while what `look` returns.
fn waits<T, R>(look: impl FnOnce() -> T + Send, wait: impl FnOnce() -> R) -> R {
    let (looks, done) = (Barrier::new(2), AtomicBool::new(false));
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
    let refused = |call: &dyn Fn()| catch_unwind(AssertUnwindSafe(call)).is_err();
    assert!(refused(&lathwork::synchronize) && refused(&|| drop(map.remove_and_wait(2))));
    assert!(held.is_some() && map.len() == 1);
    assert_eq!(PointMap::from([(1, 5)]).remove_and_wait(1), Some(5)); // no section is needed
}

#[test]
fn keys_of_no_bytes() {
    let map = BytesMap::try_with(Options::new()).unwrap();
    map.insert([0u8; 0], ()).unwrap();
    assert_eq!(map.try_insert([], ()).unwrap_err().reason, Reason::Exists);
    assert!(map.contains_key("") && map.remove("").is_some() && map.is_empty());
}
