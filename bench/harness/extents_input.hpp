// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Real extents as the key set: the JSON of `lath extents --json`,
// {"extents":[{"physical":N,"length":N,...},...]}; "start" stands for "physical" as well.
#pragma once

#include "subjects/ranges/range_subject.hpp"

#include <string>

namespace lathbench {

// Sorted by key and disjoint: where two overlap (shared extents), the later one is cut or left out.
// Throws std::runtime_error naming the file.
extent_set read_extents(const std::string& path);

// Adds the absent keys that follow the last extent.
void add_keys_beyond(extent_set& set);

} // namespace lathbench
