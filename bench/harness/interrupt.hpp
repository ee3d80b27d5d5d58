// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// SIGINT, SIGTERM and SIGHUP end a run early, and what was measured until then is printed. A second
// signal kills the process.
#pragma once

#include <cstdint>

namespace lathbench {

void catch_interrupt();
bool interrupted();

// Has time_over() be true from a moment of wall_ns() on; 0: never.
void stop_at(std::uint64_t moment);
bool time_over();

} // namespace lathbench
