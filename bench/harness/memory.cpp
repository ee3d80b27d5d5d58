// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "memory.hpp"

#include <fstream>
#include <malloc.h>
#include <string>

namespace lathbench {

namespace {

// "Name:   1234 kB" of a /proc file, in bytes; 0 when it is not there
std::uint64_t kilobytes(const char* path, const std::string& name) {
    std::ifstream in(path);
    for (std::string word; in >> word;) {
        std::uint64_t value = 0;
        if (word == name && in >> value)
            return value * 1024;
    }
    return 0;
}

} // namespace

// smaps_rollup walks the page tables: it is slow, but the counters that each thread has lag behind.
std::uint64_t resident_bytes() { return kilobytes("/proc/self/smaps_rollup", "Rss:"); }

std::uint64_t huge_page_bytes() {
    return kilobytes("/proc/self/smaps_rollup", "AnonHugePages:") +
           kilobytes("/proc/self/smaps_rollup", "ShmemPmdMapped:") +
           kilobytes("/proc/self/smaps_rollup", "Private_Hugetlb:") +
           kilobytes("/proc/self/smaps_rollup", "Shared_Hugetlb:");
}

std::uint64_t heap_bytes() {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

std::uint64_t available_bytes() { return kilobytes("/proc/meminfo", "MemAvailable:"); }

} // namespace lathbench
