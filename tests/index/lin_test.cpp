// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Threads on a few points of one list, every call recorded with when it began and ended, and each
// history put to the checker. On both sides of the points the threads insert and erase items of
// their own, which
// nobody asks for: so the leaf under the points is split, shared and merged all the time. The index
// is built with its delay points, where a thread often lets another one go on: in the middle of a
// split, with a leaf locked, between finding a leaf and believing what is in it.
#include "base/checker.hpp"
#include "base/random.h"

#include "lathwork/index.h"

extern "C" void (*lath_delay_hook)(const char* point);

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

using namespace lin;

namespace {

constexpr unsigned threads = 3, calls = 12; // 36 a history
constexpr std::uint64_t window = 1000, stride = 16; // point p is [window + p * stride, + stride)
// a thread and side: with what lies between them a few leaves
#ifdef LATH_NODE_CAP
constexpr std::uint64_t fillers = LATH_NODE_CAP / 2;
#else
constexpr std::uint64_t fillers = 32;
#endif
constexpr std::uint64_t filler_gap = 5;

std::atomic<std::uint64_t> now{1};
std::atomic<unsigned> ready{0}, round_open{0};
std::atomic<bool> over{false};

struct random_source {
    std::uint64_t s;
    unsigned below(unsigned n) { return static_cast<unsigned>(draw(&s, n)); }
};

thread_local random_source pauses{0};

void pause(const char*) {
    if (pauses.below(4) == 0)
        std::this_thread::yield();
}

std::uint64_t key_of(unsigned point) { return window + point * stride; }

// What lies outside the points is nobody's business.
item seen(bool found, const lath_item& it) {
    if (!found || it.key < window || it.key >= key_of(points))
        return {};
    return {static_cast<unsigned>((it.key - window) / stride),
            static_cast<unsigned>(it.size / stride), static_cast<unsigned>(it.value)};
}

class worker {
public:
    worker(lath_index* list, unsigned id, std::uint64_t seed)
        : list_(list), id_(id), random_{seed} {}

    void run() {
        pauses.s = random_.s ^ 0x9e3779b97f4a7c15ull;
        for (unsigned round = 1;; round++) {
            ready.fetch_add(1);
            while (round_open.load() < round)
                if (over.load())
                    return;
                else
                    std::this_thread::yield();
            history.clear();
            for (unsigned i = 0; i < calls; i++) {
                churn();
                record();
            }
        }
    }

    std::vector<call> history;

private:
    void record() {
        call c{};
        lath_item it{};
        int ret = 0;
        c.what = static_cast<op>(random_.below(9));
        c.key = random_.below(points);
        c.size = 1 + random_.below(std::min(6u, points - c.key));
        // differs from all live values: a thread's own come round after 15,000 calls
        c.value = 1 + id_ + threads * (next_value_++ % 15000);
        c.called = now.fetch_add(1);
        switch (c.what) {
        case op::insert:
            it = {key_of(c.key), c.size * stride, c.value};
            ret = lath_index_insert_item(list_, &it, nullptr);
            break;
        case op::erase:
            ret = lath_index_erase_item(list_, key_of(c.key), &it);
            break;
        case op::replace:
            ret = lath_index_replace_item(list_, key_of(c.key), c.value, &it);
            break;
        case op::resize:
            ret = lath_index_resize(list_, key_of(c.key), c.size * stride);
            break;
        case op::lookup:
            ret = look_up(key_of(c.key), it);
            break;
        case op::join:
            ret = lath_index_join(list_, key_of(c.key), nullptr, nullptr, &it);
            break;
        case op::overlap:
            ret = lath_index_overlap_item(list_, key_of(c.key), c.size * stride, &it);
            break;
        case op::floor:
            ret = lath_index_floor_item(list_, key_of(c.key), &it);
            break;
        case op::ceiling:
            ret = lath_index_ceiling_item(list_, key_of(c.key), &it);
            break;
        default:
            break;
        }
        c.returned = now.fetch_add(1);
        c.done = !ret;
        c.exists = ret == -EEXIST;
        if (c.what != op::insert && c.what != op::resize)
            c.got = seen(!ret, it);
        history.push_back(c);
        if (random_.below(8) == 0)
            std::this_thread::yield();
    }

    // Alone or in a batch, by the walk or by a finger, with a pin or without.
    int look_up(std::uint64_t key, lath_item& it) {
        static constexpr lath_pin pin = {[](void*, const lath_item*) { return 1; },
                                         [](void*, const lath_item*) {}, nullptr};
        switch (random_.below(3)) {
        case 0:
            return lath_index_lookup_batch(list_, 1, &key, &it) ? 0 : -ENOENT;
        case 1:
            return lath_index_lookup_pin(list_, key + random_.below(stride), &pin, &it);
        default:
            return lath_index_lookup_item(list_, key + random_.below(stride), &it);
        }
    }

    // Own items beside the points: a few more, or all of a side away.
    void churn() {
        if (random_.below(2))
            return;
        if (random_.below(4) == 0)
            lath_index_trim(list_, random_.below(8), &trimmed_);
        bool above = random_.below(2);
        std::uint64_t base = above ? key_of(points) : window - fillers * filler_gap;
        if (random_.below(3) == 0) {
            for (std::uint64_t i = 0; i < fillers; i++)
                lath_index_erase_item(list_, base + i * filler_gap + id_, nullptr);
            return;
        }
        for (unsigned n = random_.below(fillers); n; n--) {
            lath_item it{base + random_.below(fillers) * filler_gap + id_, 1, 65535};
            lath_index_insert_item(list_, &it, nullptr);
        }
    }

    lath_index* list_;
    unsigned id_;
    random_source random_;
    unsigned next_value_ = 0;
    std::uint64_t trimmed_ = 0;
};

state state_of(lath_index* list) {
    std::array<lath_item, points> items;
    std::size_t n =
        lath_index_scan(list, window, key_of(points) - 1, items.data(), items.size(), nullptr);
    state s{};
    for (std::size_t i = 0; i < n; i++) {
        item it = seen(true, items[i]);
        put(s, it.key, it.size, it.value);
    }
    return s;
}

void print(const state& s, const std::vector<call>& history) {
    static const char* names[] = {"insert", "erase", "lookup",  "overlap", "replace",
                                  "resize", "floor", "ceiling", "join"};
    for (unsigned p = 0; p < points; p++)
        std::fprintf(stderr, "%u ", value_at(s, p));
    std::fputc('\n', stderr);
    for (const call& c : history)
        std::fprintf(stderr, "%llu-%llu %s key %u size %u value %u: %s%s got %u+%u=%u\n",
                     static_cast<unsigned long long>(c.called),
                     static_cast<unsigned long long>(c.returned), names[static_cast<int>(c.what)],
                     c.key, c.size, c.value, c.done ? "done" : "no", c.exists ? " (exists)" : "",
                     c.got.key, c.got.size, c.got.value);
}

unsigned long overlapping_pairs(const std::vector<call>& history) {
    unsigned long pairs = 0;
    for (const call& a : history)
        for (const call& b : history)
            pairs += a.called < b.called && b.called < a.returned;
    return pairs;
}

// Histories with this kind of memory for so long; false: one was refused.
bool run(unsigned flags, std::uint64_t seed, std::chrono::seconds duration) {
    lath_config config = LATH_CONFIG_INIT;
    config.flags = flags;
    lath_index* list = lath_index_create(&config);
    std::vector<worker> workers;
    std::vector<std::thread> running;
    unsigned long rounds = 0, overlapping = 0;
    bool right = list;
    checker check;

    ready = 0, round_open = 0, over = false;
    for (unsigned i = 0; i < threads; i++)
        workers.emplace_back(list, i, seed * threads + i);
    for (auto& w : workers)
        running.emplace_back([&w] { w.run(); });
    auto end = std::chrono::steady_clock::now() + duration;
    auto wait = [&](unsigned n) {
        while (ready.load() < n)
            std::this_thread::yield();
    };
    wait(threads);
    while (right && std::chrono::steady_clock::now() < end) {
        state before = state_of(list);
        rounds++;
        round_open.store(static_cast<unsigned>(rounds));
        wait(static_cast<unsigned>(threads * (rounds + 1)));
        std::vector<call> history;
        for (auto& w : workers)
            history.insert(history.end(), w.history.begin(), w.history.end());
        overlapping += overlapping_pairs(history);
        right = check.linearizable(before, history);
        if (!right) {
            std::fprintf(stderr, "lin_test: flags %u, seed %llu: not linearizable:\n", flags,
                         static_cast<unsigned long long>(seed));
            print(before, history);
        }
    }
    over = true;
    for (auto& t : running)
        t.join();
    char report[200] = "";
    if (right && lath_index_verify(list, 5, report, sizeof(report))) {
        std::fprintf(stderr, "lin_test: verify: %s\n", report);
        right = false;
    }
    lath_index_stats stats;
    lath_index_get_stats(list, &stats);
    std::printf(
        "lin_test: flags %u: %lu histories of %u calls, %lu pairs overlapped; %llu splits, %llu "
        "merges\n",
        flags, rounds, threads * calls, overlapping, static_cast<unsigned long long>(stats.splits),
        static_cast<unsigned long long>(stats.merges));
    lath_index_destroy(list, nullptr, nullptr);
    if (right && !overlapping) {
        std::fprintf(stderr, "lin_test: no two calls ever overlapped: nothing was tested\n");
        right = false;
    }
    return right;
}

} // namespace

int main(int argc, char** argv) {
    std::uint64_t seed = argc > 1
                             ? std::strtoull(argv[1], nullptr, 0)
                             : static_cast<std::uint64_t>(
                                   std::chrono::system_clock::now().time_since_epoch().count());
    std::chrono::seconds each(std::getenv("LATH_LONG") ? 300 : 2);

    lath_delay_hook = pause;
    std::printf("lin_test: seed %llu\n", static_cast<unsigned long long>(seed));
    return run(0, seed, each) && run(LATH_NODE_EACH, seed, each) ? 0 : 1;
}
