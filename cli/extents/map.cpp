// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "extents/map.hpp"

#include <algorithm>
#include <cerrno>

namespace lathcli {

int extent_map::add(unsigned device, const extent& e, owner who, std::vector<pending>& later) {
    lathwork::range where = key(device, e.physical, e.length);
    auto done = index_.insert(where, pack(who));
    if (done.error != -EEXIST)
        return done.error;
    later.push_back({where, who});
    return 0;
}

int extent_map::settle(std::vector<pending> later) {
    // The order of the threads must not show in the result.
    std::ranges::sort(later, {}, [](const pending& p) { return pack(p.who); });
    for (const pending& p : later)
        if (int error = share(p.where, p.who))
            return error;
    for (auto& group : groups_)
        std::ranges::sort(group, {}, pack);
    return 0;
}

// Cut the segment that covers `at` so that one begins there. Both parts keep the owners.
int extent_map::cut(std::uint64_t at) {
    auto there = index_.find_entry(at);
    if (!there || there->where.key == at)
        return 0;
    std::uint64_t value = there->value;
    if (value & shared_bit) { // each segment has its own group: they grow apart
        groups_.push_back(std::vector<owner>(groups_[value & ~shared_bit]));
        value = shared_bit | (groups_.size() - 1);
    }
    return index_.split(at, value).error;
}

// A segment gets one more owner.
int extent_map::join(lathwork::range piece, std::uint64_t value, owner who) {
    if (value & shared_bit) {
        groups_[value & ~shared_bit].push_back(who);
        return 0;
    }
    groups_.push_back({unpack(value), who});
    return index_.replace(piece.key, shared_bit | (groups_.size() - 1)).error;
}

// Walk `where` from left to right: fill what is free, join what is there.
int extent_map::share(lathwork::range where, owner who) {
    if (int error = cut(where.key))
        return error;
    if (int error = cut(where.end()))
        return error;
    std::uint64_t at = where.first(), end = where.end();
    while (at < end) {
        auto next = index_.ceiling(at);
        bool here = next && next->where.key == at;
        std::uint64_t until = here   ? next->where.end()
                              : next ? std::min(next->where.key, end)
                                     : end;
        int error =
            here ? join(next->where, next->value, who) : index_.insert(at, until, pack(who)).error;
        if (error)
            return error;
        at = until;
    }
    return 0;
}

segment extent_map::make(lathwork::range where, std::uint64_t value) const {
    segment s{
        static_cast<unsigned>(where.key >> 56), where.key & (device_limit - 1), where.size, {}};
    if (value & shared_bit)
        s.owners = groups_[value & ~shared_bit];
    else
        s.owners.push_back(unpack(value));
    return s;
}

std::vector<segment> extent_map::at(unsigned device, std::uint64_t physical) const {
    return overlap(device, physical, physical + 1);
}

std::vector<segment> extent_map::overlap(unsigned device, std::uint64_t from,
                                         std::uint64_t end) const {
    std::vector<segment> found;
    from = std::min(from, device_limit);
    end = std::min(end, device_limit);
    if (from >= end)
        return found;
    for (auto [where, value] : index_.overlapping(key(device, from, end - from)))
        found.push_back(make(where, value));
    return found;
}

std::uint64_t extent_map::bytes() const {
    std::uint64_t sum = 0;
    for (auto [where, value] : index_)
        sum += where.size;
    return sum;
}

std::vector<gap> extent_map::largest_gaps(std::size_t n) const {
    auto longer = [](const gap& a, const gap& b) {
        return a.length != b.length   ? a.length > b.length
               : a.device != b.device ? a.device < b.device
                                      : a.physical < b.physical;
    };
    std::vector<gap> heap; // the shortest of the longest on top
    std::uint64_t before = UINT64_MAX;
    for (auto [where, value] : index_) {
        std::uint64_t from = before;
        before = where.key + where.size;
        if (from == UINT64_MAX || from >> 56 != where.key >> 56 || from == where.key || n == 0)
            continue;
        gap g{static_cast<unsigned>(from >> 56), from & (device_limit - 1), where.key - from};
        if (heap.size() == n) {
            if (!longer(g, heap.front()))
                continue;
            std::ranges::pop_heap(heap, longer);
            heap.pop_back();
        }
        heap.push_back(g);
        std::ranges::push_heap(heap, longer);
    }
    std::ranges::sort_heap(heap, longer);
    return heap;
}

} // namespace lathcli
