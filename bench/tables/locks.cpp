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
const char* const works[] = {"apart", "read", "mixed", "held"};

std::string case_name(const std::string& work, int threads) {
    return work + "/" + std::to_string(threads);
}

std::vector<std::string> lock_cases(const options& opt) {
    std::vector<std::string> names;
    for (const char* work : works)
        for (int t : threads_of(opt, {1, 2, 4}))
            names.push_back(case_name(work, t));
    return names;
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
        for (const char* work : works)
            for (int threads : threads_of(session_.opt(), {1, 2, 4}))
                if (!session_.stopped() && session_.wants_case(case_name(work, threads)))
                    measure(work, threads);
    }

private:
    void measure(const std::string& work, int threads) {
        std::string name = case_name(work, threads);
        std::vector<std::string> names;
        for (const auto& s : session_.subjects()) {
            if (work == "held" && find_subject(locks_subjects(), s).whole)
                session_.not_available(name, s, "one thread cannot hold several ranges");
            else
                names.push_back(s);
        }
        session_.each_interleaved(session_.reps(), names, [&](const std::string& s, int rep) {
            session_.progress("locks: " + name + ", repetition " + std::to_string(rep + 1) + ", " +
                              s);
            repetition(find_subject(locks_subjects(), s), work, threads);
        });
    }

    void repetition(const locks_subject& s, const std::string& work, int threads) {
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
        for (u64 c : counters_)
            sum += c;
        for (const line& l : added)
            expected += l.added;
        session_.sample({case_name(work, threads), pages, threads, "time", "ns"}, s.name,
                        static_cast<double>(times.span) / static_cast<double>(calls),
                        sum == expected);
    }

    session& session_;
    std::vector<u64> counters_;
};

} // namespace

table locks_table() {
    table t;
    t.name = "locks";
    t.summary = "locks on ranges of keys: a lock and an unlock";
    t.named_peer = "interval-tree";
    for (const auto& s : locks_subjects())
        t.subjects.push_back({s.name, s.note, s.missing});
    t.cases = lock_cases;
    t.run = [](session& s) { runner(s).run(); };
    return t;
}

} // namespace lathbench
