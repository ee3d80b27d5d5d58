// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "base/numbers.hpp"

#include "base/usage.hpp"

#include <algorithm>

namespace lathcli {

namespace {

bool times(std::uint64_t& n, std::uint64_t by) { return !__builtin_mul_overflow(n, by, &n); }

// 1e6, 1.5e6: the exponent makes it whole.
std::optional<std::uint64_t> parse_exponent(std::string_view text, std::size_t e) {
    std::string digits(text.substr(0, e));
    std::size_t behind = 0; // digits behind the point
    if (auto point = digits.find('.'); point != std::string::npos) {
        behind = digits.size() - point - 1;
        digits.erase(point, 1);
        if (point == 0 || behind == 0)
            return std::nullopt;
    }
    auto exponent = text.substr(e + 1);
    if (exponent.starts_with('+'))
        exponent.remove_prefix(1);
    auto n = parse_digits<std::uint64_t>(digits);
    auto power = parse_digits<std::uint64_t>(exponent);
    if (!n || !power || *power > 99)
        return std::nullopt;
    for (; behind > *power; --behind, *n /= 10)
        if (*n % 10)
            return std::nullopt;
    for (; *n && behind < *power; ++behind)
        if (!times(*n, 10))
            return std::nullopt;
    return n;
}

} // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) {
    bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (auto e = text.find('e'); !hex && e != std::string_view::npos)
        return parse_exponent(text, e);
    if (hex)
        text.remove_prefix(2);
    std::uint64_t n = 0;
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, n, hex ? 16 : 10);
    if (error != std::errc())
        return std::nullopt;
    std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    if (unit.empty())
        return n;
    auto power = std::string_view("KMGTPE").find(unit[0]);
    if (power == std::string_view::npos)
        return std::nullopt;
    unit.remove_prefix(1);
    if (!unit.empty() && unit != "i" && unit != "iB")
        return std::nullopt;
    if (!times(n, std::uint64_t{1} << (10 * (power + 1))))
        return std::nullopt;
    return n;
}

namespace {

// A bound as people write it: 8Mi, 1000, 2^64 - 1.
std::string bound(std::uint64_t n) {
    if (n == UINT64_MAX)
        return "2^64 - 1";
    std::size_t unit = 0;
    for (; n >= 1024 && n % 1024 == 0; n /= 1024)
        unit++;
    static constexpr const char* units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    return std::to_string(n) + units[unit];
}

} // namespace

std::string no_number(std::string_view text, std::uint64_t least, std::uint64_t most) {
    std::string word = "'" + std::string(text) + "'";
    if (auto n = parse_number(text); n && *n < least)
        return word + " is too small: at least " + bound(least);
    else if (n && *n > most)
        return word + " is too large: at most " + bound(most);
    return word + " is not a whole number from " + bound(least) + " to " + bound(most) +
           " (1000, 0x3e8, 1e3, 4Ki)";
}

std::uint64_t number_of(const std::string& what, std::string_view text, std::uint64_t least,
                        std::uint64_t most) {
    auto n = parse_number(text);
    if (!n || *n < least || *n > most)
        throw usage_error(what + ": " + no_number(text, least, most));
    return *n;
}

} // namespace lathcli
