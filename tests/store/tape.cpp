// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A store beside its model (store_calls.hpp).
#include "store_calls.hpp"

#include "base/calls_tape.hpp"

// leaves from which on numbers are led to theirs (src/tree/way/hint.h)
extern "C" unsigned lath_hint_least;

static void begin(std::uint8_t* bytes, unsigned long i, bool failing) {
    lath_hint_least = 1;
    bytes[0] = static_cast<std::uint8_t>(i % 128 + (failing ? 128 : 0)); // each place, keys, values
}

const struct tape_plan tape_plan = {90,  6000,  9,
                                    900, begin, calls::all_errors_seen<calls::store_calls>};
int tape_run(struct tape* tape) { return calls::run_tape<calls::store_calls>(*tape); }
