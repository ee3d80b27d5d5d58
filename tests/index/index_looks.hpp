// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// index_looks.hpp - the calls that read an index.
#pragma once

#include "index_subject.hpp"

namespace calls {

inline void lookup_pin(index_calls& it, range_call& c) {
    c.next = 0; // references that are held
    const lath_pin how = {
        [](void* arg, const lath_item*) {
            auto* call = static_cast<range_call*>(arg);
            call->next += call->how % 8 != 0;
            return call->how % 8 ? 1 : 0;
        },
        [](void* arg, const lath_item*) { static_cast<range_call*>(arg)->next--; }, &c};
    c.ret = index_api::lookup_pin(it.set(), c.key, &how, &c.got);
    if (c.next != !c.ret)
        c.ret = -EFAULT;
}

inline void scan(index_calls& it, range_call& c) {
    std::vector<lath_item> items(c.size + 1); // arrays that are not NULL
    std::vector<word> keys(c.size + 1), values(c.size + 1);
    std::size_t n = 0;
    c.next = 1;
    if (c.how % 4 == 0) {
        n = index_api::scan(it.set(), c.key, c.other, items.data(), c.size, &c.next);
    } else if (c.how % 4 == 1) {
        n = index_api::scan_values(it.set(), c.key, c.other, keys.data(), values.data(), c.size,
                                   &c.next);
    } else if (c.how % 4 == 2) {
        auto visit = [](void* arg, const word* of, const word* with, std::size_t count) {
            auto* call = static_cast<range_call*>(arg);
            for (std::size_t i = 0; i < count && call->items.size() < call->size; i++)
                call->items.push_back({of[i], 0, with[i]});
            return call->items.size() == call->size ? 1 : 0;
        };
        const int ret =
            c.size ? index_api::visit_values(it.set(), c.key, c.other, c.size, visit, &c) : 0;
        c.ret = ret == (c.size && c.items.size() == c.size) ? 0 : -EFAULT;
        return;
    } else {
        n = index_api::scan_back(it.set(), c.key, c.other, items.data(), c.size, &c.next);
    }
    for (std::size_t i = 0; i < n; i++)
        c.items.push_back(c.how % 4 == 1 ? lath_item{keys[i], 0, values[i]} : items[i]);
}

inline void scan_places(index_calls& it, range_call& c) {
    c.how = 0; // as a scan
    if (value_words > 1)
        return scan(it, c);
    c.items.resize(c.size + 1);
    c.next = 1;
    c.items.resize(
        lath_index_scan_places(it.set(), c.key, c.other, c.items.data(), c.size, &c.next));
    for (lath_item& item : c.items)
        item.value = *reinterpret_cast<const word*>(item.value);
}

// For each key that it has passed, the item that began there was read at some moment.
inline void scan_steps(const range_call& c, std::vector<range_call>& steps) {
    const bool back = c.how % 4 == 3, full = c.items.size() == c.size;
    word low = back ? c.other : c.key, high = back ? c.key : c.other;
    if (full && back)
        low = c.items.back().key;
    else if (full)
        high = c.items.back().key;
    for (word key = low; key <= high; key += c.of->keys.unit) {
        range_call& step = steps.emplace_back(*c.of);
        step.kind = kind_of<index_calls>("starts");
        step.key = key;
        step.ret = -ENOENT;
        for (const lath_item& item : c.items)
            if (item.key == key)
                step.got = item, step.ret = 0;
    }
}

inline void clone(index_calls& it, range_call& c) {
    auto copy = static_cast<lath_index*>(std::aligned_alloc(64, sizeof(lath_index)));
    c.key = c.of->keys.low;
    c.other = c.key + (c.of->keys.units - 1) * c.of->keys.unit;
    c.size = last_key;
    c.ret = lath_index_clone(copy, it.set(), nullptr);
    if (!c.ret) {
        lath_index_verify(copy, 6, nullptr, 0) ? c.ret = -EFAULT : 0;
        word n = lath_index_count(copy);
        c.items.resize(n + 1);
        if (index_api::scan(copy, 0, last_key, c.items.data(), n + 1, nullptr) != n)
            c.ret = -EFAULT;
        c.items.resize(n);
        index_api::fini(copy, nullptr, nullptr);
    }
    std::free(copy);
}

// The cursor is kept over other calls: it goes on from its key whatever happened to its leaf.
inline void step_cursor(index_calls& it, range_call& c) {
    const bool nowhere = it.cursor.entry < 0;
    if (c.how % 4 >= 2) {
        c.other = nowhere;
        c.key = it.cursor.key;
    }
    c.ret = c.how % 4 == 0   ? index_api::cursor_seek(&it.cursor, c.key, &c.got)
            : c.how % 4 == 1 ? index_api::cursor_seek_floor(&it.cursor, c.key, &c.got)
            : c.how % 4 == 2 ? index_api::cursor_next(&it.cursor, &c.got)
                             : index_api::cursor_prev(&it.cursor, &c.got);
}

inline bool cursor_agrees(ranges& m, const range_call& c) {
    const bool up = c.how % 2 == 0, steps = c.how % 4 >= 2;
    word key = c.key;
    if (steps && c.other)
        key = up ? 0 : last_key;
    else if (steps && key == (up ? last_key : 0))
        return !c.ret;
    else if (steps)
        key += up ? 1 : -1;
    const lath_item* there = up ? m.ceiling(key) : m.floor(key);
    return c.ret == !!there && (!there || oracle_same(there, &c.got));
}

// A few steps of a cursor; each is a look by itself.
inline void walk(index_calls& it, range_call& c) {
    lath_cursor cursor;
    lath_item item{};
    lath_cursor_init(&cursor, it.set());
    bool up = c.how % 2;
    int ok = up ? index_api::cursor_seek(&cursor, c.key, &item)
                : index_api::cursor_seek_floor(&cursor, c.key, &item);
    word from = c.key;
    for (unsigned i = 0;; i++) {
        ok = ok && !index_calls::beside(c, item);
        c.batch.push_back({from, up, 0});
        c.rets.push_back(ok ? 0 : -ENOENT);
        c.items.push_back(ok ? item : lath_item{});
        up ^= c.how >> (i + 1) & 1;
        if (!ok || i == 3 || item.key == (up ? last_key : 0))
            return;
        from = up ? item.key + 1 : item.key - 1;
        ok = up ? index_api::cursor_next(&cursor, &item) : index_api::cursor_prev(&cursor, &item);
    }
}

inline void walk_steps(const range_call& c, std::vector<range_call>& steps) {
    each_of<index_calls>("ceiling_item", c, steps);
    for (range_call& step : steps)
        if (!step.size)
            step.kind = kind_of<index_calls>("floor_item");
}

// clang-format off
inline const std::vector<described<index_calls>> index_looks = {
    {"lookup_item_rcu", 3, effect::once, {ENOENT}, nullptr, draw_key,
     [](index_calls& it, range_call& c) {
         lath_rcu_auto.read_lock();
         c.ret = index_api::lookup_item_rcu(it.set(), c.key, &c.got);
         lath_rcu_auto.read_unlock();
     }, [](ranges& m, const range_call& c) { return finds(m.covers(c.key), c); }},
    {"lookup_pin", 3, effect::once, {ENOENT, EBUSY}, nullptr, draw_key, lookup_pin,
     [](ranges& m, const range_call& c) {
         const lath_item* there = m.covers(c.key);
         return c.ret == (!there      ? -ENOENT
                          : c.how % 8 ? 0
                                      : -EBUSY) &&
                (!there || oracle_same(there, &c.got));
     }},
    {"overlap_item", 6, effect::once, {ENOENT, EINVAL}, nullptr, draw_change,
     [](index_calls& it, range_call& c) {
         c.ret = index_api::overlap_item(it.set(), c.key, c.size, &c.got);
         it.see(c);
     },
     [](ranges& m, const range_call& c) {
         return c.wraps() ? c.ret == -EINVAL : finds(m.overlap(c.key, c.last()), c);
     }},
    {"floor_item", 6, effect::once, {ENOENT}, nullptr, draw_key,
     [](index_calls& it, range_call& c) {
         c.ret = index_api::floor_item(it.set(), c.key, &c.got);
         it.see(c);
     }, [](ranges& m, const range_call& c) { return finds(m.floor(c.key), c); }},
    // a look of a scan, which may show no size
    {"starts", 0, effect::once, {ENOENT}, nullptr, nullptr, nullptr,
     [](ranges& m, const range_call& c) {
         const lath_item* there = m.exact(c.key);
         return c.ret == (there ? 0 : -ENOENT) &&
                (!there ||
                 (c.got.value == there->value && (!c.got.size || c.got.size == there->size)));
     }},
    {"scan, scan_values, visit_values, scan_back", 14, effect::apart, {}, nullptr, draw_scan, scan,
     scan_agrees, scan_steps},
    {"scan_places", 3, effect::alone, {}, nullptr, draw_scan, scan_places, scan_agrees},
    {"cursor_seek, cursor_seek_floor, cursor_next, cursor_prev, cursor_init", 8, effect::alone, {},
     nullptr, draw_key, step_cursor, cursor_agrees},
    {"walk", 3, effect::apart, {}, nullptr, draw_key, walk, nullptr, walk_steps},
    {"clone", 1, effect::apart, {ENOMEM}, nullptr, nullptr, clone,
     [](ranges& m, const range_call& c) { return !c.ret && c.items == m.items; }, scan_steps},
    {"rank", 3, effect::alone, {EINVAL}, nullptr, draw_key,
     [](index_calls& it, range_call& c) { c.ret = lath_index_rank(it.set(), c.key); },
     [](ranges& m, const range_call& c) {
         return c.ret == (c.of->ranks ? static_cast<std::int64_t>(m.rank(c.key)) : -EINVAL);
     }},
};
// clang-format on

} // namespace calls
