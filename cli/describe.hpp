// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Describes a command and its options, read from its parser, for completions and manual pages.
// A companion program (companions.hpp) hands it over as JSON.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace lathcli {

struct option_text {
    std::vector<std::string> names; // --json, -o
    std::string argument; // FILE; empty: a flag
    std::string description;
    std::vector<std::string> choices; // the only values it may have; empty: others too
    std::string by_default;
};

// A command of a command, as `lath store` has them.
struct word_text {
    std::string name, arguments, summary;
};

struct command_text {
    std::string name, description;
    std::vector<option_text> options;
    std::vector<std::string> words; // for positional arguments, beside files
    std::vector<option_text> positionals;
    std::vector<word_text> commands;
    int behind = 0; // the words come after this many arguments
};

// The commands that a command takes as its arguments, for describe(). Called when the command is
// added.
void tell_commands(const CLI::App& app, std::vector<word_text> commands);

command_text describe(const CLI::App& app);

std::string to_json(const command_text& command);

// Throws std::runtime_error when the text is not what to_json() writes.
command_text from_json(const std::string& text);

// Gives a companion program the hidden option --describe: to_json() on standard output.
// more: adds what the parser does not know; called only then.
void add_description(CLI::App& app, const std::string& command,
                     std::function<void(command_text&)> more = {});

} // namespace lathcli
