// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Writes the rows of finished sessions: to the terminal, as JSON, as CSV.
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

// Reads what a file of write_json() has of a table. Throws std::runtime_error that names the file
// if it cannot be read, and that says what differs if it was measured in other circumstances:
// options, machine, compiler, commit.
session::former read_former(const std::string& path, const std::string& table, const options& opt);

// Prints the medians, then n/a cells and remarks. The caller prints all ratios after all medians.
void print_medians(std::FILE* out, const session& s);
void print_ratios(std::FILE* out, const session& s);

} // namespace lathbench
