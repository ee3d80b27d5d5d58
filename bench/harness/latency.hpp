// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Latencies of single calls as rows of a table.
#pragma once

#include "timing.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lathbench {

// Calls put(metric, unit, higher is better, value) for p50, p99 and p99.9 of the latencies, which
// are in ns and sorted. Subtracts the time that the clock itself takes, that of wall_ns() unless
// `clock` is given. Does nothing if there are none.
template <class Put>
void put_latency(const Put& put, const std::vector<float>& sorted,
                 double clock = wall_overhead_ns()) {
    if (sorted.empty())
        return;
    auto at = [&](double part) {
        auto i = static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1));
        return std::max(0.0, static_cast<double>(sorted[i]) - clock);
    };
    put("p50", "ns", false, at(0.5));
    put("p99", "ns", false, at(0.99));
    put("p99.9", "ns", false, at(0.999));
}

} // namespace lathbench
