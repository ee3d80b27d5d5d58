// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `iova`: allocators of address ranges.
//
// All figures are in pages of 4 KiB. The space is [first, low_end) and behind it [low_end, end). An
// allocator serves a request below low_end if it can, as IOMMU drivers try 32-bit addresses first.
// halves.hpp makes one from a structure without locks.
#pragma once

#include "harness/memory.hpp"
#include "harness/subject.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lathbench {

struct iova_space {
    std::uint64_t first = 1; // page 0 belongs to nobody: address 0 means "none"
    std::uint64_t low_end = std::uint64_t{1} << 20;
    std::uint64_t end = std::uint64_t{1} << 36; // low_end: there is nothing above
    // The end for allocators that keep a table with an entry per page, which would be too large
    // for the whole space. No workload comes near it.
    std::uint64_t tabled() const { return end > 8 * low_end ? 8 * low_end : end; }
};

// The least power of two that is not below pages.
constexpr std::uint64_t power_of_two_from(std::uint64_t pages) {
    std::uint64_t power = 1;
    while (power < pages)
        power *= 2;
    return power;
}

// Several threads may be in enter(), leave(), alloc() and free() at once.
class iova_allocator {
public:
    virtual ~iova_allocator() = default;
    // Each thread calls these before its first call and after its last. Threads count from 0.
    virtual void enter(int) {}
    virtual void leave(int) {}
    // align is a power of two. Returns false when there is no room.
    virtual bool alloc(std::uint64_t pages, std::uint64_t align, std::uint64_t& first) = 0;
    // pages and align are those of the alloc().
    virtual void free(std::uint64_t first, std::uint64_t pages, std::uint64_t align) = 0;
    // Returns how many pages are allocated, after it has given back what caches hold. No other
    // call may run.
    virtual std::uint64_t used() = 0;
    // Returns the bytes of memory that the allocator uses: by default all that malloc() has
    // given out since it was made, to whomever.
    virtual std::uint64_t bytes() const {
        return std::max(heap_bytes(), heap_before_) - heap_before_;
    }

private:
    std::uint64_t heap_before_ = heap_bytes();
};

struct iova_subject : subject {
    std::function<std::unique_ptr<iova_allocator>(const iova_space&)> make; // empty: maps nothing
};

std::vector<iova_subject> lathwork_iova_subjects();
std::vector<iova_subject> linux_iova_subjects();
iova_subject bitmap_iova();
iova_subject buddy_iova();
iova_subject icl_iova();
iova_subject absl_iova();

// All of them, ours first; they are made once and never change.
const std::vector<iova_subject>& iova_subjects();

} // namespace lathbench
