// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/space.h: every call with each argument that its comment calls invalid.
#include "arguments.hpp"

#include "lathwork/space.h"

#include <algorithm>
#include <array>

namespace {

using u64 = std::uint64_t;
constexpr u64 unit = 4096, key_max = ~u64{0};

// Three arenas of keys from `unit` on, without magazines, and a second segment behind them. Taken:
// [5, 9) units by a reserve, and 3 units in an arena.
struct space_fixture {
    explicit space_fixture(unsigned flags = LATH_SPACE_NO_MAGAZINES) {
        lath_space_config config = LATH_SPACE_CONFIG_INIT;
        config.low = unit;
        config.high = 12288 * unit;
        config.unit = unit;
        config.flags = flags;
        REQUIRE(lath_space_create(&space, &config) == 0);
        REQUIRE(lath_space_add_segment(space, 16384 * unit, 4096 * unit, 0) == 1);
        REQUIRE(lath_space_reserve(space, 5 * unit, 4 * unit, 1) == 0);
        REQUIRE(lath_space_alloc(space, 3 * unit, 0, 2, &taken) == 0);
    }
    ~space_fixture() { lath_space_destroy(space); }
    space_fixture(const space_fixture&) = delete;
    space_fixture& operator=(const space_fixture&) = delete;

    std::array<std::uint64_t, 6> state() const {
        lath_space_stats stats;
        lath_space_get_stats(space, &stats);
        REQUIRE(lath_space_verify(space, nullptr, 0) == 0);
        return {stats.allocated, stats.free, stats.ranges, stats.segments, key, runs()};
    }
    // A number of all runs together.
    std::uint64_t runs() const {
        std::uint64_t sum = 0, from = 0;
        lath_item run;
        while (!lath_space_next(space, from, &run)) {
            sum = (sum ^ run.key ^ run.size * 31) * 0x9e3779b97f4a7c15ull;
            from = run.key + run.size;
            if (!from)
                break;
        }
        return sum;
    }
    std::uint64_t mark() const { return reinterpret_cast<std::uint64_t>(space) + 1; }

    lath_space* space = nullptr;
    std::uint64_t taken = 0, key = 77;
    lath_item item{};
};

using f = space_fixture;

int create(const lath_space_config& config) {
    lath_space* space = nullptr;
    int ret = lath_space_create(&space, &config);
    CHECK(!space == !!ret);
    lath_space_destroy(space);
    return ret;
}

lath_space_config config(std::uint64_t low, std::uint64_t high, std::uint64_t units,
                         std::uint64_t below = 0, unsigned flags = 0,
                         std::size_t size = sizeof(lath_space_config)) {
    return {size, low, high, units, below, flags, nullptr, nullptr};
}

int request(f& t, lath_hole_request want, std::uint64_t cookie = 3) {
    return lath_space_alloc_request(t.space, &want, cookie, &t.key);
}

lath_hole_request want(std::uint64_t size, std::uint64_t align = 0, std::uint64_t low = 0,
                       std::uint64_t high = 0, int policy = LATH_HOLE_FIRST,
                       std::uint64_t hint = 0) {
    return {size, align, low, high, 0, hint, static_cast<lath_hole_policy>(policy)};
}

// What the three calls that place a range agree in.
template <class Call>
void refused_sizes(Call call) {
    for (u64 size : std::initializer_list<u64>{0, 1, unit - 1, unit + 1, key_max, key_max - 1,
                                               (1ull << 63) + 1})
        CHECK_MESSAGE(call(size, 0, 3) == -EINVAL, size);
    for (u64 align :
         std::initializer_list<u64>{3, 3 * unit, key_max, key_max - 1, (1ull << 63) + 1})
        CHECK_MESSAGE(call(unit, align, 3) == -EINVAL, align);
    for (u64 size : std::initializer_list<u64>{8192 * unit + 8192 * unit, 1ull << 62, 1ull << 63,
                                               key_max - unit + 1})
        CHECK_MESSAGE(call(size, 0, 3) == -ENOSPC, size);
    CHECK(call(unit, 1ull << 63, 3) == -ENOSPC);
}

int say(void* arg, const void*, std::size_t) { return *static_cast<int*>(arg); }

std::int64_t fail_read(void* arg, void*, std::size_t) { return *static_cast<int*>(arg); }

std::int64_t read_zeros(void*, void* data, std::size_t size) {
    std::memset(data, 0, size);
    return static_cast<std::int64_t>(size);
}

std::int64_t read_too_much(void*, void*, std::size_t size) {
    return static_cast<std::int64_t>(size) + 1;
}

struct tape {
    std::vector<char> bytes;
    std::size_t at = 0;
};

int write_tape(void* arg, const void* data, std::size_t size) {
    auto& t = *static_cast<tape*>(arg);
    t.bytes.insert(t.bytes.end(), static_cast<const char*>(data),
                   static_cast<const char*>(data) + size);
    return 0;
}

std::int64_t read_tape(void* arg, void* data, std::size_t size) {
    auto& t = *static_cast<tape*>(arg);
    std::size_t n = std::min(size, t.bytes.size() - t.at);
    std::memcpy(data, t.bytes.data() + t.at, n);
    t.at += n;
    return static_cast<std::int64_t>(n);
}

// Loads the fixture's runs, saved, into an empty space.
int load_into(f& t, const lath_space_config& other) {
    lath_space* space = nullptr;
    lath_item run;
    tape saved;
    char report[100] = "old";
    REQUIRE(lath_space_save(t.space, write_tape, &saved) == 0);
    REQUIRE(lath_space_create(&space, &other) == 0);
    int ret = lath_space_load(space, read_tape, &saved, 9, report, sizeof(report));
    CHECK(std::strlen(report) > 8);
    CHECK(lath_space_next(space, 0, &run) == -ENOENT); // a failed load leaves the space empty
    lath_space_destroy(space);
    return ret;
}

// Fills the numbers of segments; the last add has none left.
int fill_segments(f& t) {
    int ret = 0;
    for (std::uint64_t i = 2; i < 64; ++i)
        REQUIRE(lath_space_add_segment(t.space, (16384 + 4096 * i) * unit, unit, 0) ==
                static_cast<int>(i));
    ret = lath_space_add_segment(t.space, 1ull << 60, unit, 0);
    for (unsigned i = 2; i < 64; ++i) {
        REQUIRE(lath_space_drain_segment(t.space, i, 1) == 0);
        REQUIRE(lath_space_remove_segment(t.space, i) == 0);
    }
    return ret;
}

int with_drain(f& t, int (*call)(f&)) {
    for (unsigned i : {0u, 1u})
        REQUIRE(lath_space_drain_segment(t.space, i, 1) == 0);
    int ret = call(t);
    for (unsigned i : {0u, 1u})
        REQUIRE(lath_space_drain_segment(t.space, i, 0) == 0);
    return ret;
}

int with_limit(f& t, int (*call)(f&)) {
    for (unsigned i : {0u, 1u})
        REQUIRE(lath_space_limit_segment(t.space, i, 1) == 0);
    int ret = call(t);
    for (unsigned i : {0u, 1u})
        REQUIRE(lath_space_limit_segment(t.space, i, 0) == 0);
    return ret;
}

template <int (*call)(f&)>
std::int64_t drained(f& t) {
    return with_drain(t, call);
}
template <int (*call)(f&)>
std::int64_t limited(f& t) {
    return with_limit(t, call);
}

int alloc_one(f& t) { return lath_space_alloc(t.space, unit, 0, 3, &t.key); }
int alloc_in_one(f& t) { return lath_space_alloc_in(t.space, ~0ull, unit, 0, 3, &t.key); }
int alloc_below_one(f& t) { return lath_space_alloc_below(t.space, 0, unit, 0, 3, &t.key); }
int request_one(f& t) { return request(t, want(unit)); }
int reserve_one(f& t) { return lath_space_reserve(t.space, 100 * unit, unit, 3); }

using R = std::int64_t;
const std::vector<arguments::row<f>> rows = {
    {"lath_space_create", "size 0", -EINVAL, [](f&) -> R { return create(config(0, 0, 1, 0, 0, 0)); }},
    {"lath_space_create", "size too small", -EINVAL,
     [](f&) -> R { return create(config(0, 0, 1, 0, 0, offsetof(lath_space_config, rcu) - 1)); }},
    {"lath_space_create", "size too large", -EINVAL,
     [](f&) -> R { return create(config(0, 0, 1, 0, 0, sizeof(lath_space_config) + 1)); }},
    {"lath_space_create", "size 2^64 - 1", -EINVAL,
     [](f&) -> R { return create(config(0, 0, 1, 0, 0, key_max)); }},
    {"lath_space_create", "unknown flag", -EINVAL,
     [](f&) -> R { return create(config(0, 0, 1, 0, LATH_SPACE_FILL << 1)); }},
    {"lath_space_create", "highest flag", -EINVAL,
     [](f&) -> R { return create(config(0, 0, 1, 0, 1u << 31)); }},
    {"lath_space_create", "unit 0", -EINVAL, [](f&) -> R { return create(config(0, 0, 0)); }},
    {"lath_space_create", "unit 3", -EINVAL, [](f&) -> R { return create(config(0, 0, 3)); }},
    {"lath_space_create", "unit 2^52", -EINVAL,
     [](f&) -> R { return create(config(0, 0, 1ull << 52)); }},
    {"lath_space_create", "unit 2^63", -EINVAL,
     [](f&) -> R { return create(config(0, 0, 1ull << 63)); }},
    {"lath_space_create", "unit 2^64 - 1", -EINVAL,
     [](f&) -> R { return create(config(0, 0, key_max)); }},
    {"lath_space_create", "low not whole units", -EINVAL,
     [](f&) -> R { return create(config(1, 0, unit)); }},
    {"lath_space_create", "high not whole units", -EINVAL,
     [](f&) -> R { return create(config(0, key_max, unit)); }},
    {"lath_space_create", "below not whole units", -EINVAL,
     [](f&) -> R { return create(config(0, 0, unit, 5)); }},
    {"lath_space_create", "low is high", -EINVAL,
     [](f&) -> R { return create(config(unit, unit, unit)); }},
    {"lath_space_create", "low above high", -EINVAL,
     [](f&) -> R { return create(config(2 * unit, unit, unit)); }},

    {"lath_space_alloc", "size 0", -EINVAL,
     [](f& t) -> R { return lath_space_alloc(t.space, 0, 0, 3, &t.key); }},
    {"lath_space_alloc", "cookie is the mark of arenas", -EINVAL,
     [](f& t) -> R { return lath_space_alloc(t.space, unit, 0, t.mark(), &t.key); }},
    {"lath_space_alloc", "all segments drain", -ENOSPC, drained<alloc_one>},
    {"lath_space_alloc", "all segments are at their limits", -ENOSPC, limited<alloc_one>},
    {"lath_space_alloc_in", "size 0", -EINVAL,
     [](f& t) -> R { return lath_space_alloc_in(t.space, 1, 0, 0, 3, &t.key); }},
    {"lath_space_alloc_in", "cookie is the mark of arenas", -EINVAL,
     [](f& t) -> R { return lath_space_alloc_in(t.space, ~0ull, unit, 0, t.mark(), &t.key); }},
    {"lath_space_alloc_in", "no segments", -ENOSPC,
     [](f& t) -> R { return lath_space_alloc_in(t.space, 0, unit, 0, 3, &t.key); }},
    {"lath_space_alloc_in", "segments that are not in use", -ENOSPC,
     [](f& t) -> R { return lath_space_alloc_in(t.space, ~3ull, unit, 0, 3, &t.key); }},
    {"lath_space_alloc_in", "all segments drain", -ENOSPC, drained<alloc_in_one>},
    {"lath_space_alloc_in", "all segments are at their limits", -ENOSPC, limited<alloc_in_one>},
    {"lath_space_alloc_below", "size 0", -EINVAL,
     [](f& t) -> R { return lath_space_alloc_below(t.space, 0, 0, 0, 3, &t.key); }},
    {"lath_space_alloc_below", "high not whole units", -EINVAL,
     [](f& t) -> R { return lath_space_alloc_below(t.space, unit + 1, unit, 0, 3, &t.key); }},
    {"lath_space_alloc_below", "cookie is the mark of arenas", -EINVAL,
     [](f& t) -> R { return lath_space_alloc_below(t.space, 0, unit, 0, t.mark(), &t.key); }},
    {"lath_space_alloc_below", "high below the space", -ENOSPC,
     [](f& t) -> R { return lath_space_alloc_below(t.space, unit, unit, 0, 3, &t.key); }},
    {"lath_space_alloc_below", "all segments drain", -ENOSPC, drained<alloc_below_one>},
    {"lath_space_alloc_below", "all segments are at their limits", -ENOSPC,
     limited<alloc_below_one>},
    {"lath_space_alloc_request", "cookie is the mark of arenas", -EINVAL,
     [](f& t) -> R { return request(t, want(unit), t.mark()); }},
    {"lath_space_alloc_request", "low not whole units", -EINVAL,
     [](f& t) -> R { return request(t, want(unit, 0, unit + 1)); }},
    {"lath_space_alloc_request", "high not whole units", -EINVAL,
     [](f& t) -> R { return request(t, want(unit, 0, 0, key_max)); }},
    {"lath_space_alloc_request", "low is high", -EINVAL,
     [](f& t) -> R { return request(t, want(unit, 0, unit, unit)); }},
    {"lath_space_alloc_request", "low above high", -EINVAL,
     [](f& t) -> R { return request(t, want(unit, 0, 2 * unit, unit)); }},
    {"lath_space_alloc_request", "policy behind the last", -EINVAL,
     [](f& t) -> R { return request(t, want(unit, 0, 0, 0, LATH_HOLE_EXACT + 1)); }},
    {"lath_space_alloc_request", "policy -1", -EINVAL,
     [](f& t) -> R { return request(t, want(unit, 0, 0, 0, -1)); }},
    {"lath_space_alloc_request", "EXACT: hint not aligned", -EINVAL,
     [](f& t) -> R { return request(t, want(unit, 2 * unit, 0, 0, LATH_HOLE_EXACT, 101 * unit)); }},
    {"lath_space_alloc_request", "EXACT: hint below low", -EINVAL,
     [](f& t) -> R {
         return request(t, want(unit, 0, 8 * unit, 0, LATH_HOLE_EXACT, 7 * unit));
     }},
    {"lath_space_alloc_request", "EXACT: ends above high", -EINVAL,
     [](f& t) -> R {
         return request(t, want(2 * unit, 0, 0, 101 * unit, LATH_HOLE_EXACT, 100 * unit));
     }},
    {"lath_space_alloc_request", "EXACT: passes 2^64", -EINVAL,
     [](f& t) -> R { return request(t, want(2 * unit, 0, 0, 0, LATH_HOLE_EXACT, 0 - unit)); }},
    {"lath_space_alloc_request", "EXACT: taken", -ENOSPC,
     [](f& t) -> R { return request(t, want(unit, 0, 0, 0, LATH_HOLE_EXACT, 5 * unit)); }},
    {"lath_space_alloc_request", "EXACT: in no segment", -ENOSPC,
     [](f& t) -> R { return request(t, want(unit, 0, 0, 0, LATH_HOLE_EXACT, 0 - unit)); }},
    {"lath_space_alloc_request", "limits in no segment", -ENOSPC,
     [](f& t) -> R { return request(t, want(unit, 0, 12288 * unit, 16384 * unit)); }},
    {"lath_space_alloc_request", "all segments drain", -ENOSPC, drained<request_one>},
    {"lath_space_alloc_request", "all segments are at their limits", -ENOSPC, limited<request_one>},

    {"lath_space_reserve", "size 0", -EINVAL,
     [](f& t) -> R { return lath_space_reserve(t.space, 100 * unit, 0, 3); }},
    {"lath_space_reserve", "size not whole units", -EINVAL,
     [](f& t) -> R { return lath_space_reserve(t.space, 100 * unit, unit + 1, 3); }},
    {"lath_space_reserve", "key not whole units", -EINVAL,
     [](f& t) -> R { return lath_space_reserve(t.space, 100 * unit + 1, unit, 3); }},
    {"lath_space_reserve", "passes 2^64", -EINVAL,
     [](f& t) -> R { return lath_space_reserve(t.space, 100 * unit, 0 - 100 * unit + unit, 3); }},
    {"lath_space_reserve", "key 0, in no segment", -EINVAL,
     [](f& t) -> R { return lath_space_reserve(t.space, 0, unit, 3); }},
    {"lath_space_reserve", "last key in no segment", -EINVAL,
     [](f& t) -> R { return lath_space_reserve(t.space, 0 - unit, unit, 3); }},
    {"lath_space_reserve", "ends behind its segment", -EINVAL,
     [](f& t) -> R { return lath_space_reserve(t.space, 12287 * unit, 2 * unit, 3); }},
    {"lath_space_reserve", "ends in another segment", -EINVAL,
     [](f& t) -> R { return lath_space_reserve(t.space, 100 * unit, 16384 * unit, 3); }},
    {"lath_space_reserve", "cookie is the mark of arenas", -EINVAL,
     [](f& t) -> R { return lath_space_reserve(t.space, 100 * unit, unit, t.mark()); }},
    {"lath_space_reserve", "taken in the index", -EBUSY,
     [](f& t) -> R { return lath_space_reserve(t.space, 8 * unit, unit, 3); }},
    {"lath_space_reserve", "its last unit is taken", -EBUSY,
     [](f& t) -> R { return lath_space_reserve(t.space, unit, 5 * unit, 3); }},
    {"lath_space_reserve", "taken in an arena", -EBUSY,
     [](f& t) -> R { return lath_space_reserve(t.space, t.taken + unit, 8 * unit, 3); }},
    {"lath_space_reserve", "the segment drains", -ENOSPC, drained<reserve_one>},
    {"lath_space_reserve", "the segment is at its limit", -ENOSPC, limited<reserve_one>},

    {"lath_space_free", "size 0", -EINVAL,
     [](f& t) -> R { return lath_space_free(t.space, 5 * unit, 0); }},
    {"lath_space_free", "size not whole units", -EINVAL,
     [](f& t) -> R { return lath_space_free(t.space, 5 * unit, 1); }},
    {"lath_space_free", "key not whole units", -EINVAL,
     [](f& t) -> R { return lath_space_free(t.space, 5 * unit + 1, unit); }},
    {"lath_space_free", "size 2^64 - 1", -EINVAL,
     [](f& t) -> R { return lath_space_free(t.space, 5 * unit, key_max); }},
    {"lath_space_free", "passes 2^64", -EINVAL,
     [](f& t) -> R { return lath_space_free(t.space, 5 * unit, 0 - 4 * unit); }},
    {"lath_space_free", "free in the index", -EINVAL,
     [](f& t) -> R { return lath_space_free(t.space, 2 * unit, unit); }},
    {"lath_space_free", "more than was taken", -EINVAL,
     [](f& t) -> R { return lath_space_free(t.space, 5 * unit, 5 * unit); }},
    {"lath_space_free", "free in an arena", -EINVAL,
     [](f& t) -> R { return lath_space_free(t.space, t.taken + 64 * unit, unit); }},
    {"lath_space_free", "more than was taken in an arena", -EINVAL,
     [](f& t) -> R { return lath_space_free(t.space, t.taken, 4 * unit); }},
    {"lath_space_free", "in no segment", -EINVAL,
     [](f& t) -> R { return lath_space_free(t.space, 0 - unit, unit); }},
    {"lath_space_free", "half of all keys", -EINVAL,
     [](f& t) -> R { return lath_space_free(t.space, 1ull << 63, 1ull << 63); }},

    {"lath_space_owner", "free", -ENOENT,
     [](f& t) -> R { return lath_space_owner(t.space, 2 * unit, &t.item); }},
    {"lath_space_owner", "in an arena without owners", -ENOENT,
     [](f& t) -> R { return lath_space_owner(t.space, t.taken, &t.item); }},
    {"lath_space_owner", "key 0", -ENOENT,
     [](f& t) -> R { return lath_space_owner(t.space, 0, &t.item); }},
    {"lath_space_owner", "the last key", -ENOENT,
     [](f& t) -> R { return lath_space_owner(t.space, key_max, &t.item); }},
    {"lath_space_next", "behind all runs", -ENOENT,
     [](f& t) -> R { return lath_space_next(t.space, 16384 * unit, &t.item); }},
    {"lath_space_next", "the last key", -ENOENT,
     [](f& t) -> R { return lath_space_next(t.space, key_max, &t.item); }},
    {"lath_space_next_free", "behind all segments", -ENOENT,
     [](f& t) -> R { return lath_space_next_free(t.space, 20480 * unit, &t.item); }},
    {"lath_space_next_free", "the last key", -ENOENT,
     [](f& t) -> R { return lath_space_next_free(t.space, key_max, &t.item); }},

    {"lath_space_add_segment", "size 0", -EINVAL,
     [](f& t) -> R { return lath_space_add_segment(t.space, 1ull << 40, 0, 0); }},
    {"lath_space_add_segment", "size not whole units", -EINVAL,
     [](f& t) -> R { return lath_space_add_segment(t.space, 1ull << 40, 1, 0); }},
    {"lath_space_add_segment", "key not whole units", -EINVAL,
     [](f& t) -> R { return lath_space_add_segment(t.space, (1ull << 40) + 1, unit, 0); }},
    {"lath_space_add_segment", "passes 2^64", -EINVAL,
     [](f& t) -> R { return lath_space_add_segment(t.space, 0 - unit, 2 * unit, 0); }},
    {"lath_space_add_segment", "contains another one", -EEXIST,
     [](f& t) -> R { return lath_space_add_segment(t.space, 0, 1ull << 63, 0); }},
    {"lath_space_add_segment", "begins in the last units of another one", -EEXIST,
     [](f& t) -> R { return lath_space_add_segment(t.space, 12287 * unit, 2 * unit, 0); }},
    {"lath_space_add_segment", "ends in the first unit of another one", -EEXIST,
     [](f& t) -> R { return lath_space_add_segment(t.space, 16383 * unit, 2 * unit, 0); }},
    {"lath_space_add_segment", "the numbers are used up", -ENOSPC, [](f& t) -> R { return fill_segments(t); }},
    {"lath_space_limit_segment", "not in use", -ENOENT,
     [](f& t) -> R { return lath_space_limit_segment(t.space, 2, unit); }},
    {"lath_space_limit_segment", "64", -ENOENT,
     [](f& t) -> R { return lath_space_limit_segment(t.space, 64, unit); }},
    {"lath_space_limit_segment", "2^32 - 1", -ENOENT,
     [](f& t) -> R { return lath_space_limit_segment(t.space, ~0u, unit); }},
    {"lath_space_drain_segment", "not in use", -ENOENT,
     [](f& t) -> R { return lath_space_drain_segment(t.space, 2, 1); }},
    {"lath_space_drain_segment", "64", -ENOENT,
     [](f& t) -> R { return lath_space_drain_segment(t.space, 64, 1); }},
    {"lath_space_drain_segment", "2^32 - 1", -ENOENT,
     [](f& t) -> R { return lath_space_drain_segment(t.space, ~0u, 0); }},
    {"lath_space_remove_segment", "not in use", -ENOENT,
     [](f& t) -> R { return lath_space_remove_segment(t.space, 2); }},
    {"lath_space_remove_segment", "64", -ENOENT,
     [](f& t) -> R { return lath_space_remove_segment(t.space, 64); }},
    {"lath_space_remove_segment", "2^32 - 1", -ENOENT,
     [](f& t) -> R { return lath_space_remove_segment(t.space, ~0u); }},
    {"lath_space_remove_segment", "not drained", -EBUSY,
     [](f& t) -> R { return lath_space_remove_segment(t.space, 1); }},
    {"lath_space_remove_segment", "drained, in use", -EBUSY,
     drained<[](f& t) { return lath_space_remove_segment(t.space, 0); }>},
    {"lath_space_segment_of", "key 0", -ENOENT,
     [](f& t) -> R { return lath_space_segment_of(t.space, 0); }},
    {"lath_space_segment_of", "between two", -ENOENT,
     [](f& t) -> R { return lath_space_segment_of(t.space, 12288 * unit); }},
    {"lath_space_segment_of", "the last key", -ENOENT,
     [](f& t) -> R { return lath_space_segment_of(t.space, key_max); }},
    {"lath_space_segment_stats", "not in use", -ENOENT,
     [](f& t) -> R {
         lath_space_segment stats;
         return lath_space_segment_stats(t.space, 2, &stats);
     }},
    {"lath_space_segment_stats", "2^32 - 1", -ENOENT,
     [](f& t) -> R {
         lath_space_segment stats;
         return lath_space_segment_stats(t.space, ~0u, &stats);
     }},
    {"lath_space_hole_stats", "not in use", -ENOENT,
     [](f& t) -> R {
         lath_hole_stats stats;
         return lath_space_hole_stats(t.space, 2, 0, &stats);
     }},
    {"lath_space_hole_stats", "2^32 - 1", -ENOENT,
     [](f& t) -> R {
         lath_hole_stats stats;
         return lath_space_hole_stats(t.space, ~0u, 0, &stats);
     }},

    {"lath_space_save", "write fails", -EIO,
     [](f& t) -> R {
         int error = -EIO;
         return lath_space_save(t.space, say, &error);
     }},
    {"lath_space_load", "the space is not empty", -EBUSY,
     [](f& t) -> R { return lath_space_load(t.space, read_zeros, nullptr, 9, nullptr, 0); }},
    {"lath_space_load", "cookie is the mark of arenas", -EINVAL,
     [](f& t) -> R { return lath_space_load(t.space, read_zeros, nullptr, t.mark(), nullptr, 0); }},
    {"lath_space_load", "another unit", -EINVAL,
     [](f& t) -> R { return load_into(t, config(0, 0, 2 * unit)); }},
    {"lath_space_load", "a run in no segment", -EINVAL,
     [](f& t) -> R { return load_into(t, config(16384 * unit, 0, unit)); }},
    {"lath_space_load", "a run that ends behind its segment", -EINVAL,
     [](f& t) -> R { return load_into(t, config(0, 7 * unit, unit)); }},
    {"lath_space_load", "no saved space", -EBADMSG,
     [](f&) -> R {
         lath_space* space = nullptr;
         REQUIRE(lath_space_create(&space, nullptr) == 0);
         int ret = lath_space_load(space, read_zeros, nullptr, 9, nullptr, 0);
         lath_space_destroy(space);
         return ret;
     }},
    {"lath_space_load", "read says more than it was asked for", -EBADMSG,
     [](f&) -> R {
         lath_space* space = nullptr;
         REQUIRE(lath_space_create(&space, nullptr) == 0);
         int ret = lath_space_load(space, read_too_much, nullptr, 9, nullptr, 0);
         lath_space_destroy(space);
         return ret;
     }},
    {"lath_space_load", "read fails", -EIO,
     [](f&) -> R {
         lath_space* space = nullptr;
         int error = -EIO;
         REQUIRE(lath_space_create(&space, nullptr) == 0);
         int ret = lath_space_load(space, fail_read, &error, 9, nullptr, 0);
         lath_space_destroy(space);
         return ret;
     }},
};

const std::vector<arguments::exempt> exempts = {
    {"lath_space_destroy", "",
     "NULL is not a space and nothing happens; any other space is destroyed"},
    {"lath_space_trim", "", "no argument but the space"},
    {"lath_space_get_stats", "", "no argument but the space"},
    {"lath_space_verify", "", "no argument but the space and a buffer"},
};

} // namespace

TEST_CASE("lathwork/space.h: each function is in the table") {
    arguments::compare_with_header(LATH_HEADERS "/space.h", rows, exempts);
}

TEST_CASE("lathwork/space.h: each bad argument is refused and changes nothing") {
    arguments::make_calls(rows);
    lath_space_destroy(nullptr);
}

TEST_CASE("sizes and alignments are refused alike by all calls, with all flags") {
    for (unsigned flags = 0; flags < 32; ++flags) {
        CAPTURE(flags);
        f t(flags);
        auto before = t.state();
        refused_sizes([&](std::uint64_t size, std::uint64_t align, std::uint64_t cookie) {
            return lath_space_alloc(t.space, size, align, cookie, &t.key);
        });
        refused_sizes([&](std::uint64_t size, std::uint64_t align, std::uint64_t cookie) {
            return lath_space_alloc_in(t.space, ~0ull, size, align, cookie, &t.key);
        });
        refused_sizes([&](std::uint64_t size, std::uint64_t align, std::uint64_t cookie) {
            return lath_space_alloc_below(t.space, 0, size, align, cookie, &t.key);
        });
        refused_sizes([&](std::uint64_t size, std::uint64_t align, std::uint64_t cookie) {
            return request(t, want(size, align), cookie);
        });
        // what was tried under pressure may have returned empty arenas to the index
        auto after = t.state();
        CHECK(after[0] == before[0]);
        CHECK(after[1] == before[1]);
        CHECK(after[5] == before[5]);
    }
}
