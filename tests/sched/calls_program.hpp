// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// calls_program.hpp - a description (base/calls.hpp) under the scheduler: a container that some
// calls have filled, and then a few calls in each of two or three fibers, explained by some order
// of them.
#pragma once

#include "program.hpp"
#include "runtime.h"

#include "base/calls.hpp"

#include <array>
#include <memory>

namespace schedtest {

template <class C>
class calls_program : public program {
public:
    using setup = typename C::setup;
    using call = typename C::call;
    using model = typename C::model;

    unsigned draw(random_source random) override {
        calls::source from(random.next());
        setup_ = setup();
        loaded_.clear();
        for (auto& plan : plan_)
            plan.clear();
        exhausted_ = false;
        const unsigned fibers = draw_case(from);
        return fibers ? fibers : draw_any(from);
    }

    bool exhausted() const override { return exhausted_; }

    void build() override {
        it_ = std::make_unique<C>(setup_, where());
        if (it_->failed())
            sched_fail("a container cannot be made", nullptr, nullptr);
        for (call c : loaded_)
            calls::kind_at<C>(c).make(*it_, c);
        it_->contents(before_);
        begin();
    }

    void begin() override {
        for (auto& made : made_)
            made.clear();
    }

    void run(unsigned fiber) override {
        for (call c : plan_[fiber]) {
            c.called = sched_now();
            calls::kind_at<C>(c).make(*it_, c);
            c.returned = sched_now();
            made_[fiber].push_back(c);
        }
    }

    std::string check() override {
        const std::string wrong = it_->verify(true);
        if (!wrong.empty())
            return "verify: " + wrong;
        calls::history<C> history;
        for (const auto& made : made_)
            for (const call& c : made)
                history.add(c);
        checked += history.calls().size();
        model after;
        it_->contents(after);
        if (!history.explained(before_, &after))
            return "not linearizable";
        const std::string more = check_more(history);
        if (!more.empty())
            return more;
        it_->end(nullptr); // the heap goes back to where it was, and it_ stays
        if (sched_live_blocks())
            return "blocks of memory that were not freed: " + std::to_string(sched_live_blocks());
        return "";
    }

    void print(std::FILE* out) const override {
        calls::show(out, setup_);
        for (const call& c : loaded_)
            print_call(out, "before", c);
        for (unsigned f = 0; f < plan_.size(); f++) {
            const std::string fiber = "fiber " + std::to_string(f);
            for (std::size_t i = 0; i < plan_[f].size(); i++)
                print_call(out, fiber.c_str(), i < made_[f].size() ? made_[f][i] : plan_[f][i]);
        }
    }

protected:
    // Draws how the container is made and which points it has, into setup_.
    virtual void draw_setup(calls::source& from) = 0;
    // Draws a scenario of a certain kind into setup_, loaded_, plan_. Returns its number of fibers;
    // 0: none.
    virtual unsigned draw_case(calls::source&) { return 0; }
    // Where the container lies: in the scheduler's heap.
    virtual calls::host where() const {
        calls::host here;
        here.place = place;
        here.leave = sched_free;
        return here;
    }
    // What is wrong beside the results of the calls.
    virtual std::string check_more(const calls::history<C>&) { return ""; }

    setup setup_;
    bool exhausted_ = false;
    std::vector<call> loaded_;
    std::array<std::vector<call>, 3> plan_, made_;
    model before_;
    std::unique_ptr<C> it_;

private:
    static void* place(std::size_t size) { return sched_alloc(size, 64, 0); }

    static void print_call(std::FILE* out, const char* who, const call& c) {
        std::fprintf(out, "%s: %s", who, calls::kind_at<C>(c).name);
        calls::show(out, c);
    }

    unsigned draw_any(calls::source& from) {
        draw_setup(from);
        C::draw_loaded(setup_, from, loaded_);
        draw_mix(from);
        const unsigned fibers = 2 + from.below(2);
        unsigned steps = 0;
        for (unsigned f = 0; f < fibers; f++)
            for (unsigned i = 0, n = 1 + from.below(4); i < n; i++) {
                call c = calls::draw<C>(setup_, from);
                for (unsigned tries = 0; !mix_[c.kind] && tries < 8; tries++)
                    c = calls::draw<C>(setup_, from);
                const unsigned more = C::most_steps(setup_, c);
                if (steps + more > calls::history<C>::most)
                    continue;
                steps += more;
                plan_[f].push_back(c);
            }
        return fibers;
    }

    // Half of the kinds of calls, in each scenario others; those that come often always.
    void draw_mix(calls::source& from) {
        mix_.clear();
        for (const auto& kind : C::kinds)
            mix_.push_back(kind.weight >= 20 || from.below(2));
    }

    std::vector<bool> mix_;
};

} // namespace schedtest
