// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A set of intervals beside its model (interval_calls.hpp).
#include "interval_calls.hpp"

#include "base/calls_tape.hpp"

static void begin(std::uint8_t* bytes, unsigned long i, bool failing) {
    bytes[0] = static_cast<std::uint8_t>(failing ? i % 4 | 4
                                                 : i); // one allocation a node: many places to fail
    bytes[1] = static_cast<std::uint8_t>(i / 4);
}

const struct tape_plan tape_plan = {200,  4000,  12,
                                    1000, begin, calls::all_errors_seen<calls::interval_calls>};
int tape_run(struct tape* tape) { return calls::run_tape<calls::interval_calls>(*tape); }
