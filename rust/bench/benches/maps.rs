// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Random 64-bit keys in ordered maps that threads share: insert all, look up all, both by two
//! threads. `cargo bench -p lathwork-bench`; N=1000000 in the environment for more keys.
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::RwLock;
use std::thread;

use congee::U64Congee;
use criterion::{criterion_group, criterion_main, BatchSize, Criterion, Throughput};
use crossbeam_skiplist::SkipMap;
use lathwork::{BytesMap, PointMap, RangeMap};
use masstree::MassTree;
use rangemap::RangeInclusiveMap;
use scc::TreeIndex;

trait Map: Sync {
    fn new() -> Self;
    fn insert(&self, key: u64, value: u64);
    fn get(&self, key: u64) -> Option<u64>;
}

impl Map for PointMap<u64, u64> {
    fn new() -> Self {
        PointMap::new()
    }
    fn insert(&self, key: u64, value: u64) {
        PointMap::insert(self, key, value).unwrap();
    }
    fn get(&self, key: u64) -> Option<u64> {
        PointMap::get(self, key).map(|value| *value)
    }
}

/// A value in its own memory.
struct Large([u64; 2]);

impl Map for PointMap<u64, Large> {
    fn new() -> Self {
        PointMap::new()
    }
    fn insert(&self, key: u64, value: u64) {
        PointMap::insert(self, key, Large([value, 0])).ok().unwrap();
    }
    fn get(&self, key: u64) -> Option<u64> {
        PointMap::get(self, key).map(|value| value.0[0])
    }
}

impl Map for SkipMap<u64, u64> {
    fn new() -> Self {
        SkipMap::new()
    }
    fn insert(&self, key: u64, value: u64) {
        SkipMap::insert(self, key, value);
    }
    fn get(&self, key: u64) -> Option<u64> {
        SkipMap::get(self, &key).map(|entry| *entry.value())
    }
}

impl Map for TreeIndex<u64, u64> {
    fn new() -> Self {
        TreeIndex::new()
    }
    fn insert(&self, key: u64, value: u64) {
        TreeIndex::insert(self, key, value).unwrap();
    }
    fn get(&self, key: u64) -> Option<u64> {
        self.peek_with(&key, |_, value| *value)
    }
}

/// A radix tree of keys of eight bytes. Its values are `usize`.
impl Map for U64Congee<usize> {
    fn new() -> Self {
        U64Congee::new()
    }
    fn insert(&self, key: u64, value: u64) {
        U64Congee::insert(self, key, value as usize, &crossbeam_pin()).unwrap();
    }
    fn get(&self, key: u64) -> Option<u64> {
        U64Congee::get(self, key, &crossbeam_pin()).map(|value| value as u64)
    }
}

fn crossbeam_pin() -> congee::epoch::Guard {
    congee::epoch::pin()
}

/// Its keys are bytes.
impl Map for MassTree<u64> {
    fn new() -> Self {
        MassTree::new()
    }
    fn insert(&self, key: u64, value: u64) {
        self.insert_with_guard(&key.to_be_bytes(), value, &self.guard());
    }
    fn get(&self, key: u64) -> Option<u64> {
        self.get_with_guard(&key.to_be_bytes(), &self.guard())
    }
}

impl Map for BytesMap<[u8; 8], u64> {
    fn new() -> Self {
        BytesMap::new()
    }
    fn insert(&self, key: u64, value: u64) {
        BytesMap::insert(self, key.to_be_bytes(), value).unwrap();
    }
    fn get(&self, key: u64) -> Option<u64> {
        BytesMap::get(self, &key.to_be_bytes()).map(|value| *value)
    }
}

impl Map for RwLock<BTreeMap<u64, u64>> {
    fn new() -> Self {
        RwLock::default()
    }
    fn insert(&self, key: u64, value: u64) {
        self.write().unwrap().insert(key, value);
    }
    fn get(&self, key: u64) -> Option<u64> {
        self.read().unwrap().get(&key).copied()
    }
}

/// Ranges of 16 keys.
struct Ours(RangeMap<u64, u64>);
struct Theirs(RwLock<RangeInclusiveMap<u64, u64>>);

impl Map for Ours {
    fn new() -> Self {
        Ours(RangeMap::new())
    }
    fn insert(&self, key: u64, value: u64) {
        self.0.insert(key & !31..=key & !31 | 15, value).ok();
    }
    fn get(&self, key: u64) -> Option<u64> {
        self.0.get(key & !31 | 7).map(|value| *value)
    }
}

impl Map for Theirs {
    fn new() -> Self {
        Theirs(RwLock::default())
    }
    fn insert(&self, key: u64, value: u64) {
        self.0.write().unwrap().insert(key & !31..=key & !31 | 15, value);
    }
    fn get(&self, key: u64) -> Option<u64> {
        self.0.read().unwrap().get(&(key & !31 | 7)).copied()
    }
}

fn keys() -> Vec<u64> {
    let n = std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(200_000);
    // an odd multiplier: all are different
    (1..=n).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)).collect()
}

fn fill<M: Map>(keys: &[u64]) -> M {
    let map = M::new();
    for &key in keys {
        map.insert(key, key);
    }
    map
}

fn rows<M: Map>(c: &mut Criterion, name: &str) {
    let keys = keys();
    let mut group = c.benchmark_group(name);
    group.sample_size(10).throughput(Throughput::Elements(keys.len() as u64));
    group.bench_function("insert", |b| b.iter(|| fill::<M>(&keys)));

    let map = fill::<M>(&keys);
    assert!(keys.iter().all(|&key| map.get(key).is_some()));
    let asked: Vec<u64> = (0..keys.len()).map(|i| keys[i * 7919 % keys.len()]).collect();
    group.bench_function("get", |b| {
        b.iter(|| asked.iter().filter_map(|&key| map.get(key)).fold(0, u64::wrapping_add))
    });
    // one thread looks up what is there while another inserts the other half
    let (there, new) = keys.split_at(keys.len() / 2);
    group.bench_function("get beside insert", |b| {
        b.iter_batched(
            || fill::<M>(there),
            |map| {
                thread::scope(|s| {
                    s.spawn(|| new.iter().for_each(|&key| map.insert(key, key)));
                    for &key in there {
                        black_box(map.get(key));
                    }
                });
                map
            },
            BatchSize::PerIteration,
        )
    });
    group.finish();
}

fn all(c: &mut Criterion) {
    rows::<PointMap<u64, u64>>(c, "points: lathwork");
    rows::<PointMap<u64, Large>>(c, "points: lathwork, 16 bytes");
    rows::<SkipMap<u64, u64>>(c, "points: crossbeam-skiplist");
    rows::<TreeIndex<u64, u64>>(c, "points: scc TreeIndex");
    rows::<U64Congee<usize>>(c, "points: congee");
    rows::<RwLock<BTreeMap<u64, u64>>>(c, "points: RwLock<BTreeMap>");
    rows::<BytesMap<[u8; 8], u64>>(c, "bytes: lathwork");
    rows::<MassTree<u64>>(c, "bytes: masstree");
    rows::<Ours>(c, "ranges: lathwork");
    rows::<Theirs>(c, "ranges: RwLock<rangemap>");
}

criterion_group!(benches, all);
criterion_main!(benches);
