// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `sort`, as the table sees them; driver.hpp is the timed loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lathbench {

// One life of a queue. The protocol is that of the 2008 experiment, made exact: the queue holds
// depth - batch requests; then `batch` are inserted and `batch` extracted, over and over.
struct sort_plan {
    const std::vector<std::uint64_t>* sectors = nullptr; // arrivals, taken round and round
    std::uint32_t depth = 128;
    std::uint32_t batch = 32;
    bool lowest = false; // extract the lowest sector, not the next of a one-way sweep
    std::uint64_t operations = 0; // timed ones; as many again, or 4 depths, run before
};

struct sort_result {
    double insert_ns = 0, extract_ns = 0; // per request
    std::uint64_t checksum = 0; // of the order of extraction
};

// The whole way of a request: merge lookups, insert, dispatch, expiry.
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

struct sort_subject {
    std::string name, note, missing;
    std::function<sort_result(const sort_plan&)> run;
    std::function<path_result(const path_plan&)> path; // empty: not part of these cases
    bool monotone = false; // cannot do lowest-first
    std::uint32_t max_depth = ~0u; // beyond it a single case would take minutes
};

const std::vector<sort_subject>& sort_subjects();
void add_lathwork_sort(std::vector<sort_subject>& list);
void add_linux_sort(std::vector<sort_subject>& list);
void add_boost_sort(std::vector<sort_subject>& list);
void add_heap_sort(std::vector<sort_subject>& list);
void add_std_sort(std::vector<sort_subject>& list);

// Arrivals by name: random, sequential, seq95, reverse, mixN, half, zipf, window, fio-JOB.
std::vector<std::uint64_t> sort_input(const std::string& name, std::size_t n, std::uint64_t seed);

} // namespace lathbench
