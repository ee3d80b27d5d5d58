// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Unions, intersections and differences of sets of ranges.
use core::iter::{FusedIterator, Peekable};
use core::ops::RangeInclusive;

use crate::key::keys;
use crate::range_map::Ranges;
use crate::Key;

/// The ranges of one set, the first of which may have been passed in part.
struct Side<'a, K: Key>(Peekable<Ranges<'a, K, ()>>);

impl<K: Key> Side<'_, K> {
    /// Whether `at` is in the set, and the last key up to which that is so.
    fn at(&mut self, at: u64) -> (bool, u64) {
        while let Some((range, _)) = self.0.peek() {
            let (first, last) = (range.start().into_word(), range.end().into_word());
            if at < first {
                return (false, first - 1);
            }
            if at <= last {
                return (true, last);
            }
            self.0.next();
        }
        (false, u64::MAX)
    }
}

/// The ranges of a union, an intersection or a difference in order; no two of them touch.
pub struct Algebra<'a, K: Key = u64> {
    first: Side<'a, K>,
    second: Side<'a, K>,
    which: fn(bool, bool) -> bool,
    at: Option<u64>,
}

impl<'a, K: Key> Algebra<'a, K> {
    /// `which` says which keys it takes: of the first set, of the second one.
    pub(crate) fn new(
        first: Ranges<'a, K, ()>, second: Ranges<'a, K, ()>, which: fn(bool, bool) -> bool,
    ) -> Self {
        Algebra {
            first: Side(first.peekable()),
            second: Side(second.peekable()),
            which,
            at: Some(0),
        }
    }

    /// Whether the next keys are in the result, and the last key up to which that is so.
    fn step(&mut self, at: u64) -> (bool, u64) {
        let (first, to) = self.first.at(at);
        let (second, until) = self.second.at(at);
        ((self.which)(first, second), to.min(until))
    }
}

impl<K: Key> Iterator for Algebra<'_, K> {
    type Item = RangeInclusive<K>;

    fn next(&mut self) -> Option<RangeInclusive<K>> {
        let mut run: Option<(u64, u64)> = None;
        while let Some(at) = self.at {
            let (is_in, to) = self.step(at);
            if is_in {
                run = Some((run.map_or(at, |run| run.0), to));
            } else if let Some((first, last)) = run {
                return Some(keys(first, last));
            }
            self.at = to.checked_add(1);
        }
        run.map(|(first, last)| keys(first, last))
    }
}

impl<K: Key> FusedIterator for Algebra<'_, K> {}
