// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "index_program.hpp"

#include <algorithm>
#include <cerrno>

using namespace lin;

namespace schedtest {

namespace {

constexpr std::array<const char*, static_cast<std::size_t>(act::all)> names = {"insert",
                                                                               "insert_preloaded",
                                                                               "insert_batch",
                                                                               "insert by cursor",
                                                                               "erase",
                                                                               "erase_at",
                                                                               "erase_if",
                                                                               "erase_batch",
                                                                               "erase by cursor",
                                                                               "erase_part",
                                                                               "erase_range",
                                                                               "replace",
                                                                               "replace_if",
                                                                               "resize",
                                                                               "split",
                                                                               "join",
                                                                               "store_range",
                                                                               "insert_hole",
                                                                               "find_hole",
                                                                               "lookup",
                                                                               "lookup_rcu",
                                                                               "lookup_batch",
                                                                               "lookup_pin",
                                                                               "get",
                                                                               "get_batch",
                                                                               "overlap",
                                                                               "floor",
                                                                               "ceiling",
                                                                               "first",
                                                                               "last",
                                                                               "walk",
                                                                               "scan",
                                                                               "scan_values",
                                                                               "scan_back",
                                                                               "clone",
                                                                               "trim",
                                                                               "prepare",
                                                                               "prefetch",
                                                                               "count",
                                                                               "hole_stats"};

constexpr std::uint64_t key_of(unsigned point) { return window + point; }

} // namespace

const char* name_of(act what) { return names[static_cast<std::size_t>(what)]; }

item caller::seen(const lath_item& it) const {
    return {static_cast<unsigned>(it.key - window), static_cast<unsigned>(it.size),
            static_cast<unsigned>(it.value)};
}

void caller::note(op what, const planned& p, std::uint64_t called, int ret, const lath_item* got) {
    if (ret == -ENOMEM) // it has changed nothing
        return;
    call c{};
    c.called = called;
    c.returned = sched_now();
    c.what = what;
    c.key = p.key;
    c.size = p.size;
    c.value = p.value;
    c.expected = p.other;
    c.last = p.last;
    c.align = p.align;
    c.done = !ret;
    c.exists = ret == -EEXIST || ret == -EAGAIN;
    c.silent = !got;
    if (got && (c.done || (ret == -EAGAIN)))
        c.got = seen(*got);
    mine_.history.push_back(c);
}

void caller::run() {
    for (const planned& p : mine_.plan)
        make(p);
}

void caller::insert(const planned& p) {
    lath_item it{key_of(p.key), p.size, p.value}, conflict;
    std::uint64_t called = sched_now();
    int ret = -EAGAIN;
    if (p.what == act::insert) {
        ret = lath_index_insert_item(index_, &it, &conflict);
    } else {
        lath_preload preload{};
        while (ret == -EAGAIN) {
            ret = lath_index_preload(index_, &preload);
            if (!ret)
                ret = lath_index_insert_preloaded(index_, &it, &preload, &conflict);
        }
        lath_index_preload_release(index_, &preload);
    }
    note(op::insert, p, called, ret, nullptr);
}

void caller::insert_cursor(const planned& p) {
    lath_item it{key_of(p.key), p.size, p.value}, there;
    std::uint64_t called = sched_now(), low, last;
    lath_cursor cursor;
    int ret = -EAGAIN;
    lath_cursor_init(&cursor, index_);
    while (ret == -EAGAIN) {
        ret = lath_cursor_lock(&cursor, it.key, &low, &last);
        if (ret)
            break;
        if (it.key < low || it.key > last)
            sched_fail("the locked leaf does not cover the key", nullptr, nullptr);
                // what is in the locked leaf cannot change until the insert
        bool taken =
            lath_cursor_locked_floor(&cursor, it.key, &there) && there.key + there.size > it.key;
        if (p.what == act::erase_cursor) {
            ret = lath_cursor_erase(&cursor, it.key, &there);
            note(op::erase, p, called, ret, &there);
            return;
        }
        ret = lath_cursor_insert(&cursor, &it, &there);
        if (taken && ret != -EEXIST)
            sched_fail("an insert into a locked leaf found room that was taken", nullptr, nullptr);
    }
    note(op::insert, p, called, ret, nullptr);
}

// Two or three neighbouring elements, each its own operation.
void caller::batch(const planned& p) {
    constexpr unsigned most = 3;
    std::array<lath_item, most> items;
    std::array<std::uint64_t, most> keys, values;
    std::array<std::uint8_t, most> hits{};
    std::array<int, most> results{};
    unsigned n = std::min(most, points_ - p.key);
    for (unsigned i = 0; i < n; i++) {
        keys[i] = key_of(p.key + i);
        items[i] = {keys[i], 1, p.value + i};
    }
    std::uint64_t called = sched_now();
    if (p.what == act::insert_batch)
        lath_index_insert_batch(index_, n, items.data(), results.data());
    else if (p.what == act::erase_batch)
        lath_index_erase_batch(index_, n, keys.data(), results.data());
    else if (p.what == act::lookup_batch)
        lath_index_lookup_batch(index_, n, keys.data(), items.data());
    else
        lath_index_get_batch(index_, n, keys.data(), values.data(), hits.data());
    for (unsigned i = 0; i < n; i++) {
        planned one = p;
        one.key = p.key + i;
        one.size = 1;
        one.value = p.value + i;
        if (p.what == act::insert_batch)
            note(op::insert, one, called, results[i], nullptr);
        else if (p.what == act::erase_batch)
            note(op::erase, one, called, results[i], nullptr);
        else if (p.what == act::lookup_batch)
            note(op::lookup, one, called, items[i].size ? 0 : -ENOENT, &items[i]);
        else {
            lath_item it{keys[i], 1, hits[i] ? values[i] : 0};
            note(op::value, one, called, hits[i] ? 0 : -ENOENT, &it);
        }
    }
}

void caller::erase(const planned& p) {
    lath_item old;
    std::uint64_t called = sched_now();
    int ret;
    op what = op::erase;
    if (p.what == act::erase_at) {
        what = op::erase_at;
        ret = lath_index_erase_item_at(index_, key_of(p.key), &old);
    } else if (p.what == act::erase_if) {
        what = op::erase_if;
        ret = lath_index_erase_if(index_, key_of(p.key), p.other, &old);
    } else if (p.what == act::erase_part) {
        what = op::erase_part;
        lath_item part{key_of(p.key), p.size, p.other};
        ret = lath_index_erase_part(index_, &part, &old);
    } else {
        ret = lath_index_erase_item(index_, key_of(p.key), &old);
    }
    note(what, p, called, ret, &old);
}

// Each item that it erased is an erase; each point was free at some moment.
void caller::erase_range(const planned& p) {
    std::vector<lath_item> gone;
    std::uint64_t called = sched_now();
    std::int64_t n = lath_index_erase_range(
        index_, key_of(p.key), p.size,
        [](void* arg, const lath_item* it) {
            static_cast<std::vector<lath_item>*>(arg)->push_back(*it);
        },
        &gone);
    if (n != static_cast<std::int64_t>(gone.size()))
        sched_fail("erase_range returned another number than it called for", nullptr, nullptr);
    for (const lath_item& it : gone) {
        planned one = p;
        one.key = seen(it).key;
        note(op::erase, one, called, 0, &it);
    }
    for (unsigned i = p.key; i < p.key + p.size; i++) {
        planned one = p;
        one.key = i;
        note(op::lookup, one, called, -ENOENT, nullptr);
    }
}

void caller::change(const planned& p) {
    lath_item old, it{key_of(p.key), p.size, p.value};
    std::uint64_t called = sched_now();
    switch (p.what) {
    case act::replace: {
        int ret = lath_index_replace_item(index_, it.key, p.value, &old);
        return note(op::replace, p, called, ret, &old);
    }
    case act::replace_if: {
        int ret = lath_index_replace_if(index_, it.key, p.other, p.value, &old);
        return note(op::replace_if, p, called, ret, &old);
    }
    case act::resize: {
        int ret = lath_index_resize(index_, it.key, p.size);
        return note(op::resize, p, called, ret, nullptr);
    }
    case act::split: {
        int ret = lath_index_split(index_, it.key, p.value);
        return note(op::split, p, called, ret, nullptr);
    }
    case act::join: {
        int ret = lath_index_join(index_, it.key, nullptr, nullptr, &old);
        return note(op::join, p, called, ret, &old);
    }
    default: {
        int ret = lath_index_store_range(index_, &it, nullptr, nullptr);
        return note(op::store, p, called, ret, nullptr);
    }
    }
}

void caller::find_hole(const planned& p) {
    lath_hole_request want{};
    std::uint64_t key = 0;
    want.size = p.size;
    want.align = p.align;
    want.low = key_of(p.key);
    want.high = key_of(p.last);
    want.hint = key_of(p.key + p.other % (p.last - p.key));
    want.policy = static_cast<lath_hole_policy>(p.policy);
    std::uint64_t called = sched_now();
    int ret = p.what == act::take ? lath_index_insert_hole(index_, &want, p.value, &key)
                                  : lath_index_find_hole(index_, &want, &key);
    if (ret && ret != -ENOSPC && ret != -ENOMEM)
        sched_fail("a search for a hole returned an unexpected error", nullptr, nullptr);
    lath_item it{key, p.size, p.value};
    note(p.what == act::take ? op::take : op::hole, p, called, ret, &it);
}

void caller::look_up(const planned& p) {
    static constexpr lath_pin pin = {[](void*, const lath_item*) { return 1; },
                                     [](void*, const lath_item*) {}, nullptr};
    lath_item it{};
    std::uint64_t called = sched_now(), key = key_of(p.key);
    int ret;
    if (p.what == act::lookup) {
        ret = lath_index_lookup_item(index_, key, &it);
    } else if (p.what == act::lookup_pin) {
        ret = lath_index_lookup_pin(index_, key, &pin, &it);
    } else if (p.what == act::lookup_rcu) {
        lath_rcu_auto.read_lock();
        ret = lath_index_lookup_item_rcu(index_, key, &it);
        lath_rcu_auto.read_unlock();
    } else {
        ret = lath_index_get(index_, key, &it.value) ? 0 : -ENOENT;
        it.key = key;
        return note(op::value, p, called, ret, &it);
    }
    note(op::lookup, p, called, ret, &it);
}

void caller::find(const planned& p) {
    lath_item it;
    planned q = p;
    std::uint64_t called = sched_now(), key = key_of(p.key);
    int ret;
    op what = op::floor;
    switch (p.what) {
    case act::overlap:
        what = op::overlap;
        ret = lath_index_overlap_item(index_, key, p.size, &it);
        break;
    case act::floor:
        ret = lath_index_floor_item(index_, key, &it);
        break;
    case act::last:
        q.key = points - 1;
        ret = lath_index_last_item(index_, &it);
        break;
    case act::first:
        q.key = 0;
        what = op::ceiling;
        ret = lath_index_first_item(index_, &it);
        break;
    default:
        what = op::ceiling;
        ret = lath_index_ceiling_item(index_, key, &it);
        break;
    }
    note(what, q, called, ret, &it);
}

// A few steps of a cursor; each is its own call.
void caller::walk(const planned& p) {
    lath_cursor cursor;
    lath_item it{};
    lath_cursor_init(&cursor, index_);
    std::uint64_t called = sched_now();
    bool up = p.size & 1;
    int ok = up ? lath_cursor_seek(&cursor, key_of(p.key), &it)
                : lath_cursor_seek_floor(&cursor, key_of(p.key), &it);
    note(up ? op::ceiling : op::floor, p, called, ok ? 0 : -ENOENT, &it);
    for (unsigned i = 0; ok && i < 3; i++) {
        planned q = p;
        bool on = (p.other >> i) & 1 ? up : !up;
        q.key = seen(it).key;
        called = sched_now();
        ok = on ? lath_cursor_next(&cursor, &it) : lath_cursor_prev(&cursor, &it);
        note(on ? op::above : op::below, q, called, ok ? 0 : -ENOENT, &it);
    }
}

// A read of many leaves: for each point, the item that starts there was read at some moment.
void caller::note_items(std::uint64_t called, std::uint64_t returned, unsigned from, unsigned to,
                        const lath_item* items, std::size_t n) {
    for (std::size_t i = 1; i < n; i++)
        if (items[i].key <= items[i - 1].key)
            sched_fail("the items of a scan do not ascend", nullptr, nullptr);
    for (unsigned p = from; p <= to; p++) {
        call c{};
        c.called = called;
        c.returned = returned;
        c.what = op::starts;
        c.key = p;
        for (std::size_t i = 0; i < n; i++)
            if (items[i].key == key_of(p))
                c.got = seen(items[i]);
        mine_.history.push_back(c);
    }
}

// What lath_index_visit_values() hands out, up to `most` entries.
struct visited {
    std::uint64_t *keys, *values;
    std::size_t n, most;

    static int visit(void* arg, const std::uint64_t* keys, const std::uint64_t* values,
                     std::size_t n) {
        auto* to = static_cast<visited*>(arg);
        for (std::size_t i = 0; i < n && to->n < to->most; i++, to->n++) {
            to->keys[to->n] = keys[i];
            to->values[to->n] = values[i];
        }
        return to->n == to->most;
    }
};

void caller::scan(const planned& p) {
    std::array<lath_item, points> items{};
    std::array<std::uint64_t, points> keys, values;
    unsigned from = p.key, to = std::min(points_ - 1, p.key + p.size * 2);
    std::size_t most = 1 + p.other % 8, n;
    std::uint64_t called = sched_now();
    if (p.what == act::scan_back) {
        n = lath_index_scan_back(index_, key_of(to), key_of(from), items.data(), most, nullptr);
        std::reverse(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(n));
    } else if (p.what == act::scan) {
        n = lath_index_scan(index_, key_of(from), key_of(to), items.data(), most, nullptr);
    } else if (p.other / 8 % 2) {
        visited seen_items{keys.data(), values.data(), 0, most};
        lath_index_visit_values(index_, key_of(from), key_of(to), most, visited::visit,
                                &seen_items);
        n = seen_items.n;
    } else {
        n = lath_index_scan_values(index_, key_of(from), key_of(to), keys.data(), values.data(),
                                   most, nullptr);
    }
    std::uint64_t returned = sched_now();
    if (p.what == act::scan_values) { // no sizes: each key that it has has that value
        for (std::size_t i = 0; i < n; i++) {
            call c{};
            c.called = called;
            c.returned = returned;
            c.what = op::value;
            c.key = static_cast<unsigned>(keys[i] - window);
            c.got.value = static_cast<unsigned>(values[i]);
            mine_.history.push_back(c);
        }
        return;
    }
    if (n == most && p.what == act::scan_back)
        from = seen(items[0]).key;
    else if (n == most)
        to = seen(items[n - 1]).key;
    note_items(called, returned, from, to, items.data(), n);
}

void caller::clone(const planned&) {
    auto* copy = static_cast<lath_index*>(sched_alloc(sizeof(lath_index), 64, 0));
    if (!copy)
        return;
    std::array<lath_item, points> items{};
    std::uint64_t called = sched_now();
    int ret = lath_index_clone(copy, index_, nullptr);
    std::uint64_t returned = sched_now();
    if (!ret) {
        std::size_t n =
            lath_index_scan(copy, 0, ~std::uint64_t{0}, items.data(), items.size(), nullptr);
        note_items(called, returned, 0, points_ - 1, items.data(), n);
        lath_index_fini(copy, nullptr, nullptr);
    } else if (ret != -ENOMEM) {
        sched_fail("clone failed", nullptr, nullptr);
    }
    sched_free(copy);
}

void caller::count() {
    std::uint64_t called = sched_now(), items = lath_index_count(index_);
    mine_.counts.push_back({called, sched_now(), items});
}

void caller::other(const planned& p) {
    std::uint64_t cursor = 0;
    lath_hole_stats stats;
    switch (p.what) {
    case act::trim:
        for (unsigned i = 0; i < 3; i++)
            lath_index_trim(index_, 1 + p.size, &cursor);
        break;
    case act::prepare:
        lath_index_prepare(index_);
        break;
    case act::prefetch:
        lath_index_prefetch(index_, key_of(p.key));
        break;
    case act::count:
        count();
        break;
    default:
        lath_index_hole_stats(index_, window, window + points, 0, &stats);
    }
}

void caller::make(const planned& p) {
    switch (p.what) {
    case act::insert:
    case act::insert_preloaded:
        return insert(p);
    case act::insert_cursor:
    case act::erase_cursor:
        return insert_cursor(p);
    case act::insert_batch:
    case act::erase_batch:
    case act::lookup_batch:
    case act::get_batch:
        return batch(p);
    case act::erase:
    case act::erase_at:
    case act::erase_if:
    case act::erase_part:
        return erase(p);
    case act::erase_range:
        return erase_range(p);
    case act::replace:
    case act::replace_if:
    case act::resize:
    case act::split:
    case act::join:
    case act::store:
        return change(p);
    case act::take:
    case act::hole:
        return find_hole(p);
    case act::lookup:
    case act::lookup_rcu:
    case act::lookup_pin:
    case act::get:
        return look_up(p);
    case act::overlap:
    case act::floor:
    case act::ceiling:
    case act::first:
    case act::last:
        return find(p);
    case act::walk:
        return walk(p);
    case act::scan:
    case act::scan_values:
    case act::scan_back:
        return scan(p);
    case act::clone:
        return clone(p);
    default:
        return other(p);
    }
}

} // namespace schedtest
