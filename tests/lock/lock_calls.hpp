// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lock_calls.hpp - locks on ranges (lathwork/range_lock.h) described once (base/calls.hpp). The
// model is a sorted array of what is held. A call that would wait for ever does not wait, unless
// other calls run beside it.
#pragma once

#include "base/calls.hpp"

#include "lathwork/range_lock.h"

#include <array>
#include <compare>
#include <cstdlib>
#include <string>

namespace calls {

constexpr word last_key = ~word{0}, forever = last_key;
constexpr unsigned slots_of_locks = 12; // each has a hold

struct lock_setup : any_setup {
    lath_range_config config = LATH_RANGE_CONFIG_INIT;
    word low = 0, span = 300; // the keys
    bool defaults = false, grows = true; // grows: together, a range may gain keys

    lock_setup() = default;
    explicit lock_setup(source& from) {
        static constexpr word domains[][2] = {
            {0, 16},    {0, 300}, {last_key - 299, 300}, {(1ull << 63) - 400, 800},
            {0, 20000}, {0, 0}};
        static constexpr word usual[] = {0, 0, 1, 16, 4096, 1ull << 40, last_key};
        static constexpr unsigned buckets[] = {1, 2, 16, 100, 1024};
        const unsigned what = from.byte();
        config.flags = what % 2 ? LATH_RANGE_DEADLOCKS : 0;
        config.look = what / 2 % 4 == 3 ? look_no_more : nullptr;
        memory = what / 8 % 2;
        defaults = what / 16 == 7;
        config.usual = from.pick(usual);
        config.buckets = from.pick(buckets);
        low = domains[from.below(6)][0];
        span = domains[what / 16 % 6][1];
        if (defaults)
            config = LATH_RANGE_CONFIG_INIT;
    }
    static std::uint64_t look_no_more(void*) { return 0; }

    bool deadlocks() const { return config.flags & LATH_RANGE_DEADLOCKS; }
    word key(source& from) const {
        static constexpr word edges[] = {0, 1, 15, 16, last_key - 1, last_key, 1ull << 63};
        const word n = from.below(65536);
        return from.one_in(16) ? from.pick(edges) : span ? low + n % span : n * 0x9e3779b97f4a7c15u;
    }
    word size(source& from) const {
        static constexpr word sizes[] = {0, 255, 256, 4096, 1ull << 32, 1ull << 63, last_key};
        const unsigned n = from.byte();
        return n < 200 ? 1 + n % 4 : n < 240 ? 1 + n % 40 : from.pick(sizes);
    }
};

struct locked {
    word first, last, owner;
    bool exclusive;
    auto operator<=>(const locked&) const = default;

    bool excludes(const locked& other) const {
        return first <= other.last && other.first <= last && (exclusive || other.exclusive);
    }
};

struct lock_call {
    lock_call() = default;
    explicit lock_call(const lock_setup& setup) : of(&setup) {}

    const lock_setup* of = nullptr;
    unsigned kind = 0, how = 0, slot = 0;
    word first = 0, last = 0, owner = 0, nanoseconds = 0; // what is asked for, or what was held
    word key = 0, size = 0; // new bounds; size: or how much more
    bool exclusive = false, skipped = false;
    std::int64_t ret = 0;
    std::vector<locked> told;
    std::vector<lock_call> more; // what the call did beside
    word called = 0, returned = 0;

    word end() const { return key + (size - 1); } // 0 and 0: all keys
};

inline void print(std::FILE* out, const lock_call& c) {
    auto show = [](word n) { return static_cast<unsigned long long>(n); };
    std::fprintf(out,
                 " slot %u [%#llx, %#llx] %s owner %llu for %llu, key %#llx size %#llx: %lld%s "
                 "[%llu, %llu]\n",
                 c.slot, show(c.first), show(c.last), c.exclusive ? "exclusive" : "shared",
                 show(c.owner), show(c.nanoseconds), show(c.key), show(c.size),
                 static_cast<long long>(c.ret), c.skipped ? ", not made" : "", show(c.called),
                 show(c.returned));
}
inline void print(std::FILE* out, const lock_setup& s) {
    std::fprintf(out, "  flags %u, usual %#llx, %u buckets%s\n", s.config.flags,
                 static_cast<unsigned long long>(s.config.usual), s.config.buckets,
                 s.config.look ? ", waits are interrupted" : "");
}

inline locked range_of(const lock_call& c) { return {c.first, c.last, c.owner, c.exclusive}; }

struct lock_model {
    std::vector<locked> held;

    bool operator==(const lock_model&) const = default;
    std::size_t hash() const {
        word h = held.size();
        for (const locked& it : held)
            h = (h ^ it.first ^ it.last << 20 ^ it.owner << 40) * 0x9e3779b97f4a7c15u;
        return h ^ h >> 29;
    }
    void add(const locked& it) { held.insert(std::lower_bound(held.begin(), held.end(), it), it); }
    bool remove(const locked& it) {
        const auto at = std::find(held.begin(), held.end(), it);
        if (at == held.end())
            return false;
        held.erase(at);
        return true;
    }
    // How many ranges, but for one, exclude this one; how many of them have its owner.
    unsigned in_way(const locked& it, const locked* but, unsigned* own) const {
        unsigned all = 0;
        *own = 0;
        for (const locked& other : held) {
            const bool excludes = (!but || other != *but) && it.excludes(other);
            all += excludes;
            *own += excludes && other.owner == it.owner;
        }
        return all;
    }
};

struct slot_of_lock {
    lath_range_hold hold;
    bool used, exclusive;
};
struct locks_and_slots {
    lath_range_locks locks;
    slot_of_lock slots[slots_of_locks];
};

class lock_calls : public placed<locks_and_slots> {
public:
    using model = lock_model;
    using domain = lock_setup;
    using setup = lock_setup;
    using call = lock_call;

    static const std::vector<described<lock_calls>> kinds;

    lock_calls(const setup& how, const host& where) : placed(where) {
        lath_range_config config = how.config;
        config.allocator = where.allocator;
        place([&](locks_and_slots* at) {
            std::memset(at, 0, sizeof(*at));
            return lath_range_locks_init(&at->locks, how.defaults ? nullptr : &config);
        });
        lath_range_hold hold;
        if (set_ && !lath_range_lock(locks(), &hold, 0, 1, LATH_SHARED_RANGE)) {
            me = hold.owner;
            lath_range_unlock(locks(), &hold);
        }
    }

    lath_range_locks* locks() { return &set_->locks; }
    const lath_allocator* allocator() const { return where_.allocator; }
    slot_of_lock& at(unsigned number) { return set_->slots[number]; }

    std::string verify(bool) {
        const int broken = lath_range_locks_verify(locks());
        return broken ? "invariant " + std::to_string(broken) : "";
    }
    void contents(model& m) {
        std::vector<lath_range_info> told;
        lath_range_each(locks(), note<lath_range_info>, &told);
        m.held.clear();
        for (const lath_range_info& it : told)
            m.add({it.first, it.last, it.waits ? 0 : it.owner, it.mode == LATH_EXCLUSIVE_RANGE});
    }
    bool end(const model*) {
        model left;
        for (slot_of_lock& it : set_->slots)
            if (it.used)
                lath_range_unlock(locks(), &it.hold);
        contents(left);
        lath_range_locks_fini(locks());
        leave(set_);
        return left.held.empty();
    }
    // What a slot holds, and what all do.
    locked held(unsigned number) {
        const slot_of_lock& it = at(number);
        return {it.hold.first, it.hold.last, it.hold.owner, it.exclusive};
    }
    model held() {
        model all;
        for (unsigned i = 0; i < slots_of_locks; i++)
            if (at(i).used)
                all.add(held(i));
        return all;
    }

    static void draw_loaded(setup&, source&, std::vector<call>&) {}
    static unsigned most_steps(const setup&, const call&) { return 3; }

    word me = 0; // the owner, if none is told
};

// ---- arguments ----

inline void draw_slot(lock_setup&, source& from, lock_call& c) {
    c.slot = from.below(slots_of_locks);
    c.how = from.byte();
}
inline void draw_lock(lock_setup& s, source& from, lock_call& c) {
    static constexpr word waits[] = {0, 0, 0, 1, 5000, forever};
    static constexpr word owners[] = {0, 1, 2, 3, 5, 1ull << 63, last_key};
    draw_slot(s, from, c);
    c.key = s.key(from);
    c.size = s.size(from);
    c.first = c.key;
    c.last = from.one_in(8) ? s.key(from) : c.end();
    c.exclusive = from.below(2);
    c.nanoseconds = from.pick(waits);
    c.owner = from.pick(owners);
}

// ---- what the model says ----

// The errors of a call for which ranges are in the way, if they may be its own.
inline bool refused(const lock_call& c, bool own, bool others) {
    if (!c.nanoseconds)
        return c.ret == -EBUSY;
    const bool late = c.ret == (c.of->config.look ? -EINTR : -ETIMEDOUT);
    return own && c.of->deadlocks() ? c.ret == -EDEADLK || (others && late)
                                    : late && (others || own);
}
inline bool lock_agrees(lock_model& m, const lock_call& c) {
    if (c.skipped)
        return true;
    if (c.last < c.first)
        return c.ret == -EINVAL;
    if (c.of->together && c.ret) // of what others ask for and do not get the model knows nothing
        return c.ret == (!c.nanoseconds                                 ? -EBUSY
                         : c.nanoseconds < forever && c.ret != -EDEADLK ? -ETIMEDOUT
                                                                        : -EDEADLK) &&
               (c.ret != -EDEADLK || c.of->deadlocks());
    unsigned own;
    const unsigned all = m.in_way(range_of(c), nullptr, &own);
    if (all)
        return refused(c, own, all > own);
    m.add(range_of(c));
    return !c.ret;
}
inline bool unlock_agrees(lock_model& m, const lock_call& c) {
    return c.skipped || m.remove(range_of(c));
}
inline bool downgrade_agrees(lock_model& m, const lock_call& c) {
    if (!c.skipped && m.remove(range_of(c)))
        m.add({c.first, c.last, c.owner, false});
    else
        return c.skipped;
    return true;
}
inline bool resize_agrees(lock_model& m, const lock_call& c) {
    if (c.skipped)
        return true;
    const locked old = range_of(c);
    if (((c.key || c.size) && (!c.size || c.end() < c.key)) || c.key > c.last || c.end() < c.first)
        return c.ret == -EINVAL;
    unsigned own, shares;
    const locked now{c.key, c.end(), c.owner, c.exclusive};
    const unsigned all = m.in_way(now, &old, &own);
    if (all && c.of->deadlocks())
        return (own && c.ret == -EDEADLK) || (all > own && c.of->config.look && c.ret == -EINTR);
    // whether shared ranges are in the way of a shared one is not said
    if (all || (c.ret && m.in_way({now.first, now.last, now.owner, true}, &old, &shares)))
        return c.ret == -EBUSY && !c.of->deadlocks();
    m.add(now);
    return m.remove(old) && !c.ret;
}
// ---- the calls ----

// What a call does to what it holds.
inline void unlock(lock_calls& it, lock_call& c) {
    slot_of_lock& mine = it.at(c.slot);
    c.skipped = !mine.used;
    if (c.skipped)
        return;
    const locked was = it.held(c.slot);
    c.first = was.first, c.last = was.last, c.owner = was.owner, c.exclusive = was.exclusive;
    mine.used = false;
    lath_range_unlock(it.locks(), &mine.hold);
}
inline void unlock_also(lock_calls& it, lock_call& c, unsigned slot) {
    lock_call also(*c.of);
    also.kind = kind_of<lock_calls>("unlock");
    also.slot = slot;
    unlock(it, also);
    if (!also.skipped)
        c.more.push_back(also);
}

// Locks, by call(hold, mode). In fibers those that wait for each other give up what they hold; but
// for that a fiber that holds one range waits for no other: it would wait for ever if a third one,
// which waits for the first, overlaps both.
template <class Call>
void lock(lock_calls& it, lock_call& c, Call call) {
    slot_of_lock& mine = it.at(c.slot);
    unsigned own = 0;
    const bool waits = c.nanoseconds == forever;
    c.skipped =
        mine.used || (c.of->together && waits && !c.of->deadlocks() && it.at(c.slot ^ 1).used);
    if (c.skipped)
        return;
    locked wanted = range_of(c);
    wanted.owner = c.owner ? c.owner : it.me;
    if (!c.of->together && waits && !c.of->config.look && c.first <= c.last) {
        const unsigned all = it.held().in_way(wanted, nullptr, &own);
        if (all > own || (all && !c.of->deadlocks()))
            c.nanoseconds = 0;
    }
    c.ret = call(&mine.hold, c.exclusive ? LATH_EXCLUSIVE_RANGE : LATH_SHARED_RANGE);
    mine.used = !c.ret;
    mine.exclusive = c.exclusive;
    if (!c.ret && (mine.hold.first != c.first || mine.hold.last != c.last ||
                   (mine.hold.owner != wanted.owner && !c.of->together)))
        c.ret = -EFAULT;
    c.owner = c.ret ? wanted.owner : mine.hold.owner;
    if (c.ret == -EDEADLK && c.of->together)
        unlock_also(it, c, c.slot ^ 1);
}
inline void lock_for(lock_calls& it, lock_call& c) {
    lock(it, c, [&](lath_range_hold* hold, lath_range_mode mode) {
        return lath_range_lock_for(it.locks(), hold, c.first, c.last, mode, c.nanoseconds, c.owner);
    });
}
// By the calls for the calling thread.
inline void lock_sized(lock_calls& it, lock_call& c) {
    const bool all = c.how % 16 == 1, bad = !c.size || c.end() < c.key;
    c.owner = 0;
    c.nanoseconds = all ? forever : c.nanoseconds;
    c.first = all ? 0 : bad ? 1 : c.key;
    c.last = all ? last_key : bad ? 0 : c.end();
    lock(it, c, [&](lath_range_hold* hold, lath_range_mode mode) {
        lath_range_locks* locks = it.locks();
        if (all)
            return c.nanoseconds ? lath_range_lock_all(locks, hold, mode)
                                 : lath_range_lock_for(locks, hold, 0, last_key, mode, 0, 0);
        return !c.nanoseconds ? lath_range_trylock(locks, hold, c.key, c.size, mode)
               : c.nanoseconds < forever
                   ? lath_range_timedlock(locks, hold, c.key, c.size, mode, c.nanoseconds)
                   : lath_range_lock(locks, hold, c.key, c.size, mode);
    });
}
inline void lock_steps(const lock_call& c, std::vector<lock_call>& steps) {
    steps.push_back(c);
    steps.back().kind = kind_of<lock_calls>("locked");
    steps.insert(steps.end(), c.more.begin(), c.more.end());
}

inline void downgrade(lock_calls& it, lock_call& c) {
    slot_of_lock& mine = it.at(c.slot);
    c.skipped = !mine.used || !mine.exclusive;
    if (c.skipped)
        return;
    const locked was = it.held(c.slot);
    c.first = was.first, c.last = was.last, c.owner = was.owner, c.exclusive = true;
    mine.exclusive = false;
    lath_range_downgrade(it.locks(), &mine.hold);
}

// Bounds a few keys less or more than they were, most of the time.
inline void choose_bounds(lock_calls& it, lock_call& c) {
    if (c.of->together) {
        word last = c.end();
        if (!c.of->grows) { // within what it has
            c.key = std::clamp(c.key, c.first, c.last);
            last = std::clamp(last, c.key, c.last);
        }
        c.key = std::min(c.key, c.last);
        c.size = std::max(last, c.first) - c.key + 1;
        return;
    }
    if (c.how % 4) {
        const word low = c.how / 4 % 8, high = c.how / 32;
        c.key = low < 4 ? c.first - std::min(c.first, low) : c.first + (low - 4);
        c.size = c.last - c.key + 1 + (high < 4 ? std::min(last_key - c.last, high) : 4 - high);
    }
    if (c.key > c.last || c.end() < c.first)
        return;
    unsigned own;
    const locked old = it.held(c.slot);
    const unsigned all = it.held().in_way({c.key, c.end(), old.owner, old.exclusive}, &old, &own);
    c.skipped = c.of->deadlocks() && all > own && !c.of->config.look; // it would wait for ever
}
inline void resize(lock_calls& it, lock_call& c) {
    slot_of_lock& mine = it.at(c.slot);
    c.skipped = !mine.used;
    if (c.skipped)
        return;
    const locked was = it.held(c.slot);
    c.first = was.first, c.last = was.last, c.owner = was.owner, c.exclusive = was.exclusive;
    choose_bounds(it, c);
    if (c.skipped)
        return;
    c.ret = lath_range_resize(it.locks(), &mine.hold, c.key, c.size);
    const locked now{c.ret ? c.first : c.key, c.ret ? c.last : c.end(), c.owner, c.exclusive};
    if (it.held(c.slot) != now)
        c.ret = -EFAULT;
    if (c.ret == -EDEADLK && c.of->together)
        unlock_also(it, c, c.slot);
}
// It gives up some keys, and gains others. If it fails it is as before.
inline void resize_steps(const lock_call& c, std::vector<lock_call>& steps) {
    const word first = std::max(c.first, c.key), last = std::min(c.last, c.end());
    const bool busy = c.ret == (c.of->deadlocks() ? -EDEADLK : -EBUSY);
    for (word part = 0; part < 2 && !c.skipped && !busy; part++) {
        lock_call& step = steps.emplace_back(c);
        step.kind = kind_of<lock_calls>("resized");
        if (part)
            step.first = first, step.last = last;
        else
            step.key = first, step.size = last - first + 1;
    }
    steps.insert(steps.end(), c.more.begin(), c.more.end());
}

// Other locks, of a config that is refused or not.
inline void init(lock_calls& it, lock_call& c) {
    lath_range_config config = c.of->config;
    lath_range_locks other;
    config.allocator = it.allocator();
    if (c.how % 4 == 0)
        config.size -= 1;
    if (c.how % 4 == 1)
        config.flags |= 1u << (1 + c.how / 4 % 31);
    if (c.how % 4 == 2)
        config.buckets = (1u << 20) + 1;
    c.ret = lath_range_locks_init(&other, &config);
    if (!c.ret)
        lath_range_locks_fini(&other);
}

// clang-format off
inline const std::vector<described<lock_calls>> lock_calls::kinds = {
    {"lock_for", 40, effect::apart, {EINVAL, EBUSY, ETIMEDOUT, EDEADLK, EINTR}, nullptr, draw_lock,
     lock_for, lock_agrees, lock_steps},
    {"lock_sized, lock, trylock, timedlock, lock_all", 30, effect::apart,
     {EINVAL, EBUSY, ETIMEDOUT, EDEADLK, EINTR}, nullptr, draw_lock, lock_sized, lock_agrees,
     lock_steps},
    {"locked", 0, effect::once, {EBUSY, ETIMEDOUT, EDEADLK}, nullptr, nullptr, nullptr,
     lock_agrees},
    {"unlock", 30, effect::once, {}, nullptr, draw_slot, unlock, unlock_agrees},
    {"downgrade", 6, effect::once, {}, nullptr, draw_slot, downgrade, downgrade_agrees},
    {"resize", 20, effect::apart, {EINVAL, EBUSY, EDEADLK, EINTR}, nullptr, draw_lock, resize,
     resize_agrees, resize_steps},
    {"resized", 0, effect::once, {}, nullptr, nullptr, nullptr, resize_agrees},
    {"each, locks_verify", 3, effect::alone, {}, nullptr, nullptr,
     [](lock_calls& it, lock_call& c) {
         lock_model told;
         it.contents(told);
         c.told = told.held;
     }, [](lock_model& m, const lock_call& c) { return c.told == m.held; }},
    {"locks_init, locks_fini", 1, effect::alone, {EINVAL, ENOMEM}, nullptr, draw_slot, init,
     [](lock_model&, const lock_call& c) { return c.ret == (c.how % 4 < 3 ? -EINVAL : 0); }},
};
// clang-format on

} // namespace calls
