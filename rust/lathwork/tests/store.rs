// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Store beside a BTreeMap, its errors, its files, its threads, its end.
#![cfg(feature = "store")]
use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, SystemTime};

mod common;
use common::check;

use lathwork::{
    remove_store, Change, Pages, PointMap, Store, StoreError, StoreKey, StoreOptions, StoreRange,
};

type Bytes = Vec<u8>;

/// What the keys of a store are in a test.
trait Tried: StoreKey + Ord + Clone + std::fmt::Debug {
    fn of(n: u8) -> Self;
    fn arg(&self) -> &Self::Arg;
}

impl Tried for u64 {
    fn of(n: u8) -> u64 {
        u64::from(n % 40) << if n % 3 == 0 { 56 } else { 1 }
    }
    fn arg(&self) -> &u64 {
        self
    }
}

impl Tried for Bytes {
    fn of(n: u8) -> Bytes {
        [&b"customer:number:"[..(n % 17).into()], &[n % 5][..]].concat()
    }
    fn arg(&self) -> &[u8] {
        self
    }
}

fn entries<K: Tried>(store: &Store<K>, range: StoreRange<'_, K>) -> Vec<(K, Bytes)> {
    let found: Vec<_> = store.scan(range).unwrap().map(Result::unwrap).collect();
    assert_eq!(store.count(range).unwrap(), found.len() as u64);
    found
}

type Model<K> = BTreeMap<K, Bytes>;

/// A change of one entry that depends on its length.
fn update<K: Tried>(store: &Store<K>, model: &mut Model<K>, key: &K) {
    let change = |old: Option<&Bytes>| match old {
        None => Change::Put(b"new".to_vec()),
        Some(old) if old.len() % 3 == 0 => Change::Remove,
        Some(old) if old.len() % 3 == 1 => Change::Keep,
        Some(old) => Change::Put(old.repeat(2)),
    };
    store.update(key.arg(), |old| change(old.map(|old| old.to_vec()).as_ref())).unwrap();
    match change(model.get(key)) {
        Change::Keep => None,
        Change::Put(value) => model.insert(key.clone(), value),
        Change::Remove => model.remove(key),
    };
}

fn check_ranges<K: Tried>(store: &Store<K>, model: &Model<K>, key: &K, end: &K) {
    let range = StoreRange::all().from(key.arg());
    let limited = range.to(end.arg());
    let inside = |k: &K| k >= key && k < end;
    let mut want: Vec<_> = model.clone().into_iter().collect();
    want.retain(|(k, _)| k >= key);
    assert_eq!(entries(store, range), want);
    want.retain(|(k, _)| inside(k));
    assert_eq!(entries(store, limited), want);
    want.reverse();
    assert_eq!(entries(store, limited.backward()), want);
}

fn check_whole<K: Tried>(store: &mut Store<K>, model: &Model<K>) {
    let all: Vec<_> = model.clone().into_iter().collect();
    assert_eq!(entries(store, StoreRange::all()), all);
    assert_eq!(store.len().unwrap(), all.len() as u64);
    assert_eq!(store.stats().unwrap().items, all.len() as u64);
    let keys: Vec<K> = (0..60).map(K::of).collect();
    let args: Vec<&K::Arg> = keys.iter().map(Tried::arg).collect();
    let values: Vec<_> = keys.iter().map(|key| model.get(key).cloned()).collect();
    assert_eq!(store.get_many(&args), values);

    let file = temporary("snapshot");
    store.save(&file).unwrap();
    if !all.is_empty() {
        assert!(matches!(store.load(&file), Err(StoreError::System { .. })));
    }
    let mut copy: Store<K> = Store::open("mem:").unwrap();
    copy.load(&file).unwrap();
    assert_eq!(entries(&copy, StoreRange::all()), all);
    std::fs::remove_file(&file).unwrap();
}

fn play<K: Tried>(options: StoreOptions, steps: &[(u8, u8, Bytes)]) {
    let mut store: Store<K> = options.pages(Pages::Small).open("mem:").unwrap();
    let mut model = BTreeMap::new();
    for (what, n, value) in steps {
        let key = K::of(*n);
        let (at, there) = (key.arg(), model.get(&key).cloned());
        match what % 12 {
            0 | 1 => {
                store.set(at, value).unwrap();
                model.insert(key.clone(), value.clone());
            }
            2 => {
                assert_eq!(store.add(at, value).unwrap(), there.is_none());
                model.entry(key.clone()).or_insert_with(|| value.clone());
            }
            3 => {
                assert_eq!(store.replace(at, value).unwrap(), there.is_some());
                model.entry(key.clone()).and_modify(|old| *old = value.clone());
            }
            4 | 5 => assert_eq!(store.remove(at).unwrap(), model.remove(&key).is_some()),
            6 => {
                assert_eq!(store.append(at, value).unwrap() as usize, {
                    let now = model.entry(key.clone()).or_default();
                    now.extend(value);
                    now.len()
                });
            }
            7 => {
                let expected = there.clone().unwrap_or_default();
                assert_eq!(store.cas(at, &expected, value).unwrap(), there.is_some());
                model.entry(key.clone()).and_modify(|old| *old = value.clone());
                let wrong = store.cas(at, b"something else", value).unwrap();
                assert!(!wrong);
            }
            8 => update(&store, &mut model, &key),
            9 => {
                let other = K::of(n.wrapping_add(1));
                let pairs = [(at, &value[..]), (other.arg(), b"other"), (at, b"last")];
                store.set_many(&pairs).unwrap();
                model.insert(other, b"other".to_vec());
                model.insert(key.clone(), b"last".to_vec());
            }
            10 => check_ranges(&store, &model, &key, &K::of(n.wrapping_mul(7))),
            _ => {
                let later = SystemTime::now() + Duration::from_secs(1000);
                assert_eq!(store.expire(at, Some(later)).unwrap(), there.is_some());
                let expires = store.view(at, |value| value.expires()).unwrap();
                assert_eq!(expires.map(|when| when.is_some()), there.map(|_| true));
                assert_eq!(store.expire(at, None).unwrap(), model.contains_key(&key));
            }
        }
        assert_eq!(store.get(key.arg()).unwrap(), model.get(&key).cloned());
        assert_eq!(store.contains(key.arg()).unwrap(), model.contains_key(&key));
    }
    check_whole(&mut store, &model);
}

fn temporary(name: &str) -> std::path::PathBuf {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("").replace(':', "-");
    std::env::temp_dir().join(format!("lathwork-{}-{test}-{name}", std::process::id()))
}

#[test]
fn numbers_as_a_model() {
    fn property(steps: Vec<(u8, u8, Bytes)>) {
        play::<u64>(StoreOptions::new(), &steps);
    }
    check(40, 80, property as fn(_));
}

#[test]
fn bytes_as_a_model() {
    fn property(steps: Vec<(u8, u8, Bytes)>) {
        play::<Bytes>(StoreOptions::new().versions(), &steps);
    }
    check(40, 80, property as fn(_));
}

#[test]
fn a_prefix() {
    let store: Store<Bytes> = Store::open("mem:").unwrap();
    for name in ["user:1", "user:2", "user;", "use", "\u{7f}", ""] {
        store.set(name.as_bytes(), name.as_bytes()).unwrap();
    }
    let users = StoreRange::all().prefix(b"user:");
    let names = |range| entries(&store, range).into_iter().map(|(key, _)| key);
    assert!(names(users).eq([b"user:1".to_vec(), b"user:2".to_vec()]));
    assert!(names(users.from(b"user:2")).eq([b"user:2".to_vec()]));
    assert_eq!(names(StoreRange::all()).count(), 6);
    assert_eq!(store.get(b"").unwrap().unwrap(), b"");
}

#[test]
fn what_is_refused() {
    let store: Store<Bytes> = Store::open("mem:").unwrap();
    let long = vec![1; 65536];
    assert_eq!(store.set(&long, b"x"), Err(StoreError::TooLong));
    assert_eq!(store.get(&long), Err(StoreError::TooLong));
    store.set(b"word", b"x").unwrap();
    assert_eq!(store.incr(b"word", 1), Err(StoreError::NotNumber));
    assert_eq!(store.incr(b"n", i64::MAX), Ok(i64::MAX));
    assert_eq!(store.incr(b"n", 1), Err(StoreError::Overflow));
    assert_eq!(store.get(b"n").unwrap().unwrap(), i64::MAX.to_string().as_bytes());
    assert_eq!(store.set_many(&[(b"a", b"1"), (&long, b"2")]), Err(StoreError::TooLong));
    let numbers: Store<u64> = Store::open("mem:").unwrap();
    numbers.set(&1, b"1").unwrap();
    assert_eq!(numbers.set_if(&1, 0, b"2"), Err(StoreError::Unsupported));

    for (spec, errno) in [("nowhere:", 22), ("a\0b", 22)] {
        match Store::<u64>::open(spec) {
            Err(StoreError::System { errno: found, reason }) => {
                assert_eq!(found, errno);
                assert!(!reason.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }
    let path = temporary("missing");
    let spec = format!("file:{}", path.display());
    let error = StoreOptions::new().existing().open::<u64>(&spec).unwrap_err();
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::NotFound);
    assert!(remove_store("shm:lathwork-no-such-store").is_err());
}

#[test]
fn a_limit() {
    let full: Store<u64> = StoreOptions::new().limit(8 << 20).open("mem:").unwrap();
    let value = vec![7; 100_000];
    let refused = (0..1000).find_map(|key| full.set(&key, &value).err());
    assert_eq!(refused, Some(StoreError::Full));
    let n = full.len().unwrap();
    assert!(n > 20 && full.get(&0).unwrap().is_some());
    let cache: Store<u64> = StoreOptions::new().limit(8 << 20).evict().open("mem:").unwrap();
    for key in 0..1000 {
        cache.set(&key, &value).unwrap();
    }
    assert!(cache.get(&999).unwrap().is_some() && cache.stats().unwrap().evicted > 0);
}

#[test]
fn versions() {
    let store: Store<Bytes> = Store::open("mem:").unwrap();
    store.set(b"k", b"1").unwrap();
    let version = store.view(b"k", |value| value.version()).unwrap().unwrap();
    assert!(store.set_if(b"k", version, b"2").unwrap());
    assert!(!store.set_if(b"k", version, b"3").unwrap());
    assert_eq!(store.get(b"k").unwrap().unwrap(), b"2");
}

#[test]
fn files() {
    let path = temporary("file");
    let spec = format!("file:{}", path.display());
    let store: Store<Bytes> = Store::open(&spec).unwrap();
    store.set(b"a", b"1").unwrap();
    match Store::<Bytes>::open(&spec) {
        Err(StoreError::System { reason, .. }) => assert!(reason.contains("file"), "{reason}"),
        other => panic!("{other:?}"),
    }
    store.close().unwrap();
    let reader: Store<Bytes> = StoreOptions::new().read_only().open(&spec).unwrap();
    assert_eq!(reader.get(b"a").unwrap().unwrap(), b"1");
    assert_eq!(reader.set(b"a", b"2"), Err(StoreError::ReadOnly));
    drop(reader);
    let store: Store<Bytes> = Store::open(&spec).unwrap();
    store.set(b"a", b"2").unwrap();
    drop(store); // writes it too
    let store: Store<Bytes> = StoreOptions::new().existing().open(&spec).unwrap();
    assert_eq!(store.get(b"a").unwrap().unwrap(), b"2");
    drop(store);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn shared_memory() {
    let name = format!("shm:lathwork-rust-{}", std::process::id());
    let options = StoreOptions::new().limit(8 << 20);
    // shared with others, who must not change it: no safe call opens it
    let refused: Result<Store<u64>, _> = options.clone().open(&name);
    assert!(refused.unwrap_err().to_string().contains("open_shared()"));
    assert!(remove_store(&name).is_err());
    // SAFETY: nobody else knows the name.
    let [store, other]: [Store<u64>; 2] =
        [(); 2].map(|()| unsafe { options.clone().open_shared(&name) }.unwrap());
    store.set(&1, b"one").unwrap();
    assert_eq!(other.get(&1).unwrap().unwrap(), b"one");
    assert_eq!(entries(&other, StoreRange::all()), [(1, b"one".to_vec())]);
    remove_store(&name).unwrap();
    assert_eq!(other.len().unwrap(), 1);
}

#[test]
fn threads() {
    let store: Store<Bytes> = Store::open("mem:").unwrap();
    std::thread::scope(|s| {
        for thread in 0..4u64 {
            let store = &store;
            s.spawn(move || {
                for i in 0..5000u64 {
                    store.incr(b"sum", 1).unwrap();
                    let key = (i * 4 + thread).to_be_bytes();
                    store.set(&key, &key).unwrap();
                    let seen = store.view(&key, |value| value[..] == key).unwrap();
                    assert_eq!(seen, Some(true));
                    if i % 3 == 0 {
                        assert!(store.remove(&key).unwrap());
                    }
                }
            });
        }
    });
    assert_eq!(store.get(b"sum").unwrap().unwrap(), b"20000");
    assert_eq!(store.len().unwrap(), 1 + 4 * (5000 - 5000 / 3 - 1));
    assert!(store.sweep().unwrap() == 0 && store.compact().is_ok());
}

#[test]
fn a_function_that_panics() {
    let store: Store<u64> = Store::open("mem:").unwrap();
    store.set(&1, b"a value that is longer").unwrap();
    let call = || store.update(&1, |_| panic!("as planned"));
    assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    let view = || store.view(&1, |_| panic!("as planned"));
    assert!(catch_unwind(AssertUnwindSafe(view)).is_err());
    assert_eq!(store.get(&1).unwrap().unwrap(), b"a value that is longer");
    assert!(store.compact().is_ok()); // no section is left
}

/// Stores and maps end within a section of the thread.
#[test]
fn ends_within_sections() {
    let store: Store<u64> = Store::open("mem:").unwrap();
    store.set(&1, b"a value that is longer").unwrap();
    let map = PointMap::<u64, String>::new();
    map.insert(1, "text".into()).unwrap();
    let other: Store<u64> = Store::open("mem:").unwrap();
    let mut scan = store.scan(StoreRange::all()).unwrap();
    assert_eq!(scan.next().unwrap().unwrap().0, 1);
    drop(map);
    drop(other);
    assert!(catch_unwind(AssertUnwindSafe(|| store.compact())).is_err());
    assert!(scan.next().is_none() && scan.next().is_none());
    drop(scan);
    let map = PointMap::<u64, String>::new();
    map.insert(1, "text".into()).unwrap();
    let text = map.get(1).unwrap();
    let inside = store.view(&1, |value| {
        drop(Store::<u64>::open("mem:").unwrap());
        value.len()
    });
    assert_eq!(inside.unwrap(), Some(22));
    drop(store);
    assert_eq!(*text, "text");
}

#[test]
fn expiry() {
    let store: Store<u64> = Store::open("mem:").unwrap();
    for key in 0..10 {
        store.set(&key, b"value").unwrap();
    }
    assert!(store.expire(&3, Some(SystemTime::UNIX_EPOCH)).unwrap());
    let past = SystemTime::now() - Duration::from_secs(5);
    assert!(store.expire(&4, Some(past)).unwrap());
    assert!(!store.expire(&44, Some(past)).unwrap());
    assert!(store.get(&3).unwrap().is_none() && !store.contains(&4).unwrap());
    assert_eq!(store.len().unwrap(), 10);
    assert_eq!(store.sweep().unwrap(), 2);
    assert_eq!(store.len().unwrap(), 8);
}
