// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// measure - the costs of this machine for `simulate`, and the same loads by threads. Writes a file
// of costs (calibration.hpp).
#include "calibration.hpp"
#include "load.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <thread>

using namespace simulate;

void* simulate::memory(std::size_t align, std::size_t size) {
    return std::aligned_alloc(align, (size + align - 1) / align * align);
}
void simulate::give_back(void* block) { std::free(block); }

namespace {

double now_ns() {
    return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

double part(std::vector<double> v, double which) {
    std::sort(v.begin(), v.end());
    return v[static_cast<std::size_t>(which * static_cast<double>(v.size() - 1))];
}

// A chain of pointers, in random order, through this many bytes: ns per step.
double chase(std::size_t bytes) {
    constexpr std::size_t step = 64;
    std::size_t n = bytes / step;
    char* block =
        static_cast<char*>(std::aligned_alloc(1 << 21, (bytes + (1 << 21) - 1) >> 21 << 21));
    std::vector<std::size_t> order(n);
    random_source random{7};
    for (std::size_t i = 0; i < n; i++)
        order[i] = i;
    for (std::size_t i = n - 1; i > 0; i--)
        std::swap(order[i], order[random.below(i + 1)]);
    for (std::size_t i = 0; i < n; i++)
        *reinterpret_cast<char**>(block + order[i] * step) = block + order[(i + 1) % n] * step;
    char* at = block;
    constexpr std::size_t steps = 3000;
    auto walk = [&](std::size_t count) {
        while (count--)
            at = *reinterpret_cast<char* volatile*>(at);
    };
    walk(std::min<std::size_t>(n, 400000));
    std::vector<double> ns;
    for (int i = 0; i < 60; i++) {
        double start = now_ns();
        walk(steps);
        ns.push_back((now_ns() - start) / steps);
        walk(std::min<std::size_t>(n, 20000));
    }
    std::free(block);
    return part(ns, 0.25);
}

void on_processor(unsigned number) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(number, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

// A line that two processors write in turn: ns per hand-over, of forty in a row.
double hand_over() {
    struct alignas(128) {
        std::atomic<unsigned> turn{0};
    } line;
    constexpr unsigned rounds = 100000;
    std::vector<double> ns;
    auto side = [&](unsigned me) {
        on_processor(me);
        double start = now_ns();
        for (unsigned i = me; i < 2 * rounds; i += 2) {
            while (line.turn.load(std::memory_order_acquire) != i)
                ;
            line.turn.store(i + 1, std::memory_order_release);
            if (i % 40 == 1) {
                ns.push_back((now_ns() - start) / 40);
                start = now_ns();
            }
        }
    };
    std::thread other(side, 1), first(side, 0);
    other.join();
    first.join();
    return part(ns, 0.25);
}

double per_call(const std::function<void()>& what) {
    std::vector<double> ns;
    for (int i = 0; i < 60; i++) {
        double start = now_ns();
        for (int j = 0; j < 1000; j++)
            what();
        ns.push_back((now_ns() - start) / 1000);
    }
    return part(ns, 0.25);
}

double processor_ns() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// The calls of one load by threads, in windows of 250 calls of a thread. A window counts if the
// thread had its processor all the time and the other one made about as many calls in it.
class meter {
public:
    meter(const subject& s, const load& l, unsigned threads, u64 items, u64 warm, u64 calls)
        : subject_(s), load_(l), threads_(threads), items_(items), warm_(warm), calls_(calls) {}

    void once(u64 seed) {
        std::unique_ptr<structure> made = (subject_.*load_.make)();
        load_.fill(*made, items_);
        made->filled();
        ready_ = 0;
        shared_ = 0;
        std::vector<std::thread> all;
        for (unsigned i = 0; i < threads_; i++)
            all.emplace_back([&, i] { run(*made, i, seed); });
        for (auto& t : all)
            t.join();
    }
    // ns per call of all threads together
    double result() const { return ns_.empty() ? 0 : part(ns_, 0.5); }

private:
    static constexpr u64 window = 250;

    void run(structure& s, unsigned n, u64 seed) {
        on_processor(n);
        worker w{{seed * 1000 + n}, n, &shared_, 0, {}};
        w.own.reserve(256);
        s.enter();
        for (u64 i = 0; i < warm_ / threads_; i++)
            load_.call(s, w, items_);
        ready_++;
        while (ready_ < threads_)
            ;
        std::vector<double> mine;
        for (u64 made = 0; made + window <= (calls_ - warm_) / threads_;) {
            u64 before = others(n);
            double used = processor_ns(), start = now_ns();
            for (u64 i = 0; i < window; i++) {
                load_.call(s, w, items_);
                made_[n].calls.store(made_[n].calls.load(std::memory_order_relaxed) + 1,
                                     std::memory_order_relaxed);
            }
            double took = now_ns() - start;
            used = processor_ns() - used;
            u64 theirs = others(n) - before;
            made += window;
            if (took - used < 0.05 * took && theirs >= (threads_ - 1) * window / 2 &&
                theirs <= (threads_ - 1) * window * 2)
                mine.push_back(took / static_cast<double>(window + theirs));
        }
        std::lock_guard g(lock_);
        ns_.insert(ns_.end(), mine.begin(), mine.end());
    }

    u64 others(unsigned n) const {
        u64 sum = 0;
        for (unsigned i = 0; i < threads_; i++)
            sum += i == n ? 0 : made_[i].calls.load(std::memory_order_relaxed);
        return sum;
    }

    const subject& subject_;
    const load& load_;
    unsigned threads_;
    u64 items_, warm_, calls_;
    struct alignas(128) progress {
        std::atomic<u64> calls{0};
    };
    std::array<progress, 2> made_;
    alignas(128) u64 shared_ = 0;
    alignas(128) std::atomic<unsigned> ready_{0};
    std::mutex lock_;
    std::vector<double> ns_;
};

// How long a core keeps a line that others want: two threads add to one word, at the rate
// (hold / time of one add) / (line + hold).
double hold(double line) {
    for (const subject& s : subjects())
        for (const load& l : loads()) {
            if (s.name != std::string("counter") || !(s.*l.make))
                continue;
            meter one(s, l, 1, 1, 10000, 100000), two(s, l, 2, 1, 10000, 100000);
            for (u64 seed = 1; seed <= 10; seed++) {
                one.once(seed);
                two.once(seed);
            }
            return line / std::max(two.result() / one.result() - 1, 0.1);
        }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    bool machine = argc == 1;
    std::printf("# SPDX-License-Identifier: MIT OR GPL-2.0-only\n# of this machine, in ns; made by "
                "measure\n");
    double l1 = chase(16 << 10);
    std::printf("l2 %.2f\n", chase(256 << 10) - l1);
    double l3 = chase(4 << 20) - l1;
    std::printf("l3 %.2f\nserve %.2f\n", l3, l3);
    std::printf("memory %.2f\n", chase(256ul << 20) - l1);
    // the reader takes it once to read and once to write
    double line = hand_over() / 2;
    std::printf("line %.2f\nfar %.2f\nhold %.2f\n", line, line, hold(line));
    u64 word = 0;
    double nothing = per_call([] { asm volatile(""); });
    std::printf("update %.2f\n",
                per_call([&] { __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST); }) - nothing);
    std::printf("pause %.2f\n", per_call([] { __builtin_ia32_pause(); }) - nothing);
    std::printf("yield %.2f\n", per_call([] { sched_yield(); }) - nothing);
    std::fflush(stdout);
    for (const load& l : loads())
        for (const subject& s : subjects()) {
            if (!(s.*l.make) ||
                (!machine && std::find(argv + 1, argv + argc, std::string(l.name)) == argv + argc))
                continue;
            meter small(s, l, 1, small_items, small_warm, small_calls);
            for (u64 seed = 1; seed <= 61; seed++)
                small.once(seed);
            std::printf("small %s %s %.2f\n", s.name, l.name, small.result());
            for (unsigned threads : {1u, 2u}) {
                meter large(s, l, threads, large_items, large_warm, large_calls);
                for (u64 seed = 1; seed <= 4; seed++)
                    large.once(seed);
                std::printf("large %s %s %u %.2f\n", s.name, l.name, threads, large.result());
            }
            std::fflush(stdout);
        }
    return 0;
}
