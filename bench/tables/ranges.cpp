// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `ranges`: skiplist_test of 2013 (the table that LWN printed), phase by phase.
//
// In one run, one thread fills the structure with n extents in ascending order, each an object of
// one array. (Objects from malloc lie in another order in every run, and to look at them took
// several times as long as to find them.) T threads do their rounds
// (subjects/ranges/range_bench.hpp); one thread looks up every extent and deletes all of them,
// alternately from both ends. thread/T is the average time of a thread, scaled to 100,000 rounds.
// fill is taken from all runs, check and delete from those with the fewest threads. Every structure
// without its own locks is behind the same spinlock.
#include "harness/extents_input.hpp"
#include "harness/table.hpp"
#include "harness/timing.hpp"

#include "subjects/ranges/range_subject.hpp"

#include <algorithm>

namespace lathbench {

namespace {

constexpr std::uint64_t nominal_rounds = 100000;
constexpr std::uint64_t nominal_items = 100000;

std::unique_ptr<range_bench> make(const std::string& name) {
    return find_subject(range_subjects(), name).ranges();
}

extent_set made_up(std::size_t items) {
    extent_set set;
    set.items = items;
    for (std::size_t i = 0; i < items; i++) {
        set.keys.push_back(i * 4096);
        set.sizes.push_back(4096);
    }
    add_keys_beyond(set);
    return set;
}

// The rounds of one thread. With --full all of them; otherwise fewer for more threads, so that the
// work of all threads stays about the same, and fewer for sets that are smaller than the
// original's.
std::uint64_t rounds_for(const options& opt, std::uint64_t items, int threads) {
    if (opt.full())
        return nominal_rounds;
    std::uint64_t rounds = opt.quick() ? nominal_rounds / 5 : nominal_rounds;
    rounds = rounds * std::min(items, nominal_items) / nominal_items /
             static_cast<std::uint64_t>(threads);
    return std::max<std::uint64_t>(rounds, 10);
}

struct run_times {
    double fill_ms = 0, check_ms = 0, delete_ms = 0, thread_s = 0;
    bool right = true;
};

class runner {
public:
    explicit runner(session& s) : session_(s) {}

    void run() {
        const options& opt = session_.opt();
        if (!opt.input.empty()) {
            run_set(read_extents(opt.input));
            return;
        }
        for (std::uint64_t n : sizes_of(opt, {nominal_items}, {nominal_items}, {nominal_items}))
            run_set(made_up(n));
    }

private:
    void run_set(const extent_set& set) {
        auto thread_counts = threads_of(session_.opt(), {1, 2, 4, 8});
        auto names = session_.subjects();
        for (const auto& name : names)
            if (!make(name)->can_erase())
                name_missing(name, thread_counts);
        smallest_ = *std::min_element(thread_counts.begin(), thread_counts.end());
        for (int threads : thread_counts) {
            std::uint64_t rounds = rounds_for(session_.opt(), set.items, threads);
            if (rounds != nominal_rounds)
                session_.remark("thread/" + std::to_string(threads) + ": " +
                                std::to_string(rounds) + " rounds per thread, time scaled to " +
                                std::to_string(nominal_rounds));
            // warms up code and allocator; not recorded
            session_.each_interleaved(
                1, names, [&](const std::string& name, int) { run_once(name, set, threads, 10); });
            session_.repeat(std::to_string(threads) + " threads", range_subjects(), names,
                            [&](const range_subject& s, int) {
                                record(s.name, set, threads, rounds,
                                       run_once(s.name, set, threads, rounds));
                            });
        }
    }

    void name_missing(const std::string& name, const std::vector<int>& thread_counts) {
        session_.not_available("delete", name, "no safe erase");
        for (int t : thread_counts)
            session_.not_available("thread/" + std::to_string(t), name, "no safe erase");
    }

    run_times run_once(const std::string& name, const extent_set& set, int threads,
                       std::uint64_t rounds) {
        auto bench = make(name);
        std::uint64_t filled = 0, checked = 0, drained = 0;
        run_times t;
        bench->make_extents(set);
        t.fill_ms = phase(*bench, [&] { filled = bench->fill(set); });
        if (bench->can_erase())
            t.thread_s = thread_phase(*bench, set, threads, rounds, t.right);
        t.check_ms = phase(*bench, [&] { checked = bench->check(set); });
        if (bench->can_erase()) {
            t.delete_ms = phase(*bench, [&] { drained = bench->drain(set); });
            std::uint64_t left = 0;
            phase(*bench, [&] { left = bench->check(set); });
            t.right = t.right && drained == set.items && left == 0;
        }
        t.right = t.right && filled == set.items && checked == set.items;
        return t;
    }

    // Runs work in its own thread, as the original does; returns ms of wall time.
    template <class Work>
    static double phase(range_bench& bench, const Work& work) {
        auto times = run_threads(
            1, [&](int) { work(); }, [&](int) { bench.enter(); }, [&](int) { bench.leave(); });
        return times.mean_wall() / 1e6;
    }

    double thread_phase(range_bench& bench, const extent_set& set, int threads,
                        std::uint64_t rounds, bool& right) {
        std::vector<round_result> results(static_cast<std::size_t>(threads));
        auto times = run_threads(
            threads,
            [&](int i) {
                auto seed = session_.seed(static_cast<std::uint64_t>(i));
                results[static_cast<std::size_t>(i)] = bench.rounds(set, rounds, seed);
            },
            [&](int) { bench.enter(); }, [&](int) { bench.leave(); });
        for (const auto& r : results) {
            right = right && r.errors == 0;
            // a thread that is alone finds all it looks up
            right = right && (threads > 1 || r.hits == r.lookups);
        }
        return times.mean_wall() / 1e9;
    }

    void record(const std::string& name, const extent_set& set, int threads, std::uint64_t rounds,
                const run_times& t) {
        bool erases = make(name)->can_erase();
        auto put = [&](const std::string& case_name, int by, const char* unit, double value) {
            session_.sample({case_name, set.items, by, "time", unit}, name, value, t.right);
        };
        // fill does not depend on the number of threads: each run gives a sample
        put("fill", 1, "ms", t.fill_ms);
        if (threads == smallest_) {
            put("check", 1, "ms", t.check_ms);
            if (erases)
                put("delete", 1, "ms", t.delete_ms);
        }
        if (erases)
            put("thread/" + std::to_string(threads), threads, "s",
                t.thread_s * static_cast<double>(nominal_rounds) / static_cast<double>(rounds));
    }

    session& session_;
    int smallest_ = 1; // of the numbers of threads
};

std::vector<std::string> ranges_cases(const options& opt) {
    std::vector<std::string> names = {"fill", "check", "delete"};
    for (int t : threads_of(opt, {1, 2, 4, 8}))
        names.push_back("thread/" + std::to_string(t));
    return names;
}

} // namespace

table ranges_table() {
    table t;
    t.name = "ranges";
    t.summary = "skiplist_test of 2013: extents filled, popped and re-inserted by threads, "
                "checked, deleted";
    t.named_peer = "linux-rbtree";
    for (const auto& s : range_subjects())
        if (s.ranges || !s.missing.empty())
            t.subjects.push_back(
                {s.name, s.ranges_note.empty() ? s.note : s.ranges_note, s.missing});
    t.more = {"lathwork-huge", "lathwork-cxx", "boost-rbtree", "std-map",
              "tbb",           "libcds",       "maple-lock",   "maple-rcu"};
    t.cases = ranges_cases;
    t.run = [](session& s) { runner(s).run(); };
    return t;
}

} // namespace lathbench
