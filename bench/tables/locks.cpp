// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `locks`: locks on ranges of keys (lathwork/range_lock.h), by T threads; ns of wall time for
// a lock and an unlock.
//
//   apart/T   each thread locks ranges of 16 pages among its pages
//   read/T    all share single pages anywhere
//   mixed/T   ranges of 1 to 64 pages anywhere, one in four exclusive
//   held/T    as apart, while 1,000 other ranges of one page are held
//
// Each holder of an exclusive range adds one to a counter of each of its pages; at the end their
// sum must be what was added.
#include "harness/random.hpp"
#include "harness/table.hpp"
#include "harness/timing.hpp"

#include "subjects/locks/locks_subject.hpp"

#include <algorithm>
#include <string>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr u64 pages = 1 << 16, held = 1000;

struct lock_case {
    std::string name, work;
    int threads;
};

std::vector<lock_case> all_cases(const options& opt) {
    std::vector<lock_case> cases;
    for (const char* work : {"apart", "read", "mixed", "held"})
        for (int t : threads_of(opt, {1, 2, 4}))
            cases.push_back({std::string(work) + "/" + std::to_string(t), work, t});
    return cases;
}

struct range {
    u64 first, last;
    bool exclusive;
};

range draw(const std::string& work, u64 random, u64 part, u64 parts) {
    if (work == "read") {
        u64 page = random % pages;
        return {page, page, false};
    }
    if (work == "mixed") {
        u64 size = 1 + (random >> 32) % 64, first = random % (pages - size);
        return {first, first + size - 1, (random >> 40) % 4 == 0};
    }
    u64 least = part * (pages / parts), first = least + random % (pages / parts - 16);
    return {first, first + 15, true};
}

class runner {
public:
    explicit runner(session& s) : session_(s), counters_(pages) {}

    void run() {
        each_wanted(session_, all_cases(session_.opt()), [&](const lock_case& c) { measure(c); });
    }

private:
    void measure(const lock_case& c) {
        std::vector<std::string> names;
        for (const auto& s : session_.subjects()) {
            if (c.work == "held" && find_subject(locks_subjects(), s).whole)
                session_.not_available(c.name, s, "one thread cannot hold several ranges");
            else
                names.push_back(s);
        }
        session_.repeat(c.name, locks_subjects(), names,
                        [&](const locks_subject& s, int) { repetition(s, c); });
    }

    void repetition(const locks_subject& s, const lock_case& c) {
        const auto& [name, work, threads] = c;
        struct alignas(64) line {
            u64 added = 0;
        };
        u64 calls = session_.opt().quick() ? 200000 : 2000000;
        std::vector<line> added(static_cast<std::size_t>(threads));
        std::vector<range_hold> others(work == "held" ? held : 0);
        auto locks = s.make();
        for (u64 i = 0; i < others.size(); i++) // beyond the pages of the threads
            locks->lock(others[i], pages + 2 * i, pages + 2 * i, true);
        std::fill(counters_.begin(), counters_.end(), 0);
        auto times = run_threads(threads, [&](int t) {
            u64 state = session_.seed(static_cast<u64>(t)), parts = static_cast<u64>(threads);
            range_hold hold;
            for (u64 i = 0; i < calls / parts; i++) {
                range r = draw(work, mix_bits(state += golden_ratio), static_cast<u64>(t), parts);
                locks->lock(hold, r.first, r.last, r.exclusive);
                if (r.exclusive) {
                    for (u64 p = r.first; p <= r.last; p += 8)
                        counters_[p]++;
                    added[static_cast<std::size_t>(t)].added += (r.last - r.first) / 8 + 1;
                }
                locks->unlock(hold);
            }
        });
        for (range_hold& other : others)
            locks->unlock(other);
        u64 sum = 0, expected = 0;
        for (u64 counter : counters_)
            sum += counter;
        for (const line& l : added)
            expected += l.added;
        session_.sample({name, pages, threads}, s.name,
                        static_cast<double>(times.span) / static_cast<double>(calls),
                        sum == expected);
    }

    session& session_;
    std::vector<u64> counters_;
};

} // namespace

table locks_table() {
    return table_of<runner>("locks", "locks on ranges of keys: a lock and an unlock",
                            "interval-tree", locks_subjects(), names_of<all_cases>);
}

} // namespace lathbench
