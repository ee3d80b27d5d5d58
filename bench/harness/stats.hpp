// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Robust statistics of a handful of samples.
#pragma once

#include <vector>

namespace lathbench {

struct summary {
    double median = 0, min = 0, max = 0;
    double mad = 0;   // median absolute deviation from the median, unscaled
};

summary summarise(std::vector<double> samples);

// median(a) / median(b) with its 95 % bootstrap interval. Sample i of both stems from the same
// round when there are as many of each; rounds are then drawn as pairs, so that what hit both
// cancels out.
struct ratio {
    double value = 0, low = 0, high = 0;
    bool tie = false; // neither is ahead: see ratio_of()
};

// A tie: 1 lies in the interval, or the medians are closer than the noise of both, taken as 1.4826
// MAD (a standard deviation, were the samples normal) of each, added. With few samples the second
// catches what the first cannot. value is 0 when there is nothing to compare.
ratio ratio_of(const std::vector<double>& a, const std::vector<double>& b);

} // namespace lathbench
