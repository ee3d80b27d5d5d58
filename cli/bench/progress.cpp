// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "bench/progress.hpp"

#include "harness/timing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace lathcli {

namespace {

std::string duration(double seconds) {
    char text[32];
    if (seconds < 100)
        std::snprintf(text, sizeof(text), "%.0f s", seconds);
    else
        std::snprintf(text, sizeof(text), "%.0f min %.0f s", std::floor(seconds / 60),
                      seconds - std::floor(seconds / 60) * 60);
    return text;
}

} // namespace

progress_line::progress_line(const lathbench::session& s, std::size_t turn, std::size_t of)
    : session_(s), share_at_start_(s.done_share()), started_ns_(lathbench::wall_ns()) {
    head_ = s.of().name;
    if (of > 1)
        head_ = std::to_string(turn) + "/" + std::to_string(of) + " " + head_;
}

void progress_line::show(const lathbench::session& s, const std::string& what) {
    if (!line_.due())
        return;
    double seconds = static_cast<double>(lathbench::wall_ns() - started_ns_) / 1e9,
           share = s.done_share();
    char text[96];
    std::snprintf(text, sizeof(text), " %3.0f %%, %.0f samples/s, ", share * 100,
                  static_cast<double>(s.samples_taken()) / std::max(seconds, 0.001));
    std::string line = head_ + text;
    // the first guesses are wild
    double done = share - share_at_start_;
    line += done > 0.03 ? duration(seconds * (1 - share) / done) + " left: " : "";
    // tables begin their text with their name
    std::string prefix = s.of().name + ": ";
    line += what.compare(0, prefix.size(), prefix) == 0 ? what.substr(prefix.size()) : what;
    line_.show(line);
}

void progress_line::done(const lathbench::noise& n) {
    if (line_.on())
        message(head_ + ": " + std::to_string(session_.samples_taken()) + " samples in " +
                duration(n.seconds) + " (" + lathbench::verdict(n) + ")");
}

} // namespace lathcli
