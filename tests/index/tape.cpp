// SPDX-License-Identifier: MIT OR GPL-2.0-only
// An index beside its model (index_calls.hpp).
#include "index_calls.hpp"

#include "base/calls_tape.hpp"

// With tiny nodes and memory gone for good the largest domain takes minutes: long runs only.
static void begin(std::uint8_t* bytes, unsigned long i, bool failing) {
    bytes[0] = static_cast<std::uint8_t>(i);
    bytes[1] = static_cast<std::uint8_t>(i / 4);
    if (failing)
        bytes[2] |= 1; // one allocation a node: many places to fail
}

const struct tape_plan tape_plan = {216,  8000,  24,
                                    1500, begin, calls::all_errors_seen<calls::index_calls>};
int tape_run(struct tape* tape) { return calls::run_tape<calls::index_calls>(*tape); }
