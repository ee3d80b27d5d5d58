// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The structure behind SortedDict, SortedSet and SortedList: an index from codes to words.
//
//   root    code -> word    a value: an object, or an integer of 62 bits in place
//                           a key without an exact code, alone in its code (lone_word())
//                           an entry: such a key and the word of its value
//                           a bucket: the items whose keys have this code, in order
//                           a level: another index, for texts of which more than nest_at have this
//                           code; it looks at the bytes behind those that agree
//
// All calls hold the GIL, or where there is none the lock of the object (visit.hpp). Batches
// (batch.cpp) release it while they work on the root's index. Meanwhile other threads may read; a
// call that writes waits (writing()). References are released only while no batch reads
// (release()), so what a batch found stays alive.
//
// Comparisons may run code of the caller's in the middle of a search. Changes meanwhile are refused
// with RuntimeError (Pinned). Elsewhere a call that lets such code run keeps nothing that it found
// before (held.hpp).
#pragma once

#include "bucket.hpp"
#include "code.hpp"
#include "extras.hpp"
#include "turn.hpp"
#include "visit.hpp"

#include <lathwork/index.h>

#include <atomic>
#include <utility>
#include <vector>

namespace lathpy {

using Word = uint64_t;
enum class Tag { object = 0, bucket = 1, small = 2, level = 3, entry = 5 };
inline constexpr Word no_value = 2; // the integer 0

// Sorts by code; equal ones stay in order. Digit by digit, from the lowest on.
void sort_by_code(std::vector<lath_item>& items);

class OwnedItems;

// A bucket with more items, not all equal, becomes a level (text) or makes the container one of
// doubles (integers).
inline constexpr size_t nest_at = 256;

struct Level {
    explicit Level(size_t depth);
    ~Level() { close(nullptr, nullptr); }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

    // Calls each for every word and frees the index.
    void close(lath_item_fn each, void* arg);

    bool open = false;
    lath_index index;
    Extras extras;
    uint64_t count = 0;
    size_t depth;
    Kind kind = Kind::none; // of a root that visits may look at
};

// Whether the word is the address of a bucket or an entry. They are aligned to 8 bytes.
inline bool is_block(Word word) { return (word & 3) == 1; }
inline Tag tag_of(Word word) { return static_cast<Tag>(word & (is_block(word) ? 7 : 3)); }
template <class T>
Word word_of(T* block, Tag tag) {
    return reinterpret_cast<Word>(block) | static_cast<Word>(tag);
}

// A key of a map that is alone in its code and in a kind with levels. A bucket of it would take
// twice as many bytes, and an object for a value that is an integer.
struct Entry {
    PyObject* key;
    Word value; // tagged object or small
};

inline Bucket* bucket_of(Word word) { return reinterpret_cast<Bucket*>(word - 1); }
inline Level* level_of(Word word) { return reinterpret_cast<Level*>(word - 3); }
inline Entry* entry_of(Word word) { return reinterpret_cast<Entry*>(word - 5); }
inline PyObject* object_of(Word word) { return reinterpret_cast<PyObject*>(word); }

// Calls each(object) for every reference that the word holds; the word must not be a level's.
// Stops when each() returns a value other than 0, and returns that value.
template <class Each>
int each_reference(Word word, Each each) {
    switch (tag_of(word)) {
    case Tag::object:
        return each(object_of(word));
    case Tag::entry:
        if (int ret = each(entry_of(word)->key))
            return ret;
        return each_reference(entry_of(word)->value, each);
    case Tag::bucket:
        return bucket_of(word)->each([&](const Item& item) {
            for (PyObject* object : {item.sort, item.key, item.value})
                if (int ret = object ? each(object) : 0)
                    return ret;
            return 0;
        });
    default:
        return 0;
    }
}
// The number of these references.
uint64_t references(Word word);
// Frees the bucket or the entry of a word, if it is one, but not what that refers to.
void free_block(Word word);
// Drops the references that the word holds and frees its block; the word must not be a level's.
void drop_word(Word word);
// The word of a new entry, which takes over both references. Throws std::bad_alloc.
Word make_entry(PyObject* key, Word value);
// Frees the blocks and levels of words, but not what their items refer to.
void free_words(const std::vector<lath_item>& words);

// Whether the number can be in a word; it takes 62 bits.
inline bool is_small(int64_t number) { return number >= -(1ll << 61) && number < 1ll << 61; }
inline Word small_word(int64_t number) { return static_cast<uint64_t>(number) << 2 | 2; }
inline int64_t small_of(Word word) { return static_cast<int64_t>(word) >> 2; }

// Whether comparing the object with its like runs no code of the caller's.
inline bool is_plain(PyObject* object) {
    return PyLong_CheckExact(object) || PyUnicode_CheckExact(object) ||
           PyFloat_CheckExact(object) || PyBytes_CheckExact(object);
}

// Takes a reference if the word is that of an object.
Word pack(PyObject* value);
// Returns a new reference to a value's object.
PyObject* unpack(Word word);

// Where an item is: in its level, which is below those of `above`. `at` counts within a bucket.
struct Path {
    std::vector<std::pair<Level*, uint64_t>> above;
    Level* level = nullptr;
    uint64_t code = 0;
    Word word = 0;
    Spot at; // without a bucket: at.at, 0 or 1, counts
};

class Journal;

class Sorted {
public:
    enum class Present { keep, replace };

    // values: items have values. twins: equal keys may be there more than once. key: a function or
    // None.
    Sorted(bool values, bool twins, nb::object key);
    ~Sorted();
    Sorted(const Sorted&) = delete;
    Sorted& operator=(const Sorted&) = delete;

    uint64_t size() {
        settle();
        return root->count;
    }
    nb::object sort_of(nb::handle key) const; // key(key), or key itself
    nb::object key_function() const { return nb::borrow(key_fn); }

    // Find the first item that equals key. Returns whether there is one: a key that does not
    // compare (TypeError of the key function or of a comparison) or is a NaN is not there. change:
    // for a call that then changes the item.
    bool find(PyObject* key, Path* path, bool change = false);
    // The same without the lock, for a key that is an int, float, str or bytes. unsure: that takes
    // the lock. word: set to that of the value of a map, with its own reference; or NULL.
    enum class Seen { absent, there, unsure };
    Seen peek(PyObject* key, Word* word) const;
    // peek() for an int, inlined: most often the word of its code is the value.
    Seen peek_integer(PyObject* key, Word* word) const {
        int over = 0;
        Word there;
        Code code = {integer_code(PyLong_AsLongLongAndOverflow(key, &over)), true};
        Visit visit(this);
        Level* level = over ? nullptr : root_for(visit, Kind::integer);
        if (!level)
            return Seen::unsure;
        if (!lath_index_get(&level->index, code.code, &there))
            return Seen::absent;
        if (!word || !values || (tag_of(there) != Tag::object && tag_of(there) != Tag::small))
            return look_at(key, code, there, word);
        if (tag_of(there) == Tag::object)
            Py_INCREF(object_of(there));
        *word = there;
        return Seen::there;
    }
    // Find the item of this rank. Returns whether there is one; below size() there is, but while a
    // batch of another thread erases.
    bool reach(uint64_t rank, Path* path);
    // The same; throws IndexError if there is none.
    void select(uint64_t rank, Path* path);
    // The number of items that sort before `sort`, or also those that sort equal (right).
    uint64_t rank(PyObject* sort, bool right);
    // The number of items that sort as key does; 0 for what does not compare.
    uint64_t count_of(PyObject* key);
    uint64_t rank_of(const Path& path);

    nb::object key_at(const Path& path);
    nb::object value_at(const Path& path); // value must be there

    // Adds an item, without twins only if the key is not there. Returns whether it did; if not,
    // *there (may be NULL) is the value that is there, which `replace` then replaces.
    bool add(nb::handle key, PyObject* value, Present present, nb::object* there);
    // The same for an item whose sort key is made. The caller has called writing(). The journal, if
    // any, gets to know of the change.
    bool add_item(const Item& item, Present present, nb::object* there, Journal* journal);
    // Changes the item's value; returns the reference of the old one. Neither this nor remove()
    // fails. The caller has called writing() before it searched.
    PyObject* set_value(const Path& path, PyObject* value);
    // Takes the item out; returns its references.
    Item remove(Path path);
    void take(Path path) { release(remove(std::move(path))); }
    // Takes the items of these ranks out, in descending order.
    void take_ranks(const std::vector<uint64_t>& ranks);
    void clear();
    // Begins anew, empty, with another key function.
    void restart(nb::object key);
    // Changes contents with a container of the same class.
    void exchange(Sorted& other);
    // Fills an empty container from pairs of exact codes of `kind` and words, in any order, whose
    // references are taken over. Of equal codes the last one counts, or without values one. The
    // caller has called quiet(). If it throws, the container is empty and the references are the
    // caller's.
    void load(Kind with, OwnedItems& items);

    // The same with texts or bytes of exact types.
    void load_texts(Kind with, std::vector<Item>& items);

    int traverse(visitproc visit, void* arg);
    // Throws RuntimeError with what is wrong.
    void verify();

    // Before each change: waits for a batch that writes; other threads may run during the wait.
    // quiet: also for those that read. Throw RuntimeError within a comparison.
    void writing();
    void quiet();
    void release(PyObject* object); // last thing a call does
    void release(const Item& item);
    // Accepts the first key's kind, or becomes a container of objects.
    void admit(const KeyView& view);

    // State that batches and iterators use.
    Kind kind = Kind::none;
    const bool values, twins;
    bool plain; // no key function: codes may be exact
    Level* root;
    uint64_t version = 0; // counts changes of the set of items
    uint64_t replaced = 0; // and of values
    uint64_t held = 0; // references
    unsigned readers = 0; // batches that read
    bool batch = false; // one that writes

    // In the child of a fork: forgets the calls of threads that are not there.
    void settle() {
        if (era != forks)
            forget_threads();
    }

    // Lets no visit see the contents while they become others: no visit is under way on return.
    void conceal() {
        if (visible.exchange(nullptr, std::memory_order_relaxed))
            await_visits(this);
    }
    // Ends that: visits see the root again, if the codes of its keys need no key function.
    void reveal() {
        root->kind = kind;
        visible.store(plain ? root : nullptr, std::memory_order_release);
    }

    class Exclusive;
    class Pinned;

private:
    friend class Reading;

    bool less(PyObject* a, PyObject* b);
    bool equal(PyObject* a, PyObject* b);
    Spot bisect(const Bucket* bucket, PyObject* sort, bool right);
    // The root, if visits may look at it and it has codes of this kind; else NULL.
    Level* root_for(const Visit& visit, Kind wanted) const {
        Level* level = visit ? visible.load(std::memory_order_acquire) : nullptr;

        return level && level->kind == wanted ? level : nullptr;
    }
    Seen look_at(PyObject* key, const Code& code, Word there, Word* word) const;
    bool search(PyObject* key, Path* path, bool change);
    // Whether a key without an exact code that is alone in its code has no bucket. Numbers have
    // one: batches rely on it.
    bool has_lone_keys() const { return plain && has_levels(kind); }
    Word lone_word(const Item& item, bool exact) const;
    uint64_t rank_by_comparing(PyObject* sort, bool right);
    bool find_by_comparing(PyObject* key, PyObject* sort, Path* path);
    Code descend(const KeyView& view, Path* path, bool* there);
    void count(const Path& path, int64_t by, bool twin);
    void set_word(Path* path, Word word);
    void add_first(const Path& path, bool exact, const Item& item);
    void widen(Path* path);
    bool twin_of(const Path& path, const Item& item, Spot* at);
    void add_twin(Path* path, const Item& item);
    void relieve(const Path& path);
    void nest(Path path);
    void load_words(Kind with, const std::vector<lath_item>& words, uint64_t count, uint64_t taken);
    void load_equal(Kind with, OwnedItems& items);
    Level* build(size_t depth, const Item* items, size_t n, bool chosen,
                 std::vector<PyObject*>* gone);
    Word build_word(uint64_t code, size_t depth, Item* items, size_t* n, bool chosen,
                    std::vector<PyObject*>* gone);
    void become(Kind next);
    Level* rebuild(Kind next, const std::vector<Item>& items, uint64_t* references);
    void end(Level* level) noexcept;
    nb::object order_at(const Path& path);
    void verify_level(Level* level, uint64_t* references);

    void forget_threads();

    nb::object key_fn;
    std::atomic<Level*> visible = nullptr; // the root, for visits
    unsigned era = forks;
    mutable unsigned keying = 0; // calls of the key function
    unsigned comparing = 0;
    std::vector<PyObject*> limbo; // references to be released after the batches that read
};

// While it exists code of the caller's may run that must not change the container.
class Sorted::Pinned {
public:
    explicit Pinned(Sorted& sorted) : sorted(sorted) { sorted.comparing++; }
    ~Pinned() { sorted.comparing -= sorted.comparing != 0; } // 0: a fork within it
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;

private:
    Sorted& sorted;
};

// What a call that adds many items has changed so far, so that it can be undone. Items are named by
// their ranks, so nothing is compared. References that the changes dropped are kept until the end.
class Journal {
public:
    explicit Journal(Sorted& sorted) : sorted(sorted) {}
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    // Before a change: makes room. Throws std::bad_alloc.
    void reserve();
    // After it: an item was added at this rank; or its value replaced, of which `old` is a
    // reference.
    void changed(uint64_t rank, PyObject* old);
    // Nothing is undone if other threads have changed the container since.
    void undo();

private:
    Sorted& sorted;
    uint64_t version = 0; // of the container, after the last change
    bool others = false; // it was not the last one
    std::vector<std::pair<uint64_t, PyObject*>> done;
};

// A batch that changes the container: waits for others; its end lets waiting threads go on.
class Sorted::Exclusive {
public:
    explicit Exclusive(Sorted& sorted);
    ~Exclusive();
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

private:
    Sorted& sorted;
};

// While it exists nothing that the container holds is released.
class Reading {
public:
    explicit Reading(Sorted& sorted);
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

private:
    Sorted& sorted;
};

} // namespace lathpy
