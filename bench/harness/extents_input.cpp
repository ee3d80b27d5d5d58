// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "extents_input.hpp"

#include "base/extent_list.hpp"
#include "base/input_file.hpp"
#include "base/json_text.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lathbench {

extent_set read_extents(const std::string& path) {
    auto in = lathcli::open_stream(path);
    std::vector<lathcli::listed_extent> found;
    try {
        found = lathcli::list_extents(nlohmann::json::parse(in), path, "start");
    } catch (const nlohmann::json::exception& e) {
        throw std::runtime_error(
            path + ": not the JSON of `lath extents --json`: " + lathcli::json_problem(e));
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return std::pair(a.first, a.length) < std::pair(b.first, b.length);
    });
    extent_set set;
    std::uint64_t end = 0;
    for (auto [start, length] : found) {
        std::uint64_t last = start + length;
        if (last < start || last <= end)
            continue;
        start = std::max(start, end);
        set.keys.push_back(start);
        set.sizes.push_back(last - start);
        end = last;
    }
    set.items = set.keys.size();
    if (set.items < 2)
        throw std::runtime_error(path + ": needs at least two extents, has " +
                                 std::to_string(set.items));
    add_keys_beyond(set);
    return set;
}

void add_keys_beyond(extent_set& set) {
    std::uint64_t next = set.keys.back() + set.sizes.back();
    for (std::size_t i = 0; i < extent_set::beyond; i++) {
        set.keys.push_back(next + i * 4096);
        set.sizes.push_back(4096);
    }
}

} // namespace lathbench
