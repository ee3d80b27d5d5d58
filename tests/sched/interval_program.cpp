// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A set of intervals (interval/interval_calls.hpp) under the scheduler.
#include "calls_program.hpp"

#include "interval/interval_calls.hpp"

namespace schedtest {

namespace {

class intervals_of_threads : public calls_program<calls::interval_calls> {
public:
    const char* name() const override { return "interval"; }

private:
    void draw_setup(calls::source& from) override { setup_.share(from); }
};

} // namespace

std::unique_ptr<program> interval_program() { return std::make_unique<intervals_of_threads>(); }

} // namespace schedtest
