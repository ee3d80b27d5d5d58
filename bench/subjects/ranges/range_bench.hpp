// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The phases of the 2013 skiplist_test, for one adapter:
//
//   bool insert(extent *);            extent *lookup(uint64_t point);
//   extent *erase(uint64_t point);    (absent: the peer cannot erase)
//   static constexpr bool exact_keys; (true: finds only the first point of an extent)
//   void enter(), leave();            (per thread)
//
// A round: op = 32 random bits, i = op % items. Even op: look extent i up. op divisible by 3: a
// "pop": up to 256 tries to erase the extents that follow i, one by one, until 128 (or half of all,
// in tiny sets) are out; then each of them goes in again, one by one. An average round is half a
// lookup and 85 updates.
#pragma once

#include "range_subject.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace lathbench {

// 32 bits a call; xorshift64* by Vigna, cheap beside a lookup
inline std::uint32_t next_random(std::uint64_t& state) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return static_cast<std::uint32_t>((state * 0x2545f4914f6cdd1du) >> 32);
}

template <class Adapter>
class range_bench_of : public range_bench {
public:
    template <class... A>
    explicit range_bench_of(A&&... arguments) : index_(std::forward<A>(arguments)...) {}
    void enter() override { index_.enter(); }
    void leave() override { index_.leave(); }
    bool can_erase() const override { return erases; }

    std::uint64_t fill(const extent_set& set) override {
        std::uint64_t inserted = 0;
        for (std::size_t i = 0; i < set.items; i++) {
            auto* item = static_cast<extent*>(std::malloc(sizeof(extent)));
            if (!item)
                throw std::bad_alloc();
            item->key = set.keys[i];
            item->size = set.sizes[i];
            if (index_.insert(item))
                inserted++;
            else
                std::free(item);
        }
        return inserted;
    }

    round_result rounds(const extent_set& set, std::uint64_t rounds, std::uint64_t seed) override {
        round_result result;
        std::uint64_t state = seed | 1;
        for (std::uint64_t r = 0; r < rounds; r++) {
            std::uint32_t random = next_random(state);
            std::size_t at = random % set.items;
            if (random % 2 == 0) {
                result.lookups++;
                result.hits += index_.lookup(set.keys[at]) != nullptr;
            }
            if (random % 3 == 0)
                pop(set, at, result);
        }
        return result;
    }

    // As the original: a point inside, where the peer can find one.
    std::uint64_t check(const extent_set& set) override {
        std::uint64_t found = 0;
        for (std::size_t i = 0; i < set.items; i++) {
            const extent* item = index_.lookup(inside(set, i));
            found += item && item->key == set.keys[i];
        }
        return found;
    }

    std::uint64_t drain(const extent_set& set) override {
        std::uint64_t out = 0;
        for (std::size_t i = 0; i < (set.items + 1) / 2; i++) {
            out += take(set.keys[i]);
            if (std::size_t j = set.items - 1 - i; j != i)
                out += take(set.keys[j]);
        }
        return out;
    }

private:
    static constexpr bool erases = requires(Adapter a, std::uint64_t p) { a.erase(p); };

    static std::uint64_t inside(const extent_set& set, std::size_t i) {
        if constexpr (Adapter::exact_keys)
            return set.keys[i];
        return set.keys[i] + std::min<std::uint64_t>(64, set.sizes[i] - 1);
    }

    extent* erase(std::uint64_t point) {
        if constexpr (erases)
            return index_.erase(point);
        return nullptr;
    }

    std::uint64_t take(std::uint64_t key) {
        extent* item = erase(key);
        std::free(item);
        return item != nullptr;
    }

    void pop(const extent_set& set, std::size_t at, round_result& result) {
        constexpr std::size_t tries = extent_set::beyond;
        std::size_t limit = std::min<std::size_t>(128, set.items / 2), count = 0;
        auto** victims = static_cast<extent**>(std::calloc(limit + 1, sizeof(extent*)));
        if (!victims)
            throw std::bad_alloc();
        for (std::size_t i = 1; i <= tries && count < limit; i++)
            if (extent* item = erase(set.keys[at + i]))
                victims[count++] = item;
        for (std::size_t i = 0; i < count; i++)
            result.errors += !index_.insert(victims[i]);
        std::free(victims);
        result.pops++;
        result.victims += count;
    }

    Adapter index_;
};

} // namespace lathbench
