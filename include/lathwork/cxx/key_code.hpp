// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/key_code.hpp - keys of a point_map as codes whose order is that of the keys.
//
// A code is a 64-bit number, or bytes that are ordered as memcmp() orders them. Keys that have one:
// integers, enumerations, floating-point numbers (NaNs are equal, and last) and pointers of up to
// 64 bits; integers of 128; durations, time points and dates; std::shared_ptr; strings, vectors,
// std::filesystem::path; and std::pair, std::tuple, std::array and std::optional of all that have one. A type of the program's
// has one as its members in this order:
//
//   struct version { std::uint16_t major, minor; };
//
//   template <>
//   inline constexpr auto lathwork::key_members<version> =
//       std::tuple(&version::major, &version::minor);
//
// or by a specialisation:
//
//   template <>
//   struct lathwork::key_code<version> {
//       static std::uint64_t encode(version v) { return v.major << 16 | v.minor; }
//       static version decode(std::uint64_t code) {
//           return {static_cast<std::uint16_t>(code >> 16), static_cast<std::uint16_t>(code)};
//       }
//       static constexpr unsigned bits = 32; // optional: codes are below 2^32
//   };
//
// encode() may return bytes instead: a std::string_view of what the key has, or a type with data()
// and size() that can be made without arguments; there is no decode() then. Equal keys have equal
// codes, and decode(encode(key)) is equal to the key.
//
// A std::string_view as a key is kept as a view: its bytes stay the program's, who keeps them as
// they are until a grace period after the key has left the map.
//
// Errors: a type without a code is a compile error that says so.
#ifndef LATHWORK_CXX_KEY_CODE_HPP
#define LATHWORK_CXX_KEY_CODE_HPP

#if __cplusplus <= 201703L
#error "lathwork/cxx needs C++20: compile with -std=c++20"
#endif

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace lathwork {

template <typename K>
struct key_code;

// Whether a type can be a key.
template <typename K>
concept map_key = requires(const K& key) { key_code<K>::encode(key); };

template <typename K>
concept word_key =
    map_key<K> &&
    std::same_as<decltype(key_code<K>::encode(std::declval<const K&>())), std::uint64_t>;

template <typename K>
    requires std::integral<K> && (sizeof(K) <= sizeof(std::uint64_t))
struct key_code<K> {
    // Signed numbers: the distance from the lowest one.
    static constexpr auto lowest = static_cast<std::uint64_t>(std::numeric_limits<K>::min());
    static constexpr unsigned bits = std::same_as<K, bool> ? 1 : 8 * sizeof(K);
    static constexpr std::uint64_t encode(K key) {
        return static_cast<std::uint64_t>(key) - lowest;
    }
    static constexpr K decode(std::uint64_t code) { return static_cast<K>(code + lowest); }
};

template <typename K>
    requires std::is_enum_v<K>
struct key_code<K> {
    using number = std::underlying_type_t<K>;
    static constexpr unsigned bits = key_code<number>::bits;
    static constexpr std::uint64_t encode(K key) {
        return key_code<number>::encode(static_cast<number>(key));
    }
    static constexpr K decode(std::uint64_t code) {
        return static_cast<K>(key_code<number>::decode(code));
    }
};

template <word_key Rep, typename Period>
struct key_code<std::chrono::duration<Rep, Period>> {
    using key = std::chrono::duration<Rep, Period>;
    static constexpr unsigned bits = key_code<Rep>::bits;
    static constexpr std::uint64_t encode(key k) { return key_code<Rep>::encode(k.count()); }
    static constexpr key decode(std::uint64_t code) { return key(key_code<Rep>::decode(code)); }
};

template <typename Clock, word_key Duration>
struct key_code<std::chrono::time_point<Clock, Duration>> {
    using key = std::chrono::time_point<Clock, Duration>;
    static constexpr unsigned bits = key_code<Duration>::bits;
    static constexpr std::uint64_t encode(key k) {
        return key_code<Duration>::encode(k.time_since_epoch());
    }
    static constexpr key decode(std::uint64_t code) {
        return key(key_code<Duration>::decode(code));
    }
};

template <typename K>
    requires(std::floating_point<K> && sizeof(K) <= sizeof(std::uint64_t))
struct key_code<K> {
    using number = std::conditional_t<sizeof(K) == 4, std::uint32_t, std::uint64_t>;
    static constexpr unsigned bits = 8 * sizeof(K);
    static constexpr number sign = number{1} << (bits - 1);
    static constexpr std::uint64_t encode(K key) {
        if (!(key <= std::numeric_limits<K>::infinity())) // NaN
            return static_cast<number>(-1);
        const auto word = std::bit_cast<number>(key + K{0}); // not -0.0
        return word & sign ? static_cast<number>(~word) : word | sign;
    }
    static constexpr K decode(std::uint64_t code) {
        const auto word = static_cast<number>(code);
        return std::bit_cast<K>(static_cast<number>(word & sign ? word ^ sign : ~word));
    }
};

template <typename K>
    requires std::is_pointer_v<K>
struct key_code<K> {
    static std::uint64_t encode(const std::remove_pointer_t<K>* key) {
        return reinterpret_cast<std::uintptr_t>(key);
    }
    static K decode(std::uint64_t code) { return reinterpret_cast<K>(code); }
};

template <>
struct key_code<std::chrono::year_month_day> {
    using key = std::chrono::year_month_day;
    static constexpr unsigned bits = 32;
    static constexpr std::uint64_t encode(const key& k) {
        return static_cast<std::uint64_t>(int{k.year()} + 32768) << 16 | unsigned{k.month()} << 8 |
               unsigned{k.day()};
    }
    static constexpr key decode(std::uint64_t code) {
        const auto low = static_cast<unsigned>(code);
        return {std::chrono::year(static_cast<int>(low >> 16) - 32768),
                std::chrono::month(low >> 8 & 255), std::chrono::day(low & 255)};
    }
};

// The members of a type that make its order, as a tuple of pointers to them.
template <typename K>
inline constexpr auto key_members = nullptr;

namespace detail {

template <typename K>
inline constexpr unsigned code_bits = 64;
template <typename K>
    requires requires { key_code<K>::bits; }
inline constexpr unsigned code_bits<K> = key_code<K>::bits;

// The parts of a key, as a tuple of references.
template <typename K>
constexpr auto parts_of(K& key) {
    using type = std::remove_const_t<K>;
    if constexpr (!std::is_null_pointer_v<std::remove_cvref_t<decltype(key_members<type>)>>)
        return std::apply([&](auto... member) { return std::tie(key.*member...); },
                          key_members<type>);
    else if constexpr (requires { std::tuple_size<type>::value; })
        return std::apply([](auto&... part) { return std::tie(part...); }, key);
    else
        return nullptr;
}
// What `Each` says of each part.
template <typename Parts>
struct all_parts {
    static constexpr bool any = false, words = false;
    static constexpr unsigned bits = 0, bytes = 0;
};
template <typename... Part>
struct all_parts<std::tuple<Part&...>> {
    static constexpr bool any = (map_key<std::remove_const_t<Part>> && ...);
    static constexpr bool words = (word_key<std::remove_const_t<Part>> && ...);
    static constexpr unsigned bits = (code_bits<std::remove_const_t<Part>> + ... + 0);
    static constexpr unsigned bytes = (((code_bits<std::remove_const_t<Part>> + 7) / 8) + ... + 0);
};
template <typename K>
using parts = all_parts<decltype(parts_of(std::declval<const K&>()))>;

// The number of `bytes` bytes, the highest first.
constexpr void put_number(auto to, std::uint64_t code, unsigned bytes) {
    for (unsigned i = bytes; i > 0; i--)
        *to++ = static_cast<char>(code >> (8 * (i - 1)));
}
// Bytes so that what has less of them comes first, whatever follows: an end, and zeros that are
// none.
inline void put_bytes(std::string& to, std::string_view bytes, bool last) {
    if (last) {
        to += bytes;
        return;
    }
    for (char byte : bytes) {
        to += byte;
        if (!byte)
            to += '\xff';
    }
    to.append(2, '\0');
}
template <typename K>
void put_part(std::string& to, const K& key, bool last) {
    if constexpr (word_key<K>)
        put_number(std::back_inserter(to), key_code<K>::encode(key), (code_bits<K> + 7) / 8);
    else if constexpr (requires { key_code<K>::put(to, key, last); })
        key_code<K>::put(to, key, last);
    else
        put_bytes(to, {std::data(key_code<K>::encode(key)), std::size(key_code<K>::encode(key))},
                  last);
}
// An element that is there: 1; their end: 0.
template <typename T>
void put_elements(std::string& to, const auto& range) {
    for (const auto& element : range) {
        to += '\1';
        put_part<T>(to, element, false);
    }
    to += '\0';
}
// For a key_code that has put().
template <typename K>
struct bytes_by_put {
    static std::string encode(const K& key) {
        std::string code;
        key_code<K>::put(code, key, true);
        return code;
    }
};

} // namespace detail

// One word if all parts are words and fit, else bytes: of a fixed number if all are words.
template <typename K>
    requires(detail::parts<K>::any)
struct key_code<K> {
    using parts = detail::parts<K>;
    static constexpr unsigned bits = parts::bits;
    static constexpr auto encode(const K& key) {
        return std::apply(
            [&](const auto&... part) {
                if constexpr (parts::words && bits <= 64) {
                    std::uint64_t code = 0;
                    ((code = shifted<decltype(part)>(code) | code_of(part)), ...);
                    return code;
                } else if constexpr (parts::words) {
                    std::array<char, parts::bytes> code{};
                    auto to = code.begin();
                    ((detail::put_number(to, code_of(part), bytes<decltype(part)>),
                      to += bytes<decltype(part)>),
                     ...);
                    return code;
                } else {
                    std::string code;
                    put(code, key, true);
                    return code;
                }
            },
            detail::parts_of(key));
    }
    static constexpr K decode(std::uint64_t code)
        requires(parts::words && bits <= 64)
    {
        K key{};
        unsigned left = bits;
        std::apply([&](auto&... part) { ((part = next<decltype(part)>(code, left)), ...); },
                   detail::parts_of(key));
        return key;
    }
    static void put(std::string& to, const K& key, bool last) {
        std::size_t left = std::tuple_size_v<decltype(detail::parts_of(key))>;
        std::apply(
            [&](const auto&... part) { (detail::put_part(to, part, --left == 0 && last), ...); },
            detail::parts_of(key));
    }

private:
    template <typename Part>
    static constexpr unsigned bits_of = detail::code_bits<std::remove_cvref_t<Part>>;
    template <typename Part>
    static constexpr unsigned bytes = (bits_of<Part> + 7) / 8;
    template <typename Part>
    static constexpr std::uint64_t shifted(std::uint64_t code) {
        return bits_of<Part> == 64 ? 0 : code << bits_of<Part>;
    }
    template <typename Part>
    static constexpr std::uint64_t code_of(const Part& part) {
        return key_code<Part>::encode(part);
    }
    template <typename Part>
    static constexpr std::remove_cvref_t<Part> next(std::uint64_t code, unsigned& left) {
        left -= bits_of<Part>;
        return key_code<std::remove_cvref_t<Part>>::decode(
            code >> left & (~std::uint64_t{0} >> (64 - bits_of<Part>)));
    }
};

// Integers of 128 bits: both halves.
template <typename K>
    requires(sizeof(K) == 16 && !std::is_class_v<K> && requires(K key) { key % 2; })
struct key_code<K> {
    using high = std::conditional_t<(K(-1) < K(0)), std::int64_t, std::uint64_t>;
    static constexpr auto encode(K key) {
        return key_code<std::pair<high, std::uint64_t>>::encode(
            {static_cast<high>(key >> 64), static_cast<std::uint64_t>(key)});
    }
};

// By their addresses.
template <typename T>
struct key_code<std::shared_ptr<T>> {
    static auto encode(const std::shared_ptr<T>& key) {
        std::array<char, 8> code;
        detail::put_number(code.begin(), reinterpret_cast<std::uintptr_t>(key.get()), 8);
        return code;
    }
};

// Without a value: first.
template <map_key T>
struct key_code<std::optional<T>> : detail::bytes_by_put<std::optional<T>> {
    static void put(std::string& to, const std::optional<T>& key, bool last) {
        to += key ? '\1' : '\0';
        if (key)
            detail::put_part(to, *key, last);
    }
};

template <typename Traits, typename Allocator>
struct key_code<std::basic_string<char, Traits, Allocator>> {
    using view = std::string_view; // what calls take in place of a key
    static std::string_view encode(std::string_view key) { return key; }
};

template <>
struct key_code<std::string_view> {
    static std::string_view encode(std::string_view key) { return key; }
};

template <map_key T, typename Allocator>
struct key_code<std::vector<T, Allocator>> : detail::bytes_by_put<std::vector<T, Allocator>> {
    static void put(std::string& to, const std::vector<T, Allocator>& key, bool /*last*/) {
        detail::put_elements<T>(to, key);
    }
};
template <map_key C, typename Traits, typename Allocator>
    requires(!std::same_as<C, char>)
struct key_code<std::basic_string<C, Traits, Allocator>>
    : detail::bytes_by_put<std::basic_string<C, Traits, Allocator>> {
    static void put(std::string& to, const std::basic_string<C, Traits, Allocator>& key,
                    bool /*last*/) {
        detail::put_elements<C>(to, key);
    }
};

// std::filesystem::path: by its elements, as paths are ordered.
template <typename Path>
    requires requires(const Path& key) { key.root_name().native(), key.relative_path(); }
struct key_code<Path> : detail::bytes_by_put<Path> {
    static void put(std::string& to, const Path& key, bool /*last*/) {
        detail::put_bytes(to, key.root_name().native(), false);
        to += key.has_root_directory() ? '\1' : '\0';
        detail::put_elements<std::string>(to, elements(key.relative_path()));
    }

private:
    static std::vector<std::string> elements(const Path& of) { return {of.begin(), of.end()}; }
};

namespace detail {

template <typename K>
struct looked_up {
    using type = const K&;
};
template <typename K>
    requires requires { typename key_code<K>::view; }
struct looked_up<K> {
    using type = typename key_code<K>::view;
};

template <typename Compare, typename K>
inline constexpr bool ascending =
    std::same_as<Compare, std::less<K>> || std::same_as<Compare, std::less<>> ||
    std::same_as<Compare, std::ranges::less>;
template <typename Compare, typename K>
inline constexpr bool descending =
    std::same_as<Compare, std::greater<K>> || std::same_as<Compare, std::greater<>> ||
    std::same_as<Compare, std::ranges::greater>;

} // namespace detail

} // namespace lathwork

#endif // LATHWORK_CXX_KEY_CODE_HPP
