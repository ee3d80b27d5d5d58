// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Allocators of address ranges, as table `iova` sees them.
//
// All figures are in pages of 4 KiB. The space is [first, low_end) and behind it [low_end, end); a
// request is served below low_end where possible, as IOMMU drivers try 32-bit addresses first.
// Peers whose space is one table (bitmap, buddy) take low_end to `tabled` and call the rest not
// theirs: no workload comes near it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lathbench {

struct iova_space {
    std::uint64_t first = 1; // page 0 is nobody's: address 0 means "none"
    std::uint64_t low_end = std::uint64_t{1} << 20;
    std::uint64_t end = std::uint64_t{1} << 36; // low_end: nothing above
    std::uint64_t tabled() const { return end > 8 * low_end ? 8 * low_end : end; }
};

constexpr std::uint64_t power_of_two_from(std::uint64_t pages) {
    std::uint64_t power = 1;
    while (power < pages)
        power *= 2;
    return power;
}

class iova_allocator {
public:
    virtual ~iova_allocator() = default;
    // By each thread before its first call, after its last; threads are numbered from 0.
    virtual void enter(int) {}
    virtual void leave(int) {}
    // align: a power of two. false: no room.
    virtual bool alloc(std::uint64_t pages, std::uint64_t align, std::uint64_t& first) = 0;
    virtual void free(std::uint64_t first, std::uint64_t pages, std::uint64_t align) = 0;
    // Pages that are not free, after what caches hold has been given back. No other call runs.
    virtual std::uint64_t used() = 0;
};

struct iova_subject {
    std::string name;
    std::string note;
    std::string missing; // not in this build, and why
    std::function<std::unique_ptr<iova_allocator>(const iova_space&)> make; // empty: maps nothing
};

const std::vector<iova_subject>& iova_subjects();

} // namespace lathbench
