// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ratios: what is called faster, and what a tie.
#include "harness/noise.hpp"
#include "harness/stats.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using lathbench::ratio_of;

TEST_CASE("a clear difference is not a tie, and the interval holds the ratio") {
    auto r = ratio_of({10, 11, 10, 10.5, 10}, {20, 21, 20, 22, 20});
    CHECK(r.value == doctest::Approx(0.5));
    CHECK(r.low <= r.value);
    CHECK(r.value <= r.high);
    CHECK(r.high < 1);
    CHECK_FALSE(r.tie);
}

TEST_CASE("differences inside the noise are ties") {
    CHECK(ratio_of({10, 30, 12, 11, 29}, {11, 28, 12, 31, 10}).tie);
    CHECK(ratio_of({10, 10, 10}, {10, 10, 10}).tie);
    // three samples, all on one side, but as far from each other as from the peer's
    CHECK(ratio_of({10, 14, 18}, {11, 15, 19}).tie);
}

TEST_CASE("what hits both samples of a round cancels out") {
    // a slow minute doubles everything; ours is 20 % faster in every round
    std::vector<double> theirs = {10, 20, 11, 19, 10, 21, 10}, ours;
    for (double t : theirs)
        ours.push_back(t * 0.8);
    auto r = ratio_of(ours, theirs);
    CHECK(r.low == doctest::Approx(0.8));
    CHECK(r.high == doctest::Approx(0.8));
}

TEST_CASE("single samples, unequal numbers, nothing") {
    CHECK(ratio_of({16}, {20}).value == doctest::Approx(0.8));
    CHECK_FALSE(ratio_of({16}, {20}).tie);
    CHECK(ratio_of({5, 5, 6}, {10, 11}).value < 0.6);
    CHECK(ratio_of({}, {1}).value == 0);
    CHECK(ratio_of({1}, {0}).value == 0);
}

TEST_CASE("the same samples give the same interval") {
    std::vector<double> a = {3, 4, 5, 9, 2, 3, 4}, b = {5, 5, 6, 7, 5, 5, 9};
    CHECK(ratio_of(a, b).low == ratio_of(a, b).low);
    CHECK(ratio_of(a, b).high == ratio_of(a, b).high);
}

TEST_CASE("the noise of a run is bounded and described") {
    lathbench::noise_watch watch;
    watch.look();
    auto n = watch.finish();
    CHECK(n.seconds > 0);
    CHECK(n.others <= 100.5);
    CHECK(n.loop_lost >= 0);
    CHECK(n.loop_lost < 100);
    CHECK(n.resident_bytes > 0);
    CHECK(n.line_least_ns >= 0);
    CHECK(n.line_most_ns >= n.line_least_ns);
    CHECK(n.line_most_ns < 1e6);
    CHECK(std::string(lathbench::verdict({})) == "quiet");
    lathbench::noise bad;
    bad.others = 40;
    bad.line_least_ns = 28;
    bad.line_most_ns = 190;
    CHECK(std::string(lathbench::verdict(bad)) == "noisy");
    CHECK(lathbench::describe(bad).find("40.0 %") != std::string::npos);
    CHECK(lathbench::describe(bad).find("in 28 to 190 ns") != std::string::npos);
}
