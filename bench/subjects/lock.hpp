// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The locks in front of structures that have none, as template parameters of subjects.
#pragma once

#include "spin.h"

namespace lathbench {

// For a structure that locks by itself, or that one thread alone uses.
struct no_lock {
    void lock() {}
    void unlock() {}
};

// The spinlock of spin.h.
struct spin_lock {
    void lock() { bench_spin_lock(&word_); }
    void unlock() { bench_spin_unlock(&word_); }

private:
    bench_spin word_ = {};
};

// Holds the lock from its construction to its destruction.
template <class Lock>
class guard {
public:
    explicit guard(Lock& lock) : lock_(lock) { lock_.lock(); }
    ~guard() { lock_.unlock(); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

private:
    Lock& lock_;
};

} // namespace lathbench
