// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A set of intervals: the points of the checker are intervals, few of which differ in their first
// key, so that several of one class of lengths begin there and some are in lists. Each is in the
// set once at most. A search is a look at each interval that matches, at some moment of the call.
#include "program.hpp"
#include "recorder.hpp"

#include "lathwork/interval.h"

#include <algorithm>

using namespace lin;

namespace schedtest {

namespace {

enum class act : std::uint8_t { insert, erase, again, stab, overlap, within, walk, all };

constexpr const char* names[] = {"insert", "erase", "again", "stab", "overlap", "within", "walk"};

struct planned {
    act what;
    unsigned key;
};

class interval_scenarios : public program {
public:
    const char* name() const override { return "interval"; }

    unsigned draw(random_source random) override {
        random_ = random;
        config_ = LATH_CONFIG_INIT;
        if (random_.below(2))
            config_.flags |= LATH_NODE_EACH;
        if (random_.one_in(3))
            config_.flags |= LATH_GAPPED;
        draw_intervals();
        loaded_ = 0;
        std::vector<unsigned> absent;
        for (unsigned i = 0; i < used_; i++)
            if (random_.below(2))
                loaded_ |= 1u << i;
            else
                absent.push_back(i);
        unsigned n = 2 + random_.below(2), recorded = 0;
        for (unsigned f = 0; f < plan_.size(); f++) {
            plan_[f].clear();
            for (unsigned i = 0, calls = 1 + random_.below(4); f < n && i < calls; i++) {
                planned p{static_cast<act>(random_.below(static_cast<unsigned>(act::all))),
                          random_.below(used_)};
                if (p.what == act::insert) { // one of each at most
                    if (absent.empty())
                        continue;
                    unsigned at = random_.below(static_cast<unsigned>(absent.size()));
                    p.key = absent[at];
                    absent.erase(absent.begin() + at);
                }
                recorded += p.what < act::stab ? 2 : used_;
                if (recorded <= 60)
                    plan_[f].push_back(p);
            }
        }
        return n;
    }

    void build() override {
        set_ = static_cast<lath_intervals*>(sched_alloc(sizeof(lath_intervals), 64, 0));
        if (lath_intervals_init(set_, LATH_CLOSED, &config_))
            sched_fail("lath_intervals_init failed", nullptr, nullptr);
        calls_.before = {};
        for (unsigned i = 0; i < used_; i++)
            if (loaded_ >> i & 1 && !lath_intervals_insert(set_, &intervals_[i]))
                lin::put(calls_.before, i, 1, i + 1);
        begin();
    }

    void begin() override { calls_.begin(); }

    void run(unsigned fiber) override {
        for (const planned& p : plan_[fiber])
            make(p, fiber);
    }

    std::string check() override {
        char report[200] = "";
        if (lath_intervals_verify(set_, report, sizeof(report)))
            return std::string("verify: ") + report;
        state after{};
        lath_interval_iter iter;
        lath_interval found;
        lath_interval_iter_all(&iter, set_);
        while (lath_interval_next(&iter, &found))
            lin::put(after, number_of(found) - 1, 1, number_of(found));
        if (lath_intervals_count(set_) != entries_of(after))
            return "the count differs from the number of intervals";
        if (!calls_.linearizable(after, checked))
            return "not linearizable";
        lath_intervals_fini(set_, nullptr, nullptr);
        sched_free(set_);
        if (sched_live_blocks())
            return "blocks of memory that were not freed: " + std::to_string(sched_live_blocks());
        return "";
    }

    void print(std::FILE* out) const override {
        std::fprintf(out, "flags 0x%x, intervals:", config_.flags);
        for (unsigned i = 0; i < used_; i++)
            std::fprintf(out, " %u:[%llu, %llu]=%llu%s", i,
                         static_cast<unsigned long long>(intervals_[i].first),
                         static_cast<unsigned long long>(intervals_[i].end),
                         static_cast<unsigned long long>(intervals_[i].value),
                         loaded_ >> i & 1 ? "*" : "");
        std::fputc('\n', out);
        for (unsigned f = 0; f < plan_.size(); f++) {
            for (const planned& p : plan_[f])
                std::fprintf(out, "fiber %u: %s %u\n", f, names[static_cast<unsigned>(p.what)],
                             p.key);
            calls_.print(out, f);
        }
    }

private:
    void draw_intervals() {
        static constexpr std::uint64_t firsts[] = {100, 0, 101, 130, 5000, UINT64_MAX - 1};
        static constexpr std::uint64_t longer[] = {0, 1, 2, 20, 40, 5000, UINT64_MAX / 2};
        unsigned keys = 1 + random_.below(4), lengths = 1 + random_.below(7);
        used_ = 3 + random_.below(10);
        intervals_.clear();
        for (unsigned i = 0; i < used_; i++) {
            std::uint64_t first = firsts[random_.below(keys) + random_.below(3)];
            std::uint64_t more = longer[random_.below(lengths)];
            intervals_.push_back({first, first + std::min(more, UINT64_MAX - first), i + 1});
        }
    }

    // Returns the number of an interval in the set.
    unsigned number_of(const lath_interval& found) const {
        const std::uint64_t i = found.value - 1;
        if (i >= used_ || intervals_[i].first != found.first || intervals_[i].end != found.end)
            sched_fail("an interval that nobody has inserted", nullptr, nullptr);
        return static_cast<unsigned>(found.value);
    }

    void insert(unsigned key, unsigned fiber) {
        std::uint64_t called = sched_now();
        int ret = lath_intervals_insert(set_, &intervals_[key]);
        if (ret && ret != -ENOMEM)
            sched_fail("an insert failed", nullptr, nullptr);
        calls_.note(fiber, op::insert, key, key + 1, called, ret, 0);
    }

    void make(const planned& p, unsigned fiber) {
        if (p.what == act::insert)
            return insert(p.key, fiber);
        if (p.what >= act::stab)
            return search(p, fiber);
        std::uint64_t called = sched_now();
        int ret = lath_intervals_erase(set_, &intervals_[p.key]);
        calls_.note(fiber, op::erase, p.key, 0, called, ret, ret ? 0 : p.key + 1);
        if (p.what == act::again && !ret)
            insert(p.key, fiber);
    }

    void search(const planned& p, unsigned fiber) {
        const lath_interval& at = intervals_[p.key];
        std::array<lath_interval, points> found{};
        std::array<unsigned, points> seen{};
        std::uint64_t called = sched_now();
        std::size_t n = 0;
        if (p.what == act::stab) {
            n = lath_intervals_stab(set_, at.first, found.data(), points);
        } else if (p.what == act::overlap) {
            n = lath_intervals_overlap(set_, at.first, at.end, found.data(), points);
        } else if (p.what == act::within) {
            n = lath_intervals_within(set_, at.first, at.end, found.data(), points);
        } else {
            lath_interval_iter iter;
            lath_interval_iter_all(&iter, set_);
            while (n < points && lath_interval_next(&iter, &found[n]))
                n++;
        }
        std::uint64_t returned = sched_now();
        for (std::size_t i = 0; i < n; i++) {
            const unsigned number = number_of(found[i]);
            if (seen[number - 1]++ && !twice(number - 1))
                sched_fail("a search shows an interval twice", nullptr, nullptr);
        }
        for (unsigned i = 0; i < used_; i++) {
            const lath_interval& other = intervals_[i];
            const bool matches =
                p.what == act::walk     ? true
                : p.what == act::stab   ? other.first <= at.first && at.first <= other.end
                : p.what == act::within ? at.first <= other.first && other.end <= at.end
                                        : other.first <= at.end && at.first <= other.end;
            if (!matches && seen[i])
                sched_fail("a search shows an interval that does not match", nullptr, nullptr);
            if (!matches)
                continue;
            calls_.note(fiber, op::value, i, 0, called, 0, seen[i] ? i + 1 : 0);
            calls_.returned(fiber, returned);
        }
    }

    // Returns whether an interval may be shown twice: a call erases and inserts it, and the search
    // may find it in both places.
    bool twice(unsigned key) const {
        for (const auto& plan : plan_)
            for (const planned& p : plan)
                if (p.key == key && p.what == act::again)
                    return true;
        return false;
    }

    random_source random_{};
    lath_config config_ = LATH_CONFIG_INIT;
    unsigned used_ = 0, loaded_ = 0;
    std::vector<lath_interval> intervals_;
    std::array<std::vector<planned>, 3> plan_;
    recorder calls_;
    lath_intervals* set_ = nullptr;
};

} // namespace

std::unique_ptr<program> interval_program() { return std::make_unique<interval_scenarios>(); }

} // namespace schedtest
