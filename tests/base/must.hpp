// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// For tests of several processes: what must be so, or this process says where it was not and ends.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>

[[noreturn]] inline void die(const std::string& what,
                             std::source_location at = std::source_location::current()) {
    std::fprintf(stderr, "%s:%u: %s\n", at.file_name(), static_cast<unsigned>(at.line()),
                 what.c_str());
    std::exit(1);
}
#define MUST(x) ((x) ? void() : die(#x))
