// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A space without arenas (space/space_calls.hpp) under the scheduler.
#include "calls_program.hpp"

#include "space/space_calls.hpp"

namespace schedtest {

namespace {

class space_of_threads : public calls_program<calls::space_calls> {
public:
    const char* name() const override { return "space"; }

private:
    void draw_setup(calls::source& from) override { setup_.share(from); }
};

} // namespace

std::unique_ptr<program> space_program() { return std::make_unique<space_of_threads>(); }

} // namespace schedtest
