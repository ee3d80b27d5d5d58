// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A file of costs, which `measure` writes and `simulate` reads: lines NAME NUMBER in ns, and
//
//   small SUBJECT LOAD NS           a call of one thread on few items, which fit into its cache
//   large SUBJECT LOAD THREADS NS   a call on many items, by threads that make them concurrently:
//                                   time / calls of all threads
#pragma once

#include "machine.hpp"

#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace simulate {

struct calibration {
    costs machine;
    std::map<std::pair<std::string, std::string>, double> small;
    std::map<std::tuple<std::string, std::string, unsigned>, double> large;
};

// Throws std::runtime_error.
calibration read_calibration(const std::string& path);

// The sizes of the two kinds of measurement.
constexpr std::uint64_t small_items = 2000, small_warm = 500, small_calls = 1000;
constexpr std::uint64_t large_items = 200000, large_warm = 40000, large_calls = 80000;

} // namespace simulate
