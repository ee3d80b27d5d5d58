// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "timing.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <numeric>
#include <sched.h>
#include <thread>

namespace lathbench {

namespace {

std::uint64_t read_clock(clockid_t which) {
    timespec t;
    clock_gettime(which, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u +
           static_cast<std::uint64_t>(t.tv_nsec);
}

double overhead_of(std::uint64_t (*clock)()) {
    std::vector<double> costs;
    for (int round = 0; round < 15; round++) {
        std::uint64_t start = clock();
        for (int i = 0; i < 1000; i++)
            clock();
        costs.push_back(static_cast<double>(clock() - start) / 1001);
    }
    std::nth_element(costs.begin(), costs.begin() + 7, costs.end());
    return costs[7];
}

// The CPUs of the process; first called before any thread is pinned.
const std::vector<int>& cpu_list() {
    static const std::vector<int> list = [] {
        std::vector<int> cpus;
        cpu_set_t set;
        if (sched_getaffinity(0, sizeof(set), &set) == 0)
            for (int i = 0; i < CPU_SETSIZE; i++)
                if (CPU_ISSET(i, &set))
                    cpus.push_back(i);
        if (cpus.empty())
            cpus.push_back(0);
        return cpus;
    }();
    return list;
}

} // namespace

std::uint64_t wall_ns() { return read_clock(CLOCK_MONOTONIC); }

std::uint64_t cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

double wall_overhead_ns() {
    static const double cost = overhead_of(wall_ns);
    return cost;
}

double cpu_overhead_ns() {
    static const double cost = overhead_of(cpu_ns);
    return cost;
}

const tick_scale& ticks_scale() {
    static const tick_scale scale = [] {
        tick_scale s;
        std::uint64_t wall = wall_ns(), from = ticks();
        while (wall_ns() - wall < 20000000)
            ;
        std::uint64_t to = ticks();
        s.ns = static_cast<double>(wall_ns() - wall) / static_cast<double>(to - from);
        std::vector<std::uint64_t> costs;
        for (int i = 0; i < 10001; i++) {
            std::uint64_t a = ticks();
            costs.push_back(ticks() - a);
        }
        std::nth_element(costs.begin(), costs.begin() + 5000, costs.end());
        s.overhead = static_cast<double>(costs[5000]);
        return s;
    }();
    return scale;
}

int usable_cpus() { return static_cast<int>(cpu_list().size()); }

void pin_thread(int i) {
    const auto& cpus = cpu_list();
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus[static_cast<std::size_t>(i) % cpus.size()], &set);
    sched_setaffinity(0, sizeof(set), &set);
}

double thread_times::mean_wall() const {
    if (wall.empty())
        return 0;
    return static_cast<double>(std::accumulate(wall.begin(), wall.end(), std::uint64_t{0})) /
           static_cast<double>(wall.size());
}

thread_times run_threads(int threads, const std::function<void(int)>& body,
                         const std::function<void(int)>& before,
                         const std::function<void(int)>& after) {
    auto count = static_cast<std::size_t>(threads);
    std::vector<std::uint64_t> start(count), end(count);
    thread_times times;
    times.wall.resize(count);
    times.cpu.resize(count);
    cpu_list();
    // threads spin, so that the start does not wait for wake-ups; they yield if there are too few
    // CPUs
    std::atomic<int> waiting{threads};
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < count; i++) {
        workers.emplace_back([&, i] {
            auto id = static_cast<int>(i);
            pin_thread(id);
            if (before)
                before(id);
            waiting.fetch_sub(1);
            for (int spins = 0; waiting.load() > 0; spins++)
                if (spins % 1024 == 1023)
                    std::this_thread::yield();
            std::uint64_t cpu = cpu_ns();
            start[i] = wall_ns();
            body(id);
            end[i] = wall_ns();
            times.cpu[i] = cpu_ns() - cpu;
            times.wall[i] = end[i] - start[i];
            if (after)
                after(id);
        });
    }
    for (auto& w : workers)
        w.join();
    times.span =
        *std::max_element(end.begin(), end.end()) - *std::min_element(start.begin(), start.end());
    return times;
}

} // namespace lathbench
