// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Range locks (lathwork/range_lock.h): no two ranges that exclude each other are held at once,
// nobody waits for ever, a range that sleeps is not overtaken, and a call that fails leaves
// nothing. With LATH_RANGE_DEADLOCKS fibers that hold a range wait for another, and one of a cycle
// gets -EDEADLK.
#include "program.hpp"
#include "runtime.h"

#include "lathwork/range_lock.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace schedtest {

namespace {

constexpr unsigned points = 300; // three classes: 1, 16 and 256 keys
constexpr std::uint64_t forever = ~0ull;

// held: locked before the fibers run
enum class act : std::uint8_t { lock, trylock, timedlock, unlock, downgrade, resize, held };
constexpr const char* names[] = {"lock",      "trylock", "timedlock", "unlock",
                                 "downgrade", "resize",  "held"};

struct planned {
    act what;
    unsigned slot; // which of its holds
    unsigned first, size;
    bool exclusive;
};

// What a fiber holds or wants, as the check knows it: written by the fiber between its calls, where
// no other fiber runs.
struct range {
    unsigned first = 0, last = 0;
    bool exclusive = false, held = false;
    std::uint64_t asked = 0; // when its lock call began; 0: it waits for nothing
    std::array<std::uint64_t, 3> seen{}; // of each fiber: the call that waited when this one began
};

class range_lock_scenarios : public program {
public:
    const char* name() const override { return "range_lock"; }

    unsigned draw(random_source random) override {
        random_ = random;
        config_ = LATH_RANGE_CONFIG_INIT;
        config_.buckets = 1u << random_.below(5);
        config_.usual = random_.below(4) ? 0 : 1 + random_.below(20);
        config_.flags = random_.below(2) ? LATH_RANGE_DEADLOCKS : 0;
        grows_ = random_.below(2);
        one_class_ = random_.below(2); // sizes from 2 to 16
        if (one_class_ && config_.usual)
            config_.usual = 16;
        unsigned n = 2 + random_.below(2), near = random_.below(2) ? 24 : points;
        for (unsigned f = 0; f < plan_.size(); f++) {
            plan_[f].clear();
            for (unsigned i = 0, calls = 2 + random_.below(6); f < n && i < calls; i++)
                plan_[f].push_back(draw_call(near));
        }
        if (grows_ && random_.below(2))
            n = draw_growth();
        return n;
    }

    void build() override {
        locks_ = static_cast<lath_range_locks*>(sched_alloc(sizeof(lath_range_locks), 64, 0));
        for (auto& of_fiber : holds_)
            for (auto& hold : of_fiber)
                hold = static_cast<lath_range_hold*>(sched_alloc(sizeof(lath_range_hold), 8, 0x5a));
        if (lath_range_locks_init(locks_, &config_))
            sched_fail("lath_range_locks_init failed", nullptr, nullptr);
    }

    void begin() override {
        for (auto& of_fiber : ranges_)
            of_fiber.fill(range{});
        for (auto& h : history_)
            h.clear();
        for (unsigned f = 0; f < plan_.size(); f++)
            for (const planned& p : plan_[f])
                if (p.what == act::held)
                    ranges_[f][p.slot] = {p.first, p.first + p.size - 1, p.exclusive,
                                          !lath_range_lock(locks_, holds_[f][p.slot], p.first,
                                                           p.size, LATH_EXCLUSIVE_RANGE)};
    }

    void run(unsigned fiber) override {
        for (const planned& p : plan_[fiber])
            make(fiber, p);
        for (unsigned slot = 0; slot < 2; slot++)
            if (ranges_[fiber][slot].held)
                unlock(fiber, slot);
    }

    std::string check() override {
        if (int broken = lath_range_locks_verify(locks_))
            return "verify: invariant " + std::to_string(broken);
        unsigned left = 0;
        lath_range_each(
            locks_, [](void* n, const lath_range_info*) { ++*static_cast<unsigned*>(n); }, &left);
        if (left)
            return "ranges that nobody holds";
        lath_range_locks_fini(locks_);
        sched_free(locks_);
        for (auto& of_fiber : holds_)
            for (auto& hold : of_fiber)
                sched_free(hold);
        if (sched_live_blocks())
            return "blocks of memory that were not freed";
        return "";
    }

    void print(std::FILE* out) const override {
        std::fprintf(out, "buckets %u, flags 0x%x\n", config_.buckets, config_.flags);
        for (unsigned f = 0; f < plan_.size(); f++) {
            for (const planned& p : plan_[f])
                std::fprintf(out, "fiber %u: %s slot %u [%u, %u] %s\n", f,
                             names[static_cast<unsigned>(p.what)], p.slot, p.first,
                             p.first + p.size - 1, p.exclusive ? "exclusive" : "shared");
            for (const auto& [number, result] : history_[f])
                std::fprintf(out, "  call %u: %d\n", number, result);
        }
    }

private:
    planned draw_call(unsigned near) {
        constexpr unsigned sizes[] = {1, 1, 2, 9, 16, 17, 40, 250};
        unsigned size =
            one_class_ ? 2 + random_.below(15) : sizes[random_.below(near < points ? 6 : 8)];
        auto what = grows_ && random_.one_in(3) ? act::resize
                    : random_.below(2)
                        ? act::lock
                        : static_cast<act>(random_.below(static_cast<unsigned>(act::held)));
        return {what, random_.below(2), random_.below(near - std::min(size, near - 1)), size,
                random_.below(3) != 0};
    }

    // A range grows by a few keys into a larger class, beside one that overlaps what it gains
    // and is between the two in size, or larger than both; or that ends where it began.
    unsigned draw_growth() {
        one_class_ = false;
        if (random_.below(2)) { // a large one waits for two, in buckets one after the other
            unsigned edge = 17 + random_.below(50), other = random_.below(edge);
            config_.buckets = 2;
            config_.usual = 0;
            plan_[0] = {{act::lock, 0, 0, edge + 1, true}};
            plan_[1] = {{act::held, 0, other, 1, true}};
            plan_[2] = {{act::held, 0, edge, 1, true}, {act::resize, 0, edge, 2, true}};
            return 3;
        }
        if (random_.below(2)) {
            unsigned from = 1 + random_.below(18);
            plan_[0] = {{act::lock, 0, from, 1, true}, {act::resize, 0, from, 2, true}};
            plan_[1] = {{act::lock, 0, 0, 17 + random_.below(3), random_.below(2) != 0}};
            return 2;
        }
        unsigned gain = 1 + random_.below(2), size = 2 + random_.below(14);
        plan_[0] = {{act::lock, 0, 0, 16, true}, {act::resize, 0, 0, 16 + gain, true}};
        plan_[1] = {{act::lock, 0, 16, size, true}, {act::lock, 0, 16, size, true}};
        plan_[2] = {{act::lock, 0, 16 + random_.below(30), 1, true}};
        return 3;
    }

    static bool exclude(const range& a, const range& b) {
        return a.first <= b.last && b.first <= a.last && (a.exclusive || b.exclusive);
    }

    // Everything that is held excludes nothing else that is.
    void check_all() {
        for (unsigned f = 0; f < ranges_.size(); f++)
            for (const range& a : ranges_[f])
                for (unsigned g = f + 1; g < ranges_.size() && a.held; g++)
                    for (const range& b : ranges_[g])
                        if (b.held && exclude(a, b))
                            sched_fail("two ranges that exclude each "
                                       "other are held",
                                       locks_, nullptr);
        checked++;
    }

    // A range waits in its sleep when another one asks: then it comes first (R2), unless it waits
    // for one that grows.
    void check_order(const range& r) {
        for (unsigned g = 0; !grows_ && g < ranges_.size(); g++)
            for (const range& b : ranges_[g])
                if (b.asked && b.asked == r.seen[g] && exclude(r, b))
                    sched_fail("a range that slept was overtaken", locks_, nullptr);
    }

    void make(unsigned fiber, const planned& p) {
        range& r = ranges_[fiber][p.slot];
        switch (p.what) {
        case act::held:
            return;
        case act::unlock:
            if (r.held)
                unlock(fiber, p.slot);
            return;
        case act::downgrade:
            if (r.held) {
                r.exclusive = false; // others may hold it from some moment of the call on
                lath_range_downgrade(locks_, holds_[fiber][p.slot]);
                check_all();
            }
            return;
        case act::resize:
            if (r.held)
                resize(fiber, p);
            return;
        default:
            // what holds one range and waits for another waits for ever if a third one,
            // which waits for the first, overlaps both
            if (!r.held &&
                (config_.flags || p.what != act::lock || !ranges_[fiber][1 - p.slot].held))
                lock(fiber, p);
        }
    }

    void lock(unsigned fiber, const planned& p) {
        range& r = ranges_[fiber][p.slot];
        auto mode = p.exclusive ? LATH_EXCLUSIVE_RANGE : LATH_SHARED_RANGE;
        lath_range_hold* hold = holds_[fiber][p.slot];
        range wanted{p.first, p.first + p.size - 1, p.exclusive, false, 0, {}};
        for (unsigned g = 0; g < ranges_.size(); g++)
            for (const range& b : ranges_[g])
                if (g != fiber && b.asked && sched_sleeps(g))
                    wanted.seen[g] = b.asked;
        wanted.asked = sched_now();
        r = wanted;
        int result = p.what == act::lock ? lath_range_lock(locks_, hold, p.first, p.size, mode)
                     : p.what == act::trylock
                         ? lath_range_trylock(locks_, hold, p.first, p.size, mode)
                         : lath_range_timedlock(locks_, hold, p.first, p.size, mode, 1 + p.size);
        r.asked = 0;
        r.held = !result;
        history_[fiber].push_back({static_cast<unsigned>(history_[fiber].size()), result});
        bool allowed = p.what == act::lock ? config_.flags && result == -EDEADLK
                       : p.what == act::trylock
                           ? result == -EBUSY
                           : result == -ETIMEDOUT || (config_.flags && result == -EDEADLK);
        if (result && !allowed)
            sched_fail("a lock call has a result that it cannot have", hold, nullptr);
        if (r.held) {
            check_all();
            check_order(r);
            sched_point();
            check_all();
        }
        if (result == -EDEADLK && ranges_[fiber][1 - p.slot].held)
            unlock(fiber, 1 - p.slot);
    }

    void unlock(unsigned fiber, unsigned slot) {
        check_all();
        ranges_[fiber][slot].held = false;
        lath_range_unlock(locks_, holds_[fiber][slot]);
    }

    void resize(unsigned fiber, const planned& p) {
        range &r = ranges_[fiber][p.slot], before = r;
        unsigned first = p.first, last = p.first + p.size - 1;
        if (!grows_) { // within what it has
            first = std::clamp(first, r.first, r.last);
            last = std::clamp(last, first, r.last);
        }
        first = std::min(first, r.last);
        last = std::max(last, r.first);
        // what it gives up is others' from some moment of the call on
        r.first = std::max(first, r.first);
        r.last = std::min(last, r.last);
        int result = lath_range_resize(locks_, holds_[fiber][p.slot], first, last - first + 1);
        history_[fiber].push_back({static_cast<unsigned>(history_[fiber].size()), result});
        if (result == (config_.flags ? -EDEADLK : -EBUSY)) {
            r = before;
            check_all();
            if (config_.flags)
                unlock(fiber, p.slot);
            return;
        }
        if (result)
            sched_fail("resize has a result that it cannot have", nullptr, nullptr);
        r.first = first;
        r.last = last;
        check_all();
    }

    random_source random_{};
    lath_range_config config_ = LATH_RANGE_CONFIG_INIT;
    bool grows_ = false, one_class_ = false;
    std::array<std::vector<planned>, 3> plan_;
    std::array<std::array<range, 2>, 3> ranges_;
    std::array<std::array<lath_range_hold*, 2>, 3> holds_{};
    std::array<std::vector<std::pair<unsigned, int>>, 3> history_;
    lath_range_locks* locks_ = nullptr;
};

} // namespace

std::unique_ptr<program> range_lock_program() { return std::make_unique<range_lock_scenarios>(); }

} // namespace schedtest
