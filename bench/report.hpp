// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where the rows of finished sessions go: the terminal, JSON, CSV.
#pragma once

#include "table.hpp"

#include <cstdio>
#include <deque>
#include <string>

namespace lathbench {

// {"context":{...},"rows":[...]}; throws std::runtime_error naming the path when it cannot be written.
void write_json(const std::string& path, const std::deque<session>& done, const options& opt);
void write_csv(const std::string& path, const std::deque<session>& done);

// All medians, then remarks and n/a cells; the ratio tables come last of all, from print_ratios().
void print_medians(std::FILE* out, const session& s);
void print_ratios(std::FILE* out, const session& s);

} // namespace lathbench
