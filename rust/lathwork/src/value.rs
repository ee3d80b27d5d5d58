// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Values as words. An entry of the C library has 64 bits for its value, or as many as an index is
//! made with, 512 at most: a `Copy` value or one without bytes is in them, and any other value is in a
//! node, separate memory that the word is the address of.
use core::alloc::Layout;
use core::any::TypeId;
use core::marker::PhantomData;
use core::mem::{self, align_of, needs_drop, size_of, MaybeUninit};
use core::ptr::{self, addr_of, addr_of_mut, NonNull};
use core::sync::atomic::{AtomicUsize, Ordering};

use lathwork_sys as sys;

use crate::memory::{Memory, NoMemory};
use crate::section::when_over;

/// What is before a value in a node.
#[repr(C)]
pub(crate) struct Header {
    head: sys::lath_rcu_head,
    next: *mut Header,
    /// Entries that have the node. When the last one has left, 0, and 1 again as soon as no reader
    /// can look at the value any more.
    uses: AtomicUsize,
}

#[repr(C)]
struct Node<V> {
    header: Header,
    value: V,
}

/// A number that is the same for the same type: that of `'static` types is right, and those with
/// lifetimes have that of the type with these replaced.
fn id_of<V>() -> TypeId {
    trait Named {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<V> Named for PhantomData<V> {
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<V>()
        }
    }
    let name = PhantomData::<V>;
    let name: &dyn Named = &name;
    // SAFETY: it is not kept, and id() does not look at what has a lifetime.
    unsafe { mem::transmute::<&dyn Named, &(dyn Named + 'static)>(name) }.id()
}

/// Whether values of this type are in words everywhere. They are plain bits: they have no drop, no
/// padding and nothing that changes through a shared reference, so a copy does as well as the
/// original.
pub(crate) fn number<V>() -> bool {
    let id = id_of::<V>();
    if size_of::<V>() == 0 {
        return !needs_drop::<V>();
    }
    macro_rules! any_of {
        ($($name:ty)*) => { $(id == TypeId::of::<$name>())||* };
    }
    any_of!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool char)
}

/// Whether values of this type, if they are `Copy`, fit an index.
pub(crate) fn fits<V>() -> bool {
    size_of::<V>() <= size_of::<Stored>() && align_of::<V>() <= 8
}

/// lath_config.value_size of an index of values that fit.
pub(crate) fn value_size<V>() -> usize {
    match size_of::<V>() {
        0..=8 => 0,
        size => (size + 7) / 8 * 8,
    }
}

/// What an index has for a value: its words, or the address of its node, in the first word. Bytes
/// behind these are nothing. `copied`: the index has values of V in words, as
/// they are numbers, or `Copy` and fit.
#[derive(Clone, Copy)]
pub(crate) struct Stored(MaybeUninit<[u64; 8]>);

/// Whether a value has several words.
fn long<V>(copied: bool) -> bool {
    copied && size_of::<V>() > size_of::<u64>() && fits::<V>()
}

impl Stored {
    pub(crate) fn word(word: u64) -> Self {
        let mut stored = Stored(MaybeUninit::uninit());
        // SAFETY: it is there.
        unsafe { stored.place().write(word) };
        stored
    }

    /// The value as an index has it, or back if there is no memory for a node.
    pub(crate) fn new<V>(value: V, copied: bool, memory: &Memory) -> Result<Self, V> {
        if !copied {
            return into_node(value, memory).map(Stored::word);
        }
        let mut stored = Stored(MaybeUninit::zeroed());
        let at = low_bytes(stored.place(), size_of::<V>()) as *mut u8;
        // SAFETY: it has room. C reads the word, as some bytes may be between parts of the value, of
        // which Rust must not make numbers.
        unsafe {
            ptr::copy_nonoverlapping((&value as *const V).cast(), at, size_of::<V>());
            mem::forget(value);
            if !long::<V>(copied) && !number::<V>() {
                stored = Stored::word(sys::lathwork_sys_word(stored.place()));
            }
        }
        Ok(stored)
    }

    /// What a call of the library fills in: an item, and the value of it.
    pub(crate) fn filled<V>(
        copied: bool, call: impl FnOnce(&mut sys::lath_item) -> sys::c_int,
    ) -> (sys::c_int, sys::lath_item, Self) {
        let mut stored = Stored(MaybeUninit::uninit());
        let mut item = sys::lath_item::default();
        if long::<V>(copied) {
            item.value = stored.place() as usize as u64;
        }
        let code = call(&mut item);
        if !long::<V>(copied) {
            stored = Stored::word(item.value);
        }
        (code, item, stored)
    }

    /// What the call `lath_index_get` fills in.
    pub(crate) fn got(call: impl FnOnce(*mut u64) -> bool) -> Option<Self> {
        let mut stored = Stored(MaybeUninit::uninit());
        call(stored.place()).then_some(stored)
    }

    /// The value of an item that a call has filled in.
    ///
    /// # Safety
    ///
    /// The item is of such an index, and its value is where the call has put it.
    pub(crate) unsafe fn of<V>(item: &sys::lath_item, copied: bool) -> Self {
        if !long::<V>(copied) {
            return Stored::word(item.value);
        }
        let (from, mut stored) = (item.value as usize as *const u64, Stored(MaybeUninit::uninit()));
        ptr::copy_nonoverlapping(from, stored.place(), value_size::<V>() / 8);
        stored
    }

    fn place(&mut self) -> *mut u64 {
        self.0.as_mut_ptr().cast()
    }

    /// As the `value` that a call of the library reads, while this stays where it is.
    pub(crate) fn given<V>(&self, copied: bool) -> u64 {
        if long::<V>(copied) {
            self.0.as_ptr() as usize as u64
        } else {
            self.first()
        }
    }

    /// The word, or the address of the node.
    pub(crate) fn first(&self) -> u64 {
        // SAFETY: the first word is always there.
        unsafe { self.0.as_ptr().cast::<u64>().read() }
    }

    /// The value.
    ///
    /// # Safety
    ///
    /// It comes from `new`; `in_node` says whether it is in a node, where it is neither taken nor
    /// dropped while the result is used.
    pub(crate) unsafe fn target<V>(&self, in_node: bool) -> &V {
        if in_node {
            &*node_value(self.first())
        } else if size_of::<V>() == 0 {
            &*NonNull::<V>::dangling().as_ptr()
        } else {
            &*low_bytes(self.0.as_ptr().cast(), size_of::<V>()).cast()
        }
    }

    /// Takes the value, and frees its node.
    ///
    /// # Safety
    ///
    /// It comes from `new` with these, it has one use, and nothing uses it any more.
    pub(crate) unsafe fn take<V>(&self, copied: bool, memory: &Memory) -> V {
        if copied {
            return ptr::read(self.target(false));
        }
        from_node(self.first(), memory)
    }
}

/// The bytes of a word that hold its lowest bits; those of more than a word begin there.
fn low_bytes(word: *const u64, size: usize) -> *const u8 {
    let first = if cfg!(target_endian = "big") && size < 8 { 8 - size } else { 0 };
    word.cast::<u8>().wrapping_add(first)
}

/// The value in a node, or back if there is no memory for that.
pub(crate) fn into_node<V>(value: V, memory: &Memory) -> Result<u64, V> {
    let node = match memory.alloc(Layout::new::<Node<V>>()) {
        Ok(block) => block.cast::<Node<V>>().as_ptr(),
        Err(NoMemory) => return Err(value),
    };
    let header = Header {
        head: sys::lath_rcu_head { next: ptr::null_mut(), func: None },
        next: ptr::null_mut(),
        uses: AtomicUsize::new(1),
    };
    // SAFETY: the block has the layout of a node.
    unsafe { node.write(Node { header, value }) };
    Ok(node as usize as u64)
}

fn node_of<V>(word: u64) -> *mut Node<V> {
    word as usize as *mut Node<V>
}

/// The header of the node that a word is the address of.
pub(crate) fn header_of(word: u64) -> *mut Header {
    word as usize as *mut Header
}

/// Reads the nodes of words that are dropped next: their cache misses overlap.
///
/// # Safety
///
/// Each word is of a node that lives.
pub(crate) unsafe fn warm(words: impl Iterator<Item = u64>) {
    for word in words {
        addr_of!((*header_of(word)).next).read_volatile();
    }
}

/// Takes the value of a node, and frees that.
///
/// # Safety
///
/// The word comes from `into_node` with this memory, it has one use, and nothing uses it any more.
pub(crate) unsafe fn from_node<V>(word: u64, memory: &Memory) -> V {
    let value = ptr::read(node_value::<V>(word));
    free::<V>(header_of(word), memory);
    value
}

/// Where the value of a node is.
///
/// # Safety
///
/// The word comes from `into_node`, and the node lives.
pub(crate) unsafe fn node_value<V>(word: u64) -> *mut V {
    addr_of_mut!((*node_of::<V>(word)).value)
}

/// A value to be changed where it is: in a node, or in the word at an address.
///
/// # Safety
///
/// There is such a value as long as the result is used, and nothing else looks at it then.
pub(crate) unsafe fn value_mut<'a, V>(word: u64, in_node: bool) -> &'a mut V {
    if in_node {
        &mut *node_value(word)
    } else if size_of::<V>() == 0 {
        &mut *NonNull::dangling().as_ptr()
    } else {
        &mut *(low_bytes(word as usize as *const u64, size_of::<V>()) as *mut V)
    }
}

/// Frees a node without its value.
///
/// # Safety
///
/// The node is of this memory and of a V, and nothing uses it any more.
pub(crate) unsafe fn free<V>(node: *mut Header, memory: &Memory) {
    memory.free(node.cast(), Layout::new::<Node<V>>());
}

/// One more entry has the word of a node.
///
/// # Safety
///
/// The word is in an index and does not leave it in the meantime.
pub(crate) unsafe fn share(word: u64) {
    (*header_of(word)).uses.fetch_add(1, Ordering::Relaxed);
}

/// An entry with this word of a node has left its index. Returns whether it was the last one; then
/// the value is the caller's.
///
/// # Safety
///
/// The word was in the index.
pub(crate) unsafe fn leave(word: u64) -> bool {
    (*header_of(word)).uses.fetch_sub(1, Ordering::AcqRel) == 1
}

/// Hands a node that has left to the RCU flavour.
///
/// # Safety
///
/// `leave()` has returned true, and this is called once.
pub(crate) unsafe fn retire(node: *mut Header) {
    unsafe extern "C" fn unseen(head: *mut sys::lath_rcu_head) {
        // the head is the first field
        (*head.cast::<Header>()).uses.store(1, Ordering::Release);
    }
    when_over(addr_of_mut!((*node).head), unseen);
}

/// Whether no reader looks at a retired node any more.
pub(crate) unsafe fn is_unseen(node: *mut Header) -> bool {
    (*node).uses.load(Ordering::Acquire) == 1
}

pub(crate) unsafe fn next_of(node: *mut Header) -> *mut Header {
    (*node).next
}

/// Links nodes the other way round; returns what was the last one.
///
/// # Safety
///
/// Nothing else uses the links.
pub(crate) unsafe fn reversed(mut at: *mut Header) -> *mut Header {
    let mut first = ptr::null_mut();
    while !at.is_null() {
        let next = next_of(at);
        set_next(at, first);
        first = at;
        at = next;
    }
    first
}

pub(crate) unsafe fn set_next(node: *mut Header, next: *mut Header) {
    (*node).next = next;
}

/// A value that is dropped in its place, so that a large one needs no stack. With a memory its node
/// is freed then, even if the drop panics.
pub(crate) struct Owned<V> {
    node: *mut Header,
    memory: Option<Memory>,
    of: PhantomData<V>,
}

impl<V> Owned<V> {
    /// # Safety
    ///
    /// The value of the node is the caller's, and with a memory the node too.
    pub(crate) unsafe fn new(node: *mut Header, memory: Option<Memory>) -> Self {
        Owned { node, memory, of: PhantomData }
    }
}

impl<V> Drop for Owned<V> {
    fn drop(&mut self) {
        struct Free<V>(*mut Header, Option<Memory>, PhantomData<V>);
        impl<V> Drop for Free<V> {
            fn drop(&mut self) {
                if let Some(memory) = &self.1 {
                    // SAFETY: as new() was promised.
                    unsafe { free::<V>(self.0, memory) };
                }
            }
        }
        let _free = Free::<V>(self.node, self.memory, PhantomData);
        // SAFETY: likewise.
        unsafe { ptr::drop_in_place(addr_of_mut!((*self.node.cast::<Node<V>>()).value)) };
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;
    use std::cell::Cell;
    use std::string::String;
    use std::sync::Arc;

    fn same<V: PartialEq + core::fmt::Debug + Clone>(values: &[V], copied: bool) {
        let memory = Memory::default();
        for v in values {
            let stored = Stored::new(v.clone(), copied, &memory).ok().unwrap();
            assert_eq!(unsafe { stored.target::<V>(!copied) }, v);
            assert_eq!(&unsafe { stored.take::<V>(copied, &memory) }, v);
        }
    }

    fn copied<V: PartialEq + core::fmt::Debug + Copy>(values: &[V], size: usize) {
        assert!(fits::<V>() && value_size::<V>() == size);
        same(values, true);
    }

    fn numbers<V: PartialEq + core::fmt::Debug + Copy>(values: &[V]) {
        assert!(number::<V>());
        same(values, true);
    }

    fn in_nodes<V: PartialEq + core::fmt::Debug + Clone>(values: &[V]) {
        assert!(!number::<V>());
        same(values, false);
    }

    #[test]
    #[cfg(not(miri))]
    fn copies_are_in_words() {
        copied(&[(7u8, 1u32)], 0); // some bytes are of no part
        copied(&[Some(5u32), None], 0);
        copied(&[&5, &6], 0);
        copied(&["text", ""], 16);
        copied(&[(7u8, 1u64 << 40)], 16);
        copied(&[[7u8; 17]], 24);
        copied(&[[1u64, 2, 3, 4, 5, 6, 7, 8]], 64);
        assert!(!fits::<[u8; 65]>());
    }

    #[test]
    fn numbers_are_in_words() {
        macro_rules! ends {
            ($($name:ty)*) => { $(numbers(&[<$name>::MIN, 0 as $name, <$name>::MAX]);)* };
        }
        ends!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64);
        numbers(&[false, true]);
        numbers(&['a', '\u{10ffff}']);
        numbers(&[()]);
    }

    #[test]
    fn other_values_are_in_nodes() {
        let text = String::from("text");
        in_nodes(&[text.as_str()]);
        in_nodes(&[text.clone(), String::new()]);
        in_nodes(&[Box::new(7)]);
        in_nodes(&[(7u8, 1u64 << 40)]);
        in_nodes(&[Some(5u32), None]);
        in_nodes(&[[1u128; 9]]);
        // one that changes through a shared reference must not be copied
        in_nodes(&[Cell::new(5u32)]);
    }

    #[test]
    fn nodes_are_dropped_once() {
        let memory = Memory::default();
        let one = Arc::new(7);
        let word = into_node(one.clone(), &memory).unwrap();
        unsafe { share(word) };
        assert!(!unsafe { leave(word) });
        assert_eq!(Arc::strong_count(&one), 2);
        assert!(unsafe { leave(word) });
        drop(unsafe { Owned::<Arc<i32>>::new(header_of(word), Some(memory)) });
        assert_eq!(Arc::strong_count(&one), 1);
    }
}
