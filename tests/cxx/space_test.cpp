// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork::space: each call once, its errors, and what is left when owners go.
#include <doctest/doctest.h>

#include "lathwork/cxx/space.hpp"

#include <sstream>
#include <string>
#include <vector>

using lathwork::range;
using lathwork::space;

static_assert(std::ranges::forward_range<space::run_view> && std::ranges::view<space::run_view>);
static_assert(!std::is_copy_constructible_v<space> && std::is_nothrow_move_constructible_v<space>);

static std::vector<range> all(space::run_view runs) { return {runs.begin(), runs.end()}; }

TEST_CASE("allocate, hold, reserve, free") {
    space pool({.low = 4096, .high = 1 << 20, .unit = 4096, .magazines = false});
    REQUIRE(pool);
    auto got = pool.allocate(8192, 8192);
    REQUIRE(got);
    CHECK(got->key % 8192 == 0);
    CHECK(got->size == 8192);
    CHECK(pool.allocate(100).error == -EINVAL);
    CHECK(pool.allocate(1 << 21).error == -ENOSPC);
    {
        auto held = pool.hold({.size = 65536, .align = 65536});
        REQUIRE(held);
        CHECK(held->key == 65536);
        CHECK(pool.reserve(range::sized(65536, 4096)).error == -EBUSY);
        CHECK(pool.stats().allocated == 8192 + 65536);
        auto other = std::move(held);
        CHECK(!held);
        CHECK(other->key == 65536);
        held = pool.hold({.size = 4096, .below = 1 << 16}, 5);
        CHECK(pool.free(range::sized(held.release().key, 4096)));
        CHECK(!held);
    }
    CHECK(pool.stats().allocated == 8192);
    CHECK(pool.hold({.size = 1 << 21}).error() == -ENOSPC);
    CHECK(pool.allocate({.size = 4096, .hint = 40960, .policy = lathwork::placement::exact})->key ==
          40960);
    CHECK(pool.reserve(range::sized(45056, 4096)).error == 0);
    CHECK(all(pool.runs()) == std::vector<range>{*got, range::sized(40960, 8192)});
    CHECK(all(pool.free_runs()).size() == 3);
    CHECK(pool.free(range::sized(40960, 8192)).error == 0);
    CHECK(pool.free(*got).error == 0);
    CHECK(pool.free(*got).error == -EINVAL);
    CHECK(all(pool.runs()).empty());
    CHECK(pool.verify() == 0);
}

TEST_CASE("large ranges fill one segment after the other") {
    space pool({.low = 0, .high = 1 << 20, .fill = true});
    CHECK(pool.add_segment(range::sized(1 << 20, 1 << 20)) == 1);
    std::uint64_t key = 0;
    CHECK(lath_space_alloc_in(pool.native(), 1u << 1, 1 << 14, 0, 0, &key) == 0);
    CHECK(key == 1 << 20);
    CHECK(pool.allocate(1 << 14)->key == (1 << 20) + (1 << 14));
    CHECK(pool.allocate({.size = 1 << 14, .high = 1 << 20})->key < 1 << 20);
}

TEST_CASE("segments, owners, save and load") {
    space pool({.low = 0, .high = 1000, .owners = true, .spread = true});
    CHECK(pool.add_segment(range::sized(2000, 1000), 10) == 1);
    CHECK(pool.add_segment(range::sized(2500, 1)) == -EEXIST);
    CHECK(pool.allocate({.size = 10, .low = 2000}, 77)->key == 2000);
    CHECK(pool.allocate({.size = 1, .low = 2000}).error == -ENOSPC); // its limit
    CHECK(lath_space_limit_segment(pool.native(), 1, 0) == 0);
    CHECK(pool.owner(2000)->value == 77);
    CHECK(!pool.owner(5));

    std::stringstream file;
    CHECK(pool.save(file).error == 0);
    space copy({.low = 0, .high = 1000});
    std::string why;
    CHECK(copy.load(file, 0, &why).error == -EINVAL); // it has no such segment
    CHECK(why.find("segment") != std::string::npos);
    CHECK(copy.add_segment(range::sized(2000, 1000)) == 1);
    file.clear();
    file.seekg(0);
    CHECK(copy.load(file).error == 0);
    CHECK(all(copy.runs()) == all(pool.runs()));
    std::istringstream damaged("no space at all");
    CHECK(space({.high = 10}).load(damaged).error == -EBADMSG);

    CHECK(pool.free(range::sized(2000, 10)).error == 0);
}

TEST_CASE("without a space") {
    space wrong({.unit = 3});
    CHECK(!wrong);
    CHECK(wrong.error() == -EINVAL);
    CHECK(wrong.allocate(1).error == -ENOMEM);
    CHECK(!wrong.hold({.size = 1}));
    CHECK(wrong.free(range::sized(0, 1)).error == -ENOMEM);
    CHECK(all(wrong.runs()).empty());
    space pool({.high = 100});
    space other = std::move(pool);
    CHECK(!pool);
    CHECK(pool.error() == -ENOMEM);
    CHECK(other.allocate(5));
    pool = std::move(other);
    CHECK(pool.stats().allocated == 5);
}
