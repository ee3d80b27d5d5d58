// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `ranks`: ordered sets of 64-bit keys that know the rank of each.
#pragma once

#include "harness/subject.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace lathbench {

// With more than one thread, each call but bytes() may be made by several at once.
class ranked_set {
public:
    virtual ~ranked_set() = default;
    virtual void insert(std::uint64_t key) = 0;
    // The number of lower keys.
    virtual std::uint64_t rank(std::uint64_t key) = 0;
    // The key that has this many lower ones; ~0 if there is none.
    virtual std::uint64_t select(std::uint64_t rank) = 0;
    // The number of keys in [from, last].
    virtual std::uint64_t count(std::uint64_t from, std::uint64_t last) = 0;
    // Memory that it takes, with malloc's overhead.
    virtual std::uint64_t bytes() const = 0;
};

struct ranked_subject : subject {
    // locked: several threads will use it
    std::function<std::unique_ptr<ranked_set>(bool locked)> make;
    bool counts = true; // false: it has no ranks, and is there for its inserts
};

ranked_subject lathwork_ranks();
ranked_subject lathwork_without_ranks();
ranked_subject boost_ranked();
ranked_subject pb_ds_tree();

// All of them, ours first; they are made once and never change.
const std::vector<ranked_subject>& ranked_subjects();

} // namespace lathbench
