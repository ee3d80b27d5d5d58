// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// ranges.hpp - the model of what keeps disjoint ranges: items in a sorted array (oracle.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" {
#include "base/oracle.h"
}

inline bool operator==(const lath_item& a, const lath_item& b) { return oracle_same(&a, &b); }

class ranges {
public:
    std::vector<lath_item> items;

    bool operator==(const ranges&) const = default;
    std::size_t hash() const {
        std::uint64_t h = items.size();
        for (const lath_item& it : items)
            h = (h ^ it.key ^ it.size << 20 ^ it.value << 40) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 29;
    }

    // The item that begins at the key, that covers it, that begins there or behind it, or before
    // it; the first one that has a key of [key, last]. nullptr: none.
    lath_item* exact(std::uint64_t key) {
        lath_item* there = covers(key);
        return there && there->key == key ? there : nullptr;
    }
    lath_item* covers(std::uint64_t key) { return overlap(key, key); }
    lath_item* ceiling(std::uint64_t key) { return at(rank(key)); }
    lath_item* floor(std::uint64_t key) {
        lath_item* there = exact(key);
        return there ? there : at(rank(key) - 1);
    }
    lath_item* overlap(std::uint64_t key, std::uint64_t last) {
        const oracle o = view();
        lath_item* there = at(oracle_at(&o, key));
        return there && there->key <= last ? there : nullptr;
    }
    bool is_free(std::uint64_t key, std::uint64_t size) { return !overlap(key, key + (size - 1)); }

    // How many items begin in front of the key.
    std::size_t rank(std::uint64_t key) {
        const oracle o = view();
        const std::size_t i = oracle_at(&o, key);
        return i + (i < items.size() && items[i].key < key);
    }
    // Those that begin in [from, last].
    std::vector<lath_item> between(std::uint64_t from, std::uint64_t last) {
        if (from > last)
            return {};
        const auto begin = items.begin() + static_cast<std::ptrdiff_t>(rank(from));
        return {begin, last < ~0ull ? items.begin() + static_cast<std::ptrdiff_t>(rank(last + 1))
                                    : items.end()};
    }

    void insert(const lath_item& it) {
        items.insert(items.begin() + static_cast<std::ptrdiff_t>(rank(it.key)), it);
    }
    void remove(const lath_item* it) { items.erase(items.begin() + (it - items.data())); }
    // Takes [key, last] out of the items: what sticks out of it stays. Returns those that it
    // covered.
    std::vector<lath_item> cut(std::uint64_t key, std::uint64_t last) {
        std::vector<lath_item> gone;
        while (const lath_item* there = overlap(key, last)) {
            const lath_item old = *there;
            remove(there);
            if (old.key < key)
                insert({old.key, key - old.key, old.value});
            if (oracle_last(&old) > last)
                insert({last + 1, oracle_last(&old) - last, old.value});
            if (old.key >= key && oracle_last(&old) <= last)
                gone.push_back(old);
        }
        return gone;
    }

    oracle view() { return {items.data(), items.size()}; }

private:
    lath_item* at(std::size_t i) { return i < items.size() ? &items[i] : nullptr; }
};
