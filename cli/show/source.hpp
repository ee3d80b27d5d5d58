// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where the index comes from that `lath show` draws: a file of items, a dump, or made-up keys.
#pragma once

#include "show/picture.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace lathcli::show {

struct made_up {
    std::string keys = "extents";
    std::uint64_t n = 600, seed = 1;
};
std::vector<std::string> distributions();

struct changes {
    unsigned erase_percent = 0; // of the items, chosen by seed
    std::uint64_t seed = 1;
};

// "-" is standard input. Lines KEY [SIZE [VALUE]], or what LATH_DUMP_JSON writes. dump: the lines
// of that. Throws std::runtime_error.
picture from_file(const std::string& path, const changes& after, std::string& dump);
picture from_keys(const made_up& ask, const changes& after, std::string& dump);

} // namespace lathcli::show
