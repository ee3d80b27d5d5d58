// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The extents in the JSON of `lath extents --json`, for all that take them as input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace lathcli {

struct listed_extent {
    std::uint64_t first = 0, length = 0; // bytes
};

// The extents of {"extents":[{"physical":N,"length":N,"device":N},...]}, in its order, without
// empty ones. They are places of one space: extents of several devices are refused. `or_called` may
// stand for "physical", unless it is null. Throws std::runtime_error that begins with `name`, and
// nlohmann::json::exception where a member is missing.
std::vector<listed_extent> list_extents(const nlohmann::json& document, const std::string& name,
                                        const char* or_called = nullptr);

} // namespace lathcli
