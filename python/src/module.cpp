// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork._core: what the Python files of the package are built on.
#include "modules.hpp"

NB_MODULE(_core, module) {
    nanobind::set_leak_warnings(false); // at exit globals may still hold containers
    lathpy::bind_sorted(module);
    lathpy::bind_intervals(module);
    lathpy::bind_ranges(module);
    lathpy::bind_store(module);
}
