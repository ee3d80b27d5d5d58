// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// calls.hpp - a container is described once, and its tests are made of the description.
//
// A description is a class C, in one file beside the container's tests (index/index_calls.hpp):
//
//   C::setup    how a container is made; drawn from a source. An any_setup
//   C::domain   the part of it that the arguments are drawn from
//   C::model    what should be in it: plain, slow, easy to see right. Copied and compared
//   C::call     the arguments and the results of one call. Has `kind`, `ret`, `called`, `returned`
//   C::kinds    a table of the calls: how one is drawn, made, and judged by the model
//   C(setup, host)   makes it empty; contents(model) reads it, verify() looks at its invariants,
//                    end() frees it and leaves the object as it is
//
// Of it are made
//
//   calls_tape.hpp            random calls beside the model, memory that fails, libFuzzer, each
//                             form of vector code; each error that a call names occurs, no other
//   sched/calls_program.hpp   controlled schedules of two or three threads
//   calls_threads.hpp         threads that run freely
//
// In the last two, what the calls returned must be explained by some order of them (history).
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/random.h"
#include "base/tape.h"

namespace calls {

using word = std::uint64_t;

// Where arguments come from: the bytes of a tape, zeroes behind its end, or random numbers.
class source {
public:
    explicit source(tape& from) : tape_(&from) {}
    explicit source(word seed) : random_(seed) {}

    bool more() const { return !tape_ || tape_->at < tape_->end; }
    unsigned byte() { return tape_ ? next_byte(tape_) : random_word(&random_) & 255; }
    // Below n, which is not 0 and at most 65536.
    unsigned below(unsigned n) {
        const unsigned low = byte();
        return (n <= 256 ? low : low | byte() << 8) % n;
    }
    bool one_in(unsigned n) { return below(n) == 0; }
    template <class T, std::size_t n>
    const T& pick(const T (&from)[n]) {
        return from[below(n)];
    }

private:
    tape* tape_ = nullptr;
    word random_ = 0;
};

// Where a container and its nodes lie. nullptr: on the heap.
struct host {
    void* (*place)(std::size_t size) = nullptr;
    void (*leave)(void* at) = nullptr;
    void (*look)(const void* at, std::size_t size) = nullptr; // called before a record is read
    const lath_allocator* allocator = nullptr;
    bool* none = nullptr; // if it is set, the allocator has no memory
};

// What each setup has.
struct any_setup {
    bool memory = false; // it is the caller's
    bool memory_ends = false; // calls may lack it
    bool together = false; // other calls run beside each
    const char* next = nullptr; // the name of the call that shall come next
};

// A container, a T, that lies where the host says.
template <class T>
class placed {
public:
    bool failed() const { return !set_; }
    T* set() { return set_; }
    // Of what is told one by one, into a vector.
    template <class Item>
    static void note(void* items, const Item* item) {
        static_cast<std::vector<Item>*>(items)->push_back(*item);
    }

protected:
    explicit placed(const host& where) : where_(where) {}
    void* take(std::size_t size) {
        return where_.place ? where_.place(size) : std::aligned_alloc(64, (size + 63) / 64 * 64);
    }
    void leave(void* at) { where_.leave ? where_.leave(at) : std::free(at); }
    // init: returns 0 if it has made the container there.
    template <class Init>
    void place(Init init) {
        auto* at = static_cast<T*>(take(sizeof(T)));
        set_ = at && !init(at) ? at : nullptr;
        if (!set_)
            leave(at);
    }

    host where_;
    T* set_ = nullptr;
};

enum class effect : std::uint8_t {
    once, // at one moment of the call
    apart, // in steps that others may come between: `steps` says which
    none, // on nothing that other calls see, and it tells nothing
    alone, // no other call may run at that time
};

// One kind of calls of a container C.
template <class C>
struct described {
    using call = typename C::call;

    const char* name; // in the header, without the container's; or several
    unsigned weight; // how often it is drawn, beside the others
    enum effect effect;
    // That its header names. With ENOMEM it may lack memory, and then it changes nothing, unless
    // `partly`.
    std::vector<int> errors;
    bool (*possible)(const typename C::domain&) = nullptr; // nullptr: always
    void (*draw)(typename C::domain&, source&, call&) = nullptr;
    void (*make)(C&, call&) = nullptr;
    // Returns whether the result is that of the model, and plays the call on it. nullptr: all
    // steps.
    bool (*agrees)(typename C::model&, const call&) = nullptr;
    void (*steps)(const call&, std::vector<call>&) = nullptr;
    bool partly = false;

    bool may_return(std::int64_t ret) const {
        return ret >= 0 || std::find(errors.begin(), errors.end(), -ret) != errors.end();
    }
    bool changes_nothing(std::int64_t ret) const { return ret == -ENOMEM && !partly; }
};

template <class T>
std::vector<T> joined(std::initializer_list<std::vector<T>> parts) {
    std::vector<T> all;
    for (const auto& part : parts)
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

template <class C>
unsigned kind_of(std::string_view name) {
    for (unsigned i = 0; i < C::kinds.size(); i++)
        if (C::kinds[i].name == name)
            return i;
    std::abort();
}

template <class C>
const described<C>& kind_at(const typename C::call& c) {
    return C::kinds[c.kind];
}

template <class C>
std::vector<typename C::call> steps_of(const typename C::call& c) {
    std::vector<typename C::call> steps;
    C::kinds[c.kind].steps(c, steps);
    for (auto& step : steps)
        step.called = c.called, step.returned = c.returned;
    return steps;
}

// Returns whether a single thread gets this result, and plays the call on the model.
template <class C>
bool agrees(typename C::model& model, const typename C::call& c) {
    const described<C>& kind = C::kinds[c.kind];
    if (!kind.may_return(c.ret))
        return false;
    if (kind.changes_nothing(c.ret))
        return true;
    if (kind.agrees)
        return kind.agrees(model, c);
    if (kind.steps)
        for (const auto& step : steps_of<C>(c))
            if (!agrees<C>(model, step))
                return false;
    return true;
}

// The kind of the next call: setup.next, if some call has set that, else one that the setup allows.
template <class C>
unsigned draw_kind(typename C::setup& setup, source& from) {
    unsigned all = 0;
    for (const auto& kind : C::kinds)
        all += kind.weight;
    if (setup.next) {
        const char* name = setup.next;
        setup.next = nullptr;
        return kind_of<C>(name);
    }
    for (;;) {
        unsigned at = from.below(all), i = 0;
        while (at >= C::kinds[i].weight)
            at -= C::kinds[i++].weight;
        const described<C>& kind = C::kinds[i];
        const bool alone = setup.together && kind.effect == effect::alone;
        if (!alone && (!kind.possible || kind.possible(setup)))
            return i;
        if (!from.more())
            return 0;
    }
}

template <class C>
typename C::call draw(typename C::setup& setup, source& from) {
    typename C::call c(setup);
    c.kind = draw_kind<C>(setup, from);
    if (C::kinds[c.kind].draw)
        C::kinds[c.kind].draw(setup, from, c);
    return c;
}

// Prints a call or a setup, by the description's print().
template <class T>
void show(std::FILE* out, const T& what) {
    print(out, what);
}

// Calls with the times at which they were called and returned. Is there an order of them that keeps
// "returned before the other was called", and in which each has the result that a single thread
// would have got? The search is that of Wing and Gong (1993) with Lowe's memory (2017): take any
// call that no unfinished one precedes, play it on the model, go on; a pair of (calls done, model)
// that failed once is not tried again.
template <class C>
class history {
public:
    using call = typename C::call;
    using model = typename C::model;
    static constexpr std::size_t most = 64; // calls

    // Adds a call that was made, unless it tells nothing of others.
    void add(const call& c) {
        const described<C>& kind = C::kinds[c.kind];
        if (kind.changes_nothing(c.ret))
            return;
        if (kind.effect == effect::once)
            calls_.push_back(c);
        else if (kind.steps)
            for (const call& step : steps_of<C>(c))
                add(step);
    }
    const std::vector<call>& calls() const { return calls_; }

    // From this model on, to that one, if not null.
    bool explained(const model& before, const model* after) {
        failed_.clear();
        after_ = after;
        all_ = calls_.size() >= most ? ~word{0} : (word{1} << calls_.size()) - 1;
        return calls_.size() <= most && search({0, before});
    }

private:
    struct place {
        word done;
        model now;
        bool operator==(const place&) const = default;
    };
    struct hash {
        std::size_t operator()(const place& p) const {
            return p.now.hash() ^ p.done * 0x9e3779b97f4a7c15u;
        }
    };

    // A call that changes nothing here changes nothing elsewhere either, unless C says it may:
    // where values are not unique.
    static bool only_looks(const call& c) {
        if constexpr (requires { C::may_change(c); })
            return !C::may_change(c);
        return true;
    }
    bool search(const place& at) {
        if (at.done == all_)
            return !after_ || at.now == *after_;
        if (failed_.contains(at))
            return false;
        word first_return = ~word{0};
        for (std::size_t i = 0; i < calls_.size(); i++)
            if (!(at.done >> i & 1))
                first_return = std::min(first_return, calls_[i].returned);
        std::vector<place> next;
        for (std::size_t i = 0; i < calls_.size(); i++) {
            if (at.done >> i & 1 || calls_[i].called >= first_return)
                continue;
            place then{at.done | word{1} << i, at.now};
            if (!agrees<C>(then.now, calls_[i]))
                continue;
            if (then.now == at.now && only_looks(calls_[i])) // it constrains no other call
                return search(then);
            next.push_back(std::move(then));
        }
        for (const place& then : next)
            if (search(then))
                return true;
        failed_.insert(at);
        return false;
    }

    std::vector<call> calls_;
    const model* after_ = nullptr;
    word all_ = 0;
    std::unordered_set<place, hash> failed_;
};

} // namespace calls
