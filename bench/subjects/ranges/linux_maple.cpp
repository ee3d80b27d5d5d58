// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// linux_maple.c in C++: the maple tree with its lock around every call, and with RCU readers.
#include "linux_trees.h"
#include "map_bench.hpp"
#include "range_bench.hpp"

namespace lathbench {

namespace {

// Objects of linux_maple.c used by one thread at a time between enter() and leave().
template <bool Rcu>
class maple_base {
public:
    ~maple_base() {
        linux_maple_enter();
        linux_maple_free(tree_);
        linux_maple_leave();
    }
    void enter() { linux_maple_enter(); }
    void leave() { linux_maple_leave(); }

protected:
    linux_maple* tree_ = linux_maple_new(Rcu);
};

template <bool Rcu>
class maple_ranges : public maple_base<Rcu> {
    using maple_base<Rcu>::tree_;

public:
    bool insert(extent* item) {
        return linux_maple_insert(tree_, item->key, item->key + item->size - 1, item);
    }
    extent* lookup(u64 point) { return static_cast<extent*>(linux_maple_load(tree_, point)); }
    extent* erase(u64 point) { return static_cast<extent*>(linux_maple_erase(tree_, point)); }
};

void* entry_of(u64 value) { return reinterpret_cast<void*>(value); }

void add_to_tally(void* arg, u64 key, u64 value) { static_cast<tally*>(arg)->add(key, value); }

template <bool Rcu>
class maple_index : public maple_base<Rcu> {
    using maple_base<Rcu>::tree_;

public:
    bool insert(u64 key, u64 value) { return linux_maple_insert(tree_, key, key, entry_of(value)); }

    bool get(u64 key, u64& value) {
        value = reinterpret_cast<u64>(linux_maple_load(tree_, key));
        return value != 0;
    }

    static u64 memory() { return linux_maple_bytes(); }
    bool update(u64 key, u64 value) { return linux_maple_update(tree_, key, entry_of(value)); }
    bool erase(u64 key) { return linux_maple_erase(tree_, key) != nullptr; }
    bool floor(u64 point, u64& key, u64& value) {
        return linux_maple_floor(tree_, point, &key, &value);
    }
    void scan(u64 from, std::size_t length, tally& t) {
        linux_maple_scan(tree_, from, length, add_to_tally, &t);
    }
};

template <bool Rcu>
range_subject maple_subject(const char* name) {
    range_subject s;
    s.name = name;
    s.ranges = make_ranges<maple_ranges<Rcu>>;
    s.map_note = Rcu ? "bytes include nodes that wait for a grace period" : "";
    s.map = make_map<maple_index<Rcu>>;
    return s;
}

} // namespace

range_subject maple_lock_subject() { return maple_subject<false>("maple-lock"); }

range_subject maple_rcu_subject() { return maple_subject<true>("maple-rcu"); }

} // namespace lathbench
