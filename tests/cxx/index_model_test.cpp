// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// range_map and point_map against a std::map that does the same, on random tapes.
#include "checks.hpp"
#include "lathwork/cxx/index.hpp"
#include "lathwork/cxx/point_map.hpp"
#include "walk.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <vector>

using namespace lathwork;

namespace {

template <typename T>
class model {
public:
    struct part {
        std::uint64_t size;
        T value;
    };
    std::map<std::uint64_t, part> parts;
    using position = typename std::map<std::uint64_t, part>::iterator;

    position covering(std::uint64_t point) {
        auto it = parts.upper_bound(point);
        if (it == parts.begin())
            return parts.end();
        --it;
        return point - it->first < it->second.size ? it : parts.end();
    }
    position overlapping(range r) {
        auto it = covering(r.key);
        if (it != parts.end())
            return it;
        it = parts.lower_bound(r.key);
        return it != parts.end() && it->first <= r.last() ? it : parts.end();
    }
    int insert(range r, const T& value) {
        if (r.size == 0 || r.key + (r.size - 1) < r.key)
            return -EINVAL;
        if (overlapping(r) != parts.end())
            return -EEXIST;
        parts[r.key] = {r.size, value};
        return 0;
    }
    int split(std::uint64_t at, const T& value) {
        auto it = covering(at);
        if (it == parts.end())
            return -ENOENT;
        if (it->first == at)
            return -EEXIST;
        parts[at] = {it->first + it->second.size - at, value};
        it->second.size = at - it->first;
        return 0;
    }
    std::int64_t erase_range(range r) {
        std::int64_t n = 0;
        for (auto it = overlapping(r); it != parts.end(); it = overlapping(r), n++)
            parts.erase(it);
        return n;
    }
    void store(range r, const T& value) {
        for (std::uint64_t edge : {r.key, r.key + r.size}) {
            auto it = covering(edge);
            if (it != parts.end())
                split(edge, T(it->second.value));
        }
        erase_range(r);
        parts[r.key] = {r.size, value};
    }
};

template <typename T>
T value_of(std::uint64_t n);
template <>
std::uint32_t value_of(std::uint64_t n) {
    return static_cast<std::uint32_t>(n);
}
// One that lies in the leaf, in several words.
struct record {
    std::uint64_t number;
    std::array<std::uint32_t, 5> more;
    bool operator==(const record&) const = default;
};
template <>
record value_of(std::uint64_t n) {
    const auto low = static_cast<std::uint32_t>(n);
    return {n, {low, low * 3, low * 5, low * 7, low * 11}};
}
template <>
std::string value_of(std::uint64_t n) {
    return std::to_string(n) + " a text beyond any small buffer";
}

template <typename T>
void check_all(const range_map<T>& map, model<T>& m) {
    REQUIRE(map.size() == m.parts.size());
    auto it = m.parts.begin();
    for (auto [where, value] : map) {
        REQUIRE(it != m.parts.end());
        REQUIRE(where == range::sized(it->first, it->second.size));
        REQUIRE(value == it->second.value);
        ++it;
    }
    REQUIRE(it == m.parts.end());
    auto back = m.parts.rbegin();
    for (auto [where, value] : map | std::views::reverse)
        REQUIRE(where.key == (back++)->first);
    REQUIRE(back == m.parts.rend());
    REQUIRE(map.verify() == 0);
}

template <typename T>
void check_near(const range_map<T>& map, model<T>& m, range r, std::mt19937_64& random) {
    auto it = m.covering(r.key);
    auto found = map.find(r.key);
    REQUIRE(found.has_value() == (it != m.parts.end()));
    if (found)
        REQUIRE(*found == it->second.value);
    auto above = m.parts.lower_bound(r.key);
    auto ceiling = map.ceiling(r.key);
    REQUIRE(ceiling.has_value() == (above != m.parts.end()));
    if (ceiling)
        REQUIRE(ceiling->where.key == above->first);
    auto below = m.parts.upper_bound(r.key);
    auto floor = map.floor(r.key);
    REQUIRE(floor.has_value() == (below != m.parts.begin()));
    if (floor)
        REQUIRE(floor->where.key == std::prev(below)->first);
    it = m.overlapping(r);
    for (auto [where, value] : map.overlapping(r)) {
        REQUIRE(it != m.parts.end());
        REQUIRE(where.key == it->first);
        ++it;
    }
    REQUIRE((it == m.parts.end() || it->first > r.last()));
    std::vector<std::uint64_t> keys;
    for (it = m.overlapping(r); it != m.parts.end() && it->first <= r.last(); ++it)
        keys.push_back(it->first);
    walk_at_random(map.overlapping(r), keys, random, [](auto& at) { return at->where.key; });
}

template <typename T>
void run_tape(unsigned seed, std::uint64_t space, int steps) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    range_map<T> map;
    model<T> m;
    auto pick = [&](std::uint64_t below) { return random() % below; };
    for (int step = 0; step < steps; step++) {
        CAPTURE(step);
        range r = range::sized(pick(space), 1 + pick(12));
        T value = value_of<T>(static_cast<std::uint64_t>(step));
        switch (pick(16)) {
        case 0:
            REQUIRE(map.split(r.key, value).error == m.split(r.key, value));
            break;
        case 1:
            REQUIRE(map.remove_overlapping(r) == static_cast<std::uint64_t>(m.erase_range(r)));
            break;
        case 2: {
            auto it = m.covering(r.key);
            REQUIRE(map.remove_covering(r.key).has_value() == (it != m.parts.end()));
            if (it != m.parts.end())
                m.parts.erase(it);
            break;
        }
        case 3: {
            auto it = m.parts.find(r.key);
            REQUIRE(map.replace(r.key, value).error == (it == m.parts.end() ? -ENOENT : 0));
            if (it != m.parts.end())
                it->second.value = value;
            break;
        }
        case 4:
        case 5:
            REQUIRE(map.remove_starting(r.key).has_value() == (m.parts.erase(r.key) == 1));
            break;
        case 6:
            if constexpr (stored_directly<T>) {
                REQUIRE(map.insert_or_assign(r.first(), r.end(), value));
                m.store(r, value);
            }
            break;
        default:
            REQUIRE(map.insert(r, value).error == m.insert(r, value));
        }
        check_near(map, m, range::sized(pick(space), 1 + pick(40)), random);
        if (step % 1000 == 999)
            check_all(map, m);
    }
    check_all(map, m);
}

template <typename T>
void check_points(const point_map<std::uint64_t, T>& map, const std::map<std::uint64_t, T>& m) {
    REQUIRE(map.size() == m.size());
    auto it = m.begin();
    for (auto [key, value] : map) {
        REQUIRE(it != m.end());
        REQUIRE(key == it->first);
        REQUIRE(value == it->second);
        ++it;
    }
    REQUIRE(it == m.end());
    REQUIRE(map.verify() == 0);
}

template <typename T>
void run_point_tape(unsigned seed, std::uint64_t space, int steps) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    point_map<std::uint64_t, T> map;
    std::map<std::uint64_t, T> m;
    for (int step = 0; step < steps; step++) {
        CAPTURE(step);
        std::uint64_t key = random() % space;
        T value = value_of<T>(static_cast<std::uint64_t>(step));
        switch (random() % 8) {
        case 0:
            REQUIRE(map.insert_or_assign(key, value).second ==
                    m.insert_or_assign(key, value).second);
            break;
        case 1: {
            auto it = m.find(key);
            REQUIRE(map.replace(key, value).error == (it == m.end() ? -ENOENT : 0));
            if (it != m.end())
                it->second = value;
            break;
        }
        case 2:
            REQUIRE(map.erase(key).has_value() == (m.erase(key) == 1));
            break;
        case 3: {
            auto from = m.lower_bound(key), to = m.lower_bound(key + 4);
            REQUIRE(map.erase_range(key, key + 4) ==
                    static_cast<std::uint64_t>(std::distance(from, to)));
            m.erase(from, to);
            break;
        }
        default:
            REQUIRE(map.insert(key, value).error == (m.emplace(key, value).second ? 0 : -EEXIST));
        }
        key = random() % space;
        auto found = m.find(key), above = m.upper_bound(key);
        auto at = map.find(key);
        REQUIRE((at == map.end()) == (found == m.end()));
        if (at)
            REQUIRE(at->second == found->second);
        auto it = map.upper_bound(key);
        REQUIRE((it == map.end()) == (above == m.end()));
        if (above != m.end())
            REQUIRE(it->first == above->first);
        if (step % 1000 == 999)
            check_points(map, m);
    }
}

} // namespace

TEST_CASE("tapes of numbers") {
    for (unsigned seed = 1; seed <= 4; seed++)
        run_tape<std::uint32_t>(seed, 100 * (1 << (3 * seed)), 8000);
}

TEST_CASE("tapes of records") {
    for (unsigned seed = 1; seed <= 2; seed++)
        run_tape<record>(seed, 20000, 6000);
    run_point_tape<record>(4, 2000, 5000);
}

TEST_CASE("tapes of texts") {
    for (unsigned seed = 1; seed <= 2; seed++)
        run_tape<std::string>(seed, 20000, 6000);
}

TEST_CASE("tapes of points") {
    run_point_tape<std::uint32_t>(1, 1000, 6000);
    run_point_tape<std::uint32_t>(2, 20000, 12000);
    run_point_tape<std::string>(3, 2000, 5000);
}
