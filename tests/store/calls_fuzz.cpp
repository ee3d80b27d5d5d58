// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Any bytes as calls on a store, compared with a std::map. The first byte chooses keys and flags.
#include <cstdlib>

#define REQUIRE(condition) \
    do {                   \
        if (!(condition))  \
            std::abort();  \
    } while (0)

#include "base/tape_random.hpp"
#include "tester.hpp"

// leaves from which on numbers are led to theirs (src/tree/way/hint.h)
extern "C" unsigned lath_hint_least;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (!size)
        return 0;
    lath_hint_least = 1;
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    options.keys = bytes[0] & 1 ? LATH_STORE_BYTES : LATH_STORE_NUMBERS;
    auto store = storetest::open_store(options);
    REQUIRE(store);
    storetest::tester(store.get(), options.keys, bytes[0] & 2 ? 3000 : 100,
                      tape_random(bytes + 1, size - 1))
        .run_out();
    return 0;
}
