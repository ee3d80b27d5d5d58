// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A red-black tree (std::map) by first page behind one reader-writer lock. It has no summary of
// holes: a search goes down from below the region that was mapped last, and once more from the top,
// as Linux did until 3.7.
#include "regions_subject.hpp"

#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr u64 top = u64{1} << 35;

class map_space : public address_space {
public:
    u64 query(u64 page) override {
        std::shared_lock lock(lock_);
        auto at = regions_.upper_bound(page);
        return at == regions_.begin() || (--at)->second.last < page ? 0 : at->second.access;
    }
    u64 alloc(u64 pages, u64 access) override {
        std::unique_lock lock(lock_);
        u64 first = hole_below(cursor_, pages);
        if (!first)
            first = hole_below(top, pages);
        if (first)
            regions_[first] = {first + pages - 1, access};
        cursor_ = first ? first : top;
        return first;
    }
    void map(const region& r) override {
        std::unique_lock lock(lock_);
        cut(r.first, r.last);
        regions_[r.first] = {r.last, r.access};
    }
    void unmap(u64 first, u64 last) override {
        std::unique_lock lock(lock_);
        cut(first, last);
        if (last + 1 > cursor_)
            cursor_ = last + 1;
    }
    void protect(const region& r) override {
        std::unique_lock lock(lock_);
        cut(r.first, r.last);
        auto at = regions_.insert_or_assign(r.first, rest{r.last, r.access}).first;
        auto next = std::next(at);
        if (next != regions_.end() && next->first == r.last + 1 &&
            next->second.access == r.access) {
            at->second.last = next->second.last;
            regions_.erase(next);
        }
        if (at == regions_.begin())
            return;
        auto left = std::prev(at);
        if (left->second.last + 1 == r.first && left->second.access == r.access) {
            left->second.last = at->second.last;
            regions_.erase(at);
        }
    }

private:
    struct rest {
        u64 last, access;
    };

    // The highest hole of this many pages whose last page is below `end`, or 0.
    u64 hole_below(u64 end, u64 pages) const {
        for (auto at = regions_.lower_bound(end);; --at) {
            u64 low = at == regions_.begin() ? 1 : std::prev(at)->second.last + 1;
            if (end >= low + pages)
                return end - pages;
            if (at == regions_.begin())
                return 0;
            end = std::prev(at)->first;
        }
    }
    // Leaves none of these pages mapped.
    void cut(u64 first, u64 last) {
        auto at = regions_.upper_bound(first);
        if (at != regions_.begin() && std::prev(at)->second.last >= first)
            --at;
        while (at != regions_.end() && at->first <= last) {
            rest whole = at->second;
            u64 start = at->first;
            at = regions_.erase(at);
            if (start < first)
                regions_[start] = {first - 1, whole.access};
            if (whole.last > last)
                regions_[last + 1] = whole;
        }
    }

    std::shared_mutex lock_;
    std::map<u64, rest> regions_;
    u64 cursor_ = top;
};

} // namespace

regions_subject std_map_regions() {
    return {{"std-map", "a red-black tree behind one reader-writer lock", ""},
            [] { return std::make_unique<map_space>(); }};
}

} // namespace lathbench
