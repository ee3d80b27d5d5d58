// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// oneTBB concurrent_map: a skip list, one node per entry. Its only erase is unsafe beside other
// calls, and linear in the size of the map: cases that erase are n/a. It has no step backwards: no
// floor, and extents only by their exact start.
#include "map_bench.hpp"
#include "range_bench.hpp"

#include <tbb/concurrent_map.h>
#include <tbb/scalable_allocator.h>

namespace lathbench {

namespace {

class tbb_ranges {
public:
    using exact_keys = void;
    bool insert(extent* item) { return map_.emplace(item->key, item).second; }

    extent* lookup(u64 key) {
        auto it = map_.find(key);
        return it == map_.end() ? nullptr : it->second;
    }

private:
    tbb::concurrent_map<u64, extent*> map_;
};

class tbb_index {
public:
    bool insert(u64 key, u64 value) { return map_.emplace(key, value).second; }

    bool get(u64 key, u64& value) {
        auto it = map_.find(key);
        if (it == map_.end())
            return false;
        value = __atomic_load_n(&it->second, __ATOMIC_RELAXED);
        return true;
    }

    bool update(u64 key, u64 value) {
        auto it = map_.find(key);
        if (it == map_.end())
            return false;
        __atomic_store_n(&it->second, value, __ATOMIC_RELAXED);
        return true;
    }

    void scan(u64 from, std::size_t length, tally& t) {
        for (auto it = map_.lower_bound(from); length-- && it != map_.end(); ++it)
            t.add(it->first, __atomic_load_n(&it->second, __ATOMIC_RELAXED));
    }

    // TBB's own allocator keeps what is freed unless told
    ~tbb_index() {
        map_.clear();
        scalable_allocation_command(TBBMALLOC_CLEAN_ALL_BUFFERS, nullptr);
    }
    static u64 memory() { return resident_bytes(); }

private:
    tbb::concurrent_map<u64, u64> map_;
};

} // namespace

range_subject tbb_subject() {
    range_subject s;
    s.name = "tbb";
    s.ranges = make_ranges<tbb_ranges>;
    s.ranges_note = "exact keys only (less work); no safe erase";
    s.map = make_map<tbb_index>;
    s.map_note = "no safe erase, no floor";
    return s;
}

} // namespace lathbench
