// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// ranges_calls.hpp - the calls that all containers of disjoint ranges have, described once
// (calls.hpp): an index (index_calls.hpp) and a small container (small/small_calls.hpp).
#pragma once

#include "base/calls.hpp"
#include "base/ranges.hpp"

#include "lathwork/hole.h"

#include <array>
#include <cstdio>
#include <string>

namespace calls {

constexpr word last_key = ~word{0};

// The domain of keys: `units` units of `unit` keys from `low` on, one by one, in clusters far
// apart, or scattered over all keys.
struct key_domain {
    word low, unit, units;
    enum { one_by_one, clusters, scattered } how = one_by_one;
};

constexpr key_domain domains[] = {
    {0, 1, 512}, // dense
    {0, 4096, 65536}, // pages
    {0, 1, 65536, key_domain::clusters},
    {last_key - 511, 1, 512}, // up to the last one
    {0, 1, 65536, key_domain::scattered},
    {0, 1, 6}, // the edges, most of the time
    {0, 1, 1200},
    {4096, 4096, 1000}, // page 0 left out
    {(1ull << 32) - 700, 1, 1400}, // about the 32-bit line
    {0, 1ull << 54, 1024}, // all keys, in huge units
    {12345, 3, 900}, // nothing is aligned
    {1ull << 40, 1ull << 21, 4000}, // many leaves
};
constexpr unsigned domain_of_edges = 5;

constexpr word edges[] = {0,
                          1,
                          2,
                          3,
                          (1ull << 32) - 1,
                          (1ull << 63) - 1,
                          1ull << 63,
                          (1ull << 63) + 1,
                          last_key - 3,
                          last_key - 2,
                          last_key - 1,
                          last_key};

struct range_setup : any_setup {
    bool points = false, ranks = false, holes = false;
    key_domain keys;
    unsigned edge = 2; // percent of the keys that are at an edge
    unsigned batch = 24, scan = 64; // most elements
    word values = 0; // that were given to items, and that do not agree unless
    bool any_width = false; // they may be of any number of bytes
    std::array<word, 256> known{}; // keys that calls have had
    unsigned knowns = 0;

    word fresh(source& from) {
        const word n = from.below(65536);
        word key = keys.low + n % keys.units * keys.unit;
        if (keys.how == key_domain::clusters)
            key = n % 7 << 60 | n / 7 % 128;
        if (keys.how == key_domain::scattered)
            key = n << 48 | n * 0x9e3779b97f4a7c15u >> 16;
        if (!together && from.below(100) < edge)
            key = from.pick(edges);
        known[knowns++ % known.size()] = key;
        return key;
    }
    // A key that some call has had, most of the time, or one beside it.
    word key(source& from) {
        const unsigned how = from.byte();
        if (!knowns || how % 4 == 0)
            return fresh(from);
        const word old = known[from.below(std::min<unsigned>(knowns, known.size()))];
        return together || how >= 16 ? old : old + how % 3 - 1;
    }
    // The number of keys behind `key` that are still in the domain, where it has an end.
    word room(word key) const { return keys.low + keys.units * keys.unit - key; }
    word size(source& from, word key) {
        const unsigned n = from.byte();
        if (points)
            return n == 255 ? 2 : n == 254 ? 0 : 1;
        if (together)
            return keys.unit * (1 + n % std::min<word>(4, room(key) / keys.unit));
        if (n < 150)
            return keys.unit * (n % 4 + 1);
        if (n < 230)
            return keys.unit * (n % 32 + 1);
        if (n < 250)
            return keys.unit << (n - 230) % 13;
        const word far[] = {0, -key, last_key - key, 1 - key, last_key - n % 4, 1ull << 63};
        return far[n - 250];
    }
    word value(source& from) {
        static constexpr unsigned shifts[] = {64, 60, 58, 56, 48, 40, 17, 0};
        const unsigned shift = any_width ? from.pick(shifts) : 0;
        values++;
        return !any_width    ? values
               : shift == 64 ? 0
                             : (from.below(65536) + 1) * 0x9e3779b97f4a7c15u >> shift;
    }
};

struct range_call {
    range_call() = default;
    explicit range_call(const range_setup& setup) : of(&setup) {}

    const range_setup* of = nullptr;
    unsigned kind = 0, how = 0;
    word key = 0, size = 0, value = 0, other = 0; // arguments
    lath_hole_request want{};
    std::vector<lath_item> batch; // arguments of a call with many
    std::int64_t ret = 0;
    lath_item got{};
    word next = 0;
    std::vector<lath_item> items; // results of a call with many
    std::vector<std::int64_t> rets; // of each of them
    std::vector<word> words; // results of other kinds
    word called = 0, returned = 0;

    lath_item item() const { return {key, size, value}; }
    word last() const { return key + (size - 1); }
    bool wraps() const { return !size || size - 1 > last_key - key; }
    lath_item* old() { return blind() ? nullptr : &got; }
    bool blind() const { return how % 8 == 7; } // it does not ask for the item
    bool valid() const { return !wraps() && (!of->points || size == 1); }
};

inline void print(std::FILE* out, const range_call& c) {
    auto show = [](word n) { return static_cast<unsigned long long>(n); };
    std::fprintf(out, " key %#llx size %#llx value %llu other %#llx how %u", show(c.key),
                 show(c.size), show(c.value), show(c.other), c.how);
    if (c.want.size || c.want.high)
        std::fprintf(out,
                     ", a hole of %#llx align %#llx in [%#llx, %#llx) below %#llx hint "
                     "%#llx policy %d",
                     show(c.want.size), show(c.want.align), show(c.want.low), show(c.want.high),
                     show(c.want.below), show(c.want.hint), c.want.policy);
    std::fprintf(out, ": %lld, %#llx+%#llx=%llu next %#llx, %zu items [%llu, %llu]\n",
                 static_cast<long long>(c.ret), show(c.got.key), show(c.got.size),
                 show(c.got.value), show(c.next), c.items.size(), show(c.called), show(c.returned));
}

inline void print(std::FILE* out, const range_setup& s) {
    std::fprintf(out, "  %s%s%s, keys from %#llx on, %llu times %#llx\n",
                 s.points ? "points" : "ranges", s.ranks ? ", ranks" : "", s.holes ? ", holes" : "",
                 static_cast<unsigned long long>(s.keys.low),
                 static_cast<unsigned long long>(s.keys.units),
                 static_cast<unsigned long long>(s.keys.unit));
}

// ---- arguments ----

inline void draw_key(range_setup& s, source& from, range_call& c) {
    c.key = s.key(from);
    c.how = from.byte();
    c.other = 1 + from.below(65536) % (s.values + 1);
}
inline void draw_change(range_setup& s, source& from, range_call& c) {
    draw_key(s, from, c);
    c.size = s.size(from, c.key);
    c.value = s.value(from);
}
inline void draw_insert(range_setup& s, source& from, range_call& c) {
    c.key = from.one_in(4) ? s.key(from) : s.fresh(from);
    c.how = from.byte();
    c.size = s.size(from, c.key);
    c.value = s.value(from);
}
inline void draw_batch(range_setup& s, source& from, range_call& c) {
    c.batch.resize(1 + from.below(s.batch));
    for (lath_item& it : c.batch) {
        it.key = s.key(from);
        it.size = s.size(from, it.key);
        it.value = s.value(from);
    }
}
// key: where a scan begins; other: where it ends; size: the most items
inline void draw_scan(range_setup& s, source& from, range_call& c) {
    c.key = from.one_in(4) ? 0 : s.key(from);
    c.other = from.one_in(3) ? last_key : s.key(from);
    c.size = from.one_in(16) ? 0 : 1 + from.below(s.scan);
    c.how = from.byte();
    if (s.together) { // within the domain, and not against its order
        c.key = std::max(c.key, s.keys.low);
        c.other = std::max(c.key, std::min(c.other, s.keys.low + s.keys.units * s.keys.unit - 1));
        c.size = std::max<word>(c.size, 1);
    }
}
inline void draw_hole(range_setup& s, source& from, range_call& c) {
    const unsigned how = from.byte();
    const word end = s.keys.low + s.keys.units * s.keys.unit; // 0: 2^64
    word a = s.key(from), b = s.key(from);
    c.value = s.value(from);
    c.want.size = (from.one_in(4) ? 1 + from.below(32) : 1 + from.below(4)) * s.keys.unit;
    c.want.low = s.keys.low;
    c.want.high = end;
    c.want.policy = static_cast<lath_hole_policy>(from.below(6));
    c.want.hint = s.key(from);
    if (how % 4 == 1) // aligned to the size, as DMA asks for
        for (c.want.align = 1; c.want.align < c.want.size; c.want.align *= 2)
            ;
    else if (how % 4 == 2)
        c.want.align = s.keys.unit << from.below(10);
    if (c.want.align & (c.want.align - 1))
        c.want.align = 1ull << from.below(16);
    if (c.want.policy == LATH_HOLE_EXACT && c.want.align && how % 8 != 1)
        c.want.hint &= ~(c.want.align - 1);
    if (how % 16 >= 12) {
        c.want.low = std::min(a, b);
        c.want.high = std::max(a, b) + s.keys.unit * (s.together || how / 16 % 2);
    }
    if (s.together)
        return;
    if (how % 32 == 7) // the room around the domain is found as well
        c.want.low = c.want.high = 0;
    if (how % 8 == 5)
        c.want.below = a;
    if (how >= 250) {
        constexpr auto no_policy = static_cast<lath_hole_policy>(6);
        const lath_hole_request wrong[] = {
            {0, 1, 0, 0, 0, 0, LATH_HOLE_FIRST}, {1, 6, 0, 0, 0, 0, LATH_HOLE_FIRST},
            {1, 1, 9, 9, 0, 0, LATH_HOLE_FIRST}, {last_key - 2, 1, 0, 0, 0, 0, LATH_HOLE_FIRST},
            {1, 4, 0, 0, 0, 5, LATH_HOLE_EXACT}, {1, 1, 0, 0, 0, 0, no_policy}};
        c.want = wrong[how - 250];
    }
}

// ---- what the model says ----

inline bool finds(const lath_item* there, const range_call& c) {
    return c.ret == (there ? 0 : -ENOENT) && (!there || oracle_same(there, &c.got));
}
// likewise, where the pointer for the item may be NULL
inline bool finds_or_blind(const lath_item* there, const range_call& c) {
    return c.blind() ? c.ret == (there ? 0 : -ENOENT) && !c.got.size : finds(there, c);
}
inline bool takes(ranges& m, const lath_item* there, const range_call& c) {
    const bool right = finds_or_blind(there, c);
    if (right && there)
        m.remove(there);
    return right;
}
// The call asked for an item with something that it has (`holds`), or not.
inline bool asks(const lath_item* there, bool holds, const range_call& c) {
    return c.ret == (!there  ? -ENOENT
                     : holds ? 0
                             : -EAGAIN) &&
           (!there || (c.blind() && !c.got.size) || oracle_same(there, &c.got));
}

inline bool insert_agrees(ranges& m, const range_call& c) {
    if (!c.valid())
        return c.ret == -EINVAL;
    if (m.is_free(c.key, c.size)) {
        m.insert(c.item());
        return !c.ret;
    }
    if (c.ret != -EEXIST)
        return false;
    const lath_item* there = m.exact(c.got.key);
    return c.blind() ? !c.got.size
                     : (there && oracle_same(there, &c.got) && there->key <= c.last() &&
                        oracle_last(there) >= c.key);
}

inline bool replace_agrees(ranges& m, const range_call& c) {
    lath_item* there = m.exact(c.key);
    const bool right = finds_or_blind(there, c);
    if (there)
        there->value = c.value;
    return right;
}

inline bool resize_agrees(ranges& m, const range_call& c) {
    if (c.of->points || c.wraps())
        return c.ret == -EINVAL;
    lath_item* there = m.exact(c.key);
    if (!there)
        return c.ret == -ENOENT;
    if (c.size > there->size && !m.is_free(oracle_last(there) + 1, c.size - there->size))
        return c.ret == -EEXIST;
    there->size = c.size;
    return !c.ret;
}

inline bool split_agrees(ranges& m, const range_call& c) {
    lath_item* there = m.covers(c.key);
    if (!there || there->key == c.key)
        return c.ret == (there ? -EEXIST : -ENOENT);
    const lath_item right{c.key, oracle_last(there) - c.key + 1, c.value};
    there->size = c.key - there->key;
    m.insert(right);
    return !c.ret;
}

inline bool scan_agrees(ranges& m, const range_call& c) {
    const bool back = c.how % 4 == 3;
    std::vector<lath_item> want = back ? m.between(c.other, c.key) : m.between(c.key, c.other);
    if (back)
        std::reverse(want.begin(), want.end());
    const bool all = c.size && want.size() >= c.size;
    want.resize(std::min<std::size_t>(want.size(), c.size));
    if (c.how % 4) // what it shows has no sizes
        for (std::size_t i = 0; !back && i < want.size(); i++)
            want[i].size = 0;
    return c.items == want &&
           (!all || c.how % 4 == 2 ||
            c.next == (back ? want.back().key - 1
                            : want.back().key + std::max<word>(want.back().size, 1)));
}

inline bool hole_agrees(ranges& m, const range_call& c, bool takes) {
    oracle now = m.view();
    word best = 0;
    const int want = c.of->holes ? oracle_find(&now, &c.want, &best) : -EINVAL;
    if (c.ret != want || want)
        return c.ret == want;
    // beside other calls it is the policy's choice of the holes that the search met
    if (!(c.of->together ? oracle_serves(&now, &c.want, c.got.key)
                         : oracle_accepts(&now, &c.want, c.got.key)))
        return false;
    if (takes)
        m.insert({c.got.key, c.want.size, c.value});
    return true;
}

inline bool hole_stats_agree(ranges& m, const range_call& c) {
    lath_hole_stats stats;
    std::memcpy(&stats, c.words.data(), sizeof(stats));
    oracle now = m.view();
    oracle_holes holes;
    if (!c.of->holes || c.key > c.other - 1)
        return c.ret == -EINVAL;
    if (!c.key && !c.other && m.items.empty())
        return !c.ret && stats.holes == 1 && !stats.free && stats.largest == last_key &&
               stats.largest_order == 63 && stats.histogram[63] == 1 &&
               !stats.fragmentation_permille; // all 2^64 keys: one too many for the oracle
    oracle_measure(&now, c.key, c.other, &holes);
    if (c.ret || stats.largest != holes.largest || stats.largest_order != holes.order)
        return false;
    return stats.sampled ||
           (stats.free == holes.free && stats.holes == holes.holes &&
            oracle_permille(&holes, stats.fragmentation_permille) &&
            !std::memcmp(stats.histogram, holes.histogram, sizeof(holes.histogram)));
}

// The elements of a call with many, each a call of this kind.
template <class C>
void each_of(const char* name, const range_call& c, std::vector<range_call>& steps) {
    for (std::size_t i = 0; i < c.batch.size(); i++) {
        range_call& step = steps.emplace_back(*c.of);
        step.kind = kind_of<C>(name);
        step.key = c.batch[i].key;
        step.size = c.batch[i].size;
        step.value = c.batch[i].value;
        step.how = 7; // blind
        step.ret = c.rets[i];
        step.got = i < c.items.size() ? c.items[i] : lath_item{};
    }
}

// ---- the calls ----
//
// C: the container, with set(). Api: its functions.

inline bool have_sizes(const range_setup& s) { return !s.points || !s.together; }

template <class C, class Api>
std::vector<described<C>> range_changes() {
    // clang-format off
    return {
        {"insert_item", 60, effect::once, {EEXIST, ENOMEM, EINVAL}, nullptr, draw_insert,
         [](C& it, range_call& c) {
             const lath_item item = c.item();
             c.ret = Api::insert_item(it.set(), &item, c.old());
         }, insert_agrees},
        {"erase_item", 28, effect::once, {ENOENT}, nullptr, draw_key,
         [](C& it, range_call& c) { c.ret = Api::erase_item(it.set(), c.key, c.old()); },
         [](ranges& m, const range_call& c) { return takes(m, m.exact(c.key), c); }},
        {"replace_item", 8, effect::once, {ENOENT}, nullptr, draw_change,
         [](C& it, range_call& c) { c.ret = Api::replace_item(it.set(), c.key, c.value, c.old()); },
         replace_agrees},
        {"resize", 8, effect::once, {ENOENT, EEXIST, EINVAL, ENOMEM}, have_sizes, draw_change,
         [](C& it, range_call& c) { c.ret = Api::resize(it.set(), c.key, c.size); }, resize_agrees},
        {"split", 6, effect::once, {ENOENT, EEXIST, ENOMEM}, have_sizes,
         [](range_setup& s, source& from, range_call& c) {
             draw_change(s, from, c);
             if (!s.together ||
                 s.room(c.key) > 4 * s.keys.unit) // most keys that are known begin an item
                 c.key += c.how % 4 * (s.together ? s.keys.unit : 1);
         }, [](C& it, range_call& c) { c.ret = Api::split(it.set(), c.key, c.value); },
         split_agrees},
    };
    // clang-format on
}

template <class C, class Api>
std::vector<described<C>> range_looks() {
    // clang-format off
    return {
        {"get", 8, effect::once, {}, nullptr, draw_key,
         [](C& it, range_call& c) { c.ret = Api::get(it.set(), c.key, &c.got.value); },
         [](ranges& m, const range_call& c) {
             const lath_item* there = m.covers(c.key);
             return c.ret == !!there && (!there || c.got.value == there->value);
         }},
        {"lookup_item", 8, effect::once, {ENOENT}, nullptr, draw_key,
         [](C& it, range_call& c) { c.ret = Api::lookup_item(it.set(), c.key, &c.got); },
         [](ranges& m, const range_call& c) { return finds(m.covers(c.key), c); }},
        {"ceiling_item", 6, effect::once, {ENOENT}, nullptr, draw_key,
         [](C& it, range_call& c) {
             c.ret = Api::ceiling_item(it.set(), c.key, &c.got);
             it.see(c);
         }, [](ranges& m, const range_call& c) { return finds(m.ceiling(c.key), c); }},
        {"get_batch", 5, effect::apart, {}, nullptr, draw_batch,
         [](C& it, range_call& c) {
             std::vector<word> keys, values(c.batch.size());
             std::vector<std::uint8_t> hits(c.batch.size());
             for (const lath_item& one : c.batch)
                 keys.push_back(one.key);
             std::size_t n =
                 Api::get_batch(it.set(), keys.size(), keys.data(), values.data(), hits.data());
             for (std::size_t i = 0; i < keys.size(); i++) {
                 c.rets.push_back(hits[i]);
                 c.items.push_back({keys[i], 0, values[i]});
                 n -= hits[i];
             }
             c.ret = n ? -EFAULT : 0; // the number of hits
         }, nullptr,
         [](const range_call& c, std::vector<range_call>& steps) { each_of<C>("get", c, steps); }},
    };
    // clang-format on
}

// how many, and which
template <class C, class Api>
std::vector<described<C>> range_counts() {
    // clang-format off
    return {
        {"count_range", 3, effect::alone, {EINVAL}, nullptr, draw_scan,
         [](C& it, range_call& c) { c.ret = Api::count_range(it.set(), c.key, c.other); },
         [](ranges& m, const range_call& c) {
             return c.ret == (c.of->ranks
                                  ? static_cast<std::int64_t>(m.between(c.key, c.other).size())
                                  : -EINVAL);
         }},
        {"select", 3, effect::alone, {ENOENT, EINVAL}, nullptr, draw_key,
         [](C& it, range_call& c) { c.ret = Api::select(it.set(), c.how, &c.got); },
         [](ranges& m, const range_call& c) {
             return c.of->ranks ? finds(c.how < m.items.size() ? &m.items[c.how] : nullptr, c)
                                : c.ret == -EINVAL;
         }},
        {"count", 2, effect::none, {}, nullptr, nullptr,
         [](C& it, range_call& c) { c.ret = static_cast<std::int64_t>(Api::count(it.set())); },
         [](ranges& m, const range_call& c) {
             return static_cast<std::size_t>(c.ret) == m.items.size();
         }},
    };
    // clang-format on
}

// Without holes they refuse: now and then.
inline bool have_holes(const range_setup& s) {
    return s.holes || (!s.together && s.knowns % 16 == 0);
}

template <class C, class Api>
std::vector<described<C>> range_holes() {
    // clang-format off
    return {
        {"find_hole", 40, effect::once, {ENOSPC, EINVAL}, have_holes, draw_hole,
         [](C& it, range_call& c) { c.ret = Api::find_hole(it.set(), &c.want, &c.got.key); },
         [](ranges& m, const range_call& c) { return hole_agrees(m, c, false); }},
        {"insert_hole", 70, effect::once, {ENOSPC, EINVAL, ENOMEM}, have_holes, draw_hole,
         [](C& it, range_call& c) {
             c.ret = Api::insert_hole(it.set(), &c.want, c.value, &c.got.key);
         }, [](ranges& m, const range_call& c) { return hole_agrees(m, c, true); }},
        {"hole_stats", 5, effect::none, {EINVAL}, have_holes,
         [](range_setup& s, source& from, range_call& c) {
             draw_key(s, from, c);
             c.other = c.how % 4 ? s.key(from) : 0;
             c.key = c.how % 8 == 4 ? 0 : c.key;
         },
         [](C& it, range_call& c) {
             lath_hole_stats stats{};
             c.ret = Api::hole_stats(it.set(), c.key, c.other, c.how % 3, &stats);
             c.words.resize(sizeof(stats) / sizeof(word));
             std::memcpy(c.words.data(), &stats, sizeof(stats));
         }, hole_stats_agree},
    };
    // clang-format on
}

} // namespace calls
