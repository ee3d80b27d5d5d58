// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The allocator that a container was made with has all of its memory, and gets all of it back;
//! when it has none left, calls return errors and have changed nothing.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;

mod common;
use common::{wait_for, Counted};

use lathwork::{
    AllocError, BytesMap, IntervalMap, NoMemory, Options, PointMap, RangeAllocator, RangeMap,
    RangeSet, Reason,
};

/// Counts bytes, and fails from the n-th request on, for `fails` requests.
struct Counting {
    bytes: AtomicIsize,
    requests: AtomicUsize,
    first: AtomicUsize,
    fails: AtomicUsize,
}

impl Counting {
    /// One that lives for ever, as allocators do.
    fn new(first: usize, fails: usize) -> &'static Counting {
        Box::leak(Box::new(Counting {
            bytes: AtomicIsize::new(0),
            requests: AtomicUsize::new(0),
            first: AtomicUsize::new(first),
            fails: AtomicUsize::new(fails),
        }))
    }

    fn bytes(&self) -> isize {
        self.bytes.load(SeqCst)
    }

    /// Waits until it has got everything back: a section of another test may delay that.
    fn all_back(&self) {
        wait_for("memory that has come back", || self.bytes() == 0);
    }
}

// SAFETY: as System.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let request = self.requests.fetch_add(1, SeqCst);
        let first = self.first.load(SeqCst);
        if request >= first && request - first < self.fails.load(SeqCst) {
            return std::ptr::null_mut();
        }
        self.bytes.fetch_add(layout.size() as isize, SeqCst);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.bytes.fetch_sub(layout.size() as isize, SeqCst);
        System.dealloc(block, layout)
    }
}

/// The program's own allocator counts the requests of each thread.
struct ByThread;

thread_local! {
    static REQUESTS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: as System.
unsafe impl GlobalAlloc for ByThread {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = REQUESTS.try_with(|n| n.set(n.get() + 1));
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        System.dealloc(block, layout)
    }
}

#[global_allocator]
static GLOBAL: ByThread = ByThread;

/// Runs a program with an allocator. Returns the most bytes that it had, all of which it got back.
fn counted(program: impl FnOnce(Options, &'static Counting) -> isize) {
    let memory = Counting::new(usize::MAX, 0);
    let before = REQUESTS.with(Cell::get);
    let most = program(Options::new().memory(memory), memory);
    assert_eq!(REQUESTS.with(Cell::get), before, "memory of another allocator");
    assert!(most > 0);
    memory.all_back();
}

#[test]
fn every_byte_of_maps() {
    counted(|options, memory| {
        let mut map = PointMap::try_with(options).unwrap();
        let copies = PointMap::try_of_copies(options).unwrap();
        let (ranges, set) =
            (RangeMap::try_with(options).unwrap(), RangeSet::try_with(options).unwrap());
        for key in 0..5000u32 {
            map.insert(key, [u64::from(key); 5]).ok().unwrap();
        }
        assert!(memory.bytes() >= 5000 * (40 + 32));
        let requests = memory.requests.load(SeqCst);
        for key in 0..5000u32 {
            copies.insert(key, [u64::from(key); 5]).ok().unwrap();
        }
        assert!(memory.requests.load(SeqCst) < requests + 500); // copies are no blocks
        for key in 0..1000 {
            map.insert(key, [0; 5]).ok().unwrap();
            map.remove(key + 1000);
            let keys = u64::from(key * 10)..u64::from(key * 10 + 20);
            ranges.insert(keys.clone(), [5; 5]).ok().unwrap();
            ranges.remove(keys.start + 3..keys.start + 5).unwrap();
            set.insert(keys.start..keys.start + 5).unwrap();
        }
        let high: PointMap<u32, [u64; 5]> = map.split_off(4000).unwrap();
        assert_eq!((map.len(), high.len()), (3000, 1000));
        map.reclaim();
        memory.bytes()
    });
}

#[test]
fn every_byte_of_the_others() {
    counted(|options, memory| {
        let map = BytesMap::try_with(options).unwrap();
        let intervals = IntervalMap::try_with(options).unwrap();
        let space = RangeAllocator::try_with(.., 1, options).unwrap();
        let exact = RangeAllocator::try_with(0..1 << 30, 1, options.exact()).unwrap();
        for key in 0..2000u64 {
            map.insert(key.to_be_bytes(), [key; 5]).ok().unwrap();
            intervals.insert(key..2 * key + 1, [key; 5]).ok().unwrap();
            space.alloc(key + 1, 0).unwrap();
            exact.alloc(key + 1, 0).unwrap();
        }
        for key in 0..500u64 {
            map.remove(&key.to_be_bytes());
            intervals.remove(key..2 * key + 1, &[key; 5]);
        }
        memory.bytes()
    });
}

/// Entries go from a map of one allocator to one of another.
#[test]
fn entries_that_change_their_allocator() {
    let (a, b) = (Counting::new(usize::MAX, 0), Counting::new(usize::MAX, 0));
    let mut from = PointMap::try_with(Options::new().memory(a)).unwrap();
    let mut to = PointMap::try_with(Options::new().memory(b)).unwrap();
    for key in 0..100 {
        from.insert(key, key.to_string()).unwrap();
        to.insert(key + 50, String::from("old")).unwrap();
    }
    to.append(&mut from).unwrap();
    assert!(from.is_empty());
    assert_eq!((to.len(), to.get(70).unwrap().as_str()), (150, "70"));
    drop(from);
    a.all_back();
    drop(to);
    b.all_back();
}

/// Runs `program` with each of its requests for memory failing, alone and with all that follow.
/// `program` returns whether all calls were done.
fn with_failures(program: impl Fn(Options, &Arc<AtomicUsize>) -> Result<bool, NoMemory>) {
    for fails in [1, 3, usize::MAX] {
        let mut met = 0;
        for first in 0.. {
            let (memory, alive) = (Counting::new(first, fails), Arc::default());
            let result = program(Options::new().memory(memory), &alive);
            memory.all_back();
            assert_eq!(alive.load(SeqCst), 0, "request {first} of {fails}");
            if memory.requests.load(SeqCst) <= first {
                assert_eq!(result, Ok(true));
                break;
            }
            met += usize::from(result != Ok(true)); // some do without
        }
        assert!(met > 10, "only {met} failures were met");
    }
}

#[test]
fn points_without_memory() {
    with_failures(|options, alive| {
        let mut map = PointMap::try_with(options)?;
        let (mut model, mut all) = (BTreeMap::new(), true);
        for n in 0..400u32 {
            let key = n * 7 % 256;
            match map.insert(key, Counted::new(n, alive)) {
                Ok(old) => assert_eq!(old.map(|old| old.0), model.insert(key, n)),
                Err(refused) => {
                    assert_eq!((refused.reason, refused.value.0), (Reason::NoMemory, n));
                    all = false;
                }
            }
            if n % 3 == 0 {
                assert_eq!(map.remove(n % 256).map(|old| old.0), model.remove(&(n % 256)));
            }
        }
        match map.split_off(100) {
            Ok(mut high) => {
                let rest = model.split_off(&100);
                assert!(high.iter().map(|(key, v)| (key, v.0)).eq(rest.clone()));
                all &= map.append(&mut high).is_ok();
                assert_eq!(map.len() + high.len(), model.len() + rest.len());
            }
            Err(NoMemory) => all = false,
        }
        map.verify().unwrap();
        Ok(all)
    });
}

#[test]
fn ranges_without_memory() {
    with_failures(|options, alive| {
        let mut map = RangeMap::try_with(options)?;
        let (mut keys, mut all) = ([None; 1000], true);
        for n in 0..300usize {
            let (first, size) = (n * 37 % 900, n * 13 % 90 + 1);
            let range = first as u32..(first + size) as u32;
            if n % 3 == 0 {
                match map.remove(range) {
                    Ok(()) => keys[first..first + size].fill(None),
                    Err(NoMemory) => all = false,
                }
                continue;
            }
            match map.insert(range, Counted::new(n as u32, alive)) {
                Ok(()) => keys[first..first + size].fill(Some(n as u32)),
                Err(refused) => {
                    assert_eq!((refused.reason, refused.value.0), (Reason::NoMemory, n as u32));
                    all = false;
                }
            }
        }
        for (key, value) in keys.iter().enumerate() {
            assert_eq!(map.get(key as u32).map(|there| there.0), *value);
        }
        map.verify().unwrap();
        Ok(all)
    });
}

#[test]
fn others_without_memory() {
    with_failures(|options, alive| {
        let mut map = BytesMap::try_with(options)?;
        let mut intervals = IntervalMap::try_with(options)?;
        let space = match RangeAllocator::try_with(0..1 << 20, 1, options) {
            Ok(space) => space,
            Err(AllocError::NoMemory) => return Err(NoMemory),
            Err(other) => panic!("{other}"),
        };
        let (mut there, mut all) = (0, true);
        for n in 0..200u32 {
            match map.insert(n.to_be_bytes(), Counted::new(n, alive)) {
                Ok(_) => there += 1,
                Err(refused) => {
                    assert_eq!((refused.key, refused.value.0), (n.to_be_bytes(), n));
                    all = false;
                }
            }
            all &= intervals.insert(n..n + 5, Counted::new(n, alive)).is_ok();
            match space.alloc(u64::from(n) + 1, 0) {
                Ok(first) => assert!(first < 1 << 20),
                Err(error) => {
                    assert_eq!(error, AllocError::NoMemory);
                    all = false;
                }
            }
        }
        assert_eq!(map.len(), there);
        map.verify().unwrap();
        map.clear();
        assert!(map.is_empty());
        intervals.verify().unwrap();
        Ok(all)
    });
}
