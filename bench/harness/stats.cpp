// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "stats.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

namespace lathbench {

namespace {

constexpr std::size_t resamples = 1000;

double median_of(std::vector<double>& v) {
    std::sort(v.begin(), v.end());
    std::size_t half = v.size() / 2;
    return v.size() % 2 ? v[half] : (v[half - 1] + v[half]) / 2;
}

// Ratios of the medians of samples drawn from a and b, sorted. The generator always starts with the
// same state, so that the same samples give the same interval.
std::vector<double> resampled_ratios(const std::vector<double>& a, const std::vector<double>& b) {
    std::mt19937 random(1);
    std::vector<double> ratios, x(a.size()), y(b.size());
    bool paired = a.size() == b.size();
    for (std::size_t k = 0; k < resamples; k++) {
        for (std::size_t i = 0; i < a.size(); i++) {
            std::size_t at = random() % a.size();
            x[i] = a[at];
            if (paired)
                y[i] = b[at];
        }
        for (std::size_t i = 0; !paired && i < b.size(); i++)
            y[i] = b[random() % b.size()];
        double under = median_of(y);
        if (under > 0)
            ratios.push_back(median_of(x) / under);
    }
    std::sort(ratios.begin(), ratios.end());
    return ratios;
}

} // namespace

summary summarise(std::vector<double> samples) {
    summary s;
    if (samples.empty())
        return s;
    s.median = median_of(samples);
    s.min = samples.front();
    s.max = samples.back();
    for (double& x : samples)
        x = std::fabs(x - s.median);
    s.mad = median_of(samples);
    return s;
}

ratio ratio_of(const std::vector<double>& a, const std::vector<double>& b) {
    summary of_a = summarise(a), of_b = summarise(b);
    if (a.empty() || b.empty() || of_b.median <= 0)
        return {};
    ratio r;
    r.value = r.low = r.high = of_a.median / of_b.median;
    if (a.size() > 1 || b.size() > 1) {
        auto drawn = resampled_ratios(a, b);
        if (!drawn.empty()) {
            r.low = std::min(r.value, drawn[drawn.size() / 40]);
            r.high = std::max(r.value, drawn[drawn.size() - 1 - drawn.size() / 40]);
        }
    }
    r.tie = (r.low <= 1 && 1 <= r.high) ||
            std::fabs(of_a.median - of_b.median) <= 1.4826 * (of_a.mad + of_b.mad);
    return r;
}

} // namespace lathbench
