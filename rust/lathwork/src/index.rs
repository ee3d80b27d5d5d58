// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! An index of the C library whose words are values: what the maps share.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{self, needs_drop};
use core::ops::{Deref, RangeInclusive};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use lathwork_sys as sys;
use sys::lath_item;

use crate::handle::Handle;
use crate::section::{outside_sections, Section};
use crate::Value;

/// After so many removals the next one drops those whose readers are gone.
const PENDING: usize = 64;

/// Why an insert was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It overlaps this range, which is there already.
    Overlaps(RangeInclusive<u64>),
    /// The range is empty.
    Empty,
    /// The range has 2^64 keys; an index holds ranges of at most 2^64 - 1.
    TooLong,
    /// There is no memory.
    NoMemory,
}

/// A refused insert: the reason, and the value back.
#[derive(Clone, PartialEq, Eq)]
pub struct InsertError<V> {
    /// Why.
    pub reason: Reason,
    /// What was to be inserted.
    pub value: V,
}

impl<V> fmt::Debug for InsertError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InsertError")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<V> fmt::Display for InsertError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Overlaps(range) => {
                write!(f, "it overlaps {}..={}", range.start(), range.end())
            }
            Reason::Empty => write!(f, "the range is empty"),
            Reason::TooLong => write!(f, "the range has 2^64 keys"),
            Reason::NoMemory => write!(f, "there is no memory"),
        }
    }
}

#[cfg(feature = "std")]
impl<V> std::error::Error for InsertError<V> {}

/// A value in a map. What it derefs to stays valid while it lives, also if the entry is removed
/// meanwhile. It belongs to one thread.
pub struct Ref<'a, V: Value> {
    word: u64,
    section: Option<Section>,
    of: PhantomData<(&'a V, *const ())>,
}

impl<V: Value> Ref<'_, V> {
    /// `word` is in an index, or was when `section` had begun already.
    fn new(word: u64, section: Option<Section>) -> Self {
        Ref {
            word,
            section,
            of: PhantomData,
        }
    }
}

impl<V: Value> Clone for Ref<'_, V> {
    fn clone(&self) -> Self {
        Ref::new(self.word, self.section.as_ref().map(|_| Section::enter()))
    }
}

impl<V: Value> Deref for Ref<'_, V> {
    type Target = V::Target;

    fn deref(&self) -> &V::Target {
        // SAFETY: the section began while the word was in the index, and values that leave it are
        // dropped after all sections of that time. A value without a drop is not taken at all.
        unsafe { V::target(&self.word) }
    }
}

impl<V: Value> fmt::Debug for Ref<'_, V>
where
    V::Target: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<V: Value> PartialEq<V::Target> for Ref<'_, V>
where
    V::Target: PartialEq,
{
    fn eq(&self, other: &V::Target) -> bool {
        **self == *other
    }
}

/// A value that has left the index and that readers may still look at.
#[repr(C)]
struct Retired {
    head: sys::lath_rcu_head,
    word: u64,
    unseen: AtomicBool, // no reader looks at it any more
    next: *mut Retired,
}

unsafe extern "C" fn set_unseen(head: *mut sys::lath_rcu_head) {
    // the head is the first field
    (*head.cast::<Retired>())
        .unseen
        .store(true, Ordering::Release);
}

/// Retired values that their owner alone has.
struct Dropping<V: Value>(*mut Retired, PhantomData<V>);

impl<V: Value> Iterator for Dropping<V> {
    type Item = V;

    fn next(&mut self) -> Option<V> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: retire() made it with Box, and no reader nor callback uses it any more.
        unsafe {
            let retired = Box::from_raw(self.0);
            self.0 = retired.next;
            Some(V::from_word(retired.word))
        }
    }
}

impl<V: Value> Drop for Dropping<V> {
    fn drop(&mut self) {
        // if the drop of a value panics, the others are dropped while unwinding
        if let Some(value) = self.next() {
            let rest = Dropping::<V>(mem::replace(&mut self.0, ptr::null_mut()), PhantomData);
            drop(value);
            drop(rest);
        }
    }
}

pub(crate) struct Index<V: Value> {
    index: Handle<sys::lath_index>,
    retired: AtomicPtr<Retired>,
    pending: AtomicUsize,
    of: PhantomData<UnsafeCell<V>>, // a shared map takes values: it is invariant
}

// SAFETY: any thread may call the index; values go to other threads with it, and are dropped there.
unsafe impl<V: Value + Send> Send for Index<V> {}
// SAFETY: one thread's value is read, and dropped, by others.
unsafe impl<V: Value + Send + Sync> Sync for Index<V> {}

pub(crate) fn range_of(item: &lath_item) -> RangeInclusive<u64> {
    item.key..=item.key.wrapping_add(item.size).wrapping_sub(1)
}

impl<V: Value> Index<V> {
    pub(crate) fn new(layout: sys::c_int, flags: sys::c_uint) -> Self {
        let config = sys::lath_config {
            size: mem::size_of::<sys::lath_config>(),
            layout,
            flags,
            rcu: ptr::null(),
            allocator: ptr::null(),
            id: 0,
        };
        Index {
            // SAFETY: both pointers are valid.
            index: Handle::new(|index| unsafe { sys::lath_index_init(index, &config) }),
            retired: AtomicPtr::new(ptr::null_mut()),
            pending: AtomicUsize::new(0),
            of: PhantomData,
        }
    }

    pub(crate) fn raw(&self) -> *mut sys::lath_index {
        self.index.get()
    }

    pub(crate) fn insert(
        &self,
        range: RangeInclusive<u64>,
        value: V,
    ) -> Result<(), InsertError<V>> {
        let (first, last) = (*range.start(), *range.end());
        if first > last || range.is_empty() {
            return Err(InsertError {
                reason: Reason::Empty,
                value,
            });
        }
        let size = (last - first).wrapping_add(1);
        if size == 0 {
            return Err(InsertError {
                reason: Reason::TooLong,
                value,
            });
        }
        let item = lath_item {
            key: first,
            size,
            value: value.into_word(),
        };
        let mut there = lath_item::default();
        // SAFETY: the index is initialised; all pointers are valid.
        let reason = match unsafe { sys::lath_index_insert_item(self.raw(), &item, &mut there) } {
            0 => return Ok(()),
            error if error == -sys::EEXIST => Reason::Overlaps(range_of(&there)),
            error if error == -sys::ENOMEM => Reason::NoMemory,
            error => unreachable!("lathwork: insert returned {error}"),
        };
        // SAFETY: the word is not in the index.
        Err(InsertError {
            reason,
            value: unsafe { V::from_word(item.value) },
        })
    }

    /// A section, if values need one while they are looked at.
    fn section() -> Option<Section> {
        if needs_drop::<V>() {
            Some(Section::enter())
        } else {
            None
        }
    }

    /// Calls a function of the library that finds an item.
    pub(crate) fn find(
        &self,
        call: impl FnOnce(*mut sys::lath_index, *mut lath_item) -> sys::c_int,
    ) -> Option<(RangeInclusive<u64>, Ref<'_, V>)> {
        let section = Self::section();
        let mut item = lath_item::default();
        if call(self.raw(), &mut item) != 0 {
            return None;
        }
        Some((range_of(&item), Ref::new(item.value, section)))
    }

    pub(crate) fn get(&self, point: u64) -> Option<Ref<'_, V>> {
        let section = Self::section();
        let mut word = 0;
        // SAFETY: the index is initialised; the pointer is valid.
        if unsafe { sys::lath_index_get(self.raw(), point, &mut word) } != 1 {
            return None;
        }
        Some(Ref::new(word, section))
    }

    pub(crate) fn contains(&self, point: u64) -> bool {
        let mut word = 0;
        // SAFETY: as in get().
        unsafe { sys::lath_index_get(self.raw(), point, &mut word) == 1 }
    }

    /// Removes the entry that begins at `key`.
    pub(crate) fn remove(&self, key: u64) -> Option<(RangeInclusive<u64>, Ref<'_, V>)> {
        // SAFETY: the index is initialised; the pointer is valid.
        let found = self.find(|index, old| unsafe { sys::lath_index_erase_item(index, key, old) });
        if let Some((_, value)) = &found {
            self.retire(value.word);
        }
        found
    }

    /// Removes it, for a caller that alone has the index: then no one has a `Ref`.
    pub(crate) fn take(&mut self, key: u64) -> Option<(RangeInclusive<u64>, V)> {
        let mut old = lath_item::default();
        // SAFETY: the index is initialised; the word has left it and nobody else has it.
        unsafe {
            if sys::lath_index_erase_item(self.raw(), key, &mut old) != 0 {
                return None;
            }
            Some((range_of(&old), V::from_word(old.value)))
        }
    }

    /// Gives the entry that begins at `key` another value. Returns the old one, or `value` back.
    pub(crate) fn replace(&self, key: u64, value: V) -> Result<Ref<'_, V>, V> {
        let section = Self::section();
        let (word, mut old) = (value.into_word(), lath_item::default());
        // SAFETY: the index is initialised; the pointer is valid; a refused word is not in it.
        unsafe {
            if sys::lath_index_replace_item(self.raw(), key, word, &mut old) != 0 {
                return Err(V::from_word(word));
            }
        }
        self.retire(old.value);
        Ok(Ref::new(old.value, section))
    }

    /// Has a value that left the index dropped when no reader can look at it.
    fn retire(&self, word: u64) {
        if !needs_drop::<V>() {
            return;
        }
        let retired = Box::into_raw(Box::new(Retired {
            head: sys::lath_rcu_head {
                next: ptr::null_mut(),
                func: None,
            },
            word,
            unseen: AtomicBool::new(false),
            next: ptr::null_mut(),
        }));
        // SAFETY: the head lives until set_unseen() was called, see reclaim() and drop().
        unsafe {
            let call = sys::lath_rcu_auto.call.unwrap_unchecked();
            call(ptr::addr_of_mut!((*retired).head), Some(set_unseen));
            self.push(retired, retired);
        }
        if self.pending.fetch_add(1, Ordering::Relaxed) >= PENDING {
            self.reclaim();
        }
    }

    /// Puts a chain of retired values, from `first` to `last`, in front of the list.
    unsafe fn push(&self, first: *mut Retired, last: *mut Retired) {
        let mut head = self.retired.load(Ordering::Relaxed);
        loop {
            (*last).next = head;
            match self.retired.compare_exchange_weak(
                head,
                first,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Drops the values that were removed and that no reader can look at any more.
    pub(crate) fn reclaim(&self) {
        let mut at = self.retired.swap(ptr::null_mut(), Ordering::Acquire);
        let mut unseen = Dropping::<V>(ptr::null_mut(), PhantomData);
        let (mut first, mut last) = (ptr::null_mut::<Retired>(), ptr::null_mut::<Retired>());

        self.pending.store(0, Ordering::Relaxed);
        while !at.is_null() {
            // SAFETY: this thread took the list. A value that is unseen is no one else's.
            unsafe {
                let next = (*at).next;
                if (*at).unseen.load(Ordering::Acquire) {
                    (*at).next = unseen.0;
                    unseen.0 = at;
                } else {
                    (*at).next = first;
                    first = at;
                    if last.is_null() {
                        last = at;
                    }
                }
                at = next;
            }
        }
        if !last.is_null() {
            // SAFETY: the chain is ours.
            unsafe { self.push(first, last) };
        }
        drop(unseen);
    }

    pub(crate) fn len(&self) -> usize {
        // SAFETY: the index is initialised.
        unsafe { sys::lath_index_count(self.raw()) as usize }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let mut item = lath_item::default();
        // SAFETY: the index is initialised; the pointer is valid.
        unsafe { sys::lath_index_ceiling_item(self.raw(), 0, &mut item) != 0 }
    }

    /// The entries that begin in `from..=last`.
    pub(crate) fn scan(&self, from: u64, last: u64) -> Scan<'_, V> {
        Scan {
            index: self,
            _section: Self::section(),
            items: [lath_item::default(); SCAN],
            at: 0,
            copied: 0,
            from,
            last,
            more: from <= last,
        }
    }

    pub(crate) fn verify(&self) -> Result<(), String> {
        let mut report = [0u8; 256];
        // SAFETY: the index is initialised; the report has that size. The caller has &mut.
        let broken =
            unsafe { sys::lath_index_verify(self.raw(), 6, report.as_mut_ptr(), report.len()) };
        let length = report
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(report.len());
        match broken {
            0 => Ok(()),
            number => Err(format!(
                "I{number}: {}",
                String::from_utf8_lossy(&report[..length])
            )),
        }
    }

    /// Removes and drops all values.
    pub(crate) fn clear(&mut self) {
        let mut from = 0;
        // one at a time: the drop of a value may panic
        loop {
            let mut item = lath_item::default();
            // SAFETY: the index is initialised; the pointer is valid.
            if unsafe { sys::lath_index_ceiling_item(self.raw(), from, &mut item) } != 0 {
                return;
            }
            from = item.key;
            drop(self.take(from));
        }
    }
}

impl<V: Value> Drop for Index<V> {
    fn drop(&mut self) {
        unsafe fn free(arg: *mut ()) {
            // the callbacks of these have run, or run in this drain
            (sys::lath_rcu_auto.drain.unwrap_unchecked())();
            let mut at = arg.cast::<Retired>();
            while !at.is_null() {
                at = Box::from_raw(at).next;
            }
        }

        if !needs_drop::<V>() {
            return;
        }
        /// Drops the values in the index: while unwinding, those that are left.
        struct Clear<'a, V: Value>(&'a mut Index<V>);
        impl<V: Value> Drop for Clear<'_, V> {
            fn drop(&mut self) {
                self.0.clear();
            }
        }
        /// Drops the retired values, which no one looks at, and has their memory freed.
        struct End(*mut Retired);
        impl Drop for End {
            fn drop(&mut self) {
                if !self.0.is_null() {
                    // SAFETY: the records are nobody's but their callbacks'.
                    unsafe { outside_sections(free, self.0.cast()) };
                }
            }
        }
        let retired = End(*self.retired.get_mut());
        let rest = Clear(self);
        let mut at = retired.0;
        while !at.is_null() {
            // SAFETY: no one has a Ref to it; its callback does not look at the word.
            unsafe {
                let word = (*at).word;
                at = (*at).next;
                drop(V::from_word(word));
            }
        }
        drop(rest);
        drop(retired);
    }
}

const SCAN: usize = 32;

/// Copies entries ahead, some at a time.
pub(crate) struct Scan<'a, V: Value> {
    index: &'a Index<V>,
    _section: Option<Section>,
    items: [lath_item; SCAN],
    at: usize,
    copied: usize,
    from: u64,
    last: u64,
    more: bool,
}

impl<'a, V: Value> Iterator for Scan<'a, V> {
    type Item = (RangeInclusive<u64>, Ref<'a, V>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.copied {
            if !self.more {
                return None;
            }
            let mut next = 0;
            // SAFETY: the index is initialised; all pointers are valid.
            self.copied = unsafe {
                sys::lath_index_scan(
                    self.index.raw(),
                    self.from,
                    self.last,
                    self.items.as_mut_ptr(),
                    SCAN,
                    &mut next,
                )
            };
            self.at = 0;
            self.more = self.copied == SCAN && next != 0 && next <= self.last;
            self.from = next;
            if self.copied == 0 {
                return None;
            }
        }
        let item = &self.items[self.at];
        self.at += 1;
        // the scan's section began before the item was read
        Some((range_of(item), Ref::new(item.value, Index::<V>::section())))
    }
}

impl<V: Value> core::iter::FusedIterator for Scan<'_, V> {}
