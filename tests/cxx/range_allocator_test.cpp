// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// range_allocator: each call, partial frees, limits up to 2^64, ownership, threads.
#include "lathwork/cxx/hole.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

using namespace lathwork;

static_assert(std::ranges::forward_range<range_allocator::hole_view>);
static_assert(std::ranges::bidirectional_range<const range_allocator>);
static_assert(std::is_nothrow_move_constructible_v<range_allocator::allocation>);
static_assert(!std::is_copy_constructible_v<range_allocator::allocation>);

namespace {

std::vector<range> holes_of(const range_allocator& space) {
    std::vector<range> all;
    for (range hole : space.holes())
        all.push_back(hole);
    return all;
}

using ranges = std::vector<range>;

} // namespace

TEST_CASE("allocate, find the owner, free") {
    range_allocator space(100, 200);
    REQUIRE(space);
    CHECK(space.empty());
    auto a = space.allocate({.size = 10}, 7);
    auto b = space.allocate({.size = 16, .align = 16}, 8);
    REQUIRE(a);
    REQUIRE(b);
    CHECK(*a == range::sized(100, 10));
    CHECK(*b == range::sized(112, 16));
    CHECK(space.owner(109)->value == 7);
    CHECK(space.owner(112)->value == 8);
    CHECK_FALSE(space.owner(111));
    CHECK(holes_of(space) == ranges{range::sized(110, 2), range::sized(128, 72)});
    CHECK(space.find({.size = 2})->key == 110);
    CHECK(space.size() == 2);
    CHECK(space.free(*a).error == 0);
    CHECK(space.free(*a).error == -ENOENT);
    CHECK(space.free(*b).error == 0);
    CHECK(holes_of(space) == ranges{range::sized(100, 100)});
    CHECK(space.stats().largest == 100);
}

TEST_CASE("policies and limits") {
    range_allocator space(0, 1000);
    for (std::uint64_t key : {100, 300, 340, 900})
        REQUIRE(space.reserve(range::sized(key, 20)).error == 0);
    auto at = [&](hole_request want) {
        auto got = space.find(want);
        return got ? got->key : std::uint64_t(got.error);
    };
    CHECK(at({.size = 20}) == 0);
    CHECK(at({.size = 20, .policy = placement::last}) == 980);
    CHECK(at({.size = 20, .policy = placement::best}) == 320);
    CHECK(at({.size = 20, .hint = 101, .policy = placement::next}) == 120);
    CHECK(at({.size = 20, .hint = 985, .policy = placement::next}) == 0);
    CHECK(at({.size = 20, .hint = 310, .policy = placement::near}) == 320);
    CHECK(at({.size = 20, .hint = 320, .policy = placement::exact}) == 320);
    CHECK(at({.size = 20, .hint = 330, .policy = placement::exact}) == std::uint64_t(-ENOSPC));
    CHECK(at({.size = 20, .low = 81}) == 120);
    CHECK(at({.size = 20, .low = 50, .high = 110}) == 50);
    CHECK(at({.size = 60, .low = 50, .high = 110}) == std::uint64_t(-ENOSPC));
    CHECK(at({.size = 500, .below = 400}) == 360);
    CHECK(at({.size = 20, .below = 400, .policy = placement::last}) == 380);
    CHECK(at({.size = 0}) == std::uint64_t(-EINVAL));
    CHECK(at({.size = 1, .align = 3}) == std::uint64_t(-EINVAL));
    CHECK(at({.size = 1, .low = 9, .high = 9}) == std::uint64_t(-EINVAL));
    CHECK(at({.size = 1, .low = 1000}) == std::uint64_t(-ENOSPC));
    CHECK(space.find({.size = 541}).value_or(range::sized(1, 2)) == range::sized(1, 2));
}

TEST_CASE("parts are freed in any order and keep their cookie") {
    range_allocator space(0, 64);
    REQUIRE(*space.allocate({.size = 64}, 5) == range::sized(0, 64));
    CHECK(space.free(range::sized(10, 60)).error == -ENOENT);
    CHECK(space.free(range::sized(10, 0)).error == -ENOENT);
    CHECK(space.free(range::sized(16, 8)).error == 0); // the middle
    CHECK(space.free(range::sized(0, 4)).error == 0);  // the front
    CHECK(space.free(range::sized(60, 4)).error == 0); // the back
    CHECK(holes_of(space) == ranges{range::sized(0, 4), range::sized(16, 8), range::sized(60, 4)});
    CHECK(space.free(range::sized(4, 20)).error == -ENOENT); // reaches into a hole
    CHECK(space.owner(59)->value == 5);
    CHECK(space.owner(4)->where == range::sized(4, 12));
    CHECK(space.free(range::sized(4, 12)).error == 0);
    CHECK(space.free(range::sized(24, 36)).error == 0);
    CHECK(holes_of(space) == ranges{range::sized(0, 64)});
}

TEST_CASE("reserve") {
    range_allocator space(10, 20);
    CHECK(space.reserve(range::sized(12, 3), 9).error == 0);
    CHECK(space.reserve(range::sized(14, 3)).error == -EEXIST);
    CHECK(space.reserve(range::sized(9, 2)).error == -EINVAL);
    CHECK(space.reserve(range::sized(19, 2)).error == -EINVAL);
    CHECK(space.reserve(range::sized(19, 0)).error == -EINVAL);
    CHECK(space.owner(13)->value == 9);
    CHECK(space.free(range::sized(12, 3)).error == 0);
    CHECK(space.empty());
}

TEST_CASE("the end of the address space") {
    constexpr std::uint64_t top = UINT64_MAX;
    range_allocator space(top - 99, 0);
    auto last = space.allocate({.size = 4, .align = 4, .policy = placement::last});
    REQUIRE(last);
    CHECK(last->last() == top);
    CHECK(space.allocate({.size = 96})->key == top - 99);
    CHECK(space.allocate(1).error == -ENOSPC);
    CHECK(holes_of(space).empty());
    CHECK(space.free(*last).error == 0);
    CHECK(holes_of(space) == ranges{range::sized(top - 3, 4)});
    range_allocator all(0, 0);
    CHECK(all.allocate({.size = top, .align = 1})->key == 0);
    CHECK(all.allocate({.size = 1})->key == top);
    CHECK(all.allocate({.size = 1}).error == -ENOSPC);
    range_allocator none(5, 5);
    CHECK_FALSE(none.allocate(1));
    CHECK(holes_of(none).empty());
}

TEST_CASE("an allocation has an owner") {
    range_allocator space(0, 100);
    {
        auto a = space.hold({.size = 60});
        REQUIRE(a);
        auto b = space.hold({.size = 60});
        CHECK_FALSE(b);
        CHECK(b.error() == -ENOSPC);
        b = std::move(a);
        CHECK(b->size == 60);
        CHECK(space.size() == 1);
    }
    CHECK(space.empty());
    range kept = space.hold({.size = 5}).release();
    CHECK(space.size() == 1);
    CHECK(space.free(kept).error == 0);
}

TEST_CASE("moved from, and out of memory") {
    range_allocator space(0, 100);
    REQUIRE(space.allocate(10));
    range_allocator other = std::move(space);
    CHECK(other.size() == 1);
    CHECK(space.empty()); // NOLINT(bugprone-use-after-move)
    CHECK(space.allocate(100));
    lath_allocator nothing{[](void*, std::size_t, std::size_t) -> void* { return nullptr; },
                           [](void*, void*, std::size_t) {}, nullptr};
    config how = default_config();
    how.allocator = &nothing;
    range_allocator poor(0, 100, how);
    CHECK(poor.allocate(1).error == -ENOMEM);
}

TEST_CASE("threads never get the same address") {
    constexpr std::uint64_t units = 4000;
    range_allocator space(0, units);
    std::vector<std::atomic<int>> owners(units);
    std::atomic<int> faults = 0;
    auto work = [&](unsigned id) {
        std::minstd_rand random(id + 1);
        std::vector<range_allocator::allocation> held;
        for (int i = 0; i < 4000; i++) {
            if (held.size() > 200 || (!held.empty() && random() % 5 < 2)) {
                std::swap(held.back(), held[random() % held.size()]);
                for (std::uint64_t u = held.back()->key; u <= held.back()->last(); u++)
                    owners[u] = 0;
                held.pop_back();
                continue;
            }
            auto a = space.hold({.size = random() % 20 + 1,
                                 .align = std::uint64_t{1} << random() % 4,
                                 .policy = static_cast<placement>(random() % 3)});
            if (!a)
                continue;
            for (std::uint64_t u = a->key; u <= a->last(); u++)
                faults += owners[u].exchange(1);
            held.push_back(std::move(a));
        }
        for (auto& a : held)
            for (std::uint64_t u = a->key; u <= a->last(); u++)
                owners[u] = 0;
    };
    std::vector<std::thread> threads;
    for (unsigned id = 0; id < 3; id++)
        threads.emplace_back(work, id);
    for (auto& t : threads)
        t.join();
    CHECK(faults == 0);
    CHECK(space.empty());
    CHECK(space.stats().largest == units);
}

TEST_CASE("threads free different parts of one allocation") {
    constexpr std::uint64_t parts = 200000;
    range_allocator space(0, 0);
    auto all = space.allocate(4 * parts);
    REQUIRE(all);
    std::atomic<unsigned> refused{0};
    std::vector<std::thread> threads;
    for (unsigned id = 0; id < 3; id++)
        threads.emplace_back([&, id] {
            for (std::uint64_t i = id; i < parts; i += 3)
                refused += !space.free(range::sized(all->key + 4 * i, 4));
        });
    for (auto& t : threads)
        t.join();
    CHECK(refused == 0);
    CHECK(space.empty());
}
