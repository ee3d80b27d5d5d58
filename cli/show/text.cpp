// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One line per node: its keys, its entries, how it is searched.
#include "show/picture.hpp"

#include <algorithm>
#include <cstdio>

namespace lathcli::show {

namespace {

// '#' a live entry, 'x' a free place that has a key, '.' room
std::string entries_text(const node& n) {
    std::string text(n.cap, '.');
    for (std::size_t i = 0; i < n.entries.size(); i++)
        text[i] = n.entries[i].live ? '#' : 'x';
    return text;
}

std::string search_text(const node& n) {
    return n.pivoted ? "pivots" : "heads, shift " + std::to_string(n.shift);
}

void draw_node(std::ostream& to, const node& n) {
    std::string keys = "[" + key_text(n.low) + ", " + key_text(n.last) + "]";
    char text[200];
    std::snprintf(text, sizeof text, "  %-40s %2zu of %2u  %-64s  %s", keys.c_str(), n.live(),
                  n.cap, entries_text(n).c_str(), search_text(n).c_str());
    to << text;
    if (n.room)
        to << ", free run up to " << key_text(*n.room);
    to << (n.half_dead ? ", half-dead\n" : "\n");
}

// How much of each 1/64 of the key space from the first item to the last is free.
void draw_keys(std::ostream& to, const picture& what) {
    auto keys = what.extent();
    if (!keys)
        return;
    constexpr std::size_t cells = 64;
    double width = (static_cast<double>(keys->second) - static_cast<double>(keys->first) + 1) /
                   static_cast<double>(cells);
    std::vector<double> used(cells, 0);
    for (const node& leaf : what.leaves()) {
        for (const entry& e : leaf.entries) {
            double at = static_cast<double>(e.key - keys->first) / width;
            double end = at + static_cast<double>(e.size) / width;
            for (auto i = static_cast<std::size_t>(at); e.live && i < cells && at < end; i++) {
                double to_here = std::min(end, static_cast<double>(i + 1));
                used[i] += to_here - at;
                at = to_here;
            }
        }
    }
    to << "\nkeys " << key_text(keys->first) << " to " << key_text(keys->second)
       << ", how much of them items cover\n  ";
    for (double share : used) // a dot for any item, however short
        to << " .:-=+*#@"[share > 0 ? static_cast<std::size_t>(std::min(share, 1.0) * 7 + 1) : 0];
    to << "\n";
}

} // namespace

void draw_text(std::ostream& to, const picture& what, std::size_t most) {
    if (!what.title.empty())
        to << what.title << "\n";
    to << what.summary() << "\n";
    for (const auto& level : what.levels) {
        to << "\nlevel " << level.front().level << (level.front().level ? "" : ", leaves") << "\n";
        for (std::size_t i = 0; i < std::min(most, level.size()); i++)
            draw_node(to, level[i]);
        if (level.size() > most)
            to << "  ... and " << level.size() - most << " more\n";
    }
    draw_keys(to, what);
    to << "\n# item, x free place with a key (erased, or left between items), . room\n";
}

} // namespace lathcli::show
