// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// SIGINT and SIGTERM ask long work to stop, for the length of a scope; a second one kills.
#pragma once

#include <atomic>
#include <csignal>

namespace lathcli {

inline std::atomic<bool> stop_asked = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

class stop_on_signal {
public:
    stop_on_signal() {
        stop_asked = false;
        struct sigaction act{};
        act.sa_handler = ask;
        sigaction(SIGINT, &act, &interrupt_);
        sigaction(SIGTERM, &act, &terminate_);
    }
    ~stop_on_signal() {
        sigaction(SIGINT, &interrupt_, nullptr);
        sigaction(SIGTERM, &terminate_, nullptr);
    }
    stop_on_signal(const stop_on_signal&) = delete;
    stop_on_signal& operator=(const stop_on_signal&) = delete;

private:
    static void ask(int number) {
        if (stop_asked.exchange(true)) {
            std::signal(number, SIG_DFL);
            std::raise(number); // delivered when this handler returns
        }
    }

    struct sigaction interrupt_{}, terminate_{};
};

} // namespace lathcli
