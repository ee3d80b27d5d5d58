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
    range_guard timed(locks, 0, 100, std::defer_lock);
    CHECK(timed.try_lock_for(1s));
    timed.unlock();
    auto returned = take(locks);
    CHECK(returned);
    CHECK(!is_free(locks, 9, 10));
}

TEST_CASE("times that are longer than nanoseconds can say") {
    range_locks locks;
    std::atomic<int> got = 0;
    std::thread other;
    {
        range_guard mine(locks, 0, 10);
        other = std::thread([&] {
            range_guard waits(locks, 5, 6, std::defer_lock);
            got = waits.try_lock_for(std::chrono::hours::max()) ? 1 : -1;
        });
        std::this_thread::sleep_for(20ms);
        CHECK(got == 0);
        range_guard past(locks, 5, 6, std::defer_lock);
        CHECK(!past.try_lock_for(std::chrono::seconds::min()));
        CHECK(past.error() == -ETIMEDOUT);
        CHECK(!past.try_lock_for(std::chrono::duration<double>(0.001)));
    }
    other.join();
    CHECK(got == 1);
    range_guard free(locks, 0, 10, std::defer_lock);
    CHECK(free.try_lock_for(std::chrono::years(300)));
}

TEST_CASE("an end of 0 is 2^64") {
    range_locks locks;
    range_guard all(locks, 0, 0);
    CHECK(all.error() == 0);
    CHECK(!is_free(locks, 0, 1));
    CHECK(!is_free(locks, ~0ull, 0));
    CHECK(all.resize(5, 0) == 0);
    CHECK(is_free(locks, 0, 5));
    CHECK(all.resize(0, 0) == 0);
    CHECK(!is_free(locks, 0, 5));
    CHECK(all.resize(5, 5) == -EINVAL);
    CHECK(range_guard(locks, 5, 5, std::try_to_lock).error() == -EINVAL);
}

TEST_CASE("for_each: what the function throws leaves it, and nothing is locked") {
    range_locks locks({.buckets = 1});
    range_guard one(locks, 0, 10);
    range_guard two(locks, 20, 30);
    int told = 0;
    CHECK_THROWS_AS(locks.for_each([&](const lath_range_info&) { throw ++told; }), int);
    CHECK(told == 2);
    one.unlock();
    CHECK(one.try_lock());
}

TEST_CASE("all keys, and ranges that are none") {
    range_locks locks({.usual = 64, .deadlocks = true, .buckets = 4});
    {
        range_guard all(locks, 0, 0);
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
    range_guard all(locks, 0, 0);
    CHECK(all.error() == -ENOMEM);
}

TEST_CASE("threads take turns") {
    range_locks locks;
    long counter = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; i++) {
                range_guard mine(locks, 100, 100 + 1 + static_cast<std::uint64_t>(i) % 40);
                counter++;
            }
        });
    for (auto& t : threads)
        t.join();
    CHECK(counter == 8000);
}
