// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// For tests of fork(): children, and threads that work in the meantime.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "lathwork/config.h"
#include "base/must.hpp"

// ThreadSanitizer ends a child that makes threads, unless told otherwise.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define LATH_FEW_FORKS
#endif
#endif
#if defined(LATH_FEW_STEPS) || defined(LATH_FEW_FORKS)
#define CHECKER // has its own memory, and copies it
constexpr int rounds = 3, many = 50;
#else
constexpr int rounds = 10, many = 1000;
#endif
constexpr unsigned child_seconds = 100;

inline int fork_child(const std::function<void()>& go_on) {
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid)
        return pid;
    alarm(child_seconds);
    go_on();
    _exit(0);
}

inline void end_of(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        MUST(errno == EINTR);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        die("the child hangs");
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        die("the child failed, status " + std::to_string(status));
}

inline void in_child(const std::function<void()>& go_on) { end_of(fork_child(go_on)); }

inline void nap(int ms) { poll(nullptr, 0, ms); }

template <class Ready>
bool soon(Ready ready) {
    for (int i = 0; i < 4000; ++i) {
        if (ready())
            return true;
        nap(5);
    }
    return false;
}

struct crowd {
    std::atomic<bool> stop{false};
    std::atomic<unsigned> turns{0};
    std::vector<std::thread> threads;

    template <class Work>
    crowd(unsigned n, Work work) {
        for (unsigned i = 0; i < n; ++i)
            threads.emplace_back([this, i, work] {
                for (unsigned turn = 0; !stop; ++turn) {
                    work(i, turn);
                    turns.fetch_add(1, std::memory_order_relaxed);
                }
            });
        MUST(soon([&] { return turns > 100; }));
    }
    ~crowd() {
        stop = true;
        for (auto& t : threads)
            t.join();
    }
};

struct enrolled { // a thread of a flavour that wants to know its threads
    const lath_rcu* rcu;
    explicit enrolled(const lath_rcu* its) : rcu(its) {
        if (rcu->register_thread)
            rcu->register_thread();
    }
    ~enrolled() {
        if (rcu->unregister_thread)
            rcu->unregister_thread();
    }
};

inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 31) * 0x7fb5d329728ea185ull;
    return x ^ x >> 27;
}
