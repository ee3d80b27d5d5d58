// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One changing line on standard error, where that is a terminal. What is to stay is said by
// message(), which takes the line away first.
#pragma once

#include <chrono>
#include <string>

namespace lathcli {

class status_line {
public:
    explicit status_line(bool wanted = true);
    ~status_line() { clear(); }
    status_line(const status_line&) = delete;
    status_line& operator=(const status_line&) = delete;

    bool on() const { return on_; }
    // Whether it is time for a new text: not more often than ten times a second.
    bool due();
    void show(const std::string& text);
    static void clear();

private:
    bool on_;
    std::chrono::steady_clock::time_point last_{};
};

// A line on standard error, as it is; from any thread.
void message(const std::string& text);

} // namespace lathcli
