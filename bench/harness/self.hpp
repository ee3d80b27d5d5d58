// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// This program's files, and the words that start it anew.
//
// In a folder of `lath bench --bundle` the program is started by the folder's own loader, which is
// /proc/self/exe then.
#pragma once

#include <string>
#include <vector>

namespace lathbench {

// Where the program can be read.
std::string self_path();
// The first words for execve("/proc/self/exe"), before those that the program is to see as
// arguments: its name, or in a bundle what the loader needs to start it.
std::vector<std::string> self_words();

// The shared objects that are loaded now, the loader among them, and which of them is the loader
// ("": there is none).
struct loaded_files {
    std::vector<std::string> paths;
    std::string loader;
};
loaded_files loaded_libraries();

// Where a bundle has them.
constexpr const char* bundle_program = "lath-bench";
constexpr const char* bundle_libraries = "lib";

} // namespace lathbench
