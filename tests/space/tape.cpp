// SPDX-License-Identifier: MIT OR GPL-2.0-only
// A space beside its model (space_calls.hpp).
#include "space_calls.hpp"

#include "base/calls_tape.hpp"

static void begin(std::uint8_t* bytes, unsigned long i, bool failing) {
    bytes[0] = static_cast<std::uint8_t>(i); // every form of the space in turn
    bytes[1] = static_cast<std::uint8_t>(i % 3 ? i / 3 : i % 4);
    bytes[2] = static_cast<std::uint8_t>(i / 2);
    bytes[3] |= failing ? 8 : 0; // few allocations in one call
}

const struct tape_plan tape_plan = {64,  8000,  20,
                                    700, begin, calls::all_errors_seen<calls::space_calls>};
int tape_run(struct tape* tape) { return calls::run_tape<calls::space_calls>(*tape); }
