// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Reader-writer locks of the C library: one for all keys, and 64 of which a range takes those of
// its granules of 16 keys, in ascending order.
#include "locks_subject.hpp"

#include <pthread.h>

namespace lathbench {

namespace {

class rwlock {
public:
    rwlock() { pthread_rwlock_init(&lock_, nullptr); }
    ~rwlock() { pthread_rwlock_destroy(&lock_); }
    rwlock(const rwlock&) = delete;
    rwlock& operator=(const rwlock&) = delete;
    void lock(bool exclusive) {
        exclusive ? pthread_rwlock_wrlock(&lock_) : pthread_rwlock_rdlock(&lock_);
    }
    void unlock() { pthread_rwlock_unlock(&lock_); }

private:
    alignas(64) pthread_rwlock_t lock_;
};

class one : public range_locks {
public:
    void lock(range_hold&, std::uint64_t, std::uint64_t, bool exclusive) override {
        lock_.lock(exclusive);
    }
    void unlock(range_hold&) override { lock_.unlock(); }

private:
    rwlock lock_;
};

constexpr unsigned stripes = 64, granule_bits = 4;

class striped : public range_locks {
public:
    void lock(range_hold& hold, std::uint64_t first, std::uint64_t last, bool exclusive) override {
        std::uint64_t& taken = hold.as<std::uint64_t>();
        taken = 0;
        for (std::uint64_t g = first >> granule_bits; g <= last >> granule_bits && ~taken; g++)
            taken |= std::uint64_t{1} << g % stripes;
        for (unsigned i = 0; i < stripes; i++)
            if (taken >> i & 1)
                lock_[i].lock(exclusive);
    }
    void unlock(range_hold& hold) override {
        std::uint64_t taken = hold.as<std::uint64_t>();
        for (unsigned i = 0; i < stripes; i++)
            if (taken >> i & 1)
                lock_[i].unlock();
    }

private:
    rwlock lock_[stripes];
};

} // namespace

locks_subject one_rwlock() {
    return {{"rwlock", "", ""}, [] { return std::make_unique<one>(); }, true};
}

locks_subject striped_rwlocks() {
    return {{"rwlock-stripes", "64 of them, by place", ""},
            [] { return std::make_unique<striped>(); },
            true};
}

} // namespace lathbench
