// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Generators that cost less than the calls that are measured. They repeat on every machine.
#pragma once

#include <cstdint>

namespace lathbench {

// The increment of splitmix64 (Steele, Lea and Flood 2014): 2^64 divided by the golden ratio.
constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15u;

// The output function of splitmix64, a bijection of 64 bits.
constexpr std::uint64_t mix_bits(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// splitmix64: numbers below a bound.
struct random_source {
    std::uint64_t state;
    std::uint64_t operator()(std::uint64_t below) {
        state += golden_ratio;
        return static_cast<std::uint64_t>(
            (static_cast<unsigned __int128>(mix_bits(state)) * below) >> 64);
    }
};

// xorshift64* (Vigna 2016): returns 32 random bits and advances the state, which is never 0.
inline std::uint32_t next_random(std::uint64_t& state) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return static_cast<std::uint32_t>((state * 0x2545f4914f6cdd1du) >> 32);
}

} // namespace lathbench
