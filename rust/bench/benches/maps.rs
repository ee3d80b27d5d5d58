// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Random 64-bit keys in ordered maps that threads share: insert all, look up all, both by two
//! threads. `cargo bench --manifest-path rust/bench/Cargo.toml`; N=1000000 in the
//! environment for more keys.
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

/// `TYPE: how it is made; a map, a key and a value => insert; the value of the key`.
macro_rules! maps {
    ($($name:ty: $new:expr; $map:ident, $key:ident, $value:ident => $insert:expr; $get:expr;)*) => {$(
        impl Map for $name {
            fn new() -> Self {
                $new
            }
            fn insert(&self, $key: u64, $value: u64) {
                let $map = self;
                let _ = $insert;
            }
            fn get(&self, $key: u64) -> Option<u64> {
                let $map = self;
                $get
            }
        }
    )*};
}

/// A value in its own memory.
struct Large([u64; 2]);
/// Ranges of 16 keys.
struct Ours(RangeMap<u64, u64>);
struct Theirs(RwLock<RangeInclusiveMap<u64, u64>>);

// congee is a radix tree of keys of eight bytes with values of usize; keys of MassTree are bytes.
maps! {
    PointMap<u64, u64>: PointMap::new(); map, key, value =>
        map.insert(key, value).unwrap();
        map.get(key).map(|value| *value);
    PointMap<u64, Large>: PointMap::new(); map, key, value =>
        map.insert(key, Large([value, 0])).ok().unwrap();
        map.get(key).map(|value| value.0[0]);
    SkipMap<u64, u64>: SkipMap::new(); map, key, value =>
        map.insert(key, value);
        map.get(&key).map(|entry| *entry.value());
    TreeIndex<u64, u64>: TreeIndex::new(); map, key, value =>
        map.insert(key, value).unwrap();
        map.peek_with(&key, |_, value| *value);
    U64Congee<usize>: U64Congee::new(); map, key, value =>
        map.insert(key, value as usize, &congee::epoch::pin()).unwrap();
        map.get(key, &congee::epoch::pin()).map(|value| value as u64);
    MassTree<u64>: MassTree::new(); map, key, value =>
        map.insert_with_guard(&key.to_be_bytes(), value, &map.guard());
        map.get_with_guard(&key.to_be_bytes(), &map.guard());
    BytesMap<[u8; 8], u64>: BytesMap::new(); map, key, value =>
        map.insert(key.to_be_bytes(), value).unwrap();
        map.get(&key.to_be_bytes()).map(|value| *value);
    RwLock<BTreeMap<u64, u64>>: RwLock::default(); map, key, value =>
        map.write().unwrap().insert(key, value);
        map.read().unwrap().get(&key).copied();
    Ours: Ours(RangeMap::new()); map, key, value =>
        map.0.insert(key & !31..=key & !31 | 15, value).ok();
        map.0.get(key & !31 | 7).map(|value| *value);
    Theirs: Theirs(RwLock::default()); map, key, value =>
        map.0.write().unwrap().insert(key & !31..=key & !31 | 15, value);
        map.0.read().unwrap().get(&(key & !31 | 7)).copied();
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
