// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Arrivals for table `sort`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lathbench {

// The sectors of n requests, by name: random, sequential, seq95, reverse, mixN, half, zipf, window,
// fio-JOB. A sector has 512 bytes, the device 16 TiB, each request 4 KiB.
std::vector<std::uint64_t> sort_input(const std::string& name, std::size_t n, std::uint64_t seed);

} // namespace lathbench
