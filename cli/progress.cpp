// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "progress.hpp"

#include "timing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

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

// Longer lines would wrap and not be overwritten.
std::size_t columns() {
    winsize size = {};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        return size.ws_col - 1u;
    return 79;
}

bool dumb() {
    const char* kind = std::getenv("TERM");
    return kind && std::string_view(kind) == "dumb";
}

} // namespace

progress_line::progress_line(const lathbench::session& s, std::size_t turn, std::size_t of)
    : session_(s), share_at_start_(s.done_share()), started_ns_(lathbench::wall_ns()),
      terminal_(isatty(STDERR_FILENO) && !dumb()) {
    head_ = s.of().name;
    if (of > 1)
        head_ = std::to_string(turn) + "/" + std::to_string(of) + " " + head_;
}

void progress_line::show(const lathbench::session& s, const std::string& what) {
    std::uint64_t now = lathbench::wall_ns();
    if (!terminal_ || now - shown_ns_ < 100000000u)
        return;
    shown_ns_ = now;
    double seconds = static_cast<double>(now - started_ns_) / 1e9, share = s.done_share();
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
    std::fprintf(stderr, "\r\033[K%s", line.substr(0, columns()).c_str());
}

void progress_line::done(const lathbench::noise& n) {
    if (!terminal_)
        return;
    std::fprintf(stderr, "\r\033[K%s: %zu samples in %s (%s)\n", head_.c_str(),
                 session_.samples_taken(), duration(n.seconds).c_str(), lathbench::verdict(n));
}

} // namespace lathcli
