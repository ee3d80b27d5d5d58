// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// An index as `lath show` draws it: the nodes of each level, as LATH_DUMP_JSON tells them.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace lathcli::show {

struct entry {
    std::uint64_t key = 0, size = 0, value = 0;
    bool live = false;
};

struct node {
    unsigned level = 0, cap = 0, shift = 0;
    bool half_dead = false, pivoted = false;
    std::uint64_t low = 0, last = 0;
    std::optional<std::uint64_t> room; // with summaries of free space
    std::vector<std::uint64_t> guides; // what a search compares first: heads or pivots
    std::vector<entry> entries;

    std::size_t live() const;
};

struct picture {
    std::string title;
    std::vector<std::vector<node>> levels; // the root's first, the leaves last

    // Adds the node of a line of LATH_DUMP_JSON. Throws std::runtime_error: what is wrong with it.
    void add(const std::string& line);
    std::size_t items() const;
    unsigned fill_percent() const; // live entries of the room in leaves
    // The first key of an item, and the last; nothing without items.
    std::optional<std::pair<std::uint64_t, std::uint64_t>> extent() const;
    const std::vector<node>& leaves() const { return levels.back(); }
    // "600 items, 2 levels, 12 leaves, 78 % full"
    std::string summary() const;
};

// At most this many nodes of a level are drawn; the others are counted.
void draw_text(std::ostream& to, const picture& what, std::size_t most);

enum class theme { automatic, light, dark };
void draw_svg(std::ostream& to, const picture& what, std::size_t most, theme colours);

// A key for people: decimal up to nine digits, then hexadecimal; "max" is 2^64 - 1.
std::string key_text(std::uint64_t key);

} // namespace lathcli::show
