// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/versions.h: every call with each argument that its comment calls invalid, and what it
// says when there is nothing to find.
#include "arguments.hpp"

#include "lathwork/versions.h"

#include <array>
#include <cstddef>

namespace {

using R = std::int64_t;
using arguments::config;

struct record {
    lath_version version;
    const char* data;
    std::uint64_t size;
};

void key_of(void*, std::uint64_t value, lath_bytes_key* key) {
    const auto* r = reinterpret_cast<const record*>(value); // NOLINT(performance-no-int-to-ptr)
    *key = {r->data, r->size, 0};
}

constexpr lath_versions_records records = {key_of, nullptr, nullptr, offsetof(record, version), 0};

record apple = {{}, "apple", 5}, pear = {{}, "pear", 4}, same = {{}, "apple", 5};
record fig = {{}, "fig", 3}, huge = {{}, "", LATH_BYTES_SIZE_MAX + 1};

struct fixture {
    fixture() {
        REQUIRE(lath_versions_init(&set, &records, nullptr) == 0);
        REQUIRE(lath_versions_insert(&set, &apple, nullptr) == 0);
        REQUIRE(lath_versions_insert(&set, &pear, nullptr) == 0);
        lath_snapshot_take(&set, &snapshot);
    }
    ~fixture() {
        lath_snapshot_release(&set, &snapshot);
        lath_versions_fini(&set);
    }
    fixture(const fixture&) = delete;
    fixture& operator=(const fixture&) = delete;

    std::array<const void*, 4> state() {
        void* all[4] = {};
        REQUIRE(lath_versions_verify(&set, nullptr, 0) == 0);
        REQUIRE(lath_versions_count(&set, nullptr) == 2);
        REQUIRE(lath_versions_scan(&set, nullptr, nullptr, 0, all, 4) == 2);
        REQUIRE(lath_versions_scan(&set, &snapshot, nullptr, 0, all + 2, 2) == 2);
        return {all[0], all[1], all[2], all[3]};
    }

    lath_versions set;
    lath_snapshot snapshot;
    void* found = nullptr;
};

using f = fixture;

lath_bytes_key key(const record& r) { return {r.data, r.size, 0}; }

void* odd(record& r) { return reinterpret_cast<char*>(&r) + 4; }

R init(const lath_versions_records& of, const lath_config& with) {
    lath_versions set;
    R ret = lath_versions_init(&set, &of, &with);
    if (!ret)
        lath_versions_fini(&set);
    return ret;
}

const std::vector<arguments::row<f>> rows = {
    {"lath_versions_init", "NULL", -EINVAL,
     [](f&) -> R { return lath_versions_init(nullptr, &records, nullptr); }},
    {"lath_versions_init", "no records", -EINVAL,
     [](f&) -> R {
         lath_versions set;
         return lath_versions_init(&set, nullptr, nullptr);
     }},
    {"lath_versions_init", "no function for keys", -EINVAL,
     [](f&) { return init({nullptr, nullptr, nullptr, 0, 0}, config(0)); }},
    {"lath_versions_init", "a place that is not a multiple of 8", -EINVAL,
     [](f&) { return init({key_of, nullptr, nullptr, 4, 0}, config(0)); }},
    {"lath_versions_init", "an unknown flag of records", -EINVAL,
     [](f&) { return init({key_of, nullptr, nullptr, 0, 2}, config(0)); }},
    {"lath_versions_init", "ranks", -EINVAL, [](f&) { return init(records, config(LATH_RANKS)); }},
    {"lath_versions_init", "shared", -EINVAL,
     [](f&) { return init(records, config(LATH_SHARED)); }},
    {"lath_versions_init", "holes", -EINVAL, [](f&) { return init(records, config(LATH_HOLES)); }},
    {"lath_versions_init", "size 0", -EINVAL, [](f&) { return init(records, config(0, 0, 0)); }},
    {"lath_versions_insert", "NULL", -EINVAL,
     [](f& t) -> R { return lath_versions_insert(&t.set, nullptr, nullptr); }},
    {"lath_versions_insert", "an address that is not a multiple of 8", -EINVAL,
     [](f& t) -> R { return lath_versions_insert(&t.set, odd(fig), nullptr); }},
    {"lath_versions_insert", "an equal key", -EEXIST,
     [](f& t) -> R { return lath_versions_insert(&t.set, &same, nullptr); }},
    {"lath_versions_insert", "a key that is too long", -E2BIG,
     [](f& t) -> R { return lath_versions_insert(&t.set, &huge, nullptr); }},
    {"lath_versions_put", "NULL", -EINVAL,
     [](f& t) -> R { return lath_versions_put(&t.set, nullptr, nullptr); }},
    {"lath_versions_put", "a key that is too long", -E2BIG,
     [](f& t) -> R { return lath_versions_put(&t.set, &huge, nullptr); }},
    {"lath_versions_replace", "NULL", -EINVAL,
     [](f& t) -> R { return lath_versions_replace(&t.set, nullptr, nullptr); }},
    {"lath_versions_replace", "an absent key", -ENOENT,
     [](f& t) -> R { return lath_versions_replace(&t.set, &fig, nullptr); }},
    {"lath_versions_replace", "a key that is too long", -E2BIG,
     [](f& t) -> R { return lath_versions_replace(&t.set, &huge, nullptr); }},
    {"lath_versions_replace_if", "expected NULL", -EINVAL,
     [](f& t) -> R { return lath_versions_replace_if(&t.set, nullptr, &same, nullptr); }},
    {"lath_versions_replace_if", "an address that is not a multiple of 8", -EINVAL,
     [](f& t) -> R { return lath_versions_replace_if(&t.set, &apple, odd(same), nullptr); }},
    {"lath_versions_replace_if", "an absent key", -ENOENT,
     [](f& t) -> R { return lath_versions_replace_if(&t.set, &fig, &fig, nullptr); }},
    {"lath_versions_replace_if", "another record", -EAGAIN,
     [](f& t) -> R { return lath_versions_replace_if(&t.set, &same, &same, nullptr); }},
    {"lath_versions_replace_if", "a key that is too long", -E2BIG,
     [](f& t) -> R { return lath_versions_replace_if(&t.set, &huge, &huge, nullptr); }},
    {"lath_versions_erase", "an absent key", -ENOENT,
     [](f& t) -> R {
         lath_bytes_key wanted = key(fig);
         return lath_versions_erase(&t.set, &wanted, nullptr);
     }},
    {"lath_versions_erase_if", "expected NULL", -EINVAL,
     [](f& t) -> R { return lath_versions_erase_if(&t.set, nullptr, nullptr); }},
    {"lath_versions_erase_if", "an address that is not a multiple of 8", -EINVAL,
     [](f& t) -> R { return lath_versions_erase_if(&t.set, odd(apple), nullptr); }},
    {"lath_versions_erase_if", "an absent key", -ENOENT,
     [](f& t) -> R { return lath_versions_erase_if(&t.set, &fig, nullptr); }},
    {"lath_versions_erase_if", "another record", -EAGAIN,
     [](f& t) -> R { return lath_versions_erase_if(&t.set, &same, nullptr); }},
    {"lath_versions_get", "an absent key", 0,
     [](f& t) -> R {
         lath_bytes_key wanted = key(fig);
         return lath_versions_get(&t.set, &t.snapshot, &wanted, &t.found);
     }},
    {"lath_versions_scan", "room for none", 0,
     [](f& t) -> R { return R(lath_versions_scan(&t.set, nullptr, nullptr, 0, nullptr, 0)); }},
    {"lath_versions_cursor_seek", "behind the last key", 0,
     [](f& t) -> R {
         lath_versions_cursor cursor;
         lath_bytes_key wanted = {"q", 1, 0};
         lath_versions_cursor_init(&cursor, &t.set, &t.snapshot);
         return lath_versions_cursor_seek(&cursor, &wanted, &t.found);
     }},
    {"lath_versions_cursor_seek_floor", "in front of the first key", 0,
     [](f& t) -> R {
         lath_versions_cursor cursor;
         lath_bytes_key wanted = {"a", 1, 0};
         lath_versions_cursor_init(&cursor, &t.set, nullptr);
         return lath_versions_cursor_seek_floor(&cursor, &wanted, &t.found);
     }},
    {"lath_versions_cursor_next", "a prefix that no key has", 0,
     [](f& t) -> R {
         lath_versions_cursor cursor;
         lath_versions_cursor_init_prefix(&cursor, &t.set, &t.snapshot, "pearl", 5);
         return lath_versions_cursor_next(&cursor, &t.found);
     }},
    {"lath_versions_cursor_prev", "a prefix of 255s", 0,
     [](f& t) -> R {
         lath_versions_cursor cursor;
         lath_versions_cursor_init_prefix(&cursor, &t.set, nullptr, "\xff\xff\xff", 3);
         return lath_versions_cursor_prev(&cursor, &t.found);
     }},
};

const std::vector<arguments::exempt> exempts = {
    {"lath_versions_fini", "", "ends the set; every set is a good one"},
    {"lath_snapshot_take", "", "it never fails"},
    {"lath_snapshot_release", "", "it never fails"},
    {"lath_versions_count", "", "any snapshot that is held will do"},
    {"lath_versions_cursor_init", "", "no argument can be bad"},
    {"lath_versions_cursor_init_prefix", "", "any prefix will do"},
    {"lath_versions_get_stats", "", "no argument but the set"},
    {"lath_versions_verify", "", "no argument but the set and a buffer"},
};

} // namespace

TEST_CASE("lathwork/versions.h: each function is in a table") {
    arguments::compare_with_header(LATH_HEADERS "/versions.h", rows, exempts);
}

TEST_CASE("lathwork/versions.h: each bad argument is refused and changes nothing") {
    arguments::make_calls(rows);
}
