// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A set of byte keys beside its model (bytes_calls.hpp).
#include "bytes_calls.hpp"

#include "base/calls_tape.hpp"

static void begin(std::uint8_t* bytes, unsigned long i, bool failing) {
    bytes[0] = static_cast<std::uint8_t>(i | failing); // one allocation a node: many places to fail
    bytes[1] = static_cast<std::uint8_t>(i);
}

const struct tape_plan tape_plan = {200,  6000,  12,
                                    2500, begin, calls::all_errors_seen<calls::bytes_calls>};
int tape_run(struct tape* tape) { return calls::run_tape<calls::bytes_calls>(*tape); }
