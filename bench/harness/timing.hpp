// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Clocks and threads of the benchmarks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lathbench {

// ns; CLOCK_MONOTONIC and CLOCK_THREAD_CPUTIME_ID
std::uint64_t wall_ns();
std::uint64_t cpu_ns();

// Median cost in ns of reading a clock once.
double wall_overhead_ns();
double cpu_overhead_ns();

// A clock for single calls, which costs less than they do: the processor's counter between two
// fences; wall_ns() where this is not x86-64.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
    _mm_lfence();
    std::uint64_t t = __rdtsc();
    _mm_lfence();
    return t;
#else
    return wall_ns();
#endif
}

struct tick_scale {
    double ns = 1; // per tick
    double overhead = 0; // ticks that two readings one after the other are apart
};

// Measured by the first call, which takes 20 ms.
const tick_scale& ticks_scale();

// Binds the calling thread to CPU i (modulo their number) of those that the process may use.
void pin_thread(int i);
int usable_cpus();

struct thread_times {
    std::vector<std::uint64_t> wall, cpu; // ns, one per thread
    std::uint64_t span = 0; // ns from the first start to the last end
    double mean_wall() const;
};

// Runs body(0) ... body(threads - 1) on as many pinned threads, which start together. Each thread
// calls before and after outside the measured time (to register with RCU, for example); the clocks
// run around body alone.
thread_times run_threads(int threads, const std::function<void(int)>& body,
                         const std::function<void(int)>& before = {},
                         const std::function<void(int)>& after = {});

// Each of the threads does every threads-th of `items` things, as work(i, thread). Returns ns per
// thing.
template <class Work>
double timed(int threads, std::uint64_t items, const Work& work) {
    auto times = run_threads(threads, [&](int t) {
        for (auto i = static_cast<std::uint64_t>(t); i < items;
             i += static_cast<std::uint64_t>(threads))
            work(i, t);
    });
    return static_cast<double>(times.span) / static_cast<double>(items);
}

} // namespace lathbench
