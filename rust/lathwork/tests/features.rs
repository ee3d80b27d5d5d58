// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The feature serde.
#![cfg(feature = "serde")]
use lathwork::{BytesMap, IntervalMap, PointMap, RangeMap, RangeSet};
use serde_json::{from_str, to_string};

#[test]
fn what_is_written_is_read() {
    let points = PointMap::from([(3u32, "c".to_string()), (1, "a".to_string())]);
    let text = to_string(&points).unwrap();
    assert_eq!(text, r#"{"1":"a","3":"c"}"#);
    assert_eq!(from_str::<PointMap<u32, String>>(&text).unwrap(), points);

    let bytes = BytesMap::from([("b".to_string(), [1, 2]), ("a".to_string(), [3, 4])]);
    let text = to_string(&bytes).unwrap();
    assert_eq!(text, r#"{"a":[3,4],"b":[1,2]}"#);
    assert_eq!(from_str::<BytesMap<String, [i32; 2]>>(&text).unwrap(), bytes);

    let ranges = RangeMap::from([(1u8..5, 'x'), (5..9, 'y')]);
    let text = to_string(&ranges).unwrap();
    assert_eq!(text, r#"[[{"first":1,"last":4},"x"],[{"first":5,"last":8},"y"]]"#);
    assert_eq!(from_str::<RangeMap<u8, char>>(&text).unwrap(), ranges);

    let set = RangeSet::<i32>::new();
    set.try_insert(-5..0).unwrap();
    set.try_insert(0..5).unwrap();
    let text = to_string(&set).unwrap();
    assert_eq!(text, r#"[{"first":-5,"last":-1},{"first":0,"last":4}]"#);
    assert_eq!(from_str::<RangeSet<i32>>(&text).unwrap(), set);
    assert_eq!(set.len(), 2);

    let intervals: IntervalMap<u8, bool> = [(1..9, true), (2..4, false)].into_iter().collect();
    let text = to_string(&intervals).unwrap();
    assert!(text.contains(r#"[{"first":2,"last":3},false]"#), "{text}");
    let read: IntervalMap<u8, bool> = from_str(&text).unwrap();
    assert_eq!((read.len(), read.stab(3).count(), read.stab(7).count()), (2, 2, 1));
}

#[test]
fn what_was_not_written_is_refused() {
    let overlap = r#"[[{"first":1,"last":4},1],[{"first":4,"last":8},2]]"#;
    let error = from_str::<RangeMap<u8, u8>>(overlap).unwrap_err().to_string();
    assert!(error.contains("overlaps 1..=4"), "{error}");
    let all = r#"[[{"first":0,"last":18446744073709551615},1]]"#;
    let error = from_str::<RangeMap<u64, u8>>(all).unwrap_err().to_string();
    assert!(error.contains("2^64"), "{error}");
    assert!(from_str::<PointMap<u8, u8>>("[1]").is_err());
}

#[test]
fn ranges_that_can_be_read_in_two_ways_are_refused() {
    // 0..9 and 0..=9 of the standard library are both written so
    assert_eq!(to_string(&(0..9)).unwrap(), r#"{"start":0,"end":9}"#);
    for (text, error) in [
        (r#"[{"start":0,"end":9}]"#, "unknown field `start`"),
        (r#"[{"first":0}]"#, "missing field `last`"),
        (r#"[{"last":9}]"#, "missing field `first`"),
        (r#"[{"first":0,"last":9,"first":0}]"#, "duplicate field `first`"),
        (r#"[{"first":0,"last":300}]"#, "300"),
        (r#"[{"first":9,"last":0}]"#, "the range is empty"),
        (r#"[[0]]"#, "its first and its last key"),
        (r#"[7]"#, "its first and its last key"),
    ] {
        let found = from_str::<RangeSet<u8>>(text).unwrap_err().to_string();
        assert!(found.contains(error), "{text}: {found}");
    }
    // the names may come in any order; formats without names have the first key before the last
    for text in [r#"[{"last":9,"first":0}]"#, "[[0,9]]"] {
        assert_eq!(from_str::<RangeSet<u8>>(text).unwrap().last(), Some(0..=9));
    }
}
