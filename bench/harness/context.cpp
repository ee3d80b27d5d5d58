// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "context.hpp"

#include "timing.hpp"

#include "bench_build.h"   // generated: flags and commit

#include <ctime>
#include <fstream>
#include <sstream>
#include <sys/utsname.h>
#include <unistd.h>

namespace lathbench {

namespace {

// Returns the value of "name : value" in a file of /proc, or "unknown".
std::string proc_field(const char* path, const std::string& name) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
        auto colon = line.find(':');
        if (colon == std::string::npos || line.compare(0, name.size(), name) != 0)
            continue;
        auto start = line.find_first_not_of(" \t", colon + 1);
        return start == std::string::npos ? "" : line.substr(start);
    }
    return "unknown";
}

std::string first_line(const char* path) {
    std::ifstream in(path);
    std::string line;
    return std::getline(in, line) ? line : "unknown";
}

std::string compiler() {
#if defined(__clang__)
    return std::string("clang ") + __clang_version__;
#else
    return std::string("gcc ") + __VERSION__;
#endif
}

std::string now_utc() {
    std::time_t t = std::time(nullptr);
    std::tm parts = {};
    char text[32];
    gmtime_r(&t, &parts);
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

std::string nanoseconds(double ns) {
    std::ostringstream text;
    text.precision(1);
    text << std::fixed << ns << " ns";
    return text.str();
}

} // namespace

// A virtual machine may hide the model's name ("AMD EPYC"): the numbers tell generations apart.
std::string processor() {
    std::string text = proc_field("/proc/cpuinfo", "model name");
    std::string family = proc_field("/proc/cpuinfo", "cpu family");
    std::string model = proc_field("/proc/cpuinfo", "model\t");
    if (family != "unknown" && model != "unknown")
        text += " (family " + family + ", model " + model + ")";
    return text;
}

std::vector<std::pair<std::string, std::string>> machine_context() {
    utsname host = {};
    uname(&host);
    return {
        {"date", now_utc()},
        {"machine", processor()},
        {"cpus", std::to_string(usable_cpus())},
        {"memory", proc_field("/proc/meminfo", "MemTotal")},
        {"kernel", std::string(host.sysname) + " " + host.release + " " + host.machine},
        {"load", first_line("/proc/loadavg")},
        {"compiler", compiler()},
        {"flags", LATH_BENCH_FLAGS},
        {"pages", std::to_string(sysconf(_SC_PAGESIZE)) + " bytes, transparent huge pages: " +
                      first_line("/sys/kernel/mm/transparent_hugepage/enabled")},
        {"commit", LATH_BENCH_COMMIT},
        {"clock", "wall time; thread CPU time where a table says so"},
        {"wall clock overhead", nanoseconds(wall_overhead_ns())},
        {"cpu clock overhead", nanoseconds(cpu_overhead_ns())},
    };
}

} // namespace lathbench
