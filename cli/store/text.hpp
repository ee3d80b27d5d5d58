// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What `lath store` reads and writes as text: lines of TSV and JSON, words of a command line.
#pragma once

#include "base/text.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathcli {

// What is wrong with a line, and where: columns count bytes from 1.
struct text_error {
    std::size_t column;
    std::string what;
};

struct text_entry {
    std::string key, value; // the key of a store of numbers in decimal digits
    std::uint64_t expires = 0;
};

enum class text_format { tsv, jsonl };
// By the end of the file's name: .jsonl, .ndjson and .json are JSON, all else TSV.
text_format format_of(std::string_view path);

// KEY<tab>VALUE, and <tab>expires=MS (ms since 1970) behind what expires; \t \n \r \\ and \xHH
// stand for bytes. Or {"key":..,"value":..,"expires":..}, with "key_hex" and "value_hex" for what
// is not UTF-8. An error leaves the entry as it may.
std::optional<text_error> parse_entry(std::string_view line, text_format format, text_entry& entry);
std::string format_entry(const text_entry& entry, text_format format);

// Words apart by blanks; '...' as it is, "..." with the escapes above and \".
std::optional<text_error> parse_words(std::string_view line, std::vector<std::string>& words);

} // namespace lathcli
