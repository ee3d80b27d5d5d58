// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "show/picture.hpp"

#include "base/json_text.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace lathcli::show {

namespace {

node node_of(const nlohmann::json& told) {
    node n;
    n.level = told.at("level");
    n.cap = told.at("cap");
    n.shift = told.at("shift");
    n.half_dead = told.at("state") == "half-dead";
    n.low = told.at("low");
    n.last = told.at("last");
    if (told.contains("room"))
        n.room = told.at("room").get<std::uint64_t>();
    n.pivoted = told.contains("pivots");
    n.guides = told.at(n.pivoted ? "pivots" : "heads").get<std::vector<std::uint64_t>>();
    for (const auto& e : told.at("entries"))
        n.entries.push_back({e.at(0), e.at(1), e.at(2), e.at(3) == 1});
    if (n.low > n.last)
        throw std::runtime_error("fence keys out of order");
    if (n.cap == 0 || n.cap > 64 || n.entries.size() > n.cap)
        throw std::runtime_error("a node has room for 1 to 64 entries, and no more entries");
    return n;
}

} // namespace

std::size_t node::live() const {
    return static_cast<std::size_t>(
        std::count_if(entries.begin(), entries.end(), [](const entry& e) { return e.live; }));
}

void picture::add(const std::string& line) {
    node n;
    try {
        n = node_of(nlohmann::json::parse(line));
    } catch (const nlohmann::json::exception& e) {
        throw std::runtime_error("no node of an index: " + json_problem(e));
    }
    if (levels.empty() || levels.back().front().level != n.level) {
        if (!levels.empty() && levels.back().front().level != n.level + 1)
            throw std::runtime_error("levels out of order");
        levels.emplace_back();
    }
    levels.back().push_back(std::move(n));
}

std::size_t picture::items() const {
    std::size_t n = 0;
    for (const node& leaf : leaves())
        n += leaf.live();
    return n;
}

unsigned picture::fill_percent() const {
    std::size_t room = 0;
    for (const node& leaf : leaves())
        room += leaf.cap;
    return static_cast<unsigned>(room ? items() * 100 / room : 0);
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> picture::extent() const {
    std::optional<std::pair<std::uint64_t, std::uint64_t>> keys;
    for (const node& leaf : leaves())
        for (const entry& e : leaf.entries)
            if (e.live)
                keys = {{keys ? keys->first : e.key, e.key + (e.size ? e.size - 1 : 0)}};
    return keys;
}

std::string picture::summary() const {
    char text[120];
    std::snprintf(text, sizeof text, "%zu items, %zu level%s, %zu %s, %u %% full", items(),
                  levels.size(), levels.size() == 1 ? "" : "s", leaves().size(),
                  leaves().size() == 1 ? "leaf" : "leaves", fill_percent());
    return text;
}

std::string key_text(std::uint64_t key) {
    char text[32];
    if (key == UINT64_MAX)
        return "max";
    std::snprintf(text, sizeof text, key < 1000000000 ? "%llu" : "0x%llx",
                  static_cast<unsigned long long>(key));
    return text;
}

} // namespace lathcli::show
