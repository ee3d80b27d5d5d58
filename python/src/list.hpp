// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A sorted list of references to objects: what SortedList is, and the order that SortedDict and
// SortedSet have beside their hash tables.
//
//   chunks   up to most() objects each, in order; with a key function the keys, and the objects
//            behind them
//   codes    of each chunk's last key the first eight bytes of its order, if its type has such; a
//            search compares codes, and objects where codes are equal
//   sums     a Fenwick tree of the chunks' sizes, for positions; made when one is asked for
//
// An exact int or float, a str, bytes, and a tuple that begins with one of these has a code.
//
// The caller's code may run in three places: in a comparison, in a key function, in a finalizer.
//   - A comparison (`Order`) pins the list: a change meanwhile, of any thread, raises RuntimeError
//     (writing()). So what a search has found is there when it goes on.
//   - A key function is called before anything is looked for; the list cannot get another one then.
//   - References are dropped when a change is complete (`Dropped`), so a finalizer finds a list
//     that is in order.
// Every change asserts that the list is not pinned. All calls hold the lock of the list's object.
#pragma once

#include "error.hpp"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lathpy {

// The first bytes of a key's order. Codes of different kinds do not compare.
struct ListCode {
    uint8_t kind = 0; // 0: it has none
    uint64_t code = 0;
};
ListCode list_code(PyObject* key);

// References that a change took out. They are dropped at its end.
using Dropped = std::vector<nb::object>;

struct ListChunk {
    PyObject** items;
    uint32_t count, room;
};

// Chunks with the references that they own.
struct ListChunks : std::vector<ListChunk> {
    ListChunks() = default;
    ListChunks(ListChunks&& other) noexcept { swap(other); }
    ListChunks& operator=(ListChunks&&) = delete;
    ~ListChunks();
    void swap(ListChunks& other) noexcept {
        std::vector<ListChunk>::swap(other);
        std::swap(keyed, other.keyed);
    }
    bool keyed = false; // each has values behind its keys
};

class List : Pinned {
public:
    // Where an item is. chunk == number of chunks: behind the last one.
    struct Place {
        size_t chunk = 0, at = 0;
    };
    using Refs = std::vector<PyObject*>;

    ~List() = default;

    size_t size() const { return count; }
    bool keyed() const { return chunks.keyed; }
    // Begins anew, empty, with another key function or None. gone: gets what it had, or NULL.
    void restart(nb::object key, ListChunks* gone);
    void exchange(List& other); // the items; both have the same key function
    Refs refs(bool keys) const; // borrowed: of the keys or of the values
    nb::object key_function() const { return keyed() ? key_fn : nb::object(nb::none()); }
    nb::object key_of(PyObject* value); // runs code of the caller's

    // The first item whose key is not before `key`; right: that is behind it.
    Place bisect(PyObject* key, bool right);
    // The first item that is the object or equal to it, whose key is `key`.
    bool find(PyObject* key, PyObject* value, Place* place);
    Place place_of(size_t position);
    size_t position_of(Place place);
    PyObject* at(Place place) const { return values_of(chunks[place.chunk])[place.at]; }
    PyObject* key_at(Place place) const { return chunks[place.chunk].items[place.at]; }
    bool next(Place* place) const;
    size_t items_in(size_t chunk) const { return chunks[chunk].count; }
    PyObject** begin_of(size_t chunk) const { return values_of(chunks[chunk]); }
    size_t chunk_count() const { return chunks.size(); }

    // Before each change. Throws RuntimeError within a comparison.
    void writing();
    void add(PyObject* key, PyObject* value);
    // Adds a few sorted values: all or, if it throws, none.
    void merge(const Refs& keys, const Refs& values);
    // Becomes these, which are sorted; without a key function values are not looked at.
    void assign(const Refs& keys, const Refs& values);
    nb::object
    erase(Place place,
          nb::object* own_key = nullptr); // own_key: gets the key, if there is a key function
    // Takes out the items of positions in ascending order.
    void erase(const std::vector<size_t>& positions, Dropped* gone);
    void clear() { ListChunks gone = take(); }
    ListChunks take(); // what it had

    int traverse(visitproc visit, void* arg) const;
    size_t memory() const;
    void verify(); // throws RuntimeError with what is wrong

    uint64_t version = 0; // counts changes

private:
    using Chunk = ListChunk;
    static constexpr size_t step = 16; // by which a chunk's room grows

    // Items of a chunk at most. Longer chunks keep the arrays of a long list short.
    size_t most() const { return chunks.size() < 2048 ? 96 : chunks.size() < 8192 ? 256 : 1024; }

    class Order;

    PyObject** values_of(const Chunk& chunk) const {
        return chunk.items + (keyed() ? chunk.room : 0);
    }
    template <bool right>
    size_t bisect_in(const Chunk& chunk, const Order& order, size_t guess) const;
    template <bool right>
    size_t chunk_for(const Order& order, const ListCode& code) const;
    template <bool right>
    Place bisect(const Order& order) const;
    PyObject* last_key(size_t chunk) const { return chunks[chunk].items[chunks[chunk].count - 1]; }
    void resize(Chunk* chunk, size_t room) const;
    void move(Chunk& to, size_t at, const Chunk& from, size_t first, size_t n) const;
    void insert(Place place, PyObject* key, PyObject* value);
    void split(Place* place);
    bool join(size_t chunk);
    void code_last(size_t chunk);
    void erase_chunk(size_t chunk);
    void count_sums();
    void count_at(size_t chunk, int64_t by);

    nb::object key_fn;
    ListChunks chunks;
    std::vector<uint64_t> codes;
    std::vector<uint8_t> kinds;
    std::vector<size_t> sums; // empty: outdated
    size_t count = 0, coded = 0; // coded: chunks whose kind is `kind`
    uint8_t kind = 0;
    unsigned pinned = 0, keying = 0, era = 0; // comparisons, and calls of the key function
};

} // namespace lathpy
