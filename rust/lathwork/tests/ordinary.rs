// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Lines that somebody writes who knows the maps of `std` and of the crate rangemap.
use std::net::{Ipv4Addr, Ipv6Addr};

use lathwork::{BytesMap, IntervalMap, PointMap, RangeMap, RangeSet};

#[test]
fn keys_of_many_types() {
    let networks = RangeMap::new();
    networks.insert(Ipv4Addr::new(10, 0, 0, 0)..Ipv4Addr::new(11, 0, 0, 0), "ours").unwrap();
    assert_eq!(*networks.get(Ipv4Addr::new(10, 20, 30, 40)).unwrap(), "ours");
    let hosts = BytesMap::new();
    hosts.insert(Ipv6Addr::LOCALHOST.octets(), "here").unwrap();
    assert!(hosts.contains_key(&Ipv6Addr::LOCALHOST.octets()));
    let letters = RangeSet::from(['a'..='z', 'A'..='Z']);
    assert!(letters.contains('q') && !letters.contains('\u{e000}'));
    // the code points of no characters are no gap
    letters.insert('\u{d7ff}'..='\u{e000}').unwrap();
    assert_eq!(letters.last(), Some('\u{d7ff}'..='\u{e000}'));
    let flows = RangeMap::new();
    flows.insert((1u8, 250u8)..(2, 3), 'a').unwrap();
    assert_eq!(flows.get_key_value((2, 0)).unwrap().0, (1, 250)..=(2, 2));
}

#[test]
fn values_of_many_types() {
    #[derive(Debug, PartialEq)]
    struct Mapping {
        file: String,
        offset: u64,
    }
    let map = RangeMap::new();
    let file = String::from("libc");
    map.insert(0..10, Mapping { file, offset: 3 }).unwrap();
    assert_eq!((map.get(9).unwrap().file.as_str(), map.get(9).unwrap().offset), ("libc", 3));

    let map = PointMap::new();
    map.insert(1, vec![1, 2]).unwrap();
    assert_eq!(map.get(1).unwrap().len(), 2);
    let map = PointMap::new();
    map.insert(1, Some((2u8, 'x'))).unwrap();
    assert_eq!(*map.get(1).unwrap(), Some((2, 'x')));
    // a counter is not copied when it is looked at
    let mut map = PointMap::new();
    map.insert(1, std::sync::atomic::AtomicU32::new(5)).unwrap();
    map.get(1).unwrap().fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(map.take(1).unwrap().into_inner(), 6);
    let map = IntervalMap::new();
    map.insert(1..5, String::from("one")).unwrap();
    assert_eq!(*map.nearest(9).unwrap().1, "one");
    #[repr(align(128))]
    struct Aligned(u8);
    let map = PointMap::new();
    map.insert(1, Aligned(7)).unwrap();
    let found = map.get(1).unwrap();
    assert_eq!((found.0, &*found as *const Aligned as usize % 128), (7, 0));
}

/// As they stand in programs that use a `BTreeMap` or crossbeam-skiplist.
#[test]
fn lines_of_other_maps() {
    let (one, mut numbers) = (String::from("one"), PointMap::<u64, u64>::from([(1, 5), (2, 6)]));
    assert!(numbers.get(&1).unwrap() == 5 && numbers.contains_key(&2));
    assert_eq!(numbers.first_key_value().unwrap().0, 1);
    assert_eq!(numbers.get_key_value(&2).map(|(key, value)| key + *value), Some(8));
    assert_eq!(numbers.values().sum::<u64>(), 11);
    assert_eq!(numbers.values().copied().collect::<Vec<u64>>(), [5, 6]);
    numbers.entry(2).and_modify(|v| *v += 1).or_insert(1);
    *numbers.entry(3).or_insert(0) += 1;
    if let Some(v) = numbers.get_mut(&1) {
        *v += 1;
    }
    for (_, v) in &mut numbers {
        *v += 1;
    }
    assert_eq!(numbers.values().copied().collect::<Vec<u64>>(), [7, 8, 2]);
    numbers.retain(|&key, _| key > 1);
    assert_eq!(numbers.remove(&2).as_deref(), Some(&8));
    assert!(std::panic::catch_unwind(|| numbers.get(1).is_some()).is_ok());

    let names = PointMap::<u64, String>::from([(1, one.clone())]);
    assert!(names.get(1).unwrap() == "one" && names.get(&1).unwrap() == one);
    assert_eq!(names.get(2).map(|v| v.clone()).unwrap_or_default(), "");
    let set = std::collections::HashSet::from([names.get(1).unwrap()]);
    assert!(set.contains(&one));
    let filled = || -> std::io::Result<()> {
        names.insert(2, String::new())?;
        names.try_insert(2, String::new())?;
        Ok(())
    };
    assert_eq!(filled().unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    assert!(names > PointMap::from([(1, one)]) && names == names.clone());
}

/// As they stand in programs that use rangemap, and a map of strings.
#[test]
fn lines_of_other_ranges() {
    let ranges = RangeMap::<u64, char>::from([(0..8, 'a')]);
    ranges.insert(5, 'b').unwrap();
    assert_eq!(*ranges.get(&5).unwrap(), 'b');
    assert_eq!(ranges.overlapping(&(0..6)).count(), 2);
    assert_eq!(ranges.gaps(&(0..9)).collect::<Vec<_>>(), [8..=8]);
    let both: IntervalMap<_, _> = [(1..3, 'a'), (1..3, 'b'), (2..3, 'c')].into_iter().collect();
    let other: IntervalMap<_, _> = [(2..3, 'c'), (1..3, 'b'), (1..3, 'a')].into_iter().collect();
    let twice: IntervalMap<_, _> = [(2..3, 'c'), (1..3, 'b'), (1..3, 'b')].into_iter().collect();
    assert!(both == other && both != twice && twice != both);

    let mut words = BytesMap::<String, u64>::from([("x".to_string(), 1)]);
    words.update("x", |n| n + 1).unwrap();
    *words.entry("x".to_string()).or_default() += 1;
    assert!(words.iter().any(|(key, n)| key == "x" && n == 3));
    assert_eq!(words.keys().cloned().collect::<Vec<String>>(), ["x"]);
    assert_eq!(words.range(..).count() + words.range("a"..).count(), 2);
    let paths = BytesMap::from([(std::path::PathBuf::from("/bin"), 'b')]);
    assert!(paths.contains_key(std::path::Path::new("/bin")));
}
