// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of tables `ranges` and `index`: ordered structures of extents and of keys. Most of
// them take part in both tables.
//
// To add one: a file in this directory with one class for each of the two tables (range_bench.hpp
// and map_bench.hpp list the members) and a function that returns the range_subject; a line in
// subjects/lists.cpp and one in bench/CMakeLists.txt. The timed loops are templates over these
// classes, so the compiler can inline the calls of a structure that is a header, as it does for its
// users.
#pragma once

#include "harness/extents_input.hpp"
#include "harness/random.hpp"
#include "harness/subject.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lathbench {

// ---- table ranges ----

// What the user of a range index has: an object in memory that covers [key, key + size), with room
// for the links of a structure. All subjects index the same objects.
struct extent {
    void* hook[3];
    std::uint64_t key, size;
};

struct round_result {
    std::uint64_t lookups = 0, hits = 0, pops = 0, victims = 0, errors = 0;
};

// The phases of table `ranges` over one structure (range_bench.hpp). Several threads may be in
// enter(), leave() and rounds() at once; every other call runs alone.
class range_bench {
public:
    virtual ~range_bench() = default;
    // Each thread calls these before its first call and after its last.
    virtual void enter() {}
    virtual void leave() {}
    // Makes the objects for the set, in one array. Comes before fill().
    virtual void make_extents(const extent_set& set) = 0;
    // Inserts all objects in ascending order. Returns how many were inserted.
    virtual std::uint64_t fill(const extent_set& set) = 0;
    virtual round_result rounds(const extent_set& set, std::uint64_t rounds,
                                std::uint64_t seed) = 0;
    // Looks each extent up. Returns for how many it found the right object.
    virtual std::uint64_t check(const extent_set& set) = 0;
    // Erases all extents, alternately from both ends. Returns how many.
    virtual std::uint64_t drain(const extent_set& set) = 0;
    virtual bool can_erase() const = 0;
};

// ---- table index ----

// The value that belongs to a key: -4 * key - 3 modulo 2^64. It is linear in the key, so that the
// sums over any set of entries can be checked. Bit 0 is set and bit 1 is not, because the maple
// tree reserves other patterns for itself.
constexpr std::uint64_t value_of(std::uint64_t key) { return ~key << 2 | 1; }

// Sums over the entries that operations returned.
struct tally {
    std::uint64_t entries = 0, keys = 0, values = 0;
    void add(std::uint64_t key, std::uint64_t value) {
        entries++;
        keys += key;
        values += value;
    }
    // Whether the values belong to the keys.
    bool pairs_fit() const { return values + 4 * keys == static_cast<std::uint64_t>(-3) * entries; }
    bool operator==(const tally&) const = default;
};

enum class op : std::uint8_t { lookup, update, insert, erase, scan };

struct step {
    std::uint64_t key;
    op what;
    std::uint8_t length; // of a scan, in entries
};

// A lookup, or an update to `value`, of the cases in which threads meet. There the upper 30 bits of
// a value tell its key, and those below which update wrote it.
struct meet_call {
    std::uint64_t key, value;
    bool update;
};

// The value of update number `number` (modulo 2^32) of a key; its lowest bits are those of
// value_of().
constexpr std::uint64_t meet_value(std::uint64_t key, std::uint64_t number) {
    return mix_bits(key) >> 34 << 34 | (number & 0xffffffff) << 2 | 1;
}
constexpr bool same_key(std::uint64_t value, std::uint64_t other) {
    return (value ^ other) >> 34 == 0;
}

struct map_abilities {
    bool floor = false, scan = false, erase = false, lookup_batch = false, insert_batch = false;
};

// The calls of table `index` over one structure (map_bench.hpp). Several threads may be in a call
// at once if the map was made for several.
class map_bench {
public:
    virtual ~map_bench() = default;
    // Each thread calls these before its first call and after its last.
    virtual void enter() {}
    virtual void leave() {}
    virtual map_abilities abilities() const = 0;
    // Bytes in use in the whole process, of the kind of memory that this structure takes. Only
    // the difference of two calls says something.
    virtual std::uint64_t memory() const = 0;
    // Return the number of operations that succeeded, or the tally of what was found.
    virtual std::uint64_t insert(const std::uint64_t* keys, std::size_t n) = 0;
    virtual std::uint64_t insert_batch(const std::uint64_t* keys, std::size_t n) = 0;
    virtual tally lookup(const std::uint64_t* keys, std::size_t n) = 0;
    virtual tally lookup_dependent(const std::uint64_t* keys, std::size_t n) = 0;
    virtual tally lookup_batch(const std::uint64_t* keys, std::size_t n) = 0;
    virtual tally floor(const std::uint64_t* points, std::size_t n) = 0;
    virtual tally scan(const std::uint64_t* from, std::size_t n, std::size_t length) = 0;
    virtual std::uint64_t erase(const std::uint64_t* keys, std::size_t n) = 0;
    // Lets the structure give back memory that it does not need.
    virtual void trim() = 0;
    // Returns the tally of lookups and scans; done: how many updates, inserts and erases
    // succeeded.
    virtual tally mix(const step* steps, std::size_t n, std::uint64_t& done) = 0;
    // Returns how many calls were right: lookups that found a value of their key, and updates.
    virtual std::uint64_t meet(const meet_call* calls, std::size_t n) = 0;
};

// ---- the subjects ----

struct range_subject : subject {
    std::function<std::unique_ptr<range_bench>()> ranges; // empty: not in table ranges
    std::string ranges_note; // in place of note in that table, unless empty
    // Empty: not in table index. concurrent: several threads will use the map.
    std::function<std::unique_ptr<map_bench>(bool concurrent)> map;
    std::string map_note;
};

// All of them, ours first; they are made once and never change.
const std::vector<range_subject>& range_subjects();

} // namespace lathbench
