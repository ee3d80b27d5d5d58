// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One thread allocates and frees at random in a space that stays nearly
// full.
//
// Sizes: 4 KiB to 2 MiB, every power of two as likely as the others, uniform between them.
// Alignment: the size rounded up to a power of two; of each fourth request any of 4 KiB to 2 MiB.
// Before a request that would make the space fuller than `percent`, ranges are freed at random
// until it would not; after 16 requests in a row without a place one is freed, so that an allocator
// that cannot fill the space ages as the others do, if less full. A shadow bitmap checks every
// answer: a range where something lies is an error; "no room" where an aligned hole was is counted
// as missed.
#pragma once

#include "subjects/iova/iova_subject.hpp"

#include <cstdint>
#include <vector>

namespace lathbench {

struct aging_options {
    std::uint64_t percent = 90;
    std::uint64_t requests =
        100000; // measured, behind half as many again that fill and age the space
    std::uint64_t limit_ms = 1000; // inside the allocator, for each of the two
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

aging_result age(const iova_subject& subject, const aging_options& how, std::uint64_t seed);

} // namespace lathbench
