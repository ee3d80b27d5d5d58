// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Subcommands of `lath` that are separate programs, so that lath links nothing they need:
// `lath bench ARGS` becomes `lath-bench ARGS`. They are looked for beside lath, in libexec/lathwork
// of the same prefix, and in PATH, in this order.
#pragma once

#include <string>

namespace lathcli {

struct companion {
    const char* command; // lath COMMAND
    const char* program; // its file
    const char* summary;
    const char* origin; // what installs it, for the message that it is not there
};

inline constexpr const char* origin_bench =
    "it is part of the benchmarks (package lathwork-bench, or a build with -DLATH_BENCH=ON)";

inline constexpr companion companions[] = {
    {"bench", "lath-bench",
     "measure the structures of lathwork and their peers; results are verified", origin_bench},
    {"replay", "lath-replay", "replay a trace of block requests through request queues",
     "it is installed with lath (package lathwork-tools, or component tools of a build)"},
    {"report", "lath-report", "one page of charts and tables from files of `lath bench --json`",
     origin_bench},
};

// The companion behind a subcommand, or nullptr.
const companion* find_companion(const std::string& command);

// Its summary; ends with a note when the program is not installed.
std::string describe(const companion& each);

// Path of the installed program; empty when there is none.
std::string path_of(const companion& each);

// Executes the program in place of this process, with these arguments (up to a null pointer).
// Throws std::runtime_error when it is not installed or cannot be executed.
[[noreturn]] void replace_by_companion(const companion& each, char** arguments);

// What `PROGRAM --describe` writes: the program's options, for completions and manual pages.
// Throws std::runtime_error when the program fails.
std::string self_description(const std::string& path);

} // namespace lathcli
