// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Subjects from containers that have the interface of std::map.
#pragma once

#include "map_bench.hpp"
#include "range_bench.hpp"

#include <iterator>

namespace lathbench {

// Maps the start of an extent to the extent, behind one spinlock.
template <class Map>
class ordered_map_ranges {
public:
    bool insert(extent* item) {
        guard g(lock_);
        auto next = map_.lower_bound(item->key);
        if (next != map_.end() && next->first - item->key < item->size)
            return false;
        if (next != map_.begin() && covers(*std::prev(next)->second, item->key))
            return false;
        map_.emplace_hint(next, item->key, item);
        return true;
    }

    extent* lookup(u64 point) {
        guard g(lock_);
        auto it = find(point);
        return it == map_.end() ? nullptr : it->second;
    }

    extent* erase(u64 point) {
        guard g(lock_);
        auto it = find(point);
        if (it == map_.end())
            return nullptr;
        extent* item = it->second;
        map_.erase(it);
        return item;
    }

private:
    static bool covers(const extent& item, u64 point) { return point - item.key < item.size; }

    typename Map::iterator find(u64 point) {
        auto it = map_.upper_bound(point);
        if (it == map_.begin())
            return map_.end();
        --it;
        return covers(*it->second, point) ? it : map_.end();
    }

    Map map_;
    spin_lock lock_;
};

template <class Map, class Lock>
class ordered_map_index {
public:
    bool insert(u64 key, u64 value) {
        guard g(lock_);
        return map_.emplace(key, value).second;
    }

    bool get(u64 key, u64& value) {
        guard g(lock_);
        auto it = map_.find(key);
        if (it == map_.end())
            return false;
        value = it->second;
        return true;
    }

    bool update(u64 key, u64 value) {
        guard g(lock_);
        auto it = map_.find(key);
        if (it == map_.end())
            return false;
        it->second = value;
        return true;
    }

    bool erase(u64 key) {
        guard g(lock_);
        return map_.erase(key) != 0;
    }

    bool floor(u64 point, u64& key, u64& value) {
        guard g(lock_);
        auto it = map_.upper_bound(point);
        if (it == map_.begin())
            return false;
        --it;
        key = it->first;
        value = it->second;
        return true;
    }

    void scan(u64 from, std::size_t length, tally& t) {
        guard g(lock_);
        for (auto it = map_.lower_bound(from); length-- && it != map_.end(); ++it)
            t.add(it->first, it->second);
    }

private:
    Map map_;
    [[no_unique_address]] Lock lock_;
};

// One container in both tables.
template <class RangeMap, class IndexMap>
range_subject ordered_map_subject(const char* name) {
    range_subject s;
    s.name = name;
    s.ranges = make_ranges<ordered_map_ranges<RangeMap>>;
    s.map = make_map<ordered_map_index<IndexMap, no_lock>, ordered_map_index<IndexMap, spin_lock>>;
    return s;
}

} // namespace lathbench
