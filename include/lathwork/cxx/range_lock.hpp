// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork/cxx/range_lock.hpp - locks on ranges of keys (lathwork/range_lock.h) for C++20.
//
//   range_locks   the locks of one address space
//   range_guard   a range that is held until the end of its scope
//
// Ranges are half-open, [first, end); an end of 0 is 2^64. A guard has the range's place in the
// lists of the locks, so it can be neither copied nor moved: a function may return one that it has
// just made. Its members are called by one thread at a time.
//
// Errors: nothing throws, except what a caller's function throws. A guard that has not got its
// range tells by operator bool and error().
//
//   lathwork::range_locks locks;
//   {
//       lathwork::range_guard mine(locks, 4096, 12288);                  // waits
//       lathwork::range_guard also(locks, 0, 16, std::try_to_lock, lathwork::shared_range);
//       if (also) ...
//   }
#ifndef LATHWORK_CXX_RANGE_LOCK_HPP
#define LATHWORK_CXX_RANGE_LOCK_HPP

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex> // std::try_to_lock, std::defer_lock

#include "lathwork/cxx/detail/calls.hpp"
#include "lathwork/range_lock.h"

namespace lathwork {

using range_mode = lath_range_mode;
inline constexpr range_mode shared_range = LATH_SHARED_RANGE;
inline constexpr range_mode exclusive_range = LATH_EXCLUSIVE_RANGE;

struct range_locks_options {
    std::uint64_t usual = 1; // most ranges are of at most this many keys
    bool deadlocks = false; // a call that closes a cycle fails with -EDEADLK
    unsigned buckets = 0; // 0: as many as suit the processors
    const lath_allocator* allocator = nullptr;
};

class range_locks {
public:
    explicit range_locks(const range_locks_options& options = {}) noexcept {
        lath_range_config how = LATH_RANGE_CONFIG_INIT;
        how.usual = options.usual;
        how.flags = options.deadlocks ? LATH_RANGE_DEADLOCKS : 0;
        how.buckets = options.buckets;
        how.allocator = options.allocator;
        error_ = lath_range_locks_init(&locks_, &how);
    }
    // No range is held or waited for.
    ~range_locks() {
        if (!error_)
            lath_range_locks_fini(&locks_);
    }
    range_locks(const range_locks&) = delete;
    range_locks& operator=(const range_locks&) = delete;

    // Was there memory, and were the options valid? Without it all guards fail with this error.
    explicit operator bool() const noexcept { return !error_; }
    int error() const noexcept { return error_; }

    // Calls f(const lath_range_info&) for every range that is held or waited for. f must not call
    // back. The first exception that f throws leaves it after the last one.
    template <typename F>
    void for_each(F&& f) {
        auto tell = [&](const lath_range_info* info) { f(*info); };
        detail::guarded each(tell);
        if (!error_)
            lath_range_each(&locks_, each, &each);
        each.rethrow();
    }
    lath_range_locks* c() noexcept { return &locks_; }

private:
    lath_range_locks locks_;
    int error_;
};

class range_guard {
public:
    // Waits for [first, end); [0, 0) is all keys.
    range_guard(range_locks& locks, std::uint64_t first, std::uint64_t end,
                range_mode mode = exclusive_range) noexcept
        : range_guard(locks, first, end, std::defer_lock, mode) {
        lock();
    }
    // Does not wait.
    range_guard(range_locks& locks, std::uint64_t first, std::uint64_t end, std::try_to_lock_t,
                range_mode mode = exclusive_range) noexcept
        : range_guard(locks, first, end, std::defer_lock, mode) {
        try_lock();
    }
    // Holds nothing yet.
    range_guard(range_locks& locks, std::uint64_t first, std::uint64_t end, std::defer_lock_t,
                range_mode mode = exclusive_range) noexcept
        : locks_(locks), first_(first), last_(end - 1), mode_(mode), empty_(first == end && end) {}
    ~range_guard() {
        if (owns_lock())
            unlock();
    }
    range_guard(const range_guard&) = delete;
    range_guard& operator=(const range_guard&) = delete;

    // Returns whether it got the range: false if it has it already. error() is then -EINVAL
    // (empty), -EDEADLK, or that of the locks.
    bool lock() noexcept { return locked(forever); }
    // As lock(), but does not wait: error() may be -EBUSY, too.
    bool try_lock() noexcept { return locked(0); }
    // As lock(), but waits at most so long: error() may be -ETIMEDOUT, too.
    template <typename Rep, typename Period>
    bool try_lock_for(std::chrono::duration<Rep, Period> most) noexcept {
        auto time = detail::saturated<std::chrono::nanoseconds>(most);
        bool got = locked(time == time.max() ? forever
                          : time.count() > 0 ? static_cast<std::uint64_t>(time.count())
                                             : 0);
        if (error_ == -EBUSY)
            error_ = -ETIMEDOUT;
        return got;
    }
    // It is held.
    void unlock() noexcept {
        lath_range_unlock(locks_.c(), &hold_);
        error_ = -ENOLCK;
    }
    // It is held: others may share it from now on.
    void downgrade() noexcept {
        lath_range_downgrade(locks_.c(), &hold_);
        mode_ = shared_range;
    }
    // It is held: change its bounds, see lath_range_resize(). 0 | -EINVAL | -EBUSY |
    // -EDEADLK
    int resize(std::uint64_t first, std::uint64_t end) noexcept {
        int error = end && end < first ? -EINVAL
                                       : lath_range_resize(locks_.c(), &hold_, first, end - first);
        if (!error) {
            first_ = first;
            last_ = end - 1;
        }
        return error;
    }

    bool owns_lock() const noexcept { return !error_; }
    explicit operator bool() const noexcept { return owns_lock(); }
    // 0: it is held. -ENOLCK: it was not asked for, or is unlocked.
    int error() const noexcept { return error_; }
    range_mode mode() const noexcept { return mode_; }

private:
    static constexpr std::uint64_t forever = ~std::uint64_t{0};

    bool locked(std::uint64_t nanoseconds) noexcept {
        if (owns_lock())
            return false;
        if (locks_.error())
            error_ = locks_.error();
        else if (empty_)
            error_ = -EINVAL;
        else
            error_ = lath_range_lock_for(locks_.c(), &hold_, first_, last_, mode_, nanoseconds, 0);
        return owns_lock();
    }

    range_locks& locks_;
    std::uint64_t first_, last_;
    range_mode mode_;
    bool empty_ = false;
    int error_ = -ENOLCK;
    lath_range_hold hold_;
};

} // namespace lathwork

#endif
