// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// point_map in the cases that tests of B-trees and of std::map look at: every size around that of a
// node, keys in every order, each bound, each removal of a range, and values whose copies throw.
#include "checks.hpp"
#include "lathwork/cxx/point_map.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <ranges>
#include <sstream>
#include <string>
#include <vector>

using namespace lathwork;

namespace {

using numbers = point_map<std::int32_t, int>;
using texts = point_map<std::string, int, std::greater<>>;

template <typename Map>
typename Map::key_type key(int i) {
    if constexpr (std::is_same_v<typename Map::key_type, std::string>)
        return "the same eight bytes and " + std::to_string(100000 + i);
    else
        return i;
}

// 0 .. n - 1 upwards, downwards, from both ends, and in an order that halves the gaps.
std::vector<std::vector<int>> orders(int n) {
    std::vector<int> up(static_cast<std::size_t>(n));
    for (int i = 0; i < n; i++)
        up[static_cast<std::size_t>(i)] = i;
    std::vector<int> down(up.rbegin(), up.rend()), ends, halves;
    for (int i = 0; i < n; i++)
        ends.push_back(i % 2 ? n - 1 - i / 2 : i / 2);
    unsigned top = std::bit_ceil(static_cast<unsigned>(std::max(n, 1)));
    for (unsigned i = 0; i < top; i++) {
        unsigned turned = 0;
        for (unsigned bit = 1; bit < top; bit *= 2)
            turned = turned * 2 + (i & bit ? 1 : 0);
        if (turned < static_cast<unsigned>(n))
            halves.push_back(static_cast<int>(turned));
    }
    return {up, down, ends, halves};
}

template <typename Map>
void same(const Map& map,
          const std::map<typename Map::key_type, int, typename Map::key_compare>& model) {
    REQUIRE(map.size() == model.size());
    REQUIRE(std::equal(map.begin(), map.end(), model.begin(), model.end()));
    REQUIRE(std::equal(map.rbegin(), map.rend(), model.rbegin(), model.rend()));
    REQUIRE(map.verify() == 0);
}

// The copy, or the move, number `at` throws.
struct fragile {
    static inline int alive = 0, steps = 0, at = -1;
    int number;
    explicit fragile(int n) : number(n) { step(); }
    fragile(const fragile& o) : number(o.number) { step(); }
    fragile(fragile&& o) : number(std::exchange(o.number, -1)) { step(); } // NOLINT: it throws
    fragile& operator=(const fragile&) = default;
    ~fragile() { --alive; }
    static void step() {
        if (steps++ == at)
            throw std::domain_error("fragile");
        ++alive;
    }
    bool operator==(const fragile&) const = default;
};

} // namespace

TEST_CASE_TEMPLATE("filled and emptied in every order, around the sizes of nodes", Map, numbers,
                   texts) {
    for (int n : {0, 1, 2, 63, 64, 65, 128, 129, 400})
        for (const auto& in : orders(n))
            for (const auto& out : orders(n)) {
                CAPTURE(n);
                Map map;
                std::map<typename Map::key_type, int, typename Map::key_compare> model;
                for (int i : in) {
                    REQUIRE(map.insert(key<Map>(i), i));
                    model.emplace(key<Map>(i), i);
                }
                same(map, model);
                for (int i : in)
                    REQUIRE(map.insert(key<Map>(i), -1).error == -EEXIST);
                for (std::size_t done = 0; done < out.size(); done++) {
                    if (done * 2 == out.size())
                        same(map, model);
                    REQUIRE(*map.erase(key<Map>(out[done])) == out[done]);
                    REQUIRE_FALSE(map.erase(key<Map>(out[done])));
                    model.erase(key<Map>(out[done]));
                }
                same(map, model);
            }
}

TEST_CASE_TEMPLATE("bounds of each key, and of those between", Map, numbers, texts) {
    Map map;
    std::map<typename Map::key_type, int, typename Map::key_compare> model;
    for (int i = 10; i <= 1000; i += 10) {
        map[key<Map>(i)] = i;
        model[key<Map>(i)] = i;
    }
    auto same_place = [&](auto ours, auto theirs) {
        REQUIRE((ours == map.end()) == (theirs == model.end()));
        REQUIRE(std::equal(ours, std::ranges::next(ours, 3, map.end()), theirs,
                           std::ranges::next(theirs, 3, model.end())));
        REQUIRE(static_cast<std::size_t>(std::ranges::distance(map.begin(), ours)) ==
                static_cast<std::size_t>(std::distance(model.begin(), theirs)));
    };
    for (int i = 0; i <= 1010; i++) {
        auto k = key<Map>(i);
        same_place(map.lower_bound(k), model.lower_bound(k));
        same_place(map.upper_bound(k), model.upper_bound(k));
        auto [from, to] = map.equal_range(k);
        REQUIRE(std::ranges::distance(from, to) == static_cast<long>(model.count(k)));
        REQUIRE(map.contains(k) == (i % 10 == 0 && i >= 10 && i <= 1000));
    }
}

TEST_CASE_TEMPLATE("each part is erased by iterators", Map, numbers, texts) {
    constexpr int n = 20;
    for (int from = 0; from <= n; from++)
        for (int to = from; to <= n; to++) {
            Map map;
            std::map<typename Map::key_type, int, typename Map::key_compare> model;
            for (int i = 0; i < n; i++) {
                map[key<Map>(i)] = i;
                model[key<Map>(i)] = i;
            }
            auto next =
                map.erase(std::ranges::next(map.begin(), from), std::ranges::next(map.begin(), to));
            auto there = model.erase(std::next(model.begin(), from), std::next(model.begin(), to));
            REQUIRE((next == map.end()) == (there == model.end()));
            if (there != model.end())
                REQUIRE(*next == *there);
            same(map, model);
        }
    Map map;
    for (int i = 0; i < 300; i++)
        map[key<Map>(i)] = i;
    for (auto it = map.begin(); it != map.end();) // the loop that every program has
        it = it->second % 3 ? map.erase(it) : std::ranges::next(it);
    CHECK(map.size() == 100);
    for (auto it = map.end(); it != map.begin();) { // and backwards
        --it;
        if (it->second % 2)
            it = map.erase(it);
    }
    CHECK(map.size() == 50);
    CHECK(std::ranges::all_of(map, [](const auto& e) { return e.second % 6 == 0; }));
}

TEST_CASE("order of maps") {
    std::vector<std::map<int, int>> models{{},
                                           {{1, 1}},
                                           {{1, 2}},
                                           {{2, 0}},
                                           {{1, 1}, {2, 0}},
                                           {{1, 1}, {2, 1}},
                                           {{1, 1}, {3, 0}},
                                           {{0, 9}, {1, 1}, {2, 0}}};
    for (const auto& a : models)
        for (const auto& b : models) {
            numbers x(a.begin(), a.end()), y(b.begin(), b.end());
            CHECK((x == y) == (a == b));
            CHECK((x != y) == (a != b));
            CHECK((x < y) == (a < b));
            CHECK((x >= y) == (a >= b));
            CHECK((x <=> y) == (a <=> b));
        }
}

TEST_CASE("sources of entries") {
    std::istringstream text("5 3 5 1 3");
    struct squared {
        std::pair<int, int> operator()(int n) const { return {n, n * n}; }
    };
    auto pairs = std::ranges::istream_view<int>(text) | std::views::transform(squared());
    numbers once(pairs.begin(),
                 pairs.end()); // what can be read once only; the first of equals stays
    CHECK(once == numbers{{1, 1}, {3, 9}, {5, 25}});
    numbers part(once.lower_bound(3), once.end());
    CHECK(part == numbers{{3, 9}, {5, 25}});
    part.insert(part.begin(), part.end()); // from itself
    CHECK(part.size() == 2);
    CHECK(part.merge(part));
    CHECK(part == numbers{{3, 9}, {5, 25}});
    numbers lower;
    CHECK(lower.merge(part));
    CHECK((part.empty() && lower.size() == 2));
    texts down{{"a", 1}, {"b", 2}};
    point_map<std::string, int> up{{"b", 20}, {"c", 3}};
    CHECK(up.merge(down)); // another order
    CHECK(up == point_map<std::string, int>{{"a", 1}, {"b", 20}, {"c", 3}});
    CHECK(down == texts{{"b", 2}});
    auto refused = up.insert(down.extract("b"));
    CHECK((!refused.inserted && refused.node.key() == "b" && refused.position->second == 20));
    CHECK(up.insert(down.extract("none")).position == up.end());
    CHECK(up.size() == 3);
}

TEST_CASE("views and algorithms") {
    numbers map;
    for (int i = 0; i < 100; i++)
        map[i] = i * i;
    int sum = 0;
    for (auto [k, v] : map | std::views::drop(10) | std::views::take(3))
        sum += k + v;
    CHECK(sum == 33 + 100 + 121 + 144);
    CHECK(std::ranges::equal(map | std::views::keys | std::views::reverse | std::views::take(2),
                             std::vector{99, 98}));
    CHECK(std::ranges::max(map | std::views::values) == 99 * 99);
    CHECK(std::ranges::find_if(map, [](const auto& e) { return e.second > 50; })->first == 8);
    CHECK(std::ranges::is_sorted(map));
    CHECK(std::count_if(map.begin(), map.end(), [](auto e) { return e.second % 2; }) == 50);
    std::vector<std::pair<int, int>> copied(map.begin(), map.end());
    CHECK(copied.size() == 100);
}

TEST_CASE("an argument is moved from only if it is inserted") {
    point_map<int, std::unique_ptr<int>> map;
    auto mine = std::make_unique<int>(5);
    CHECK(map.try_emplace(1, std::make_unique<int>(1)));
    CHECK_FALSE(map.try_emplace(1, std::move(mine)));
    REQUIRE(mine);
    CHECK(map.try_emplace(2, std::move(mine)));
    CHECK_FALSE(mine);
}

// Whatever copy or move throws, the call has changed nothing, and each value ends once.
TEST_CASE_TEMPLATE("values that throw", Map, point_map<int, fragile>,
                   point_map<std::string, fragile>) {
    auto k = [](int i) {
        if constexpr (std::is_same_v<typename Map::key_type, std::string>)
            return std::to_string(i);
        else
            return i;
    };
    int thrown = 0;
    for (int way = 0; way < 9; way++)
        for (int at = 0; at < 12; at++) {
            fragile::at = -1;
            fragile::alive = 0;
            {
                Map map;
                CHECK(map.try_emplace(k(1), 10));
                CHECK(map.try_emplace(k(2), 20));
                const Map& read = map;
                fragile given(30);
                fragile::steps = 0;
                fragile::at = at;
                bool failed = false;
                try {
                    switch (way) {
                    case 0:
                        map.insert(k(3), given);
                        break;
                    case 1:
                        map.try_emplace(k(3), 30);
                        break;
                    case 2:
                        map.emplace(k(3), given);
                        break;
                    case 3:
                        map.insert_or_assign(k(1), given);
                        break;
                    case 4:
                        map.replace(k(1), given);
                        break;
                    case 5:
                        map.update(k(1), [&](const fragile&) { return given; });
                        break;
                    case 6:
                        map[k(1)] = given;
                        break;
                    case 7:
                        (void)Map(read);
                        break;
                    default:
                        (void)read.at(k(1));
                        break;
                    }
                } catch (const std::domain_error&) {
                    failed = true;
                    thrown++;
                }
                fragile::at = -1;
                CAPTURE(way);
                CAPTURE(at);
                bool inserts = way < 3, changes = way >= 3 && way < 7;
                CHECK(map.size() == (inserts && !failed ? 3u : 2u));
                CHECK(map.find(k(1))->second.number == (changes && !failed ? 30 : 10));
                CHECK(map.verify() == 0);
                map.drain();
                CHECK(fragile::alive == 1 + static_cast<int>(map.size()));
            }
            CHECK(fragile::alive == 0);
        }
    CHECK(thrown > 15);
}
