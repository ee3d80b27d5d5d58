// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// interval_map<T> (lathwork/cxx/interval.hpp): values in the set and in boxes, views, and what
// moves.
#include <doctest/doctest.h>

#include <lathwork/cxx/interval.hpp>

#include <algorithm>
#include <cerrno>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

struct counted {
    static inline std::atomic<long> alive = 0;
    int number;
    explicit counted(int n) : number(n) { alive++; }
    counted(const counted& other) : number(other.number) { alive++; }
    counted& operator=(const counted&) = default;
    ~counted() { alive--; }
    friend bool operator==(const counted& a, const counted& b) { return a.number == b.number; }
};

static_assert(std::ranges::input_range<lathwork::interval_view<int>>);
static_assert(std::ranges::view<lathwork::interval_view<std::string>>);
static_assert(std::ranges::input_range<const lathwork::interval_map<std::string>>);

} // namespace

TEST_CASE("clear") {
    lathwork::interval_map<std::string> map;
    for (std::uint64_t i = 0; i < 100; i++)
        REQUIRE(map.insert(i / 2, i + 1000, "the same text, long enough for a box"));
    CHECK(map.clear() == 100);
    CHECK(map.empty());
    CHECK(map.clear() == 0);
    CHECK(map.insert(1, 2, "again"));
}

TEST_CASE("a range is half-open, whatever the bounds") {
    for (lath_bounds bounds : {LATH_HALF_OPEN, LATH_CLOSED}) {
        lathwork::interval_map<int> map(bounds);
        CHECK(map.insert(lathwork::range::between(10, 20), 1));
        CHECK(map.insert(lathwork::range::between(30, 0), 2)); // up to the last key
        CHECK(map.contains(10));
        CHECK(map.contains(19));
        CHECK_FALSE(map.contains(20));
        CHECK(map.contains(UINT64_MAX));
    }
}

TEST_CASE("values in the set") {
    lathwork::interval_map<int> map;
    REQUIRE(map);
    CHECK(map.empty());
    CHECK(map.insert(10, 20, 1).error == 0);
    CHECK(map.insert(15, 30, 2).error == 0);
    CHECK(map.insert(15, 30, 2).error == 0);
    CHECK(map.insert(20, 20, 3).error == -EINVAL);
    CHECK(map.insert(lathwork::range::between(20, 20), 3).error == -EINVAL);
    CHECK(map.contains(29));
    CHECK_FALSE(map.contains(30));
    std::vector<int> seen;
    for (auto [first, end, value] : map.stab(19))
        seen.push_back(value);
    std::sort(seen.begin(), seen.end());
    CHECK(seen == std::vector<int>{1, 2, 2});
    CHECK(map.size() == 3);
    CHECK(map.count_overlapping(20, 25) == 2);
    CHECK(std::ranges::distance(map.within(10, 20)) == 1);
    CHECK(map.nearest(50)->value == 2);
    CHECK(map.nearest(2)->first == 10);
    CHECK(map.erase(15, 30, 2));
    CHECK(map.erase(15, 30, 2));
    CHECK_FALSE(map.erase(15, 30, 2));
    CHECK_FALSE(map.empty());
    CHECK(lath_intervals_count(map.native()) == 1);
}

TEST_CASE("closed intervals, and all keys") {
    lathwork::interval_map<int> map(LATH_CLOSED);
    CHECK(map.closed());
    CHECK(map.insert(5, 5, 1).error == 0);
    CHECK(map.insert(0, ~0ull, 2).error == 0);
    CHECK(std::ranges::distance(map.stab(5)) == 2);
    CHECK(std::ranges::distance(map.stab(~0ull)) == 1);
    lathwork::interval_map<int> open;
    CHECK(open.insert(0, 0, 1).error == 0); // 0 is 2^64
    CHECK(std::ranges::distance(open.stab(~0ull)) == 1);
}

TEST_CASE("values in boxes are copied out and destroyed") {
    {
        lathwork::interval_map<counted> map;
        for (int i = 0; i < 500; i++)
            CHECK(map.insert(static_cast<std::uint64_t>(i % 50), 100, i).error == 0);
        CHECK(counted::alive == 500);
        CHECK(map.erase(7, 100, counted(57)));
        CHECK_FALSE(map.erase(7, 100, counted(57)));
        CHECK_FALSE(map.erase(7, 101, counted(7)));
        long sum = 0;
        for (const auto& entry : map)
            sum += entry.value.number;
        CHECK(sum == 500 * 499 / 2 - 57);
        lathwork::interval_map<counted> other(std::move(map));
        CHECK(map.empty()); // NOLINT(bugprone-use-after-move)
        CHECK_FALSE(map.nearest(1));
        CHECK(map.insert(1, 2, 3));
        CHECK((map.size() == 1 && other.size() == 499));
        map = std::move(other);
        CHECK(map.size() == 499);
    }
    lath_rcu_auto.drain();
    CHECK(counted::alive == 0);
}

TEST_CASE("a configuration that is refused is not taken for want of memory") {
    lathwork::config how = lathwork::default_config();
    how.flags = ~0u;
    lathwork::interval_map<int> set(LATH_HALF_OPEN, how);
    CHECK(!set);
    CHECK(set.insert(1, 2, 3).error == -EINVAL);
    lathwork::interval_map<int> moved = std::move(set);
    CHECK(moved.insert(1, 2, 3).error == -EINVAL);
}

TEST_CASE("threads insert, erase and read boxes") {
    lathwork::interval_map<std::string> map;
    std::atomic<bool> stop = false;
    std::thread reader([&] {
        while (!stop)
            for (const auto& [first, end, value] : map.stab(500))
                CHECK(value == std::to_string(first) + " " + std::to_string(end));
    });
    std::mt19937_64 random(1);
    std::multimap<std::uint64_t, std::uint64_t> model;
    for (int i = 0; i < 20000; i++) {
        std::uint64_t first = random() % 40 * 25, end = first + 1 + random() % 700;
        std::string value = std::to_string(first) + " " + std::to_string(end);
        if (i % 2) {
            CHECK(map.insert(first, end, value).error == 0);
            model.emplace(first, end);
        } else if (!model.empty()) {
            auto [f, e] = *model.begin();
            CHECK(map.erase(f, e, std::to_string(f) + " " + std::to_string(e)));
            model.erase(model.begin());
        }
    }
    stop = true;
    reader.join();
    CHECK(map.size() == model.size());
}
