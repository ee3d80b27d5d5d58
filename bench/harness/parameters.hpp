// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Parameters a table declares and `--parameter NAME=VALUE` sets. A value is one word or a
// comma-separated list of words or of sizes. How to add one: an entry in table::parameters with one
// of the three functions below; then size_list() or wants_word() in the table, which go by the
// default while nothing was set.
#pragma once

#include "table.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace lathbench {

// For table::parameters: a whole number from 1 to 1e12 ("1e6"), a list of them, a list of the given
// words.
parameter size_parameter(std::string name, std::string summary, std::string by_default);
parameter sizes_parameter(std::string name, std::string summary, std::string by_default);
parameter words_parameter(std::string name, std::string summary, std::vector<std::string> words);

// What was asked for; by_default when it was not. Values are those that passed set_parameters().
std::vector<std::uint64_t> size_list(const options& opt, const std::string& name,
                                     std::vector<std::uint64_t> by_default);
// true: the word was asked for, or the parameter was not set.
bool wants_word(const options& opt, const std::string& name, const std::string& word);

// One size; throws usage_error that begins with what: "--n: 'abc' is not a whole number...".
std::uint64_t parse_size(const std::string& what, const std::string& text);

// Puts the "NAME=VALUE" texts into opt. Throws usage_error naming the text that no table declares,
// whose value the table refuses, or that is given twice.
void set_parameters(const std::vector<const table*>& tables, const std::vector<std::string>& texts,
                    options& opt);

} // namespace lathbench
