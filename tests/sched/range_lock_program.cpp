// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Locks on ranges (lock/lock_calls.hpp) under the scheduler: each fiber has two holds. Nobody waits
// for ever, a range that sleeps is not overtaken, and a call that fails leaves nothing. With
// LATH_RANGE_DEADLOCKS fibers that hold a range wait for another, and one of a cycle gets -EDEADLK.
#include "calls_program.hpp"

#include "lock/lock_calls.hpp"

namespace schedtest {

namespace {

constexpr unsigned points = 300; // three classes: 1, 16 and 256 keys

class locks_of_threads : public calls_program<calls::lock_calls> {
public:
    const char* name() const override { return "range_lock"; }

    void begin() override {
        calls_program::begin();
        asks_.fill(nullptr);
    }

    void run(unsigned fiber) override {
        for (const call& c : plan_[fiber])
            make(fiber, c);
        for (unsigned slot = 2 * fiber; slot < 2 * fiber + 2; slot++)
            if (it_->at(slot).used)
                make(fiber, planned("unlock", slot, 0, 1, true));
    }

private:
    void draw_setup(calls::source&) override {}

    unsigned draw_case(calls::source& from) override {
        setup_.together = true;
        setup_.config.buckets = 1u << from.below(5);
        setup_.config.usual = from.below(4) ? 0 : 1 + from.below(20);
        setup_.config.flags = from.below(2) ? LATH_RANGE_DEADLOCKS : 0;
        setup_.grows = from.below(2);
        one_class_ = from.below(2); // sizes from 2 to 16
        if (one_class_ && setup_.config.usual)
            setup_.config.usual = 16;
        const unsigned n = 2 + from.below(2), near = from.below(2) ? 24 : points;
        for (unsigned f = 0; f < n; f++)
            for (unsigned i = 0, most = 2 + from.below(6); i < most; i++)
                plan_[f].push_back(draw_call(from, 2 * f + from.below(2), near));
        return setup_.grows && from.below(2) ? draw_growth(from) : n;
    }

    call planned(const char* name, unsigned slot, unsigned first, unsigned size, bool exclusive,
                 std::uint64_t nanoseconds = calls::forever) {
        call c(setup_);
        c.kind = calls::kind_of<calls::lock_calls>(name);
        c.slot = slot;
        c.key = c.first = first;
        c.size = size;
        c.last = c.end();
        c.exclusive = exclusive;
        c.nanoseconds = nanoseconds;
        return c;
    }
    call draw_call(calls::source& from, unsigned slot, unsigned near) {
        static constexpr unsigned sizes[] = {1, 1, 2, 9, 16, 17, 40, 250};
        const unsigned size =
            one_class_ ? 2 + from.below(15) : sizes[from.below(near < points ? 6 : 8)];
        const unsigned first = from.below(near - std::min(size, near - 1)), what = from.below(10);
        if (setup_.grows && from.one_in(3))
            return planned("resize", slot, first, size, true);
        if (what < 2)
            return planned(what ? "unlock" : "downgrade", slot, first, size, true);
        return planned("lock_for", slot, first, size, from.below(3),
                       what == 2   ? 0
                       : what == 3 ? 1 + size
                                   : calls::forever);
    }

    // A range grows by a few keys into a larger class, beside one that overlaps what it gains
    // and is between the two in size, or larger than both; or that ends where it began.
    unsigned draw_growth(calls::source& from) {
        for (auto& plan : plan_)
            plan.clear();
        if (from.below(2)) { // a large one waits for two, in buckets one after the other
            const unsigned edge = 17 + from.below(50), other = from.below(edge);
            setup_.config.buckets = 2;
            setup_.config.usual = 0;
            plan_[0] = {planned("lock_for", 0, 0, edge + 1, true)};
            loaded_ = {planned("lock_for", 2, other, 1, true),
                       planned("lock_for", 4, edge, 1, true)};
            plan_[2] = {planned("resize", 4, edge, 2, true)};
            return 3;
        }
        if (from.below(2)) {
            const unsigned at = 1 + from.below(18);
            plan_[0] = {planned("lock_for", 0, at, 1, true), planned("resize", 0, at, 2, true)};
            plan_[1] = {planned("lock_for", 2, 0, 17 + from.below(3), from.below(2))};
            return 2;
        }
        const unsigned gain = 1 + from.below(2), size = 2 + from.below(14);
        plan_[0] = {planned("lock_for", 0, 0, 16, true), planned("resize", 0, 0, 16 + gain, true)};
        plan_[1] = {planned("lock_for", 2, 16, size, true), planned("lock_for", 2, 16, size, true)};
        plan_[2] = {planned("lock_for", 4, 16 + from.below(30), 1, true)};
        return 3;
    }

    // A range waits in its sleep when another one asks: then it comes first, unless it waits for
    // one that grows. One that leaves its lists, since its call fails, is before nobody: so what is
    // seen counts when the call of the sleeper succeeds.
    void make(unsigned fiber, call c) {
        std::vector<call> asleep;
        for (unsigned g = 0; g < 3; g++)
            if (asks_[g] && !setup_.grows && sched_sleeps(g))
                asleep.push_back(*asks_[g]);
        const bool locks = !it_->at(c.slot).used;
        c.called = sched_now();
        asks_[fiber] = &c;
        overtaken_[fiber] = false;
        calls::kind_at<calls::lock_calls>(c).make(*it_, c);
        asks_[fiber] = nullptr;
        c.returned = sched_now();
        made_[fiber].push_back(c);
        if (!locks || !it_->at(c.slot).used)
            return;
        if (overtaken_[fiber])
            sched_fail("a range that slept was overtaken", it_->locks(), nullptr);
        for (const call& before : asleep)
            for (unsigned g = 0; g < 3; g++)
                if (asks_[g] && asks_[g]->called == before.called &&
                    range_of(before).excludes(range_of(c)))
                    overtaken_[g] = true;
        sched_point();
    }

    bool one_class_ = false;
    std::array<const call*, 3> asks_{}; // the call that each fiber makes
    std::array<bool, 3> overtaken_{}; // by one that asked when it slept
};

} // namespace

std::unique_ptr<program> range_lock_program() { return std::make_unique<locks_of_threads>(); }

} // namespace schedtest
