// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The disk of table `blocks` and what one thread allocates on it.
#pragma once

#include "subjects/blocks/blocks_subject.hpp"
#include "subjects/iova/page_bitmap.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lathbench {

// A disk with that many free runs of blocks of 4 KiB, between runs of 1 to 32 blocks that are
// taken. Half of the free runs are shorter than 64 KiB. The others have 64 KiB or more, but of
// these one of 64 alone has 64 KiB at a multiple of 64 KiB.
block_device fragmented_device(std::uint64_t runs, std::uint64_t seed);

struct block_work {
    bool mixed = false; // three of four requests are for 1 to 15 blocks
    std::uint64_t requests = 100000;
    std::uint64_t ms = 1000; // that may be spent in requests
};

struct block_result {
    std::vector<float> latency; // of requests, served or not, in ns, sorted
    double failed = 0, missed = 0; // percent; missed: there was a place
    std::uint64_t bytes = 0; // of memory, after the requests
    bool right = true, cut = false; // cut: ms were over first
};

block_result work_on(const blocks_subject& subject, const block_device& device,
                     const block_work& work, std::uint64_t seed);

} // namespace lathbench
