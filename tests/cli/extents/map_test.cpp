// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// extent_map against a plain array of owners a byte, with extents that overlap in every way; and
// the reading of offsets.
#include "extents/map.hpp"
#include "extents/report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace lathcli;

namespace {

// Owners of each byte of a small device, by file number.
using bytes = std::vector<std::vector<std::uint32_t>>;

struct placed {
    extent e;
    owner who;
};

std::vector<placed> random_extents(std::mt19937& random, std::uint32_t files, std::uint64_t size) {
    std::vector<placed> all;
    for (std::uint32_t f = 0; f < files; f++) {
        for (std::uint32_t n = 0; n < 1 + random() % 3; n++) {
            std::uint64_t length = 1 + random() % 40;
            all.push_back({{random() % (size - length), n * 1000, length, 0}, {f, n}});
        }
    }
    return all;
}

void enter(extent_map& map, const std::vector<placed>& all, unsigned device, unsigned threads) {
    std::vector<std::vector<extent_map::pending>> later(threads);
    {
        std::vector<std::jthread> workers;
        for (unsigned t = 0; t < threads; t++)
            workers.emplace_back([&, t] {
                for (std::size_t i = t; i < all.size(); i += threads)
                    if (map.add(device, all[i].e, all[i].who, later[t]) != 0)
                        std::abort();
            });
    }
    std::vector<extent_map::pending> together;
    for (auto& l : later)
        together.insert(together.end(), l.begin(), l.end());
    REQUIRE(map.settle(std::move(together)) == 0);
}

bytes expected(const std::vector<placed>& all, std::uint64_t size) {
    bytes device(size);
    for (const placed& p : all)
        for (std::uint64_t b = p.e.physical; b < p.e.physical + p.e.length; b++)
            device[b].push_back(p.who.file);
    for (auto& owners : device)
        std::ranges::sort(owners);
    return device;
}

std::vector<std::uint32_t> files_of(const segment& s) {
    std::vector<std::uint32_t> files;
    for (owner who : s.owners)
        files.push_back(who.file);
    std::ranges::sort(files);
    return files;
}

} // namespace

TEST_CASE("every byte has its owners") {
    constexpr std::uint64_t size = 2000;
    for (unsigned seed = 1; seed <= 30; seed++) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        auto all = random_extents(random, seed * 2, size);
        extent_map map;
        enter(map, all, 3, 1 + seed % 3);
        bytes device = expected(all, size);
        std::uint64_t owned = 0, at = 0;
        for (const segment& s : map.overlap(3, 0, device_limit)) {
            REQUIRE(s.physical >= at);
            REQUIRE(s.device == 3);
            for (; at < s.physical; at++)
                REQUIRE(device[at].empty());
            for (; at < s.physical + s.length; at++)
                REQUIRE(device[at] == files_of(s));
            owned += s.length;
        }
        for (; at < size; at++)
            REQUIRE(device[at].empty());
        CHECK(map.bytes() == owned);
        for (std::uint64_t b = 0; b < size; b += 7) {
            auto found = map.at(3, b);
            REQUIRE(found.size() == (device[b].empty() ? 0 : 1));
            if (!found.empty())
                REQUIRE(files_of(found[0]) == device[b]);
        }
        CHECK(map.at(2, 100).empty());
        map.each_shared([](const segment& s) { REQUIRE(s.owners.size() > 1); });
    }
}

TEST_CASE("the result does not depend on the order of the threads") {
    std::mt19937 random(7);
    auto all = random_extents(random, 50, 500);
    auto dump = [&] {
        extent_map map;
        enter(map, all, 0, 4);
        std::vector<std::tuple<std::uint64_t, std::uint64_t, std::vector<std::uint32_t>>> out;
        for (const segment& s : map.overlap(0, 0, device_limit))
            out.emplace_back(s.physical, s.length, files_of(s));
        // neighbours with the same owners may be cut at different places: glue them
        std::size_t kept = 0;
        for (std::size_t i = 1; i < out.size(); i++) {
            auto& [key, length, files] = out[kept];
            auto& [next_key, next_length, next_files] = out[i];
            if (key + length == next_key && files == next_files)
                length += next_length;
            else
                out[++kept] = out[i];
        }
        out.resize(kept + 1);
        return out;
    };
    auto first = dump();
    for (int i = 0; i < 5; i++)
        CHECK(dump() == first);
}

TEST_CASE("gaps") {
    extent_map map;
    std::vector<placed> all{{{100, 0, 10, 0}, {0, 0}},
                            {{110, 0, 10, 0}, {0, 1}},
                            {{150, 0, 10, 0}, {1, 0}},
                            {{500, 0, 1, 0}, {2, 0}},
                            {{502, 0, 1, 0}, {2, 1}}};
    enter(map, all, 0, 1);
    enter(map, {{{5, 0, 5, 0}, {3, 0}}, {{20, 0, 5, 0}, {3, 1}}}, 1, 1);
    auto gaps = map.largest_gaps(3);
    REQUIRE(gaps.size() == 3);
    CHECK((gaps[0].physical == 160 && gaps[0].length == 340 && gaps[0].device == 0));
    CHECK((gaps[1].physical == 120 && gaps[1].length == 30));
    CHECK((gaps[2].physical == 10 && gaps[2].length == 10 && gaps[2].device == 1));
    CHECK(map.largest_gaps(0).empty());
    CHECK(map.largest_gaps(100).size() == 4);
}

TEST_CASE("offsets") {
    CHECK(parse_place("4096").bytes(512) == 4096);
    CHECK(parse_place("0x1000").bytes(512) == 4096);
    CHECK(parse_place("4Ki").bytes(512) == 4096);
    CHECK(parse_place("3MiB").bytes(512) == 3 << 20);
    CHECK(parse_place("7b").bytes(512) == 3584);
    CHECK(parse_place("1Ti").bytes(1) == std::uint64_t{1} << 40);
    CHECK(parse_place("18446744073709551615b").bytes(4096) == UINT64_MAX);
    for (const char* bad :
         {"", "x", "-1", "4KB", "4K i", "18446744073709551616", "16385Pi", "1.5Gi", "0x"})
        CHECK_THROWS_AS(parse_place(bad), std::runtime_error);
    auto [from, to] = parse_span("4Ki-1Mi");
    CHECK(from.bytes(1) == 4096);
    CHECK(to.bytes(1) == 1 << 20);
    for (const char* bad : {"", "5", "5-5", "6-5", "5-", "-5"})
        CHECK_THROWS_AS(parse_span(bad), std::runtime_error);
}
