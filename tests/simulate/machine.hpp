// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// machine.hpp - a machine of up to 128 cores on which code compiled with -fsanitize=thread runs,
// one fiber per core, by a clock per core.
//
//   time     each access costs its core a fixed time (`access`), and more if the line is not in its
//            first cache. The core with the lowest clock goes on; others wait.
//   caches   per core 32 KiB, 8 ways, and 1 MiB, 8 ways; 8 MiB, 16 ways, for all cores (which
//            is what the virtual machine of zen4.costs gets of 32). Least recently used goes. A
//            line is held by any number of cores to be read or by one to be written (MESI).
//   lines    a line has a time until which it is busy. What has to come from elsewhere waits for it
//            and makes it busy until it has come, so a contended line serves one core at a time. A
//            core that has got a line to write keeps it for a while.
//   stores   do not stop a core unless more than `buffered` of them are on their way; they arrive
//            in order. An atomic update waits for all stores before it.
//   misses   of one structure in a row overlap: one within 2 KiB and 24 accesses of the last one
//            began when that began. A prefetch does not stop a core.
//   waiting  a core that reads one line between two pauses sleeps until another core writes there.
//   pages    the thread that takes pages of the system populates them, one after the other, and
//            locks the address space to be read; a new mapping locks it to be changed. A thread
//            that finds it locked sleeps, and is woken late. First come, first served.
//   RCU      retired objects are freed by one more core, as soon as the sections have ended.
//
// Everything is a function of the costs, the load and its seed. Not there: the sizes of pages and
// TLBs, distances but that of two clusters of eight cores, the bandwidth of the memory and of the
// shared cache, branch prediction, hyperthreads, other programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace simulate {

using ps = std::int64_t; // picoseconds

// What a line of a file of costs says, in ps here.
struct costs {
    ps access = 0; // of each access
    ps l2 = 3500, l3 = 12000, memory = 100000; // beyond a hit in the first cache
    ps line = 60000; // from the cache of another core, or to invalidate it there
    ps far = 60000; // the same, if the two cores are not in one cluster
    ps hold = 60000; // a core keeps a line that it has written
    ps serve = 12000; // a line in the shared cache is busy with a core that reads it
    ps update = 5000; // an atomic update, beyond an access
    ps pause = 15000, yield = 400000;
    ps buffered = 500000;
    ps page = 1100000, mapping = 1000000; // to populate a page, to make a mapping
    ps wake = 10000000; // from the moment at which the address space is free
};

struct hot_line {
    std::string name;
    std::uint64_t calls; // that wrote it
    std::uint64_t misses;
    ps waited; // by all cores, for the line to be free and to come
};

struct outcome {
    std::uint64_t calls = 0; // counted
    ps time = 0; // in which they were made
    std::uint64_t accesses = 0, misses = 0;
    ps stalled = 0; // all cores, beyond accesses
};

constexpr unsigned most_cores = 128, cluster_size = 8;

// Makes the machine. Once per process.
void begin(unsigned cores, const costs& costs);
// Whether threads that wait for a node wait as those that hold one do.
void short_waits(bool yes);
// Runs calls on all cores until `calls` have ended; those after the first `warm` count.
outcome run(const std::function<void(unsigned core)>& call, std::uint64_t warm,
            std::uint64_t calls);
// After run(): the lines for which the cores waited longest.
std::vector<hot_line> hottest(std::size_t n,
                              const std::function<std::string(std::uintptr_t)>& name);

} // namespace simulate
