// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The feature `rayon`: threads fill a map together (`collect()`, `par_extend()`), and take one
//! apart (`into_par_iter()`). There is no `par_iter()`: a [`Ref`](crate::Ref) stays on its thread.
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use rayon::iter::{FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};
use rayon::vec::IntoIter;

use crate::{Bytes, BytesMap, IntervalMap, Key, KeyRange, PointMap, RangeMap};

macro_rules! parallel {
    ($($name:ident<$key:ident: $bound:ident> from $from:ty where [$($range:tt)*];)*) => {$(
        impl<$($range)* $key: $bound + Send + Sync, V: Send + Sync> ParallelExtend<($from, V)>
            for $name<$key, V>
        {
            fn par_extend<I: IntoParallelIterator<Item = ($from, V)>>(&mut self, entries: I) {
                (&*self).par_extend(entries);
            }
        }

        /// A shared map is extended too.
        impl<$($range)* $key: $bound + Send + Sync, V: Send + Sync> ParallelExtend<($from, V)>
            for &$name<$key, V>
        {
            fn par_extend<I: IntoParallelIterator<Item = ($from, V)>>(&mut self, entries: I) {
                let map = *self;
                entries.into_par_iter().for_each(|entry| (&*map).extend([entry]));
            }
        }

        impl<$($range)* $key: $bound + Send + Sync, V: Send + Sync> FromParallelIterator<($from, V)>
            for $name<$key, V>
        {
            fn from_par_iter<I: IntoParallelIterator<Item = ($from, V)>>(entries: I) -> Self {
                let mut map = $name::new();
                map.par_extend(entries);
                map
            }
        }
    )*};
}

parallel! {
    PointMap<K: Key> from K where [];
    BytesMap<K: Bytes> from K where [];
    RangeMap<K: Key> from R where [R: KeyRange<K> + Send,];
    IntervalMap<K: Key> from R where [R: KeyRange<K> + Send,];
}

macro_rules! taken_apart {
    ($($name:ident<K, V> [$($of:tt)*] $key:ty;)*) => {$(
        impl<$($of)*> IntoParallelIterator for $name<K, V> {
            type Item = ($key, V);
            type Iter = IntoIter<($key, V)>;

            fn into_par_iter(self) -> Self::Iter {
                self.into_iter().collect::<Vec<_>>().into_par_iter()
            }
        }
    )*};
}

taken_apart! {
    PointMap<K, V> [K: Key + Send, V: Send] K;
    BytesMap<K, V> [K: Bytes + Send, V: Send] K;
    RangeMap<K, V> [K: Key + Send, V: Clone + Send] RangeInclusive<K>;
}
