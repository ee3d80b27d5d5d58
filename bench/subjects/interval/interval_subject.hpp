// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `interval`: sets of intervals that may overlap, each with a number.
#pragma once

#include "harness/subject.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lathbench {

struct bench_interval {
    std::uint64_t first, last, value;
};

// What a search found: how many, and the sum of their values.
struct interval_sum {
    std::uint64_t count = 0, values = 0;
    friend bool operator==(const interval_sum&, const interval_sum&) = default;
};

// With more than one thread, each call but fill() and bytes() may be made by several at once.
class interval_set {
public:
    virtual ~interval_set() = default;
    // For a structure that cannot be changed, in place of insert(): build it from all intervals.
    virtual void fill(const std::vector<bench_interval>&) {}
    virtual void insert(const bench_interval& interval) = 0;
    // Returns whether it was there.
    virtual bool erase(const bench_interval& interval) = 0;
    virtual interval_sum overlap(std::uint64_t first, std::uint64_t last) = 0;
    virtual interval_sum stab(std::uint64_t point) { return overlap(point, point); }
    // Memory that it takes, with malloc's overhead.
    virtual std::uint64_t bytes() const = 0;
};

struct interval_subject : subject {
    // locked: several threads will use it
    std::function<std::unique_ptr<interval_set>(bool locked)> make;
    bool fixed = false; // only fill() and searches
    std::uint64_t most = ~std::uint64_t{0}; // intervals, beyond which it takes hours
};

interval_subject lathwork_interval();
interval_subject linux_interval_tree();
interval_subject icl_interval();
interval_subject sorted_interval();

// All of them, ours first; they are made once and never change.
const std::vector<interval_subject>& interval_subjects();

} // namespace lathbench
