// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! An index of the C library whose words are values: what the maps share. Keys are numbers here.
use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr;

use lathwork_sys as sys;
use sys::lath_item;

use crate::ahead::{Ahead, AHEAD};
use crate::code;
use crate::error::{InsertError, Reason};
use crate::handle::{config, made, no_memory, Handle};
use crate::key::last_of;
use crate::memory::{Memory, NoMemory, Options};
use crate::retired::drop_each;
use crate::section::{may_wait, synchronize, Section};
use crate::value::{self, header_of, number, Header, Owned, Stored};
use crate::Ref;

/// A call of the library that fills in the item which it finds, or erases, by a key or a rank.
pub(crate) type Call =
    unsafe extern "C" fn(*mut sys::lath_index, u64, *mut lath_item) -> sys::c_int;

/// First and last key, and value.
pub(crate) type Entry<'a, V> = (u64, u64, Ref<'a, V>);

pub(crate) struct Index<V> {
    index: Handle<sys::lath_index, V>,
    /// `copied`: values are in the index, in words: they are numbers, or `Copy` and fit.
    pub(crate) options: Options,
}

fn item_of(first: u64, last: u64, value: u64) -> lath_item {
    lath_item { key: first, size: (last - first).wrapping_add(1), value }
}

/// Nodes that a call has taken out of an index, linked from the newest one.
struct Gone<V> {
    newest: *mut Header,
    /// There are none.
    inline: bool,
    of: PhantomData<V>,
}

impl<V> Gone<V> {
    fn new(inline: bool) -> Self {
        Gone { newest: ptr::null_mut(), inline, of: PhantomData }
    }

    /// For the C library: an item has left.
    unsafe extern "C" fn add(gone: *mut c_void, item: *const lath_item) {
        let gone = &mut *gone.cast::<Gone<V>>();
        let word = (*item).value;
        if !gone.inline && value::leave(word) {
            value::set_next(header_of(word), gone.newest);
            gone.newest = header_of(word);
        }
    }

    /// Takes them, the oldest first.
    fn for_each(self, mut call: impl FnMut(*mut Header)) {
        // SAFETY: add() linked them, and nothing else uses the links.
        let mut first = unsafe { value::reversed(self.newest) };
        while !first.is_null() {
            // SAFETY: likewise; the call may set another link.
            let next = unsafe { value::next_of(first) };
            call(first);
            first = next;
        }
    }
}

impl<V> Index<V> {
    pub(crate) fn new(layout: sys::c_int, options: Options) -> Result<Self, NoMemory> {
        // SAFETY: both pointers are valid.
        Self::by(layout, options, |index, config| unsafe { sys::lath_index_init(index, config) })
    }

    /// One of the same items, if their values are in words: leaf by leaf.
    pub(crate) fn copy(&self, layout: sys::c_int) -> Option<Self> {
        // SAFETY: likewise, and this index is initialised.
        let clone = |index, config: &_| unsafe { sys::lath_index_clone(index, self.raw(), config) };
        self.inline().then(|| made(Self::by(layout, self.options, clone)))
    }

    fn by(
        layout: sys::c_int, options: Options,
        init: impl FnOnce(*mut sys::lath_index, &sys::lath_config) -> sys::c_int,
    ) -> Result<Self, NoMemory> {
        let copied = number::<V>() || options.copied && value::fits::<V>();
        let init = |index, nodes| {
            let mut config = config(layout, options.flags | sys::LATH_RANKS, nodes);
            if copied {
                config.value_size = value::value_size::<V>();
            }
            init(index, &config)
        };
        let index = Handle::new(options.memory, init).map_err(no_memory)?;
        Ok(Index { index, options: Options { copied, ..options } })
    }

    /// Whether values are in words, and not in nodes.
    pub(crate) fn inline(&self) -> bool {
        number::<V>() || self.options.copied
    }

    /// A section, if values need one while they are looked at.
    pub(crate) fn section(&self) -> Option<Section> {
        (!self.inline()).then(Section::enter)
    }

    pub(crate) fn raw(&self) -> *mut sys::lath_index {
        self.index.get()
    }

    pub(crate) fn memory(&self) -> Memory {
        self.options.memory
    }

    /// A value as the index has it, for a call that may refuse it.
    pub(crate) fn stored(&self, value: V) -> Result<Stored, InsertError<V>> {
        Stored::new(value, self.options.copied, &self.memory())
            .map_err(|value| InsertError { reason: Reason::NoMemory, value })
    }

    /// The error of a call that has refused a value, with it.
    ///
    /// # Safety
    ///
    /// It comes from `stored()` and is in no index.
    pub(crate) unsafe fn refused(&self, reason: Reason, stored: Stored) -> InsertError<V> {
        let value = stored.take(self.options.copied, &self.memory());
        InsertError { reason, value }
    }

    /// Inserts a range that overlaps no other one, by a call of `insert_stored()`.
    pub(crate) fn insert(
        &self, value: V, insert: impl FnOnce(&Stored) -> Result<(), Reason>,
    ) -> Result<Ref<'_, V>, InsertError<V>> {
        let section = self.section();
        let stored = self.stored(value)?;
        match insert(&stored) {
            Ok(()) => Ok(Ref::new(stored, section)),
            // SAFETY: the value is not in the index.
            Err(reason) => Err(unsafe { self.refused(reason, stored) }),
        }
    }

    pub(crate) fn insert_stored(
        &self, first: u64, last: u64, stored: &Stored,
    ) -> Result<(), Reason> {
        let (item, mut there) =
            (item_of(first, last, stored.given::<V>(self.options.copied)), lath_item::default());
        if item.size == 0 {
            return Err(Reason::TooLong);
        }
        // SAFETY: the index is initialised; all pointers are valid.
        let result = unsafe { sys::lath_index_insert_item(self.raw(), &item, &mut there) };
        code::refusal(result, || Reason::Overlaps(there.key..=last_of(&there)))
    }

    /// Gives a point a value; returns the one that it had.
    pub(crate) fn put(&self, key: u64, value: V) -> Result<Option<Ref<'_, V>>, InsertError<V>> {
        let section = self.section();
        let stored = self.stored(value)?;
        let (item, mut there) =
            (item_of(key, key, stored.given::<V>(self.options.copied)), lath_item::default());
        // a thread may remove the key, or insert it, between the two calls
        loop {
            // SAFETY: the index is initialised; all pointers are valid.
            let result = unsafe { sys::lath_index_insert_item(self.raw(), &item, &mut there) };
            match code::refusal(result, || Reason::Overlaps(key..=key)) {
                Ok(()) => return Ok(None),
                Err(Reason::Overlaps(_)) => {}
                // SAFETY: the value is not in the index.
                Err(reason) => return Err(unsafe { self.refused(reason, stored) }),
            }
            // SAFETY: as above.
            let (result, _, old) = Stored::filled::<V>(self.options.copied, |there| unsafe {
                sys::lath_index_replace_item(self.raw(), key, item.value, there)
            });
            if code::found(result) {
                self.left(&old);
                return Ok(Some(Ref::new(old, section)));
            }
        }
    }

    /// The item that a call fills in, and its value.
    pub(crate) fn item(&self, call: Call, key: u64) -> Option<(lath_item, Stored)> {
        // SAFETY: the index is initialised; the pointer is valid.
        let call = |item: &mut _| unsafe { call(self.raw(), key, item) };
        let (result, item, stored) = Stored::filled::<V>(self.options.copied, call);
        code::found(result).then_some((item, stored))
    }

    pub(crate) fn find(&self, call: Call, key: u64) -> Option<Entry<'_, V>> {
        let section = self.section();
        let (item, stored) = self.item(call, key)?;
        Some((item.key, last_of(&item), Ref::new(stored, section)))
    }

    /// The entry that covers a key.
    pub(crate) fn at(&self, key: u64) -> Option<Entry<'_, V>> {
        self.find(sys::lath_index_lookup_item, key)
    }

    pub(crate) fn get(&self, point: u64) -> Option<Ref<'_, V>> {
        let section = self.section();
        // SAFETY: the index is initialised; there is room for a value.
        let get = |words| unsafe { sys::lath_index_get(self.raw(), point, words) == 1 };
        Some(Ref::new(Stored::got(get)?, section))
    }

    pub(crate) fn contains(&self, point: u64) -> bool {
        // SAFETY: as in get().
        Stored::got(|words| unsafe { sys::lath_index_get(self.raw(), point, words) == 1 }).is_some()
    }

    /// Removes the entry that a call erases.
    pub(crate) fn remove(&self, erase: Call, key: u64) -> Option<Entry<'_, V>> {
        let found = self.find(erase, key)?;
        self.left(found.2.stored());
        Some(found)
    }

    /// Removes the entry that begins at `key`, which shares its value with none, and waits for all
    /// sections.
    pub(crate) fn remove_and_wait(&self, key: u64) -> Option<V> {
        if !self.inline() {
            may_wait();
        }
        let (_, stored) = self.item(sys::lath_index_erase_item, key)?;
        if !self.inline() {
            synchronize();
        }
        // SAFETY: it has left the index, and nobody looks at it any more.
        Some(unsafe { stored.take(self.options.copied, &self.memory()) })
    }

    /// Removes the entry at `key` if its words are those of `value`.
    pub(crate) fn remove_if(&self, key: u64, value: &Ref<'_, V>) -> bool {
        let old = value.stored();
        // SAFETY: the index is initialised.
        let gone = code::unchanged(unsafe {
            sys::lath_index_erase_if(
                self.raw(),
                key,
                old.given::<V>(self.options.copied),
                ptr::null_mut(),
            )
        });
        if gone {
            self.left(old);
        }
        gone
    }

    /// Replaces the value at `key` if its words are those of `old`: or the value back.
    pub(crate) fn replace_if(
        &self, key: u64, old: &Ref<'_, V>, value: V,
    ) -> Result<Ref<'_, V>, InsertError<V>> {
        let section = self.section();
        let (stored, old, index) = (self.stored(value)?, old.stored(), self.raw());
        let (from, to) =
            (old.given::<V>(self.options.copied), stored.given::<V>(self.options.copied));
        // SAFETY: the index is initialised; a refused value is not in it.
        unsafe {
            let result = sys::lath_index_replace_if(index, key, from, to, ptr::null_mut());
            if !code::unchanged(result) {
                return Err(self.refused(Reason::Absent, stored));
            }
        }
        self.left(old);
        Ok(Ref::new(stored, section))
    }

    /// Removes the first or the last entry that `find` finds.
    pub(crate) fn pop(&self, first: bool) -> Option<Entry<'_, V>> {
        loop {
            let found = self.end(first)?;
            // the section of `found` keeps a node's address from being used again in the meantime
            if self.remove_if(found.0, &found.2) {
                return Some(found);
            }
        }
    }

    /// The first or the last entry.
    pub(crate) fn end(&self, first: bool) -> Option<Entry<'_, V>> {
        if first {
            self.find(sys::lath_index_ceiling_item, 0)
        } else {
            self.find(sys::lath_index_floor_item, u64::MAX)
        }
    }

    /// Removes the entry that begins at `key`, for a caller that alone has the index: then no one
    /// has a `Ref`. Returns its range and its value, which is the caller's.
    pub(crate) fn take(&mut self, key: u64) -> Option<(u64, u64, Stored)> {
        let (item, stored) = self.item(sys::lath_index_erase_item, key)?;
        Some((item.key, last_of(&item), stored))
    }

    /// Gives the entry that begins at `key` another value, while `lock()` is held. Returns the old
    /// one.
    pub(crate) fn replace<L>(
        &self, key: u64, value: V, lock: impl FnOnce() -> L,
    ) -> Result<Ref<'_, V>, InsertError<V>> {
        let section = self.section();
        let stored = self.stored(value)?;
        let locked = lock();
        // SAFETY: the index is initialised; the pointers are valid.
        let (result, _, old) = Stored::filled::<V>(self.options.copied, |old| unsafe {
            sys::lath_index_replace_item(
                self.raw(),
                key,
                stored.given::<V>(self.options.copied),
                old,
            )
        });
        drop(locked);
        if !code::found(result) {
            // SAFETY: a refused value is not in the index.
            return Err(unsafe { self.refused(Reason::Absent, stored) });
        }
        self.left(&old);
        Ok(Ref::new(old, section))
    }

    /// Puts a range over what is there. The caller excludes other changes if values are in nodes.
    pub(crate) fn store(&self, first: u64, last: u64, stored: &Stored) -> Result<(), Reason> {
        let item = item_of(first, last, stored.given::<V>(self.options.copied));
        if item.size == 0 {
            return Err(Reason::TooLong);
        }
        let mut gone = Gone::<V>::new(self.inline());
        // A range that goes beyond at both ends becomes two, of one node.
        let twice =
            if self.inline() { None } else { self.reaching(last).filter(|there| there.0 < first) };
        // SAFETY: the node is in the index, as nothing else is changed now; all pointers are valid.
        let result = unsafe {
            if let Some((_, there)) = &twice {
                value::share(there.first());
            }
            let arg = (&mut gone as *mut Gone<V>).cast();
            sys::lath_index_store_range(self.raw(), &item, Some(Gone::<V>::add), arg)
        };
        self.retire(gone);
        let done = code::refusal(result, || unreachable!("store_range never returns EEXIST"));
        if let (Err(_), Some((_, there))) = (&done, &twice) {
            // SAFETY: shared above.
            unsafe { value::leave(there.first()) };
        }
        done
    }

    /// The first key and the value of the item with the key `last` that has keys behind it too.
    fn reaching(&self, last: u64) -> Option<(u64, Stored)> {
        let (item, stored) = self.item(sys::lath_index_lookup_item, last)?;
        (last_of(&item) > last).then_some((item.key, stored))
    }

    /// Removes these keys from what is there. The caller excludes other changes. If there is no
    /// memory no key has been removed.
    pub(crate) fn cut(&self, first: u64, last: u64) -> Result<(), NoMemory> {
        let (index, size) = (self.raw(), (last - first).wrapping_add(1));
        if let Some((_, there)) = self.reaching(last) {
            // SAFETY: the value is in the index, as nothing else is changed now.
            unsafe {
                if !self.inline() {
                    value::share(there.first());
                }
                let result =
                    sys::lath_index_split(index, last + 1, there.given::<V>(self.options.copied));
                shrunk(result).map_err(|none| {
                    if !self.inline() {
                        value::leave(there.first());
                    }
                    none
                })?;
            }
        }
        let mut item = lath_item::default();
        // SAFETY: the index is initialised; all pointers are valid.
        unsafe {
            if code::found(sys::lath_index_lookup_item(index, first, &mut item)) && item.key < first
            {
                shrunk(sys::lath_index_resize(index, item.key, first - item.key))?;
            }
            let mut gone = Gone::<V>::new(self.inline());
            let arg = (&mut gone as *mut Gone<V>).cast();
            if size == 0 {
                sys::lath_index_clear(index, Some(Gone::<V>::add), arg);
            } else {
                sys::lath_index_erase_range(index, first, size, Some(Gone::<V>::add), arg);
            }
            self.retire(gone);
        }
        Ok(())
    }

    /// For a call that is about to remove a value: drops earlier ones now and then.
    pub(crate) fn drop_some(&self) {
        if !self.inline() {
            self.index.drop_some();
        }
    }

    /// An entry with this value has left.
    pub(crate) fn left(&self, stored: &Stored) {
        if !self.inline() {
            // SAFETY: the value was in the index, and has left it once.
            unsafe { self.index.left(stored.first()) };
        }
    }

    fn retire(&self, gone: Gone<V>) {
        // SAFETY: they have left the index.
        gone.for_each(|node| unsafe { self.index.retire(node) });
    }

    /// Drops the values that were removed and that no reader can look at any more.
    pub(crate) fn reclaim(&self) {
        self.index.reclaim();
    }

    pub(crate) fn len(&self) -> usize {
        // SAFETY: the index is initialised.
        unsafe { sys::lath_index_count(self.raw()) as usize }
    }

    pub(crate) fn is_empty(&self) -> bool {
        let mut item = lath_item::default();
        // SAFETY: the index is initialised; the pointer is valid.
        !code::found(unsafe { sys::lath_index_ceiling_item(self.raw(), 0, &mut item) })
    }

    /// Removes and drops all values. If the drop of one panics, the others are dropped all the
    /// same.
    pub(crate) fn clear(&mut self) {
        if self.inline() {
            // SAFETY: the index is initialised.
            unsafe { sys::lath_index_clear(self.raw(), None, ptr::null_mut()) };
        } else {
            drop_each(Taken { index: self, ahead: Ahead::new(), from: Some(0) });
        }
    }
}

/// The result of a split or a resize. Errors but for memory are defects of this crate.
fn shrunk(result: sys::c_int) -> Result<(), NoMemory> {
    match result.wrapping_neg() {
        0 => Ok(()),
        sys::ENOMEM => Err(NoMemory),
        errno => unreachable!("lathwork: split or resize returned errno {errno}"),
    }
}

/// Takes the values of an index whose values are in nodes, in order. The entries stay until its end.
struct Taken<'a, V> {
    index: &'a mut Index<V>,
    ahead: Ahead<lath_item>,
    /// The key to go on from; None: there are no other entries.
    from: Option<u64>,
}

impl<V> Iterator for Taken<'_, V> {
    type Item = Option<Owned<V>>;

    /// None in it: another entry has the value.
    fn next(&mut self) -> Option<Self::Item> {
        let (from, index) = (self.from?, self.index.raw());
        // SAFETY: the index is initialised; the pointers are valid; values of entries behind `from`
        // have not been taken.
        let item = self.ahead.next(|items| unsafe {
            let copied = sys::lath_index_scan(index, from, u64::MAX, items, AHEAD, &mut 0);
            value::warm((0..copied).map(|i| (*items.add(i)).value));
            copied
        })?;
        self.from = last_of(&item).checked_add(1);
        // SAFETY: the word is in the index, and is looked at once. No one has a Ref.
        unsafe {
            let memory = Some(self.index.memory());
            Some(value::leave(item.value).then(|| Owned::new(header_of(item.value), memory)))
        }
    }
}

impl<V> Drop for Taken<'_, V> {
    fn drop(&mut self) {
        // SAFETY: the index is initialised, and all values have been taken.
        unsafe { sys::lath_index_clear(self.index.raw(), None, ptr::null_mut()) };
    }
}

impl<V> Drop for Index<V> {
    fn drop(&mut self) {
        if self.inline() {
            return;
        }
        let values = self.index.end();
        drop_each(values.map(Some).chain(Taken {
            index: self,
            ahead: Ahead::new(),
            from: Some(0),
        }));
    }
}
