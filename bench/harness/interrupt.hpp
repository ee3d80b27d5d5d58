// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// SIGINT, SIGTERM and SIGHUP end a run early: what was measured until then is printed. A second one
// kills.
#pragma once

namespace lathbench {

void catch_interrupt();
bool interrupted();

} // namespace lathbench
