// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "noise.hpp"

#include "memory.hpp"
#include "stats.hpp"
#include "timing.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace lathbench {

namespace {

// One turn takes about 20 us and touches no memory.
std::uint64_t turn(std::uint64_t x) {
    for (int i = 0; i < 15000; i++)
        x = x * 0x2545f4914f6cdd1du + 1;
    asm volatile("" : "+r"(x));
    return x;
}

// Measures a cache line that this thread and one on another processor write in turn. Returns ns per
// hand-over, or 0 if there is no other processor.
double line_ns() {
    constexpr std::uint64_t rounds = 1000;
    constexpr std::uint64_t patience_ns = 2000000; // one of the two is not running
    struct alignas(128) {
        std::atomic<std::uint64_t> turn{0};
        std::atomic<bool> over{false};
    } line;
    cpu_set_t allowed, other;
    CPU_ZERO(&other);
    int here = sched_getcpu(), there = -1;
    if (here < 0 || sched_getaffinity(0, sizeof(allowed), &allowed))
        return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && there < 0; ++cpu)
        if (cpu != here && CPU_ISSET(cpu, &allowed))
            there = cpu;
    if (there < 0)
        return 0;
    CPU_SET(there, &other);
    std::thread partner([&] {
        if (sched_setaffinity(0, sizeof(other), &other))
            line.over = true;
        for (std::uint64_t i = 1; !line.over; i += 2) {
            while (line.turn.load(std::memory_order_acquire) != i && !line.over)
                ;
            line.turn.store(i + 1, std::memory_order_release);
        }
    });
    std::uint64_t began = wall_ns(), i = 0;
    std::vector<double> times; // of a hundred hand-overs each
    for (std::uint64_t start = began; i < rounds && !line.over; i += 100) {
        for (std::uint64_t j = 0; j < 100 && !line.over; j += 2) {
            line.turn.store(i + j + 1, std::memory_order_release);
            for (int spins = 1; line.turn.load(std::memory_order_acquire) != i + j + 2; ++spins)
                if (spins % 1024 == 0 && wall_ns() - began > patience_ns) {
                    line.over = true;
                    break;
                }
        }
        std::uint64_t now = wall_ns();
        if (!line.over)
            times.push_back(static_cast<double>(now - start) / 100);
        start = now;
    }
    line.over = true;
    partner.join();
    return times.empty() ? 0 : summarise(times).median;
}

double seconds_of(const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

} // namespace

const char* verdict(const noise& n) {
    double worst = std::max({n.others, n.stolen, n.loop_spread, n.loop_lost});
    return worst < 3 ? "quiet" : worst < 12 ? "fair" : "noisy";
}

std::string describe(const noise& n) {
    char text[400], line[100] = "";
    if (n.line_most_ns > 0)
        std::snprintf(line, sizeof(line), "; a line goes to another processor in %.0f to %.0f ns",
                      n.line_least_ns, n.line_most_ns);
    std::snprintf(
        text, sizeof(text),
        "%s: other programs had %.1f %% of the processors, the hypervisor %.1f %%; a fixed loop "
        "varies by %.1f %%, loses %.1f %%; preempted %llu times in %.0f s; at most %.0f of %.0f "
        "MiB in 2 MiB pages%s",
        verdict(n), std::max(n.others, 0.0), std::max(n.stolen, 0.0), n.loop_spread, n.loop_lost,
        static_cast<unsigned long long>(n.preempted), n.seconds,
        static_cast<double>(n.huge_bytes) / 1048576,
        static_cast<double>(n.resident_bytes) / 1048576, line);
    return text;
}

noise_watch::noise_watch() : begin_(now()), started_ns_(wall_ns()) { loop(); }

noise_watch::ticks noise_watch::now() {
    ticks t;
    // cpu user nice system idle iowait irq softirq steal; time of guests is part of user
    std::ifstream in("/proc/stat");
    std::string word;
    double v[8] = {};
    if (in >> word && word == "cpu") {
        for (double& x : v)
            in >> x;
        double hz = static_cast<double>(sysconf(_SC_CLK_TCK));
        t.stolen = v[7] / hz;
        t.busy = (v[0] + v[1] + v[2] + v[5] + v[6]) / hz;
        t.all = std::accumulate(v, v + 8, 0.0) / hz;
    }
    // table store measures in its own processes
    for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage used = {};
        getrusage(who, &used);
        t.own += seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
        t.preempted += static_cast<std::uint64_t>(used.ru_nivcsw);
    }
    return t;
}

void noise_watch::loop() {
    std::vector<double> times;
    std::uint64_t x = started_ns_;
    for (int i = 0; i < 1000; i++) {
        std::uint64_t start = wall_ns();
        x = turn(x);
        times.push_back(static_cast<double>(wall_ns() - start));
    }
    summary s = summarise(times);
    double beyond = 0, total = 0;
    for (double t : times) {
        total += t;
        beyond += std::max(t - s.median, 0.0);
    }
    // the mean over all calls so far
    loops_ += 1;
    noise_.loop_spread += (1.4826 * s.mad / s.median * 100 - noise_.loop_spread) / loops_;
    noise_.loop_lost += (beyond / total * 100 - noise_.loop_lost) / loops_;
}

void noise_watch::hand_line() {
    double ns = line_ns();
    if (ns <= 0)
        return;
    noise_.line_least_ns = noise_.line_least_ns > 0 ? std::min(noise_.line_least_ns, ns) : ns;
    noise_.line_most_ns = std::max(noise_.line_most_ns, ns);
}

void noise_watch::look() {
    std::uint64_t at = wall_ns();
    if (looked_ns_ && at - looked_ns_ < 2000000000u)
        return;
    looked_ns_ = at;
    hand_line();
    std::uint64_t huge = huge_page_bytes();
    if (huge >= noise_.huge_bytes) {
        noise_.huge_bytes = huge;
        noise_.resident_bytes = resident_bytes();
    }
}

noise noise_watch::finish() {
    look();
    loop();
    ticks end = now();
    noise_.seconds = static_cast<double>(wall_ns() - started_ns_) / 1e9;
    double all = end.all - begin_.all;
    if (all > 0) {
        double others = end.busy - begin_.busy - (end.own - begin_.own);
        noise_.others = std::max(others, 0.0) / all * 100;
        noise_.stolen = (end.stolen - begin_.stolen) / all * 100;
    }
    noise_.preempted = end.preempted - begin_.preempted;
    return noise_;
}

} // namespace lathbench
