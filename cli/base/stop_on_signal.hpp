// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// SIGINT, SIGTERM and SIGHUP ask long work to stop, for the length of a scope; a second one kills.
// What was ignored when the program began (nohup) stays ignored. SIGPIPE is ignored in the scope: a
// write to a closed pipe fails like any other.
#pragma once

#include <array>
#include <atomic>
#include <csignal>
#include <stdexcept>

namespace lathcli {

inline std::atomic<bool> stop_asked = false;
inline std::atomic<int> stop_signal = 0; // which one asked
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

// Readable as soon as stop_asked is set, so that poll() ends; -1 outside of a scope.
int stop_descriptor();

// A read was given up because a signal asked to stop.
class stopped : public std::runtime_error {
public:
    stopped() : std::runtime_error("interrupted") {}
};

class stop_on_signal {
public:
    static constexpr int exit_code = 130;

    stop_on_signal();
    ~stop_on_signal();
    stop_on_signal(const stop_on_signal&) = delete;
    stop_on_signal& operator=(const stop_on_signal&) = delete;
    // The work goes on after all.
    static void forget();

private:
    static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    std::array<struct sigaction, signals.size()> before_{};
};

} // namespace lathcli
