// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/bytes.h, interval.h: every call with each argument that its comment calls invalid, and
// what it says when there is nothing to find.
#include "arguments.hpp"

#include "lathwork/bytes.h"
#include "lathwork/interval.h"

#include <array>

namespace {

using R = std::int64_t;
using arguments::config;

// ---- byte keys

struct record {
    const char* data;
    std::uint64_t size, tag;
};

void key_of(void*, std::uint64_t value, lath_bytes_key* key) {
    const auto* r = reinterpret_cast<const record*>(value); // NOLINT(performance-no-int-to-ptr)
    *key = {r->data, r->size, r->tag};
}

constexpr lath_bytes_records records = {key_of, nullptr, 0};

std::uint64_t value_of(const record& r) { return reinterpret_cast<std::uint64_t>(&r); }

const record apple = {"apple", 5, 0}, apple_7 = {"apple", 5, 7}, pear = {"pear", 4, 0};
const record same = {"apple", 5, 0}, fig = {"fig", 3, 0};
const record huge = {"", LATH_BYTES_SIZE_MAX + 1, 0};

struct bytes_fixture {
    bytes_fixture() {
        REQUIRE(lath_bytes_init(&set, &records, nullptr) == 0);
        for (const record* r : {&apple, &apple_7, &pear})
            REQUIRE(lath_bytes_insert(&set, value_of(*r), nullptr) == 0);
    }
    ~bytes_fixture() { lath_bytes_fini(&set, nullptr, nullptr); }
    bytes_fixture(const bytes_fixture&) = delete;
    bytes_fixture& operator=(const bytes_fixture&) = delete;

    std::array<std::uint64_t, 5> state() {
        std::uint64_t all[4] = {};
        REQUIRE(lath_bytes_verify(&set, nullptr, 0) == 0);
        REQUIRE(lath_bytes_scan(&set, nullptr, 0, all, 4) == 3);
        return {lath_bytes_count(&set), all[0], all[1], all[2], value};
    }

    lath_bytes set;
    std::uint64_t value = 77, values[4]{};
};

using b = bytes_fixture;

lath_bytes_key key(const record& r) { return {r.data, r.size, r.tag}; }

R bytes_init(lath_bytes_records of, lath_config with) {
    lath_bytes set;
    R ret = lath_bytes_init(&set, &of, &with);
    if (!ret)
        lath_bytes_fini(&set, nullptr, nullptr);
    return ret;
}

// A put at the place that a find of `r` led to.
R put(b& t, const record& r, std::uint64_t value) {
    lath_bytes_place place;
    lath_bytes_key wanted = key(r);
    lath_rcu_auto.read_lock();
    lath_bytes_find(&t.set, &wanted, &place);
    R ret = lath_bytes_put(&t.set, &place, value);
    lath_rcu_auto.read_unlock();
    return ret;
}

const std::vector<arguments::row<b>> rows = {
    {"lath_bytes_init", "NULL", -EINVAL,
     [](b&) -> R { return lath_bytes_init(nullptr, &records, nullptr); }},
    {"lath_bytes_init", "no records", -EINVAL,
     [](b&) -> R {
         lath_bytes set;
         return lath_bytes_init(&set, nullptr, nullptr);
     }},
    {"lath_bytes_init", "no function for keys", -EINVAL,
     [](b&) { return bytes_init({nullptr, nullptr, 0}, config(0)); }},
    {"lath_bytes_init", "an unknown flag of records", -EINVAL,
     [](b&) { return bytes_init({key_of, nullptr, 2}, config(0)); }},
    {"lath_bytes_init", "points", -EINVAL,
     [](b&) { return bytes_init(records, config(0, LATH_POINTS)); }},
    {"lath_bytes_init", "holes", -EINVAL,
     [](b&) { return bytes_init(records, config(LATH_HOLES)); }},
    {"lath_bytes_init", "ranks, shared", -EINVAL,
     [](b&) { return bytes_init(records, config(LATH_RANKS | LATH_SHARED)); }},
    {"lath_bytes_rank", "a set without ranks", -EINVAL,
     [](b& t) -> R {
         lath_bytes_key wanted = key(fig);
         return lath_bytes_rank(&t.set, &wanted, 0);
     }},
    {"lath_bytes_rank", "a flag that it does not have", -EINVAL,
     [](b& t) -> R {
         lath_bytes_key wanted = key(fig);
         return lath_bytes_rank(&t.set, &wanted, LATH_BYTES_SAME);
     }},
    {"lath_bytes_select", "a set without ranks", -EINVAL,
     [](b& t) -> R { return lath_bytes_select(&t.set, 0, &t.value); }},
    {"lath_bytes_select", "a rank behind the last record", -ENOENT,
     [](b& t) -> R {
         lath_config with = config(LATH_RANKS);
         lath_bytes set;
         R ret = lath_bytes_init(&set, &records, &with);
         if (ret == 0) {
             ret = lath_bytes_select(&set, 0, &t.value);
             lath_bytes_fini(&set, nullptr, nullptr);
         }
         return ret;
     }},
    {"lath_bytes_init", "huge and small pages", -EINVAL,
     [](b&) { return bytes_init(records, config(LATH_HUGE_PAGES | LATH_SMALL_PAGES)); }},
    {"lath_bytes_init", "size 0", -EINVAL, [](b&) { return bytes_init(records, config(0, 0, 0)); }},
    {"lath_bytes_init", "a size beyond the struct", -EINVAL,
     [](b&) { return bytes_init(records, config(0, 0, sizeof(lath_config) + 1)); }},
    {"lath_bytes_insert", "value 0", -EINVAL,
     [](b& t) -> R { return lath_bytes_insert(&t.set, 0, &t.value); }},
    {"lath_bytes_insert", "a value that is not a multiple of 4", -EINVAL,
     [](b& t) -> R { return lath_bytes_insert(&t.set, value_of(fig) + 2, &t.value); }},
    {"lath_bytes_insert", "value 2^64 - 1", -EINVAL,
     [](b& t) -> R { return lath_bytes_insert(&t.set, ~0ull, &t.value); }},
    {"lath_bytes_insert", "an equal key and tag", -EEXIST,
     [](b& t) -> R { return lath_bytes_insert(&t.set, value_of(same), nullptr); }},
    {"lath_bytes_insert", "a key that is too long", -E2BIG,
     [](b& t) -> R { return lath_bytes_insert(&t.set, value_of(huge), &t.value); }},
    {"lath_bytes_erase", "an absent key", -ENOENT,
     [](b& t) -> R {
         lath_bytes_key wanted = key(fig);
         return lath_bytes_erase(&t.set, &wanted, &t.value);
     }},
    {"lath_bytes_erase", "an absent tag", -ENOENT,
     [](b& t) -> R {
         lath_bytes_key wanted = {"apple", 5, ~0ull};
         return lath_bytes_erase(&t.set, &wanted, &t.value);
     }},
    {"lath_bytes_replace", "value 0", -EINVAL,
     [](b& t) -> R { return lath_bytes_replace(&t.set, 0, &t.value); }},
    {"lath_bytes_replace", "a value that is not a multiple of 4", -EINVAL,
     [](b& t) -> R { return lath_bytes_replace(&t.set, 7, &t.value); }},
    {"lath_bytes_replace", "an absent key", -ENOENT,
     [](b& t) -> R { return lath_bytes_replace(&t.set, value_of(fig), &t.value); }},
    {"lath_bytes_erase_if", "expected 0", -EINVAL,
     [](b& t) -> R { return lath_bytes_erase_if(&t.set, 0, &t.value); }},
    {"lath_bytes_erase_if", "an expected value that is not a multiple of 4", -EINVAL,
     [](b& t) -> R { return lath_bytes_erase_if(&t.set, 7, &t.value); }},
    {"lath_bytes_erase_if", "an absent key", -ENOENT,
     [](b& t) -> R { return lath_bytes_erase_if(&t.set, value_of(fig), &t.value); }},
    {"lath_bytes_erase_if", "another record", -EAGAIN,
     [](b& t) -> R { return lath_bytes_erase_if(&t.set, value_of(same), nullptr); }},
    {"lath_bytes_replace_if", "expected 0", -EINVAL,
     [](b& t) -> R { return lath_bytes_replace_if(&t.set, 0, value_of(same), &t.value); }},
    {"lath_bytes_replace_if", "an expected value that is not a multiple of 4", -EINVAL,
     [](b& t) -> R { return lath_bytes_replace_if(&t.set, 6, value_of(same), &t.value); }},
    {"lath_bytes_replace_if", "value 0", -EINVAL,
     [](b& t) -> R { return lath_bytes_replace_if(&t.set, value_of(apple), 0, &t.value); }},
    {"lath_bytes_replace_if", "an absent key", -ENOENT,
     [](b& t) -> R {
         return lath_bytes_replace_if(&t.set, value_of(fig), value_of(fig), &t.value);
     }},
    {"lath_bytes_replace_if", "another record", -EAGAIN,
     [](b& t) -> R {
         return lath_bytes_replace_if(&t.set, value_of(same), value_of(same), nullptr);
     }},
    {"lath_bytes_find", "an absent key", 0,
     [](b& t) -> R {
         lath_bytes_place place;
         lath_bytes_key wanted = key(fig);
         lath_rcu_auto.read_lock();
         R ret = lath_bytes_find(&t.set, &wanted, &place);
         lath_rcu_auto.read_unlock();
         CHECK(place.value == 0);
         return ret;
     }},
    {"lath_bytes_put", "nothing to erase", -EINVAL, [](b& t) { return put(t, fig, 0); }},
    {"lath_bytes_put", "a value that is not a multiple of 4", -EINVAL,
     [](b& t) { return put(t, apple, 5); }},
    {"lath_bytes_put", "a key that is too long", -E2BIG,
     [](b& t) { return put(t, fig, value_of(huge)); }},
    {"lath_bytes_get", "an absent key", 0,
     [](b& t) -> R {
         lath_bytes_key wanted = key(fig);
         return lath_bytes_get(&t.set, &wanted, &t.value);
     }},
    {"lath_bytes_get", "an absent tag", 0,
     [](b& t) -> R {
         lath_bytes_key wanted = {"pear", 4, 1};
         return lath_bytes_get(&t.set, &wanted, &t.value);
     }},
    {"lath_bytes_get", "the empty key", 0,
     [](b& t) -> R {
         lath_bytes_key wanted = {nullptr, 0, 0};
         return lath_bytes_get(&t.set, &wanted, &t.value);
     }},
    {"lath_bytes_get_batch", "no keys", 0,
     [](b& t) -> R { return R(lath_bytes_get_batch(&t.set, 0, nullptr, t.values)); }},
    {"lath_bytes_insert_batch", "no records", 0,
     [](b& t) -> R { return R(lath_bytes_insert_batch(&t.set, 0, nullptr, nullptr)); }},
    {"lath_bytes_insert_batch", "invalid ones and one that is there", 0,
     [](b& t) -> R {
         const std::uint64_t values[] = {0, value_of(apple) + 1, value_of(huge), value_of(apple)};
         int results[4];
         const size_t n = lath_bytes_insert_batch(&t.set, 4, values, results);
         CHECK(results[0] == -EINVAL);
         CHECK(results[1] == -EINVAL);
         CHECK(results[2] == -E2BIG);
         CHECK(results[3] == -EEXIST);
         return R(n);
     }},
    {"lath_bytes_first_batch", "no keys", 0,
     [](b& t) -> R { return R(lath_bytes_first_batch(&t.set, 0, nullptr, 0, t.values)); }},
    {"lath_bytes_ceiling", "behind the last key", -ENOENT,
     [](b& t) -> R {
         lath_bytes_key wanted = {"\xff\xff\xff\xff\xff\xff\xff\xff", 8, ~0ull};
         return lath_bytes_ceiling(&t.set, &wanted, &t.value);
     }},
    {"lath_bytes_floor", "in front of the first key", -ENOENT,
     [](b& t) -> R {
         lath_bytes_key wanted = {nullptr, 0, 0};
         return lath_bytes_floor(&t.set, &wanted, &t.value);
     }},
    {"lath_bytes_scan", "room for none", 0,
     [](b& t) -> R { return R(lath_bytes_scan(&t.set, nullptr, 0, t.values, 0)); }},
    {"lath_bytes_cursor_seek", "behind the last key", 0,
     [](b& t) -> R {
         lath_bytes_cursor cursor;
         lath_bytes_key wanted = {"q", 1, 0};
         lath_bytes_cursor_init(&cursor, &t.set);
         return lath_bytes_cursor_seek(&cursor, &wanted, &t.value);
     }},
    {"lath_bytes_cursor_seek_floor", "in front of the first key", 0,
     [](b& t) -> R {
         lath_bytes_cursor cursor;
         lath_bytes_key wanted = {"a", 1, 0};
         lath_bytes_cursor_init(&cursor, &t.set);
         return lath_bytes_cursor_seek_floor(&cursor, &wanted, &t.value);
     }},
    {"lath_bytes_cursor_next", "a prefix that no key has", 0,
     [](b& t) -> R {
         lath_bytes_cursor cursor;
         lath_bytes_cursor_init_prefix(&cursor, &t.set, "pearl", 5);
         return lath_bytes_cursor_next(&cursor, &t.value);
     }},
    {"lath_bytes_cursor_prev", "a prefix of 255s", 0,
     [](b& t) -> R {
         lath_bytes_cursor cursor;
         lath_bytes_cursor_init_prefix(&cursor, &t.set, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
         return lath_bytes_cursor_prev(&cursor, &t.value);
     }},
};

const std::vector<arguments::exempt> exempts = {
    {"lath_bytes_fini", "", "ends the set; every set is a good one"},
    {"lath_bytes_clear", "", "no argument but the set and a function"},
    {"lath_bytes_put", "-EAGAIN", "only if another call came between: tests/bytes/tape.c"},
    {"lath_bytes_cursor_init", "", "no argument can be bad"},
    {"lath_bytes_cursor_init_prefix", "", "any prefix will do"},
    {"lath_bytes_count", "", "no argument but the set"},
    {"lath_bytes_trees", "", "no argument but the set"},
    {"lath_bytes_get_stats", "", "no argument but the set"},
    {"lath_bytes_verify", "", "no argument but the set and a buffer"},
};

// ---- intervals

struct interval_fixture {
    explicit interval_fixture(lath_bounds bounds = LATH_HALF_OPEN) {
        REQUIRE(lath_intervals_init(&set, bounds, nullptr) == 0);
        for (lath_interval i : {lath_interval{10, 20, 1}, {15, 30, 2}, {100, 101, 3}})
            REQUIRE(lath_intervals_insert(&set, &i) == 0);
    }
    ~interval_fixture() { lath_intervals_fini(&set, nullptr, nullptr); }
    interval_fixture(const interval_fixture&) = delete;
    interval_fixture& operator=(const interval_fixture&) = delete;

    std::array<std::uint64_t, 2> state() {
        REQUIRE(lath_intervals_verify(&set, nullptr, 0) == 0);
        return {lath_intervals_count(&set), lath_intervals_count_overlap(&set, 10, 101)};
    }

    lath_intervals set;
    lath_interval found[4]{};
};

using i = interval_fixture;

R intervals_init(int bounds, lath_config with) {
    lath_intervals set;
    R ret = lath_intervals_init(&set, static_cast<lath_bounds>(bounds), &with);
    if (!ret)
        lath_intervals_fini(&set, nullptr, nullptr);
    return ret;
}

R insert(i& t, lath_interval what) { return lath_intervals_insert(&t.set, &what); }
R erase(i& t, lath_interval what) { return lath_intervals_erase(&t.set, &what); }

template <class Call>
R closed(Call call) {
    i t(LATH_CLOSED);
    auto before = t.state();
    R ret = call(t);
    CHECK(t.state() == before);
    return ret;
}

template <class Begin>
R nothing_next(i& t, Begin begin) {
    lath_interval_iter iter;
    begin(&iter, &t.set);
    CHECK(lath_interval_next_batch(&iter, t.found, 4) == 0);
    return lath_interval_next(&iter, t.found);
}

const std::vector<arguments::row<i>> interval_rows = {
    {"lath_intervals_init", "NULL", -EINVAL,
     [](i&) -> R { return lath_intervals_init(nullptr, LATH_CLOSED, nullptr); }},
    {"lath_intervals_init", "unknown bounds", -EINVAL,
     [](i&) { return intervals_init(2, config(0)); }},
    {"lath_intervals_init", "points", -EINVAL,
     [](i&) { return intervals_init(0, config(0, LATH_POINTS)); }},
    {"lath_intervals_init", "holes", -EINVAL,
     [](i&) { return intervals_init(0, config(LATH_HOLES)); }},
    {"lath_intervals_init", "ranks", -EINVAL,
     [](i&) { return intervals_init(0, config(LATH_RANKS)); }},
    {"lath_intervals_init", "size 0", -EINVAL,
     [](i&) { return intervals_init(0, config(0, 0, 0)); }},
    {"lath_intervals_init", "a size beyond the struct", -EINVAL,
     [](i&) { return intervals_init(0, config(0, 0, sizeof(lath_config) + 1)); }},
    {"lath_intervals_insert", "an empty interval", -EINVAL,
     [](i& t) { return insert(t, {50, 50, 1}); }},
    {"lath_intervals_insert", "bounds the wrong way round", -EINVAL,
     [](i& t) { return insert(t, {50, 40, 1}); }},
    {"lath_intervals_insert", "bounds the wrong way round, closed", -EINVAL,
     [](i&) { return closed([](i& t) { return insert(t, {50, 49, 1}); }); }},
    {"lath_intervals_erase", "an absent interval", -ENOENT,
     [](i& t) { return erase(t, {10, 21, 1}); }},
    {"lath_intervals_erase", "an absent value", -ENOENT,
     [](i& t) { return erase(t, {10, 20, 9}); }},
    {"lath_intervals_erase", "an empty interval", -ENOENT,
     [](i& t) { return erase(t, {10, 10, 1}); }},
    {"lath_intervals_stab", "a point in none", 0,
     [](i& t) -> R { return R(lath_intervals_stab(&t.set, 30, t.found, 4)); }},
    {"lath_intervals_stab", "the last key", 0,
     [](i& t) -> R { return R(lath_intervals_stab(&t.set, ~0ull, t.found, 4)); }},
    {"lath_intervals_stab", "room for none", 0,
     [](i& t) -> R { return R(lath_intervals_stab(&t.set, 15, t.found, 0)); }},
    {"lath_intervals_overlap", "an empty range", 0,
     [](i& t) -> R { return R(lath_intervals_overlap(&t.set, 15, 15, t.found, 4)); }},
    {"lath_intervals_overlap", "bounds the wrong way round", 0,
     [](i& t) -> R { return R(lath_intervals_overlap(&t.set, 30, 10, t.found, 4)); }},
    {"lath_intervals_within", "an empty range", 0,
     [](i& t) -> R { return R(lath_intervals_within(&t.set, 10, 10, t.found, 4)); }},
    {"lath_intervals_within", "bounds the wrong way round", 0,
     [](i& t) -> R { return R(lath_intervals_within(&t.set, 30, 10, t.found, 4)); }},
    {"lath_intervals_count_overlap", "bounds the wrong way round", 0,
     [](i& t) -> R { return R(lath_intervals_count_overlap(&t.set, 30, 10)); }},
    {"lath_intervals_nearest", "an empty set", -ENOENT,
     [](i& t) -> R {
         lath_intervals empty;
         REQUIRE(lath_intervals_init(&empty, LATH_CLOSED, nullptr) == 0);
         R ret = lath_intervals_nearest(&empty, ~0ull, t.found);
         lath_intervals_fini(&empty, nullptr, nullptr);
         return ret;
     }},
    {"lath_interval_next", "a stab of nothing", 0,
     [](i& t) {
         return nothing_next(t,
                             [](auto* iter, auto* set) { lath_interval_iter_stab(iter, set, 30); });
     }},
    {"lath_interval_next", "bounds the wrong way round", 0,
     [](i& t) {
         return nothing_next(
             t, [](auto* iter, auto* set) { lath_interval_iter_overlap(iter, set, 30, 10); });
     }},
    {"lath_interval_next", "an empty range", 0,
     [](i& t) {
         return nothing_next(
             t, [](auto* iter, auto* set) { lath_interval_iter_within(iter, set, 10, 10); });
     }},
    {"lath_interval_next_batch", "room for none", 0,
     [](i& t) -> R {
         lath_interval_iter iter;
         lath_interval_iter_all(&iter, &t.set);
         return R(lath_interval_next_batch(&iter, t.found, 0));
     }},
};

const std::vector<arguments::exempt> interval_exempts = {
    {"lath_intervals_fini", "", "ends the set; every set is a good one"},
    {"lath_intervals_count", "", "no argument but the set"},
    {"lath_intervals_get_stats", "", "no argument but the set"},
    {"lath_intervals_verify", "", "no argument but the set and a buffer"},
    {"lath_interval_iter_stab", "", "begins; lath_interval_next says that there is nothing"},
    {"lath_interval_iter_overlap", "", "begins; lath_interval_next says that there is nothing"},
    {"lath_interval_iter_within", "", "begins; lath_interval_next says that there is nothing"},
    {"lath_interval_iter_all", "", "no argument can be bad"},
};

} // namespace

TEST_CASE("lathwork/bytes.h, interval.h: each function is in a table") {
    arguments::compare_with_header(LATH_HEADERS "/bytes.h", rows, exempts);
    arguments::compare_with_header(LATH_HEADERS "/interval.h", interval_rows, interval_exempts);
}

TEST_CASE("lathwork/bytes.h, interval.h: each bad argument is refused and changes nothing") {
    arguments::make_calls(rows);
    arguments::make_calls(interval_rows);
}
