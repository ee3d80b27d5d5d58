// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `interval`: N intervals that overlap (lathwork/interval.h).
//
//   insert/KIND/N[/T]   all of them, in random order, by T threads (ns per interval, wall time)
//   stab/KIND/N[/T]     the intervals that cover a random point: their number and the sum of their
//                       values (ns per stab)
//   overlap/KIND/N      the same for a range of about ten first keys
//   erase/KIND/N        all of them, in random order; each is looked up by its keys and value
//   bytes/KIND/N        memory per interval after the inserts of one thread
//
// KIND is the distribution of lengths. uniform: up to twenty times the mean distance of first keys,
// so that about ten cover a point. nested: a tree of intervals, eight in each, so that about log8 N
// cover a point. tail: few are very long (Pareto's distribution, exponent 1). Every answer is
// compared with sums over the sorted first and last keys. Structures without their own locks are
// behind one spinlock when there are several threads.
#include "harness/random.hpp"
#include "harness/sized.hpp"
#include "harness/timing.hpp"

#include "subjects/interval/interval_subject.hpp"

#include <algorithm>
#include <string>

#include <malloc.h>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr u64 gap = 10000; // mean distance of first keys

// Of a tree in which each interval has eight others in it: the one with number i, level by level.
bench_interval nested(u64 i, u64 n, u64 space) {
    u64 level_size = 1, begin = 0, level = 0;
    while (i >= begin + level_size && begin + level_size < n) {
        begin += level_size;
        level_size *= 8;
        level++;
    }
    u64 size = space / level_size, first = (i - begin) * size + level;
    return {first, first + std::max<u64>(size, 2 * level + 2) - 2 * level - 1, i};
}

std::vector<bench_interval> make_intervals(const std::string& kind, u64 n, u64 seed) {
    random_source random{seed};
    u64 space = n * gap;
    std::vector<bench_interval> all(n);
    for (u64 i = 0; i < n; i++) {
        if (kind == "nested") {
            all[i] = nested(i, n, space);
            continue;
        }
        u64 length = 1 + random(20 * gap), first = random(space);
        if (kind == "tail")
            length = std::min(gap / 5 * (u64{1} << 40) / (1 + random(u64{1} << 40)), space);
        all[i] = {first, first + length, i};
    }
    for (u64 i = n; i > 1; i--)
        std::swap(all[i - 1], all[random(i)]);
    return all;
}

// What begins at or before a key less what ends before another: exact, and by other means than any
// subject's.
class oracle {
public:
    explicit oracle(const std::vector<bench_interval>& all)
        : firsts_(sorted(all, &bench_interval::first)), lasts_(sorted(all, &bench_interval::last)) {
    }
    interval_sum overlap(u64 first, u64 last) const {
        interval_sum begun = up_to(firsts_, last),
                     ended = first ? up_to(lasts_, first - 1) : interval_sum{};
        return {begun.count - ended.count, begun.values - ended.values};
    }

private:
    struct mark {
        u64 key, values; // sum up to here
    };
    static std::vector<mark> sorted(const std::vector<bench_interval>& all,
                                    u64 bench_interval::* key) {
        std::vector<mark> marks;
        for (const auto& i : all)
            marks.push_back({i.*key, i.value});
        std::sort(marks.begin(), marks.end(),
                  [](const mark& a, const mark& b) { return a.key < b.key; });
        u64 sum = 0;
        for (auto& m : marks)
            m.values = sum += m.values;
        return marks;
    }
    static interval_sum up_to(const std::vector<mark>& marks, u64 key) {
        auto at = std::upper_bound(marks.begin(), marks.end(), key,
                                   [](u64 k, const mark& m) { return k < m.key; });
        if (at == marks.begin())
            return {};
        return {static_cast<u64>(at - marks.begin()), (at - 1)->values};
    }

    std::vector<mark> firsts_, lasts_;
};

const sized_plan plan = {{10000, 100000},
                         {10000, 1000000},
                         {10000, 100000, 1000000, 10000000},
                         {"uniform", "nested", "tail"},
                         {"insert", "stab"},
                         {"overlap", "erase", "bytes"}};

class runner : public sized_runner<interval_subject> {
public:
    explicit runner(session& s) : sized_runner(s, plan, interval_subjects()) {}

private:
    void prepare() override {
        all_ = make_intervals(kind_, n_, session_.seed(n_));
        oracle truth(all_);
        random_source random{session_.seed(n_ + 1)};
        points_.clear();
        stabs_ = ranges_ = {};
        for (u64 i = 0; i < searches_of(n_); i++) {
            u64 point = random(n_ * gap);
            points_.push_back(point);
            add(stabs_, truth.overlap(point, point));
            add(ranges_, truth.overlap(point, point + 10 * gap));
        }
    }

    static void add(interval_sum& to, const interval_sum& more) {
        to.count += more.count;
        to.values += more.values;
    }

    bool able(const interval_subject& s) override {
        bool few = n_ <= s.most;
        std::string why = few ? "it is made from all intervals at once" : "takes hours";
        for (const auto& name : plan.cases(session_.opt(), n_, kind_))
            if (!few || (s.fixed && (!name.rfind("insert/", 0) || !name.rfind("erase/", 0))))
                session_.not_available(name, s.name, why);
        return few;
    }

    // Searches once per point. *right: all answers together are these.
    template <class Search>
    double searched(int threads, const interval_sum& expected, const Search& search, bool& right) {
        struct alignas(64) line {
            interval_sum sum;
        };
        std::vector<line> sums(static_cast<std::size_t>(threads));
        double ns = timed(threads, points_.size(), [&](u64 i, int t) {
            add(sums[static_cast<std::size_t>(t)].sum, search(points_[i]));
        });
        interval_sum all;
        for (const auto& l : sums)
            add(all, l.sum);
        right = all == expected;
        return ns;
    }

    void repetition(const interval_subject& s, int threads) override {
        u64 n = all_.size();
        malloc_trim(0); // or malloc tidies up here what the subject before has freed
        auto set = s.make(threads > 1);
        double insert_ns = 0;
        if (s.fixed)
            set->fill(all_);
        else
            insert_ns = timed(threads, n, [&](u64 i, int) { set->insert(all_[i]); });
        u64 bytes = set->bytes();
        bool right = true, also_right = true;
        double stab_ns = searched(threads, stabs_, [&](u64 p) { return set->stab(p); }, right);
        put("stab", s, threads, stab_ns, right);
        if (!s.fixed)
            put("insert", s, threads, insert_ns, right);
        if (threads > 1)
            return;
        double overlap_ns =
            searched(1, ranges_, [&](u64 p) { return set->overlap(p, p + 10 * gap); }, also_right);
        put("overlap", s, 1, overlap_ns, also_right);
        put_bytes(s, bytes, n, right);
        if (s.fixed)
            return;
        u64 erased = 0;
        double erase_ns = timed(1, n, [&](u64 i, int) { erased += set->erase(all_[n - 1 - i]); });
        right = erased == n && set->overlap(0, ~u64{0}).count == 0;
        put("erase", s, 1, erase_ns, right);
    }

    std::vector<bench_interval> all_;
    std::vector<u64> points_;
    interval_sum stabs_, ranges_;
};

} // namespace

table interval_table() {
    return table_of<runner>("interval", "intervals that overlap: insert, stab, overlap, erase",
                            "linux-interval-tree", interval_subjects(), plan, {"icl"});
}

} // namespace lathbench
