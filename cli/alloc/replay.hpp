// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A pool under a trace: a list with holes, where what is not in the pool is one long item.
#pragma once

#include "lathwork/hole.h"
#include "alloc/pool.hpp"
#include "alloc/trace.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace lathcli::alloc {

struct replay_options {
    lath_hole_policy policy = LATH_HOLE_FIRST;
    std::uint64_t unit = 1; // sizes and alignments are rounded up to it
    span limits{0, UINT64_MAX};
    std::uint64_t below = 0; // tried first; 0: no
    bool history = true;     // keep states over time, and count holes for them
};

// Times in ns, kept by size: 16 steps from one power of two to the next.
class latencies {
public:
    void add(std::uint64_t ns);
    std::uint64_t count() const { return count_; }
    // Nothing where too few were counted for one to be beyond it: below 1 / (1 - part).
    std::optional<double> quantile(double part) const;
    double max() const { return static_cast<double>(max_); }

private:
    std::array<std::uint64_t, 64 * 16> counts_{};
    std::uint64_t count_ = 0, max_ = 0;
};

// Holes by size, kept up to date with each change: reading them off the list would be O(n) for
// every state.
class hole_counts {
public:
    void add(const span& hole) { count(hole, 1); }
    void remove(const span& hole) { count(hole, UINT64_MAX); }
    std::uint64_t total() const { return total_; }
    const std::array<std::uint64_t, 64>& histogram() const { return histogram_; }

private:
    void count(const span& hole, std::uint64_t by);

    std::array<std::uint64_t, 64> histogram_{}; // [i]: holes of 2^i to 2^(i+1) - 1 bytes
    std::uint64_t total_ = 0;
};

// The pool after this many operations.
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
    // Returns what was allocated or freed; of an operation in pieces the first key and the sum of
    // all sizes.
    placed play(const operation& o);
    // What the last operation in pieces got; empty when it found no room.
    const std::vector<placed>& pieces() const { return pieces_; }
    // Needs options.history, as history() does. At most `most` states over the whole run, evenly
    // spread, the last of them now().
    state now() const;
    std::vector<state> history() const;
    // What is allocated now, in order.
    std::vector<span> allocated() const;
    const latencies& allocating() const { return allocating_; }
    const latencies& freeing() const { return freeing_; }
    // Operations in pieces that found room, and their pieces.
    std::uint64_t served_in_pieces() const { return served_in_pieces_; }
    std::uint64_t all_pieces() const { return all_pieces_; }
    std::uint64_t without_room() const { return without_room_; }

private:
    placed allocate(const operation& o);
    placed allocate_pieces(const operation& o);
    placed release(const operation& o);
    placed take(std::uint64_t size, std::uint64_t align, std::uint64_t hint, std::uint64_t& spent);
    std::uint64_t give(const placed& where);
    using hole_change = void (hole_counts::*)(const span&);
    void count_holes(const placed& where, hole_change whole, hole_change part);
    void remember();

    static constexpr std::size_t most = 512;
    replay_options options_;
    lath_index* list_;
    span hull_; // of the pool within the limits
    std::uint64_t pool_bytes_, used_ = 0, operations_ = 0, without_room_ = 0, next_hint_ = 0;
    std::uint64_t every_ = 1; // operations from one remembered state to the next
    std::vector<placed> live_; // by slot
    std::vector<placed> pieces_;
    std::uint64_t served_in_pieces_ = 0, all_pieces_ = 0;
    std::vector<state> history_;
    latencies allocating_, freeing_;
    span whole_; // of the pool
    hole_counts holes_;
};

} // namespace lathcli::alloc
