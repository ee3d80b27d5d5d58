// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subcommands of `lath`. Each lives in a file of its own, cli/NAME.cpp, and adds itself to the
// program in one function declared here and called in main.cpp. The callback of a subcommand throws
// std::runtime_error for a failure (main prints "lath: what" and exits with 1) or
// CLI::RuntimeError(code) after it has said itself what is wrong.
#pragma once

#include <CLI/CLI.hpp>

namespace lathcli {

void add_alloc(CLI::App& app);
void add_bench(CLI::App& app);
void add_completion(CLI::App& app);
void add_extents(CLI::App& app);
void add_replay(CLI::App& app);
void add_store(CLI::App& app);
void add_report(CLI::App& app);

} // namespace lathcli
