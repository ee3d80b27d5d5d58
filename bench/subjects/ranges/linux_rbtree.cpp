// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// linux_rbtree.c in C++: the kernel's red-black tree, the named peer of table `ranges`.
#include "linux_trees.h"
#include "map_bench.hpp"
#include "range_bench.hpp"

namespace lathbench {

static_assert(sizeof(extent) == sizeof(linux_extent));

namespace {

linux_extent* from(extent* item) { return reinterpret_cast<linux_extent*>(item); }

extent* to(linux_extent* item) { return reinterpret_cast<extent*>(item); }

class rbtree_ranges {
public:
    ~rbtree_ranges() { linux_rbtree_free(tree_); }
    bool insert(extent* item) { return linux_rbtree_insert_extent(tree_, from(item)); }
    extent* lookup(u64 point) { return to(linux_rbtree_lookup_extent(tree_, point)); }
    extent* erase(u64 point) { return to(linux_rbtree_erase_extent(tree_, point)); }

private:
    linux_rbtree* tree_ = linux_rbtree_new(1);
};

void add_to_tally(void* arg, u64 key, u64 value) { static_cast<tally*>(arg)->add(key, value); }

template <bool Locked>
class rbtree_index {
public:
    ~rbtree_index() { linux_rbtree_free_pairs(tree_); }
    bool insert(u64 key, u64 value) { return linux_rbtree_insert(tree_, key, value); }
    bool get(u64 key, u64& value) { return linux_rbtree_get(tree_, key, &value); }
    bool update(u64 key, u64 value) { return linux_rbtree_update(tree_, key, value); }
    bool erase(u64 key) { return linux_rbtree_erase(tree_, key); }
    bool floor(u64 point, u64& key, u64& value) {
        return linux_rbtree_floor(tree_, point, &key, &value);
    }
    void scan(u64 from, std::size_t length, tally& t) {
        linux_rbtree_scan(tree_, from, length, add_to_tally, &t);
    }

private:
    linux_rbtree* tree_ = linux_rbtree_new(Locked);
};

} // namespace

range_subject linux_rbtree_subject() {
    range_subject s;
    s.name = "linux-rbtree";
    s.ranges = make_ranges<rbtree_ranges>;
    s.map = make_map<rbtree_index<false>, rbtree_index<true>>;
    return s;
}

} // namespace lathbench
