// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Sets of extents, which serve as keys: made up by a table, or read from a file with --input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lathbench {

// Disjoint extents [keys[i], keys[i] + sizes[i]), by ascending key. The first `items` of them are
// in the set; `beyond` more follow that are never inserted, for searches behind the last one.
struct extent_set {
    static constexpr std::size_t beyond = 256;
    std::size_t items = 0;
    std::vector<std::uint64_t> keys, sizes;
};

// Reads the JSON of `lath extents --json`, {"extents":[{"physical":N,"length":N,...},...]}; "start"
// may stand for "physical". Where two extents overlap (shared extents), the later one is shortened
// or left out. Throws std::runtime_error that names the file, also for extents of several devices.
extent_set read_extents(const std::string& path);

// Adds the extents that follow the last one of the set.
void add_keys_beyond(extent_set& set);

} // namespace lathbench
