// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Boost.Intrusive set: a red-black tree whose nodes are the user's objects, as in the kernel.
#include "map_bench.hpp"
#include "range_bench.hpp"

#include <boost/intrusive/set.hpp>

namespace lathbench {

namespace {

namespace bi = boost::intrusive;

using hook = bi::set_base_hook<bi::link_mode<bi::normal_link>, bi::optimize_size<true>>;

// The benchmark's extent seen as a Boost node: three words of hook, then key and size.
struct boost_extent : hook {
    u64 key, size;
};
static_assert(sizeof(boost_extent) == sizeof(extent));

boost_extent* from(extent* item) { return reinterpret_cast<boost_extent*>(item); }

extent* to(boost_extent* item) { return reinterpret_cast<extent*>(item); }

// Overlapping extents are equivalent, so a unique insert refuses an overlap.
struct before {
    bool operator()(const boost_extent& a, const boost_extent& b) const {
        return a.key + a.size <= b.key;
    }
    bool operator()(u64 a, const boost_extent& b) const { return a < b.key; }
    bool operator()(const boost_extent& a, u64 b) const { return a.key + a.size <= b; }
};

class boost_ranges {
public:
    bool insert(extent* item) {
        new (static_cast<hook*>(from(item))) hook;
        guard g(lock_);
        return set_.insert(*from(item)).second;
    }

    extent* lookup(u64 point) {
        guard g(lock_);
        auto it = set_.find(point, before());
        return it == set_.end() ? nullptr : to(&*it);
    }

    extent* erase(u64 point) {
        guard g(lock_);
        auto it = set_.find(point, before());
        if (it == set_.end())
            return nullptr;
        boost_extent* item = &*it;
        set_.erase(it);
        return to(item);
    }

private:
    bi::set<boost_extent, bi::compare<before>, bi::constant_time_size<false>> set_;
    spin_lock lock_;
};

struct pair_node : hook {
    u64 key, value;
    pair_node(u64 k, u64 v) : key(k), value(v) {}
};

struct by_key {
    using type = u64;
    u64 operator()(const pair_node& n) const { return n.key; }
};

template <class Lock>
class boost_index {
    using set = bi::set<pair_node, bi::key_of_value<by_key>, bi::constant_time_size<false>>;

public:
    ~boost_index() {
        set_.clear_and_dispose([](pair_node* n) { delete n; });
    }
    bool insert(u64 key, u64 value) {
        auto* node = new pair_node(key, value);
        guard g(lock_);
        if (set_.insert(*node).second)
            return true;
        delete node;
        return false;
    }

    bool get(u64 key, u64& value) {
        guard g(lock_);
        auto it = set_.find(key);
        if (it == set_.end())
            return false;
        value = it->value;
        return true;
    }

    bool update(u64 key, u64 value) {
        guard g(lock_);
        auto it = set_.find(key);
        if (it == set_.end())
            return false;
        it->value = value;
        return true;
    }

    bool erase(u64 key) {
        pair_node* node;
        {
            guard g(lock_);
            auto it = set_.find(key);
            if (it == set_.end())
                return false;
            node = &*it;
            set_.erase(it);
        }
        delete node;
        return true;
    }

    bool floor(u64 point, u64& key, u64& value) {
        guard g(lock_);
        auto it = set_.upper_bound(point);
        if (it == set_.begin())
            return false;
        --it;
        key = it->key;
        value = it->value;
        return true;
    }

    void scan(u64 from, std::size_t length, tally& t) {
        guard g(lock_);
        for (auto it = set_.lower_bound(from); length-- && it != set_.end(); ++it)
            t.add(it->key, it->value);
    }

private:
    set set_;
    [[no_unique_address]] Lock lock_;
};

} // namespace

range_subject boost_rbtree_subject() {
    range_subject s;
    s.name = "boost-rbtree";
    s.ranges = make_ranges<boost_ranges>;
    s.map = make_map<boost_index<no_lock>, boost_index<spin_lock>>;
    return s;
}

} // namespace lathbench
