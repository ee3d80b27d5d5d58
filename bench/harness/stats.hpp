// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Robust statistics of few samples.
#pragma once

#include <vector>

namespace lathbench {

struct summary {
    double median = 0, min = 0, max = 0;
    double mad = 0;   // median absolute deviation from the median, unscaled
};

summary summarise(std::vector<double> samples);

// median(a) / median(b) with its 95 % bootstrap interval. If there are as many samples of each,
// sample i of both is from the same repetition; samples are then drawn in pairs, so that what
// disturbed both cancels out.
struct ratio {
    double value = 0, low = 0, high = 0;
    bool tie = false; // neither is ahead: see ratio_of()
};

// It is a tie if 1 is in the interval, or if the medians are closer to each other than the sum of
// 1.4826 MAD of each (which is the standard deviation of normal samples). The second rule is for
// few samples, whose interval is too narrow. value is 0 if there is nothing to compare.
ratio ratio_of(const std::vector<double>& a, const std::vector<double>& b);

} // namespace lathbench
