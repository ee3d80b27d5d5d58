// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// RCU on the simulated machine. Sections cost nothing beyond the cost of a call; what was retired
// is freed by its own core when no section is open that began before.
#include "inside.hpp"
#include "machine.hpp"
#include "sched/runtime.h"

#include "lathwork/config.h"

#include <array>
#include <deque>

namespace simulate {

namespace {

struct retired {
    lath_rcu_head* head;
    std::uint64_t when;
};
std::deque<retired> waiting;
std::uint64_t now = 1;
struct section {
    unsigned nesting;
    std::uint64_t since;
};
std::array<section, most_cores + 2> sections;

bool ready() {
    if (waiting.empty())
        return false;
    for (const section& s : sections)
        if (s.nesting && s.since <= waiting.front().when)
            return false;
    return true;
}

void enter() {
    section& s = sections[allocating_core()];
    if (!s.nesting++)
        s.since = ++now;
}

void leave() {
    section& s = sections[allocating_core()];
    if (!--s.nesting && ready())
        wake_freeing_core();
}

void retire(lath_rcu_head* head, void (*func)(lath_rcu_head* head)) {
    head->func = func;
    waiting.push_back({head, now});
    if (ready())
        wake_freeing_core();
}

void drain() {
    if (sched_self() >= 0)
        sched_fail("a core waits for a grace period", nullptr, nullptr);
    while (free_retired())
        ;
}

void nothing() {}

} // namespace

bool free_retired() {
    if (!ready())
        return false;
    lath_rcu_head* head = waiting.front().head;
    waiting.pop_front();
    head->func(head);
    return true;
}

} // namespace simulate

// For assertions of the library, which has its own sections elsewhere.
extern "C" bool lath_reader_inside(const lath_rcu* /*rcu*/);
bool lath_reader_inside(const lath_rcu* /*rcu*/) {
    return sched_self() < 0 || simulate::sections[simulate::allocating_core()].nesting != 0;
}

extern "C" const lath_rcu lath_rcu_auto;
extern "C" const lath_rcu lath_rcu_auto = {"simulate",        simulate::enter,  simulate::leave,
                                           simulate::retire,  simulate::drain,  simulate::drain,
                                           simulate::nothing, simulate::nothing};

// For a structure whose readers take its lock.
extern "C" void simulate_call_rcu(void* head, void (*func)(void* head));
extern "C" void simulate_call_rcu(void* head, void (*func)(void* head)) { func(head); }
