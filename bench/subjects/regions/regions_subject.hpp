// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The subjects of table `address-space`: the regions of an address space, which threads look up,
// map, unmap and protect at once. Addresses are pages.
#pragma once

#include "harness/subject.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lathbench {

// Pages first to last; what they may be used for is a number from 1 on.
struct region {
    std::uint64_t first, last;
    std::uint64_t access;
};

// Pages 1 to 2^35: an address space of 47 bits. All calls may be made by several threads at once.
class address_space {
public:
    virtual ~address_space() = default;
    // A thread begins, ends.
    virtual void enter() {}
    virtual void leave() {}
    // Returns the access of the region of this page, 0: there is none.
    virtual std::uint64_t query(std::uint64_t page) = 0;
    // The same for a page fault: no other thread changes the region before the answer is used.
    virtual std::uint64_t fault(std::uint64_t page) { return query(page); }
    // Maps a region where there is room for it; returns its first page, 0: there is no room.
    virtual std::uint64_t alloc(std::uint64_t pages, std::uint64_t access) = 0;
    // Maps a region in the place of what is there.
    virtual void map(const region& r) = 0;
    virtual void unmap(std::uint64_t first, std::uint64_t last) = 0;
    // Changes the access of mapped pages. Regions of equal access that adjoin become one.
    virtual void protect(const region& r) = 0;
};

struct regions_subject : subject {
    std::function<std::unique_ptr<address_space>()> make;
};

regions_subject lathwork_regions();
regions_subject linux_maple_regions();        // readers without a lock
regions_subject linux_maple_locked_regions(); // one reader-writer lock
regions_subject std_map_regions();

// All of them, ours first; they are made once and never change.
const std::vector<regions_subject>& regions_subjects();

} // namespace lathbench
