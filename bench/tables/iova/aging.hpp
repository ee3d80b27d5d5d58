// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One thread allocates and frees at random in a space that stays nearly full.
//
// Sizes are 4 KiB to 2 MiB: each power of two is as likely as the others, and sizes between two of
// them are uniform. The alignment is the size rounded up to a power of two; for every fourth
// request it is any power of two from 4 KiB to 2 MiB. Before a request that would make the space
// fuller than `percent`, ranges are freed at random until it would not. After 16 requests in a row
// without a place one range is freed, so that the space ages also with an allocator that cannot
// fill it. A shadow bitmap checks every answer: a range that overlaps another one is an error, and
// "no room" although there was an aligned hole is counted as missed.
#pragma once

#include "subjects/iova/iova_subject.hpp"

#include <cstdint>
#include <vector>

namespace lathbench {

struct aging_options {
    std::uint64_t percent = 90;
    // Measured requests; 1.5 times as many before them fill and age the space.
    std::uint64_t requests = 100000;
    std::uint64_t limit_ms = 1000; // spent in the allocator, for each of the two
    std::uint64_t pages = std::uint64_t{1} << 20;
};

struct aging_result {
    std::vector<float> latency; // of requests, served or not, in ns, sorted
    double used = 0; // percent of the space, mean
    double failed = 0; // percent of requests without a place
    double missed = 0; // percent of requests without a place although there was one
    double fragmentation = 0; // percent: 1 - longest free run / all free pages, at the end
    double unusable = 0; // percent of free pages in no aligned free 64 KiB, at the end
    bool right = true, cut = false; // cut: limit_ms was over first
};

// Runs the workload with one allocator.
aging_result age(const iova_subject& subject, const aging_options& how, std::uint64_t seed);

} // namespace lathbench
