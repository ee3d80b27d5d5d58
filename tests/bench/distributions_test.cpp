// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The key distributions of table `index`: counts, uniqueness, seeds, memory, and the form of each.
#include "harness/random.hpp"
#include "tables/index/distributions.hpp"
#include "tables/index/workload.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <vector>

using namespace lathbench;
using keys = std::vector<std::uint64_t>;

namespace {

constexpr std::uint64_t n = 100000;

keys sorted(keys all) {
    std::sort(all.begin(), all.end());
    return all;
}

bool distinct(const keys& in_order) {
    return std::adjacent_find(in_order.begin(), in_order.end()) == in_order.end();
}

std::uint64_t hash_of(const keys& all) {
    std::uint64_t hash = 0;
    for (auto key : all)
        hash = mix_bits(hash + golden_ratio + key);
    return hash;
}

// How many keys are in [low, high).
std::size_t within(const keys& in_order, std::uint64_t low, std::uint64_t high) {
    auto at = [&](std::uint64_t x) {
        return std::lower_bound(in_order.begin(), in_order.end(), x) - in_order.begin();
    };
    return static_cast<std::size_t>(at(high) - at(low));
}

std::uint64_t most_resident() { // bytes, in the life of the process
    rusage use = {};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<std::uint64_t>(use.ru_maxrss) * 1024;
}

} // namespace

// first of all, because the most that the process ever had never shrinks; of this many draws for
// timestamp and lognormal some are equal
TEST_CASE("memory is bounded, and no key of millions is there twice") {
    constexpr std::uint64_t many = 2000000;
    std::uint64_t before = most_resident();
    for (const auto& name : distribution_names()) {
        INFO(name);
        keys all = distribution_keys(name, many, 1);
        if (distribution_moves(name)) {
            all.clear();
            all.shrink_to_fit();
            distribution_turn(name, many, 1, 2);
        }
        CHECK(most_resident() - before <= many * distribution_bytes + (4 << 20));
        std::sort(all.begin(), all.end());
        CHECK(distinct(all));
    }
}

TEST_CASE("each has the keys that were asked for, none twice, and none above 63 bits") {
    for (const auto& name : distribution_names())
        for (std::uint64_t count : {1ul, 2ul, 7ul, 999ul, 1001ul, 1500ul, 100000ul}) {
            INFO(name << " " << count);
            keys all = sorted(distribution_keys(name, count, 5));
            CHECK(all.size() == count);
            CHECK(distinct(all));
            CHECK(all.back() < (std::uint64_t{1} << 63));
        }
    CHECK(distribution_names().size() == 10);
    CHECK_THROWS_AS(distribution_keys("no such", 1, 1), std::logic_error);
    CHECK_THROWS_AS(distribution_turn("dense", 1, 1, 1), std::logic_error);
}

TEST_CASE("a seed gives the same keys again, another one others") {
    for (const auto& name : distribution_names()) {
        INFO(name);
        CHECK(distribution_keys(name, n, 3) == distribution_keys(name, n, 3));
        CHECK((distribution_keys(name, n, 3) == distribution_keys(name, n, 4)) ==
              (name == "dense"));
    }
}

// without functions of the C library, whose last digit is not the same everywhere
TEST_CASE("a seed gives the same keys on every machine") {
    const std::map<std::string, std::uint64_t> known = {
        {"uniform", 12618929299439150536u},        {"dense", 114714755752449940u},
        {"dense-shuffled", 16006293093779946509u}, {"clustered", 975513775808123400u},
        {"two-scale", 6902005788385159136u},       {"hop", 7235834966986064075u},
        {"fifo", 10047971415025097307u},
    };
    for (const auto& [name, hash] : known) {
        INFO(name);
        CHECK(hash_of(distribution_keys(name, 5000, 1)) == hash);
    }
}

TEST_CASE("the order of insertion") {
    for (const auto& name : distribution_names()) {
        INFO(name);
        keys all = distribution_keys(name, n, 1);
        std::size_t ascents = 0;
        for (std::size_t i = 1; i < all.size(); i++)
            ascents += all[i - 1] < all[i];
        if (name == "dense" || name == "fifo")
            CHECK(ascents == n - 1);
        else // half of them; jitter mixes neighbours alone
            CHECK(std::abs(static_cast<double>(ascents) / n - 0.5) < 0.01);
    }
    keys arrivals = distribution_keys("timestamp", n, 1);
    CHECK(std::max_element(arrivals.begin(), arrivals.end()) - arrivals.begin() > n * 4 / 5);
    CHECK(std::min_element(arrivals.begin(), arrivals.end()) - arrivals.begin() < n / 5);
}

TEST_CASE("uniform: an eighth of the keys in each eighth of the range") {
    keys all = sorted(distribution_keys("uniform", n, 1));
    for (std::uint64_t i = 0; i < 8; i++)
        CHECK(std::abs(static_cast<double>(within(all, i << 60, (i + 1) << 60)) / n - 0.125) <
              0.005);
}

TEST_CASE("dense: the numbers below n") {
    for (const char* name : {"dense", "dense-shuffled"}) {
        keys all = sorted(distribution_keys(name, n, 1));
        CHECK(all.front() == 0);
        CHECK(all.back() == n - 1);
    }
}

TEST_CASE("clustered: 1000 runs of n / 1000") {
    for (std::uint64_t count : {n, n + 500, std::uint64_t{1000}, std::uint64_t{40}}) {
        INFO(count);
        keys all = sorted(distribution_keys("clustered", count, 1));
        std::map<std::uint64_t, unsigned> runs; // by length
        std::uint64_t length = 1;
        for (std::size_t i = 1; i <= all.size(); i++, length++)
            if (i == all.size() || all[i] != all[i - 1] + 1) {
                runs[length]++;
                length = 0;
            }
        std::uint64_t total = 0;
        for (auto [size, number] : runs) {
            CHECK(size >= std::max<std::uint64_t>(count / 1000, 1));
            CHECK(size <= count / 1000 + 1);
            total += number;
        }
        CHECK(total == std::min<std::uint64_t>(count, 1000));
        CHECK(all.back() <
              (std::uint64_t{1} << 63)); // the last run may go beyond the bits of its start
    }
}

TEST_CASE("osm: few regions have most of the keys, towns within them") {
    keys all = sorted(distribution_keys("osm", n, 1));
    // a region is some 2^47 wide, regions are 2^53 apart; a town is some 2^31 wide
    std::vector<std::size_t> regions;
    std::size_t size = 1, towns = 1;
    for (std::size_t i = 1; i <= all.size(); i++) {
        if (i == all.size() || all[i] - all[i - 1] > std::uint64_t{1} << 48) {
            regions.push_back(size);
            size = 0;
        }
        size++;
        towns += i < all.size() && all[i] - all[i - 1] > std::uint64_t{1} << 33;
    }
    CHECK(regions.size() > 850);
    CHECK(regions.size() <= 1000);
    CHECK(towns > 20000);
    CHECK(towns <= 100000);
    std::sort(regions.rbegin(), regions.rend());
    std::size_t largest = 0;
    for (std::size_t i = 0; i < 100; i++)
        largest += regions[i];
    CHECK(largest > n * 45 / 100); // of a tenth of the regions
    CHECK(largest < n * 75 / 100);
}

TEST_CASE("lognormal: the median is 10^12, sigma 2") {
    keys all = sorted(distribution_keys("lognormal", n, 1));
    CHECK(std::abs(std::log(static_cast<double>(all[n / 2]) / 1e12)) < 0.05);
    double sigma = std::log(static_cast<double>(all[n * 8413 / 10000]) / 1e12);
    CHECK(std::abs(sigma - 2) < 0.05);
}

TEST_CASE("timestamp: 8 a millisecond, jitter of 200 ms, 22 random bits") {
    keys all = distribution_keys("timestamp", n, 1);
    double squares = 0, sum = 0;
    std::set<std::uint64_t> low;
    for (std::uint64_t i = 0; i < n; i++) {
        double late = static_cast<double>(all[i] >> 22) - (1.7e12 + static_cast<double>(i) / 8);
        sum += late;
        squares += late * late;
        low.insert(all[i] & ((1u << 22) - 1));
    }
    CHECK(std::abs(sum / n) < 5);
    CHECK(std::abs(std::sqrt(squares / n) - 200) < 5);
    CHECK(low.size() > n * 95 / 100);
}

TEST_CASE("two-scale: one half of the keys is in 1e-6 of the range") {
    keys all = sorted(distribution_keys("two-scale", n, 1));
    std::uint64_t start = std::uint64_t{1} << 61;
    CHECK(std::abs(static_cast<double>(within(all, start, start + 9200000000000)) / n - 0.5) <
          1e-4);
    CHECK(std::abs(static_cast<double>(within(all, 0, start)) / n - 0.125) < 0.005);
}

TEST_CASE("hop and fifo: every key moves in every turn") {
    for (const char* name : {"hop", "fifo"}) {
        CHECK(distribution_moves(name));
        keys before = distribution_keys(name, n, 1);
        for (unsigned turn = 1; turn <= 3; turn++) {
            INFO(name << " " << turn);
            key_turn t = distribution_turn(name, n, 1, turn);
            CHECK(sorted(t.out) == sorted(before));
            CHECK(t.in.size() == n);
            keys both = t.in;
            both.insert(both.end(), t.out.begin(), t.out.end());
            CHECK(distinct(sorted(both)));
            keys moved = sorted(t.in);
            CHECK(std::abs(static_cast<double>(moved.back() - moved.front()) / n - 1000) < 1);
            if (name == std::string("fifo")) {
                CHECK(t.out == before); // the oldest first
                CHECK(t.in.front() > t.out.back());
            } else {
                // each key goes as far as all others, and in its own order
                std::uint64_t away = t.in[0] - t.out[0];
                for (std::uint64_t i = 0; i < n; i++)
                    REQUIRE(t.in[i] - t.out[i] == away);
                CHECK(t.out != before);
            }
            before = t.in;
        }
    }
    CHECK_FALSE(distribution_moves("uniform"));
}

TEST_CASE("near misses: the first gap behind a key") {
    ordered_oracle some({10, 11, 12, 20, 22, 23});
    CHECK(some.gap(0) == window{13, 20});
    CHECK(some.gap(2) == window{13, 20});
    CHECK(some.gap(3) == window{21, 22});
    CHECK(some.gap(4) == window{24, ~std::uint64_t{0}});
    for (const auto& name : distribution_names()) {
        INFO(name);
        keys all = sorted(distribution_keys(name, 3000, 2));
        ordered_oracle oracle(all);
        for (std::size_t i = 0; i < all.size(); i++) {
            std::size_t last = i;
            while (last + 1 < all.size() && all[last + 1] == all[last] + 1)
                last++;
            window gap = oracle.gap(i);
            REQUIRE(gap.low == all[last] + 1);
            REQUIRE(gap.high == (last + 1 < all.size() ? all[last + 1] : ~std::uint64_t{0}));
        }
    }
}
