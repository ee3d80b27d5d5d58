// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Every value is dropped once, by threads, with readers, in sections and in panics; many removed
//! values that wait for readers, and drops that call maps, cost little work and stack per call.
use std::any::Any;
use std::cell::Cell;
use std::fs;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{mpsc, Arc, Weak};
use std::thread;
use std::time::Duration;

mod common;
use common::{wait_for, Counted, Random};

use lathwork::{BytesMap, IntervalMap, PointMap, RangeAllocator, RangeMap, RangeSet, Ref};

/// Runs `program` on a stack of 128 KiB, on which a frame per value is noticed.
fn on_a_small_stack(program: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(128 << 10).spawn(program);
    thread.unwrap().join().unwrap();
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// With which value the drop of a bomb has panicked in a call.
fn bomb_of(call: impl FnOnce()) -> Option<u64> {
    let number = |panic: Box<dyn Any + Send>| *panic.downcast().unwrap();
    catch_unwind(AssertUnwindSafe(call)).err().map(number)
}

/// Removes a value from another map, to which a reference lives until the result is dropped.
struct Reader(PointMap<u8, Box<u8>>);

impl Reader {
    fn new() -> Self {
        Reader(PointMap::from([(1, Box::new(1))]))
    }

    fn section(&self) -> Ref<'_, Box<u8>> {
        self.0.get(1).unwrap()
    }
}

// ---- by the calls of each container ----

/// Of each container: full, at its end, at `clear()`, with values removed before and with a bomb.
macro_rules! ends {
    ($($test:ident: $map:ident, $make:expr, $insert:expr, $remove:expr;)*) => {$(
        #[test]
        fn $test() {
            // as many as are read ahead, and one more or less
            for n in [0, 1, 31, 32, 33, 64, 65, 500] {
                let alive = Arc::new(AtomicUsize::new(0));
                for (bomb, removed) in [(n, 0), (n, n / 2), (0, n / 3), (n / 2, 0), (n / 2, n)] {
                    for clear in [true, false] {
                        let mut $map = $make;
                        for i in 0..n {
                            $insert(&$map, i, Counted::bomb(i, &alive, i == bomb));
                        }
                        assert_eq!(alive.load(SeqCst) as u64, n);
                        let early = bomb_of(|| (0..removed).for_each(|i| $remove(&$map, i)));
                        if clear {
                            let cleared = bomb_of(|| $map.clear());
                            assert!(cleared.is_none() || cleared == Some(bomb));
                            assert!($map.is_empty());
                            $map.verify().unwrap();
                            // as good as new; the bomb may have been removed before
                            let _ = bomb_of(|| $insert(&$map, 5, Counted::new(5, &alive)));
                            let _ = bomb_of(|| drop($map));
                        } else {
                            let panic = early.or(bomb_of(|| drop($map)));
                            assert_eq!(panic, Some(bomb).filter(|_| bomb < n));
                        }
                        assert_eq!(alive.load(SeqCst), 0);
                    }
                }
            }
        }
    )*};
}

/// Keys that are alone with their first eight bytes, that share them, and that have a tree of their
/// own.
fn word(i: u64) -> String {
    format!("{}{i}", if i % 2 == 0 { "a" } else { "eight bytes and more: " })
}

ends! {
    points_end: map, PointMap::new(),
        |map: &PointMap<u64, _>, i, value| drop(map.insert(i, value).ok().unwrap()),
        |map: &PointMap<u64, _>, i| drop(map.remove(i));
    ranges_end: map, RangeMap::new(),
        |map: &RangeMap<u64, _>, i: u64, value| map.insert(i * 10..=i * 10 + 3, value).ok().unwrap(),
        |map: &RangeMap<u64, _>, i| drop(map.remove_starting(i * 10));
    bytes_end: map, BytesMap::new(),
        |map: &BytesMap<String, _>, i, value| drop(map.insert(word(i), value).ok().unwrap()),
        |map: &BytesMap<String, _>, i| drop(map.remove(&word(i)));
    intervals_end: map, IntervalMap::new(),
        |map: &IntervalMap<u64, _>, i, value| map.insert(i..i * 2 + 1, value).ok().unwrap(),
        |map: &IntervalMap<u64, Counted>, i: u64| {
            map.retain(|range, value| *range.start() != i || value.0 != i);
        };
}

#[test]
fn what_calls_refuse_replace_and_take() {
    let alive = Arc::new(AtomicUsize::new(0));
    let mut map = RangeMap::<u64, _>::new();
    for i in 0..1000 {
        map.insert(10 * i..=10 * i + 5, Counted::new(i, &alive)).unwrap();
    }
    assert!(map.try_insert(13..=13, Counted::new(13, &alive)).is_err());
    assert_eq!(alive.load(SeqCst), 1000);
    for i in 0..10 {
        assert_eq!(map.remove_starting(10 * i).unwrap().1 .0, i);
    }
    let (range, value) = map.take_starting(500).unwrap();
    assert_eq!((range, value.0), (500..=505, 50));
    drop(value);
    assert!(map.replace(600, Counted::new(7, &alive)).is_ok());
    assert!(map.replace(601, Counted::new(8, &alive)).is_err());
    map.insert(0..=3, Counted::bomb(7, &alive, true)).unwrap();
    assert_eq!(bomb_of(|| drop(map.take_starting(0))), Some(7));
    map.verify().unwrap();
    drop(map);
    assert_eq!(alive.load(SeqCst), 0);
}

/// What is not taken of an iterator by value is dropped, and so is the rest when one drop panics.
#[test]
fn what_is_left_of_an_iterator() {
    for bomb in [99, 3, 8] {
        let alive = Arc::new(AtomicUsize::new(0));
        let map: PointMap<u64, _> =
            (0..10).map(|n| (n, Counted::bomb(n, &alive, n == bomb))).collect();
        let panic = bomb_of(|| {
            let mut entries = map.into_iter();
            assert!(entries.next().is_some() && entries.next_back().is_some());
            assert_eq!(alive.load(SeqCst), 8);
        });
        assert_eq!(panic, Some(bomb).filter(|&bomb| bomb < 10));
        assert_eq!(alive.load(SeqCst), 0);
    }
}

#[test]
fn not_while_it_is_looked_at() {
    let alive = Arc::new(AtomicUsize::new(0));
    let map = RangeMap::new();
    map.insert(1..=1, Counted::new(1, &alive)).unwrap();
    let held = map.get(1).unwrap();
    assert!(map.remove_starting(1).is_some());
    for i in 0..1000 {
        map.insert(5..=5, Counted::new(i, &alive)).unwrap();
        map.remove_starting(5);
    }
    thread::sleep(Duration::from_millis(100));
    map.reclaim();
    held.check();
    let again = held.clone();
    drop(held);
    assert_eq!(again.0, 1);
    drop(again);
    wait_for("the others are dropped after a while", || {
        map.reclaim();
        alive.load(SeqCst) == 0
    });
}

// ---- stack ----

#[test]
fn values_removed_while_a_reference_lives() {
    on_a_small_stack(|| {
        let (alive, reader) = (Arc::new(AtomicUsize::new(0)), Reader::new());
        let maps = [(); 2].map(|()| {
            (0..100_000u32).map(|i| (i, Counted::new(0, &alive))).collect::<PointMap<_, _>>()
        });
        let held = reader.section();
        for map in &maps {
            for i in 0..50_000 {
                map.remove(i);
                assert!(map.replace(i + 50_000, Counted::new(0, &alive)).is_ok());
            }
        }
        assert!(alive.load(SeqCst) >= 300_000 - 128);
        let [map, ends] = maps;
        drop(ends);
        assert!(alive.load(SeqCst) <= 150_000);
        drop(held);
        wait_for("reclaim() drops what was removed", || {
            map.reclaim();
            alive.load(SeqCst) == 50_000
        });
        drop(map);
        assert_eq!(alive.load(SeqCst), 0);
    });
}

#[test]
fn many_containers_that_end_within_a_reference() {
    on_a_small_stack(|| {
        let alive = Arc::new(AtomicUsize::new(0));
        let reader = Reader::new();
        let held = reader.section();
        for i in 0..10_000 {
            let map = PointMap::new();
            map.insert(i, Counted::new(0, &alive)).unwrap();
            map.remove(i);
            let intervals = IntervalMap::new();
            intervals.insert(1..=2, Counted::new(0, &alive)).unwrap();
            drop(RangeSet::<u64>::new());
            RangeAllocator::new(0..=99, 1).unwrap().alloc(5, 0).unwrap();
        }
        assert_eq!(alive.load(SeqCst), 0);
        drop(held); // ends 40,000 structures
    });
}

/// Its drop removes the next one, from this or another map, and may wait until that can be dropped,
/// and have it dropped: one within the other.
struct Link {
    maps: Weak<Vec<RangeMap<u64, Box<Link>>>>,
    at: usize,
    reclaim: bool,
    wait: Duration,
    depth: Arc<[AtomicUsize; 3]>, // living, within each other, and the most of these
}

impl Drop for Link {
    fn drop(&mut self) {
        let [alive, depth, most] = &*self.depth;
        alive.fetch_sub(1, SeqCst);
        most.fetch_max(depth.fetch_add(1, SeqCst) + 1, SeqCst);
        if let Some(maps) = self.maps.upgrade() {
            let map = &maps[(self.at + 1) % maps.len()];
            map.remove_starting(self.at as u64 + 1);
            thread::sleep(self.wait);
            if self.reclaim {
                map.reclaim();
            }
        }
        depth.fetch_sub(1, SeqCst);
    }
}

/// Every `row`-th link begins its own row.
fn links(n: usize, maps: usize, reclaim: bool, row: usize, wait: Duration) {
    let depth = Arc::new([n, 0, 0].map(AtomicUsize::new));
    let all: Arc<Vec<_>> = Arc::new((0..maps).map(|_| RangeMap::new()).collect());
    for at in 0..n {
        let link = Link { maps: Arc::downgrade(&all), at, reclaim, wait, depth: depth.clone() };
        all[at % maps].insert(at as u64..=at as u64, Box::new(link)).unwrap();
    }
    for at in (0..n).step_by(row) {
        all[at % maps].remove_starting(at as u64);
    }
    wait_for("each drop removes the next one", || {
        all.iter().for_each(RangeMap::reclaim);
        depth[0].load(SeqCst) == 0
    });
    assert!(all.iter().all(RangeMap::is_empty));
    assert!(depth[2].load(SeqCst) <= 8, "{depth:?}: drops within each other");
}

#[test]
fn drops_that_remove_the_next_value() {
    for maps in [1, 2, 7] {
        // each removal of a row waits for a grace period
        on_a_small_stack(move || links(20_000, maps, false, 200, Duration::ZERO));
        on_a_small_stack(move || links(20_000, maps, true, 200, Duration::ZERO));
    }
    on_a_small_stack(|| links(60, 1, true, 60, Duration::from_millis(15)));
}

/// A removal drops earlier values outside of the section of the Ref that it returns: else a drop
/// that waits for a thread that ends a map would wait for ever.
#[test]
fn drops_that_wait_for_a_thread_that_ends_a_map() {
    struct Ends(mpsc::Sender<()>, Option<thread::JoinHandle<()>>);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
            self.1.take().unwrap().join().unwrap();
        }
    }
    let map = PointMap::new();
    for round in 0..200 {
        let (sender, receiver) = mpsc::channel();
        let end = thread::spawn(move || {
            let map = PointMap::new();
            map.insert(1, Box::new(1)).unwrap();
            map.remove(1);
            receiver.recv().unwrap();
        });
        let value = Box::new(Ends(sender, Some(end)));
        map.insert(round, value).ok().unwrap();
    }
    for round in 0..200 {
        map.remove(round);
        thread::sleep(Duration::from_micros(300));
    }
}

// ---- work ----

/// Removes n values while a reference lives. Returns the processor time per removal.
fn removals_with_a_reference(n: u64) -> Duration {
    let (map, reader) = (PointMap::new(), Reader::new());
    for i in 0..n {
        map.insert(i, Box::new(i)).unwrap();
    }
    let held = reader.section();
    let start = processor_time();
    for i in 0..n {
        map.remove(i);
    }
    let spent = processor_time() - start;
    drop(held);
    spent / n as u32
}

#[test]
fn a_removal_costs_the_same_with_many_before_it() {
    let few = removals_with_a_reference(40_000);
    let many = removals_with_a_reference(640_000);
    assert!(many < 5 * few, "{few:?} per removal of few, {many:?} of many");
}

/// One removal drops some of those that wait, not all of them, and the next one goes on.
#[test]
fn a_removal_drops_few_values() {
    let alive = Arc::new(AtomicUsize::new(0));
    let (map, reader) = (PointMap::new(), Reader::new());
    for i in 0..20_000 {
        map.insert(i, Counted::new(0, &alive)).unwrap();
    }
    let held = reader.section();
    for i in 0..10_000 {
        map.remove(i);
    }
    drop(held);
    let (mut next, mut most, mut last, mut goes_on) = (10_000, 0, 0, 0);
    wait_for("removals drop what was removed", || {
        let before = alive.load(SeqCst);
        map.remove(next);
        next += 1;
        let dropped = before - alive.load(SeqCst);
        most = most.max(dropped);
        goes_on += u32::from(last == 256 && dropped > 0);
        last = dropped;
        alive.load(SeqCst) < 10_500
    });
    assert!(most <= 256, "{most} values dropped in one removal");
    assert!(goes_on > 0, "no removal went on where the one before ended");
}

// ---- panics ----

/// A map of 100 values, among them bombs.
fn with_bombs(alive: &Arc<AtomicUsize>, bombs: &[u64]) -> RangeMap<u64, Counted> {
    let value = |i| Counted::bomb(i, alive, bombs.contains(&i));
    (0..100).map(|i| (i * 10..=i * 10 + 3, value(i))).collect()
}

/// Removed values come first, each in its order; of several bombs the first one counts.
#[test]
fn the_first_of_several_panics() {
    let alive = Arc::new(AtomicUsize::new(0));
    for first in 0..90 {
        let map = with_bombs(&alive, &[first, first + 1, first + 7]);
        if first % 2 == 0 {
            map.remove_starting(first * 10 + 10);
        }
        assert_eq!(bomb_of(move || drop(map)), Some(first + u64::from(first % 2 == 0)));
        assert_eq!(alive.load(SeqCst), 0);
    }
}

#[test]
fn a_panic_in_reclaim() {
    let alive = Arc::new(AtomicUsize::new(0));
    for bomb in (0..60).step_by(7) {
        let mut map = with_bombs(&alive, &[bomb]);
        for i in 0..60 {
            map.remove_starting(i * 10);
        }
        let mut panics = 0;
        wait_for("reclaim() drops the others", || {
            panics += usize::from(bomb_of(|| map.reclaim()) == Some(bomb));
            alive.load(SeqCst) == 40
        });
        assert_eq!((panics, map.len()), (1, 40));
        map.verify().unwrap();
        drop(map);
        assert_eq!(alive.load(SeqCst), 0);
    }
}

/// A call that drops earlier values and panics has changed nothing.
#[test]
fn a_panic_in_a_change() {
    let alive = Arc::new(AtomicUsize::new(0));
    for change in ["replace", "insert", "remove"] {
        let mut map = with_bombs(&alive, &[3]);
        map.remove_starting(30);
        let mut calls = 0;
        wait_for("a later call drops the value", || {
            let _ = map.try_insert(2000..=2000, Counted::new(calls, &alive)); // drops none
            let before = map.get(2000).unwrap().0;
            calls += 1;
            let panic = bomb_of(|| match change {
                "replace" => drop(map.replace(2000, Counted::new(calls, &alive)).unwrap()),
                "insert" => map.insert(2000..=2000, Counted::new(calls, &alive)).unwrap(),
                _ => drop(map.remove_starting(2000)),
            });
            assert!(panic.is_none() || map.get(2000).unwrap().0 == before);
            panic.is_some()
        });
        assert!(calls > 1);
        map.verify().unwrap();
        drop(map);
        assert_eq!(alive.load(SeqCst), 0);
    }
}

/// Maps in a map; the values of the removed ones come first.
#[test]
fn a_panic_of_a_map_in_a_map() {
    let alive = Arc::new(AtomicUsize::new(0));
    let outer = PointMap::new();
    for i in 0..20 {
        outer.insert(i, with_bombs(&alive, &[i])).unwrap();
        outer.get(i).unwrap().remove_starting(990);
    }
    outer.remove(3);
    assert_eq!(bomb_of(move || drop(outer)), Some(3));
    assert_eq!(alive.load(SeqCst), 0);
    let map = with_bombs(&alive, &[50]);
    map.remove_starting(20);
    let panic = bomb_of(move || {
        let _map = map; // ends in a panic
        std::panic::panic_any(1000u64);
    });
    assert_eq!(panic, Some(1000));
    assert_eq!(alive.load(SeqCst), 0);
}

// ---- random programs ----

/// What a random program's values share.
struct World {
    maps: [RangeMap<u64, Box<Actor>>; 3],
    alive: AtomicUsize,
    bombs: AtomicUsize,
}

/// A value whose drop may remove, insert, replace, iterate, have others dropped, end a map of its
/// own, or panic.
struct Actor {
    world: Weak<World>,
    seed: u64,
    check: u64,
    inner: Option<PointMap<u64, Box<Actor>>>,
}

impl Actor {
    fn new(world: &Arc<World>, random: &mut Random, depth: u64) -> Box<Self> {
        world.alive.fetch_add(1, SeqCst);
        let seed = random.below(u64::MAX) | 1;
        let inner = (depth < 3 && random.below(8) == 0).then(|| {
            let inner = PointMap::new();
            for key in 0..random.below(20) {
                let value = Actor::new(world, random, depth + 1);
                inner.insert(key, value).ok().unwrap();
            }
            inner.remove(random.below(20));
            inner
        });
        Box::new(Actor { world: Arc::downgrade(world), seed, check: !seed, inner })
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        assert_eq!(std::mem::replace(&mut self.check, 0), !self.seed);
        let mut random = Random(self.seed);
        let world = match self.world.upgrade() {
            Some(world) => world,
            None => return,
        };
        world.alive.fetch_sub(1, SeqCst);
        for _ in 0..random.below(3) {
            act(&world, &mut random, 2);
        }
        if self.inner.is_none() && random.below(50) == 0 && !thread::panicking() {
            world.bombs.fetch_add(1, SeqCst);
            drop(world); // its drop is not to run while unwinding
            panic!("a drop of a random program");
        }
    }
}

/// One step of a random program.
fn act(world: &Arc<World>, random: &mut Random, depth: u64) {
    fn checked(value: &Actor) {
        assert_eq!(value.check, !value.seed);
    }
    let map = &world.maps[random.below(3) as usize];
    let key = random.below(300) * 10;
    match random.below(14) {
        12 => map.remove(key - key.min(random.below(9))..key + random.below(30)).unwrap(),
        13 => {
            let value = Actor::new(world, random, depth);
            let _ = map.try_insert(key..=key + random.below(12), value);
        }
        0..=3 => {
            let value = Actor::new(world, random, depth);
            let _ = map.insert(key..=key + random.below(12), value);
        }
        4..=6 => {
            let removed = map.remove_starting(key);
            if let Some((_, value)) = &removed {
                checked(value);
            }
            if depth == 0 {
                act(world, random, 1); // within the section of the Ref
            }
        }
        7 => {
            let value = Actor::new(world, random, depth);
            if let Ok(old) = map.replace(key, value) {
                checked(&old);
            }
        }
        8 => {
            for (range, value) in map.overlapping(key..=key + 200) {
                checked(&value);
                if random.below(4) == 0 {
                    map.remove_starting(*range.start());
                }
            }
        }
        9 => map.reclaim(),
        _ => {
            if let Some(value) = map.get(key) {
                checked(&value);
                if let Some(inner) = &value.inner {
                    inner.remove(random.below(20));
                    if let Some(value) = inner.get(random.below(20)) {
                        checked(&value);
                    }
                }
            }
        }
    }
}

#[test]
fn random_programs_of_threads() {
    let world = Arc::new(World {
        maps: Default::default(),
        alive: AtomicUsize::new(0),
        bombs: AtomicUsize::new(0),
    });
    let seed = std::env::var("LATHWORK_SEED").map_or(1, |text| text.parse().unwrap());
    let caught: usize = thread::scope(|s| {
        let threads: Vec<_> = (1..=3)
            .map(|number| {
                let world = &world;
                s.spawn(move || {
                    let mut random = Random(0x9e3779b97f4a7c15u64.wrapping_mul(number) ^ seed);
                    let mut caught = 0;
                    for _ in 0..5_000 {
                        let step = || act(world, &mut random, 0);
                        caught += usize::from(catch_unwind(AssertUnwindSafe(step)).is_err());
                    }
                    caught
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(caught, world.bombs.load(SeqCst)); // nothing else panicked
    wait_for("all are dropped", || {
        for map in &world.maps {
            let keys: Vec<_> = map.iter().map(|(range, _)| *range.start()).collect();
            let _ = catch_unwind(AssertUnwindSafe(|| {
                for key in keys {
                    map.remove_starting(key);
                }
                map.reclaim();
            }));
        }
        world.alive.load(SeqCst) < 100
    });
    let mut world = Arc::try_unwrap(world).ok().unwrap();
    for map in &mut world.maps {
        map.verify().unwrap();
    }
}

/// Does not compile if a type is what it must not be: then two traits have the function.
macro_rules! never {
    ($($trait:ident: $($type:ty),*;)*) => {$($(
        const _: () = {
            trait Either<T> {
                fn either() {}
            }
            impl<T: ?Sized> Either<()> for T {}
            struct Is;
            impl<T: ?Sized + $trait> Either<Is> for T {}
            let _ = <$type as Either<_>>::either;
        };
    )*)*};
}

// What must not leave its thread, and what must not be shared; the value or the key decides.
never! {
    Send: PointMap<u8, Rc<u8>>, BytesMap<Rc<str>, u8>, IntervalMap<u8, Rc<u8>>, Ref<'static, u8>,
        Ref<'static, u8, lathwork::InNode>,
        lathwork::Points<'static, u8, u8>, lathwork::Ranges<'static, u8, u8>,
        lathwork::BytesEntries<'static, String, u8>, lathwork::Intervals<'static, u8, u8>,
        lathwork::RangeGuard<'static, u8>;
    Sync: PointMap<u8, Cell<u8>>, RangeMap<u8, Cell<u8>>, BytesMap<String, Cell<u8>>,
        IntervalMap<u8, Cell<u8>>, Ref<'static, u8>;
}

#[test]
fn send_and_sync() {
    fn both<T: Send + Sync>() {}
    both::<RangeMap<u64, Box<u8>>>();
    both::<RangeSet<u32>>();
    both::<PointMap<u8, &'static str>>();
    both::<BytesMap<String, Box<u8>>>();
    both::<IntervalMap<u64, String>>();
    both::<RangeAllocator>();
}
