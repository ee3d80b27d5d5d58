// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The phases of skiplist_test of 2013 over one structure: a class that holds extents and has
//
//   bool insert(extent *);              false: it overlaps another one
//   extent *lookup(uint64_t point);     the extent over the point, or nullptr
//
// and may have
//
//   extent *erase(uint64_t point);      likewise, and removes it
//   void enter(), leave();              each thread calls them first and last
//   exact_keys                          any type: finds an extent by its first point only
//
// A round draws 32 random bits. They select extent i (bits % items). If they are even, the round
// looks extent i up. If they are divisible by 3, the round does a "pop": it tries to erase the 256
// extents behind i, one after another, until 128 are out (half of all extents, in tiny sets), and
// then inserts each of them again. On average a round is half a lookup and 85 updates.
#pragma once

#include "range_subject.hpp"

#include "harness/random.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace lathbench {

template <class Structure>
class range_bench_of : public range_bench {
public:
    template <class... A>
    explicit range_bench_of(A&&... arguments) : index_(std::forward<A>(arguments)...) {}
    void enter() override {
        if constexpr (requires { index_.enter(); })
            index_.enter();
    }
    void leave() override {
        if constexpr (requires { index_.leave(); })
            index_.leave();
    }
    bool can_erase() const override { return erases; }

    void make_extents(const extent_set& set) override {
        extents_ = std::make_unique<extent[]>(set.items);
        for (std::size_t i = 0; i < set.items; i++) {
            extents_[i].key = set.keys[i];
            extents_[i].size = set.sizes[i];
        }
    }

    std::uint64_t fill(const extent_set& set) override {
        std::uint64_t inserted = 0;
        for (std::size_t i = 0; i < set.items; i++)
            inserted += index_.insert(&extents_[i]);
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

    // Looks up a point inside each extent, as the original does, where the structure can find one.
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
    static constexpr bool erases = requires(Structure a, std::uint64_t p) { a.erase(p); };

    static std::uint64_t inside(const extent_set& set, std::size_t i) {
        if constexpr (requires { typename Structure::exact_keys; })
            return set.keys[i];
        return set.keys[i] + std::min<std::uint64_t>(64, set.sizes[i] - 1);
    }

    extent* erase(std::uint64_t point) {
        if constexpr (erases)
            return index_.erase(point);
        return nullptr;
    }

    bool take(std::uint64_t key) { return erase(key) != nullptr; }

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

    std::unique_ptr<extent[]> extents_; // outlive the structure
    Structure index_;
};

// For range_subject::ranges.
template <class Structure>
std::unique_ptr<range_bench> make_ranges() {
    return std::make_unique<range_bench_of<Structure>>();
}

} // namespace lathbench
