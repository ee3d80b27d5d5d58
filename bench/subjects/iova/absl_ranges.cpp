// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The free ranges in two B-trees of Abseil, by address and by size. A request takes the smallest
// range with an aligned place.
#include "halves.hpp"

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <iterator>
#include <utility>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class absl_part {
public:
    absl_part(u64 first, u64 end) {
        if (end > first)
            add(first, end - first);
    }
    bool take(u64 pages, u64 align, u64& first) {
        for (auto it = by_size_.lower_bound({pages, 0}); it != by_size_.end(); ++it) {
            auto [size, start] = *it;
            u64 at = (start + align - 1) & ~(align - 1);
            if (at - start > size - pages)
                continue;
            by_size_.erase(it);
            auto rest = by_start_.erase(by_start_.find(start));
            if (u64 behind = start + size - (at + pages))
                rest = add(at + pages, behind, rest);
            if (at > start)
                add(start, at - start, rest);
            used_ += pages;
            first = at;
            return true;
        }
        return false;
    }
    void give(u64 first, u64 pages, u64) {
        used_ -= pages;
        auto next = by_start_.lower_bound(first);
        if (next != by_start_.end() && next->first == first + pages) {
            pages += next->second;
            by_size_.erase({next->second, next->first});
            next = by_start_.erase(next);
        }
        if (next != by_start_.begin()) {
            auto before = std::prev(next);
            if (before->first + before->second == first) {
                by_size_.erase({before->second, before->first});
                before->second += pages;
                by_size_.insert({before->second, before->first});
                return;
            }
        }
        add(first, pages, next);
    }
    u64 used() const { return used_; }

private:
    using starts = absl::btree_map<u64, u64>;
    void add(u64 start, u64 size) { add(start, size, by_start_.end()); }
    starts::iterator add(u64 start, u64 size, starts::iterator hint) {
        by_size_.insert({size, start});
        return by_start_.emplace_hint(hint, start, size);
    }

    starts by_start_;
    absl::btree_set<std::pair<u64, u64>> by_size_; // size, start
    u64 used_ = 0;
};

} // namespace

iova_subject absl_iova() {
    return {{"absl-btree", "free ranges in two B-trees, best fit, one lock", ""},
            make_iova_halves<absl_part>};
}

} // namespace lathbench
