// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// checker.hpp - is a recorded history of calls on a set of disjoint ranges linearizable?
//
// A history is one if the calls can be put in an order that keeps "returned before the other was
// called" and in which every result is what a single thread would have got. The search is that of
// Wing and Gong (1993) with Lowe's memory (2017): take any call that no unfinished one precedes,
// play it on the state, go on; a pair of (calls done, state) that failed once is not tried again.
//
// The universe has a few points; values of live items differ from each other, 0 is none.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace lin {

constexpr unsigned points = 24;

// The value that covers each point: an item is a run of one value.
using state = std::array<std::uint16_t, points>;

enum class op : std::uint8_t {
    insert,
    erase,
    lookup,
    overlap,
    replace,
    resize,
    floor,
    ceiling,
    join
};

struct item {
    unsigned key = 0, size = 0, value = 0; // value 0: none
    bool operator==(const item&) const = default;
};

struct call {
    std::uint64_t called, returned;
    op what;
    unsigned key, size, value; // the arguments, as far as the call has them
    bool done; // insert, erase, replace, resize, join: it returned 0
    bool exists; // insert, resize: it failed with -EEXIST, not -ENOENT
    item got; // what it found; what there was before
};

inline item item_at(const state& s, unsigned point) {
    item found{point, 1, s[point]};
    if (!found.value)
        return {};
    while (found.key && s[found.key - 1] == found.value)
        found.key--, found.size++;
    while (found.key + found.size < points && s[found.key + found.size] == found.value)
        found.size++;
    return found;
}

inline bool starts(const state& s, unsigned key) {
    return s[key] && (!key || s[key - 1] != s[key]);
}

inline item first_in(const state& s, unsigned from, unsigned to) {
    for (unsigned p = from; p < to; p++)
        if (s[p])
            return item_at(s, p);
    return {};
}

inline void put(state& s, unsigned key, unsigned size, unsigned value) {
    for (unsigned p = key; p < key + size; p++)
        s[p] = static_cast<std::uint16_t>(value);
}

// Play one call. False: its result is not what this state gives.
inline bool play(state& s, const call& c) {
    switch (c.what) {
    case op::insert: {
        bool taken = first_in(s, c.key, c.key + c.size).value;
        if (taken == c.done)
            return false;
        if (c.done)
            put(s, c.key, c.size, c.value);
        return true;
    }
    case op::erase:
    case op::replace: {
        item there = starts(s, c.key) ? item_at(s, c.key) : item{};
        if (c.done != (there.value != 0) || c.got != there)
            return false;
        if (c.done)
            put(s, there.key, there.size, c.what == op::erase ? 0 : c.value);
        return true;
    }
    case op::resize: {
        if (!starts(s, c.key))
            return !c.done && !c.exists;
        item there = item_at(s, c.key);
        bool blocked = c.size > there.size && first_in(s, c.key + there.size, c.key + c.size).value;
        if (c.done == blocked || c.exists != blocked)
            return false;
        if (c.done) {
            put(s, there.key, there.size, 0);
            put(s, c.key, c.size, there.value);
        }
        return true;
    }
    case op::join: { // got: the right one of the two
        bool two = c.key && starts(s, c.key) && s[c.key - 1];
        if (c.done != two || c.got != (two ? item_at(s, c.key) : item{}))
            return false;
        if (two)
            put(s, c.key, c.got.size, s[c.key - 1]);
        return true;
    }
    case op::lookup:
        return c.got == item_at(s, c.key);
    case op::overlap:
        return c.got == first_in(s, c.key, c.key + c.size);
    case op::floor: {
        for (unsigned p = c.key + 1; p-- > 0;)
            if (starts(s, p))
                return c.got == item_at(s, p);
        return c.got == item{};
    }
    case op::ceiling: {
        for (unsigned p = c.key; p < points; p++)
            if (starts(s, p))
                return c.got == item_at(s, p);
        return c.got == item{};
    }
    }
    return false;
}

class checker {
public:
    // At most 64 calls, from this state on.
    bool linearizable(const state& from, std::vector<call> history) {
        calls_ = std::move(history);
        failed_.clear();
        all_ = calls_.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << calls_.size()) - 1;
        return search({0, from});
    }

private:
    struct place {
        std::uint64_t done;
        state now;
        bool operator==(const place&) const = default;
    };
    struct hash {
        std::size_t operator()(const place& p) const {
            std::array<char, sizeof(p.done) + sizeof(p.now)> bytes;
            std::memcpy(bytes.data(), &p.done, sizeof(p.done));
            std::memcpy(bytes.data() + sizeof(p.done), p.now.data(), sizeof(p.now));
            return std::hash<std::string_view>{}({bytes.data(), bytes.size()});
        }
    };

    bool search(const place& at) {
        if (at.done == all_)
            return true;
        if (failed_.contains(at))
            return false;
        std::uint64_t first_return = ~std::uint64_t{0};
        for (std::size_t i = 0; i < calls_.size(); i++)
            if (!(at.done >> i & 1) && calls_[i].returned < first_return)
                first_return = calls_[i].returned;
        for (std::size_t i = 0; i < calls_.size(); i++) {
            if (at.done >> i & 1 || calls_[i].called > first_return)
                continue;
            place next{at.done | std::uint64_t{1} << i, at.now};
            if (play(next.now, calls_[i]) && search(next))
                return true;
        }
        failed_.insert(at);
        return false;
    }

    std::vector<call> calls_;
    std::unordered_set<place, hash> failed_;
    std::uint64_t all_ = 0;
};

} // namespace lin
