// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// program.hpp - what runs under the scheduler: a scenario of a few calls in each of a few fibers on
// a structure that has been filled before, and the check of what they returned and left.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"

namespace schedtest {

// The same numbers for the same seed, on every machine.
struct random_source {
    std::uint64_t s;
    std::uint64_t next() { return random_word(&s); }
    unsigned below(unsigned n) { return static_cast<unsigned>((next() >> 32) * n >> 32); }
    bool one_in(unsigned n) { return below(n) == 0; }
};

class program {
public:
    virtual ~program() = default;
    virtual const char* name() const = 0;
    // Draws a scenario. Returns its number of fibers, at most 3.
    virtual unsigned draw(random_source random) = 0;
    // Is the scenario that was drawn worth every schedule with one preemption?
    virtual bool exhausted() const { return false; }
    // Makes the structure as it is before the calls. The heap is empty.
    virtual void build() = 0;
    // Is all of it in the heap? Then it is built once per scenario, else for each schedule.
    virtual bool kept() const { return true; }
    // Random schedules per scenario.
    virtual unsigned schedules() const { return 100; }
    // Forgets what the calls of an earlier schedule returned.
    virtual void begin() = 0;
    // Makes the calls of a fiber.
    virtual void run(unsigned fiber) = 0;
    // Checks all and ends the structure. Returns what is wrong, or "".
    virtual std::string check() = 0;
    // Prints the scenario and what its calls returned.
    virtual void print(std::FILE* out) const = 0;
    // Calls that a check has looked at.
    std::uint64_t checked = 0;
};

std::unique_ptr<program> index_program();
std::unique_ptr<program> ranks_program();
std::unique_ptr<program> bytes_program();
std::unique_ptr<program> interval_program();
std::unique_ptr<program> store_program();
std::unique_ptr<program> range_lock_program();
std::unique_ptr<program> regions_program();
std::unique_ptr<program> space_program();

} // namespace schedtest
