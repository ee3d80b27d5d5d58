// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The I/Os of table `iova`: what a thread maps, holds and unmaps.
//
// Each thread has ten I/Os of 20 MiB, each a set of ranges, and sends them to the device, which
// completes them one by one, in order. Of a completed I/O, the thread unmaps the ranges in random
// order, maps new ones, and sends it again.
#pragma once

#include "subjects/iova/iova_subject.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lathbench {

// How an I/O is cut into ranges.
enum class io_kind {
    pages, // "4k": page by page
    mix, // all of one page or all of 256 pages, at random
    big, // 256 pages (50 %), 128 (25 %), 1 to 256 (15 %), 1 (10 %)
    fragments, // "frag": 1 to 256 pages
};

constexpr std::size_t io_depth = 10;
constexpr std::uint64_t io_pages = 5120; // 20 MiB
constexpr std::uint64_t most_pages = 256; // in a range

struct io_range {
    std::uint64_t first : 48;
    std::uint64_t pages : 16;
};

// Completes I/Os one after the other at a fixed bandwidth, and counts how long it had nothing to
// do.
class io_device {
public:
    // now: when the device starts; all times are in ns
    io_device(std::uint64_t now, std::uint64_t ns_per_io)
        : ns_per_io_(ns_per_io), begin_(now), ready_(now) {}
    // Sends an I/O. Returns when it will be complete.
    std::uint64_t send(std::uint64_t now);
    // Returns the share of the time from the start to now in which the device was at work.
    double busy(std::uint64_t now) const;

private:
    std::uint64_t ns_per_io_, begin_;
    std::atomic<std::uint64_t> ready_, idle_{0};
};

// Who holds each page. Pages are claimed one by one with an atomic exchange, so that a second
// holder is found at once. claim() and release() return false when somebody else has a page.
class page_owners {
public:
    explicit page_owners(const iova_space& space);
    bool claim(std::uint64_t first, std::uint64_t pages);
    bool release(std::uint64_t first, std::uint64_t pages);
    double low_free() const; // the free share of the space below low_end

private:
    std::uint64_t low_end_;
    std::atomic<std::uint64_t> low_used_{0};
    std::unique_ptr<std::atomic<bool>[]> low_;
    std::mutex lock_;
    std::map<std::uint64_t, std::uint64_t> high_; // end -> first of what lies above
};

// One thread's I/Os.
class io_worker {
public:
    io_worker(iova_allocator* allocator, const iova_space& space, io_kind kind, std::uint64_t pages,
              std::uint64_t seed);

    // Each of these ends when `stop` is set; I/Os may then be partly mapped.
    void fill(const std::atomic<bool>& stop); // map all
    void saturate(const std::atomic<bool>& stop); // unmap and map at random, without waiting
    void drive(const std::atomic<bool>& stop, io_device& device); // as the device completes
    void check(const std::atomic<bool>& stop, page_owners& owners); // as saturate()
    void drain();

    bool filled() const { return filled_; }
    // Since the last call: how many ranges were mapped, how many of them above low_end, and how
    // many requests found no place.
    struct counts {
        std::uint64_t mapped = 0, above = 0, failed = 0;
        double low_free = 0; // in check(): sum of low_free() over `above`
    };
    counts take_counts();
    std::vector<float> take_latency(); // ns, of every 32nd mapping in saturate()
    bool right() const { return right_; } // aligned, inside the space, never held twice
    void held(std::vector<io_range>& all) const;

private:
    using io = std::vector<io_range>;
    template <bool Timed>
    void map(io& ranges, const std::atomic<bool>& stop);
    void unmap(io& ranges, const std::atomic<bool>& stop);
    bool place(std::uint64_t pages, std::uint64_t& first);
    std::uint64_t next_size(bool small, std::uint64_t left);
    std::uint32_t random();

    iova_allocator* allocator_; // nullptr: nothing is mapped
    iova_space space_;
    io_kind kind_;
    std::uint64_t pages_, random_, identity_ = 0;
    std::array<io, io_depth> ios_;
    std::vector<float> latency_;
    counts counts_;
    page_owners* owners_ = nullptr;
    bool right_ = true, filled_ = false;
};

// Sorts the ranges. Returns whether no two of them share a page.
bool disjoint(std::vector<io_range>& all);

} // namespace lathbench
