// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "extents_input.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace lathbench {

namespace {

using pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

pairs parse(std::istream& in) {
    pairs found;
    auto document = nlohmann::json::parse(in);
    for (const auto& e : document.at("extents")) {
        const auto& start = e.contains("physical") ? e.at("physical") : e.at("start");
        auto length = e.at("length").get<std::uint64_t>();
        if (length)
            found.emplace_back(start.get<std::uint64_t>(), length);
    }
    return found;
}

} // namespace

extent_set read_extents(const std::string& path) {
    std::ifstream in(path);
    if (!in)
        throw std::runtime_error(path + ": " + std::strerror(errno));
    pairs found;
    try {
        found = parse(in);
    } catch (const nlohmann::json::exception& e) {
        throw std::runtime_error(path + ": not the JSON of `lath extents --json`: " + e.what());
    }
    std::sort(found.begin(), found.end());
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
