// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Parameters that a table declares and `--parameter NAME=VALUE` sets. A value is a list of sizes or
// of words with commas between them. To add one: an entry in table::parameters from one of the
// three functions below; the table then asks size_list() or wants_word(), which return the default
// if nothing was set.
#pragma once

#include "table.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace lathbench {

// For table::parameters. The value is a whole number from 1 to 1e12 ("1e6"), a list of such
// numbers, or a list of the given words.
parameter size_parameter(std::string name, std::string summary, std::string by_default);
parameter sizes_parameter(std::string name, std::string summary, std::string by_default);
parameter words_parameter(std::string name, std::string summary, std::vector<std::string> words);

// Returns the sizes that were set, or by_default. set_parameters() has checked them.
std::vector<std::uint64_t> size_list(const options& opt, const std::string& name,
                                     std::vector<std::uint64_t> by_default);
// Returns whether the word was asked for or the parameter was not set.
bool wants_word(const options& opt, const std::string& name, const std::string& word);

// Returns the size. Throws a usage_error that begins with `what`: "--n: 'abc' is not a whole
// number...".
std::uint64_t parse_size(const std::string& what, const std::string& text);

// Puts the "NAME=VALUE" texts into opt. Throws a usage_error that names the text if no table
// declares the name, if the value is not valid, or if the name is given twice.
void set_parameters(const std::vector<const table*>& tables, const std::vector<std::string>& texts,
                    options& opt);

} // namespace lathbench
