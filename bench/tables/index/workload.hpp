// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Keys and operation streams of table `index`, with the results that a right map must give.
#pragma once

#include "subjects/ranges/range_subject.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace lathbench {

// A sequence of distinct keys; the place of a key in it is its ordinal. A made-up sequence has no
// end, a given one begins anew after its last key.
class key_source {
public:
    // Makes up 63-bit keys, each a function of ordinal and seed.
    explicit key_source(std::uint64_t seed) : seed_(seed) {}
    // Takes the given keys, shuffled by the seed.
    key_source(std::vector<std::uint64_t> keys, std::uint64_t seed);

    std::uint64_t key(std::uint64_t ordinal) const;
    // A number that is none of the keys.
    std::uint64_t absent(std::uint64_t ordinal) const;
    // The point after a key. floor() of it is the key.
    std::uint64_t after(std::uint64_t ordinal) const { return key(ordinal) + 1; }

private:
    std::uint64_t seed_;
    std::vector<std::uint64_t> given_;
};

// The keys in a map: those of ordinals [low, high). An insert adds the next at the high end, an
// erase removes the lowest.
struct window {
    std::uint64_t low = 0, high = 0;
    std::uint64_t size() const { return high - low; }
    auto operator<=>(const window&) const = default;
};

// Keys for the calls of one case; each thread takes a part of them.
struct key_stream {
    std::vector<std::uint64_t> keys;
    std::uint64_t sum(std::size_t from, std::size_t to) const;
};

class workload {
public:
    workload(const key_source& source, std::uint64_t seed) : source_(source), random_(seed) {}

    key_stream uniform(const window& live, std::size_t count);
    // Zipf with exponent 1.01 over the live keys; the frequent ones are anywhere in the key order.
    key_stream zipf(const window& live, std::size_t count);
    key_stream absent(std::size_t count);
    key_stream between(const window& live, std::size_t count);
    key_stream ordinals(std::uint64_t from, std::size_t count) const;

    // YCSB A and B: `percent` updates, the rest lookups, all by zipf.
    std::vector<step> updates(const window& live, std::size_t count, int percent);
    // YCSB E: 95 % scans of 1 to 100 entries from a zipf key, 5 % inserts; moves live.high.
    std::vector<step> scans(window& live, std::size_t count);
    // 50 % lookups, 25 % inserts of new keys, 25 % erases of old ones; moves live.
    std::vector<step> churn(window& live, std::size_t count);

private:
    const key_source& source_;
    std::mt19937_64 random_;
};

// The live keys in order, to predict what scans return.
class ordered_oracle {
public:
    ordered_oracle() = default;
    explicit ordered_oracle(std::vector<std::uint64_t> keys);
    tally scan(std::uint64_t from, std::size_t length) const;
    // The first numbers [low, high) that are no keys behind the i-th key.
    window gap(std::size_t i) const;

private:
    std::vector<std::uint64_t> keys_;
};

} // namespace lathbench
