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

// For each point the value that covers it, and whether an item starts there.
using state = std::array<std::uint32_t, points>;
constexpr std::uint32_t start_bit = 1u << 31;

enum class op : std::uint8_t {
    insert,
    erase,
    lookup,
    overlap,
    replace,
    resize,
    floor,
    ceiling,
    join,
    erase_at, // the item that covers the point
    erase_if,
    erase_part, // points of one item
    replace_if,
    split,
    store, // over whatever is there
    take, // insert into a hole
    hole, // find one
    value, // of the item that covers the point
    starts, // the item that starts at the point
    above, // the first one that starts behind the point
    below,
};

struct item {
    unsigned key = 0, size = 0, value = 0; // value 0: none
    bool operator==(const item&) const = default;
};

struct call {
    std::uint64_t called, returned;
    op what;
    unsigned key, size, value; // the arguments, as far as the call has them
    bool done;   // it returned 0, of the calls that change something, or search a hole
    bool exists; // it failed with -EEXIST or -EAGAIN, not -ENOENT
    item got;    // what it found; what there was before; the hole
    unsigned expected = 0;     // of erase_if, erase_part, replace_if
    unsigned last = points, align = 1; // of take, hole: in [key, last), a multiple
    bool silent = false;     // it does not tell what there was before
};

inline std::uint32_t value_at(const state& s, unsigned point) { return s[point] & ~start_bit; }

inline bool starts(const state& s, unsigned key) { return s[key] & start_bit; }

inline item item_at(const state& s, unsigned point) {
    item found{point, 1, value_at(s, point)};
    if (!found.value)
        return {};
    while (!starts(s, found.key))
        found.key--, found.size++;
    while (found.key + found.size < points && s[found.key + found.size] == found.value)
        found.size++;
    return found;
}

inline item first_in(const state& s, unsigned from, unsigned to) {
    for (unsigned p = from; p < to; p++)
        if (s[p])
            return item_at(s, p);
    return {};
}

// Puts an item there. An item that it overlaps in part keeps the points that are not covered.
inline void put(state& s, unsigned key, unsigned size, unsigned value) {
    unsigned end = key + size;
    if (end < points && s[end])
        s[end] |= start_bit;
    for (unsigned p = key; p < end; p++)
        s[p] = value;
    if (value)
        s[key] |= start_bit;
}

// Calls that change nothing.
inline bool reads(op what) {
    switch (what) {
    case op::lookup:
    case op::overlap:
    case op::floor:
    case op::ceiling:
    case op::hole:
    case op::value:
    case op::starts:
    case op::above:
    case op::below:
        return true;
    default:
        return false;
    }
}

inline bool play_read(const state& s, const call& c) {
    switch (c.what) {
    case op::lookup:
        return c.got == item_at(s, c.key);
    case op::value:
        return c.got.value == value_at(s, c.key);
    case op::starts:
        return c.got == (starts(s, c.key) ? item_at(s, c.key) : item{});
    case op::overlap:
        return c.got == first_in(s, c.key, c.key + c.size);
    case op::floor:
    case op::below: {
        for (unsigned p = c.key + (c.what == op::floor); p-- > 0;)
            if (starts(s, p))
                return c.got == item_at(s, p);
        return c.got == item{};
    }
    default: {
        for (unsigned p = c.key + (c.what == op::above); p < points; p++)
            if (starts(s, p))
                return c.got == item_at(s, p);
        return c.got == item{};
    }
    }
}

inline bool play_hole(state& s, const call& c) {
    if (c.done) {
        unsigned at = c.got.key;
        if (at < c.key || at + c.size > c.last || at % c.align ||
            first_in(s, at, at + c.size).value)
            return false;
        if (c.what == op::take)
            put(s, at, c.size, c.value);
        return true;
    }
    for (unsigned p = c.key; p + c.size <= c.last; p++)
        if (p % c.align == 0 && !first_in(s, p, p + c.size).value)
            return false;
    return true;
}

// Play one call that concerns the item that starts at its key, or covers it.
inline bool play_on_item(state& s, const call& c) {
    bool covers = c.what == op::erase_at;
    item there = covers || starts(s, c.key) ? item_at(s, c.key) : item{};
    bool conditional = c.what == op::erase_if || c.what == op::replace_if;
    bool differs = conditional && there.value && there.value != c.expected;
    if (c.exists != differs || c.done != (there.value && !differs))
        return false;
    if ((c.done || differs) && !c.silent && c.got != there)
        return false;
    if (!c.done)
        return true;
    bool erases = covers || c.what == op::erase || c.what == op::erase_if;
    put(s, there.key, there.size, erases ? 0 : c.value);
    return true;
}

// Play an erase of points that one item covers.
inline bool play_part(state& s, const call& c) {
    item there = item_at(s, c.key);
    bool covered = there.value && c.key + c.size <= there.key + there.size;
    bool differs = covered && there.value != c.expected;
    if (c.exists != differs || c.done != (covered && !differs) || (covered && c.got != there))
        return false;
    if (c.done)
        put(s, c.key, c.size, 0);
    return true;
}

// Play one call. False: its result is not what this state gives.
inline bool play(state& s, const call& c) {
    if (c.what == op::take || c.what == op::hole)
        return play_hole(s, c);
    if (reads(c.what))
        return play_read(s, c);
    switch (c.what) {
    case op::insert: {
        bool taken = first_in(s, c.key, c.key + c.size).value;
        if (taken == c.done)
            return false;
        if (c.done)
            put(s, c.key, c.size, c.value);
        return true;
    }
    case op::store:
        put(s, c.key, c.size, c.value);
        return true;
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
    case op::split: {
        item there = item_at(s, c.key);
        bool at_start = there.value && there.key == c.key;
        if (c.exists != at_start || c.done != (there.value && !at_start))
            return false;
        if (c.done)
            put(s, c.key, there.key + there.size - c.key, c.value);
        return true;
    }
    case op::join: { // got: the right one of the two
        bool two = c.key && starts(s, c.key) && s[c.key - 1];
        if (c.done != two || c.got != (two ? item_at(s, c.key) : item{}))
            return false;
        if (two)
            for (unsigned p = c.key, value = value_at(s, c.key - 1); p < c.key + c.got.size; p++)
                s[p] = value;
        return true;
    }
    case op::erase_part:
        return play_part(s, c);
    default:
        return play_on_item(s, c);
    }
}

class checker {
public:
        // At most 64 calls, from this state on; to this one, if not null.
    bool linearizable(const state& from, std::vector<call> history, const state* to = nullptr) {
        calls_ = std::move(history);
        to_ = to;
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
            return !to_ || at.now == *to_;
        if (failed_.contains(at))
            return false;
        std::uint64_t first_return = ~std::uint64_t{0};
        for (std::size_t i = 0; i < calls_.size(); i++)
            if (!(at.done >> i & 1) && calls_[i].returned < first_return)
                first_return = calls_[i].returned;
        // A read that this state answers so may take place here: it constrains no other
        // call.
        for (std::size_t i = 0; i < calls_.size(); i++) {
            place next{at.done | std::uint64_t{1} << i, at.now};
            if (!(at.done >> i & 1) && calls_[i].called < first_return && reads(calls_[i].what) &&
                play(next.now, calls_[i]))
                return search(next);
        }
        for (std::size_t i = 0; i < calls_.size(); i++) {
            if (at.done >> i & 1 || calls_[i].called > first_return || reads(calls_[i].what))
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
    const state* to_ = nullptr;
};

} // namespace lin
