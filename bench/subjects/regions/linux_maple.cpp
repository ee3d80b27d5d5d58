// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Linux's maple tree as an address space: behind one reader-writer lock, as Linux had it until
// 6.3, and with readers in RCU sections and a lock for changes. There a page fault also takes a
// lock of its region; that is left out, to the peer's advantage.
#include "regions_subject.hpp"

#include "subjects/ranges/linux_trees.h"

#include <mutex>
#include <shared_mutex>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

// The tree has its own lock for changes.
class no_lock {
public:
    void lock() {}
    void unlock() {}
    void lock_shared() {}
    void unlock_shared() {}
};

// An entry of a maple tree is a pointer, or a number with the lowest bit set.
void* entry_of(u64 access) { return reinterpret_cast<void*>(access << 1 | 1); }

template <class Lock>
class maple_space : public address_space {
public:
    ~maple_space() override {
        linux_maple_enter();
        linux_maple_free(tree_);
        linux_maple_leave();
    }
    void enter() override { linux_maple_enter(); }
    void leave() override { linux_maple_leave(); }
    u64 query(u64 page) override {
        std::shared_lock lock(lock_);
        return reinterpret_cast<u64>(linux_maple_load(tree_, page)) >> 1;
    }
    u64 alloc(u64 pages, u64 access) override {
        u64 first;
        std::unique_lock lock(lock_);
        if (!linux_maple_alloc(tree_, 1, (u64{1} << 35) - 1, pages, 1, &first))
            first = 0;
        else if (access != 1) // what alloc puts there
            linux_maple_store(tree_, first, first + pages - 1, entry_of(access), 0);
        return first;
    }
    void map(const region& r) override { store(r, false); }
    void unmap(u64 first, u64 last) override {
        std::unique_lock lock(lock_);
        linux_maple_store(tree_, first, last, nullptr, 0);
    }
    void protect(const region& r) override { store(r, true); }

private:
    void store(const region& r, bool joined) {
        std::unique_lock lock(lock_);
        linux_maple_store(tree_, r.first, r.last, entry_of(r.access), joined);
    }
    linux_maple* tree_ = linux_maple_new(1);
    Lock lock_;
};

} // namespace

regions_subject linux_maple_regions() {
    return {{"maple", "readers without a lock", ""},
            [] { return std::make_unique<maple_space<no_lock>>(); }};
}

regions_subject linux_maple_locked_regions() {
    return {{"maple-rwlock", "behind one reader-writer lock", ""},
            [] { return std::make_unique<maple_space<std::shared_mutex>>(); }};
}

} // namespace lathbench
