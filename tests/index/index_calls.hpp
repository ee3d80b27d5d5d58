// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// index_calls.hpp - an index of ranges or points (lathwork/index.h, cursor.h, hole.h) described once
// (base/calls.hpp).
#pragma once

#include "index_changes.hpp"
#include "index_looks.hpp"

namespace calls {

// One request again and again, until there is no more room for it.
inline void fill_holes(index_calls& it, range_call& c) {
    word key;
    int ret = 0;
    while (!ret && c.items.size() < 600) {
        ret = lath_index_insert_hole(it.set(), &c.want, c.value, &key);
        c.rets.push_back(ret);
        c.items.push_back({ret ? 0 : key, c.want.size, c.value});
    }
}

inline void fill_steps(const range_call& c, std::vector<range_call>& steps) {
    range_call step = c;
    step.kind = kind_of<index_calls>("insert_hole");
    step.items.clear();
    step.rets.clear();
    for (std::size_t i = 0; i < c.items.size(); i++) {
        step.got = c.items[i];
        step.ret = c.rets[i];
        steps.push_back(step);
    }
}

// clang-format off
inline const std::vector<described<index_calls>> index_fill = {
    {"fill_holes", 2, effect::alone, {}, [](const range_setup& s) { return s.holes; },
     [](range_setup& s, source& from, range_call& c) {
         draw_hole(s, from, c);
         c.want.policy = static_cast<lath_hole_policy>(c.want.policy % LATH_HOLE_EXACT);
         c.want.size = std::max<word>(c.want.size, s.keys.unit);
     }, fill_holes, nullptr, fill_steps},
};
// clang-format on

// ---- upkeep, and calls that exclude all others ----

// Loads sorted items, or some that are not.
inline void load(index_calls& it, range_call& c) {
    std::size_t bad = 0;
    c.ret = index_api::load_sorted(it.set(), c.batch.size(), c.batch.data(), &bad);
    c.other = bad;
}

inline void draw_load(range_setup& s, source& from, range_call& c) {
    c.how = from.byte();
    word key = s.fresh(from) / 2;
    const word unit = s.keys.unit, step = s.points ? unit : 3 * unit;
    for (unsigned n = c.how % 16 * 64u; n && key < last_key - step; n--, key += step)
        c.batch.push_back({key, s.points ? 1 : 2 * unit, s.value(from)});
    if (c.how % 32 >= 28 && c.batch.size() > 3)
        std::swap(c.batch[1], c.batch[2]);
}

inline bool load_agrees(ranges& m, const range_call& c) {
    const bool right =
        std::is_sorted(c.batch.begin(), c.batch.end(),
                       [](const lath_item& a, const lath_item& b) { return a.key < b.key; });
    if (c.ret == -EINVAL)
        return !right && c.other == 2;
    if (!m.items.empty())
        return c.ret == -EBUSY;
    if (right)
        m.items = c.batch;
    return right && !c.ret;
}

// The live entries of the leaves, as they are printed.
inline void dump(index_calls& it, range_call& c) {
    std::string text;
    lath_index_dump(
        it.set(), [](void* arg, const char* piece) { *static_cast<std::string*>(arg) += piece; },
        &text);
    for (std::size_t line = 0, end; line < text.size(); line = end + 1) {
        end = std::min(text.find('\n', line), text.size());
        if (text.find("\"level\":0", line) > end)
            continue;
        const char* at = text.c_str() + text.find("\"entries\":[", line) + 11;
        for (; *at == '[' || *at == ','; at++) {
            std::array<word, 4> entry{};
            at += *at == ',';
            for (word& number : entry) {
                char* next;
                number = std::strtoull(at + 1, &next, 10);
                at = next;
            }
            if (entry[3])
                c.items.push_back({entry[0], entry[1], entry[2]});
        }
    }
}

// clang-format off
inline const std::vector<described<index_calls>> index_upkeep = {
    {"clear", 1, effect::alone, {}, nullptr,
     [](range_setup& s, source&, range_call&) { s.next = "load_sorted"; },
     [](index_calls& it, range_call& c) {
         c.ret = index_api::clear(it.set(), index_calls::note<lath_item>, &c.items);
     },
     [](ranges& m, const range_call& c) {
         const bool right = c.items == m.items && static_cast<std::size_t>(c.ret) == m.items.size();
         m.items.clear();
         return right;
     }},
    {"load_sorted", 1, effect::alone, {EBUSY, EINVAL, ENOMEM}, nullptr, draw_load, load,
     load_agrees},
    {"trim", 4, effect::none, {}, nullptr, draw_key,
     [](index_calls& it, range_call& c) {
         word begin = 0;
         word& at = c.of->together ? begin : it.trimmed;
         if (c.how % 4 == 0)
             at = 0;
         for (unsigned i = 0; i < 3; i++)
             lath_index_trim(it.set(), c.how / 4, &at);
     }},
    {"get_stats", 1, effect::alone, {}, nullptr, nullptr,
     [](index_calls& it, range_call& c) {
         lath_index_stats stats{};
         lath_index_get_stats(it.set(), &stats);
         c.ret = static_cast<std::int64_t>(stats.items);
         c.other = stats.bytes && stats.leaves && stats.levels && stats.leaves * 64 >= stats.items;
     },
     [](ranges& m, const range_call& c) {
         return static_cast<std::size_t>(c.ret) == m.items.size() && c.other;
     }},
    {"dump", 1, effect::alone, {}, nullptr, nullptr, dump,
     [](ranges& m, const range_call& c) { return c.items == m.items; }},
    {"prepare", 1, effect::none, {}, nullptr, nullptr,
     [](index_calls& it, range_call&) { lath_index_prepare(it.set()); }},
    {"prefetch", 1, effect::none, {}, nullptr, draw_key,
     [](index_calls& it, range_call& c) { lath_index_prefetch(it.set(), c.key); }},
};
// clang-format on

inline const std::vector<described<index_calls>> index_calls::kinds =
    joined({range_changes<index_calls, index_api>(), index_changes, index_changes_of_ranges,
            range_looks<index_calls, index_api>(), range_counts<index_calls, index_api>(),
            index_looks, range_holes<index_calls, index_api>(), index_fill, index_upkeep});

inline void index_calls::draw_loaded(setup& s, source& from, std::vector<call>& loaded) {
    const unsigned n = from.below(static_cast<unsigned>(s.keys.units) + 1),
                   away = from.below(2) ? from.below(n + 1) : 0;
    for (unsigned i = 0; i < n + away + 1; i++) {
        call c(s);
        c.kind = kind_of<index_calls>(i < n            ? "insert_item"
                                      : i < n + away   ? "erase_item"
                                      : from.one_in(4) ? "prepare"
                                                       : "prefetch");
        i < n ? draw_insert(s, from, c) : draw_key(s, from, c);
        loaded.push_back(c);
    }
}

inline unsigned index_calls::most_steps(const setup& s, const call& c) {
    const described<index_calls>& kind = kinds[c.kind];
    if (kind.effect != effect::apart)
        return kind.effect == effect::once;
    if (kind.steps == scan_steps)
        return static_cast<unsigned>(s.keys.units);
    return kind.steps == erase_range_steps ? static_cast<unsigned>(2 * c.size / s.keys.unit) : 4;
}

} // namespace calls
