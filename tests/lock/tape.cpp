// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Locks on ranges beside their model (lock_calls.hpp).
#include "lock_calls.hpp"

#include "base/calls_tape.hpp"

static void begin(std::uint8_t* bytes, unsigned long i, bool) {
    bytes[0] = static_cast<std::uint8_t>(i * 37);
    bytes[1] = static_cast<std::uint8_t>(i);
    bytes[2] = static_cast<std::uint8_t>(i / 7);
}

const struct tape_plan tape_plan = {200, 6000,  4,
                                    300, begin, calls::all_errors_seen<calls::lock_calls>};
int tape_run(struct tape* tape) { return calls::run_tape<calls::lock_calls>(*tape); }
