// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Boost.ICL: an interval_set of the free ranges. A request takes the first one with an aligned
// place.
#include "halves.hpp"

#include <boost/icl/interval_set.hpp>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class icl_part {
    using interval = boost::icl::right_open_interval<u64>;

public:
    icl_part(u64 first, u64 end) : room_(end - first), free_pages_(room_) {
        if (room_)
            free_.add(interval(first, end));
    }
    bool take(u64 pages, u64 align, u64& first) {
        for (const auto& hole : free_) {
            u64 at = (hole.lower() + align - 1) & ~(align - 1);
            if (at + pages > hole.upper())
                continue;
            free_.subtract(interval(at, at + pages));
            free_pages_ -= pages;
            first = at;
            return true;
        }
        return false;
    }
    void give(u64 first, u64 pages, u64) {
        free_.add(interval(first, first + pages));
        free_pages_ += pages;
    }
    u64 used() const { return room_ - free_pages_; }

private:
    u64 room_, free_pages_;
    boost::icl::interval_set<u64, std::less, interval> free_;
};

} // namespace

iova_subject icl_iova() {
    return {{"icl", "Boost.ICL interval_set of free ranges, first fit, one lock", ""},
            make_iova_halves<icl_part>};
}

} // namespace lathbench
