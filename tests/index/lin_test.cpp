// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Threads on a few points of one index (index_calls.hpp, base/calls_threads.hpp). On both sides of
// the points the threads insert and erase items of their own: so the leaf under the points is split,
// shared and merged all the time.
#include "index_calls.hpp"

#include "base/calls_threads.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace calls;

namespace {

constexpr unsigned points = 24;
constexpr word window = 1000, stride = 16;
// of a thread and side: with what lies between them a few leaves
#ifdef LATH_NODE_CAP
constexpr word fillers = LATH_NODE_CAP / 2;
#else
constexpr word fillers = 32;
#endif
constexpr word filler_gap = 5;

// Own items beside the points: a few more, or all of a side away.
void churn(index_calls& it, unsigned thread, word& random) {
    const word base = draw(&random, 2) ? window + points * stride : window - fillers * filler_gap;
    if (draw(&random, 3) == 0) {
        for (word i = 0; i < fillers; i++)
            lath_index_erase_item(it.set(), base + i * filler_gap + thread, nullptr);
        return;
    }
    for (word n = draw(&random, fillers); n; n--) {
        const lath_item item{base + draw(&random, fillers) * filler_gap + thread, 1, 65535};
        lath_index_insert_item(it.set(), &item, nullptr);
    }
}

void forget(index_calls&, ranges& all) {
    std::erase_if(all.items, [](const lath_item& i) {
        return i.key < window || i.key >= window + points * stride;
    });
}

// Histories with this kind of memory for so long; false: one was refused.
bool run(unsigned flags, word seed, std::chrono::seconds duration) {
    index_calls::setup setup, shared;
    setup.config.flags = flags;
    source same(1); // one way to be shared for all
    shared.share(same, window, stride, points);
    shared.points = shared.ranks = shared.holes = false;
    index_calls it(setup, {});
    bool right = !it.failed();
    word overlapping = 0;
    if (right) {
        // the values of each thread differ from those of the others
        calls_threads<index_calls> threads(
            it, shared, [](index_calls::setup& own, unsigned id) { own.values = id << 16; },
            {churn, forget}, seed);
        const auto end = std::chrono::steady_clock::now() + duration;
        while (right && std::chrono::steady_clock::now() < end)
            right = threads.round();
        overlapping = threads.overlapping();
        std::printf("lin_test: flags %u, seed %llu: %u histories, %llu pairs overlapped: %s\n",
                    flags, static_cast<unsigned long long>(seed), threads.rounds(),
                    static_cast<unsigned long long>(overlapping),
                    right ? "explained" : "the last one is not");
    }
    const std::string wrong = it.verify(true);
    std::fputs(wrong.c_str(), stderr);
    it.end(nullptr);
    return right && wrong.empty() && overlapping;
}

} // namespace

int main(int argc, char** argv) {
    const word seed =
        argc > 1 ? std::strtoull(argv[1], nullptr, 0)
                 : static_cast<word>(std::chrono::system_clock::now().time_since_epoch().count());
    const std::chrono::seconds each(std::getenv("LATH_LONG") ? 300 : 2);

    return run(0, seed, each) && run(LATH_NODE_EACH, seed, each) ? 0 : 1;
}
