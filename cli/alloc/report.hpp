// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What `lath alloc` says about a replay: text, JSON, CSV and SVG over time.
#pragma once

#include "alloc/replay.hpp"

#include <iosfwd>
#include <string>

namespace lathcli::alloc {

struct outcome {
    std::string trace, policy;
    pool space;
    std::vector<std::uint64_t> used; // at the end, of each range of the pool
    replay_options options;
    reader::counters counts;
    std::string last_error; // of the lines skipped
    std::vector<state> history; // of the prints: never empty
    std::uint64_t served_in_pieces = 0, pieces = 0;
    const latencies *allocating = nullptr, *freeing = nullptr;
    bool interrupted = false;
};

// Addresses of each range of the pool that lie in one of these spans, which do not overlap.
std::vector<std::uint64_t> used_of(const pool& space, const std::vector<span>& allocated);

std::string size_text(std::uint64_t bytes); // "1.5 Mi"

void print_text(std::ostream& out, const outcome& o);
void print_json(std::ostream& out, const outcome& o);
void print_csv(std::ostream& out, const outcome& o); // a line a state
void print_svg(std::ostream& out, const outcome& o); // used, fragmentation over operations

} // namespace lathcli::alloc
