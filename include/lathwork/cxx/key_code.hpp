// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/key_code.hpp - keys of a point_map as codes whose order is that of the keys.
//
// A code is a 64-bit number, or bytes that are ordered as memcmp() orders them. Keys that have one:
// integers and enumerations of up to 64 bits, bool, characters, durations and time points with
// integral counts, std::pair of these, std::string and std::string_view. A program gives a type of
// its own a code by a specialisation:
//
//   struct version { std::uint16_t major, minor; };
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
// encode() may return bytes instead, any type that has data() and size(); then decode() gets a
// `kept`, a type that can be made of what encode() returns and keeps the bytes: std::string, say.
// Equal keys have equal codes, and decode(encode(key)) is equal to the key.
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
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

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

namespace detail {

template <typename K>
inline constexpr unsigned code_bits = 64;
template <typename K>
    requires requires { key_code<K>::bits; }
inline constexpr unsigned code_bits<K> = key_code<K>::bits;

inline void put_big_endian(char* to, std::uint64_t code) {
    for (int i = 7; i >= 0; i--, code >>= 8)
        to[i] = static_cast<char>(code);
}
inline std::uint64_t get_big_endian(const char* from) {
    std::uint64_t code = 0;
    for (int i = 0; i < 8; i++)
        code = code << 8 | static_cast<unsigned char>(from[i]);
    return code;
}

} // namespace detail

// In one word if both fit, else in 16 bytes.
template <word_key A, word_key B>
    requires(detail::code_bits<A> + detail::code_bits<B> <= 64)
struct key_code<std::pair<A, B>> {
    static constexpr unsigned low = detail::code_bits<B>;
    static constexpr unsigned bits = detail::code_bits<A> + low;
    static constexpr std::uint64_t encode(const std::pair<A, B>& key) {
        return key_code<A>::encode(key.first) << low | key_code<B>::encode(key.second);
    }
    static constexpr std::pair<A, B> decode(std::uint64_t code) {
        return {key_code<A>::decode(code >> low),
                key_code<B>::decode(code & ((std::uint64_t{1} << low) - 1))};
    }
};

template <word_key A, word_key B>
    requires(detail::code_bits<A> + detail::code_bits<B> > 64)
struct key_code<std::pair<A, B>> {
    using kept = std::array<char, 16>;
    static kept encode(const std::pair<A, B>& key) {
        kept code;
        detail::put_big_endian(code.data(), key_code<A>::encode(key.first));
        detail::put_big_endian(code.data() + 8, key_code<B>::encode(key.second));
        return code;
    }
    static std::pair<A, B> decode(const kept& code) {
        return {key_code<A>::decode(detail::get_big_endian(code.data())),
                key_code<B>::decode(detail::get_big_endian(code.data() + 8))};
    }
};

template <>
struct key_code<std::string> {
    using kept = std::string;
    using view = std::string_view; // what calls take in place of a key
    static std::string_view encode(std::string_view key) { return key; }
    static const std::string& decode(const std::string& key) { return key; }
};

template <>
struct key_code<std::string_view> {
    using kept = std::string_view;
    static std::string_view encode(std::string_view key) { return key; }
    static std::string_view decode(std::string_view key) { return key; }
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
    std::same_as<Compare, std::less<K>> || std::same_as<Compare, std::less<>>;
template <typename Compare, typename K>
inline constexpr bool descending =
    std::same_as<Compare, std::greater<K>> || std::same_as<Compare, std::greater<>>;

} // namespace detail

} // namespace lathwork

#endif // LATHWORK_CXX_KEY_CODE_HPP
