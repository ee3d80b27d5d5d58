// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// How much else the machine did during a run, and how large the pages were that the run really got.
#pragma once

#include <cstdint>
#include <string>

namespace lathbench {

// Shares are of all processors' time, in percent; < 0: the system does not say.
struct noise {
    double seconds = 0;
    double others = -1; // spent in other programs and the kernel's own work
    double stolen = -1; // taken by the hypervisor
    double loop_spread = 0; // a fixed loop of 20 us: standard deviation (from the MAD)
    double loop_lost = 0; // the part of its time above the median, which interruptions took
    // The least and the most that it took to hand a cache line from one processor to another, tried
    // once in two seconds. Two processors that share a cache take a few tens of ns. On a virtual
    // machine whose processors are moved both values occur, and the figures of several threads vary
    // with them. 0: there is only one processor.
    double line_least_ns = 0, line_most_ns = 0;
    std::uint64_t preempted = 0; // involuntary context switches of this program
    // Both at the moment with the most memory in 2 MiB pages.
    std::uint64_t huge_bytes = 0, resident_bytes = 0;
};

// "quiet", "fair" or "noisy"
const char* verdict(const noise& n);
std::string describe(const noise& n);

// Measures noise from its construction on.
class noise_watch {
public:
    noise_watch();
    // To be called while nothing is timed. At most once in two seconds, it looks how large the
    // pages are and hands a cache line back and forth.
    void look();
    noise finish();

private:
    struct ticks {
        double busy = 0, stolen = 0, all = 0, own = 0;
        std::uint64_t preempted = 0;
    };
    static ticks now();
    void loop();
    void hand_line();

    noise noise_;
    ticks begin_;
    std::uint64_t started_ns_, looked_ns_ = 0;
    double loops_ = 0;
};

} // namespace lathbench
