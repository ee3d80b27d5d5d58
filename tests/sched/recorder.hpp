// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// recorder.hpp - what the calls of each fiber on a set of points returned, and whether that is
// linearizable.
#pragma once

#include "runtime.h"

#include "base/checker.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

namespace schedtest {

// Returns how many points have an entry.
inline std::uint64_t entries_of(const lin::state& s) {
    return static_cast<std::uint64_t>(
        std::count_if(s.begin(), s.end(), [](std::uint32_t at) { return at != 0; }));
}

class recorder {
public:
    lin::state before{}; // the structure when the calls begin

    void begin() {
        for (auto& h : history_)
            h.clear();
    }

    // Adds a call on one point that returns now. The caller sets `silent` and `got`.
    lin::call& add(unsigned fiber, lin::op what, unsigned key, unsigned number,
                   std::uint64_t called, int ret, unsigned expected) {
        lin::call& c = history_[fiber].emplace_back();
        c.called = called;
        c.returned = sched_now();
        c.what = what;
        c.key = key;
        c.size = 1;
        c.value = number;
        c.expected = expected;
        c.done = !ret;
        c.exists = ret == -EEXIST || ret == -EAGAIN;
        return c;
    }

    // Adds a call on one point that returns now, unless it ran out of memory, which changes
    // nothing. got: the number of what it found or replaced; 0: nothing, or it does not tell.
    void note(unsigned fiber, lin::op what, unsigned key, unsigned number, std::uint64_t called,
              int ret, unsigned got, unsigned expected = 0) {
        if (ret == -ENOMEM)
            return;
        lin::call& c = add(fiber, what, key, number, called, ret, expected);
        c.silent = !got;
        if (got)
            c.got = {key, 1, got};
    }

    // The call added last returned at this time.
    void returned(unsigned fiber, std::uint64_t time) { history_[fiber].back().returned = time; }

    // Returns whether an order of the calls explains what they returned and left. Adds their number
    // to `checked`.
    bool linearizable(const lin::state& after, std::uint64_t& checked) {
        std::vector<lin::call> all;
        for (const auto& h : history_)
            all.insert(all.end(), h.begin(), h.end());
        checked += all.size();
        return checker_.linearizable(before, std::move(all), &after);
    }

    void print(std::FILE* out, unsigned fiber) const {
        for (const lin::call& c : history_[fiber])
            std::fprintf(out, "  [%llu-%llu] op %d key %u value %u expected %u: %s%s got %u=%u\n",
                         static_cast<unsigned long long>(c.called),
                         static_cast<unsigned long long>(c.returned), static_cast<int>(c.what),
                         c.key, c.value, c.expected, c.done ? "done" : "no",
                         c.exists ? " (exists)" : "", c.got.key, c.got.value);
    }

private:
    std::array<std::vector<lin::call>, 3> history_;
    lin::checker checker_;
};

} // namespace schedtest
