// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The structure behind lathwork.Map: an index of the library's, from keys to words of values.
//
//   integer, real   lathwork/index.h, from codes (code.hpp) to words
//   text, bytes     lathwork/bytes.h, of records: a word and the bytes of the key
//
// A word is a value: an object, or an integer of 62 bits in place. Keys are not kept as objects, so
// no comparison runs code of the caller's. Such code may run in a conversion, which is before
// anything is looked for, and in a finalizer, when a change is complete (release()).
//
// All calls hold the GIL, or where there is none the lock of the object (visit.hpp); get() needs
// neither. Calls for arrays release it while they work on the index (turn.hpp): meanwhile other
// threads may look keys up, and changes wait (writing()).
#pragma once

#include "held.hpp"
#include "turn.hpp"
#include "visit.hpp"

#include <lathwork/bytes.h>
#include <lathwork/index.h>

#include <atomic>
#include <string_view>
#include <vector>

namespace lathpy {

// A key of a text or of bytes, and its value.
struct Record {
    std::atomic<Word> value;
    uint32_t size;
    char data[];

    std::string_view key() const { return {data, size}; }
};

// A key of Python's as a map of a kind has it.
struct MapKey {
    // same: a key of the map may be equal to it. between: none is, `code` is the least above it, or
    // with `past` there is none. none: it has no place in the order.
    enum Fit { same, between, none } fit = none;
    Kind kind;
    uint64_t code = 0;
    bool past = false;
    std::string_view bytes;
    nb::object held; // what has the bytes

    MapKey(Kind kind, PyObject* key);
};

class Map {
public:
    // An item as it was found.
    struct Cell {
        uint64_t code = 0;
        Word word = 0;
        Record* record = nullptr;
    };
    // Items to be added. It owns their references and records.
    struct Items {
        Kind kind = Kind::none;
        std::vector<lath_item> items; // the key of a text or of bytes is the address of its record

        Items() = default;
        Items(const Items&) = delete;
        Items& operator=(const Items&) = delete;
        ~Items();
        Cell cell(size_t at) const;
        void gather(PyObject* key, PyObject* value); // throws for a key of another kind
    };

    Map() = default;
    ~Map() { clear(); }
    Map(const Map&) = delete;
    Map& operator=(const Map&) = delete;

    uint64_t size() {
        settle();
        return count;
    }
    Kind kind_of_keys() { return size() ? kind : Kind::none; }
    // The value of a key, or nothing. Takes the lock of `self`, the map's object, if it needs it.
    nb::object get(PyObject* self, PyObject* key) const;
    void set(PyObject* key, PyObject* value);
    nb::object take(PyObject* key); // the value, or nothing
    uint64_t rank(PyObject* key, bool right); // throws TypeError for what has no place
    bool find_rank(PyObject* key, uint64_t* rank);
    Cell select(uint64_t rank); // which is below size()
    nb::object key_at(const Cell& cell) const;
    nb::object value_at(const Cell& cell) const;
    nb::object take(const Cell& cell);
    // Adds all, or none if it throws. The items are empty afterwards.
    void add_all(Items& items);
    void clear();

    // Looks codes up without the GIL. hold: new references to the objects found.
    void find_codes(const std::vector<uint64_t>& codes, std::vector<Word>* words,
                    std::vector<uint8_t>* hits, bool hold);
    uint64_t erase_codes(const std::vector<uint64_t>& codes);
    size_t all_codes(std::vector<uint64_t>* codes);

    int traverse(visitproc visit, void* arg);
    size_t memory();
    void verify(); // throws RuntimeError with what is wrong

    // Waits for calls of other threads. Before each change, and before what it depends on is found.
    void writing() {
        turns.wait_for_all();
        settle();
    }

    uint64_t version = 0; // counts changes of the set of keys
    uint64_t replaced = 0; // and of values

private:
    friend class MapWalk;

    struct Store; // the index

    class Batch;

    Store* ready(Kind with);
    Kind kind_seen() const;
    bool look_up(const MapKey& key, Cell* cell);
    Word exchange(const Cell& cell, Word word);
    void note(Word word, int64_t by);
    void erase(const Cell& cell);
    void load(Items& items);
    int insert_all(Items& items, std::vector<int>& results);
    void release(Word word, Record* record = nullptr);
    void settle();

    Kind kind = Kind::none;
    std::atomic<Store*> store = nullptr;
    uint64_t count = 0, held = 0; // held: references
    unsigned era = forks;
    bool batch = false; // another thread may be within an Alone of turns
    Turns turns;
};

// A walk over items of ranks, in either direction.
class MapWalk {
public:
    // From the item of this rank on, at most `count` items.
    MapWalk(Map& map, uint64_t from, uint64_t count, bool backward);
    // Moves to the next item. Returns false at the end. Throws RuntimeError if keys were added or
    // taken out since the walk began.
    bool next();
    uint64_t left() const { return count; }
    nb::object key() const { return map.key_at(cell); }
    nb::object value() const { return map.value_at(cell); }
    const Map::Cell& cell_now() const { return cell; }

private:
    Map& map;
    uint64_t count, version, replaced;
    bool backward;
    size_t at = 0, used = 0, want = 8;
    Map::Cell cell, cells[64];
};

} // namespace lathpy
