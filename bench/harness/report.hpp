// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where the rows of finished sessions go: the terminal, JSON, CSV.
#pragma once

#include "noise.hpp"
#include "table.hpp"

#include <cstdio>
#include <deque>
#include <iosfwd>
#include <string>

namespace lathbench {

// One table's run.
struct run {
    run(const table& t, const options& opt) : measured(t, opt) {}
    session measured;
    noise circumstances;
    bool complete = false; // not interrupted
};

// {"context":{...},"rows":[...],"ratios":[...]}
void write_json(std::ostream& to, const std::deque<run>& done, const options& opt);
void write_csv(std::ostream& to, const std::deque<run>& done);

// What a file of write_json() holds of a table. Throws std::runtime_error naming the file when it
// cannot be read, and what differs when it was measured in other circumstances: options, machine,
// compiler, commit.
session::former read_former(const std::string& path, const std::string& table, const options& opt);

// All medians, then remarks and n/a cells; the ratio tables come last of all, from print_ratios().
void print_medians(std::FILE* out, const session& s);
void print_ratios(std::FILE* out, const session& s);

} // namespace lathbench
