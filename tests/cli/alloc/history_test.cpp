// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The states that a replay keeps: right at each moment, and not at the cost of a walk over the list
// for each.
#include "alloc/replay.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

using namespace lathcli::alloc;

namespace {

// What was asked of the list's own statistics, and what they say when they read every leaf.
struct {
    std::size_t calls = 0, most_leaves = 0;
    bool compare = false;
    lath_hole_stats exact{};
} asked;

} // namespace

extern "C" {
int __real_lath_index_hole_stats(lath_index*, std::uint64_t, std::uint64_t, std::uint64_t,
                                 lath_hole_stats*);
int __wrap_lath_index_hole_stats(lath_index* list, std::uint64_t low, std::uint64_t high,
                                 std::uint64_t max_leaves, lath_hole_stats* stats) {
    asked.calls++;
    asked.most_leaves =
        std::max<std::size_t>(asked.most_leaves, max_leaves ? max_leaves : SIZE_MAX);
    if (asked.compare)
        REQUIRE(__real_lath_index_hole_stats(list, low, high, 0, &asked.exact) == 0);
    return __real_lath_index_hole_stats(list, low, high, max_leaves, stats);
}
}

namespace {

// A trace that fills the pool and empties it again, one operation at a time.
class tape {
public:
    explicit tape(std::uint64_t seed) : rng_(seed) {}
    operation next() {
        operation o;
        if (live_.size() > 300 ? rng_() % 3 : live_.size() > 20 && rng_() % 2) {
            std::swap(live_[rng_() % live_.size()], live_.back());
            o.is_free = true;
            o.slot = live_.back();
            live_.pop_back();
            return o;
        }
        o.slot = live_.size() + gone_++;
        o.size = (1 + rng_() % 5) << (rng_() % 3 * 2);
        o.align = 1ull << rng_() % 4;
        o.hint = rng_() % 5000;
        live_.push_back(o.slot);
        return o;
    }

private:
    std::mt19937_64 rng_;
    std::vector<std::size_t> live_;
    std::size_t gone_ = 0;
};

void expect_exact(const state& s) {
    CHECK(s.holes == asked.exact.holes);
    CHECK(s.free == asked.exact.free);
    CHECK(s.largest == asked.exact.largest);
    CHECK(s.largest_order ==
          (asked.exact.largest_order < 64 ? static_cast<int>(asked.exact.largest_order) : -1));
    CHECK(std::equal(s.histogram.begin(), s.histogram.end(), std::begin(asked.exact.histogram)));
}

} // namespace

TEST_CASE("each state is what a walk over the whole list would say") {
    asked = {};
    asked.compare = true;
    for (auto policy :
         {LATH_HOLE_FIRST, LATH_HOLE_LAST, LATH_HOLE_BEST, LATH_HOLE_NEXT, LATH_HOLE_NEAR})
        for (const pool& of : {pool{{0, 4999}}, pool{{3, 700}, {704, 704}, {900, 3000}},
                               pool{{UINT64_MAX - 4000, UINT64_MAX}}}) {
            replay_options options;
            options.policy = policy;
            replayer replay(of, options);
            tape trace(policy + of.size());
            expect_exact(replay.now());
            for (int i = 0; i < 800; i++) {
                replay.play(trace.next());
                expect_exact(replay.now());
            }
        }
}

TEST_CASE("a whole address space is one hole") {
    asked = {};
    replayer replay({{0, UINT64_MAX}}, {});
    CHECK(replay.now().histogram[63] == 1);
    operation o;
    o.size = 1;
    replay.play(o);
    CHECK(replay.now().holes == 1);
    CHECK(replay.now().histogram[63] == 1);
}

TEST_CASE("states cost a bounded number of looks, each at one leaf") {
    asked = {};
    replayer replay({{0, 1ull << 40}}, {});
    constexpr unsigned operations = 100000;
    operation o;
    o.size = 4096;
    for (o.slot = 0; o.slot < operations; o.slot++)
        replay.play(o);
    CHECK(replay.history().size() <= 513);
    // 512 states at first, then 256 for each time the distance doubles
    CHECK(asked.calls <= 513 + 256 * std::bit_width(operations / 512));
    CHECK(asked.most_leaves == 1);
}

TEST_CASE("who wants no history pays nothing for it") {
    asked = {};
    replay_options options;
    options.history = false;
    replayer replay({{0, 1ull << 40}}, options);
    operation o;
    o.size = 4096;
    for (o.slot = 0; o.slot < 5000; o.slot++)
        replay.play(o);
    CHECK(asked.calls == 0);
}
