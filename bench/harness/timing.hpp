// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Clocks and threads of the benchmarks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace lathbench {

// ns; CLOCK_MONOTONIC and CLOCK_THREAD_CPUTIME_ID
std::uint64_t wall_ns();
std::uint64_t cpu_ns();

// Median cost in ns of reading a clock once.
double wall_overhead_ns();
double cpu_overhead_ns();

// Bind the calling thread to the i-th CPU (modulo) of those the process may use.
void pin_thread(int i);
int usable_cpus();

struct thread_times {
    std::vector<std::uint64_t> wall, cpu;   // ns, one a thread
    std::uint64_t span = 0;                 // first start to last end, ns
    double mean_wall() const;
};

// Run body(0) ... body(threads - 1) on as many pinned threads, started together. With before and
// after, each thread calls them outside the measured time (to register with RCU, say).
// body decides what is timed: the clocks run around it alone.
thread_times run_threads(int threads, const std::function<void(int)>& body,
                         const std::function<void(int)>& before = {},
                         const std::function<void(int)>& after = {});

} // namespace lathbench
