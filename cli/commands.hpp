// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subcommands of `lath`. cli/NAME/NAME.cpp adds subcommand NAME to the program, in one function
// declared here and called in lath.cpp; the other files of cli/NAME/ are what it needs alone. The
// callback of a subcommand throws std::runtime_error for a failure (main prints "lath: what" and
// exits with 1) or CLI::RuntimeError(code) after it has said itself what is wrong.
//
// `lath bench`, `lath replay` and `lath report` are separate programs, lath-bench, lath-replay
// and lath-report (companions.hpp). base/ is shared with the benchmarks; trace/ is the readers of
// block traces, which lath-replay has, and what they share with the reader of alloc.
#pragma once

#include <CLI/CLI.hpp>

namespace lathcli {

// Called by main() before it parses: names the program and adds its options and subcommands.
// Each program has its own definition: lath.cpp, bench/bench.cpp, replay/replay.cpp,
// report/report.cpp.
void define_program(CLI::App& app, char** argv);

namespace alloc {
void add(CLI::App& app);
}
namespace completion {
void add(CLI::App& app);
}
namespace extents {
void add(CLI::App& app);
}
namespace store {
void add(CLI::App& app);
}

} // namespace lathcli
