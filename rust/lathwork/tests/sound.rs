// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What safe code may do to the crate: leak and forget what it got, use allocators that share an
//! address or call the container, and end a program early.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::env;
use std::mem::forget;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use lathwork::{BytesMap, Options, PointMap, RangeMap};

/// Runs the test in another process, in which a reference may last for ever; fails after a minute.
fn alone(name: &str, test: impl FnOnce()) {
    if env::var_os("LATHWORK_ALONE").is_some() {
        thread::spawn(|| {
            thread::sleep(Duration::from_secs(60));
            eprintln!("a call has not returned");
            std::process::exit(9);
        });
        return test();
    }
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", name, "--nocapture"]);
    let done = child.env("LATHWORK_ALONE", "1").output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}: {text}", done.status);
}

#[test]
fn retain_removes_only_what_it_showed() {
    let map: RangeMap<u32, u32> = RangeMap::new();
    map.insert(0..10, 5).unwrap();
    map.retain(|range, _| {
        map.remove_starting(0); // as another thread might
        map.insert(0..100, 5).unwrap();
        *range.end() > 50
    });
    assert_eq!(map.first_key_value().unwrap().0, 0..=99);
}

/// A thread leaks a reference to a value and ends; the value is removed, and not dropped.
macro_rules! leaked {
    ($($test:ident: $map:ident: $type:ty, $insert:expr, $leak:expr, $remove:expr;)*) => {$(
        #[test]
        fn $test() {
            alone(stringify!($test), || {
                let value = Arc::new(1);
                let $map = <$type>::new();
                let _ = $insert(value.clone());
                let there: &Arc<u8> = thread::scope(|s| s.spawn(|| $leak).join().unwrap());
                let _ = $remove;
                for _ in 0..30 {
                    thread::sleep(Duration::from_millis(5));
                    $map.reclaim();
                }
                assert_eq!(Arc::strong_count(&value), 2, "dropped under a reference");
                assert_eq!(**there, 1);
                drop($map); // which waits for nobody
            });
        }
    )*};
}

leaked! {
    leaked_by_points: map: PointMap<u32, Arc<u8>>, |value| map.insert(1, value).is_ok(),
        &**Box::leak(Box::new(map.get(1).unwrap())), map.remove(1);
    leaked_by_ranges: map: RangeMap<u32, Arc<u8>>, |value| map.insert(1..9, value),
        &*map.iter().map(|(_, value)| value).collect::<Vec<_>>().leak()[0], map.remove(..);
    leaked_by_bytes: map: BytesMap<String, Arc<u8>>, |value| map.insert("key".into(), value).is_ok(),
        &**Box::leak(Box::new(map.get("key").unwrap())), map.remove("key");
    leaked_by_entries: map: BytesMap<String, Arc<u8>>,
        |value| map.insert("key".into(), value).is_ok(),
        &**Box::leak(Box::new(map.iter().next().unwrap().1)), map.pop_first();
}

#[test]
fn a_forgotten_reference_stops_no_drop() {
    alone("a_forgotten_reference_stops_no_drop", || {
        let map: PointMap<u32, String> = PointMap::new();
        map.insert(1, String::from("one")).unwrap();
        forget(map.get(1));
        let begin = Instant::now();
        let ends = || {
            let one = Arc::new(1);
            let other = PointMap::from([(1, one.clone()), (2, one.clone())]);
            other.remove(1);
            drop(other);
            assert_eq!(Arc::strong_count(&one), 1); // its values are dropped all the same
            let words: BytesMap<String, u32> = (0..500).map(|i| (i.to_string(), i)).collect();
            words.retain(|_, v| v % 2 == 0);
            let long = || (0..5000).map(|i| (format!("{i:040}"), i)); // trees below the root
            let mut words: BytesMap<String, u32> = long().collect();
            words.retain(|_, v| v % 64 == 0);
            words.clear();
            assert!(words.is_empty());
            words.extend(long());
            words.retain(|_, v| v % 64 == 0);
            assert_eq!(words.len(), 79);
        };
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(ends);
            }
        });
        ends(); // the thread that has forgotten it
        assert!(begin.elapsed() < Duration::from_secs(20));
    });
}

/// A file for a test and the process it runs itself in.
#[cfg(feature = "store")]
fn file(test: &str) -> (std::path::PathBuf, String) {
    let (variable, name) =
        (format!("LATHWORK_{test}"), format!("lathwork-{test}-{}", std::process::id()));
    let path = env::var_os(&variable).map_or(env::temp_dir().join(name), Into::into);
    env::set_var(variable, &path);
    let spec = format!("file:{}", path.display());
    (path, spec)
}

#[cfg(feature = "store")]
#[test]
fn a_store_that_is_dropped_is_written() {
    let (path, file) = file("dropped");
    alone("a_store_that_is_dropped_is_written", || {
        let map: PointMap<u32, String> = PointMap::new();
        map.insert(1, String::from("one")).unwrap();
        let _there = map.get(1);
        let store: lathwork::Store<u64> = lathwork::Store::open(&file).unwrap();
        store.set(&1, b"one").unwrap();
        drop(store); // within the reference
        std::process::exit(0);
    });
    let store: lathwork::Store<u64> = lathwork::Store::open(&file).unwrap();
    assert_eq!(store.get(&1).unwrap().as_deref(), Some(&b"one"[..]));
    drop(store);
    std::fs::remove_file(path).unwrap();
}

#[cfg(feature = "store")]
#[test]
fn a_forgotten_reference_stops_no_store() {
    let (path, file) = file("forgotten");
    alone("a_forgotten_reference_stops_no_store", || {
        let map: PointMap<u32, String> = PointMap::new();
        map.insert(1, String::from("one")).unwrap();
        forget(map.get(1));
        let ends = |before: u32| {
            let store: lathwork::Store<Vec<u8>> = lathwork::Store::open(&file).unwrap();
            assert_eq!(store.incr(b"opened", 1), Ok(i64::from(before) + 1));
            for i in 0..5000u32 {
                let key = format!("{i:040}").into_bytes();
                let old = store.get(&key).unwrap();
                assert_eq!(old.is_some(), before > 0 && i % 64 == 0);
                store.set(&key, &[7; 100]).unwrap();
                store.set(&key, &[8; 100]).unwrap();
                assert!(i % 64 == 0 || store.remove(&key).unwrap());
            }
        };
        for i in 0..2 {
            thread::scope(|s| s.spawn(|| ends(2 * i)).join().unwrap());
            ends(2 * i + 1); // the thread that has forgotten it
        }
        std::process::exit(0);
    });
    let store: lathwork::Store<Vec<u8>> = lathwork::Store::open(&file).unwrap();
    assert_eq!(store.len().unwrap(), 80);
    assert_eq!(store.incr(b"opened", 1), Ok(5));
    drop(store);
    std::fs::remove_file(path).unwrap();
}

// ---- allocators ----

/// System, with a mark in front of each block.
struct Marks(u64);

impl Marks {
    const HEAD: usize = 64;
}

// SAFETY: as System; the alignment is at most HEAD.
unsafe impl GlobalAlloc for Marks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let whole = Layout::from_size_align(layout.size() + Marks::HEAD, Marks::HEAD).unwrap();
        let block = System.alloc(whole);
        block.cast::<u64>().write(self.0);
        block.add(Marks::HEAD)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let whole = Layout::from_size_align(layout.size() + Marks::HEAD, Marks::HEAD).unwrap();
        let block = block.sub(Marks::HEAD);
        if block.cast::<u64>().read() != self.0 {
            eprintln!("a block of another allocator");
            std::process::abort();
        }
        System.dealloc(block, whole);
    }
}

/// Begins with another allocator.
#[repr(C)]
struct Two(Marks, Marks);

// SAFETY: as Marks.
unsafe impl GlobalAlloc for Two {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.1.alloc(layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.1.dealloc(block, layout)
    }
}

static TWO: Two = Two(Marks(1), Marks(2));

#[test]
fn two_allocators_at_one_address() {
    let (outer, inner) = (Options::new().memory(&TWO), Options::new().memory(&TWO.0));
    let make = |options: Options, key| {
        let map = PointMap::try_with(options).unwrap();
        map.insert(key, String::from("value")).unwrap();
        map
    };
    for (to, from) in [(outer, inner), (inner, outer), (outer, outer)] {
        let (mut to, mut from) = (make(to, 1), make(from, 2));
        to.append(&mut from).unwrap();
        drop(from);
        assert_eq!(to.get(2).unwrap().as_str(), "value");
    }
    let words = |options| BytesMap::<String, String>::try_with(options).unwrap();
    let (mut to, mut from) = (words(outer), words(inner));
    from.insert("key".into(), "value".into()).unwrap();
    to.append(&mut from).unwrap();
    drop(from);
    assert_eq!(*to.get("key").unwrap(), "value");
}

static ACCOUNT: OnceLock<[RangeMap<u64, String>; 2]> = OnceLock::new();
static CALLS: AtomicUsize = AtomicUsize::new(0);
thread_local! { static WITHIN: Cell<bool> = const { Cell::new(false) }; }

/// System, which changes the maps whose memory it is.
struct Accounts;

// SAFETY: as System.
unsafe impl GlobalAlloc for Accounts {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !WITHIN.with(|within| within.replace(true)) {
            for map in ACCOUNT.get().into_iter().flatten() {
                let _ = map.remove_starting(u64::MAX - 1);
                map.insert(u64::MAX - 1..u64::MAX, String::new()).unwrap();
                map.remove(u64::MAX - 2..).unwrap();
                CALLS.fetch_add(1, SeqCst);
            }
            WITHIN.with(|within| within.set(false));
        }
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        System.dealloc(block, layout);
    }
}

#[test]
fn an_allocator_that_calls_the_map() {
    alone("an_allocator_that_calls_the_map", || {
        let make = || RangeMap::try_with(Options::new().memory(&Accounts)).unwrap();
        let [map, merged] = ACCOUNT.get_or_init(|| [make(), make()]);
        for i in 0..3000u64 {
            map.insert(i * 10..i * 10 + 5, i.to_string()).unwrap();
            map.try_insert(i * 10 + 6..i * 10 + 9, i.to_string()).unwrap();
            map.replace(i * 10, String::from("new")).ok().unwrap();
            map.remove(i * 10 + 1..i * 10 + 2).unwrap();
            let value = (i / 2).to_string();
            merged.insert_merged(i * 10..i * 10 + 10, value).unwrap();
        }
        assert_eq!((map.len(), merged.len()), (9000, 1500));
        assert!(CALLS.load(SeqCst) > 9000);
    });
}
