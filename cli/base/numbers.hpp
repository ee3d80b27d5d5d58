// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Numbers as options and arguments have them, and digits as data have them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lathcli {

// Decimal digits, for a signed type with a - before them; the whole text, and it fits.
template <class Number>
std::optional<Number> parse_digits(std::string_view text) {
    Number n{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return n;
}

// A whole number below 2^64: 4096, 0x1000, 1e6, 1.5e6; with K, M, G, T, P or E (also Ki, KiB, ...)
// times 1024, 1024^2, ...
std::optional<std::uint64_t> parse_number(std::string_view text);

// What is wrong with the text: "'lots' is not a whole number from 1 to 8Mi (1000, 0x3e8, 1e3,
// 4Ki)",
// "'1K' is too small: at least 8Mi"
std::string no_number(std::string_view text, std::uint64_t least, std::uint64_t most);

// The number of an argument. Throws usage_error that begins with what.
std::uint64_t number_of(const std::string& what, std::string_view text, std::uint64_t least = 0,
                        std::uint64_t most = UINT64_MAX);

} // namespace lathcli
