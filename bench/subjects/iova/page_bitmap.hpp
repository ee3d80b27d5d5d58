// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One bit per page.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace lathbench {

class page_bitmap {
    using u64 = std::uint64_t;

public:
    explicit page_bitmap(u64 pages) : words_((pages + 63) / 64) {}

    // Finds the first aligned place in [from, to) where all pages are clear.
    bool find_clear(u64 from, u64 to, u64 pages, u64 align, u64& at) const {
        for (u64 start = from;;) {
            start = next(start, to, false);
            start = (start + align - 1) & ~(align - 1);
            if (start + pages > to)
                return false;
            u64 taken = next(start, start + pages, true);
            if (taken == start + pages) {
                at = start;
                return true;
            }
            start = taken + 1;
        }
    }
    // Returns the first bit in [from, to) that is as asked, or to.
    u64 next(u64 from, u64 to, bool is_set) const {
        while (from < to) {
            u64 word = is_set ? words_[from / 64] : ~words_[from / 64];
            word >>= from % 64;
            if (word)
                return std::min(to, from + static_cast<u64>(std::countr_zero(word)));
            from = (from | 63) + 1;
        }
        return to;
    }
    void set(u64 from, u64 pages, bool value) {
        while (pages) {
            u64 offset = from % 64, n = std::min(pages, 64 - offset);
            u64 mask = (n == 64 ? ~u64{0} : (u64{1} << n) - 1) << offset;
            u64& word = words_[from / 64];
            word = value ? word | mask : word & ~mask;
            from += n;
            pages -= n;
        }
    }

private:
    std::vector<u64> words_;
};

} // namespace lathbench
