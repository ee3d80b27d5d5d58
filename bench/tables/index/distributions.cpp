// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "distributions.hpp"

#include "harness/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

namespace lathbench {

namespace {

using u64 = std::uint64_t;
using keys = std::vector<u64>;

// splitmix64, begun anew for each key: a key is a function of seed, ordinal and attempt.
class stream {
public:
    explicit stream(u64 seed, u64 ordinal = 0, u64 attempt = 0)
        : state_(mix_bits(seed + golden_ratio * mix_bits(ordinal + (attempt << 48) + 1))) {}
    u64 bits(unsigned count) {
        state_ += golden_ratio;
        return mix_bits(state_) >> (64 - count);
    }
    u64 below(u64 limit) { return bits(63) % limit; }
    double unit() { return static_cast<double>(bits(53)) * 0x1p-53; } // [0, 1)
    // Standard normal, by the transform of Box and Muller (1958).
    double normal() {
        double radius = std::sqrt(-2 * std::log(1 - unit()));
        return radius * std::cos(2 * std::numbers::pi * unit());
    }

private:
    u64 state_;
};

// Purposes of streams that are not those of keys.
enum purpose : u64 {
    places = u64{1} << 60,
    shuffles = u64{2} << 60,
    distances = u64{3} << 60,
    turns = u64{4} << 60
};

void shuffle(keys& all, u64 seed, u64 which = shuffles) {
    stream random(seed, which);
    for (u64 i = all.size(); i > 1; i--)
        std::swap(all[i - 1], all[random.below(i)]);
}

using draw = std::function<u64(u64 ordinal, stream& random)>;

// Draws the later ones of equal keys again, until they are new.
void replace_repeats(keys& all, u64 seed, const draw& make) {
    keys sorted = all;
    std::sort(sorted.begin(), sorted.end());
    std::set<u64> repeated, seen, added;
    for (auto it = sorted.begin(); (it = std::adjacent_find(it, sorted.end())) != sorted.end();
         ++it)
        repeated.insert(*it);
    if (repeated.empty())
        return;
    for (u64 i = 0; i < all.size(); i++) {
        if (!repeated.count(all[i]) || seen.insert(all[i]).second)
            continue;
        for (u64 attempt = 1;; attempt++) {
            stream random(seed, i, attempt);
            u64 key = make(i, random);
            if (!std::binary_search(sorted.begin(), sorted.end(), key) &&
                added.insert(key).second) {
                all[i] = key;
                break;
            }
        }
    }
}

keys drawn(u64 n, u64 seed, const draw& make) {
    keys all;
    all.reserve(n);
    for (u64 i = 0; i < n; i++) {
        stream random(seed, i);
        all.push_back(make(i, random));
    }
    replace_repeats(all, seed, make);
    return all;
}

keys uniform(u64 n, u64 seed) {
    return drawn(n, seed, [](u64, stream& random) { return random.bits(63); });
}

keys dense(u64 n, u64) {
    keys all(n);
    std::iota(all.begin(), all.end(), u64{0});
    return all;
}

keys dense_shuffled(u64 n, u64 seed) {
    keys all = dense(n, seed);
    shuffle(all, seed);
    return all;
}

// No run reaches the next one: between them is at least one gap.
keys clustered(u64 n, u64 seed) {
    u64 runs = std::min<u64>(n, 1000), longest = n / runs + 1;
    stream random(seed, places);
    std::set<u64> starts;
    while (starts.size() < runs) {
        u64 start = random.bits(62);
        auto next = starts.upper_bound(start);
        if ((next == starts.end() || *next - start > longest) &&
            (next == starts.begin() || start - *std::prev(next) > longest))
            starts.insert(next, start);
    }
    keys all;
    all.reserve(n);
    u64 run = 0;
    for (u64 start : starts) {
        for (u64 i = n * run / runs; i < n * (run + 1) / runs; i++)
            all.push_back(start++);
        run++;
    }
    shuffle(all, seed);
    return all;
}

// Region and town of each key, and how far the key is from it.
class map_of_towns {
public:
    explicit map_of_towns(u64 seed) {
        stream random(seed, places);
        double sum = 0;
        for (u64 i = 0; i < regions; i++) {
            double place = static_cast<double>(random.bits(63));
            weights_[i] = sum += std::exp(1.5 * random.normal());
            for (u64 j = 0; j < towns; j++)
                centres_[i * towns + j] = place + random.normal() * 0x1p44;
        }
    }
    u64 key(stream& random) const {
        for (;;) {
            double at = random.unit() * weights_.back(), u = random.unit();
            auto region =
                std::upper_bound(weights_.begin(), weights_.end() - 1, at) - weights_.begin();
            auto town = static_cast<std::size_t>(static_cast<double>(towns) * u * u);
            double centre = centres_[static_cast<std::size_t>(region) * towns + town];
            // apart, because a double has not the bits for the sum
            double away = std::floor(random.normal() * 0x1p28);
            if (centre > 0x1p34 && centre < 0x1p63 - 0x1p34)
                return static_cast<u64>(centre) + static_cast<u64>(static_cast<std::int64_t>(away));
        }
    }

private:
    static constexpr u64 regions = 1000, towns = 100;
    std::array<double, regions> weights_; // summed up
    std::vector<double> centres_ = std::vector<double>(regions * towns);
};

keys osm(u64 n, u64 seed) {
    map_of_towns map(seed);
    return drawn(n, seed, [&](u64, stream& random) { return map.key(random); });
}

keys lognormal(u64 n, u64 seed) {
    return drawn(n, seed, [](u64, stream& random) {
        return static_cast<u64>(std::min(std::exp(2 * random.normal()) * 1e12, 0x1p62));
    });
}

keys timestamp(u64 n, u64 seed) {
    return drawn(n, seed, [](u64 i, stream& random) {
        double ms = 1.7e12 + static_cast<double>(i) / 8 + 200 * random.normal();
        return static_cast<u64>(ms) << 22 | random.bits(22);
    });
}

keys two_scale(u64 n, u64 seed) {
    keys all = drawn(n, seed, [](u64 i, stream& random) {
        return i % 2 ? (u64{1} << 61) + random.below(9'200'000'000'000) : random.bits(63);
    });
    shuffle(all, seed);
    return all;
}

// The i-th of keys that are 1000 apart on average.
u64 spaced(u64 i, u64 seed) { return i * 1000 + stream(seed, distances + i).below(1000); }

u64 hop_range(unsigned turn) { return u64{1} << (turn % 2 ? 62 : 60); }

// Where the keys are after that turn, in the order in which they came there: a random one, which
// every turn has for itself.
keys hop_keys(u64 n, u64 seed, unsigned order, unsigned turn) {
    keys all(n);
    for (u64 i = 0; i < n; i++)
        all[i] = hop_range(turn) + spaced(i, seed);
    shuffle(all, seed, turns + order);
    return all;
}

keys fifo_keys(u64 n, u64 seed, unsigned turn) {
    keys all(n);
    for (u64 i = 0; i < n; i++)
        all[i] = spaced(turn * n + i, seed);
    return all;
}

struct distribution {
    std::string name;
    std::function<keys(u64 n, u64 seed)> make;
    std::function<key_turn(u64 n, u64 seed, unsigned turn)> turn = {};
};

const std::vector<distribution>& distributions() {
    static const std::vector<distribution> all = {
        {"uniform", uniform},
        {"dense", dense},
        {"dense-shuffled", dense_shuffled},
        {"clustered", clustered},
        {"osm", osm},
        {"lognormal", lognormal},
        {"timestamp", timestamp},
        {"two-scale", two_scale},
        {"hop", [](u64 n, u64 seed) { return hop_keys(n, seed, 0, 0); },
         [](u64 n, u64 seed, unsigned turn) -> key_turn {
             return {hop_keys(n, seed, turn, turn), hop_keys(n, seed, turn, turn - 1)};
         }},
        {"fifo", [](u64 n, u64 seed) { return fifo_keys(n, seed, 0); },
         [](u64 n, u64 seed, unsigned turn) -> key_turn {
             return {fifo_keys(n, seed, turn), fifo_keys(n, seed, turn - 1)};
         }},
    };
    return all;
}

const distribution& find(const std::string& name) {
    for (const auto& d : distributions())
        if (d.name == name)
            return d;
    throw std::logic_error("no key distribution " + name);
}

} // namespace

const std::vector<std::string>& distribution_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        for (const auto& d : distributions())
            list.push_back(d.name);
        return list;
    }();
    return names;
}

bool distribution_moves(const std::string& name) { return find(name).turn != nullptr; }

std::vector<u64> distribution_keys(const std::string& name, u64 n, u64 seed) {
    return find(name).make(n, seed);
}

key_turn distribution_turn(const std::string& name, u64 n, u64 seed, unsigned turn) {
    const distribution& d = find(name);
    if (!d.turn)
        throw std::logic_error("the keys of " + name + " do not move");
    return d.turn(n, seed, turn);
}

} // namespace lathbench
