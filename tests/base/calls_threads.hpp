// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// calls_threads.hpp - a description (base/calls.hpp) in threads that run freely. In rounds each makes
// a few calls, recorded with when they began and ended, and the history of the round is explained or
// not. All threads end a round before the next one begins, which bounds how many calls overlap, and
// with that the search for an order. Between its calls a thread makes others, on what none of them
// asks for. The index is built with its delay points, where a thread often lets another one go on:
// in the middle of a split, with a leaf locked, between finding a leaf and believing what is in it.
#pragma once

#include "base/calls.hpp"

#include <atomic>
#include <deque>
#include <thread>

extern "C" void (*lath_delay_hook)(const char* point);

namespace calls {

template <class C>
class calls_threads {
public:
    using call = typename C::call;
    using model = typename C::model;
    using setup = typename C::setup;

    static constexpr unsigned threads = 3, most_calls = 12;

    struct beside {
        void (*churn)(C&, unsigned thread, word& random); // makes calls beside
        void (*forget)(C&, model&); // takes out what they leave
    };

    // own: makes a copy of the setup, which threads share, that of the thread.
    calls_threads(C& it, const setup& shared, void (*own)(setup&, unsigned thread),
                  const beside& more, word seed)
        : it_(it), beside_(more) {
        lath_delay_hook = pause;
        for (unsigned i = 0; i < threads; i++) {
            workers_.emplace_back(shared, seed * threads + i);
            own(workers_[i].of, i);
        }
        for (unsigned i = 0; i < threads; i++)
            workers_[i].thread = std::thread([this, i] { run(workers_[i], i); });
    }
    calls_threads(const calls_threads&) = delete;
    calls_threads& operator=(const calls_threads&) = delete;
    ~calls_threads() {
        over_ = true;
        for (worker& w : workers_)
            w.thread.join();
        lath_delay_hook = nullptr;
    }

    // A round. Returns whether it is explained; prints its calls if not.
    bool round() {
        model before;
        history<C> all;
        wait(threads * (rounds_ + 1));
        it_.contents(before);
        beside_.forget(it_, before);
        open_.store(++rounds_);
        wait(threads * (rounds_ + 1));
        for (const worker& w : workers_)
            for (const call& c : w.made)
                all.add(c);
        for (const call& a : all.calls())
            for (const call& b : all.calls())
                overlapping_ += a.called < b.called && b.called < a.returned;
        const bool right = all.explained(before, nullptr);
        for (const call& c : right ? std::vector<call>() : all.calls()) {
            std::fputs(kind_at<C>(c).name, stderr);
            show(stderr, c);
        }
        return right;
    }
    unsigned rounds() const { return rounds_; }
    word overlapping() const { return overlapping_; } // pairs of calls

private:
    struct worker {
        worker(const setup& shared, word seed) : of(shared), random(seed), from(seed) {}
        setup of;
        word random;
        source from;
        std::vector<call> made;
        std::thread thread;
    };
    static inline thread_local word pauses;

    static void pause(const char*) {
        if (::draw(&pauses, 4) == 0)
            std::this_thread::yield();
    }
    void wait(unsigned n) const {
        while (ready_.load() < n)
            std::this_thread::yield();
    }
    void run(worker& w, unsigned id) {
        pauses = w.random ^ 0x9e3779b97f4a7c15ull;
        for (unsigned round = 1;; round++) {
            ready_.fetch_add(1);
            while (open_.load() < round)
                if (over_.load())
                    return;
                else
                    std::this_thread::yield();
            w.made.clear();
            for (unsigned steps = 0, i = 0; i < most_calls; i++) {
                if (::draw(&w.random, 2) == 0)
                    beside_.churn(it_, id, w.random);
                steps += record(w, history<C>::most / threads - steps);
                if (::draw(&w.random, 8) == 0)
                    std::this_thread::yield();
            }
        }
    }
    // Makes a call that has at most this many steps. Returns their number.
    unsigned record(worker& w, unsigned most) {
        call c = calls::draw<C>(w.of, w.from);
        const unsigned steps = C::most_steps(w.of, c);
        if (steps > most)
            return 0;
        c.called = now_.fetch_add(1);
        kind_at<C>(c).make(it_, c);
        c.returned = now_.fetch_add(1);
        w.made.push_back(c);
        return steps;
    }

    C& it_;
    const beside beside_;
    unsigned rounds_ = 0;
    word overlapping_ = 0;
    std::atomic<word> now_{1};
    std::atomic<unsigned> ready_{0}, open_{0};
    std::atomic<bool> over_{false};
    std::deque<worker> workers_;
};

} // namespace calls
