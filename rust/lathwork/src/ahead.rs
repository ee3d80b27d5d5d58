// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What walks copy before it is asked for.

/// Entries that are copied ahead at each end, at most.
pub(crate) const AHEAD: usize = 32;

/// What was copied ahead at one end: the items of an index, the words of a set.
pub(crate) struct Ahead<T> {
    items: [T; AHEAD],
    at: usize,
    copied: usize,
    /// What is behind these ends at the other end.
    all: bool,
}

impl<T: Copy + Default> Ahead<T> {
    pub(crate) fn new() -> Self {
        Ahead { items: [T::default(); AHEAD], at: 0, copied: 0, all: false }
    }

    /// The next item. If need be `scan` copies at most `AHEAD` and returns how many. None: there is
    /// no other.
    #[inline(always)]
    pub(crate) fn next(&mut self, scan: impl FnOnce(*mut T) -> usize) -> Option<T> {
        if self.at == self.copied {
            if self.all {
                return None;
            }
            self.copied = scan(self.items.as_mut_ptr());
            self.at = 0;
            self.all = self.copied < AHEAD;
            if self.copied == 0 {
                return None;
            }
        }
        self.at += 1;
        Some(self.items[self.at - 1])
    }
}
