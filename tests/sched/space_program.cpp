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

    // A reserve that fails has taken the pieces before the one that is not free, for a while.
    std::string check() override {
        for (const auto& made : made_)
            for (const call& failed : made)
                if (failed.ret == -EBUSY && failed.size > setup_.config.unit)
                    mark_beside(failed);
        return calls_program::check();
    }

private:
    void mark_beside(const call& failed) {
        for (auto& made : made_)
            for (call& c : made)
                c.beside_failed |=
                    &c != &failed && c.called < failed.returned && failed.called < c.returned;
    }
    void draw_setup(calls::source& from) override { setup_.share(from); }
};

} // namespace

std::unique_ptr<program> space_program() { return std::make_unique<space_of_threads>(); }

} // namespace schedtest
