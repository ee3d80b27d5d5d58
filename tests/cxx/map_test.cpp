// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// point_map as readers of std::map use it: each member, for keys of all kinds, beside a std::map.
#include "checks.hpp"
#include "lathwork/cxx/point_map.hpp"
#include "walk.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <memory_resource>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace lathwork;

namespace {

enum class colour : std::int8_t { red = -3, green = 0, blue = 5 };

struct version {
    std::uint16_t major, minor;
    friend auto operator<=>(const version&, const version&) = default;
};

} // namespace

template <>
struct lathwork::key_code<version> {
    static std::uint64_t encode(version v) { return std::uint64_t{v.major} << 16 | v.minor; }
    static version decode(std::uint64_t code) {
        return {static_cast<std::uint16_t>(code >> 16), static_cast<std::uint16_t>(code)};
    }
};

namespace {

using seconds = std::chrono::sys_seconds;
using small_pair = std::pair<std::int32_t, std::uint8_t>;
using large_pair = std::pair<std::int64_t, std::uint64_t>;

// Key number i of each type; in ascending order of i.
template <typename K>
K key(int i) {
    if constexpr (std::is_same_v<K, std::string>) {
        std::string text = i % 3 ? "a common beginning, then " : std::string("\0\xff", 2);
        return text + std::to_string(1000 + i) + std::string(static_cast<std::size_t>(i % 5), '\0');
    } else if constexpr (std::is_same_v<K, seconds>) {
        return seconds(std::chrono::seconds(i - 500));
    } else if constexpr (std::is_same_v<K, small_pair>) {
        return {i / 7 - 50, static_cast<std::uint8_t>(i % 7 * 36)};
    } else if constexpr (std::is_same_v<K, large_pair>) {
        return {i / 7 - 50, UINT64_MAX - static_cast<std::uint64_t>(6 - i % 7) * 36};
    } else if constexpr (std::is_same_v<K, version>) {
        return {static_cast<std::uint16_t>(i / 9), static_cast<std::uint16_t>(i % 9 * 7281)};
    } else if constexpr (std::is_signed_v<K>) {
        return static_cast<K>(i - 500);
    } else {
        return static_cast<K>(static_cast<K>(i) * static_cast<K>(UINT64_MAX / 1000));
    }
}

template <typename V>
V value(int i) {
    if constexpr (std::is_same_v<V, std::string>)
        return "a text beyond any small buffer " + std::to_string(i);
    else
        return static_cast<V>(i);
}

template <typename Map>
using model_of =
    std::map<typename Map::key_type, typename Map::mapped_type, typename Map::key_compare>;

template <typename Map>
void same(const Map& map, const model_of<Map>& model) {
    REQUIRE(map.size() == model.size());
    REQUIRE(map.empty() == model.empty());
    REQUIRE(std::equal(map.begin(), map.end(), model.begin(), model.end()));
    REQUIRE(std::equal(map.rbegin(), map.rend(), model.rbegin(), model.rend()));
    REQUIRE(map.verify() == 0);
}

template <typename Map, typename It>
void same_place(const Map& map, typename Map::iterator a, const model_of<Map>& model, It b) {
    REQUIRE((a == map.end()) == (b == model.end()));
    if (b != model.end())
        REQUIRE(*a == *b);
    if (b == model.begin())
        REQUIRE(a == map.begin());
    else if (b != model.end() || a == map.end())
        REQUIRE(*std::prev(a) == *std::prev(b));
}

} // namespace

#define MAPS                                                                               \
    point_map<std::int32_t, std::string>, point_map<std::uint64_t, int, std::greater<>>,   \
        point_map<seconds, std::string>, point_map<small_pair, int>,                       \
        point_map<large_pair, int, std::greater<large_pair>>, point_map<std::string, int>, \
        point_map<std::string, std::string, std::greater<std::string>>, point_map<version, double>

TEST_CASE_TEMPLATE("beside a std::map", Map, MAPS) {
    using K = typename Map::key_type;
    using V = typename Map::mapped_type;
    std::mt19937 random(7);
    Map map;
    model_of<Map> model;
    for (int step = 0; step < 6000; step++) {
        CAPTURE(step);
        int i = static_cast<int>(random() % 1000);
        K k = key<K>(i);
        V v = value<V>(step);
        switch (random() % 12) {
        case 0: {
            auto it = model.find(k);
            auto old = map.erase(k);
            REQUIRE(old.has_value() == (it != model.end()));
            if (old) {
                REQUIRE(*old == it->second);
                model.erase(it);
            }
            break;
        }
        case 1: {
            auto it = model.find(k);
            auto done = map.insert_or_assign(k, v);
            REQUIRE(done);
            REQUIRE(done.second == (it == model.end()));
            REQUIRE(done.old.has_value() == (it != model.end()));
            if (done.old)
                REQUIRE(*done.old == it->second);
            model.insert_or_assign(k, v);
            break;
        }
        case 2: {
            auto it = model.find(k);
            result done = map.update(k, [&](const V& old) {
                REQUIRE(old == it->second);
                return v;
            });
            REQUIRE(done.error == (it == model.end() ? -ENOENT : 0));
            if (done)
                it->second = v;
            break;
        }
        case 3: {
            K end = key<K>(std::min(i + 5, 999));
            if (!typename Map::key_compare{}(k, end))
                std::swap(k, end);
            auto from = model.lower_bound(k), to = model.lower_bound(end);
            REQUIRE(map.erase_range(k, end) == static_cast<std::uint64_t>(std::distance(from, to)));
            model.erase(from, to);
            break;
        }
        case 4:
            map[k] = v;
            model[k] = v;
            break;
        case 5:
            REQUIRE(map.replace(k, v).error == (model.contains(k) ? 0 : -ENOENT));
            if (model.contains(k))
                model[k] = v;
            break;
        default:
            REQUIRE(map.emplace(k, v).error == (model.emplace(k, v).second ? 0 : -EEXIST));
        }
        k = key<K>(static_cast<int>(random() % 1000));
        REQUIRE(map.contains(k) == model.contains(k));
        REQUIRE(map.count(k) == model.count(k));
        auto found = model.find(k);
        same_place(map, map.find(k), model, found);
        auto [a, b] = map.equal_range(k);
        same_place(map, a, model, model.lower_bound(k));
        same_place(map, b, model, model.upper_bound(k));
        auto above = model.lower_bound(k), below = model.upper_bound(k);
        auto ceiling = map.ceiling(k), floor = map.floor(k);
        REQUIRE(ceiling.has_value() == (above != model.end()));
        if (ceiling)
            REQUIRE(*ceiling == *above);
        REQUIRE(floor.has_value() == (below != model.begin()));
        if (floor)
            REQUIRE(*floor == *std::prev(below));
        if (step % 500 == 499)
            same(map, model);
    }
    REQUIRE(*map.first() == *model.begin());
    REQUIRE(*map.last() == *model.rbegin());
    K from = key<K>(400), to = key<K>(600);
    if (typename Map::key_compare{}(to, from))
        std::swap(from, to);
    model_of<Map> inside(model.lower_bound(from), model.lower_bound(to));
    REQUIRE(!inside.empty());
    auto view = map.within(from, to);
    REQUIRE(std::equal(view.begin(), view.end(), inside.begin(), inside.end()));
    REQUIRE(std::equal(std::reverse_iterator(view.end()), std::reverse_iterator(view.begin()),
                       inside.rbegin(), inside.rend()));
    REQUIRE(map.within(to, from).empty());
    std::vector<K> keys;
    for (const auto& each : inside)
        keys.push_back(each.first);
    for (int i = 0; i < 100; i++)
        walk_at_random(view, keys, random, [](auto& at) { return at->first; });
    keys.clear();
    for (int i = 0; i < 1000; i++)
        keys.push_back(key<K>(i));
    std::vector<std::optional<V>> values(keys.size());
    REQUIRE(map.find_batch(keys, values) == model.size());
    for (std::size_t i = 0; i < keys.size(); i++)
        REQUIRE(values[i].has_value() == model.contains(keys[i]));
    map.clear();
    same(map, {});
}

TEST_CASE_TEMPLATE("construction, copies, moves, comparison, swap", Map, MAPS) {
    using K = typename Map::key_type;
    using V = typename Map::mapped_type;
    using entry = typename Map::value_type;
    entry a(key<K>(1), value<V>(1)), b(key<K>(2), value<V>(2)), c(key<K>(3), value<V>(3));
    Map list{b, a, b};
    same(list, {a, b});
    std::vector<entry> three{c, a, b};
    Map range(three.begin(), three.end());
    same(range, {a, b, c});
    Map copy(range);
    CHECK(copy == range);
    CHECK(copy != list);
    CHECK((copy <=> range) == 0);
    CHECK((list < range) == (model_of<Map>{a, b} < model_of<Map>{a, b, c}));
    copy = list;
    same(copy, {a, b});
    copy = {c};
    same(copy, {c});
    Map& self = copy;
    copy = self;
    same(copy, {c});
    Map moved(std::move(range));
    same(moved, {a, b, c});
    CHECK(range.error() == 0);
    same(range, {});
    CHECK(range.update(a.first, [](const V& v) { return v; }).error == -ENOENT);
    CHECK_FALSE(range.erase(a.first));
    CHECK(range.erase_range(a.first, b.first) == 0);
    CHECK_FALSE(range.find(a.first));
    CHECK(range.insert(a).second); // as one that is new
    CHECK(range.at(a.first) == a.second);
    CHECK(moved.size() == 3);
    range = std::move(moved);
    same(range, {a, b, c});
    swap(range, copy);
    same(range, {c});
    same(copy, {a, b, c});
    range.swap(copy);
    same(copy, {c});
}

TEST_CASE_TEMPLATE("insert, extract, merge and erase in their forms", Map, MAPS) {
    using K = typename Map::key_type;
    using V = typename Map::mapped_type;
    using entry = typename Map::value_type;
    entry a(key<K>(1), value<V>(1)), b(key<K>(2), value<V>(2)), c(key<K>(3), value<V>(3));
    Map map;
    CHECK(map.insert(a));
    CHECK(map.insert(entry(b)));
    CHECK(map.insert(key<K>(3), value<V>(3)));
    CHECK(map.insert(c).error == -EEXIST);
    CHECK(map.insert({a, b}));
    CHECK(map.try_emplace(key<K>(3), value<V>(9)).error == -EEXIST);
    CHECK(map.try_emplace(key<K>(4), value<V>(4)));
    CHECK(map.at(key<K>(4)) == value<V>(4));
    CHECK_THROWS_AS(map.at(key<K>(5)), std::out_of_range);
    CHECK(map.emplace(std::piecewise_construct, std::forward_as_tuple(key<K>(5)),
                      std::forward_as_tuple(value<V>(5))));
    auto node = map.extract(key<K>(5));
    REQUIRE(node);
    CHECK(node.key() == key<K>(5));
    CHECK(node.mapped() == value<V>(5));
    CHECK_FALSE(map.extract(key<K>(5)));
    node.key() = key<K>(6);
    CHECK(map.insert(std::move(node)));
    CHECK_FALSE(map.insert(map.extract(key<K>(9))).inserted);
    std::vector<entry> more{c, entry(key<K>(7), value<V>(7))};
    std::copy(more.begin(), more.end(), std::inserter(map, map.end()));
    CHECK(map.size() == 6);

    Map other{entry(key<K>(7), value<V>(70)), entry(key<K>(8), value<V>(8))};
    CHECK(map.merge(other));
    CHECK(map.at(key<K>(7)) == value<V>(7));
    CHECK(map.at(key<K>(8)) == value<V>(8));
    same(other, {entry(key<K>(7), value<V>(70))});
    CHECK(map.merge(Map{entry(key<K>(10), value<V>(10))}));
    CHECK(map.size() == 8);

    auto first = map.begin();
    auto second = map.erase(first);
    CHECK(second == map.begin());
    auto third = map.erase(map.begin(), std::ranges::next(map.begin(), 2));
    CHECK(third == map.begin());
    CHECK(map.size() == 5);
    CHECK(map.erase(map.end(), map.end()) == map.end());
    CHECK(map.erase(map.within(key<K>(0), key<K>(0)).begin(), map.end()) == map.end()); // nothing
    CHECK(erase_if(map, [&](const auto& e) { return e.first == map.first()->first; }) == 5);
    CHECK(map.empty());
    CHECK(map.insert({a, b, c}));
    CHECK(erase_if(map, [&](const auto& e) { return e.second == value<V>(2); }) == 1);
    CHECK(map.erase(map.begin(), map.end()) == map.end());
    CHECK(map.empty());
}

TEST_CASE("member types and functions") {
    using map = point_map<int, std::string, std::greater<>>;
    static_assert(std::same_as<map::key_type, int> && std::same_as<map::mapped_type, std::string>);
    static_assert(std::same_as<map::value_type, std::pair<const int, std::string>>);
    static_assert(std::bidirectional_iterator<map::iterator>);
    static_assert(std::ranges::bidirectional_range<const map>);
    static_assert(std::ranges::common_range<const map> && std::ranges::view<map::view>);
    static_assert(std::is_nothrow_move_constructible_v<map> && std::is_nothrow_swappable_v<map>);
    static_assert(std::same_as<std::ranges::range_value_t<map>, map::value_type>);
    CHECK(map().key_comp()(2, 1));
    CHECK(map().value_comp()({2, ""}, {1, ""}));
    CHECK(map().max_size() > 1u << 30);
    CHECK(map().cbegin() == map::iterator());
    CHECK(map().crbegin() == map().crend());
    CHECK(map().native() != nullptr);
}

TEST_CASE("types from the entries, as of std::map") {
    const std::map<std::string, int> ages{{"ada", 36}, {"alan", 41}};
    const point_map copied(ages.begin(), ages.end());
    static_assert(std::is_same_v<decltype(copied), const point_map<std::string, int>>);
    CHECK(copied.at("alan") == 41);
    const point_map listed({std::pair{1u, 2.5}, std::pair{3u, 4.5}});
    static_assert(std::is_same_v<decltype(listed), const point_map<unsigned int, double>>);
    CHECK(listed.at(3) == 4.5);
}

TEST_CASE("keys at the ends of their types") {
    point_map<std::int64_t, int> m{{INT64_MIN, 1}, {-1, 2}, {0, 3}, {INT64_MAX, 4}};
    CHECK(m.begin()->first == INT64_MIN);
    CHECK(m.rbegin()->first == INT64_MAX);
    CHECK(m.upper_bound(INT64_MAX) == m.end());
    CHECK(m.lower_bound(INT64_MIN) == m.begin());
    CHECK(m.erase_range(INT64_MIN, INT64_MAX) == 3);
    CHECK(m.erase(m.begin(), m.end()) == m.end());
    CHECK(m.empty());
    point_map<bool, int> flags{{true, 1}, {false, 0}};
    CHECK(flags.begin()->first == false);
    point_map<colour, int> colours{{colour::blue, 1}, {colour::red, 2}, {colour::green, 3}};
    CHECK(colours.begin()->first == colour::red);
    CHECK(colours.rbegin()->first == colour::blue);
    point_map<std::string, int> texts{{"", 1}, {std::string("\0", 1), 2}, {"a", 3}};
    CHECK(texts.begin()->first.empty());
    CHECK(texts.find(std::string_view("a"))->second == 3); // no std::string is made
    point_map<std::string_view, int> views{{"beta", 2}, {"alpha", 1}};
    CHECK(views.begin()->first == "alpha");
    point_map<std::chrono::milliseconds, int> waits;
    waits[std::chrono::seconds(1)] = 1;
    CHECK(waits.contains(std::chrono::milliseconds(1000)));
}

TEST_CASE("places") {
    point_map<std::string, int> stock;
    CHECK((stock["apple"] == 0));
    CHECK(stock.size() == 1); // as std::map's
    stock["apple"] = 5;
    stock["apple"] += 2;
    --stock["apple"];
    ++stock["pear"];
    stock["plum"] -= 1;
    stock["bits"] |= 6;
    stock["bits"] &= 3;
    stock["copy"] = stock["apple"];
    CHECK(stock == point_map<std::string, int>{
                       {"apple", 6}, {"bits", 2}, {"copy", 6}, {"pear", 1}, {"plum", -1}});
    int apples = stock["apple"];
    CHECK(apples + stock["pear"] == 7);
    point_map<int, std::string> names;
    names[1] = "one";
    names[1] += " and more";
    CHECK((names[1] == "one and more"));
    std::swap(stock["apple"], stock["bits"]);
    CHECK((stock.at("apple") == 2 && std::exchange(stock["bits"], 9) == 6));
    CHECK((std::max(stock["bits"], stock["apple"]) == 9 && std::min(stock["bits"], 4) == 4));
    stock["bits"] = std::max(stock["bits"], 10);
    CHECK((stock.at("bits") == 10 && stock["bits"]++ == 10 && stock["bits"]-- == 11));
    names[2] = "two";
    CHECK((names[1] < names[2] && names[1] != names[2] && "two" == names[2]));
    CHECK((names[2] + names[2] == names[2] + "two"));
    point_map<int, const std::string> fixed{{1, "one"}};
    CHECK((fixed.at(1) == "one" && fixed.erase(1).take() == "one"));
}

TEST_CASE("update inserts, changes and erases in one step") {
    point_map<int, int> m;
    auto up = [](int n) { return n + 1; };
    CHECK(m.update(1, up).error == -ENOENT);
    CHECK(m.update(1, up, 10));
    CHECK(m.at(1) == 10);
    CHECK(m.update(1, up, 10));
    CHECK(m.at(1) == 11);
    auto none_at_12 = [](int n) { return n < 12 ? std::optional(n + 1) : std::nullopt; };
    CHECK(m.update(1, none_at_12));
    CHECK(m.at(1) == 12);
    CHECK(m.update(1, none_at_12));
    CHECK_FALSE(m.contains(1));
    point_map<int, std::optional<int>> maybe{{1, 5}}; // here an optional is the value
    CHECK(maybe.update(1, [](const auto&) { return std::optional<int>(); }));
    CHECK(maybe.contains(1));
}

TEST_CASE("values that only move") {
    point_map<int, std::unique_ptr<int>> m;
    CHECK(m.insert(1, std::make_unique<int>(5)));
    CHECK(m.try_emplace(2, new int(6)));
    std::vector<std::pair<int, std::unique_ptr<int>>> more;
    more.emplace_back(3, std::make_unique<int>(7));
    CHECK(m.insert(std::make_move_iterator(more.begin()), std::make_move_iterator(more.end())));
    int sum = 0;
    {
        read_section inside(m);
        for (int k = 1; k < 5; k++)
            if (auto p = m.find(inside, k))
                sum += **p;
    }
    CHECK(sum == 18);
    CHECK(**m.erase(1) == 5);
    auto taken = m.extract(2);
    CHECK(*taken.mapped() == 6);
    std::unique_ptr<int> out = m.erase(3).take();
    CHECK(*out == 7);
    CHECK(m.size() == 0);
}

TEST_CASE("ranks") {
    config how = default_config();
    how.flags = LATH_RANKS;
    point_map<int, int, std::greater<>> down(how);
    point_map<std::string, int, std::greater<>> words(how);
    for (int i = 0; i < 1000; i++) {
        CHECK(down.insert(i, i));
        CHECK(words.insert(std::to_string(1000 + i), i));
    }
    CHECK(down.rank(999) == 0);
    CHECK(down.rank(10) == 989);
    CHECK(down.select(0)->first == 999);
    CHECK(words.rank("1999") == 0);
    CHECK(words.rank("1010") == 989);
    CHECK(words.select(989)->first == "1010");
    CHECK_FALSE(words.select(1000));
    CHECK_FALSE(down.select(1000));
    CHECK(point_map<int, int>().rank(5) == -EINVAL);
    CHECK(point_map<std::string, int>().rank("") == -EINVAL);
}

TEST_CASE("memory of a std::pmr resource") {
    struct counting : std::pmr::memory_resource {
        std::size_t bytes = 0;
        void* do_allocate(std::size_t size, std::size_t align) override {
            if (size > 1u << 20)
                throw std::bad_alloc();
            bytes += size;
            return std::pmr::new_delete_resource()->allocate(size, align);
        }
        void do_deallocate(void* p, std::size_t size, std::size_t align) override {
            bytes -= size;
            std::pmr::new_delete_resource()->deallocate(p, size, align);
        }
        bool do_is_equal(const memory_resource& other) const noexcept override {
            return this == &other;
        }
    } resource;
    lath_allocator memory = memory_of(resource);
    config how = default_config();
    how.allocator = &memory;
    {
        point_map<std::string, std::string> m({{"one", "1"}}, how);
        m["two"] = "2";
        CHECK(resource.bytes > 0);
        point_map<std::string, std::string> copy(m); // from the same resource
        CHECK(copy.get_config().allocator == &memory);
    }
    CHECK(resource.bytes == 0);
    CHECK(memory.alloc(memory.ctx, 2u << 20, 8) == nullptr);
    CHECK(memory.alloc(memory.ctx, 8, 128) == nullptr);
}

TEST_CASE("a configuration that is refused") {
    config how = default_config();
    how.flags = ~0u;
    point_map<std::string, int> m(how);
    CHECK(m.error() == -EINVAL);
    CHECK(!m);
    CHECK(m.insert("a", 1).error == -EINVAL);
    CHECK(std::string(m.insert("a", 1).what()).size() > 5);
    CHECK(m.native() == nullptr);
    CHECK_THROWS_AS(m["a"] = 1, std::system_error);
    CHECK_THROWS_AS((point_map<int, int>({{1, 1}}, how)), std::system_error);
}

namespace {

// A value that lies in the leaf, of this many bytes.
template <std::size_t size>
struct record {
    std::array<std::uint32_t, size / 4> fields{};
    record() = default;
    explicit record(std::uint64_t n) {
        for (std::size_t i = 0; i < fields.size(); i++)
            fields[i] = static_cast<std::uint32_t>(n * (i + 1));
    }
    bool operator==(const record&) const = default;
};

template <typename V>
void keeps_records() {
    point_map<int, V> m;
    const int n = 3000;
    for (int i = 0; i < n; i++)
        CHECK(m.insert(i * 7 % n, V(i)));
    CHECK(m.insert(5, V(0)).error == -EEXIST);
    std::map<int, V> model;
    for (const auto& [key, v] : m)
        model.emplace(key, v);
    CHECK(model.size() == n);
    for (int i = 0; i < n; i++)
        CHECK(model.at(i * 7 % n) == V(i));
    CHECK(m.at(7) == V(1));
    CHECK(m.update(7, [](const V& v) { return V(v.fields[0] + 41); }));
    {
        read_section inside(m);
        CHECK(*m.find(inside, 7) == V(42));
    }
    CHECK(m.insert_or_assign(7, V(2)).old.take() == V(42));
    CHECK(*m.erase(7) == V(2));
    CHECK_FALSE(m.erase(7));
    const point_map<int, V> copy = m;
    CHECK(copy == m);
    CHECK(m.ceiling(7)->second == model.at(8));
    CHECK(m.floor(7)->second == model.at(6));
    CHECK(m.rbegin()->second == model.at(n - 1));
    std::array<int, 300> keys;
    std::array<std::optional<V>, 300> found;
    std::iota(keys.begin(), keys.end(), 0);
    CHECK(m.find_batch(keys, found) == 299);
    CHECK((!found[7] && found[299] == model.at(299)));
    std::vector<std::pair<int, V>> more;
    for (int i = 0; i < 600; i++)
        more.emplace_back(n + i, V(i));
    if constexpr (stored_in_leaf<V>)
        CHECK(m.insert_batch(more) == 600);
    else
        CHECK(m.insert(more.begin(), more.end()));
    CHECK(m.extract(n + 3).mapped() == V(3));
    CHECK(m.erase_if([](int key, const V&) { return key >= n; }) == 599);
    CHECK(m == copy);
    CHECK(m.verify() == 0);
}

} // namespace

TEST_CASE("values of up to 64 bytes in the leaves") {
    keeps_records<record<4>>();
    keeps_records<record<12>>();
    keeps_records<record<32>>();
    keeps_records<record<64>>();
    keeps_records<record<68>>(); // in boxes
    static_assert(stored_in_leaf<record<64>> && !stored_in_leaf<record<68>>);
}

namespace {

template <typename K, typename V, typename Compare>
void shown_in_place(point_map<K, V, Compare>& m, const std::vector<K>& keys) {
    read_section inside(m);
    std::size_t n = 0;
    for (const auto& [key, value] : m.in(inside)) {
        REQUIRE(n < keys.size());
        CHECK(key == keys[n]);
        if constexpr (std::is_pointer_v<decltype(m.find(inside, keys[n]))>)
            CHECK(std::addressof(value) == m.find(inside, keys[n]));
        n++;
    }
    CHECK(n == keys.size());
    n = 0;
    for (auto& [key, value] : m.in(inside, keys[5], keys[keys.size() - 3]))
        CHECK(key == keys[5 + n++]);
    CHECK(n == keys.size() - 8);
    CHECK(std::ranges::distance(m.in(inside, keys[3], keys[3])) == 0);
    CHECK(std::ranges::distance(m.in(inside, keys[4], keys[3])) == 0);
}

} // namespace

TEST_CASE("entries in place") {
    std::vector<int> numbers;
    std::vector<std::string> texts;
    point_map<int, int> words;
    point_map<int, std::unique_ptr<int>> owners;
    point_map<std::string, int> names;
    point_map<std::string, std::string, std::greater<>> last_first;
    const point_map<int, std::string> none;
    for (int i = 0; i < 300; i++) {
        numbers.push_back(i);
        texts.push_back(std::to_string(1000 + i) + " is longer than what a string has room for");
        CHECK(words.insert(i, i));
        CHECK(owners.insert(i, std::make_unique<int>(i)));
        CHECK(names.insert(texts[static_cast<std::size_t>(i)], i));
        CHECK(last_first.insert(texts[static_cast<std::size_t>(i)], "text"));
    }
    shown_in_place(words, numbers);
    shown_in_place(owners, numbers);
    shown_in_place(names, texts);
    std::ranges::reverse(texts);
    shown_in_place(last_first, texts);
    {
        read_section inside(owners);
        auto all = owners.in(inside);
        auto at = all.begin();
        owners.erase(0);
        owners.erase(100);
        CHECK(*at->second == 0); // stays to the end of the section
        CHECK(std::ranges::distance(owners.in(inside)) == 298);

        CHECK(std::ranges::distance(none.in(inside)) == 0);
    }
    const point_map<std::string, int> copy = names;
    CHECK(copy == names);
}
