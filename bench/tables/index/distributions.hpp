// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Key sets of table `index` that are distributed like the keys of real maps. A set is a function of
// its name, size and seed, and has no key twice.
//
//   uniform         63 random bits
//   dense           0, 1, 2, ... in this order
//   dense-shuffled  the same in random order
//   clustered       1000 runs of n / 1000 consecutive keys at random 62-bit places
//   osm             cells of OpenStreetMap: 1000 regions at random places, of weight exp(1.5 N), in
//                   each 100 towns at N * 2^44 around it, taken by u^2, and keys at N * 2^28 around
//                   a town
//   lognormal       exp(2 N) * 10^12
//   timestamp       (1.7 * 10^12 + i / 8 + 200 N) ms << 22 | 22 random bits, in order of arrival
//   two-scale       one half in 63 bits, the other in [2^61, 2^61 + 9.2 * 10^12)
//   hop             n keys, about 1000 apart, that move between two far ranges, turn by turn
//   fifo            n keys, about 1000 apart; a turn adds n above and removes all others
//
// N: a standard normal random number, u: a uniform one in [0, 1). All but dense, timestamp and fifo
// are inserted in random order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lathbench {

// All names, in the order of the list above.
const std::vector<std::string>& distribution_names();
// Whether its keys move, turn by turn.
bool distribution_moves(const std::string& name);

// What distribution_keys() and distribution_turn() take at most, in bytes for each key, with what
// they return; a megabyte more for places and weights.
constexpr std::uint64_t distribution_bytes = 16;

// The n > 0 keys in the order of their insertion. Throws std::logic_error for an unknown name.
std::vector<std::uint64_t> distribution_keys(const std::string& name, std::uint64_t n,
                                             std::uint64_t seed);

// One turn: for each i, in[i] is inserted and then out[i] is erased; n of both. Before the first
// turn, number 1, the keys are those of distribution_keys(); after a turn, those of its `in`.
struct key_turn {
    std::vector<std::uint64_t> in, out;
};
// Throws std::logic_error for a distribution that does not move.
key_turn distribution_turn(const std::string& name, std::uint64_t n, std::uint64_t seed,
                           unsigned turn);

} // namespace lathbench
