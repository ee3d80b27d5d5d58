// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The key-value store.
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{self, MaybeUninit};
use core::ops::Deref;
use core::ptr;
use std::any::Any;
use std::boxed::Box;
use std::os::unix::ffi::OsStrExt;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lathwork_sys as sys;
use lathwork_sys as c;

use crate::handle::{rcu, Handle, Structure};
use crate::memory::Memory;
use crate::section::{this_thread, InSection};
use crate::store_error::{
    done, done_whole, refused, refused_whole, system, text, unless, StoreError,
};

mod sealed {
    use super::{c, sys};

    pub trait Kind: Sized {
        type Arg: ?Sized;
        const KIND: sys::c_int;
        fn key(arg: &Self::Arg) -> c::lath_store_key;
        /// # Safety
        ///
        /// The key is of a store of this kind, and valid.
        unsafe fn owned(key: &c::lath_store_key) -> Self;
    }
}
use sealed::Kind;

/// The keys of a [`Store`]: `u64`, whose arguments are `&u64`, or `Vec<u8>`, whose are `&[u8]`.
pub trait StoreKey: Kind {}

impl Kind for u64 {
    type Arg = u64;
    const KIND: sys::c_int = c::LATH_STORE_NUMBERS;
    fn key(arg: &u64) -> c::lath_store_key {
        c::lath_store_key { data: ptr::null(), n: *arg }
    }
    unsafe fn owned(key: &c::lath_store_key) -> u64 {
        key.n
    }
}

impl Kind for Vec<u8> {
    type Arg = [u8];
    const KIND: sys::c_int = c::LATH_STORE_BYTES;
    fn key(arg: &[u8]) -> c::lath_store_key {
        c::lath_store_key {
            data: arg.as_ptr().cast(), // never NULL
            n: arg.len() as u64,
        }
    }
    unsafe fn owned(key: &c::lath_store_key) -> Vec<u8> {
        bytes(key.data, key.n).to_vec()
    }
}

impl StoreKey for u64 {}
impl StoreKey for Vec<u8> {}

unsafe fn bytes<'a>(data: *const c_void, size: u64) -> &'a [u8] {
    if size == 0 {
        return &[];
    }
    core::slice::from_raw_parts(data.cast(), size as usize)
}

/// What [`Store::view`] and [`Store::update`] show of a value: its bytes.
pub struct StoreValue<'a> {
    there: &'a c::lath_store_ref,
}

impl StoreValue<'_> {
    /// The version, for [`Store::set_if`]; 0 in a store without versions.
    pub fn version(&self) -> u64 {
        self.there.version
    }

    /// When the entry expires.
    pub fn expires(&self) -> Option<SystemTime> {
        (self.there.expires != 0).then(|| UNIX_EPOCH + Duration::from_millis(self.there.expires))
    }
}

impl Deref for StoreValue<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: it is valid as long as the callback runs that has it.
        unsafe { bytes(self.there.data, self.there.size) }
    }
}

/// What [`Store::update`] does with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Keep,
    /// Gives it this value.
    Put(Vec<u8>),
    /// Removes it.
    Remove,
}

/// On which pages a [`Store`] lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pages {
    /// Transparent huge pages where the machine has them.
    Huge = c::LATH_PAGES_HUGE as isize,
    /// Reserved huge pages while there are any.
    Reserved = c::LATH_PAGES_HUGETLB as isize,
    /// Small ones.
    Small = c::LATH_PAGES_SMALL as isize,
}

/// How a [`Store`] is opened.
///
/// ```
/// use lathwork::{Store, StoreOptions};
///
/// let cache: Store<u64> = StoreOptions::new().limit(64 << 20).evict().open("mem:").unwrap();
/// cache.set(&7, b"seven").unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct StoreOptions {
    flags: sys::c_uint,
    pages: Pages,
    limit: u64,
    reserve: u64,
    prefault: u64,
    numa: Option<String>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl StoreOptions {
    /// No limit, huge pages.
    pub fn new() -> Self {
        StoreOptions { flags: 0, pages: Pages::Huge, limit: 0, reserve: 0, prefault: 0, numa: None }
    }

    fn with(mut self, flag: sys::c_uint) -> Self {
        self.flags |= flag;
        self
    }

    /// Bytes taken from the machine at most; at least 8 MiB.
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Bytes of address space; twice the limit or the machine's memory if it is not called.
    pub fn reserve(mut self, bytes: u64) -> Self {
        self.reserve = bytes;
        self
    }

    /// Takes memory now, so that later writes cause no page faults.
    pub fn prefault(mut self, bytes: u64) -> Self {
        self.prefault = bytes;
        self
    }

    /// Which pages.
    pub fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
        self
    }

    /// `local`, `interleave`, `interleave:NODES` or `bind:NODES`.
    pub fn numa(mut self, policy: &str) -> Self {
        self.numa = Some(policy.to_string());
        self
    }

    /// At the limit, entries that have expired go, then old ones.
    pub fn evict(self) -> Self {
        self.with(c::LATH_STORE_EVICT)
    }

    /// A store of numbers has versions; 16 bytes more per value. One of bytes has them always.
    pub fn versions(self) -> Self {
        self.with(c::LATH_STORE_VERSIONS)
    }

    /// Calls that write fail; a file is not locked, and must exist.
    pub fn read_only(self) -> Self {
        self.with(c::LATH_STORE_READ_ONLY)
    }

    /// The file or the shared object must exist.
    pub fn existing(self) -> Self {
        self.with(c::LATH_STORE_EXISTING)
    }

    /// `shm:` may be an object of another user, who controls this process then:
    /// [`open_shared`](Self::open_shared) says what that user must not do.
    pub fn foreign(self) -> Self {
        self.with(c::LATH_STORE_FOREIGN)
    }

    /// Opens the store that `spec` names: see [`Store`]. One in shared memory is opened by
    /// [`open_shared`](Self::open_shared).
    pub fn open<K: StoreKey>(self, spec: &str) -> Result<Store<K>, StoreError> {
        if spec.starts_with("shm:") {
            let reason = "shared memory, which others can change: call open_shared()";
            return Err(system(sys::EINVAL, reason.to_string()));
        }
        // SAFETY: the memory is this process's own, or the kernel's.
        unsafe { self.open_shared(spec) }
    }

    /// The same, with `shm:NAME` too.
    ///
    /// # Safety
    ///
    /// As long as the store is open only stores of this library change the shared object, in any
    /// process: nobody writes its file (`/dev/shm/...`), or cuts it. With
    /// [`foreign`](Self::foreign) another user is trusted with that.
    pub unsafe fn open_shared<K: StoreKey>(self, spec: &str) -> Result<Store<K>, StoreError> {
        let spec = text(spec.as_bytes())?;
        let numa = self.numa.as_deref().map(|numa| text(numa.as_bytes()));
        let numa = numa.transpose()?;
        let options = c::lath_store_options {
            size: mem::size_of::<c::lath_store_options>(),
            keys: K::KIND,
            pages: self.pages as sys::c_int,
            flags: self.flags,
            limit: self.limit,
            reserve: self.reserve,
            prefault: self.prefault,
            numa: numa.as_ref().map_or(ptr::null(), |numa| numa.as_ptr().cast()),
            rcu: match spec.as_bytes().starts_with(b"shm:") {
                true => ptr::null(), // it has its own
                false => rcu(),
            },
            ..Default::default()
        };
        let init = |open: *mut Open, _: *const sys::lath_allocator| {
            // SAFETY: all pointers are valid.
            unsafe { c::lath_store_open(&mut (*open).0, spec.as_ptr().cast(), &options) }
        };
        let open = Handle::new(Memory::default(), init);
        Ok(Store {
            open: open.map_err(|errno| refused_whole(-i64::from(errno)))?,
            keys: PhantomData,
        })
    }
}

/// A store, which the C library allocates by itself.
struct Open(*mut c::lath_store);

impl Structure for Open {
    const PERIODS: u8 = 2; // as a set of byte keys
    unsafe fn fini(this: *mut Self) {
        c::lath_store_close((*this).0);
    }
}

/// Removes the shared object of `shm:NAME`. Processes that have it open keep it.
pub fn remove_store(spec: &str) -> Result<(), StoreError> {
    let spec = text(spec.as_bytes())?;
    // SAFETY: the pointer is valid, and there may be no buffer.
    let result = unsafe { c::lath_store_remove(spec.as_ptr().cast(), ptr::null_mut(), 0) };
    done_whole(result.into()).map(drop)
}

/// Keys from, to and with what a call looks at. Byte strings have prefixes.
///
/// ```
/// # use lathwork::{Store, StoreRange};
/// let store: Store<Vec<u8>> = Store::open("mem:").unwrap();
/// for name in ["user:1", "user:2", "zone:1"] {
///     store.set(name.as_bytes(), b"").unwrap();
/// }
/// let users = StoreRange::all().prefix(b"user:");
/// assert_eq!(store.count(users).unwrap(), 2);
/// let (last, _) = store.scan(users.backward()).unwrap().next().unwrap().unwrap();
/// assert_eq!(last, b"user:2");
/// ```
pub struct StoreRange<'a, K: StoreKey> {
    from: Option<&'a K::Arg>,
    to: Option<&'a K::Arg>,
    prefix: Option<&'a K::Arg>,
    backward: bool,
}

impl<K: StoreKey> Clone for StoreRange<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: StoreKey> Copy for StoreRange<'_, K> {}

impl<'a, K: StoreKey> StoreRange<'a, K> {
    /// All keys, in ascending order.
    pub fn all() -> Self {
        StoreRange { from: None, to: None, prefix: None, backward: false }
    }

    /// From this key on.
    pub fn from(mut self, key: &'a K::Arg) -> Self {
        self.from = Some(key);
        self
    }

    /// Before this key.
    pub fn to(mut self, key: &'a K::Arg) -> Self {
        self.to = Some(key);
        self
    }

    /// In descending order.
    pub fn backward(mut self) -> Self {
        self.backward = true;
        self
    }

    /// Calls `f` with it as the library has it.
    fn raw<R>(&self, f: impl FnOnce(*const c::lath_store_range) -> R) -> R {
        let keys = [self.from, self.to, self.prefix].map(|key| key.map(K::key));
        let at = |i: usize| keys[i].as_ref().map_or(ptr::null(), |key| key as *const _);
        f(&c::lath_store_range {
            from: at(0),
            to: at(1),
            prefix: at(2),
            backward: self.backward.into(),
        })
    }
}

impl<'a> StoreRange<'a, Vec<u8>> {
    /// Those that begin so.
    pub fn prefix(mut self, prefix: &'a [u8]) -> Self {
        self.prefix = Some(prefix);
        self
    }
}

/// An ordered key-value store in memory that threads share: `lathwork/store.h`. Needs the feature
/// `store`.
///
/// Keys are `u64` or bytes, values are bytes. [`open`](Self::open) says where it lies:
///
/// | `spec` | |
/// |---|---|
/// | `mem:` | in this process, empty |
/// | `file:PATH` | in this process, filled from a file, which [`sync`](Self::sync) and the end write |
/// | `shm:NAME` | in shared memory, for any processes of the machine: [`open_shared`](Self::open_shared) |
/// | `dev:PATH` | in the kernel |
///
/// ```
/// let store: lathwork::Store<Vec<u8>> = lathwork::Store::open("mem:").unwrap();
/// store.set(b"fruit/apple", b"red").unwrap();
/// assert_eq!(store.get(b"fruit/apple").unwrap().unwrap(), b"red");
/// assert_eq!(store.incr(b"visits", 2).unwrap(), 2);
/// assert!(!store.add(b"visits", b"0").unwrap()); // it is there
/// ```
///
/// All calls but those with `&mut self` run concurrently; those on one key are each one step. A
/// call that fails changes nothing.
pub struct Store<K: StoreKey> {
    open: Handle<Open, ()>,
    keys: PhantomData<fn(K)>,
}

/// A read-side critical section of a store.
struct Reading<'a, K: StoreKey> {
    store: &'a Store<K>,
    _thread: InSection,
}

impl<'a, K: StoreKey> Reading<'a, K> {
    fn begin(store: &'a Store<K>) -> Self {
        // SAFETY: the store is open.
        unsafe { c::lath_store_read_begin(store.raw()) };
        Reading { store, _thread: InSection::begun() }
    }
}

impl<K: StoreKey> Drop for Reading<'_, K> {
    fn drop(&mut self) {
        // SAFETY: begin() began it on this thread.
        unsafe { c::lath_store_read_end(self.store.raw()) };
    }
}

impl<K: StoreKey> Store<K> {
    /// Opens a store with the usual options; see [`StoreOptions`].
    pub fn open(spec: &str) -> Result<Self, StoreError> {
        StoreOptions::new().open(spec)
    }

    /// The same, with `shm:NAME` too.
    ///
    /// # Safety
    ///
    /// As of [`StoreOptions::open_shared`].
    pub unsafe fn open_shared(spec: &str) -> Result<Self, StoreError> {
        StoreOptions::new().open_shared(spec)
    }

    fn raw(&self) -> *mut c::lath_store {
        // SAFETY: it lives as long as the store.
        unsafe { (*self.open.get()).0 }
    }

    /// A copy of the value of a key.
    pub fn get(&self, key: &K::Arg) -> Result<Option<Vec<u8>>, StoreError> {
        self.view(key, |value| value.to_vec())
    }

    /// What `f` makes of the value of a key, without a copy. While it runs replaced values keep
    /// their memory; in a store with a limit it should write nothing.
    pub fn view<R>(
        &self, key: &K::Arg, f: impl FnOnce(&StoreValue<'_>) -> R,
    ) -> Result<Option<R>, StoreError> {
        let mut there = MaybeUninit::uninit(); // which does not move
        let _reading = Reading::begin(self);
        // SAFETY: all pointers are valid; the value is within the section.
        unsafe {
            let result = c::lath_store_get_ref(self.raw(), K::key(key), there.as_mut_ptr());
            if !unless(result.into(), &[sys::ENOENT])? {
                return Ok(None);
            }
            let there = &*there.as_ptr();
            Ok(Some(f(&StoreValue { there })))
        }
    }

    /// Copies of the values of many keys; their cache misses overlap.
    pub fn get_many(&self, keys: &[&K::Arg]) -> Vec<Option<Vec<u8>>> {
        let keys: Vec<_> = keys.iter().map(|key| K::key(key)).collect();
        let mut refs = Vec::with_capacity(keys.len());
        let _reading = Reading::begin(self);
        // SAFETY: there is room for as many; each ref is written, and stays where it is.
        unsafe {
            c::lath_store_mget(self.raw(), keys.len(), keys.as_ptr(), refs.as_mut_ptr());
            refs.set_len(keys.len());
        }
        let copy = |found: &c::lath_store_ref| {
            // SAFETY: within the section.
            (!found.data.is_null()).then(|| unsafe { bytes(found.data, found.size) }.to_vec())
        };
        refs.iter().map(copy).collect()
    }

    /// Whether the key is there.
    pub fn contains(&self, key: &K::Arg) -> Result<bool, StoreError> {
        Ok(self.view(key, |_| ())?.is_some())
    }

    /// Gives a key this value, which never expires.
    pub fn set(&self, key: &K::Arg, value: &[u8]) -> Result<(), StoreError> {
        let (data, size) = (value.as_ptr().cast(), value.len());
        // SAFETY: the pointers are valid.
        done(unsafe { c::lath_store_set(self.raw(), K::key(key), data, size) }.into()).map(drop)
    }

    /// The same if the key is not there. Returns whether it was not.
    pub fn add(&self, key: &K::Arg, value: &[u8]) -> Result<bool, StoreError> {
        let (data, size) = (value.as_ptr().cast(), value.len());
        // SAFETY: likewise.
        let result = unsafe { c::lath_store_add(self.raw(), K::key(key), data, size) };
        unless(result.into(), &[sys::EEXIST])
    }

    /// The same if the key is there. Returns whether it was.
    pub fn replace(&self, key: &K::Arg, value: &[u8]) -> Result<bool, StoreError> {
        let (data, size) = (value.as_ptr().cast(), value.len());
        // SAFETY: likewise.
        let result = unsafe { c::lath_store_replace(self.raw(), K::key(key), data, size) };
        unless(result.into(), &[sys::ENOENT])
    }

    /// Removes a key. Returns whether it was there. Needs no memory.
    pub fn remove(&self, key: &K::Arg) -> Result<bool, StoreError> {
        // SAFETY: likewise.
        let result = unsafe { c::lath_store_delete(self.raw(), K::key(key)) };
        unless(result.into(), &[sys::ENOENT])
    }

    /// Sets many values, each in its own step; of equal keys the last one counts. An error is
    /// that of the first that was refused; those before and behind it may be set.
    pub fn set_many(&self, pairs: &[(&K::Arg, &[u8])]) -> Result<(), StoreError> {
        let entry = |&(key, value): &(&K::Arg, &[u8])| c::lath_store_entry {
            key: K::key(key),
            value: value.as_ptr().cast(),
            size: value.len() as u64,
            expires: 0,
        };
        let entries: Vec<_> = pairs.iter().map(entry).collect();
        let mut results = alloc::vec![0; entries.len()];
        let (n, first) = (entries.len(), entries.as_ptr());
        // SAFETY: there are as many entries and results.
        unsafe { c::lath_store_mset(self.raw(), n, first, results.as_mut_ptr()) };
        for result in results {
            done(result.into())?;
        }
        Ok(())
    }

    /// Replaces the value if it is `expected`. Returns whether it was.
    pub fn cas(&self, key: &K::Arg, expected: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        // SAFETY: the pointers are valid.
        let result = unsafe {
            c::lath_store_cas(
                self.raw(),
                K::key(key),
                expected.as_ptr().cast(),
                expected.len(),
                value.as_ptr().cast(),
                value.len(),
            )
        };
        unless(result.into(), &[sys::ENOENT, sys::EAGAIN])
    }

    /// Replaces the value if its version is this one. Returns whether it was.
    pub fn set_if(&self, key: &K::Arg, version: u64, value: &[u8]) -> Result<bool, StoreError> {
        let (data, size) = (value.as_ptr().cast(), value.len());
        // SAFETY: likewise.
        let result = unsafe { c::lath_store_set_if(self.raw(), K::key(key), version, data, size) };
        unless(result.into(), &[sys::ENOENT, sys::EAGAIN])
    }

    /// Adds to the decimal number that is the value; none counts as 0. Returns the sum.
    pub fn incr(&self, key: &K::Arg, by: i64) -> Result<i64, StoreError> {
        let mut now = 0;
        // SAFETY: likewise.
        done(unsafe { c::lath_store_incr(self.raw(), K::key(key), by, &mut now) }.into())?;
        Ok(now)
    }

    /// Appends to the value, or makes it. Returns its length.
    pub fn append(&self, key: &K::Arg, tail: &[u8]) -> Result<u64, StoreError> {
        let (data, size) = (tail.as_ptr().cast(), tail.len());
        // SAFETY: likewise.
        done(unsafe { c::lath_store_append(self.raw(), K::key(key), data, size) })
    }

    /// Says when the entry expires; `None`: never. Returns whether it is there.
    pub fn expire(&self, key: &K::Arg, when: Option<SystemTime>) -> Result<bool, StoreError> {
        let since = |when: SystemTime| when.duration_since(UNIX_EPOCH).unwrap_or_default();
        // a time before all is over, and 0 would be never
        let ms = |when| u64::try_from(since(when).as_millis()).unwrap_or(u64::MAX);
        let ms = when.map_or(0, |when| ms(when).max(1));
        // SAFETY: likewise.
        let result = unsafe { c::lath_store_expire(self.raw(), K::key(key), ms) };
        unless(result.into(), &[sys::ENOENT])
    }

    /// Changes an entry in one step by a function of its value. The function may be called several
    /// times, and must call no store. If it panics, nothing has changed.
    ///
    /// ```
    /// # use lathwork::{Change, Store};
    /// let store: Store<u64> = Store::open("mem:").unwrap();
    /// let double = |old: Option<&lathwork::StoreValue<'_>>| match old {
    ///     Some(value) => Change::Put([&value[..], &value[..]].concat()),
    ///     None => Change::Put(b"ab".to_vec()),
    /// };
    /// store.update(&1, double).unwrap();
    /// store.update(&1, double).unwrap();
    /// assert_eq!(store.get(&1).unwrap().unwrap(), b"abab");
    /// ```
    pub fn update<F>(&self, key: &K::Arg, f: F) -> Result<(), StoreError>
    where
        F: FnMut(Option<&StoreValue<'_>>) -> Change,
    {
        struct Call<F> {
            f: F,
            value: Vec<u8>, // the last one, until update returns
            panic: Option<Box<dyn Any + Send>>,
        }
        unsafe extern "C" fn call<F: FnMut(Option<&StoreValue<'_>>) -> Change>(
            arg: *mut c_void, old: *const c::lath_store_ref, change: *mut c::lath_store_change,
        ) -> sys::c_int {
            let call = &mut *arg.cast::<Call<F>>();
            let value = old.as_ref().map(|there| StoreValue { there });
            match catch_unwind(AssertUnwindSafe(|| (call.f)(value.as_ref()))) {
                Ok(Change::Keep) => (*change).action = c::LATH_STORE_KEEP,
                Ok(Change::Remove) => (*change).action = c::LATH_STORE_REMOVE,
                Ok(Change::Put(value)) => {
                    call.value = value;
                    (*change).action = c::LATH_STORE_PUT;
                    (*change).value = call.value.as_ptr().cast();
                    (*change).size = call.value.len() as u64;
                }
                Err(panic) => {
                    call.panic = Some(panic);
                    return -sys::EINVAL;
                }
            }
            0
        }
        let mut data = Call { f, value: Vec::new(), panic: None };
        let arg = (&mut data as *mut Call<F>).cast();
        // SAFETY: the function gets what it expects, and returns no panic.
        let result = unsafe { c::lath_store_update(self.raw(), K::key(key), Some(call::<F>), arg) };
        if let Some(panic) = data.panic {
            resume_unwind(panic);
        }
        done(result.into()).map(drop)
    }

    /// The entries of a range, in its order. What others change meanwhile is seen or not.
    pub fn scan(&self, range: StoreRange<'_, K>) -> Result<StoreEntries<'_, K>, StoreError> {
        let mut iter = ptr::null_mut();
        // SAFETY: the library copies the range.
        let begin = |range| unsafe { c::lath_store_iter_begin(self.raw(), range, &mut iter) };
        done(range.raw(begin).into())?;
        Ok(StoreEntries { iter, store: PhantomData, _thread: InSection::begun() })
    }

    /// The number of entries in a range. Visits them.
    pub fn count(&self, range: StoreRange<'_, K>) -> Result<u64, StoreError> {
        // SAFETY: the range is valid.
        done(range.raw(|range| unsafe { c::lath_store_count(self.raw(), range) }))
    }

    /// The number of entries, expired ones that have not been removed too. Visits nothing.
    pub fn len(&self) -> Result<u64, StoreError> {
        // SAFETY: the store is open.
        done(unsafe { c::lath_store_items(self.raw()) })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        Ok(self.len()? == 0)
    }

    /// Figures: `items`, `evicted` and `expired` entries; bytes that are `committed`, those of these in
    /// the index, in records, `pending` (replaced or removed, and perhaps still read) and free; those
    /// that are `resident`, and of these on huge pages. Asks the kernel, which takes milliseconds.
    pub fn stats(&self) -> Result<crate::StoreStats, StoreError> {
        let mut stats = c::lath_store_stats::default();
        // SAFETY: the pointer is valid.
        done(unsafe { c::lath_store_get_stats(self.raw(), &mut stats) }.into())?;
        // SAFETY: as above.
        done(unsafe { c::lath_store_get_pages(self.raw(), &mut stats) }.into())?;
        Ok(stats)
    }

    /// Removes what has expired. Returns how many. Visits all entries.
    pub fn sweep(&self) -> Result<u64, StoreError> {
        // SAFETY: the store is open.
        done_whole(unsafe { c::lath_store_sweep(self.raw()) })
    }

    /// Gives free memory back to the machine. Returns how many bytes.
    ///
    /// # Panics
    ///
    /// If the thread has a [`Ref`](crate::Ref) or an iterator: it waits for these.
    pub fn compact(&self) -> Result<u64, StoreError> {
        assert!(
            this_thread().sections.get() == 0,
            "lathwork: compact() waits for a Ref or an iterator of this thread"
        );
        // SAFETY: the store is open, and the thread in no section.
        done_whole(unsafe { c::lath_store_compact(self.raw()) })
    }

    /// Writes a snapshot, which replaces the file as a whole.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), StoreError> {
        let path = text(path.as_ref().as_os_str().as_bytes())?;
        let (name, none) = (path.as_ptr().cast(), ptr::null_mut());
        // SAFETY: the pointers are valid.
        done_whole(unsafe { c::lath_store_save(self.raw(), name, None, none) }.into()).map(drop)
    }

    /// Fills the store, which is empty, from a snapshot.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<(), StoreError> {
        let path = text(path.as_ref().as_os_str().as_bytes())?;
        let (name, none) = (path.as_ptr().cast(), ptr::null_mut());
        // SAFETY: likewise; no other call runs.
        done_whole(unsafe { c::lath_store_load(self.raw(), name, None, none) }.into()).map(drop)
    }

    /// `file:` is written if it has changed.
    pub fn sync(&self) -> Result<(), StoreError> {
        // SAFETY: the store is open.
        done_whole(unsafe { c::lath_store_sync(self.raw()) }.into()).map(drop)
    }

    /// [`sync`](Self::sync), then the end. The drop of a store saves it too, but has nobody to tell
    /// of an error.
    pub fn close(self) -> Result<(), StoreError> {
        self.sync()
    }
}

impl<K: StoreKey> Drop for Store<K> {
    /// Saves it now; its memory may have to wait.
    fn drop(&mut self) {
        // SAFETY: nobody else has the store.
        unsafe { c::lath_store_leave(self.raw()) }; // Store::close() has the errors
    }
}

impl<K: StoreKey> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("len", &self.len()).finish()
    }
}

/// The entries of a [`Store`] in order: copies of keys and values. After an error there is none.
pub struct StoreEntries<'a, K: StoreKey> {
    iter: *mut c::lath_store_iter,
    store: PhantomData<&'a Store<K>>,
    _thread: InSection,
}

impl<K: StoreKey> StoreEntries<'_, K> {
    fn end(&mut self) {
        // SAFETY: NULL is not an iterator.
        unsafe { c::lath_store_iter_end(mem::replace(&mut self.iter, ptr::null_mut())) };
    }
}

impl<K: StoreKey> Iterator for StoreEntries<'_, K> {
    type Item = Result<(K, Vec<u8>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.iter.is_null() {
            return None;
        }
        let mut key = MaybeUninit::uninit();
        let mut value = MaybeUninit::uninit();
        // SAFETY: the iterator is of this thread; what it returns is valid until its next step.
        unsafe {
            match c::lath_store_iter_next(self.iter, key.as_mut_ptr(), value.as_mut_ptr()) {
                1 => {
                    let there: &c::lath_store_ref = &*value.as_ptr();
                    let value = bytes(there.data, there.size).to_vec();
                    Some(Ok((K::owned(&*key.as_ptr()), value)))
                }
                result => {
                    self.end();
                    (result < 0).then(|| Err(refused(result.into())))
                }
            }
        }
    }
}

impl<K: StoreKey> core::iter::FusedIterator for StoreEntries<'_, K> {}

impl<K: StoreKey> Drop for StoreEntries<'_, K> {
    fn drop(&mut self) {
        self.end();
    }
}
