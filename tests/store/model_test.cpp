// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Random calls, every answer compared with a std::map.
#include <doctest/doctest.h>

#include "tester.hpp"

#include <cstdlib>

using namespace storetest;

// leaves from which on numbers are led to theirs (src/tree/way/hint.h)
extern "C" unsigned lath_hint_least;

namespace {

[[maybe_unused]] const unsigned led = lath_hint_least = 1;

void run(lath_store_keys kind, unsigned flags, unsigned universe, unsigned seed, int steps) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = kind;
    options.flags = flags;
    auto store = open_store(options);
    REQUIRE(store);
    tester(store.get(), kind, universe, std::mt19937_64(seed)).run(steps);
}

} // namespace

TEST_CASE("a store does what a map does") {
    bool many = std::getenv("LATH_LONG") != nullptr;
    int steps = many ? 200000 : elsewhere().substr(0, 4) == "dev:" ? 1000 : 4000;
    for (unsigned seed = 1; seed <= (many ? 10 : 2); ++seed) {
        CAPTURE(seed);
        SUBCASE("numbers") { run(LATH_STORE_NUMBERS, 0, seed % 2 ? 3000 : 100, seed, steps); }
        SUBCASE("numbers with versions") {
            run(LATH_STORE_NUMBERS, LATH_STORE_VERSIONS, 500, seed, steps);
        }
        SUBCASE("bytes") { run(LATH_STORE_BYTES, 0, seed % 2 ? 5000 : 300, seed, steps); }
    }
}
