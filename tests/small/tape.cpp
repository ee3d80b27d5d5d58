// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A small container beside its model (small_calls.hpp).
#include "small_calls.hpp"

#include "base/calls_tape.hpp"

static void begin(std::uint8_t* bytes, unsigned long i, bool failing) {
    bytes[0] = static_cast<std::uint8_t>(i);
    bytes[1] = static_cast<std::uint8_t>(i / 3);
    if (failing) { // a low limit
        bytes[2] = 1;
        bytes[3] = static_cast<std::uint8_t>(i % 24);
        bytes[4] = 0;
    }
}

const struct tape_plan tape_plan = {700,  4000,  36,
                                    1400, begin, calls::all_errors_seen<calls::small_calls>};
int tape_run(struct tape* tape) { return calls::run_tape<calls::small_calls>(*tape); }
