// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `index` without --keys: random keys, or those of --input.
#include "block.hpp"

#include <algorithm>
#include <optional>

namespace lathbench {

namespace {

class uniform_block : public map_block {
public:
    uniform_block(session& s, const key_source& source, std::uint64_t n, int threads,
                  std::vector<std::string> names)
        : map_block(s, "", n, threads, std::move(names)), source_(source) {}

    void run() {
        if (!wants_one_of(uniform_cases())) // without them, filling the maps is of no use
            return;
        auto key = [&](std::uint64_t i) { return source_.key(i); };
        fill({insert_phase("insert", &map_bench::insert, key)}, names_, true);
        for (int rep = 0; rep < session_.reps() && !session_.stopped(); rep++)
            repetition(rep);
        audit_all();
        maps_.clear();
        // each thread appends to its own region, as to a file
        auto sequential = [&](std::uint64_t i) {
            auto part = part_of(i, n_);
            return (part << 56) + (i - n_ * part / static_cast<std::uint64_t>(threads_)) * 8;
        };
        if (wants("insert-seq"))
            fill({insert_phase("insert-seq", &map_bench::insert, sequential)}, names_, false);
        maps_.clear();
        if (wants("insert-batch"))
            fill({insert_phase("insert-batch", &map_bench::insert_batch, key)},
                 with_ability("insert-batch", &map_abilities::insert_batch, "no batch of inserts"),
                 false);
    }

private:
    void warm_up(filled_map& c, int rep) override {
        workload load(source_, session_.seed(90000 + static_cast<std::uint64_t>(rep)));
        key_stream s = load.uniform(c.live, std::min<std::size_t>(n_, 5 * operations_));
        std::vector<tally> got;
        look_up(c, s, &map_bench::lookup, got);
    }

    void cases(int rep) override {
        using m = map_bench;
        auto seed = [&](std::uint64_t purpose) {
            return session_.seed(purpose * 1000 + static_cast<std::uint64_t>(rep) + 100);
        };
        hits("lookup", rep, seed(1), &m::lookup, &workload::uniform);
        hits("lookup-dep", rep, seed(2), &m::lookup_dependent, &workload::uniform);
        hits("lookup-zipf", rep, seed(3), &m::lookup, &workload::zipf);
        each("miss", rep, [&](filled_map& c) { miss(c, seed(4)); });
        if (able("lookup-batch", &map_abilities::lookup_batch, "no batch of lookups"))
            hits("lookup-batch", rep, seed(5), &m::lookup_batch, &workload::uniform,
                 &map_abilities::lookup_batch);
        if (able("floor", &map_abilities::floor, "no search for a predecessor"))
            hits("floor", rep, seed(6), &m::floor, &workload::between, &map_abilities::floor);
        if (able("scan100", &map_abilities::scan, "no scan from a key"))
            each("scan100", rep, [&](filled_map& c) { scan(c, seed(7)); }, &map_abilities::scan);
        each("ycsb-a", rep, [&](filled_map& c) { update(c, "ycsb-a", seed(8), 50); });
        each("ycsb-b", rep, [&](filled_map& c) { update(c, "ycsb-b", seed(9), 5); });
        if (able("ycsb-e", &map_abilities::scan, "no scan from a key"))
            each(
                "ycsb-e", rep, [&](filled_map& c) { scan_and_insert(c, seed(10)); },
                &map_abilities::scan);
        if (able("mixed", &map_abilities::erase, "no safe erase"))
            each("mixed", rep, [&](filled_map& c) { churn(c, seed(11)); }, &map_abilities::erase);
        if (able("erase", &map_abilities::erase, "no safe erase"))
            each("erase", rep, [&](filled_map& c) { erase(c); }, &map_abilities::erase);
    }

    // Cases whose calls return the entries that they are asked for, all of which are in the map.
    void hits(const std::string& name, int rep, std::uint64_t seed, lookup_call call,
              key_stream (workload::*generate)(const window&, std::size_t),
              bool map_abilities::* ability = nullptr) {
        bool after = generate == &workload::between;
        each(
            name, rep,
            [&](filled_map& c) {
                workload load(source_, seed);
                key_stream s = (load.*generate)(c.live, operations_);
                std::vector<tally> got;
                double ns = look_up(c, s, call, got);
                record(name, c.name, ns, all_found(s, got, after));
            },
            ability);
    }

    void miss(filled_map& c, std::uint64_t seed) {
        workload load(source_, seed);
        std::vector<tally> got;
        double ns = look_up(c, load.absent(operations_), &map_bench::lookup, got);
        record("miss", c.name, ns, none_found(got));
    }

    void scan(filled_map& c, std::uint64_t seed) {
        workload load(source_, seed);
        scan_hundred(
            c, load.uniform(c.live, std::max<std::size_t>(operations_ / operations_per_scan, 1)),
            oracle(c.live));
    }

    static std::uint64_t count(const std::vector<step>& steps, op what) {
        return static_cast<std::uint64_t>(std::count_if(
            steps.begin(), steps.end(), [&](const step& s) { return s.what == what; }));
    }

    // Lookups and changes, all of which succeed.
    void mix(filled_map& c, const char* name, const std::vector<step>& steps) {
        tally read;
        std::uint64_t done = 0, lookups = count(steps, op::lookup);
        double ns = run_steps(c, steps, read, done);
        record(name, c.name, ns,
               read.entries == lookups && read.pairs_fit() && done == steps.size() - lookups);
    }

    void update(filled_map& c, const char* name, std::uint64_t seed, int percent) {
        mix(c, name, workload(source_, seed).updates(c.live, operations_, percent));
    }

    void scan_and_insert(filled_map& c, std::uint64_t seed) {
        workload load(source_, seed);
        window before = c.live;
        auto steps =
            load.scans(c.live, std::max<std::size_t>(operations_ / operations_per_scan, 1));
        // inserts only add: at least what was there, at most the length of the scan
        std::uint64_t least = 0, most = 0;
        for (const step& s : steps) {
            if (s.what != op::scan)
                continue;
            least += oracle(before).scan(s.key, s.length).entries;
            most += s.length;
        }
        tally read;
        std::uint64_t done = 0;
        double ns = run_steps(c, steps, read, done);
        record("ycsb-e", c.name, ns,
               read.entries >= least && read.entries <= most && read.pairs_fit() &&
                   done == count(steps, op::insert));
    }

    void churn(filled_map& c, std::uint64_t seed) {
        mix(c, "mixed",
            workload(source_, seed)
                .churn(c.live, std::min<std::size_t>(operations_, c.live.size() / 2)));
    }

    void erase(filled_map& c) {
        workload load(source_, 0);
        key_stream old = load.ordinals(c.live.low, operations_),
                   fresh = load.ordinals(c.live.high, operations_);
        std::uint64_t erased = 0, inserted = 0;
        double ns = change_keys(c, &map_bench::erase, old.keys, erased);
        change_keys(c, &map_bench::insert, fresh.keys, inserted); // the size stays
        c.live.low += operations_;
        c.live.high += operations_;
        record("erase", c.name, ns, erased == operations_ && inserted == operations_);
    }

    // Checks after all cases that a sample of the live keys is there and the erased keys are not.
    void audit_all() {
        for (auto& c : maps_) {
            if (session_.stopped())
                return;
            workload load(source_, session_.seed(99));
            if (session_.opt().input.empty() || c.live.low == 0)
                audit(c, load.ordinals(0, std::min(c.live.low, operations_)), false);
            audit(c, load.uniform(c.live, operations_), true);
        }
    }

    // Two oracles are kept, because subjects that cannot erase have another set of live keys.
    const ordered_oracle& oracle(const window& live) {
        for (auto& o : oracles_)
            if (o && o->first == live)
                return o->second;
        std::swap(oracles_[0], oracles_[1]);
        std::vector<std::uint64_t> keys;
        keys.reserve(live.size());
        for (auto i = live.low; i < live.high; i++)
            keys.push_back(source_.key(i));
        oracles_[0].emplace(live, ordered_oracle(std::move(keys)));
        return oracles_[0]->second;
    }

    const key_source& source_;
    std::optional<std::pair<window, ordered_oracle>> oracles_[2];
};

} // namespace

void run_uniform(session& s, const key_source& source, std::uint64_t n, int threads,
                 const std::vector<std::string>& names) {
    uniform_block(s, source, n, threads, names).run();
}

const std::vector<std::string>& uniform_cases() {
    static const std::vector<std::string> names = {
        "insert", "insert-seq",   "insert-batch", "lookup",  "lookup-dep", "lookup-zipf",
        "miss",   "lookup-batch", "floor",        "scan100", "erase",      "mixed",
        "ycsb-a", "ycsb-b",       "ycsb-e",       "bytes"};
    return names;
}

} // namespace lathbench
