// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Iterators whose entries leave, whose copies throw, and that go backward; functions of the
// caller's that throw through calls of the C library.
#include "checks.hpp"
#include "lathwork/cxx/index.hpp"
#include "lathwork/cxx/interval.hpp"
#include "lathwork/cxx/point_map.hpp"
#include "lathwork/cxx/space.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

using namespace lathwork;

namespace {

// Copies and moves throw when `left` comes to 0; longer than the small buffer of a string.
struct fragile {
    static inline long left = -1;
    static void may_throw() {
        if (left >= 0 && left-- == 0)
            throw std::runtime_error("a copy");
    }
    std::string text;
    fragile() { may_throw(); }
    explicit fragile(std::uint64_t n) : text("the value of the key number " + std::to_string(n)) {}
    fragile(const fragile& o) : text((may_throw(), o.text)) {}
    fragile(fragile&& o) : text((may_throw(), std::move(o.text))) {}
    fragile& operator=(const fragile& o) {
        may_throw();
        text = o.text;
        return *this;
    }
    fragile& operator=(fragile&& o) {
        may_throw();
        text = std::move(o.text);
        return *this;
    }
};

// Whether an iterator shows the value of its key.
template <typename Iterator>
bool shows_its_own(const Iterator& at) {
    const auto& [key, value] = *at;
    return value.text == fragile(at.code_at()).text;
}

// Lets each copy or move of a step fail in turn, until the step is done.
template <typename Iterator, typename Step>
void each_failure(const Iterator& start, const Iterator& end, Step step) {
    for (long fails = 0;; fails++) {
        Iterator at = start;
        fragile::left = fails;
        bool thrown = false;
        try {
            step(at);
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        fragile::left = -1;
        CHECK((at == end || shows_its_own(at)));
        if (!thrown)
            return;
        --at; // usable, wherever it is
        CHECK(shows_its_own(at));
    }
}

template <typename Map>
auto key_of(const char* text) {
    if constexpr (std::is_same_v<typename Map::key_type, int>)
        return std::stoi(text);
    else
        return std::string(text);
}

range_map<int> tens() {
    range_map<int> map;
    for (std::uint64_t key = 0; key < 1000; key += 10)
        CHECK(map.insert(key, key + 5, static_cast<int>(key)));
    return map;
}

template <typename Map>
void goes_backward(Map& map, int first, int last) {
    CHECK(std::get<1>(*map.rbegin()) == last);
    CHECK(std::get<1>(*std::ranges::prev(map.end())) == last);
    CHECK(map.rbegin()->second == last);
    int n = 0;
    for (auto at = map.rbegin(); at != map.rend(); ++at, n++)
        CHECK(at->second == std::get<1>(*at));
    CHECK(n == 3);
    auto at = map.rbegin();
    CHECK(at++->second == last);
    CHECK(--at == map.rbegin());
    ;
    CHECK(std::ranges::next(map.rbegin(), 2)->second == first);
}

} // namespace

static_assert(std::bidirectional_iterator<range_map<int>::reverse_iterator>);
static_assert(std::bidirectional_iterator<point_map<int, int>::reverse_iterator>);

TEST_CASE("backward, with ->") {
    point_map<int, int> points{{1, 10}, {3, 30}, {5, 50}};
    goes_backward(points, 10, 50);
    point_map<std::string, int> words{{"a", 10}, {"b", 30}, {"c", 50}};
    goes_backward(words, 10, 50);
    CHECK(words.rbegin()->first == "c");
    range_map<int> ranges;
    CHECK((ranges.insert(10, 20, 1) && ranges.insert(30, 40, 2)));
    CHECK(ranges.rbegin()->value == 2);
    CHECK((++ranges.crbegin())->where.first() == 10);
    range_set set;
    CHECK((set.insert(10, 20) && set.insert(30, 40)));
    CHECK(set.rbegin()->where.first() == 30);
}

TEST_CASE("up to an iterator whose item has left") {
    range_map<int> map = tens();
    auto from = map.lower_bound(100), to = map.lower_bound(600);
    map.remove_starting(600);
    int n = 0;
    for (auto at = from; at < to; ++at)
        n++;
    CHECK(n == 50);
    map.erase(from, to);
    CHECK(map.size() == 49);
    CHECK((map.contains(90) && !map.contains(100) && !map.contains(590) && map.contains(610)));
    map.erase(map.lower_bound(700), map.end());
    CHECK(map.size() == 19);
    CHECK(!(map.end() < map.end()));
    auto part = map.overlapping(0, 33); // its end is behind 30
    map.erase(part.begin(), part.end());
    CHECK((map.size() == 15 && map.contains(40)));

    point_map<int, int> points{{1, 1}, {2, 2}, {3, 3}, {4, 4}};
    auto end = points.lower_bound(3);
    points.erase(3);
    n = 0;
    for (auto at = points.begin(); at < end; ++at)
        n++;
    CHECK(n == 2);
    points.erase(points.begin(), end);
    CHECK((points.size() == 1 && points.contains(4)));
    point_map<std::string, int, std::greater<>> down{{"c", 3}, {"b", 2}, {"a", 1}};
    auto last = down.lower_bound("b");
    down.erase("b");
    CHECK((down.begin() < last && !(std::ranges::next(down.begin()) < last)));
}

TEST_CASE("erase between two positions, while another thread replaces the item of the second") {
    range_map<int> map = tens();
    std::atomic<bool> stop = false;
    std::thread other([&] {
        while (!stop) {
            map.remove_starting(200);
            (void)map.insert(200, 205, 1);
        }
    });
    for (int round = 0; round < 2000; round++) {
        map.erase(map.lower_bound(10), map.lower_bound(200));
        for (std::uint64_t key = 10; key < 200; key += 10)
            (void)map.insert(key, key + 5, 1);
    }
    stop = true;
    other.join();
    CHECK(map.size() >= 99);
}

TEST_CASE("holes and runs: a loop up to one that has changed") {
    space pool({.high = 100, .magazines = false});
    CHECK((pool.reserve(range::between(10, 20)) && pool.reserve(range::between(30, 40))));
    auto holes = pool.free_runs();
    auto to = std::ranges::next(holes.begin(), 2); // [40, 100)
    CHECK(pool.reserve(range::between(40, 50)));
    int n = 0;
    for (auto at = holes.begin(); at < to; ++at)
        n++;
    CHECK(n == 2);
    CHECK((to < holes.end() && !(holes.end() < to)));
}

TEST_CASE("a step whose copy throws") {
    range_map<fragile> ranges;
    point_map<std::uint64_t, fragile> points;
    for (std::uint64_t key = 0; key < 50; key += 10) {
        CHECK(ranges.try_emplace(key, key + 5, key));
        CHECK(points.try_emplace(key, key));
    }
    auto check = [](auto& map) {
        auto start = map.lower_bound(20), other = map.lower_bound(30);
        each_failure(start, map.end(), [](auto& at) { ++at; });
        each_failure(start, map.end(), [](auto& at) { --at; });
        each_failure(start, map.end(), [](auto& at) { at++; });
        each_failure(start, map.end(), [](auto& at) { at--; });
        each_failure(start, map.end(), [&](auto& at) { at = other; });
        each_failure(start, map.end(), [&](auto& at) { at = map.end(), --at; });
    };
    check(ranges);
    check(points);
}

TEST_CASE("join: what may_join throws leaves it, and nothing is locked") {
    range_map<int> map;
    CHECK((map.insert(0, 10, 1) && map.insert(10, 20, 2)));
    CHECK_THROWS_AS(map.join(10, [](int, int) -> bool { throw std::runtime_error("no"); }),
                    std::runtime_error);
    CHECK(map.size() == 2);
    CHECK(map.remove_covering(5)); // the same leaf
    CHECK(map.insert(0, 10, 3));
    CHECK(map.join(10, [](int, int) { return true; }));
    CHECK(map.size() == 1);
}

TEST_CASE_TEMPLATE("what the program's functions throw leaves no section, and nothing locked", Map,
                   point_map<int, fragile>, point_map<std::string, fragile>) {
    const auto one = key_of<Map>("1"), other = key_of<Map>("2");
    const fragile value(2);
    std::array<std::optional<fragile>, 1> values;
    Map points;
    range_map<fragile> ranges;
    interval_map<fragile> intervals;
    auto fail = [](auto&&...) -> bool { throw std::runtime_error("no"); };
    auto change = [](const fragile&) -> fragile { throw std::runtime_error("no"); };
    CHECK((points.try_emplace(one, 1u) && ranges.try_emplace(0, 10, 1u)));
    auto throws = [](auto call) { CHECK_THROWS_AS(call(), std::runtime_error); };
    throws([&] { points.visit(one, fail); });
    throws([&] { points.update(one, change); });
    throws([&] { points.update(one, change, value); });
    throws([&] { points.erase_if(fail); });
    throws([&] { std::erase_if(points, fail); });
    throws([&] { ranges.update(5, change); });
    throws([&] { ranges.visit(5, fail); });
    auto copy_throws = [](auto call) {
        fragile::left = 0;
        CHECK_THROWS_AS(call(), std::runtime_error);
        fragile::left = -1;
    };
    copy_throws([&] { points.try_emplace(other, value); });
    copy_throws([&] { points.insert(other, value); });
    copy_throws([&] { points.insert_or_assign(one, value); });
    copy_throws([&] { points.replace(one, value); });
    copy_throws([&] { points.at(one); });
    copy_throws([&] { points[one] = value; });
    copy_throws([&] { points[one].get(); });
    copy_throws([&] { points[other].get(); }); // V()
    copy_throws([&] { std::exchange(points[one], value); });
    copy_throws([&] { points.insert(points.begin(), points.end()), Map(points).merge(points); });
    copy_throws([&] { points.find_batch(std::array{one}, values); });
    copy_throws([&] { ranges.try_emplace(20, 30, value); });
    copy_throws([&] { ranges.replace(0, value); });
    copy_throws([&] { ranges.split(5, value); });
    copy_throws([&] { intervals.insert(0, 1, value); });
    lath_rcu_auto.synchronize();
    CHECK((points.size() == 1 && ranges.size() == 1 && intervals.empty()));
    CHECK((points.erase(one) && ranges.remove_covering(5)));
}

TEST_CASE_TEMPLATE("range_map: a change that returns nothing erases", V, int, std::string) {
    range_map<V> ranges;
    CHECK((ranges.insert(0, 5) && ranges.insert(7, 9)));
    CHECK(ranges.update(8, [](const V&) { return std::optional<V>(); }));
    CHECK((ranges.size() == 1 && ranges.contains(4) && !ranges.contains(8)));
    CHECK(ranges.update(8, [](const V& v) { return v; }).error == -ENOENT);
}

TEST_CASE("space: streams that throw") {
    space memory({.low = 4096, .high = 1 << 20, .unit = 4096});
    REQUIRE(memory);
    std::ostringstream out;
    CHECK(memory.allocate(4096));
    CHECK(memory.save(out));
    struct : std::streambuf {
    } no_room;
    std::ostream full(&no_room);
    full.exceptions(std::ios::badbit);
    CHECK_THROWS_AS(memory.save(full), std::ios_base::failure);
    CHECK(memory.allocate(4096)); // nothing is locked
    std::istringstream cut(out.str().substr(0, 20));
    cut.exceptions(std::ios::eofbit);
    space other({.low = 4096, .high = 1 << 20, .unit = 4096});
    CHECK_THROWS_AS(other.load(cut), std::ios_base::failure);
    CHECK(other.allocate(4096));
}
