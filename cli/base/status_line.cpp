// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "base/status_line.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace lathcli {

namespace {

std::mutex terminal; // and shown
bool shown = false;

bool dumb() {
    const char* kind = std::getenv("TERM");
    return kind && std::string_view(kind) == "dumb";
}

// Longer lines would wrap and not be overwritten.
std::size_t columns() {
    winsize size = {};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        return size.ws_col - 1u;
    return 79;
}

void clear_locked() {
    if (shown)
        std::fputs("\r\033[K", stderr);
    shown = false;
}

} // namespace

status_line::status_line(bool wanted) : on_(wanted && isatty(STDERR_FILENO) && !dumb()) {}

bool status_line::due() {
    auto now = std::chrono::steady_clock::now();
    if (!on_ || now - last_ < std::chrono::milliseconds(100))
        return false;
    last_ = now;
    return true;
}

void status_line::show(const std::string& text) {
    std::scoped_lock lock(terminal);
    std::fprintf(stderr, "\r\033[K%s", text.substr(0, columns()).c_str());
    std::fflush(stderr);
    shown = true;
}

void status_line::clear() {
    std::scoped_lock lock(terminal);
    clear_locked();
}

void message(const std::string& text) {
    std::scoped_lock lock(terminal);
    clear_locked();
    std::fprintf(stderr, "%s\n", text.c_str());
}

} // namespace lathcli
