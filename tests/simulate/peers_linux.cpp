// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Linux 6.1's red-black tree and maple tree, each behind a queue lock (queue_lock.h): the
// files of the benchmarks.
#include "load.hpp"

#ifdef LATH_SUBJECT_LINUX
#include "bench/subjects/iova/linux_iova.h"
#include "bench/subjects/locks/linux_ranges.h"
#include "bench/subjects/ranges/linux_trees.h"

namespace simulate {

namespace {

class rbtree_points : public structure {
public:
    bool insert(u64 key, u64 value) override { return linux_rbtree_insert(tree_, key, value); }
    bool get(u64 key) override {
        u64 value;
        return linux_rbtree_get(tree_, key, &value);
    }
    bool erase(u64 key) override { return linux_rbtree_erase(tree_, key); }
    ~rbtree_points() override { linux_rbtree_free_pairs(tree_); }

private:
    linux_rbtree* tree_ = linux_rbtree_new(1);
};

// The ranges are objects of the caller's, which are not freed before the end.
class rbtree_ranges : public structure {
public:
    bool insert_range(u64 key, u64 size) override {
        auto* range = static_cast<linux_extent*>(memory(16, sizeof(linux_extent)));
        range->key = key;
        range->size = size;
        return linux_rbtree_insert_extent(tree_, range);
    }
    bool find(u64 point) override { return linux_rbtree_lookup_extent(tree_, point); }
    bool take(u64 point) override { return linux_rbtree_erase_extent(tree_, point); }
    ~rbtree_ranges() override { linux_rbtree_free(tree_); }

private:
    linux_rbtree* tree_ = linux_rbtree_new(1);
};

class rbtree_iova : public structure {
public:
    bool alloc(u64& first) override { return linux_iova_alloc(iova_, 1, 1, 0, &first); }
    void release(u64 first) override { linux_iova_free(iova_, first); }
    ~rbtree_iova() override { linux_iova_free_all(iova_); }

private:
    linux_iova* iova_ = linux_iova_new(LINUX_IOVA_6_1, 1, 1, u64{1} << 32);
};

class maple_structure : public structure {
public:
    bool insert(u64 key, u64 value) override { return insert_range(key, 1) && value; }
    bool get(u64 key) override { return linux_maple_load(tree_, key); }
    bool erase(u64 key) override { return linux_maple_erase(tree_, key); }
    bool insert_range(u64 key, u64 size) override {
        return linux_maple_insert(tree_, key, key + size - 1, reinterpret_cast<void*>(5));
    }
    bool find(u64 point) override { return linux_maple_load(tree_, point); }
    bool take(u64 point) override { return linux_maple_erase(tree_, point); }
    bool alloc(u64& first) override {
        return linux_maple_alloc(tree_, 1, (u64{1} << 32) - 1, 1, 1, &first);
    }
    void release(u64 first) override { linux_maple_erase(tree_, first); }
    bool query(u64 page) override { return linux_maple_load(tree_, page); }
    void map(u64 page, u64 pages) override {
        linux_maple_store(tree_, page, page + pages - 1, reinterpret_cast<void*>(5), 0);
    }
    u64 alloc_region(u64 pages, unsigned) override {
        u64 first;
        return linux_maple_alloc(tree_, 1, (u64{1} << 35) - 1, pages, 1, &first) ? first : 0;
    }
    void unmap(u64 page, u64 pages) override {
        linux_maple_store(tree_, page, page + pages - 1, nullptr, 0);
    }

private:
    linux_maple* tree_ = linux_maple_new(0); // not freed: at the end of the process
};

class interval_tree_locks : public structure {
public:
    void hold(u64 key, u64 size) override {
        alignas(64) unsigned char hold[LINUX_RANGE_BYTES];
        linux_ranges_lock(ranges_, hold, key, key + size - 1, 1);
        linux_ranges_unlock(ranges_, hold);
    }
    ~interval_tree_locks() override { linux_ranges_free(ranges_); }

private:
    linux_ranges* ranges_ = linux_ranges_new();
};

template <class Structure>
std::unique_ptr<structure> make() {
    return std::make_unique<Structure>();
}

} // namespace

std::vector<subject> linux_subjects() {
    return {{"rbtree", "Linux's red-black tree, one queue lock", make<rbtree_points>,
             make<rbtree_ranges>, make<rbtree_iova>, nullptr, make<interval_tree_locks>},
            {"maple", "Linux's maple tree, one queue lock", make<maple_structure>,
             make<maple_structure>, make<maple_structure>, nullptr, nullptr,
             make<maple_structure>}};
}

} // namespace simulate

#else

namespace simulate {

std::vector<subject> linux_subjects() { return {}; }

} // namespace simulate

#endif
