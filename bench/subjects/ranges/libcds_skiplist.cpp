// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// libcds SkipListMap over its own RCU (general_buffered): a lock-free skip list, one node per
// entry. It offers no search for a neighbour: no floor, no scan from a key, extents only by their
// exact start.
#include "map_bench.hpp"
#include "range_bench.hpp"

#include <cds/init.h>
#include <cds/urcu/general_buffered.h>

#include <cds/container/skip_list_map_rcu.h>

namespace lathbench {

namespace {

using rcu = cds::urcu::gc<cds::urcu::general_buffered<>>;

struct traits : cds::container::skip_list::traits {
    using less = std::less<u64>;
};

// libcds wants to be initialised once, then each thread attached.
void enter_libcds() {
    static struct library {
        library() { cds::Initialize(); }
        ~library() { cds::Terminate(); }
    } once;
    static rcu collector;
    cds::threading::Manager::attachThread();
}

template <class Value>
class attached {
public:
    attached() {
        enter();
        map_ = std::make_unique<map>();
    }
    ~attached() {
        map_.reset();
        leave();
    }
    void enter() { enter_libcds(); }
    void leave() { cds::threading::Manager::detachThread(); }

protected:
    using map = cds::container::SkipListMap<rcu, u64, Value, traits>;
    std::unique_ptr<map> map_;
};

class libcds_ranges : public attached<extent*> {
public:
    using exact_keys = void;
    bool insert(extent* item) { return map_->insert(item->key, item); }

    extent* lookup(u64 key) {
        extent* item = nullptr;
        map_->find(key, [&](auto& entry) { item = entry.second; });
        return item;
    }

    extent* erase(u64 key) {
        extent* item = nullptr;
        map_->erase(key, [&](auto& entry) { item = entry.second; });
        return item;
    }
};

class libcds_index : public attached<u64> {
public:
    bool insert(u64 key, u64 value) { return map_->insert(key, value); }

    bool get(u64 key, u64& value) {
        return map_->find(
            key, [&](auto& entry) { value = __atomic_load_n(&entry.second, __ATOMIC_RELAXED); });
    }

    bool update(u64 key, u64 value) {
        return map_->find(
            key, [&](auto& entry) { __atomic_store_n(&entry.second, value, __ATOMIC_RELAXED); });
    }

    bool erase(u64 key) { return map_->erase(key); }
};

} // namespace

range_subject libcds_subject() {
    range_subject s;
    s.name = "libcds";
    s.ranges = make_ranges<libcds_ranges>;
    s.ranges_note = "exact keys only (less work)";
    s.map = make_map<libcds_index>;
    s.map_note = "no floor, no scan from a key";
    return s;
}

} // namespace lathbench
