// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Keys of many types: point_map orders them as std::map does, upward and downward.
#include "checks.hpp"
#include "lathwork/cxx/point_map.hpp"

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace lathwork;

namespace {

struct point {
    int x;
    std::int16_t y;
    auto operator<=>(const point&) const = default;
};
struct named {
    std::string name;
    point where;
    auto operator<=>(const named&) const = default;
};

std::mt19937 random_bits(1);
unsigned below(unsigned n) { return static_cast<unsigned>(random_bits() % n); }

// Few values of each type, among them those whose codes are near one another.
template <typename K>
struct some {
    static K key() {
        if constexpr (std::is_floating_point_v<K>) {
            static constexpr auto inf = std::numeric_limits<K>::infinity();
            return std::array<K, 7>{-inf, K(-1.5), K(-0.0), K(0), K(1e-40), K(2), inf}[below(7)];
        } else if constexpr (std::is_unsigned_v<K>) {
            return static_cast<K>(below(3) * 127);
        } else if constexpr (sizeof(K) == 16) {
            return static_cast<K>(static_cast<int>(below(7)) - 3) * (K{1} << 62) + below(3);
        } else {
            return static_cast<K>(static_cast<int>(below(7)) - 3);
        }
    }
};
template <typename C, typename T, typename A>
struct some<std::basic_string<C, T, A>> {
    static auto key() {
        std::basic_string<C, T, A> text;
        for (unsigned n = below(4); n > 0; n--)
            text += static_cast<C>("\0\1a\xff"[below(4)]);
        return text;
    }
};
template <typename T>
struct some<std::vector<T>> {
    static auto key() {
        std::vector<T> all(below(4));
        for (T& each : all)
            each = some<T>::key();
        return all;
    }
};
template <typename T>
struct some<std::optional<T>> {
    static std::optional<T> key() {
        return below(4) ? std::optional<T>(some<T>::key()) : std::nullopt;
    }
};
template <typename T, std::size_t N>
struct some<std::array<T, N>> {
    static auto key() {
        std::array<T, N> all{};
        for (T& each : all)
            each = below(N / 2) ? T{} : some<T>::key();
        return all;
    }
};
template <typename A, typename B>
struct some<std::pair<A, B>> {
    static std::pair<A, B> key() { return {some<A>::key(), some<B>::key()}; }
};
template <typename... T>
struct some<std::tuple<T...>> {
    static std::tuple<T...> key() { return {some<T>::key()...}; }
};
template <typename R, typename P>
struct some<std::chrono::duration<R, P>> {
    static auto key() { return std::chrono::duration<R, P>(some<R>::key()); }
};
template <>
struct some<std::filesystem::path> {
    static auto key() {
        std::filesystem::path path;
        if (below(2))
            path = "/";
        for (unsigned n = below(4); n > 0; n--)
            path /= std::array{"a", "a-", "a.b", "", "b"}[below(5)];
        return path;
    }
};
template <>
struct some<std::chrono::year_month_day> {
    static auto key() {
        return std::chrono::year(static_cast<int>(below(4)) - 1) / (1 + below(12)) /
               (1 + below(31));
    }
};
template <>
struct some<std::shared_ptr<int>> {
    static auto key() {
        static const std::array<std::shared_ptr<int>, 4> all{
            nullptr, std::make_shared<int>(), std::make_shared<int>(), std::make_shared<int>()};
        return all[below(4)];
    }
};
template <>
struct some<point> {
    static point key() { return {some<int>::key(), some<std::int16_t>::key()}; }
};
template <>
struct some<named> {
    static named key() { return {some<std::string>::key(), some<point>::key()}; }
};

template <typename At, typename There>
void same_place(const At& at, There there, There end) {
    REQUIRE(static_cast<bool>(at) == (there != end));
    if (at)
        REQUIRE((at->first == there->first && at->second == there->second));
}

template <typename K>
void ordered_as_in_a_map() {
    point_map<K, int> up;
    point_map<K, int, std::ranges::greater> down;
    std::map<K, int> model;
    for (int step = 0; step < 3000; step++) {
        const K key = some<K>::key(), other = some<K>::key();
        if (step % 3 == 0) {
            const auto gone = model.erase(key);
            REQUIRE((up.erase(key) == gone && down.erase(key) == gone));
        } else {
            model[key] = step;
            up[key] = step;
            down[key] = step;
        }
        same_place(up.lower_bound(other), model.lower_bound(other), model.end());
        same_place(down.lower_bound(other), std::reverse_iterator(model.upper_bound(other)),
                   model.rend());
    }
    REQUIRE((up.size() == model.size() && down.size() == model.size()));
    REQUIRE(std::equal(up.begin(), up.end(), model.begin(), model.end()));
    REQUIRE(std::equal(down.begin(), down.end(), model.rbegin(), model.rend()));
    REQUIRE((up.verify() == 0 && down.verify() == 0));
}

} // namespace

template <>
inline constexpr auto lathwork::key_members<point> = std::tuple(&point::x, &point::y);
template <>
inline constexpr auto lathwork::key_members<named> = std::tuple(&named::name, &named::where);

using text = std::string;
TEST_CASE_TEMPLATE("keys in their order", K, float, double, text, std::pmr::string, std::wstring,
                   std::filesystem::path, point, named, std::pair<int, text>, std::pair<text, int>,
                   std::tuple<int, int>, std::tuple<int, int, int>, std::tuple<text, text, int>,
                   std::pair<std::pair<int, int>, int>, std::optional<int>,
                   std::pair<std::optional<text>, text>, std::array<unsigned char, 16>,
                   std::array<unsigned char, 4>, std::vector<int>,
                   std::pair<std::vector<int>, std::vector<int>>, std::chrono::duration<double>,
                   std::chrono::year_month_day, std::shared_ptr<int>, __int128, unsigned __int128) {
    ordered_as_in_a_map<K>();
}

TEST_CASE("pointers, and what fits in a word") {
    const std::array<int, 2> there{};
    point_map<const int*, int> map{{&there[1], 1}, {&there[0], 0}};
    CHECK(map.begin()->first == &there[0]);
    static_assert(word_key<point> && word_key<std::pair<int, int>>);
    static_assert(!word_key<std::pair<std::uint64_t, int>> && !word_key<named>);
}
