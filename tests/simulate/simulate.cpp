// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// simulate - how do structures scale on a machine of up to 128 cores (machine.hpp)?
#include "calibration.hpp"
#include "load.hpp"
#include "machine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

using namespace simulate;

namespace {

struct options {
    std::vector<unsigned> cores = {1, 2, 4, 8, 16, 32, 64, 128};
    std::vector<std::string> loads, subjects;
    u64 items = large_items, calls = 0, seed = 1;
    unsigned hot = 0;
    std::string machine = LATH_SIMULATE_MACHINE;
    bool json = false, validate = false;
};

struct point {
    outcome out;
    unsigned hot = 0;
    struct {
        std::array<char, 80> name;
        u64 calls, misses;
        ps waited;
    } line[16];
    double rate() const {
        return static_cast<double>(out.calls) * 1e6 / static_cast<double>(out.time);
    }
    double ns() const {
        return static_cast<double>(out.time) / 1000 / static_cast<double>(out.calls);
    }
};

struct plan {
    const subject* what;
    const load* how;
    unsigned cores;
    u64 items, warm, calls, seed;
    unsigned hot;
};

// Runs in its own process.
point run_here(const plan& p, const costs& cost) {
    begin(p.cores, cost);
    std::unique_ptr<structure> s = (p.what->*p.how->make)();
    p.how->fill(*s, p.items);
    s->filled();
    std::vector<worker> workers(p.cores);
    u64* shared = new (memory(64, 64)) u64{0};
    for (unsigned i = 0; i < p.cores; i++) {
        workers[i].random.s = p.seed * 1000 + i;
        workers[i].number = i;
        workers[i].shared = shared;
        workers[i].own.reserve(256);
    }
    point result;
    result.out =
        run([&](unsigned core) { p.how->call(*s, workers[core], p.items); }, p.warm, p.calls);
    for (const hot_line& h : hottest(p.hot, [&](std::uintptr_t at) { return s->line_name(at); })) {
        auto& l = result.line[result.hot++];
        l = {{}, h.calls, h.misses, h.waited};
        std::snprintf(l.name.data(), l.name.size(), "%s", h.name.c_str());
    }
    return result;
}

point run_plan(const plan& p, const costs& cost) {
    int ends[2];
    std::fflush(nullptr);
    if (pipe(ends))
        throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    pid_t child = fork();
    if (child < 0)
        throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (!child) {
        point r = run_here(p, cost);
        ssize_t n = write(ends[1], &r, sizeof(r));
        _exit(n == sizeof(r) ? 0 : 1);
    }
    close(ends[1]);
    point r;
    std::size_t got = 0;
    for (ssize_t n; got < sizeof(r) &&
                    (n = read(ends[0], reinterpret_cast<char*>(&r) + got, sizeof(r) - got)) > 0;)
        got += static_cast<std::size_t>(n);
    close(ends[0]);
    int status;
    waitpid(child, &status, 0);
    if (got != sizeof(r) || status)
        throw std::runtime_error(std::string(p.what->name) + ", " + p.how->name +
                                 ": the run failed");
    return r;
}

// The cost of an access, so that one core on few items takes the time that was measured.
costs fitted(const subject& what, const load& how, const calibration& c) {
    costs cost = c.machine;
    auto measured = c.small.find({what.name, how.name});
    if (measured == c.small.end())
        return cost;
    cost.access = 0;
    point p = run_plan({&what, &how, 1, small_items, small_warm, small_calls, 1, 0}, cost);
    double left = measured->second - p.ns();
    cost.access = std::max<ps>(50, std::llround(left * 1000 * static_cast<double>(p.out.calls) /
                                                static_cast<double>(p.out.accesses)));
    return cost;
}

std::vector<std::string> words(const char* list) {
    std::vector<std::string> v;
    std::istringstream in(list);
    for (std::string w; std::getline(in, w, ',');)
        v.push_back(w);
    return v;
}

bool chosen(const std::vector<std::string>& names, const char* name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

u64 number(const char* text, u64 least, u64 most) {
    char* end;
    errno = 0;
    double n = std::strtod(text, &end);
    if (*end || errno || !(n >= static_cast<double>(least) && n <= static_cast<double>(most)))
        throw std::runtime_error(std::string("not a number from ") + std::to_string(least) +
                                 " to " + std::to_string(most) + ": " + text);
    return static_cast<u64>(n);
}

void print_point(const options& o, const plan& p, const point& r, double one, bool first) {
    double rate = r.rate();
    if (o.json) {
        std::printf("%s\n  {\"subject\": \"%s\", \"workload\": \"%s\", \"cores\": %u, \"mops\": "
                    "%.4f, \"ns\": %.3f, \"accesses\": %.2f, \"misses\": %.3f, \"lines\": [",
                    first ? "" : ",", p.what->name, p.how->name, p.cores, rate, r.ns() * p.cores,
                    static_cast<double>(r.out.accesses) / static_cast<double>(r.out.calls),
                    static_cast<double>(r.out.misses) / static_cast<double>(r.out.calls));
        for (unsigned i = 0; i < r.hot; i++)
            std::printf("%s{\"name\": \"%s\", \"calls\": %llu, \"waited_ns\": %.0f}", i ? ", " : "",
                        r.line[i].name.data(), static_cast<unsigned long long>(r.line[i].calls),
                        static_cast<double>(r.line[i].waited) / 1000);
        std::printf("]}");
        return;
    }
    std::printf("%-12s %-9s %5u %10.3f %8.1f %9.1f %8.1f %7.2f\n", p.what->name, p.how->name,
                p.cores, rate, one > 0 ? rate / one : 0, r.ns() * p.cores,
                static_cast<double>(r.out.accesses) / static_cast<double>(r.out.calls),
                static_cast<double>(r.out.misses) / static_cast<double>(r.out.calls));
    for (unsigned i = 0; i < r.hot; i++)
        std::printf(
            "    %-45s written by 1 call in %.0f, %.1f ns per call\n", r.line[i].name.data(),
            r.line[i].calls
                ? static_cast<double>(r.out.calls) / static_cast<double>(r.line[i].calls)
                : INFINITY,
            static_cast<double>(r.line[i].waited) / 1000 / static_cast<double>(r.out.calls));
    std::fflush(stdout);
}

// Compares with what was measured, and how long a call of two threads takes by one of one thread.
// Returns how many points are further off than a quarter.
unsigned compare(const options& o, const calibration& c) {
    unsigned off = 0, all = 0, off_by_one = 0, pairs = 0;
    std::printf("%-12s %-9s %7s %12s %12s %7s %9s %9s\n", "subject", "workload", "threads",
                "measured ns", "simulated ns", "off", "measured", "simulated");
    for (const load& l : loads())
        for (const subject& s : subjects()) {
            if (!(s.*l.make) || s.steps || !chosen(o.loads, l.name) || !chosen(o.subjects, s.name))
                continue;
            costs cost = fitted(s, l, c);
            double measured_one = 0, simulated_one = 0;
            for (unsigned n : {1u, 2u, 4u, 8u, 16u}) {
                auto m = c.large.find({s.name, l.name, n});
                if (m == c.large.end())
                    continue;
                point p = run_plan({&s, &l, n, large_items, large_warm, large_calls, o.seed, o.hot},
                                   cost);
                double error = p.ns() / m->second - 1;
                all++;
                off += std::fabs(error) > 0.25;
                std::printf("%-12s %-9s %7u %12.1f %12.1f %+6.0f%%%s", s.name, l.name, n, m->second,
                            p.ns(), error * 100, std::fabs(error) > 0.25 ? " !" : "  ");
                if (n == 2 && measured_one > 0) {
                    double measured = m->second / measured_one, simulated = p.ns() / simulated_one;
                    bool far = std::fabs(simulated / measured - 1) > 0.25;
                    pairs++;
                    off_by_one += far;
                    std::printf(" %7.2f %9.2f%s", measured, simulated, far ? " !" : "");
                }
                std::printf("\n");
                if (n == 1) {
                    measured_one = m->second;
                    simulated_one = p.ns();
                }
                std::fflush(stdout);
            }
        }
    std::printf("%u of %u within 25 %%; two threads by one: %u of %u\n", all - off, all,
                pairs - off_by_one, pairs);
    return off;
}

void simulate_all(const options& o, const calibration& c) {
    bool first = true;
    if (o.json)
        std::printf("{\"simulated\": true, \"items\": %llu, \"seed\": %llu, \"points\": [",
                    static_cast<unsigned long long>(o.items),
                    static_cast<unsigned long long>(o.seed));
    else
        std::printf("simulated; %llu items, seed %llu\n%-12s %-9s %5s %10s %8s %9s %8s %7s\n",
                    static_cast<unsigned long long>(o.items),
                    static_cast<unsigned long long>(o.seed), "subject", "workload", "cores",
                    "M calls/s", "x one", "ns/call", "accesses", "misses");
    for (const load& l : loads())
        for (const subject& s : subjects()) {
            if (!(s.*l.make) || !chosen(o.loads, l.name) || !chosen(o.subjects, s.name))
                continue;
            costs cost = fitted(s, l, c);
            double one = 0;
            for (unsigned n : o.cores) {
                u64 calls = o.calls ? o.calls : std::max<u64>(60000, u64{n} * 2000);
                plan p = {&s, &l, n, o.items, calls / 2, calls, o.seed, o.hot};
                point r = run_plan(p, cost);
                if (n == 1)
                    one = r.rate();
                print_point(o, p, r, one, first);
                first = false;
            }
        }
    if (o.json)
        std::printf("\n]}\n");
}

int list() {
    for (const load& l : loads())
        std::printf("workload %-12s %s\n", l.name, l.about);
    for (const subject& s : subjects())
        std::printf("subject  %-12s %s\n", s.name, s.about);
    return 0;
}

const char usage[] = R"(usage: simulate [OPTIONS]
How structures scale on a simulated machine of up to 128 cores. The same options give the same
figures.

  --cores LIST      1,2,4,...,128 if not said otherwise
  --workload LIST   all if not said otherwise; --list names them
  --subject LIST    likewise
  --items N         in the structure before; 200000
  --calls N         of all cores; the second half counts. 2000 per core, at least 60000
  --seed N          1
  --hot N           the N (at most 16) lines for which the cores wait longest
  --machine FILE    costs, as `measure` writes them
  --short-waits     threads that wait for a node look for it all the time: without src/sys/crowd.c
  --validate        compare with the times in the file of costs; exit code 1: one is more than
                    a quarter off
  --json            JSON on stdout
  --list            workloads and subjects
)";

void check_names(const options& o) {
    for (const std::string& n : o.loads)
        if (std::none_of(loads().begin(), loads().end(),
                         [&](const load& l) { return n == l.name; }))
            throw std::runtime_error("there is no workload " + n + "; --list names them");
    for (const std::string& n : o.subjects)
        if (std::none_of(subjects().begin(), subjects().end(),
                         [&](const subject& s) { return n == s.name; }))
            throw std::runtime_error("there is no subject " + n + "; --list names them");
}

// Reads the command line: the exit code, if that is all there is to do.
std::optional<int> read_options(int argc, char** argv, options& o) {
    const option names[] = {
        {"cores", 1, nullptr, 'c'},       {"workload", 1, nullptr, 'w'},
        {"subject", 1, nullptr, 's'},     {"items", 1, nullptr, 'i'},
        {"calls", 1, nullptr, 'n'},       {"seed", 1, nullptr, 'r'},
        {"hot", 1, nullptr, 'h'},         {"machine", 1, nullptr, 'm'},
        {"short-waits", 0, nullptr, 't'}, {"validate", 0, nullptr, 'v'},
        {"json", 0, nullptr, 'j'},        {"list", 0, nullptr, 'l'},
        {"help", 0, nullptr, 'H'},        {},
    };
    for (int c; (c = getopt_long(argc, argv, "", names, nullptr)) != -1;)
        switch (c) {
        case 'c':
            o.cores.clear();
            for (const std::string& w : words(optarg))
                o.cores.push_back(static_cast<unsigned>(number(w.c_str(), 1, most_cores)));
            break;
        case 'w':
            o.loads = words(optarg);
            break;
        case 's':
            o.subjects = words(optarg);
            break;
        case 'i':
            o.items = number(optarg, 1, 2000000);
            break;
        case 'n':
            o.calls = number(optarg, 100, 100000000);
            break;
        case 'r':
            o.seed = number(optarg, 0, 1u << 31);
            break;
        case 'h':
            o.hot = static_cast<unsigned>(number(optarg, 0, 16));
            break;
        case 'm':
            o.machine = optarg;
            break;
        case 't':
            short_waits(true);
            break;
        case 'v':
            o.validate = true;
            break;
        case 'j':
            o.json = true;
            break;
        case 'l':
            return list();
        case 'H':
            std::fputs(usage, stdout);
            return 0;
        default:
            std::fputs(usage, stderr);
            return 2;
        }
    if (optind < argc)
        throw std::runtime_error(std::string("not understood: ") + argv[optind]);
    return std::nullopt;
}

} // namespace

int main(int argc, char** argv) {
    options o;
    try {
        if (auto code = read_options(argc, argv, o))
            return *code;
        check_names(o);
        calibration c = read_calibration(o.machine);
        if (o.validate)
            return compare(o, c) != 0;
        simulate_all(o, c);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "simulate: %s\n", e.what());
        return 2;
    }
    return 0;
}
