// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "workload.hpp"

#include "harness/random.hpp"

#include <absl/random/zipf_distribution.h>
#include <algorithm>
#include <numeric>

namespace lathbench {

namespace {

// Made-up keys are even, so that key + 1 and all odd numbers are absent.
constexpr std::uint64_t even_63_bits = ~std::uint64_t{0} >> 1 & ~std::uint64_t{1};

} // namespace

key_source::key_source(std::vector<std::uint64_t> keys, std::uint64_t seed)
    : seed_(seed), given_(std::move(keys)) {
    std::mt19937_64 random(seed);
    std::shuffle(given_.begin(), given_.end(), random);
}

std::uint64_t key_source::key(std::uint64_t ordinal) const {
    if (!given_.empty())
        return given_[ordinal % given_.size()];
    return mix_bits(seed_ + ordinal) & even_63_bits;
}

std::uint64_t key_source::absent(std::uint64_t ordinal) const {
    if (!given_.empty())
        return given_[ordinal % given_.size()] + 1;
    return (mix_bits(seed_ + ordinal + (std::uint64_t{1} << 40)) & even_63_bits) + 1;
}

std::uint64_t key_stream::sum(std::size_t from, std::size_t to) const {
    return std::accumulate(keys.begin() + static_cast<std::ptrdiff_t>(from),
                           keys.begin() + static_cast<std::ptrdiff_t>(to), std::uint64_t{0});
}

key_stream workload::uniform(const window& live, std::size_t count) {
    std::uniform_int_distribution<std::uint64_t> ordinal(live.low, live.high - 1);
    key_stream s;
    for (std::size_t i = 0; i < count; i++)
        s.keys.push_back(source_.key(ordinal(random_)));
    return s;
}

key_stream workload::zipf(const window& live, std::size_t count) {
    absl::zipf_distribution<std::uint64_t> rank(live.size() - 1, 1.01, 1.0);
    key_stream s;
    for (std::size_t i = 0; i < count; i++)
        s.keys.push_back(source_.key(live.low + rank(random_)));
    return s;
}

key_stream workload::absent(std::size_t count) {
    key_stream s;
    for (std::size_t i = 0; i < count; i++)
        s.keys.push_back(source_.absent(random_() >> 24));
    return s;
}

key_stream workload::between(const window& live, std::size_t count) {
    key_stream s = uniform(live, count);
    for (auto& key : s.keys)
        key++;
    return s;
}

key_stream workload::ordinals(std::uint64_t from, std::size_t count) const {
    key_stream s;
    for (std::size_t i = 0; i < count; i++)
        s.keys.push_back(source_.key(from + i));
    return s;
}

std::vector<step> workload::updates(const window& live, std::size_t count, int percent) {
    key_stream keys = zipf(live, count);
    std::uniform_int_distribution<int> dice(0, 99);
    std::vector<step> steps;
    for (auto key : keys.keys)
        steps.push_back({key, dice(random_) < percent ? op::update : op::lookup, 0});
    return steps;
}

std::vector<step> workload::scans(window& live, std::size_t count) {
    key_stream keys = zipf(live, count);
    std::uniform_int_distribution<int> dice(0, 99), length(1, 100);
    std::vector<step> steps;
    for (auto key : keys.keys) {
        if (dice(random_) < 5)
            steps.push_back({source_.key(live.high++), op::insert, 0});
        else
            steps.push_back({key, op::scan, static_cast<std::uint8_t>(length(random_))});
    }
    return steps;
}

std::vector<step> workload::churn(window& live, std::size_t count) {
    // looks up only keys that this stream neither erases nor inserts, so that the order in which
    // threads run does not matter
    std::uniform_int_distribution<std::uint64_t> stable(live.low + count, live.high - 1);
    std::uniform_int_distribution<int> dice(0, 3);
    std::vector<step> steps;
    for (std::size_t i = 0; i < count; i++) {
        switch (dice(random_)) {
        case 0:
            steps.push_back({source_.key(live.high++), op::insert, 0});
            break;
        case 1:
            steps.push_back({source_.key(live.low++), op::erase, 0});
            break;
        default:
            steps.push_back({source_.key(stable(random_)), op::lookup, 0});
        }
    }
    return steps;
}

ordered_oracle::ordered_oracle(std::vector<std::uint64_t> keys) : keys_(std::move(keys)) {
    std::sort(keys_.begin(), keys_.end());
}

tally ordered_oracle::scan(std::uint64_t from, std::size_t length) const {
    tally t;
    for (auto it = std::lower_bound(keys_.begin(), keys_.end(), from);
         length-- && it != keys_.end(); ++it)
        t.add(*it, value_of(*it));
    return t;
}

window ordered_oracle::gap(std::size_t i) const {
    // keys without a gap between them are as far apart as their places
    std::size_t low = i, high = keys_.size();
    while (high - low > 1) {
        std::size_t middle = low + (high - low) / 2;
        (keys_[middle] - keys_[i] == middle - i ? low : high) = middle;
    }
    return {keys_[low] + 1, high < keys_.size() ? keys_[high] : ~std::uint64_t{0}};
}

} // namespace lathbench
