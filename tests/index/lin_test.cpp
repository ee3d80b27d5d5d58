// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Threads on a few points of one index (index_calls.hpp), every call recorded with when it began
// and ended, and each history explained or not. On both sides of the points the threads insert and
// erase items of their own, which nobody asks for: so the leaf under the points is split, shared
// and merged all the time. The index is built with its delay points, where a thread often lets
// another one go on: in the middle of a split, with a leaf locked, between finding a leaf and
// believing what is in it.
#include "index_calls.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

using namespace calls;

extern "C" void (*lath_delay_hook)(const char* point);

namespace {

constexpr unsigned threads = 3, most_calls = 12, points = 24;
constexpr word window = 1000, stride = 16;
// of a thread and side: with what lies between them a few leaves
#ifdef LATH_NODE_CAP
constexpr word fillers = LATH_NODE_CAP / 2;
#else
constexpr word fillers = 32;
#endif
constexpr word filler_gap = 5;

std::atomic<word> now{1};
std::atomic<unsigned> ready{0}, round_open{0};
std::atomic<bool> over{false};

thread_local word pauses;

void pause(const char*) {
    if (draw(&pauses, 4) == 0)
        std::this_thread::yield();
}

class worker {
public:
    worker(index_calls& it, unsigned id, word seed) : it_(it), id_(id), random_(seed), from_(seed) {
        source same(1); // one way to be shared for all
        setup_.share(same, window, stride, points);
        setup_.points = setup_.ranks = setup_.holes = false;
        setup_.values = id << 16; // differ from those of the other threads
    }

    void run() {
        pauses = random_ ^ 0x9e3779b97f4a7c15ull;
        for (unsigned round = 1;; round++) {
            ready.fetch_add(1);
            while (round_open.load() < round)
                if (over.load())
                    return;
                else
                    std::this_thread::yield();
            made.clear();
            for (unsigned steps = 0, i = 0;
                 i < most_calls && steps < history<index_calls>::most / threads; i++) {
                churn();
                steps += record(history<index_calls>::most / threads - steps);
                if (draw(&random_, 8) == 0)
                    std::this_thread::yield();
            }
        }
    }

    std::vector<range_call> made;

private:
    // Makes a call that has at most this many steps. Returns their number.
    unsigned record(unsigned most) {
        range_call c = calls::draw<index_calls>(setup_, from_);
        const unsigned steps = index_calls::most_steps(setup_, c);
        if (steps > most || c.of->keys.units == 0)
            return 0;
        c.called = now.fetch_add(1);
        kind_at<index_calls>(c).make(it_, c);
        c.returned = now.fetch_add(1);
        made.push_back(c);
        return steps;
    }

    // Own items beside the points: a few more, or all of a side away.
    void churn() {
        if (draw(&random_, 2))
            return;
        const word base =
            draw(&random_, 2) ? window + points * stride : window - fillers * filler_gap;
        if (draw(&random_, 3) == 0) {
            for (word i = 0; i < fillers; i++)
                lath_index_erase_item(it_.set(), base + i * filler_gap + id_, nullptr);
            return;
        }
        for (word n = draw(&random_, fillers); n; n--) {
            const lath_item it{base + draw(&random_, fillers) * filler_gap + id_, 1, 65535};
            lath_index_insert_item(it_.set(), &it, nullptr);
        }
    }

    index_calls& it_;
    unsigned id_;
    word random_;
    source from_;
    index_calls::setup setup_;
};

// The items of the points.
ranges content(index_calls& it) {
    ranges all;
    it.contents(all);
    std::erase_if(all.items, [](const lath_item& i) {
        return i.key < window || i.key >= window + points * stride;
    });
    return all;
}

word overlapping_pairs(const std::vector<range_call>& made) {
    word pairs = 0;
    for (const range_call& a : made)
        for (const range_call& b : made)
            pairs += a.called < b.called && b.called < a.returned;
    return pairs;
}

bool explained(const ranges& before, std::vector<worker>& workers, word& overlapping) {
    history<index_calls> all;
    for (const worker& w : workers)
        for (const range_call& c : w.made)
            all.add(c);
    overlapping += overlapping_pairs(all.calls());
    const bool right = all.explained(before, nullptr);
    for (const range_call& c : right ? std::vector<range_call>() : all.calls()) {
        std::fputs(kind_at<index_calls>(c).name, stderr);
        show(stderr, c);
    }
    return right;
}

// Histories with this kind of memory for so long; false: one was refused.
bool run(unsigned flags, word seed, std::chrono::seconds duration) {
    index_calls::setup setup;
    setup.config.flags = flags;
    index_calls it(setup, {});
    std::vector<worker> workers;
    std::vector<std::thread> running;
    unsigned rounds = 0;
    word overlapping = 0;
    bool right = !it.failed();

    ready = 0, round_open = 0, over = false;
    for (unsigned i = 0; i < threads; i++)
        workers.emplace_back(it, i, seed * threads + i);
    for (auto& w : workers)
        running.emplace_back([&w] { w.run(); });
    const auto end = std::chrono::steady_clock::now() + duration;
    auto wait = [&](unsigned n) {
        while (ready.load() < n)
            std::this_thread::yield();
    };
    wait(threads);
    while (right && std::chrono::steady_clock::now() < end) {
        const ranges before = content(it);
        round_open.store(++rounds);
        wait(threads * (rounds + 1));
        right = explained(before, workers, overlapping);
    }
    over = true;
    for (auto& t : running)
        t.join();
    const std::string wrong = it.verify(true);
    std::printf("lin_test: flags %u, seed %llu: %u histories, %llu pairs overlapped: %s %s\n",
                flags, static_cast<unsigned long long>(seed), rounds,
                static_cast<unsigned long long>(overlapping),
                right ? "explained" : "the last one is not", wrong.c_str());
    it.end(nullptr);
    return right && wrong.empty() && overlapping;
}

} // namespace

int main(int argc, char** argv) {
    const word seed =
        argc > 1 ? std::strtoull(argv[1], nullptr, 0)
                 : static_cast<word>(std::chrono::system_clock::now().time_since_epoch().count());
    const std::chrono::seconds each(std::getenv("LATH_LONG") ? 300 : 2);

    lath_delay_hook = pause;
    return run(0, seed, each) && run(LATH_NODE_EACH, seed, each) ? 0 : 1;
}
