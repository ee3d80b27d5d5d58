// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// range_locks and range_guard: what a guard holds, when it gives it back, and what it says.
#include "lathwork/cxx/range_lock.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

using namespace lathwork;
using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<range_guard> &&
              !std::is_move_constructible_v<range_guard>);
static_assert(!std::is_copy_constructible_v<range_locks> &&
              !std::is_move_constructible_v<range_locks>);

namespace {

bool is_free(range_locks& locks, std::uint64_t first, std::uint64_t end,
             range_mode mode = exclusive_range) {
    return range_guard(locks, first, end, std::try_to_lock, mode).owns_lock();
}

range_guard take(range_locks& locks) { return range_guard(locks, 5, 10); }

} // namespace

TEST_CASE("a guard holds its range to the end of its scope") {
    range_locks locks;
    REQUIRE(locks);
    {
        range_guard mine(locks, 10, 20);
        CHECK(mine);
        CHECK(mine.error() == 0);
        CHECK(!mine.lock()); // it has it already
        CHECK(mine);
        CHECK(is_free(locks, 0, 10));
        CHECK(!is_free(locks, 19, 20));
        CHECK(is_free(locks, 20, 0)); // to the last key
        range_guard other(locks, 19, 30, std::try_to_lock);
        CHECK(!other);
        CHECK(other.error() == -EBUSY);
        CHECK(!other.try_lock_for(1ms));
        CHECK(other.error() == -ETIMEDOUT);
        CHECK(!other.try_lock_for(-1ms));
        CHECK(other.error() == -ETIMEDOUT);
        mine.unlock();
        CHECK(mine.error() == -ENOLCK);
        CHECK(other.try_lock());
        other.downgrade();
        CHECK(other.mode() == shared_range);
        CHECK(is_free(locks, 0, 100, shared_range));
        CHECK(other.resize(25, 40) == 0);
        CHECK(other.resize(40, 30) == -EINVAL);
        CHECK(!is_free(locks, 39, 40));
        CHECK(is_free(locks, 19, 25));
    }
    range_guard timed(locks, 0, 100, 1s);
    CHECK(timed);
    timed.unlock();
    auto returned = take(locks);
    CHECK(returned);
    CHECK(!is_free(locks, 9, 10));
}

TEST_CASE("all keys, and ranges that are none") {
    range_locks locks({.usual = 64, .deadlocks = true, .buckets = 4});
    {
        range_guard all(locks);
        CHECK(all);
        CHECK(!is_free(locks, 0, 1));
        CHECK(!is_free(locks, ~0ull, 0));
        std::vector<lath_range_info> held;
        locks.for_each([&](const lath_range_info& info) { held.push_back(info); });
        REQUIRE(held.size() == 1);
        CHECK(held[0].last == ~0ull);
        CHECK(!held[0].waits);
        range_guard again(locks, 3, 4); // its own thread has it
        CHECK(again.error() == -EDEADLK);
    }
    range_guard empty(locks, 7, 7);
    CHECK(empty.error() == -EINVAL);
    range_guard backwards(locks, 8, 7);
    CHECK(backwards.error() == -EINVAL);
    range_guard later(locks, 1, 2, std::defer_lock);
    CHECK(later.error() == -ENOLCK);
    CHECK(later.lock());
}

TEST_CASE("locks without memory fail, and so do their guards") {
    lath_allocator none = {[](void*, size_t, size_t) -> void* { return nullptr; },
                           [](void*, void*, size_t) {}, nullptr};
    range_locks locks({.allocator = &none});
    CHECK(!locks);
    CHECK(locks.error() == -ENOMEM);
    range_guard guard(locks, 1, 2);
    CHECK(guard.error() == -ENOMEM);
    range_guard all(locks);
    CHECK(all.error() == -ENOMEM);
}

TEST_CASE("threads take turns") {
    range_locks locks;
    long counter = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; i++) {
                range_guard mine(locks, 100, 100 + 1 + static_cast<std::uint64_t>(i) % 40);
                counter++;
            }
        });
    threads.clear();
    CHECK(counter == 8000);
}
