// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/index.h, cursor.h, hole.h: every call with each argument that its comment calls invalid,
// and what it says when there is nothing to find.
#include "arguments.hpp"

#include "lathwork/cursor.h"
#include "lathwork/hole.h"

#include <array>
#include <memory>

namespace {

constexpr std::uint64_t top = ~0ull;

// [10, 20) -> 1, [20, 30) -> 2, [100, 200) -> 3 and the last 16 keys -> 4.
struct index_fixture {
    index_fixture() : index_fixture(LATH_HOLES, LATH_RANGES) {}
    index_fixture(unsigned flags, lath_layout layout) {
        lath_config config = LATH_CONFIG_INIT;
        config.flags = flags;
        config.layout = layout;
        REQUIRE(lath_index_init(&index, &config) == 0);
        lath_cursor_init(&cursor, &index);
        for (lath_item there :
             {lath_item{10, 10, 1}, {20, 10, 2}, {100, 100, 3}, {top - 15, 16, 4}}) {
            there.size = layout == LATH_POINTS ? 1 : there.size;
            REQUIRE(lath_index_insert_item(&index, &there, nullptr) == 0);
        }
    }
    ~index_fixture() { lath_index_fini(&index, nullptr, nullptr); }
    index_fixture(const index_fixture&) = delete;
    index_fixture& operator=(const index_fixture&) = delete;

    std::array<std::uint64_t, 4> state() {
        REQUIRE(lath_index_verify(&index, 6, nullptr, 0) == 0);
        return {lath_index_count(&index), lath_index_digest(&index, nullptr, nullptr), value, key};
    }

    lath_index index;
    lath_cursor cursor;
    lath_item item{};
    lath_item items[4]{};
    std::uint64_t value = 77, key = 78, keys[4]{}, values[4]{};
    std::uint8_t hits[4]{};
    int results[4]{};
    bool visited = false;
};

using f = index_fixture;
using R = std::int64_t;
using arguments::config;

// A call on an index of points, or with ranks, or without holes, in the place of the fixture.
template <class Call>
R other(unsigned flags, lath_layout layout, Call call) {
    f t(flags, layout);
    auto before = t.state();
    R ret = call(t);
    CHECK(t.state() == before);
    return ret;
}
template <class Call>
R points(Call call) {
    return other(0, LATH_POINTS, call);
}
template <class Call>
R plain(Call call) {
    return other(0, LATH_RANGES, call);
}

R insert(f& t, lath_item item) { return lath_index_insert_item(&t.index, &item, &t.item); }

R insert_preloaded(f& t, lath_item item, bool preloaded = true) {
    lath_preload preload{};
    if (preloaded)
        REQUIRE(lath_index_preload(&t.index, &preload) == 0);
    R ret = lath_index_insert_preloaded(&t.index, &item, &preload, &t.item);
    lath_index_preload_release(&t.index, &preload);
    return ret;
}

R insert_slot(f& t, std::uint64_t key, std::uint64_t size) {
    lath_slot slot{key, size}, *conflict = nullptr;
    return lath_index_insert(&t.index, &slot, &conflict);
}

R store(f& t, lath_item item) { return lath_index_store_range(&t.index, &item, nullptr, nullptr); }

R load(f& t, std::vector<lath_item> items, std::size_t* bad = nullptr) {
    return lath_index_load_sorted(&t.index, items.size(), items.data(), bad);
}

// Into an empty index, which must stay empty.
R load_new(std::vector<lath_item> items, std::size_t where, lath_layout layout = LATH_RANGES) {
    lath_config config = LATH_CONFIG_INIT;
    lath_index index;
    std::size_t bad = 99;
    config.layout = layout;
    REQUIRE(lath_index_init(&index, &config) == 0);
    R ret = lath_index_load_sorted(&index, items.size(), items.data(), &bad);
    CHECK(bad == where);
    CHECK(lath_index_count(&index) == 0);
    CHECK(lath_index_verify(&index, 5, nullptr, 0) == 0);
    lath_index_fini(&index, nullptr, nullptr);
    return ret;
}

R init(lath_config config) {
    lath_index index;
    R ret = lath_index_init(&index, &config);
    if (!ret)
        lath_index_fini(&index, nullptr, nullptr);
    return ret;
}

lath_hole_request want(std::uint64_t size, std::uint64_t align = 0, std::uint64_t low = 0,
                       std::uint64_t high = 0, int policy = LATH_HOLE_FIRST,
                       std::uint64_t hint = 0) {
    return {size, align, low, high, 0, hint, static_cast<lath_hole_policy>(policy)};
}

R find(f& t, lath_hole_request w) { return lath_index_find_hole(&t.index, &w, &t.key); }
R take(f& t, lath_hole_request w) { return lath_index_insert_hole(&t.index, &w, 5, &t.key); }

int refuse_pin(void*, const lath_item*) { return 0; }
void no_unpin(void*, const lath_item*) {}
const lath_pin refusing = {refuse_pin, no_unpin, nullptr};

int refuse_join(void*, const lath_item*, const lath_item*) { return 0; }

int visit(void* arg, const std::uint64_t*, const std::uint64_t*, std::size_t) {
    *static_cast<bool*>(arg) = true;
    return 0;
}

// A call with the locked leaf, which it unlocks.
template <class Call>
R locked(f& t, Call call) {
    REQUIRE(lath_cursor_lock(&t.cursor, 15, nullptr, nullptr) == 0);
    R ret = call(t);
    CHECK(lath_cursor_erase(&t.cursor, 15, nullptr) == -EINVAL); // it is not locked any more
    return ret;
}

R cursor_insert(f& t, lath_item item) { return lath_cursor_insert(&t.cursor, &item, &t.item); }

R erase_part(f& t, std::uint64_t key, std::uint64_t size, std::uint64_t value) {
    lath_item part{key, size, value};
    return lath_index_erase_part(&t.index, &part, &t.item);
}

const std::vector<arguments::row<f>> rows = {
    {"lath_index_init", "NULL", -EINVAL, [](f&) -> R { return lath_index_init(nullptr, nullptr); }},
    {"lath_index_init", "a misaligned index", -EINVAL, [](f&) -> R {
         alignas(64) static char room[sizeof(lath_index) + 64];
         return lath_index_init(reinterpret_cast<lath_index*>(room + 8), nullptr);
     }},
    {"lath_index_init", "an unknown flag", -EINVAL, [](f&) { return init(config(1u << 20)); }},
    {"lath_index_init", "an unknown layout", -EINVAL, [](f&) { return init(config(0, 2)); }},
    {"lath_index_init", "size 0", -EINVAL, [](f&) { return init(config(0, 0, 0)); }},
    {"lath_index_init", "a size beyond the struct", -EINVAL,
     [](f&) { return init(config(0, 0, sizeof(lath_config) + 1)); }},
    {"lath_index_init", "holes among points", -EINVAL,
     [](f&) { return init(config(LATH_HOLES, LATH_POINTS)); }},
    {"lath_index_init", "holes and ranks", -EINVAL,
     [](f&) { return init(config(LATH_HOLES | LATH_RANKS)); }},
    {"lath_index_init", "huge and small pages", -EINVAL,
     [](f&) { return init(config(LATH_HUGE_PAGES | LATH_SMALL_PAGES)); }},
    {"lath_index_create", "an unknown flag", 0, [](f&) -> R {
         lath_config bad = config(1u << 20);
         return lath_index_create(&bad) != nullptr;
     }},
    {"lath_index_insert_item", "size 0", -EINVAL, [](f& t) { return insert(t, {50, 0, 9}); }},
    {"lath_index_insert_item", "past the last key", -EINVAL,
     [](f& t) { return insert(t, {top - 3, 5, 9}); }},
    {"lath_index_insert_item", "far past the last key", -EINVAL,
     [](f& t) { return insert(t, {2, top, 9}); }},
    {"lath_index_insert_item", "size 2 among points", -EINVAL,
     [](f&) { return points([](f& t) { return insert(t, {50, 2, 9}); }); }},
    {"lath_index_insert_item", "an item is there", -EEXIST,
     [](f& t) { return insert(t, {15, 1, 9}); }},
    {"lath_index_insert_item", "it ends in an item", -EEXIST,
     [](f& t) { return insert(t, {50, 51, 9}); }},
    {"lath_index_insert_item", "all keys but the last", -EEXIST,
     [](f& t) { return insert(t, {0, top, 9}); }},
    {"lath_index_insert_preloaded", "size 0", -EINVAL,
     [](f& t) { return insert_preloaded(t, {50, 0, 9}); }},
    {"lath_index_insert_preloaded", "past the last key", -EINVAL,
     [](f& t) { return insert_preloaded(t, {top, 2, 9}); }},
    {"lath_index_insert_preloaded", "an item is there", -EEXIST,
     [](f& t) { return insert_preloaded(t, {15, 1, 9}); }},
    {"lath_index_erase_item", "a key inside an item", -ENOENT,
     [](f& t) -> R { return lath_index_erase_item(&t.index, 15, &t.item); }},
    {"lath_index_erase_item", "the last key", -ENOENT,
     [](f& t) -> R { return lath_index_erase_item(&t.index, top, nullptr); }},
    {"lath_index_erase_item_at", "a free key", -ENOENT,
     [](f& t) -> R { return lath_index_erase_item_at(&t.index, 30, &t.item); }},
    {"lath_index_replace_item", "a key inside an item", -ENOENT,
     [](f& t) -> R { return lath_index_replace_item(&t.index, 15, 9, &t.item); }},
    {"lath_index_replace_if", "a key inside an item", -ENOENT,
     [](f& t) -> R { return lath_index_replace_if(&t.index, 15, 1, 9, &t.item); }},
    {"lath_index_replace_if", "another value", -EAGAIN,
     [](f& t) -> R { return lath_index_replace_if(&t.index, 10, 2, 9, &t.item); }},
    {"lath_index_erase_if", "a free key", -ENOENT,
     [](f& t) -> R { return lath_index_erase_if(&t.index, 0, 1, &t.item); }},
    {"lath_index_erase_if", "another value", -EAGAIN,
     [](f& t) -> R { return lath_index_erase_if(&t.index, 10, 2, &t.item); }},
    {"lath_index_erase_sized", "a free key", -ENOENT,
     [](f& t) -> R { return lath_index_erase_sized(&t.index, 0, 1, &t.item); }},
    {"lath_index_erase_sized", "size 0", -EAGAIN,
     [](f& t) -> R { return lath_index_erase_sized(&t.index, 10, 0, &t.item); }},
    {"lath_index_erase_sized", "another size", -EAGAIN,
     [](f& t) -> R { return lath_index_erase_sized(&t.index, 10, 9, nullptr); }},
    {"lath_index_erase_sized", "size 2 among points", -EAGAIN,
     [](f&) {
         return points(
             [](f& t) -> R { return lath_index_erase_sized(&t.index, 10, 2, &t.item); });
     }},
    {"lath_index_erase_part", "a free key", -ENOENT,
     [](f& t) -> R { return erase_part(t, 0, 1, 1); }},
    {"lath_index_erase_part", "another value", -EAGAIN,
     [](f& t) -> R { return erase_part(t, 10, 1, 2); }},
    {"lath_index_erase_part", "size 0", -EINVAL, [](f& t) -> R { return erase_part(t, 10, 0, 1); }},
    {"lath_index_erase_part", "behind 2^64", -EINVAL,
     [](f& t) -> R { return erase_part(t, 10, ~std::uint64_t{0}, 1); }},
    {"lath_index_lookup_item", "a free key", -ENOENT,
     [](f& t) -> R { return lath_index_lookup_item(&t.index, 30, &t.item); }},
    {"lath_index_lookup_item_rcu", "a free key", -ENOENT, [](f& t) -> R {
         lath_rcu_auto.read_lock();
         R ret = lath_index_lookup_item_rcu(&t.index, 0, &t.item);
         lath_rcu_auto.read_unlock();
         return ret;
     }},
    {"lath_index_overlap_item", "size 0", -EINVAL,
     [](f& t) -> R { return lath_index_overlap_item(&t.index, 10, 0, &t.item); }},
    {"lath_index_overlap_item", "one past the last key", -EINVAL,
     [](f& t) -> R { return lath_index_overlap_item(&t.index, 2, top, &t.item); }},
    {"lath_index_overlap_item", "a free range", -ENOENT,
     [](f& t) -> R { return lath_index_overlap_item(&t.index, 30, 70, &t.item); }},
    {"lath_index_overlap_item_rcu", "size 0", -EINVAL, [](f& t) -> R {
         lath_rcu_auto.read_lock();
         R ret = lath_index_overlap_item_rcu(&t.index, 10, 0, &t.item);
         lath_rcu_auto.read_unlock();
         return ret;
     }},
    {"lath_index_ceiling_item", "behind the last item", -ENOENT,
     [](f& t) -> R { return lath_index_ceiling_item(&t.index, top, &t.item); }},
    {"lath_index_floor_item", "in front of the first item", -ENOENT,
     [](f& t) -> R { return lath_index_floor_item(&t.index, 9, &t.item); }},
    {"lath_index_first_item", "an empty index", -ENOENT, [](f&) -> R {
         lath_index empty;
         lath_item found;
         REQUIRE(lath_index_init(&empty, nullptr) == 0);
         R ret = lath_index_first_item(&empty, &found);
         lath_index_fini(&empty, nullptr, nullptr);
         return ret;
     }},
    {"lath_index_last_item", "an empty index", -ENOENT, [](f&) -> R {
         lath_index empty;
         lath_item found;
         REQUIRE(lath_index_init(&empty, nullptr) == 0);
         R ret = lath_index_last_item(&empty, &found);
         lath_index_fini(&empty, nullptr, nullptr);
         return ret;
     }},
    {"lath_index_lookup_pin", "a free key", -ENOENT,
     [](f& t) -> R { return lath_index_lookup_pin(&t.index, 30, &refusing, &t.item); }},
    {"lath_index_lookup_pin", "a pin that refuses", -EBUSY,
     [](f& t) -> R { return lath_index_lookup_pin(&t.index, 15, &refusing, &t.item); }},
    {"lath_index_resize", "size 0", -EINVAL,
     [](f& t) -> R { return lath_index_resize(&t.index, 10, 0); }},
    {"lath_index_resize", "past the last key", -EINVAL,
     [](f& t) -> R { return lath_index_resize(&t.index, top - 15, 17); }},
    {"lath_index_resize", "among points", -EINVAL,
     [](f&) { return points([](f& t) -> R { return lath_index_resize(&t.index, 10, 2); }); }},
    {"lath_index_resize", "a free key", -ENOENT,
     [](f& t) -> R { return lath_index_resize(&t.index, 11, 5); }},
    {"lath_index_resize", "over the next item", -EEXIST,
     [](f& t) -> R { return lath_index_resize(&t.index, 10, 11); }},
    {"lath_index_split", "a free key", -ENOENT,
     [](f& t) -> R { return lath_index_split(&t.index, 30, 9); }},
    {"lath_index_split", "where an item starts", -EEXIST,
     [](f& t) -> R { return lath_index_split(&t.index, 20, 9); }},
    {"lath_index_split", "among points", -EEXIST,
     [](f&) { return points([](f& t) -> R { return lath_index_split(&t.index, 10, 9); }); }},
    {"lath_index_join", "key 0", -ENOENT,
     [](f& t) -> R { return lath_index_join(&t.index, 0, nullptr, nullptr, &t.item); }},
    {"lath_index_join", "the first item", -ENOENT,
     [](f& t) -> R { return lath_index_join(&t.index, 10, nullptr, nullptr, &t.item); }},
    {"lath_index_join", "the last key", -ENOENT,
     [](f& t) -> R { return lath_index_join(&t.index, top, nullptr, nullptr, nullptr); }},
    {"lath_index_join", "the caller refuses", -ECANCELED,
     [](f& t) -> R { return lath_index_join(&t.index, 20, refuse_join, nullptr, &t.item); }},
    {"lath_index_join", "among points", -EINVAL,
     [](f&) {
         return points([](f& t) -> R {
             return lath_index_join(&t.index, 20, nullptr, nullptr, nullptr);
         });
     }},
    {"lath_index_join", "all keys together", -EINVAL,
     [](f&) -> R {
         lath_index all;
         lath_item left{0, 1ull << 63, 1}, right{1ull << 63, 1ull << 63, 2};
         REQUIRE(lath_index_init(&all, nullptr) == 0);
         REQUIRE(lath_index_insert_item(&all, &left, nullptr) == 0);
         REQUIRE(lath_index_insert_item(&all, &right, nullptr) == 0);
         R ret = lath_index_join(&all, 1ull << 63, nullptr, nullptr, nullptr);
         CHECK(lath_index_count(&all) == 2);
         lath_index_fini(&all, nullptr, nullptr);
         return ret;
     }},
    {"lath_index_erase_range", "size 0", -EINVAL,
     [](f& t) -> R { return lath_index_erase_range(&t.index, 10, 0, nullptr, nullptr); }},
    {"lath_index_erase_range", "one past the last key", -EINVAL,
     [](f& t) -> R { return lath_index_erase_range(&t.index, 2, top, nullptr, nullptr); }},
    {"lath_index_erase_range", "a free range", 0,
     [](f& t) -> R { return lath_index_erase_range(&t.index, 30, 70, nullptr, nullptr); }},
    {"lath_index_store_range", "size 0", -EINVAL, [](f& t) { return store(t, {10, 0, 9}); }},
    {"lath_index_store_range", "past the last key", -EINVAL,
     [](f& t) { return store(t, {top, 2, 9}); }},
    {"lath_index_store_range", "size 2 among points", -EINVAL,
     [](f&) { return points([](f& t) { return store(t, {10, 2, 9}); }); }},
    {"lath_index_lookup_batch", "no keys", 0,
     [](f& t) -> R { return R(lath_index_lookup_batch(&t.index, 0, t.keys, t.items)); }},
    {"lath_index_get_batch", "no keys", 0,
     [](f& t) -> R {
         return R(lath_index_get_batch(&t.index, 0, t.keys, t.values, t.hits));
     }},
    {"lath_index_insert_batch", "invalid ones and one that is there", 0, [](f& t) -> R {
         const lath_item items[] = {{50, 0, 9}, {top, 2, 9}, {15, 1, 9}, {0, 11, 9}};
         R n = R(lath_index_insert_batch(&t.index, 4, items, t.results));
         CHECK(t.results[0] == -EINVAL);
         CHECK(t.results[1] == -EINVAL);
         CHECK(t.results[2] == -EEXIST);
         CHECK(t.results[3] == -EEXIST);
         return n;
     }},
    {"lath_index_erase_batch", "keys where no item starts", 0, [](f& t) -> R {
         const std::uint64_t keys[] = {0, 15, 30, top};
         R n = R(lath_index_erase_batch(&t.index, 4, keys, t.results));
         for (int result : t.results)
             CHECK(result == -ENOENT);
         return n;
     }},
    {"lath_index_load_sorted", "an index that has items", -EBUSY,
     [](f& t) { return load(t, {{300, 1, 1}}); }},
    {"lath_index_load_sorted", "no items, into one that has", -EBUSY,
     [](f& t) { return load(t, {}); }},
    {"lath_index_load_sorted", "out of order", -EINVAL,
     [](f&) { return load_new({{5, 1, 1}, {9, 1, 1}, {7, 1, 1}}, 2); }},
    {"lath_index_load_sorted", "the same key twice", -EINVAL,
     [](f&) { return load_new({{5, 1, 1}, {5, 1, 1}}, 1); }},
    {"lath_index_load_sorted", "overlapping", -EINVAL,
     [](f&) { return load_new({{5, 5, 1}, {9, 1, 1}}, 1); }},
    {"lath_index_load_sorted", "behind the last key", -EINVAL,
     [](f&) { return load_new({{top, 1, 1}, {0, 1, 1}}, 1); }},
    {"lath_index_load_sorted", "size 0", -EINVAL, [](f&) { return load_new({{5, 0, 1}}, 0); }},
    {"lath_index_load_sorted", "past the last key", -EINVAL,
     [](f&) { return load_new({{1, 1, 1}, {top, 2, 1}}, 1); }},
    {"lath_index_load_sorted", "size 2 among points", -EINVAL,
     [](f&) { return load_new({{5, 2, 1}}, 0, LATH_POINTS); }},
    {"lath_index_get", "a free key", 0,
     [](f& t) -> R { return lath_index_get(&t.index, 30, &t.value); }},
    {"lath_index_scan", "limits the wrong way round", 0,
     [](f& t) -> R { return R(lath_index_scan(&t.index, 20, 10, t.items, 4, &t.key)); }},
    {"lath_index_scan", "room for none", 0,
     [](f& t) -> R { return R(lath_index_scan(&t.index, 0, top, t.items, 0, &t.key)); }},
    {"lath_index_scan_values", "limits the wrong way round", 0,
     [](f& t) -> R {
         return R(lath_index_scan_values(&t.index, 20, 10, t.keys, t.values, 4, &t.key));
     }},
    {"lath_index_scan_values", "room for none", 0,
     [](f& t) -> R {
         return R(lath_index_scan_values(&t.index, 0, top, t.keys, t.values, 0, &t.key));
     }},
    {"lath_index_visit_values", "limits the wrong way round", 0,
     [](f& t) -> R {
         R ret = lath_index_visit_values(&t.index, 20, 10, 4, visit, &t.visited);
         CHECK(!t.visited);
         return ret;
     }},
    {"lath_index_scan_back", "limits the wrong way round", 0,
     [](f& t) -> R { return R(lath_index_scan_back(&t.index, 10, 20, t.items, 4, &t.key)); }},
    {"lath_index_scan_back", "room for none", 0,
     [](f& t) -> R { return R(lath_index_scan_back(&t.index, top, 0, t.items, 0, &t.key)); }},
    {"lath_index_rank", "an index without ranks", -EINVAL,
     [](f& t) -> R { return lath_index_rank(&t.index, 10); }},
    {"lath_index_select", "an index without ranks", -EINVAL,
     [](f& t) -> R { return lath_index_select(&t.index, 0, &t.item); }},
    {"lath_index_select", "a rank beyond the last item", -ENOENT,
     [](f&) {
         return other(LATH_RANKS, LATH_RANGES,
                      [](f& t) -> R { return lath_index_select(&t.index, 4, &t.item); });
     }},
    {"lath_index_select", "the largest rank", -ENOENT,
     [](f&) {
         return other(LATH_RANKS, LATH_RANGES,
                      [](f& t) -> R { return lath_index_select(&t.index, top, &t.item); });
     }},
    {"lath_index_count_range", "an index without ranks", -EINVAL,
     [](f& t) -> R { return lath_index_count_range(&t.index, 0, top); }},
    {"lath_index_count_range", "limits the wrong way round", 0,
     [](f&) {
         return other(LATH_RANKS, LATH_RANGES,
                      [](f& t) -> R { return lath_index_count_range(&t.index, 20, 10); });
     }},
    // slots: 0 is not a slot
    {"lath_index_insert", "size 0", -EINVAL, [](f& t) { return insert_slot(t, 50, 0); }},
    {"lath_index_insert", "past the last key", -EINVAL,
     [](f& t) { return insert_slot(t, top, 2); }},
    {"lath_index_insert", "an item is there", -EEXIST,
     [](f& t) { return insert_slot(t, 15, 1); }},
    {"lath_index_erase", "a key inside an item", 0,
     [](f& t) -> R { return lath_index_erase(&t.index, 15) != nullptr; }},
    {"lath_index_erase_at", "a free key", 0,
     [](f& t) -> R { return lath_index_erase_at(&t.index, 30) != nullptr; }},
    {"lath_index_lookup", "a free key", 0,
     [](f& t) -> R { return lath_index_lookup(&t.index, 30) != nullptr; }},
    {"lath_index_lookup_rcu", "a free key", 0, [](f& t) -> R {
         lath_rcu_auto.read_lock();
         R ret = lath_index_lookup_rcu(&t.index, 30) != nullptr;
         lath_rcu_auto.read_unlock();
         return ret;
     }},
    {"lath_index_overlap", "size 0", 0,
     [](f& t) -> R { return lath_index_overlap(&t.index, 10, 0) != nullptr; }},
    {"lath_index_overlap", "a free range", 0,
     [](f& t) -> R { return lath_index_overlap(&t.index, 30, 70) != nullptr; }},
    {"lath_index_clone", "a bad configuration", -EINVAL, [](f& t) -> R {
         lath_index copy;
         lath_config bad = config(1u << 20);
         return lath_index_clone(&copy, &t.index, &bad);
     }},
};

const std::vector<arguments::exempt> exempts = {
    {"lath_item_slot", "", "a conversion"},
    {"lath_item_taken", "", "a conversion"},
    {"lath_index_fini", "", "ends the index; every index is a good one"},
    {"lath_index_destroy", "", "NULL is not an index and nothing happens"},
    {"lath_index_preload", "", "fills what is missing; no argument can be bad"},
    {"lath_index_preload_release", "", "takes what preload() left"},
    {"lath_index_clear", "", "no argument but the index"},
    {"lath_index_prepare", "", "no argument but the index"},
    {"lath_index_prefetch", "", "any key will do"},
    {"lath_index_count", "", "no argument but the index"},
    {"lath_index_digest", "", "no argument but the index and a function"},
    {"lath_index_get_stats", "", "no argument but the index"},
    {"lath_index_trim", "", "any number of steps and any cursor will do"},
    {"lath_index_verify", "", "any level will do"},
    {"lath_index_dump", "", "no argument but the index and a function"},
    {"lath_index_layout", "", "no argument"},
};

const std::vector<arguments::row<f>> cursor_rows = {
    {"lath_cursor_seek", "behind the last item", 0,
     [](f& t) -> R { return lath_cursor_seek(&t.cursor, top, &t.item); }},
    {"lath_cursor_seek_floor", "in front of the first item", 0,
     [](f& t) -> R { return lath_cursor_seek_floor(&t.cursor, 9, &t.item); }},
    {"lath_cursor_next", "on the last item", 0,
     [](f& t) -> R {
         CHECK(lath_cursor_seek(&t.cursor, 201, &t.item) == 1);
         return lath_cursor_next(&t.cursor, &t.item);
     }},
    {"lath_cursor_prev", "on the first item", 0,
     [](f& t) -> R {
         CHECK(lath_cursor_seek(&t.cursor, 0, &t.item) == 1);
         return lath_cursor_prev(&t.cursor, &t.item);
     }},
    {"lath_cursor_lock", "a cursor that holds a leaf", -EINVAL,
     [](f& t) -> R {
         REQUIRE(lath_cursor_lock(&t.cursor, 15, nullptr, nullptr) == 0);
         R ret = lath_cursor_lock(&t.cursor, 15, nullptr, nullptr);
         lath_cursor_unlock(&t.cursor);
         return ret;
     }},
    {"lath_cursor_locked_floor", "no locked leaf", 0,
     [](f& t) -> R { return lath_cursor_locked_floor(&t.cursor, 15, &t.item); }},
    {"lath_cursor_locked_ceiling", "no locked leaf", 0,
     [](f& t) -> R { return lath_cursor_locked_ceiling(&t.cursor, 15, &t.item); }},
    {"lath_cursor_insert", "no locked leaf", -EINVAL,
     [](f& t) { return cursor_insert(t, {50, 1, 9}); }},
    {"lath_cursor_insert", "size 0", -EINVAL,
     [](f& t) { return locked(t, [](f& u) { return cursor_insert(u, {50, 0, 9}); }); }},
    {"lath_cursor_insert", "past the last key", -EINVAL,
     [](f& t) { return locked(t, [](f& u) { return cursor_insert(u, {top, 2, 9}); }); }},
    {"lath_cursor_insert", "an item is there", -EEXIST,
     [](f& t) { return locked(t, [](f& u) { return cursor_insert(u, {15, 1, 9}); }); }},
    {"lath_cursor_erase", "no locked leaf", -EINVAL,
     [](f& t) -> R { return lath_cursor_erase(&t.cursor, 10, &t.item); }},
    {"lath_cursor_erase", "a key inside an item", -ENOENT,
     [](f& t) {
         return locked(t, [](f& u) -> R { return lath_cursor_erase(&u.cursor, 15, &u.item); });
     }},
    {"lath_cursor_unlock", "no locked leaf", 0,
     [](f& t) -> R {
         lath_cursor_unlock(&t.cursor);
         return 0;
     }},
};

const std::vector<arguments::exempt> cursor_exempts = {
    {"lath_cursor_init", "", "no argument can be bad"},
    {"lath_cursor_insert", "-EAGAIN", "only in a full leaf"},
};

#define BOTH(argument, expected, ...)                                                           \
    {"lath_index_find_hole", argument, expected, [](f& t) { return find(t, __VA_ARGS__); }}, {  \
        "lath_index_insert_hole", argument, expected, [](f& t) { return take(t, __VA_ARGS__); } \
    }

const std::vector<arguments::row<f>> hole_rows = {
    BOTH("size 0", -EINVAL, want(0)),
    BOTH("an alignment that is not a power of two", -EINVAL, want(8, 12)),
    BOTH("the largest alignment that is none", -EINVAL, want(8, top)),
    BOTH("no keys between the limits", -EINVAL, want(8, 0, 100, 100)),
    BOTH("limits the wrong way round", -EINVAL, want(8, 0, 100, 50)),
    BOTH("an unknown policy", -EINVAL, want(8, 0, 0, 0, 6)),
    BOTH("a negative policy", -EINVAL, want(8, 0, 0, 0, -1)),
    BOTH("an exact place that is not aligned", -EINVAL, want(8, 8, 0, 0, LATH_HOLE_EXACT, 36)),
    BOTH("an exact place in front of the limits", -EINVAL, want(8, 0, 40, 90, LATH_HOLE_EXACT, 39)),
    BOTH("an exact place that ends behind the limits", -EINVAL,
         want(8, 0, 40, 90, LATH_HOLE_EXACT, 83)),
    BOTH("an exact place past the last key", -EINVAL, want(8, 0, 0, 0, LATH_HOLE_EXACT, top - 6)),
    BOTH("an exact place that is taken", -ENOSPC, want(8, 0, 0, 0, LATH_HOLE_EXACT, 95)),
    BOTH("more than there is between the limits", -ENOSPC, want(71, 0, 30, 100)),
    BOTH("more than the limits have keys", -ENOSPC, want(11, 0, 40, 50)),
    BOTH("all keys", -ENOSPC, want(top)),
    BOTH("an alignment that only key 0 has", -ENOSPC, want(11, 1ull << 63, 0, 1ull << 62)),
    {"lath_index_find_hole", "an index without holes", -EINVAL,
     [](f&) { return plain([](f& t) { return find(t, want(8)); }); }},
    {"lath_index_insert_hole", "an index without holes", -EINVAL,
     [](f&) { return plain([](f& t) { return take(t, want(8)); }); }},
    {"lath_index_hole_stats", "no keys between the limits", -EINVAL,
     [](f& t) -> R {
         lath_hole_stats stats;
         return lath_index_hole_stats(&t.index, 100, 100, 0, &stats);
     }},
    {"lath_index_hole_stats", "limits the wrong way round", -EINVAL,
     [](f& t) -> R {
         lath_hole_stats stats;
         return lath_index_hole_stats(&t.index, 100, 50, 0, &stats);
     }},
    {"lath_index_hole_stats", "an index without holes", -EINVAL,
     [](f&) {
         return plain([](f& t) -> R {
             lath_hole_stats stats;
             return lath_index_hole_stats(&t.index, 0, 0, 0, &stats);
         });
     }},
};

} // namespace

TEST_CASE("lathwork/index.h, cursor.h, hole.h: each function is in a table") {
    arguments::compare_with_header(LATH_HEADERS "/index.h", rows, exempts);
    arguments::compare_with_header(LATH_HEADERS "/cursor.h", cursor_rows, cursor_exempts);
    arguments::compare_with_header<f>(LATH_HEADERS "/hole.h", hole_rows, {});
}

TEST_CASE("lathwork/index.h, cursor.h, hole.h: each bad argument is refused and changes nothing") {
    arguments::make_calls(rows);
    arguments::make_calls(cursor_rows);
    arguments::make_calls(hole_rows);
    lath_index_destroy(nullptr, nullptr, nullptr);
}
