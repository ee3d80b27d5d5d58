// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What the options of the subcommands have in common: values that are checked before anything runs.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lathcli {

// For transform(): a number as base/numbers.hpp reads it.
CLI::Validator whole_number(std::uint64_t least = 0, std::uint64_t most = UINT64_MAX);
// For check(): one of the words. Help and completions show them.
CLI::Validator one_of(const std::vector<std::string>& words);
// For check(): the name of a file. One that begins with - is more likely an option whose file was
// forgotten; "-" alone is a file.
CLI::Validator file_name();
// For check(): what parse does not throw std::runtime_error for.
CLI::Validator parsed_by(std::function<void(const std::string&)> parse);

// The words one_of() was given; empty: the option takes others.
std::vector<std::string> words_of(const CLI::Option& option);

} // namespace lathcli
