// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Calls that work without the GIL on an object, and calls that exclude these.
#pragma once

#include "error.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace lathpy {

// How many forks made this process out of the one that loaded the module. The calls that other
// threads had under way at a fork never end in the child: what they counted is void there.
inline unsigned forks = 0;

// All members need the GIL. A call that waits releases it in the meantime, so what was found before
// is outdated. No code of the caller's runs in a turn, errors are raised behind it: a call must not
// wait for itself.
class Turns {
public:
    // Waits for a call that is alone.
    void wait() {
        for (settle(); alone; settle())
            pause();
    }
    // And for those that are under way.
    void wait_for_all() {
        for (settle(); alone || active; settle())
            pause();
    }

    // One of several calls.
    class Shared : Pinned {
    public:
        // The caller has called wait(), and holds the GIL since.
        explicit Shared(Turns& turns) : turns(turns) {
            turns.settle();
            turns.active++;
        }
        ~Shared() { turns.active--; }

    private:
        Turns& turns;
    };

    // The only call.
    class Alone : Pinned {
    public:
        explicit Alone(Turns& turns) : turns(turns) {
            turns.wait_for_all();
            turns.alone = true;
        }
        ~Alone() { turns.alone = false; }

    private:
        Turns& turns;
    };

private:
    static void pause() {
        nanobind::gil_scoped_release others;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }

    void settle() {
        if (std::exchange(era, forks) == forks)
            return;
        active = 0;
        alone = false;
    }

    unsigned active = 0, era = forks;
    bool alone = false;
};

} // namespace lathpy
