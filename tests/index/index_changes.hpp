// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// index_changes.hpp - the calls that change the items of an index.
#pragma once

#include "index_subject.hpp"

namespace calls {

inline void insert_preloaded(index_calls& it, range_call& c) {
    const lath_item item = c.item();
    lath_preload preload{};
    c.ret = -EAGAIN;
    while (c.ret == -EAGAIN) {
        c.ret = lath_index_preload(it.set(), &preload);
        it.no_memory(true);
        if (!c.ret)
            c.ret = index_api::insert_preloaded(it.set(), &item, &preload, c.old());
        it.no_memory(false);
    }
    lath_index_preload_release(it.set(), &preload);
}

// Locks the leaf, and looks at what is in it. Returns what locking returned, or -EFAULT: the leaf
// is not the key's.
inline int lock_leaf(index_calls& it, lath_cursor& cursor, word key, lath_item& before) {
    word low, last;
    lath_cursor_init(&cursor, it.set());
    const int ret = lath_cursor_lock(&cursor, key, &low, &last);
    before = {};
    if (ret)
        return ret;
    const bool there = index_api::cursor_locked_floor(&cursor, key, &before);
    return key < low || key > last || (there && before.key > key) ? -EFAULT : 0;
}

inline void cursor_insert(index_calls& it, range_call& c) {
    const lath_item item = c.item();
    lath_item before;
    lath_cursor cursor;
    c.ret = -EAGAIN;
    while (c.ret == -EAGAIN) {
        c.ret = lock_leaf(it, cursor, c.key, before);
        it.no_memory(true);
        if (!c.ret)
            c.ret = index_api::cursor_insert(&cursor, &item, c.old());
        it.no_memory(false);
        // what is in the locked leaf cannot change until the insert
        if (!c.ret && before.size && oracle_last(&before) >= c.key)
            c.ret = -EFAULT;
    }
}

inline void cursor_erase(index_calls& it, range_call& c) {
    lath_item before;
    lath_cursor cursor;
    c.ret = lock_leaf(it, cursor, c.key, before);
    if (!c.ret)
        c.ret = index_api::cursor_erase(&cursor, c.key, c.old());
}

inline void insert_batch(index_calls& it, range_call& c) {
    std::vector<int> rets(c.batch.size(), 1);
    std::size_t n = index_api::insert_batch(it.set(), c.batch.size(), c.batch.data(), rets.data());
    c.rets.assign(rets.begin(), rets.end());
    c.ret = n == static_cast<std::size_t>(std::count(rets.begin(), rets.end(), 0)) ? 0 : -EFAULT;
}

inline void erase_batch(index_calls& it, range_call& c) {
    std::vector<int> rets(c.batch.size(), 1);
    std::vector<word> keys;
    for (const lath_item& one : c.batch)
        keys.push_back(one.key);
    std::size_t n = lath_index_erase_batch(it.set(), keys.size(), keys.data(), rets.data());
    c.rets.assign(rets.begin(), rets.end());
    c.ret = n == static_cast<std::size_t>(std::count(rets.begin(), rets.end(), 0)) ? 0 : -EFAULT;
}

// Most of the time with what the item has, and then it is not refused.
inline void look_first(index_calls& it, range_call& c) {
    lath_item there{};
    if (c.how % 4 == 0 || index_api::lookup_item(it.set(), c.key, &there))
        return;
    c.other = there.value;
    c.value = there.value;
    if (c.kind == kind_of<index_calls>("erase_sized"))
        c.size = there.size;
    else
        c.size = 1 + (c.size - 1) % (oracle_last(&there) - c.key + 1);
}

inline bool erase_part_agrees(ranges& m, const range_call& c) {
    if (!c.valid())
        return c.ret == -EINVAL;
    const lath_item* there = m.covers(c.key);
    if (!there || oracle_last(there) < c.last())
        return c.ret == -ENOENT;
    if (!asks(there, there->value == c.value, c))
        return false;
    if (!c.ret)
        m.cut(c.key, c.last());
    return true;
}

inline void join(index_calls& it, range_call& c) {
    c.items.clear();
    c.ret = index_api::join(
        it.set(), c.key,
        [](void* arg, const lath_item* left, const lath_item* right) {
            auto* call = static_cast<range_call*>(arg);
            call->items = {*left, *right};
            return call->how % 8 ? 1 : 0;
        },
        &c, c.old());
}

inline bool join_agrees(ranges& m, const range_call& c) {
    lath_item *right = m.exact(c.key), *left = c.key ? m.covers(c.key - 1) : nullptr;
    const bool whole = right && left && !left->key && oracle_last(right) == last_key;
    if (c.of->points || whole)
        return c.ret == -EINVAL;
    if (!right || !left)
        return c.ret == -ENOENT;
    if (c.items != std::vector{*left, *right} || c.ret != (c.how % 8 ? 0 : -ECANCELED))
        return false;
    if (c.ret)
        return true;
    left->size += right->size;
    return takes(m, right, c);
}

inline bool erase_range_agrees(ranges& m, const range_call& c) {
    if (c.wraps())
        return c.ret == -EINVAL;
    std::vector<lath_item> gone;
    while (const lath_item* there = m.overlap(c.key, c.last())) {
        gone.push_back(*there);
        m.remove(there);
    }
    return c.ret == static_cast<std::int64_t>(gone.size()) && c.items == gone;
}

// Each item that it erased is an erase; each key was free at some moment.
inline void erase_range_steps(const range_call& c, std::vector<range_call>& steps) {
    for (const lath_item& gone : c.items) {
        range_call& step = steps.emplace_back(*c.of);
        step.kind = kind_of<index_calls>("erase_item");
        step.key = gone.key;
        step.got = gone;
    }
    for (word key = c.key; key <= c.last(); key += c.of->keys.unit) {
        range_call& step = steps.emplace_back(*c.of);
        step.kind = kind_of<index_calls>("lookup_item");
        step.key = key;
        step.ret = -ENOENT;
    }
}

// clang-format off
inline const std::vector<described<index_calls>> index_changes = {
    {"insert_preloaded, preload, preload_release", 6, effect::once, {EEXIST, ENOMEM, EINVAL},
     nullptr, draw_insert, insert_preloaded, insert_agrees},
    {"cursor_insert, cursor_lock, cursor_locked_floor", 6, effect::once, {EEXIST, ENOMEM, EINVAL},
     nullptr, draw_insert, cursor_insert, insert_agrees},
    {"cursor_erase, cursor_lock, cursor_unlock", 4, effect::once, {ENOENT, ENOMEM}, nullptr,
     draw_key, cursor_erase,
     [](ranges& m, const range_call& c) { return takes(m, m.exact(c.key), c); }},
    {"insert_batch", 6, effect::apart, {}, nullptr, draw_batch, insert_batch, nullptr,
     [](const range_call& c, std::vector<range_call>& steps) {
         each_of<index_calls>("insert_item", c, steps);
     }},
    {"erase_batch", 4, effect::apart, {}, nullptr, draw_batch, erase_batch, nullptr,
     [](const range_call& c, std::vector<range_call>& steps) {
         each_of<index_calls>("erase_key", c, steps);
     }},
    // it does not show what it erased
    {"erase_key", 0, effect::once, {ENOENT}, nullptr, nullptr, nullptr,
     [](ranges& m, const range_call& c) {
         const lath_item* there = m.exact(c.key);
         if (there)
             m.remove(there);
         return c.ret == (there ? 0 : -ENOENT);
     }},
    {"erase_item_at", 8, effect::once, {ENOENT}, nullptr, draw_key,
     [](index_calls& it, range_call& c) {
         c.ret = index_api::erase_item_at(it.set(), c.key, c.old());
     }, [](ranges& m, const range_call& c) { return takes(m, m.covers(c.key), c); }},
    {"erase_if", 4, effect::once, {ENOENT, EAGAIN}, nullptr, draw_key,
     [](index_calls& it, range_call& c) {
         look_first(it, c);
         c.ret = index_api::erase_if(it.set(), c.key, c.other, &c.got);
     },
     [](ranges& m, const range_call& c) {
         const lath_item* there = m.exact(c.key);
         return asks(there, there && there->value == c.other, c) &&
                (c.ret || (m.remove(there), true));
     }},
    {"erase_sized", 4, effect::once, {ENOENT, EAGAIN}, nullptr, draw_change,
     [](index_calls& it, range_call& c) {
         look_first(it, c);
         c.ret = index_api::erase_sized(it.set(), c.key, c.size, &c.got);
     },
     [](ranges& m, const range_call& c) {
         const lath_item* there = m.exact(c.key);
         return asks(there, there && there->size == c.size, c) &&
                (c.ret || (m.remove(there), true));
     }},
    {"replace_if", 4, effect::once, {ENOENT, EAGAIN}, nullptr, draw_change,
     [](index_calls& it, range_call& c) {
         const word value = c.value;
         look_first(it, c);
         c.value = value;
         c.ret = index_api::replace_if(it.set(), c.key, c.other, c.value, &c.got);
     },
     [](ranges& m, const range_call& c) {
         lath_item* there = m.exact(c.key);
         const bool holds = there && there->value == c.other,
                    right = c.ret ? asks(there, holds, c) : holds;
         if (holds)
             there->value = c.value;
         return right;
     }},
};
// clang-format on

// clang-format off
inline const std::vector<described<index_calls>> index_changes_of_ranges = {
    {"erase_part", 6, effect::once, {ENOENT, EAGAIN, EINVAL, ENOMEM}, have_sizes, draw_change,
     [](index_calls& it, range_call& c) {
         look_first(it, c);
         const lath_item part = c.item();
         c.ret = index_api::erase_part(it.set(), &part, c.old());
     }, erase_part_agrees},
    {"join", 5, effect::once, {ENOENT, ECANCELED, EINVAL}, have_sizes, draw_key, join, join_agrees},
    {"erase_range", 5, effect::apart, {EINVAL}, have_sizes, draw_change,
     [](index_calls& it, range_call& c) {
         c.ret = index_api::erase_range(it.set(), c.key, c.size, it.note<lath_item>, &c.items);
     }, erase_range_agrees, erase_range_steps},
    {"store_range", 8, effect::once, {EINVAL, ENOMEM}, have_sizes, draw_change,
     [](index_calls& it, range_call& c) {
         const lath_item item = c.item();
         c.ret = index_api::store_range(it.set(), &item, index_calls::note<lath_item>, &c.items);
     },
     [](ranges& m, const range_call& c) {
         if (!c.valid())
             return c.ret == -EINVAL;
         const bool right = !c.ret && c.items == m.cut(c.key, c.last());
         m.insert(c.item());
         return right;
     }},
};
// clang-format on

} // namespace calls
