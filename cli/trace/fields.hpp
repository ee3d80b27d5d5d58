// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Fields of a line of text.
#pragma once

#include "base/numbers.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lathcli::trace {

// Fields parted by blanks, one or more of the characters of `blanks`; empty at the end.
class words {
public:
    explicit words(std::string_view line, std::string_view blanks = " \t")
        : rest_(line), blanks_(blanks) {}
    std::string_view next() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks_), rest_.size()));
        auto word = rest_.substr(0, rest_.find_first_of(blanks_));
        rest_.remove_prefix(word.size());
        return word;
    }
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_, blanks_;
};

// Takes the last field, and the blanks before it, off the text; empty where there is none.
inline std::string_view last_word(std::string_view& text) {
    auto trim = [&] { text = text.substr(0, text.find_last_not_of(" \t") + 1); };
    trim();
    auto word = text.substr(text.find_last_of(" \t") + 1);
    text.remove_suffix(word.size());
    trim();
    return word;
}

// The whole text is a number, and it fits.
inline std::optional<std::uint64_t> number(std::string_view text) {
    return parse_digits<std::uint64_t>(text);
}

// "12.345678901" seconds as nanoseconds; digits beyond the ninth are dropped.
inline std::optional<std::uint64_t> seconds(std::string_view text) {
    auto dot = text.find('.');
    auto whole = number(text.substr(0, dot));
    if (!whole || *whole > 9000000000u)
        return {};
    std::uint64_t ns = 0;
    if (dot != std::string_view::npos) {
        auto digits = text.substr(dot + 1);
        if (digits.empty())
            return {};
        for (std::size_t i = 0; i < digits.size(); i++) {
            if (digits[i] < '0' || digits[i] > '9')
                return {};
            if (i < 9)
                ns = ns * 10 + static_cast<std::uint64_t>(digits[i] - '0');
        }
        for (std::size_t i = digits.size(); i < 9; i++)
            ns *= 10;
    }
    return *whole * 1000000000u + ns;
}

} // namespace lathcli::trace
