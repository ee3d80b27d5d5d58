// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A pool under a trace: a list with holes, where what is not in the pool is one long item.
#pragma once

#include "lathwork/hole.h"
#include "pool.hpp"
#include "trace.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace lathcli::alloc {

struct replay_options {
    lath_hole_policy policy = LATH_HOLE_FIRST;
    std::uint64_t unit = 1; // sizes and alignments are rounded up to it
    span limits{0, UINT64_MAX};
    std::uint64_t below = 0; // tried first; 0: no
};

// Times in ns, kept by size: 16 steps from one power of two to the next.
class latencies {
public:
    void add(std::uint64_t ns);
    std::uint64_t count() const { return count_; }
    double quantile(double part) const;
    double max() const { return static_cast<double>(max_); }

private:
    std::array<std::uint64_t, 64 * 16> counts_{};
    std::uint64_t count_ = 0, max_ = 0;
};

// The pool after so many operations.
struct state {
    std::uint64_t operations = 0, used = 0, free = 0, largest = 0, holes = 0;
    int largest_order = -1; // of a free block aligned to its size; -1: none
    std::uint64_t without_room = 0; // requests, so far
    std::array<std::uint64_t, 64> histogram{}; // [i]: holes of 2^i to 2^(i+1) - 1 bytes
    double fragmentation() const; // percent: 1 - largest / free
};

class replayer {
public:
    replayer(const pool& of, const replay_options& options);
    ~replayer();
    replayer(const replayer&) = delete;
    replayer& operator=(const replayer&) = delete;

    struct placed {
        std::uint64_t key = 0, size = 0; // size 0: there was no room
    };
    placed play(const operation& o); // of a free: what was freed
    state now() const;
    // At most `most` states over the whole run, evenly spread, the last of them now().
    std::vector<state> history() const;
    const latencies& allocating() const { return allocating_; }
    const latencies& freeing() const { return freeing_; }
    std::uint64_t without_room() const { return without_room_; }

private:
    placed allocate(const operation& o);
    placed release(const operation& o);
    void remember();

    static constexpr std::size_t most = 512;
    replay_options options_;
    lath_index* list_;
    span hull_; // of the pool within the limits
    std::uint64_t pool_bytes_, used_ = 0, operations_ = 0, without_room_ = 0, next_hint_ = 0;
    std::uint64_t every_ = 1; // operations from one remembered state to the next
    std::vector<placed> live_; // by slot
    std::vector<state> history_;
    latencies allocating_, freeing_;
    span whole_; // of the pool
};

} // namespace lathcli::alloc
