// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The free ranges in two B-trees of Abseil, by address and by size. A request takes the smallest
// range with an aligned place.
#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <cstdint>
#include <iterator>
#include <utility>

namespace lathbench {

// What is not in [first, end) may be given to it as well; used() then counts from below 0.
class best_fit_part {
public:
    best_fit_part(std::uint64_t first, std::uint64_t end) {
        if (end > first)
            add(first, end - first);
    }
    bool take(std::uint64_t pages, std::uint64_t align, std::uint64_t& first) {
        for (auto it = by_size_.lower_bound({pages, 0}); it != by_size_.end(); ++it) {
            auto [size, start] = *it;
            std::uint64_t at = (start + align - 1) & ~(align - 1);
            if (at - start > size - pages)
                continue;
            by_size_.erase(it);
            auto rest = by_start_.erase(by_start_.find(start));
            if (std::uint64_t behind = start + size - (at + pages))
                rest = add(at + pages, behind, rest);
            if (at > start)
                add(start, at - start, rest);
            used_ += pages;
            first = at;
            return true;
        }
        return false;
    }
    void give(std::uint64_t first, std::uint64_t pages, std::uint64_t) {
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
    std::uint64_t used() const { return used_; }

private:
    using starts = absl::btree_map<std::uint64_t, std::uint64_t>;
    void add(std::uint64_t start, std::uint64_t size) { add(start, size, by_start_.end()); }
    starts::iterator add(std::uint64_t start, std::uint64_t size, starts::iterator hint) {
        by_size_.insert({size, start});
        return by_start_.emplace_hint(hint, start, size);
    }

    starts by_start_;
    absl::btree_set<std::pair<std::uint64_t, std::uint64_t>> by_size_; // size, start
    std::uint64_t used_ = 0;
};

} // namespace lathbench
