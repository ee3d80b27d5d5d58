// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "stats.hpp"

#include <algorithm>
#include <cmath>

namespace lathbench {

namespace {

double median_of(std::vector<double>& v) {
    std::sort(v.begin(), v.end());
    std::size_t half = v.size() / 2;
    return v.size() % 2 ? v[half] : (v[half - 1] + v[half]) / 2;
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

bool is_tie(const summary& a, const summary& b) {
    return std::fabs(a.median - b.median) <= 1.4826 * (a.mad + b.mad);
}

} // namespace lathbench
