// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A set of byte keys (bytes/bytes_calls.hpp) under the scheduler. The heap sees a look at a record
// that has been freed.
#include "calls_program.hpp"

#include "bytes/bytes_calls.hpp"

namespace schedtest {

namespace {

class bytes_of_threads : public calls_program<calls::bytes_calls> {
public:
    const char* name() const override { return "bytes"; }

private:
    void draw_setup(calls::source& from) override { setup_.share(from); }

    calls::host where() const override {
        calls::host here = calls_program::where();
        here.look = [](const void* at, std::size_t size) {
            if (sched_self() >= 0)
                sched_access(at, size, SCHED_READ, nullptr);
        };
        return here;
    }

    // A tree below the root has no record: keys were there that agree in their first bytes. One
    // fiber inserts a key, others erase it and count.
    unsigned draw_case(calls::source& from) override {
        if (from.below(12))
            return 0;
        setup_.together = setup_.ranks = true;
        setup_.config.flags = LATH_RANKS | (from.one_in(2) ? LATH_NODE_EACH : 0);
        for (char c = 'a'; c <= 'x'; c++)
            setup_.known.push_back({std::string("sameeigh") + c});
        for (const char* what : {"insert", "erase"})
            for (const calls::byte_key& key : setup_.known)
                loaded_.push_back(call_of(what, key));
        const calls::byte_key& key = setup_.known[from.below(24)];
        plan_[0] = {call_of("insert", key)};
        plan_[1] = {call_of("erase", key), call_of("count, get_stats, verify", key),
                    call_of("rank", setup_.known.back())};
        plan_[2] = {call_of("count, get_stats, verify", key)};
        return 3;
    }

    call call_of(const char* name, const calls::byte_key& key) {
        call c(setup_);
        c.kind = calls::kind_of<calls::bytes_calls>(name);
        c.key = key;
        c.key.number = ++setup_.numbers;
        return c;
    }
};

} // namespace

std::unique_ptr<program> bytes_program() { return std::make_unique<bytes_of_threads>(); }

} // namespace schedtest
