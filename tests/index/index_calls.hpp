// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// index_calls.hpp - an index of ranges or points (lathwork/index.h, cursor.h, hole.h) described
// once (base/calls.hpp).
#pragma once

#include "ranges_calls.hpp"

#include "lathwork/cursor.h"
#include "lathwork/index.h"

#include <cstdlib>
#include <new>

extern "C" std::uint64_t lath_lengths_least; // set/hole/lengths.h

namespace calls {

struct index_api {
#define INDEX_CALL(name) static constexpr auto name = lath_index_##name;
    INDEX_CALL(insert_item)
    INDEX_CALL(erase_item)
    INDEX_CALL(replace_item)
    INDEX_CALL(resize)
    INDEX_CALL(split)
    INDEX_CALL(get)
    INDEX_CALL(lookup_item)
    INDEX_CALL(ceiling_item)
    INDEX_CALL(get_batch)
    INDEX_CALL(count_range)
    INDEX_CALL(select)
    INDEX_CALL(count)
    INDEX_CALL(find_hole)
    INDEX_CALL(insert_hole)
    INDEX_CALL(hole_stats)
#undef INDEX_CALL
};

class index_calls {
public:
    using model = ranges;
    using domain = range_setup;
    using call = range_call;

    struct setup : range_setup {
        lath_config config = LATH_CONFIG_INIT;

        setup() = default;
        // Each layout and kind of nodes, over each domain.
        explicit setup(source& from) {
            const unsigned what = from.byte();
            points = what % 4 == 0;
            ranks = what % 4 == 1;
            holes = what % 4 == 2;
            const unsigned at = from.below(std::size(domains));
            keys = domains[at];
            edge = at == domain_of_edges ? 75 : 2;
            const unsigned flags = from.byte(), more = from.byte();
            config.flags =
                (flags % 2 ? LATH_NODE_EACH : 0) | (flags / 2 % 4 == 3 ? LATH_GAPPED : 0);
            config.flags |= more % 8 == 0   ? LATH_HUGE_PAGES
                            : more % 8 == 1 ? LATH_SMALL_PAGES
                            : more % 8 == 2 ? LATH_ANY_CONTEXT
                                            : 0;
            if (more / 8 % 4 == 0)
                config.rcu = &lath_rcu_single;
            memory = more / 32 % 2;
            lath_lengths_least = flags / 8 % 4 ? 0 : 64;
            next = "load_sorted";
            finish();
        }
        // A few points that several threads use.
        void share(source& from, word low, word unit, unsigned units) {
            together = true;
            keys = {low, unit, units};
            batch = 3;
            scan = 8;
            points = unit == 1 && from.one_in(3);
            config.flags = from.one_in(2) ? LATH_NODE_EACH : 0;
            const unsigned what = from.below(8);
            holes = what < 2 && !points;
            ranks = what == 2;
            if (what == 3 || what == 4)
                config.flags |= LATH_GAPPED;
            finish();
        }

    private:
        void finish() {
            config.layout = points ? LATH_POINTS : LATH_RANGES;
            config.flags |= (ranks ? LATH_RANKS : 0) | (holes ? LATH_HOLES : 0);
        }
    };

    static const std::vector<described<index_calls>> kinds;

    index_calls(const setup& how, const host& where) : where_(where) {
        lath_config config = how.config;
        config.allocator = where.allocator;
        void* at = where.place ? where.place(sizeof(lath_index))
                               : std::aligned_alloc(64, sizeof(lath_index));
        if (at && !lath_index_init(static_cast<lath_index*>(at), &config))
            set_ = static_cast<lath_index*>(at);
        else
            leave(at);
        if (set_)
            lath_cursor_init(&cursor, set_);
    }

    bool failed() const { return !set_; }
    lath_index* set() { return set_; }

    // What is wrong, or "". without_memory: some change has been refused.
    std::string verify(bool without_memory) {
        char report[200] = "";
        return lath_index_verify(set_, without_memory ? 5 : 6, report, sizeof(report)) ? report
                                                                                       : "";
    }
    void contents(model& m) {
        std::array<lath_item, 64> items;
        word from = 0;
        std::size_t n = items.size();
        for (m.items.clear(); n == items.size() && (from || m.items.empty());) {
            n = lath_index_scan(set_, from, last_key, items.data(), items.size(), &from);
            m.items.insert(m.items.end(), items.begin(),
                           items.begin() + static_cast<std::ptrdiff_t>(n));
        }
    }
    // Ends it. Returns whether it gave out all that the model has; nullptr: true.
    bool end(const model* m) {
        std::vector<lath_item> gone;
        lath_index_fini(set_, note, &gone);
        leave(set_);
        std::sort(gone.begin(), gone.end(),
                  [](const lath_item& a, const lath_item& b) { return a.key < b.key; });
        return !m || gone == m->items;
    }

    // From now on the allocator has no memory, if it is one that checks; or it has.
    void no_memory(bool none) {
        if (where_.none)
            *where_.none = none;
    }
    // What lies beside the domain that threads share is not theirs.
    static bool beside(const call& c, const lath_item& item) {
        const key_domain& keys = c.of->keys;
        return c.of->together && item.key - keys.low >= keys.units * keys.unit;
    }
    void see(call& c) const {
        if (!c.ret && beside(c, c.got)) {
            c.ret = -ENOENT;
            c.got = {};
        }
    }

    // What is in it when the calls of a history begin: inserts, and erases of some.
    static void draw_loaded(setup& s, source& from, std::vector<call>& loaded);

    static void note(void* arg, const lath_item* item) {
        static_cast<std::vector<lath_item>*>(arg)->push_back(*item);
    }
    // Of the model of a history, at most.
    static unsigned most_steps(const setup& s, const call& c);

    lath_cursor cursor{}; // kept over calls
    word trimmed = 0; // likewise

private:
    void leave(void* at) { where_.leave ? where_.leave(at) : std::free(at); }

    host where_;
    lath_index* set_ = nullptr;
};

// ---- calls that change items ----

inline void insert_preloaded(index_calls& it, range_call& c) {
    const lath_item item = c.item();
    lath_preload preload{};
    c.ret = -EAGAIN;
    while (c.ret == -EAGAIN) {
        c.ret = lath_index_preload(it.set(), &preload);
        it.no_memory(true);
        if (!c.ret)
            c.ret = lath_index_insert_preloaded(it.set(), &item, &preload, c.old());
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
    const bool there = lath_cursor_locked_floor(&cursor, key, &before);
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
            c.ret = lath_cursor_insert(&cursor, &item, c.old());
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
        c.ret = lath_cursor_erase(&cursor, c.key, c.old());
}

inline void insert_batch(index_calls& it, range_call& c) {
    std::vector<int> rets(c.batch.size(), 1);
    std::size_t n = lath_index_insert_batch(it.set(), c.batch.size(), c.batch.data(), rets.data());
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
    lath_item there;
    if (c.how % 4 == 0 || lath_index_lookup_item(it.set(), c.key, &there))
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
    c.ret = lath_index_join(
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

inline std::vector<described<index_calls>> index_changes() {
    using C = index_calls;
    return {
        {"insert_preloaded, preload, preload_release",
         6,
         effect::once,
         {EEXIST, ENOMEM, EINVAL},
         nullptr,
         draw_insert,
         insert_preloaded,
         insert_agrees},
        {"cursor_insert, cursor_lock, cursor_locked_floor",
         6,
         effect::once,
         {EEXIST, ENOMEM, EINVAL},
         nullptr,
         draw_insert,
         cursor_insert,
         insert_agrees},
        {"cursor_erase, cursor_lock, cursor_unlock",
         4,
         effect::once,
         {ENOENT, ENOMEM},
         nullptr,
         draw_key,
         cursor_erase,
         [](ranges& m, const range_call& c) { return takes(m, m.exact(c.key), c); }},
        {"insert_batch",
         6,
         effect::apart,
         {},
         nullptr,
         draw_batch,
         insert_batch,
         nullptr,
         [](const range_call& c, std::vector<range_call>& steps) {
             each_of<C>("insert_item", c, steps);
         }},
        {"erase_batch",
         4,
         effect::apart,
         {},
         nullptr,
         draw_batch,
         erase_batch,
         nullptr,
         [](const range_call& c, std::vector<range_call>& steps) {
             each_of<C>("erase_key", c, steps);
         }},
        {"erase_key",
         0,
         effect::once,
         {ENOENT},
         nullptr,
         nullptr,
         nullptr, // it does not show what it erased
         [](ranges& m, const range_call& c) {
             const lath_item* there = m.exact(c.key);
             if (there)
                 m.remove(there);
             return c.ret == (there ? 0 : -ENOENT);
         }},
        {"erase_item_at",
         8,
         effect::once,
         {ENOENT},
         nullptr,
         draw_key,
         [](C& it, range_call& c) { c.ret = lath_index_erase_item_at(it.set(), c.key, c.old()); },
         [](ranges& m, const range_call& c) { return takes(m, m.covers(c.key), c); }},
        {"erase_if",
         4,
         effect::once,
         {ENOENT, EAGAIN},
         nullptr,
         draw_key,
         [](C& it, range_call& c) {
             look_first(it, c);
             c.ret = lath_index_erase_if(it.set(), c.key, c.other, &c.got);
         },
         [](ranges& m, const range_call& c) {
             const lath_item* there = m.exact(c.key);
             return asks(there, there && there->value == c.other, c) &&
                    (c.ret || (m.remove(there), true));
         }},
        {"erase_sized",
         4,
         effect::once,
         {ENOENT, EAGAIN},
         nullptr,
         draw_change,
         [](C& it, range_call& c) {
             look_first(it, c);
             c.ret = lath_index_erase_sized(it.set(), c.key, c.size, &c.got);
         },
         [](ranges& m, const range_call& c) {
             const lath_item* there = m.exact(c.key);
             return asks(there, there && there->size == c.size, c) &&
                    (c.ret || (m.remove(there), true));
         }},
        {"replace_if",
         4,
         effect::once,
         {ENOENT, EAGAIN},
         nullptr,
         draw_change,
         [](C& it, range_call& c) {
             const word value = c.value;
             look_first(it, c);
             c.value = value;
             c.ret = lath_index_replace_if(it.set(), c.key, c.other, c.value, &c.got);
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
}

inline std::vector<described<index_calls>> index_changes_of_ranges() {
    using C = index_calls;
    return {
        {"erase_part",
         6,
         effect::once,
         {ENOENT, EAGAIN, EINVAL, ENOMEM},
         have_sizes,
         draw_change,
         [](C& it, range_call& c) {
             look_first(it, c);
             const lath_item part = c.item();
             c.ret = lath_index_erase_part(it.set(), &part, c.old());
         },
         erase_part_agrees},
        {"join",
         5,
         effect::once,
         {ENOENT, ECANCELED, EINVAL},
         have_sizes,
         draw_key,
         join,
         join_agrees},
        {"erase_range",
         5,
         effect::apart,
         {EINVAL},
         have_sizes,
         draw_change,
         [](C& it, range_call& c) {
             c.ret = lath_index_erase_range(it.set(), c.key, c.size, C::note, &c.items);
         },
         erase_range_agrees,
         erase_range_steps},
        {"store_range",
         8,
         effect::once,
         {EINVAL, ENOMEM},
         have_sizes,
         draw_change,
         [](C& it, range_call& c) {
             const lath_item item = c.item();
             c.ret = lath_index_store_range(it.set(), &item, C::note, &c.items);
         },
         [](ranges& m, const range_call& c) {
             if (!c.valid())
                 return c.ret == -EINVAL;
             const bool right = !c.ret && c.items == m.cut(c.key, c.last());
             m.insert(c.item());
             return right;
         }},
    };
}

// ---- calls that read ----

inline void lookup_pin(index_calls& it, range_call& c) {
    c.next = 0; // references that are held
    const lath_pin how = {
        [](void* arg, const lath_item*) {
            auto* call = static_cast<range_call*>(arg);
            call->next += call->how % 8 != 0;
            return call->how % 8 ? 1 : 0;
        },
        [](void* arg, const lath_item*) { static_cast<range_call*>(arg)->next--; }, &c};
    c.ret = lath_index_lookup_pin(it.set(), c.key, &how, &c.got);
    if (c.next != !c.ret)
        c.ret = -EFAULT;
}

inline void lookup_batch(index_calls& it, range_call& c) {
    std::vector<word> keys;
    for (const lath_item& one : c.batch)
        keys.push_back(one.key);
    c.items.resize(keys.size());
    std::size_t n = lath_index_lookup_batch(it.set(), keys.size(), keys.data(), c.items.data());
    for (const lath_item& found : c.items) {
        c.rets.push_back(found.size ? 0 : -ENOENT);
        n -= !!found.size;
    }
    c.ret = n ? -EFAULT : 0;
}

inline void scan(index_calls& it, range_call& c) {
    std::vector<lath_item> items(c.size + 1); // arrays that are not NULL
    std::vector<word> keys(c.size + 1), values(c.size + 1);
    std::size_t n = 0;
    c.next = 1;
    if (c.how % 4 == 0) {
        n = lath_index_scan(it.set(), c.key, c.other, items.data(), c.size, &c.next);
    } else if (c.how % 4 == 1) {
        n = lath_index_scan_values(it.set(), c.key, c.other, keys.data(), values.data(), c.size,
                                   &c.next);
    } else if (c.how % 4 == 2) {
        auto visit = [](void* arg, const word* of, const word* with, std::size_t count) {
            auto* call = static_cast<range_call*>(arg);
            for (std::size_t i = 0; i < count && call->items.size() < call->size; i++)
                call->items.push_back({of[i], 0, with[i]});
            return call->items.size() == call->size ? 1 : 0;
        };
        const int ret =
            c.size ? lath_index_visit_values(it.set(), c.key, c.other, c.size, visit, &c) : 0;
        c.ret = ret == (c.size && c.items.size() == c.size) ? 0 : -EFAULT;
        return;
    } else {
        n = lath_index_scan_back(it.set(), c.key, c.other, items.data(), c.size, &c.next);
    }
    for (std::size_t i = 0; i < n; i++)
        c.items.push_back(c.how % 4 == 1 ? lath_item{keys[i], 0, values[i]} : items[i]);
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
        if (lath_index_scan(copy, 0, last_key, c.items.data(), n + 1, nullptr) != n)
            c.ret = -EFAULT;
        c.items.resize(n);
        lath_index_fini(copy, nullptr, nullptr);
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
    c.ret = c.how % 4 == 0   ? lath_cursor_seek(&it.cursor, c.key, &c.got)
            : c.how % 4 == 1 ? lath_cursor_seek_floor(&it.cursor, c.key, &c.got)
            : c.how % 4 == 2 ? lath_cursor_next(&it.cursor, &c.got)
                             : lath_cursor_prev(&it.cursor, &c.got);
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

// A few steps of a cursor; each is a look of its own.
inline void walk(index_calls& it, range_call& c) {
    lath_cursor cursor;
    lath_item item{};
    lath_cursor_init(&cursor, it.set());
    bool up = c.how % 2;
    int ok = up ? lath_cursor_seek(&cursor, c.key, &item)
                : lath_cursor_seek_floor(&cursor, c.key, &item);
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
        ok = up ? lath_cursor_next(&cursor, &item) : lath_cursor_prev(&cursor, &item);
    }
}

inline void walk_steps(const range_call& c, std::vector<range_call>& steps) {
    each_of<index_calls>("ceiling_item", c, steps);
    for (range_call& step : steps)
        if (!step.size)
            step.kind = kind_of<index_calls>("floor_item");
}

inline std::vector<described<index_calls>> index_looks() {
    using C = index_calls;
    return {
        {"lookup_item_rcu",
         3,
         effect::once,
         {ENOENT},
         nullptr,
         draw_key,
         [](C& it, range_call& c) {
             lath_rcu_auto.read_lock();
             c.ret = lath_index_lookup_item_rcu(it.set(), c.key, &c.got);
             lath_rcu_auto.read_unlock();
         },
         [](ranges& m, const range_call& c) { return finds(m.covers(c.key), c); }},
        {"lookup_pin",
         3,
         effect::once,
         {ENOENT, EBUSY},
         nullptr,
         draw_key,
         lookup_pin,
         [](ranges& m, const range_call& c) {
             const lath_item* there = m.covers(c.key);
             return c.ret == (!there      ? -ENOENT
                              : c.how % 8 ? 0
                                          : -EBUSY) &&
                    (!there || oracle_same(there, &c.got));
         }},
        {"lookup_batch",
         5,
         effect::apart,
         {},
         nullptr,
         draw_batch,
         lookup_batch,
         nullptr,
         [](const range_call& c, std::vector<range_call>& steps) {
             each_of<C>("lookup_item", c, steps);
         }},
        {"overlap_item",
         6,
         effect::once,
         {ENOENT, EINVAL},
         nullptr,
         draw_change,
         [](C& it, range_call& c) {
             c.ret = lath_index_overlap_item(it.set(), c.key, c.size, &c.got);
             it.see(c);
         },
         [](ranges& m, const range_call& c) {
             return c.wraps() ? c.ret == -EINVAL : finds(m.overlap(c.key, c.last()), c);
         }},
        {"floor_item",
         6,
         effect::once,
         {ENOENT},
         nullptr,
         draw_key,
         [](C& it, range_call& c) {
             c.ret = lath_index_floor_item(it.set(), c.key, &c.got);
             it.see(c);
         },
         [](ranges& m, const range_call& c) { return finds(m.floor(c.key), c); }},
        {"starts",
         0,
         effect::once,
         {ENOENT},
         nullptr,
         nullptr,
         nullptr, // a look of a scan, which may show no size
         [](ranges& m, const range_call& c) {
             const lath_item* there = m.exact(c.key);
             return c.ret == (there ? 0 : -ENOENT) &&
                    (!there ||
                     (c.got.value == there->value && (!c.got.size || c.got.size == there->size)));
         }},
        {"scan, scan_values, visit_values, scan_back",
         14,
         effect::apart,
         {},
         nullptr,
         draw_scan,
         scan,
         scan_agrees,
         scan_steps},
        {"cursor_seek, cursor_seek_floor, cursor_next, cursor_prev, cursor_init",
         8,
         effect::alone,
         {},
         nullptr,
         draw_key,
         step_cursor,
         cursor_agrees},
        {"walk", 3, effect::apart, {}, nullptr, draw_key, walk, nullptr, walk_steps},
        {"clone",
         1,
         effect::apart,
         {ENOMEM},
         nullptr,
         nullptr,
         clone,
         [](ranges& m, const range_call& c) { return !c.ret && c.items == m.items; },
         scan_steps},
        {"rank",
         3,
         effect::alone,
         {EINVAL},
         nullptr,
         draw_key,
         [](C& it, range_call& c) { c.ret = lath_index_rank(it.set(), c.key); },
         [](ranges& m, const range_call& c) {
             return c.ret == (c.of->ranks ? static_cast<std::int64_t>(m.rank(c.key)) : -EINVAL);
         }},
    };
}

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

inline std::vector<described<index_calls>> index_fill() {
    return {{"fill_holes",
             2,
             effect::alone,
             {},
             [](const range_setup& s) { return s.holes; },
             [](range_setup& s, source& from, range_call& c) {
                 draw_hole(s, from, c);
                 c.want.policy = static_cast<lath_hole_policy>(c.want.policy % LATH_HOLE_EXACT);
                 c.want.size = std::max<word>(c.want.size, s.keys.unit);
             },
             fill_holes,
             nullptr,
             fill_steps}};
}

// ---- upkeep, and calls that exclude all others ----

// Loads sorted items, or some that are not.
inline void load(index_calls& it, range_call& c) {
    std::size_t bad = 0;
    c.ret = lath_index_load_sorted(it.set(), c.batch.size(), c.batch.data(), &bad);
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

inline std::vector<described<index_calls>> index_upkeep() {
    using C = index_calls;
    return {
        {"clear",
         1,
         effect::alone,
         {},
         nullptr,
         [](range_setup& s, source&, range_call&) { s.next = "load_sorted"; },
         [](C& it, range_call& c) { c.ret = lath_index_clear(it.set(), C::note, &c.items); },
         [](ranges& m, const range_call& c) {
             const bool right =
                 c.items == m.items && static_cast<std::size_t>(c.ret) == m.items.size();
             m.items.clear();
             return right;
         }},
        {"load_sorted",
         1,
         effect::alone,
         {EBUSY, EINVAL, ENOMEM},
         nullptr,
         draw_load,
         load,
         load_agrees},
        {"trim",
         4,
         effect::none,
         {},
         nullptr,
         draw_key,
         [](C& it, range_call& c) {
             if (c.how % 4 == 0 || c.of->together)
                 it.trimmed = 0;
             for (unsigned i = 0; i < 3; i++)
                 lath_index_trim(it.set(), c.how / 4, &it.trimmed);
         }},
        {"get_stats",
         1,
         effect::alone,
         {},
         nullptr,
         nullptr,
         [](C& it, range_call& c) {
             lath_index_stats stats{};
             lath_index_get_stats(it.set(), &stats);
             c.ret = static_cast<std::int64_t>(stats.items);
             c.other =
                 stats.bytes && stats.leaves && stats.levels && stats.leaves * 64 >= stats.items;
         },
         [](ranges& m, const range_call& c) {
             return static_cast<std::size_t>(c.ret) == m.items.size() && c.other;
         }},
        {"dump",
         1,
         effect::alone,
         {},
         nullptr,
         nullptr,
         dump,
         [](ranges& m, const range_call& c) { return c.items == m.items; }},
        {"prepare",
         1,
         effect::none,
         {},
         nullptr,
         nullptr,
         [](C& it, range_call&) { lath_index_prepare(it.set()); }},
        {"prefetch",
         1,
         effect::none,
         {},
         nullptr,
         draw_key,
         [](C& it, range_call& c) { lath_index_prefetch(it.set(), c.key); }},
    };
}

template <class T>
std::vector<T> joined(std::initializer_list<std::vector<T>> parts) {
    std::vector<T> all;
    for (const auto& part : parts)
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

inline const std::vector<described<index_calls>> index_calls::kinds =
    joined({range_changes<index_calls, index_api>(), index_changes(), index_changes_of_ranges(),
            range_looks<index_calls, index_api>(), index_looks(),
            range_holes<index_calls, index_api>(), index_fill(), index_upkeep()});

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
