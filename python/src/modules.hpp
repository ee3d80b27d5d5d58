// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The parts of lathwork._core.
#pragma once

#include <nanobind/nanobind.h>

#include <stdexcept>

namespace lathpy {

// For __init__ after code of the caller's has run: throws RuntimeError if that has called __init__
// of the same object.
inline void once(nanobind::handle self) {
    if (nanobind::inst_ready(self))
        throw std::runtime_error("__init__ was called within __init__");
}

void bind_maps(nanobind::module_& module);
void bind_lists(nanobind::module_& module);
void bind_hashed(nanobind::module_& module);
void bind_intervals(nanobind::module_& module);
void bind_ranges(nanobind::module_& module);
void bind_space(nanobind::module_& module);
void bind_store(nanobind::module_& module);
void bind_locks(nanobind::module_& module);

} // namespace lathpy
