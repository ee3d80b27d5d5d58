// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Counts the words of a text by several threads, and prints them in order.
use std::sync::atomic::{AtomicUsize, Ordering};

use lathwork::BytesMap;

const TEXT: &str = "the map is shared and the counts are in it and the threads count the words";

fn main() {
    let counts = BytesMap::<String, AtomicUsize>::new();
    let words: Vec<&str> = TEXT.split_whitespace().collect();
    std::thread::scope(|s| {
        for part in words.chunks(5) {
            let counts = &counts;
            s.spawn(move || {
                for word in part {
                    let count = counts.get_or_insert_with(word.to_string(), || AtomicUsize::new(0));
                    count.expect("memory for a word").fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    for (word, count) in &counts {
        println!("{:3} {word}", count.load(Ordering::Relaxed));
    }
    println!("{} begin with c", counts.prefix("c").count());
}
