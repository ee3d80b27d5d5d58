// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A store of numbers or of byte keys (store/store_calls.hpp) under the scheduler: values of a few
// bytes, which are in the index, and long ones, which are records. Its pages are mapped anew for
// each schedule, so accesses to them are switch points but not checked.
#include "calls_program.hpp"

#include "store/store_calls.hpp"

// src/store/memory/arena.h: the calling thread takes memory of this shard
extern "C" unsigned lath_arena_borrow_shard(unsigned number);

namespace schedtest {

namespace {

class store_of_threads : public calls_program<calls::store_calls> {
public:
    const char* name() const override { return "store"; }
    bool kept() const override { return false; }
    unsigned schedules() const override { return 10; }

    void build() override {
        lath_arena_borrow_shard(0);
        calls_program::build();
    }
    void run(unsigned fiber) override {
        lath_arena_borrow_shard(fiber);
        calls_program::run(fiber);
    }

private:
    void draw_setup(calls::source& from) override { setup_.share(from); }
    std::string check_more(const calls::history<calls::store_calls>&) override {
        return it_->left();
    }
};

} // namespace

std::unique_ptr<program> store_program() { return std::make_unique<store_of_threads>(); }

} // namespace schedtest
