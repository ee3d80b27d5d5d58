// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/items.hpp - what the containers of index.hpp and point_map.hpp show and keep:
// ranges, entries, results; values in the index itself or in boxes.
//
// index.hpp includes it; a program has no reason to do so itself.
//
//   lathwork::range where = lathwork::range::between(4096, 8192); // [4096, 8192)
//   if (where.contains(5000) && where.last() == 8191)
//       use(where.key, where.size);
//
// Errors: insert_result has 0 or a negative errno, as the calls of index.hpp say.
#ifndef LATHWORK_CXX_ITEMS_HPP
#define LATHWORK_CXX_ITEMS_HPP

#if __cplusplus <= 201703L
#error "lathwork/cxx needs C++20: compile with -std=c++20"
#endif

#include "lathwork/cxx/removed.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

namespace lathwork {

using config = lath_config;
using stats = lath_index_stats;

// The defaults: ranges, memory from anonymous pages, threads register by themselves.
inline config default_config() { return LATH_CONFIG_INIT; }

// [key, key + size). size 0 is no range; key + size may be 2^64 and no more.
struct range {
    std::uint64_t key = 0;
    std::uint64_t size = 0;

    // [first, end)
    static constexpr range between(std::uint64_t first, std::uint64_t end) {
        return {first, end > first ? end - first : 0};
    }

    constexpr std::uint64_t last() const { return key + (size - 1); }
    constexpr bool contains(std::uint64_t point) const { return point - key < size; }
    constexpr bool overlaps(const range& other) const {
        return contains(other.key) || other.contains(key);
    }
    friend constexpr bool operator==(const range&, const range&) = default;
};

// What a range_map shows: `auto [where, value] = ...`
template <typename T>
struct entry {
    range where;
    T value;
};

// What a point_map shows: `auto [key, value] = ...`
template <typename T>
struct point_entry {
    std::uint64_t key;
    T value;
};

// What insert did. there: on -EEXIST one range that is in the way.
struct insert_result {
    int error = 0;
    range there{};
    explicit operator bool() const { return error == 0; }
};

template <typename T>
concept stored_directly = std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t);

namespace detail {

// Where an entry of a map lies, as its user says it: a range, or a key alone.
template <typename T>
struct at_range {
    using entry_type = entry<T>;
    using shown_as = range;
    static range of(const lath_item& item) { return {item.key, item.size}; }
    static range extent(const entry_type& e) { return e.where; }
};

template <typename T>
struct at_point {
    using entry_type = point_entry<T>;
    using shown_as = std::uint64_t;
    static std::uint64_t of(const lath_item& item) { return item.key; }
    static range extent(const entry_type& e) { return {e.key, 1}; }
};

// How an item of the index becomes what a container shows. chunk: items read ahead by an iterator.
template <typename T, typename Place>
struct direct_items {
    using place = Place;
    using shown = typename Place::entry_type;
    using value_type = shown;
    using reference = shown;
    using result = std::optional<shown>;
    static constexpr std::size_t chunk = 16;
    static std::uint64_t pack(const T& value) {
        std::uint64_t word = 0;
        std::memcpy(&word, &value, sizeof value);
        return word;
    }
    static T unpack(std::uint64_t word) {
        std::array<unsigned char, sizeof(T)> bytes;
        std::memcpy(bytes.data(), &word, sizeof(T));
        return std::bit_cast<T>(bytes);
    }
    static shown show(const lath_item& item) { return {Place::of(item), unpack(item.value)}; }
    static reference give(const shown& e) { return e; }
};

template <typename T, typename Place>
struct boxed_items {
    using place = Place;
    using shown = typename Place::entry_type;
    using value_type = shown;
    using reference = shown;
    using result = std::optional<shown>;
    static constexpr std::size_t chunk = 1; // copied inside the reader that found it
    static box<T>* of(std::uint64_t word) {
        return reinterpret_cast<box<T>*>(static_cast<std::uintptr_t>(word));
    }
    static std::uint64_t word(box<T>* b) { return reinterpret_cast<std::uintptr_t>(b); }
    static shown show(const lath_item& item) { return {Place::of(item), of(item.value)->value}; }
    static reference give(const shown& e) { return e; }
};

struct bare_items {
    using shown = range;
    using value_type = range;
    using reference = range;
    using result = std::optional<range>;
    static constexpr std::size_t chunk = 16;
    static shown show(const lath_item& item) { return {item.key, item.size}; }
    static reference give(const shown& r) { return r; }
};

template <typename T, lath_slot T::* Slot>
struct slot_items {
    using shown = T*;
    using value_type = T;
    using reference = T&;
    using result = T*;
    static constexpr std::size_t chunk = 1; // an object erased behind us is never shown
    static T* of(std::uint64_t word) {
        return reinterpret_cast<T*>(static_cast<std::uintptr_t>(word));
    }
    static std::uint64_t word(T* object) { return reinterpret_cast<std::uintptr_t>(object); }
    static shown show(const lath_item& item) { return of(item.value); }
    static reference give(shown object) { return *object; }
};

} // namespace detail

} // namespace lathwork

#endif // LATHWORK_CXX_ITEMS_HPP
