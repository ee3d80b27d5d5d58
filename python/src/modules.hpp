// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The parts of lathwork._core.
#pragma once

#include <nanobind/nanobind.h>

namespace lathpy {

void bind_sorted(nanobind::module_& module);
void bind_intervals(nanobind::module_& module);
void bind_ranges(nanobind::module_& module);
void bind_store(nanobind::module_& module);

} // namespace lathpy
