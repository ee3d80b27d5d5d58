// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The circumstances of a run: machine, compiler, flags, pages, commit, cost of reading a clock.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lathbench {

std::string processor(); // its name, or "unknown"
std::vector<std::pair<std::string, std::string>> machine_context();

} // namespace lathbench
