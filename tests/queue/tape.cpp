// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A sorted request queue beside its model (sortq_calls.hpp).
#include "sortq_calls.hpp"

#include "base/calls_tape.hpp"

static void begin(std::uint8_t* bytes, unsigned long i, bool) {
    bytes[0] = static_cast<std::uint8_t>(i); // each engine and form, in all sets of flags
    bytes[1] = static_cast<std::uint8_t>(i / 5);
}

const struct tape_plan tape_plan = {240, 6000,  0,
                                    0,   begin, calls::all_errors_seen<calls::sortq_calls>};
int tape_run(struct tape* tape) { return calls::run_tape<calls::sortq_calls>(*tape); }
