// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The structures under test, as the tables see them.
//
// A peer is one file here. It writes one or two small adapters and hands them to range_bench_of<>
// (range_bench.hpp) and map_bench_of<> (map_bench.hpp), which are the timed loops, compiled per
// peer so that calls into headers are inlined as a user's would be. To add one: the file, a line in
// subjects.cpp, a line in bench/CMakeLists.txt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lathbench {

// --- table ranges ---

// What a user of a range index has: an object in memory that covers [key, key + size), with room
// for an intrusive hook. All subjects index the same objects.
struct extent {
    void* hook[3];
    std::uint64_t key, size;
};

// Disjoint extents by key. keys beyond `items` are absent ones that follow, for tries past the end.
struct extent_set {
    static constexpr std::size_t beyond = 256;
    std::size_t items = 0;
    std::vector<std::uint64_t> keys, sizes;
};

struct round_result {
    std::uint64_t lookups = 0, hits = 0, pops = 0, victims = 0, errors = 0;
};

class range_bench {
public:
    virtual ~range_bench() = default;
    virtual void enter() {} // by every thread before its first call
    virtual void leave() {} // and after its last
    virtual std::uint64_t fill(const extent_set& set) = 0; // how many went in
    virtual round_result rounds(const extent_set& set, std::uint64_t rounds,
                                std::uint64_t seed) = 0;
    virtual std::uint64_t
    check(const extent_set& set) = 0; // how many were found, each the right one
    virtual std::uint64_t
    drain(const extent_set& set) = 0; // how many came out, from both ends; frees them
    virtual bool can_erase() const = 0;
};

// --- table index ---

// values are a function of the key that is linear modulo 2^64, so that sums of any set of entries
// can be checked. They look like a shifted integer with bit 0 set (the maple tree keeps some
// patterns for itself).
constexpr std::uint64_t value_of(std::uint64_t key) { return ~key << 2 | 1; }

// Sums over the entries that operations returned. values + 4 * keys == -3 * entries holds for right
// pairs.
struct tally {
    std::uint64_t entries = 0, keys = 0, values = 0;
    void add(std::uint64_t key, std::uint64_t value) {
        entries++;
        keys += key;
        values += value;
    }
    bool pairs_fit() const { return values + 4 * keys == static_cast<std::uint64_t>(-3) * entries; }
    bool operator==(const tally&) const = default;
};

enum class op : std::uint8_t { lookup, update, insert, erase, scan };

struct step {
    std::uint64_t key;
    op what;
    std::uint8_t length; // of a scan
};

struct map_abilities {
    bool floor = false, scan = false, erase = false, lookup_batch = false, insert_batch = false;
};

class map_bench {
public:
    virtual ~map_bench() = default;
    virtual void enter() {}
    virtual void leave() {}
    virtual map_abilities abilities() const = 0;
    // Bytes in use in the whole process of the kind of memory this peer takes: differences count.
    virtual std::uint64_t memory() const = 0;
    // Number of successful operations, or the tally of what was returned.
    virtual std::uint64_t insert(const std::uint64_t* keys, std::size_t n) = 0;
    virtual std::uint64_t insert_batch(const std::uint64_t* keys, std::size_t n) = 0;
    virtual tally lookup(const std::uint64_t* keys, std::size_t n) = 0;
    virtual tally lookup_dependent(const std::uint64_t* keys, std::size_t n) = 0;
    virtual tally lookup_batch(const std::uint64_t* keys, std::size_t n) = 0;
    virtual tally floor(const std::uint64_t* points, std::size_t n) = 0;
    virtual tally scan(const std::uint64_t* from, std::size_t n, std::size_t length) = 0;
    virtual std::uint64_t erase(const std::uint64_t* keys, std::size_t n) = 0;
    // done: updates, inserts and erases that succeeded; the tally: what lookups and scans returned
    virtual tally mix(const step* steps, std::size_t n, std::uint64_t& done) = 0;
};

// --- the list ---

struct peer {
    std::string name;
    std::string note;
    std::string missing; // not in this build, and why
    std::function<std::unique_ptr<range_bench>()> ranges; // empty: not part of the table
    std::string ranges_note;
    // concurrent: several threads will use it (a peer without locks comes behind the spinlock)
    std::function<std::unique_ptr<map_bench>(bool concurrent)> map;
    std::string map_note;
};

const std::vector<peer>& all_peers();

} // namespace lathbench
