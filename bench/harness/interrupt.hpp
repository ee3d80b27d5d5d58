// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// SIGINT, SIGTERM and SIGHUP end a run early, and what was measured until then is printed. A second
// signal kills the process.
#pragma once

namespace lathbench {

void catch_interrupt();
bool interrupted();

} // namespace lathbench
