// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "interrupt.hpp"

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

bool interrupted() { return seen != 0; }

} // namespace lathbench
