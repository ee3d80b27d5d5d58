// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/forrest.h, error.h, config.h: every call with each argument that its comment
// calls invalid.
#include "arguments.hpp"

#include "lathwork/cursor.h"
#include "lathwork/error.h"
#include "lathwork/forrest.h"

#include <climits>
#include <cstdlib>
#include <memory>

namespace {

using R = std::int64_t;
using u64 = std::uint64_t;
constexpr u64 key_max = ~u64{0};

// ---- forrest.h ----

struct forrest_fixture {
    forrest_fixture() {
        char value[] = "kept";
        REQUIRE(handle);
        result(forrest_insert_key(handle, 7, value, 4));
    }
    ~forrest_fixture() { forrest_cleanup(handle); }
    forrest_fixture(const forrest_fixture&) = delete;
    forrest_fixture& operator=(const forrest_fixture&) = delete;

    // The error of a result, which is freed; with `frees` its value is too.
    static R result(llds_result_ent* ent, bool frees = false) {
        REQUIRE(ent);
        R ret = ent->result;
        if (frees) {
            CHECK(!ent->val == !!ret);
            std::free(ent->val);
        }
        std::free(ent);
        return ret;
    }
    std::string state() const {
        llds_result_ent* ent = forrest_get_key(handle, 7);
        REQUIRE(ent);
        REQUIRE(ent->result == 0);
        std::string text(static_cast<char*>(ent->val), static_cast<std::size_t>(ent->vlen));
        result(ent, true);
        return text;
    }

    FORREST* handle = forrest_alloc();
    char byte = 'x';
};

using F = forrest_fixture;

const std::vector<arguments::row<F>> forrest_rows = {
    {"forrest_insert_key", "no handle", -EINVAL,
     [](F& t) -> R { return F::result(forrest_insert_key(nullptr, 7, &t.byte, 1)); }},
    {"forrest_insert_key", "length -1", -EINVAL,
     [](F& t) -> R { return F::result(forrest_insert_key(t.handle, 7, &t.byte, -1)); }},
    {"forrest_insert_key", "length -2^31", -EINVAL,
     [](F& t) -> R { return F::result(forrest_insert_key(t.handle, 7, &t.byte, INT_MIN)); }},
    {"forrest_insert_key", "a length without a value", -EINVAL,
     [](F& t) -> R { return F::result(forrest_insert_key(t.handle, 7, nullptr, 1)); }},
    {"forrest_insert_key", "the greatest length without a value", -EINVAL,
     [](F& t) -> R { return F::result(forrest_insert_key(t.handle, 7, nullptr, INT_MAX)); }},
    {"forrest_get_key", "no handle", -EINVAL,
     [](F&) -> R { return F::result(forrest_get_key(nullptr, 7), true); }},
    {"forrest_get_key", "absent", -ENOENT,
     [](F& t) -> R { return F::result(forrest_get_key(t.handle, key_max), true); }},
    {"forrest_delete_key", "no handle", -EINVAL,
     [](F&) -> R { return F::result(forrest_delete_key(nullptr, 7)); }},
    {"forrest_delete_key", "absent", -ENOENT,
     [](F& t) -> R { return F::result(forrest_delete_key(t.handle, key_max)); }},
    {"forrest_rm_tree", "no handle", -EINVAL,
     [](F&) -> R { return F::result(forrest_rm_tree(nullptr)); }},
    {"forrest_cleanup", "no handle", 0,
     [](F&) -> R { return forrest_cleanup(nullptr) != nullptr; }},
    {"ft_MurmurHash64A", "length below 0: that of 0", 0,
     [](F& t) -> R {
         return ft_MurmurHash64A(&t.byte, -1, 5) != ft_MurmurHash64A(nullptr, 0, 5) ||
                ft_MurmurHash64A(&t.byte, INT_MIN, 5) != ft_MurmurHash64A(nullptr, 0, 5);
     }},
};

const std::vector<arguments::exempt> forrest_exempts = {
    {"forrest_alloc", "", "it has no argument; see forrest_test for FORREST_STORE"},
};

// ---- error.h, config.h ----

struct malloc_fixture {
    u64 state() const { return lath_malloc_bytes(&over); }
    lath_malloc over{std::malloc, std::free, 0};
    lath_allocator allocator = lath_malloc_allocator(&over);
};

using M = malloc_fixture;

R text_of(int result) {
    const char* text = lath_strerror(result);
    return text && std::strlen(text) > 8 ? 0 : 1;
}

const std::vector<arguments::row<M>> error_rows = {
    {"lath_strerror", "the least number", 0, [](M&) -> R { return text_of(INT_MIN); }},
    {"lath_strerror", "the greatest number", 0, [](M&) -> R { return text_of(INT_MAX); }},
    {"lath_strerror", "no error of any system", 0, [](M&) -> R { return text_of(-4096); }},
};

const std::vector<arguments::exempt> error_exempts = {
    {"lath_version", "", "it has no argument"},
};

const std::vector<arguments::row<M>> config_rows = {
    {"lath_malloc_allocator", "a block of 2^64 - 1 bytes", 0,
     [](M& t) -> R { return t.allocator.alloc(t.allocator.ctx, SIZE_MAX, 64) != nullptr; }},
    {"lath_malloc_allocator", "a block that does not fit with its head", 0,
     [](M& t) -> R {
         for (std::size_t less : {1, 15, 16, 63, 64, 79})
             if (t.allocator.alloc(t.allocator.ctx, SIZE_MAX - less, 64))
                 return 1;
         return 0;
     }},
    {"lath_malloc_allocator", "an alignment of 2^63", 0,
     [](M& t) -> R {
         return t.allocator.alloc(t.allocator.ctx, 1, std::size_t{1} << 63) != nullptr;
     }},
    {"lath_malloc_allocator", "no block is freed", 0,
     [](M& t) -> R {
         t.allocator.free(t.allocator.ctx, nullptr, 5);
         return 0;
     }},
    {"lath_rcu_single_step", "no callbacks", 0,
     [](M&) -> R { return static_cast<R>(lath_rcu_single_step(0)); }},
    {"lath_rcu_single_step", "nothing is retired", 0,
     [](M&) -> R { return static_cast<R>(lath_rcu_single_step(SIZE_MAX)); }},
    {"lath_rcu_step", "no callbacks", 0, [](M&) -> R { return static_cast<R>(lath_rcu_step(0)); }},
};

const std::vector<arguments::exempt> config_exempts = {
    {"lath_malloc_bytes", "", "no argument but the struct"},
    {"lath_rcu_keep_open", "", "no argument"},
};

// ---- cursor.h, whose table is that of the index ----

// [100, 110), the last key and, in an index of points, 5.
template <lath_layout Layout>
struct cursor_fixture {
    cursor_fixture() {
        lath_config config = LATH_CONFIG_INIT;
        config.layout = Layout;
        REQUIRE(lath_index_init(&index, &config) == 0);
        add(100, Layout == LATH_POINTS ? 1 : 10);
        add(key_max, 1);
        lath_cursor_init(&cursor, &index);
    }
    ~cursor_fixture() { lath_index_fini(&index, nullptr, nullptr); }
    cursor_fixture(const cursor_fixture&) = delete;
    cursor_fixture& operator=(const cursor_fixture&) = delete;

    void add(u64 key, u64 size) {
        lath_item one{key, size, 1};
        REQUIRE(lath_index_insert_item(&index, &one, nullptr) == 0);
    }
    std::vector<u64> state() {
        char why[200];
        lath_item items[4]{};
        u64 next = 0;
        CHECK(!cursor.locked);
        REQUIRE(lath_index_verify(&index, 5, why, sizeof(why)) == 0);
        std::size_t n = lath_index_scan(&index, 0, key_max, items, 4, &next);
        std::vector<u64> out = {n, next};
        for (const auto& one : items)
            out.insert(out.end(), {one.key, one.size, one.value});
        return out;
    }
    R insert(u64 lock, u64 key, u64 size) {
        lath_item fresh{key, size, 3}, conflict{};
        REQUIRE(lath_cursor_lock(&cursor, lock, nullptr, nullptr) == 0);
        return lath_cursor_insert(&cursor, &fresh, &conflict);
    }

    lath_index index;
    lath_cursor cursor;
    lath_item item{};
};

} // namespace

TEST_CASE("each function of the small headers is in a table") {
    arguments::compare_with_header(LATH_HEADERS "/forrest.h", forrest_rows, forrest_exempts);
    arguments::compare_with_header(LATH_HEADERS "/error.h", error_rows, error_exempts);
    arguments::compare_with_header(LATH_HEADERS "/config.h", config_rows, config_exempts);
}

TEST_CASE("each bad argument is refused and changes nothing") {
    arguments::make_calls(forrest_rows);
    arguments::make_calls(error_rows);
    arguments::make_calls(config_rows);
}

TEST_CASE("a cursor refuses what a set of points cannot hold") {
    cursor_fixture<LATH_POINTS> t;
    auto before = t.state();
    for (u64 size : {u64{0}, u64{2}, u64{1} << 63, key_max}) {
        CHECK(t.insert(50, 50, size) == -EINVAL);
        CHECK(t.insert(key_max, key_max, size) == -EINVAL);
        CHECK(t.state() == before);
    }
    CHECK(t.insert(100, 100, 1) == -EEXIST);
}

TEST_CASE("a cursor refuses an item of another leaf") {
    cursor_fixture<LATH_POINTS> t;
    u64 low, last;
    for (u64 key = 1000; key < 2000; ++key)
        t.add(key, 1);
    for (u64 at : {u64{0}, u64{1500}, u64{5000}, key_max}) {
        REQUIRE(lath_cursor_lock(&t.cursor, at, &low, &last) == 0);
        lath_cursor_unlock(&t.cursor);
        if (low)
            CHECK(t.insert(at, low - 1, 1) == -EINVAL);
        if (last < key_max)
            CHECK(t.insert(at, last + 1, 1) == -EINVAL);
        CHECK((low || last < key_max));
    }
    CHECK(lath_index_count(&t.index) == 1002);
}
