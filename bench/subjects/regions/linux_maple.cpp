// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Linux's maple tree as an address space: behind one reader-writer lock, as Linux had it until
// 6.3, and with readers in RCU sections and a lock for changes. There a page fault also takes a
// lock of its region; that is left out, to the peer's advantage.
#include "regions_subject.hpp"

#include "subjects/ranges/linux_trees.h"

#include <pthread.h>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class rwlock {
public:
    rwlock() { pthread_rwlock_init(&lock_, nullptr); }
    ~rwlock() { pthread_rwlock_destroy(&lock_); }
    rwlock(const rwlock&) = delete;
    rwlock& operator=(const rwlock&) = delete;
    void read() { pthread_rwlock_rdlock(&lock_); }
    void write() { pthread_rwlock_wrlock(&lock_); }
    void unlock() { pthread_rwlock_unlock(&lock_); }

private:
    alignas(64) pthread_rwlock_t lock_;
};

// The tree has a lock of its own for changes.
class no_lock {
public:
    void read() {}
    void write() {}
    void unlock() {}
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
        lock_.read();
        u64 entry = reinterpret_cast<u64>(linux_maple_load(tree_, page));
        lock_.unlock();
        return entry >> 1;
    }
    u64 alloc(u64 pages, u64 access) override {
        u64 first;
        lock_.write();
        if (!linux_maple_alloc(tree_, 1, (u64{1} << 35) - 1, pages, 1, &first))
            first = 0;
        else if (access != 1) // what alloc puts there
            linux_maple_store(tree_, first, first + pages - 1, entry_of(access), 0);
        lock_.unlock();
        return first;
    }
    void map(const region& r) override { store(r, false); }
    void unmap(u64 first, u64 last) override {
        lock_.write();
        linux_maple_store(tree_, first, last, nullptr, 0);
        lock_.unlock();
    }
    void protect(const region& r) override { store(r, true); }

private:
    void store(const region& r, bool joined) {
        lock_.write();
        linux_maple_store(tree_, r.first, r.last, entry_of(r.access), joined);
        lock_.unlock();
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
            [] { return std::make_unique<maple_space<rwlock>>(); }};
}

} // namespace lathbench
