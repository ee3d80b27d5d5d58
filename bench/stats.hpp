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

// Two medians whose distance is within the noise of both: neither is ahead. The noise of a median is
// taken as 1.4826 MAD (a standard deviation, were the samples normal) of each side, added.
bool is_tie(const summary& a, const summary& b);

} // namespace lathbench
