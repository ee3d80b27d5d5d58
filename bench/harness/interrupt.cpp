// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "interrupt.hpp"

#include "timing.hpp"

#include <csignal>
#include <initializer_list>

namespace lathbench {

namespace {
volatile std::sig_atomic_t seen;
extern "C" void note_interrupt(int) { seen = 1; }
} // namespace

void catch_interrupt() {
    struct sigaction action = {};
    action.sa_handler = note_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before = {};
        sigaction(number, nullptr, &before);
        if (before.sa_handler != SIG_IGN) // nohup
            sigaction(number, &action, nullptr);
    }
}

namespace {
std::uint64_t last_moment;
} // namespace

void stop_at(std::uint64_t moment) { last_moment = moment; }

bool time_over() { return last_moment && wall_ns() >= last_moment; }

bool interrupted() { return seen != 0; }

} // namespace lathbench
