// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the maps and sets have in common, made once.

/// The constructors without options.
macro_rules! constructors {
    ($what:literal) => {
        #[doc = concat!("An empty ", $what, ".")]
        pub fn new() -> Self {
            crate::handle::made(Self::try_new())
        }

        #[doc = concat!("An empty ", $what, ", if there is memory for it.")]
        pub fn try_new() -> Result<Self, crate::memory::NoMemory> {
            Self::try_with(crate::memory::Options::new())
        }
    };
}

/// `Default`, `Debug`, and what a map is made of: `impl [GENERICS] NAME of [MORE GENERICS] ENTRY`. The
/// attributes are of `Extend`.
macro_rules! collected {
    ($(#[$doc:meta])* impl [$($of:tt)*] $name:ty, of [$($more:tt)*] $entry:ty) => {
        impl<$($of)*> Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }

        impl<$($of)*> core::fmt::Debug for $name
        where
            K: core::fmt::Debug,
            V: core::fmt::Debug,
        {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_map().entries(self.iter()).finish()
            }
        }

        $(#[$doc])*
        impl<$($of)*, $($more)*> Extend<$entry> for $name {
            fn extend<I: IntoIterator<Item = $entry>>(&mut self, entries: I) {
                (&*self).extend(entries);
            }
        }

        impl<$($of)*, $($more)*> FromIterator<$entry> for $name {
            fn from_iter<I: IntoIterator<Item = $entry>>(entries: I) -> Self {
                let all = Self::new();
                (&all).extend(entries);
                all
            }
        }
    };
}

/// `From` an array, likewise.
macro_rules! from_array {
    (impl [$($of:tt)*] $name:ty, of $entry:ty) => {
        impl<$($of)*, const N: usize> From<[$entry; N]> for $name {
            fn from(entries: [$entry; N]) -> Self {
                entries.into_iter().collect()
            }
        }
    };
}

/// `&NAME` is entries in order: `impl [GENERICS] NAME, ITERATOR`.
macro_rules! iterated {
    (impl [$($of:tt)*] $name:ty, $iterator:ty) => {
        impl<'a, $($of)*> IntoIterator for &'a $name {
            type Item = <$iterator as Iterator>::Item;
            type IntoIter = $iterator;

            fn into_iter(self) -> $iterator {
                self.iter()
            }
        }
    };
}

/// An iterator that makes its items of those of another one, which `field` is, from both ends.
macro_rules! both_ends {
    (impl [$($of:tt)*] $name:ty, $item:ty, $field:tt, $make:expr) => {
        impl<$($of)*> Iterator for $name {
            type Item = $item;

            fn next(&mut self) -> Option<Self::Item> {
                self.$field.next().map($make)
            }
        }

        impl<$($of)*> DoubleEndedIterator for $name {
            fn next_back(&mut self) -> Option<Self::Item> {
                self.$field.next_back().map($make)
            }
        }

        impl<$($of)*> core::iter::FusedIterator for $name {}
    };
}

pub(crate) use {both_ends, collected, constructors, from_array, iterated};
