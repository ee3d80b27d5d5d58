// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Small maps, as programs keep by the thousand: what one of 20 keys takes, and how long its life
// is, from nothing to nothing, with the inserts.
#include "block.hpp"

#include "harness/memory.hpp"
#include "harness/timing.hpp"

#include <algorithm>

#include <malloc.h>

namespace lathbench {

namespace {

constexpr std::size_t small_keys = 20;
const char* const time_case = "small/20";
const char* const bytes_case = "small-bytes/20";

using make_map = std::function<std::unique_ptr<map_bench>(bool)>;

// Makes a map for each small_keys of the keys; returns how many keys went in.
std::uint64_t fill_small(const make_map& make, const std::vector<std::uint64_t>& keys,
                         std::vector<std::unique_ptr<map_bench>>& maps) {
    std::uint64_t inserted = 0;
    for (std::size_t i = 0; i < maps.size(); i++) {
        maps[i] = make(false);
        inserted += maps[i]->insert(keys.data() + i * small_keys, small_keys);
    }
    return inserted;
}

// The same, but each map ends before the next one begins.
std::uint64_t live_small(const make_map& make, const std::vector<std::uint64_t>& keys) {
    std::uint64_t inserted = 0;
    for (std::size_t i = 0; i < keys.size(); i += small_keys)
        inserted += make(false)->insert(keys.data() + i, small_keys);
    return inserted;
}

} // namespace

void run_small(session& s, const std::vector<std::string>& names) {
    if (!s.wants_any(small_cases()))
        return;
    std::size_t maps = s.opt().quick() ? 2000 : 10000; // --n: as many keys in all, at most
    if (!s.opt().n.empty())
        maps = std::min(maps, std::max<std::size_t>(s.opt().n.front() / small_keys, 20));
    auto per_map = [&](std::uint64_t total) {
        return static_cast<double>(total) / static_cast<double>(maps);
    };
    s.each_interleaved(s.reps(), names, [&](const std::string& name, int rep) {
        key_source source(s.seed(static_cast<std::uint64_t>(rep) + 700));
        std::vector<std::uint64_t> keys(maps * small_keys);
        for (std::size_t i = 0; i < keys.size(); i++)
            keys[i] = source.key(i);
        const make_map& make = find_subject(range_subjects(), name).map;
        std::vector<std::unique_ptr<map_bench>> all(maps);
        s.progress("index: " + std::string(time_case) + ", sample " + std::to_string(rep + 1) +
                   ", " + name);
        malloc_trim(0);
        std::uint64_t before = resident_bytes();
        bool right = fill_small(make, keys, all) == keys.size();
        std::uint64_t after = resident_bytes();
        all.clear();
        if (rep == 0) // later ones get memory that the process kept
            s.sample({bytes_case, small_keys, 1, "bytes", "B"}, name,
                     per_map(std::max(after, before + 4096) - before), right); // whole pages
        std::uint64_t start = cpu_ns();
        right = live_small(make, keys) == keys.size();
        std::uint64_t ns = cpu_ns() - start;
        s.sample({time_case, small_keys}, name, per_map(ns), right);
    });
}

std::vector<std::string> small_cases() { return {time_case, bytes_case}; }

} // namespace lathbench
