// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! RangeMap and RangeSet: the same calls give what plain code gives, with values of each kind, and threads see keys with one of the values that they had.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;

mod common;
use common::{check, Counted, Random};

use lathwork::{RangeMap, RangeSet, Reason, Ref};

type Keys = RangeInclusive<u32>;

fn range(first: u32, more: u32) -> Keys {
    first..=first.saturating_add(more)
}

/// Keys that meet each other, at both ends and between.
fn key(n: u16) -> u32 {
    let n = u32::from(n);
    if n % 5 == 0 {
        u32::MAX - n % 50
    } else {
        n % 200
    }
}

/// First key to last key and value, as plain code has it.
#[derive(Clone, Default)]
struct Model(BTreeMap<u32, (u32, u8)>);

impl Model {
    fn cut(&mut self, keys: &Keys) {
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

    fn insert(&mut self, keys: &Keys, value: u8) {
        self.cut(keys);
        self.0.insert(*keys.start(), (*keys.end(), value));
    }

    fn merged(&mut self, keys: &Keys, value: u8) {
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

    /// Removes the range that begins at a key.
    fn take(&mut self, first: u32) -> Option<(Keys, u8)> {
        self.0.remove(&first).map(|(last, value)| (first..=last, value))
    }

    fn all(&self) -> Vec<(Keys, u8)> {
        self.0.iter().map(|(&first, &(last, value))| (first..=last, value)).collect()
    }

    fn met(&self, keys: &Keys) -> Vec<(Keys, u8)> {
        let meets = |r: &Keys| r.start() <= keys.end() && keys.start() <= r.end();
        self.all().into_iter().filter(|(r, _)| meets(r)).collect()
    }
}

/// A map of V and the model; how V is made of a number, and what number it has.
struct Both<V> {
    map: RangeMap<u32, V>,
    model: Model,
    alive: Arc<AtomicUsize>,
    make: fn(u8, &Arc<AtomicUsize>) -> V,
    number: fn(&V) -> u8,
}

impl<V: Clone + PartialEq> Both<V> {
    fn value(&self, n: u8) -> V {
        (self.make)(n, &self.alive)
    }

    fn copied(&self, entry: Option<(Keys, Ref<'_, V>)>) -> Option<(Keys, u8)> {
        entry.map(|(keys, value)| (keys, (self.number)(&value)))
    }

    /// What a map has, in the form of the model.
    fn all(&self, map: &RangeMap<u32, V>) -> Vec<(Keys, u8)> {
        map.iter().map(|(keys, value)| (keys, (self.number)(&value))).collect()
    }

    /// A call that takes a range.
    fn change(&mut self, what: u8, keys: Keys, n: u8) {
        let (there, value) = (self.model.met(&keys), self.value(n));
        match what {
            0..=4 => {
                self.map.insert(keys.clone(), value).ok().unwrap();
                self.model.insert(&keys, n);
            }
            5 | 6 => {
                self.map.insert_merged(keys.clone(), value).ok().unwrap();
                self.model.merged(&keys, n);
            }
            7 | 8 => {
                self.map.remove(keys.clone()).unwrap();
                self.model.cut(&keys);
            }
            9 => {
                let mut other = RangeMap::new();
                for at in [keys.start() / 2, keys.start() / 3, *keys.start()] {
                    other
                        .insert(at..=keys.end() - (keys.start() - at), value.clone())
                        .ok()
                        .unwrap();
                }
                self.all(&other).iter().for_each(|(keys, n)| self.model.insert(keys, *n));
                self.map.append(&mut other).unwrap();
                assert!(other.is_empty());
            }
            _ => match self.map.try_insert(keys.clone(), value) {
                Ok(_) => {
                    assert!(there.is_empty());
                    self.model.insert(&keys, n);
                }
                Err(refused) => match refused.reason {
                    Reason::Overlaps(with) => assert!(there.iter().any(|(r, _)| *r == with)),
                    other => panic!("{other:?}"),
                },
            },
        }
    }

    /// A call that takes a key.
    fn change_at(&mut self, what: u8, first: u32, n: u8) {
        match what {
            12 => {
                let there = self.model.met(&(first..=first)).pop();
                assert_eq!(self.copied(self.map.remove_covering(first)), there);
                there.into_iter().for_each(|(keys, _)| self.model.cut(&keys));
            }
            13 => {
                let high = self.map.split_off(first).unwrap();
                let mut rest = self.model.clone();
                self.model.cut(&(first..=u32::MAX));
                if first > 0 {
                    rest.cut(&(0..=first - 1));
                }
                assert_eq!(self.all(&high), rest.all());
            }
            14 => {
                let was = self.model.take(first);
                assert_eq!(self.copied(self.map.remove_starting(first)), was);
            }
            15 => {
                let there = self.model.0.get_mut(&first);
                let was = there.map(|entry| std::mem::replace(&mut entry.1, n));
                let old = self.map.replace(first, self.value(n)).ok();
                assert_eq!(old.map(|old| (self.number)(&old)), was);
            }
            16 => {
                let taken = self.map.take_starting(first);
                let taken = taken.map(|(keys, value)| (keys, (self.number)(&value)));
                assert_eq!(taken, self.model.take(first));
            }
            17 => {
                self.map.retain(|keys, value| *keys.start() < first || (self.number)(value) != n);
                self.model.0.retain(|&at, &mut (_, there)| at < first || there != n);
            }
            _ => {
                let end = if n > 0 { self.map.pop_first() } else { self.map.pop_last() };
                let mut ends = self.model.all();
                let expected = if n > 0 { ends.drain(..).next() } else { ends.pop() };
                assert_eq!(self.copied(end), expected);
                expected.into_iter().for_each(|(keys, _)| self.model.cut(&keys));
            }
        }
    }

    fn look(&self, keys: &Keys) {
        let (map, model, first) = (&self.map, &self.model, *keys.start());
        assert_eq!(self.all(map), model.all());
        let at = model.met(&(first..=first)).pop();
        let value = map.get(first).map(|value| (self.number)(&value));
        assert_eq!(value, at.as_ref().map(|there| there.1));
        assert_eq!(map.contains_key(first), at.is_some());
        assert_eq!(self.copied(map.get_key_value(first)), at);
        let met = map.overlapping(keys.clone()).map(|(keys, value)| (keys, (self.number)(&value)));
        assert!(met.eq(model.met(keys)));
        let free = keys.clone().filter(|&key| model.met(&(key..=key)).is_empty());
        assert!(map.gaps(keys.clone()).flatten().eq(free));
        let mut all = model.all().into_iter();
        let before = all.clone().take_while(|(r, _)| *r.start() <= first).last();
        assert_eq!(self.copied(map.floor(first)), before);
        assert_eq!(self.copied(map.ceiling(first)), all.find(|(r, _)| *r.start() >= first));
    }

    fn end(mut self) {
        let back = self.map.iter().rev().map(|(keys, value)| (keys, (self.number)(&value)));
        assert!(back.eq(self.model.all().into_iter().rev()));
        assert_eq!(self.map.len(), self.model.0.len());
        assert_eq!(self.map.is_empty(), self.model.0.is_empty());
        let mut copy = self.map.clone();
        assert!(copy == self.map);
        self.map.verify().unwrap();
        let owned = self.map.into_iter().map(|(keys, value)| (keys, (self.number)(&value)));
        assert!(owned.eq(self.model.all()));
        copy.clear();
        assert!(copy.is_empty() && copy.iter().next().is_none());
        drop(copy);
        assert_eq!(self.alive.load(SeqCst), 0);
    }
}

/// The same steps on the map and on the model.
fn play<V: Clone + PartialEq>(
    map: RangeMap<u32, V>, steps: &[(u8, u16, u8, u8)], make: fn(u8, &Arc<AtomicUsize>) -> V,
    number: fn(&V) -> u8,
) {
    let (model, alive) = (Model::default(), Arc::default());
    let mut both = Both { map, model, alive, make, number };
    for &(what, first, more, n) in steps {
        let keys = range(key(first), u32::from(more % 40));
        match what % 20 {
            what @ 0..=11 => both.change(what, keys.clone(), n % 3),
            what => both.change_at(what, *keys.start(), n % 3),
        }
        both.look(&keys);
    }
    both.end();
}

#[test]
fn as_plain_code() {
    fn property(steps: Vec<(u8, u16, u8, u8)>) {
        play(RangeMap::new(), &steps, |n, _| n, |value| *value);
        play(RangeMap::new(), &steps, |n, _| n.to_string(), |value| value.parse().unwrap());
        play(RangeMap::new(), &steps, Counted::new, |value| value.0);
        play(RangeMap::of_copies(), &steps, |n, _| [n; 5], |value| value[4]);
        play(RangeMap::of_copies(), &steps, |n, _| (n, 7u64, Some(n)), |value| value.0);
        play(RangeMap::of_copies(), &steps, |n, _| [u64::from(n); 8], |value| value[7] as u8);
    }
    check(100, 90, property as fn(_));
}

#[test]
fn sets_as_sets_of_keys() {
    fn property(a: Vec<(u8, u8)>, b: Vec<(u8, u8)>) {
        let keys = |ranges: &[(u8, u8)]| -> BTreeSet<u8> {
            ranges.iter().flat_map(|&(first, more)| first % 60..=first % 60 + more % 6).collect()
        };
        let set = |ranges: &[(u8, u8)]| -> RangeSet<u8> {
            ranges.iter().map(|&(first, more)| first % 60..=first % 60 + more % 6).collect()
        };
        let flat = |set: &RangeSet<u8>| set.iter().flatten().collect::<Vec<_>>();
        let (x, y, p, q) = (set(&a), set(&b), keys(&a), keys(&b));
        assert_eq!(flat(&(&x | &y)), p.union(&q).copied().collect::<Vec<_>>());
        assert_eq!(flat(&(&x & &y)), p.intersection(&q).copied().collect::<Vec<_>>());
        assert_eq!(flat(&(&x - &y)), p.difference(&q).copied().collect::<Vec<_>>());
        assert_eq!(flat(&(&x ^ &y)), p.symmetric_difference(&q).copied().collect::<Vec<_>>());
        assert_eq!((x.is_subset(&y), x.is_disjoint(&y)), (p.is_subset(&q), p.is_disjoint(&q)));
        // none that touch
        let union: Vec<_> = x.union(&y).collect();
        assert!(union.windows(2).all(|w| w[0].end() + 1 < *w[1].start()));
        assert_eq!(&x | &y, union.into_iter().collect::<RangeSet<u8>>());
        y.iter().for_each(|range| x.remove(range).unwrap());
        assert!(x.iter().flatten().eq(p.difference(&q).copied()));
    }
    check(200, 12, property as fn(_, _));
}

fn ranges<K: lathwork::Key + Debug, V>(map: &RangeMap<K, V>) -> Vec<RangeInclusive<K>> {
    map.iter().map(|(range, _)| range).collect()
}

/// The ends of the type are keys as others; a range of 2^64 keys and one without keys are refused.
#[test]
fn ends_of_the_type() {
    let map = RangeMap::<u64, String>::new();
    let refused = map.insert(.., "all".to_string()).unwrap_err();
    assert_eq!((refused.reason, refused.value.as_str()), (Reason::TooLong, "all"));
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
    assert_eq!(format!("{:?}", RangeSet::from([3..=5])), "{3..=5}");
    #[allow(clippy::reversed_empty_ranges)]
    let empty = 5..=4;
    map.remove(empty.clone()).unwrap();
    assert_eq!(map.overlapping(empty.clone()).count() + map.gaps(empty.clone()).count(), 0);
    assert_eq!(map.insert(empty, String::new()).unwrap_err().reason, Reason::Empty);

    let map = RangeMap::new();
    map.insert(i8::MIN..=i8::MAX, "all").unwrap();
    assert!(map.gaps(..).next().is_none());
    map.remove(i8::MIN..=i8::MIN).unwrap();
    map.remove(i8::MAX..).unwrap();
    assert_eq!(map.gaps(..).collect::<Vec<_>>(), [-128..=-128, 127..=127]);
    map.insert_merged(..=-127, "all").unwrap();
    map.insert_merged(127.., "all").unwrap();
    assert_eq!(ranges(&map), [-128..=127]);
    assert!(map.insert((Excluded(127), Unbounded), "none").is_err());
}

/// Each key has a value that was inserted over it, and no value is lost or dropped twice; the parts
/// of a range that one thread cuts and another replaces have one value.
#[test]
fn by_threads() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut map = RangeMap::<u32, Counted<u8>>::new();
    map.insert(0..1000, Counted::new(0, &alive)).unwrap();
    thread::scope(|s| {
        for thread in 1..=3u8 {
            let (map, alive) = (&map, &alive);
            s.spawn(move || {
                let mut random = Random(thread.into());
                for _ in 0..4000 {
                    let first = random.below(1024) as u32;
                    let keys = range(first, random.below(32) as u32);
                    let value = Counted::new(thread, alive);
                    match random.below(9) {
                        0 | 1 => map.remove(keys).unwrap(),
                        2 => drop(map.remove_covering(first)),
                        3 => drop(map.try_insert(keys, value)),
                        4 => drop(map.pop_first()),
                        5 => map.insert_merged(keys, value).ok().unwrap(),
                        6 => map.insert(keys, value).ok().unwrap(),
                        _ => {
                            let keys = [2000..=2009, 2003..=2005, 2004..=2006];
                            let keys = keys[usize::from(thread - 1)].clone();
                            map.insert(keys, value).ok().unwrap();
                        }
                    }
                }
            });
        }
        for round in 0..4000u32 {
            if let Some(value) = map.get(round % 1024) {
                value.check();
                assert!(value.0 <= 3);
            }
        }
    });
    map.verify().unwrap();
    assert!(ranges(&map).windows(2).all(|w| w[0].end() < w[1].start()));
    drop(map);
    assert_eq!(alive.load(SeqCst), 0);
}
