// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `sort`: priority queues of requests. driver.hpp has the timed loops.
//
// To add one: a class as driver.hpp describes it, in the list of the file of its origin.
#pragma once

#include "harness/subject.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lathbench {

// What one queue goes through, as in the experiment of 2008: it holds depth - batch requests; then
// `batch` requests are inserted and `batch` are extracted, again and again.
struct sort_plan {
    const std::vector<std::uint64_t>* sectors = nullptr; // arrivals; after the last comes the first
    std::uint32_t depth = 128;
    std::uint32_t batch = 32;
    bool lowest = false; // extract the lowest sector, not the next of a one-way sweep
    std::uint64_t operations = 0; // inserts that are timed, after others that warm the caches
};

struct sort_result {
    double insert_ns = 0, extract_ns = 0; // per request
    std::uint64_t checksum = 0; // of the order of extraction
};

// The whole way of requests through a scheduler: merge lookups, insert, dispatch, expiry.
struct path_plan {
    const std::vector<std::uint64_t>* sectors = nullptr;
    std::uint32_t depth = 128;
    std::uint32_t batch = 32;
    std::uint32_t limit = 8; // sectors a request may grow to
    std::uint64_t operations = 0;
};

struct path_result {
    double submit_ns = 0, dispatch_ns = 0, expire_ns = 0;
    std::uint64_t checksum = 0, merged = 0, submitted = 0;
};

struct sort_subject : subject {
    std::function<sort_result(const sort_plan&)> run;
    std::function<path_result(const path_plan&)> path; // empty: not part of these cases
    bool monotone = false; // takes no key below the last one out, so it cannot do lowest-first
    std::uint32_t max_depth = ~0u; // beyond it a single case would take minutes
};

std::vector<sort_subject> lathwork_sort();
std::vector<sort_subject> linux_sort();
std::vector<sort_subject> boost_sort();
std::vector<sort_subject> heap_sort();
std::vector<sort_subject> std_sort();
// All of them, ours first; they are made once and never change.
const std::vector<sort_subject>& sort_subjects();

} // namespace lathbench
