// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One bit per page. A search takes the next aligned run of zeros behind the last one it found; if
// there is none, it starts again at the beginning.
#include "halves.hpp"
#include "page_bitmap.hpp"

#include <algorithm>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class bitmap_part {
public:
    // The base is a multiple of every alignment in use, or 0.
    bitmap_part(u64 first, u64 end) : base_(first & ~u64{63}), end_(end - base_), bits_(end_) {
        bits_.set(0, first - base_, true);
        lowest_ = hint_ = first - base_;
    }
    bool take(u64 pages, u64 align, u64& first) {
        u64 at;
        if (!bits_.find_clear(hint_, end_, pages, align, at) &&
            !bits_.find_clear(lowest_, std::min(end_, hint_ + pages + align), pages, align, at))
            return false;
        bits_.set(at, pages, true);
        used_ += pages;
        hint_ = at + pages;
        first = base_ + at;
        return true;
    }
    void give(u64 first, u64 pages, u64) {
        bits_.set(first - base_, pages, false);
        used_ -= pages;
    }
    u64 used() const { return used_; }

private:
    u64 base_, end_, lowest_ = 0, hint_ = 0, used_ = 0;
    page_bitmap bits_;
};

} // namespace

iova_subject bitmap_iova() { return {{"bitmap", "one lock", ""}, make_iova_halves<bitmap_part>}; }

} // namespace lathbench
