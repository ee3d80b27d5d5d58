// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/detail/map_place.hpp - what map[key] of a point_map is.
//
// point_map.hpp includes it; a program has no reason to do so itself.
//
//   map[1] += 5; // one step
//   int five = map[1];
//
// Errors: std::bad_alloc without memory; where exceptions are off they abort.
#ifndef LATHWORK_CXX_DETAIL_MAP_PLACE_HPP
#define LATHWORK_CXX_DETAIL_MAP_PLACE_HPP

#include "lathwork/cxx/items.hpp"

#include <compare>
#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace lathwork::detail {

// Where the value of a key is, or belongs: what map[key] returns. It is used at once: one that is
// kept, `auto x = map[key]`, has no use that compiles.
template <typename Map>
class map_place {
    using K = typename Map::key_type;
    using V = typename Map::mapped_type;
    template <typename T>
    static constexpr bool another = !std::same_as<std::remove_cvref_t<T>, map_place>;

public:
    map_place(const map_place&) = delete;
    // A copy of the value; V() is inserted if the key is not there. A reference into the map does
    // not exist: other threads may erase the key at any time.
    operator V() && { return read(); } // NOLINT(google-explicit-constructor): as a V& is one
    explicit operator bool() && requires(std::is_class_v<V>&& std::constructible_from<bool, V>) {
        return static_cast<bool>(read());
    } const V get() && {
        return read();
    } // NOLINT(readability-const-return-type)
    V operator->() && { return read(); }
    decltype(auto) operator*() &&
        requires requires(V v) { *v; }
    {
        return *read();
    }
    template <typename... Args>
        requires std::invocable<const V&, Args...>
    decltype(auto) operator()(Args&&... args) && {
        const V fn = read();
        return std::invoke(fn, std::forward<Args>(args)...);
    }
    // These throw std::bad_alloc without memory.
    map_place&& operator=(V value) && {
        must(map_.insert_or_assign(key_, std::move(value)));
        return std::move(*this);
    }
    map_place&& operator=(map_place&& other) && { return std::move(*this) = other.read(); }
    ~map_place() = default;
    // One step each: of several threads that add, none is lost. A key that is not there has V().
    map_place&& operator+=(const auto& by) && { return change(std::plus<>(), by); }
    map_place&& operator-=(const auto& by) && { return change(std::minus<>(), by); }
    map_place&& operator|=(const auto& by) && { return change(std::bit_or<>(), by); }
    map_place&& operator&=(const auto& by) && { return change(std::bit_and<>(), by); }
    map_place&& operator^=(const auto& by) && { return change(std::bit_xor<>(), by); }
    map_place&& operator*=(const auto& by) && { return change(std::multiplies<>(), by); }
    map_place&& operator/=(const auto& by) && { return change(std::divides<>(), by); }
    map_place&& operator%=(const auto& by) && { return change(std::modulus<>(), by); }
    map_place&& operator<<=(const auto& by) && {
        return change([](const V& v, const auto& n) { return v << n; }, by);
    }
    map_place&& operator>>=(const auto& by) && {
        return change([](const V& v, const auto& n) { return v >> n; }, by);
    }
    map_place&& operator++() &&
        requires requires(V v) { v + 1; }
    {
        return change(std::plus<>(), 1);
    }
    map_place&& operator--() &&
        requires requires(V v) { v - 1; }
    {
        return change(std::minus<>(), 1);
    }
    // These return the value before the step.
    V operator++(int) &&
        requires requires(V v) { v + 1; }
    {
        return before([](const V& v) { return static_cast<V>(v + 1); });
    }
    V operator--(int) &&
        requires requires(V v) { v - 1; }
    {
        return before([](const V& v) { return static_cast<V>(v - 1); });
    }
    friend bool operator==(map_place&& a, map_place&& b) { return a.read() == b.read(); }
    template <typename U>
        requires(another<U> && !std::is_arithmetic_v<V>)
    friend bool operator==(map_place&& a, const U& b) {
        return a.read() == b;
    }
    friend auto operator<=>(map_place&& a, map_place&& b)
        requires std::three_way_comparable<V>
    {
        return a.read() <=> b.read();
    }
    template <typename U>
        requires(another<U> && !std::is_arithmetic_v<V>)
    friend auto operator<=>(map_place&& a, const U& b) -> decltype(std::declval<V>() <=> b) {
        return a.read() <=> b;
    }
    // Of texts and the like; numbers convert.
    template <typename U>
        requires(std::is_class_v<V>)
    friend V operator+(map_place&& a, U&& b) {
        if constexpr (another<U>)
            return a.read() + std::forward<U>(b);
        else
            return a.read() + b.read();
    }
    friend void swap(map_place&& a, map_place&& b) {
        V was = a.read();
        std::move(a) = b.read();
        std::move(b) = std::move(was);
    }
    template <typename Out>
    friend auto operator<<(Out& out, map_place&& at) -> decltype(out << std::declval<const V&>()) {
        return out << at.read();
    }
    template <typename In>
    friend auto operator>>(In& in, map_place&& at) -> decltype(in >> std::declval<V&>()) {
        V value = at.read();
        in >> value;
        std::move(at) = std::move(value);
        return in;
    }

private:
    friend Map;
    map_place(Map& map, K&& key) : map_(map), key_(std::move(key)) {}
    V read() const {
        auto in = map_.try_emplace(key_);
        if (in.error != -EEXIST)
            must(in);
        return in.first->second;
    }
    map_place&& change(auto op, const auto& by) {
        auto fn = [&](const V& v) { return static_cast<V>(op(v, by)); };
        must(map_.update(key_, fn, fn(V())));
        return std::move(*this);
    }
    // The value before fn changed it. With the key absent, fn(V()) is inserted.
    template <typename Fn>
    V before(Fn fn) {
        std::optional<V> old;
        auto change = [&](const V& v) { return fn(old.emplace(v)); };
        auto absent = [&](auto& to) { return Map::make(to, key_, change(V())); };
        must(map_.update_entry(key_, change, absent, -ENOMEM));
        return *std::move(old);
    }
    Map& map_;
    K key_;
};

} // namespace lathwork::detail

#endif // LATHWORK_CXX_DETAIL_MAP_PLACE_HPP
