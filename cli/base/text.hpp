// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Bytes as people and JSON read them, and the words they may have meant.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathcli {

bool is_utf8(std::string_view bytes);
// Two digits for each byte, in lower case.
std::string to_hex(std::string_view bytes);
// Without what moves a cursor or breaks a line: \t \n \r \\ and \xHH, the last for each byte that
// is not UTF-8 too.
std::string printable(std::string_view bytes);

// A word that a reader of a command line takes for an option: -x, --xyz; not "-".
bool is_option_like(std::string_view word);

// "512 B", "1.5 MiB"
std::string human(std::uint64_t bytes);

std::string join(const std::vector<std::string>& words, std::string_view between = ", ");
// The word that was meant: at most a third of the letters differ.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);
// "no engine 'hybird'; do you mean hybrid? There are: fifo, hybrid"
std::string no_such(std::string_view what, std::string_view word,
                    const std::vector<std::string>& known);

} // namespace lathcli
