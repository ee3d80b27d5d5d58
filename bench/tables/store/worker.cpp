// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "worker.hpp"

#include "harness/memory.hpp"
#include "harness/self.hpp"
#include "harness/timing.hpp"
#include "tables/index/distributions.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <fcntl.h>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace lathbench {

namespace {

constexpr const char* job_name = "LATH_BENCH_STORE_JOB";

// ---- in the worker ----

class service {
public:
    service(const store_subject& subject, const store_job& job)
        : subject_(subject), job_(job), next_(job.n) {
        kind_.keys = job.keys;
        kind_.values = job.values;
        if (job.keys == item_keys::drawn) {
            drawn_ = distribution_keys(job.distribution, job.n + job.sets, job.seed);
            kind_.drawn = drawn_.data();
        }
    }

    void run() {
        if (subject_.symbol && !dlsym(RTLD_DEFAULT, subject_.symbol)) {
            std::printf("missing package %s not found\n", subject_.package);
            return;
        }
        store_ = subject_.make();
        std::uint64_t before = resident_bytes();
        store_->fill(0, job_.n, kind_);
        std::uint64_t resident = resident_bytes();
        std::printf("ready %.6f %.6f\n",
                    static_cast<double>(resident - before) / static_cast<double>(job_.n),
                    static_cast<double>(huge_page_bytes()) / static_cast<double>(resident));
        std::fflush(stdout);
        char what[16];
        for (int threads = 0; std::scanf("%15s %d", what, &threads) == 2;) {
            std::string asked = what;
            if (asked.find('s') != std::string::npos)
                scan();
            repetition(threads);
            if (asked.find('i') != std::string::npos && store_->counts())
                incr_phase(threads);
            std::printf("done\n");
            std::fflush(stdout);
        }
    }

private:
    using slice_fn = std::uint64_t (store_bench::*)(std::uint64_t, std::uint64_t, const item_kind&);

    static void report(const char* phase, double cpu, double wall, bool right) {
        std::printf("%s %.4f %.4f %d\n", phase, cpu, wall, right ? 1 : 0);
    }

    // Times body(from, to) of all threads, each with a part of [first, first + timed).
    template <class Body>
    void phase(const char* name, int threads, std::uint64_t first, std::uint64_t expected,
               Body body) {
        std::atomic<std::uint64_t> sum{0};
        std::uint64_t slice = job_.timed / static_cast<std::uint64_t>(threads);
        std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(threads));
        auto times = run_threads(threads, [&](int t) {
            std::uint64_t from = first + slice * static_cast<std::uint64_t>(t);
            std::uint64_t to = t + 1 == threads ? first + job_.timed : from + slice;
            try {
                sum += body(from, to);
            } catch (...) {
                thrown[static_cast<std::size_t>(t)] = std::current_exception();
            }
        });
        for (const auto& e : thrown)
            if (e)
                std::rethrow_exception(e);
        std::uint64_t cpu = 0;
        for (std::uint64_t c : times.cpu)
            cpu += c;
        report(name, static_cast<double>(cpu) / static_cast<double>(job_.timed),
               static_cast<double>(times.span) / static_cast<double>(job_.timed), sum == expected);
    }

    void set_phase(const char* name, int threads,
                   void (store_bench::*set)(std::uint64_t, std::uint64_t, const item_kind&)) {
        std::uint64_t first = next_;
        next_ += job_.timed;
        store_->prepare(job_.timed);
        phase(name, threads, first, 0, [&](std::uint64_t from, std::uint64_t to) {
            (store_.get()->*set)(from, to, kind_);
            return std::uint64_t{0};
        });
        // compares whole values
        bool right = true;
        for (std::uint64_t i = 0; i < 200; ++i) {
            item it;
            kind_.make(first + mixed_key(i + first) % job_.timed, it);
            right = right && store_->value(it.key, it.size) ==
                                 std::string(it.value, static_cast<std::size_t>(it.size));
        }
        if (!right)
            report(name, 0, 0, false);
    }

    void get_phase(const char* name, int threads, slice_fn get) {
        std::uint64_t first = mixed_key(job_.seed + turn_++) % (job_.n - job_.timed + 1);
        phase(name, threads, first, kind_.worth(first, first + job_.timed),
              [&](std::uint64_t from, std::uint64_t to) {
                  return (store_.get()->*get)(from, to, kind_);
              });
    }

    // All threads add to one counter, whose key no item has.
    void incr_phase(int threads) {
        std::uint64_t key = mixed_key(job_.n + job_.sets);
        phase("incr", threads, 0, job_.timed, [&](std::uint64_t from, std::uint64_t to) {
            store_->incr(key, to - from);
            return to - from;
        });
        if (store_->take_count(key) != static_cast<std::int64_t>(job_.timed))
            report("incr", 0, 0, false);
    }

    void repetition(int threads) {
        set_phase("set", threads, &store_bench::set);
        get_phase("get", threads, &store_bench::get);
        if (!store_->batched())
            return;
        set_phase("mset", threads, &store_bench::mset);
        get_phase("mget", threads, &store_bench::mget);
    }

    void scan() {
        if (!store_->ordered())
            return;
        std::uint64_t sum = kind_.worth(0, next_);
        for (std::uint64_t i = 0; i < next_; ++i)
            sum += kind_.key(i);
        std::uint64_t cpu = cpu_ns(), wall = wall_ns();
        scan_result r = store_->scan();
        wall = wall_ns() - wall;
        cpu = cpu_ns() - cpu;
        report("scan", static_cast<double>(cpu) / static_cast<double>(next_),
               static_cast<double>(wall) / static_cast<double>(next_),
               r.count == next_ && r.sum == sum && r.ordered);
    }

    const store_subject& subject_;
    store_job job_;
    item_kind kind_;
    std::vector<std::uint64_t> drawn_;
    std::unique_ptr<store_bench> store_;
    std::uint64_t next_, turn_ = 0;
};

} // namespace

void serve_if_worker(const std::vector<store_subject>& subjects) {
    const char* text = std::getenv(job_name);
    if (!text)
        return;
    store_job job{};
    int keys = 0, values = 0;
    std::istringstream in(text);
    in >> job.subject >> job.n >> job.timed >> job.seed >> job.sets >> keys >> values >>
        job.distribution;
    job.keys = static_cast<item_keys>(keys);
    job.values = static_cast<item_values>(values);
    try {
        for (const auto& s : subjects)
            if (s.name == job.subject && s.make)
                service(s, job).run();
    } catch (const contract_broken& e) {
        std::printf("broken %s\n", e.what());
    } catch (const std::exception& e) {
        std::printf("missing %s\n", e.what());
    }
    std::fflush(stdout);
    _exit(0);
}

// ---- in the program that measures ----

worker::worker(const store_subject& subject, const store_job& job) {
    int down[2], up[2];
    if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
        throw std::runtime_error(std::string("store: cannot make a pipe: ") + std::strerror(errno));
    std::string text = std::string(job_name) + "=" + job.subject + " " + std::to_string(job.n) +
                       " " + std::to_string(job.timed) + " " + std::to_string(job.seed) + " " +
                       std::to_string(job.sets) + " " + std::to_string(static_cast<int>(job.keys)) +
                       " " + std::to_string(static_cast<int>(job.values)) + " " + job.distribution;
    std::vector<char*> env;
    for (char** e = environ; *e; ++e)
        env.push_back(*e);
    for (const auto& e : subject.environment)
        env.push_back(const_cast<char*>(e.c_str()));
    env.push_back(text.data());
    env.push_back(nullptr);
    auto self = self_words();
    std::vector<const char*> args;
    for (const auto& word : self)
        args.push_back(word.c_str());
    args.push_back("store");
    for (const auto& a : subject.arguments)
        args.push_back(a.c_str());
    args.push_back(nullptr);
    bool small_pages = subject.small_pages;
    pid_ = fork();
    if (pid_ < 0)
        throw std::runtime_error(std::string("store: cannot start a process: ") +
                                 std::strerror(errno));
    if (pid_ == 0) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        if (small_pages)
            prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
        execve("/proc/self/exe", const_cast<char**>(args.data()), env.data());
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    to_ = fdopen(down[1], "w");
    from_ = fdopen(up[0], "r");
}

worker::~worker() {
    std::fclose(to_);
    std::fclose(from_);
    waitpid(pid_, nullptr, 0);
}

std::string worker::line() {
    char buf[256];
    if (!std::fgets(buf, sizeof buf, from_))
        return {};
    std::string s = buf;
    while (!s.empty() && s.back() == '\n')
        s.pop_back();
    return s;
}

// Returns what the worker says in place of a figure: why it ended. Throws if it broke its contract.
std::string worker::complaint(const std::string& text) {
    std::istringstream in(text);
    std::string word, rest;
    if (!(in >> word))
        return "its process ended";
    std::getline(in >> std::ws, rest);
    if (word == "broken")
        throw std::runtime_error(rest);
    return rest;
}

std::optional<std::string> worker::ready() {
    std::string text = line(), word;
    if (text.empty())
        return "its process ended while it was filled";
    std::istringstream in(text);
    if (in >> word && word == "ready" && in >> bytes_ >> huge_)
        return std::nullopt;
    return complaint(text);
}

std::vector<phase_figure> worker::run(int threads, bool scan, bool incr) {
    std::vector<phase_figure> figures;
    std::fprintf(to_, "r%s%s %d\n", scan ? "s" : "", incr ? "i" : "", threads);
    std::fflush(to_);
    for (;;) {
        std::string text = line();
        if (text == "done")
            return figures;
        std::istringstream in(text);
        phase_figure f{};
        int right = 0;
        if (!(in >> f.phase >> f.cpu >> f.wall >> right)) {
            why_ = complaint(text);
            return {};
        }
        f.right = right == 1;
        figures.push_back(f);
    }
}

} // namespace lathbench
