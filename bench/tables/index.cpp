// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `index`: maps u64 -> u64 at several sizes, with one thread and more.
//
// For each size and number of threads the maps of all subjects exist side by side. They are filled
// in turns, slice by slice of the keys, so that a slow minute of the machine affects all of them;
// sample r of an insert is the mean over every reps-th slice, from empty to full. (Small maps are
// filled anew for each sample, because a slice of them would mostly measure cold caches.) Then the
// cases run in interleaved repetitions on the filled maps. For every sample, what the calls
// returned is compared with the oracle.
//
// With one thread, the time is the CPU time of the thread; with several, wall time from the first
// start to the last end, divided by all operations.
#include "harness/extents_input.hpp"
#include "harness/memory.hpp"
#include "harness/table.hpp"
#include "harness/timing.hpp"
#include "tables/index/workload.hpp"

#include "subjects/ranges/range_subject.hpp"

#include <algorithm>
#include <functional>
#include <malloc.h>
#include <optional>

namespace lathbench {

namespace {

// Up to this size everything stays in the caches, and the fill is repeated as a whole.
constexpr std::uint64_t small_size = 200000;
constexpr std::size_t slices_per_sample = 4;
constexpr std::size_t operations_per_scan = 20; // a scan counts as so many operations

// A subject's map, and which keys are in it.
struct filled_map {
    std::string name;
    std::unique_ptr<map_bench> map;
    window live;
    map_abilities can;
};

class block {
public:
    block(session& s, const key_source& source, std::uint64_t n, int threads,
          std::vector<std::string> names)
        : session_(s), source_(source), n_(n), threads_(threads), names_(std::move(names)) {
        const options& opt = s.opt();
        std::uint64_t wanted = opt.quick() ? 20000 : 200000;
        operations_ = std::max<std::uint64_t>(std::min(wanted, n / 8), 1);
    }

    void run() {
        fill("insert", &map_bench::insert, [&](std::uint64_t i) { return source_.key(i); }, true);
        for (int rep = 0; rep < session_.reps() && !session_.stopped(); rep++)
            repetition(rep);
        audit();
        maps_.clear();
        // each thread appends to a region of its own, as to a file
        auto sequential = [&](std::uint64_t i) {
            auto part = part_of(i, n_);
            return (part << 56) + (i - n_ * part / static_cast<std::uint64_t>(threads_)) * 8;
        };
        if (wants("insert-seq"))
            fill("insert-seq", &map_bench::insert, sequential, false);
        maps_.clear();
        if (wants("insert-batch"))
            fill(
                "insert-batch", &map_bench::insert_batch,
                [&](std::uint64_t i) { return source_.key(i); }, false);
    }

private:
    using insert_call = std::uint64_t (map_bench::*)(const std::uint64_t*, std::size_t);

    std::string case_name(const std::string& name) const {
        std::string full = name + "/" + std::to_string(n_);
        return threads_ == 1 ? full : full + "/" + std::to_string(threads_);
    }

    bool wants(const std::string& name) const { return session_.wants_case(case_name(name)); }

    void record(const std::string& name, const std::string& subject, double value, bool right,
                const char* metric = "time", const char* unit = "ns") {
        if (wants(name))
            session_.sample({case_name(name), n_, threads_, metric, unit}, subject, value, right);
    }

    std::uint64_t part_of(std::uint64_t i, std::uint64_t total) const {
        auto t = static_cast<std::uint64_t>(threads_);
        std::uint64_t part = i * t / total;
        while (part + 1 < t && total * (part + 1) / t <= i)
            part++;
        return part;
    }

    // Runs work(first, last, thread) over [0, total), split among the threads; returns ns per
    // operation.
    double timed(filled_map& c, std::size_t total,
                 const std::function<void(std::size_t, std::size_t, int)>& work) {
        auto t = static_cast<std::size_t>(threads_);
        auto times = run_threads(
            threads_,
            [&](int i) {
                auto id = static_cast<std::size_t>(i);
                work(total * id / t, total * (id + 1) / t, i);
            },
            [&](int) { c.map->enter(); }, [&](int) { c.map->leave(); });
        auto ns = static_cast<double>(threads_ == 1 ? times.cpu[0] : times.span);
        return ns / static_cast<double>(total);
    }

    filled_map make(const std::string& name) {
        filled_map c;
        c.name = name;
        c.map = find_subject(range_subjects(), name).map(threads_ > 1);
        c.can = c.map->abilities();
        return c;
    }

    // ---- filling ----

    void fill(const std::string& name, insert_call insert,
              const std::function<std::uint64_t(std::uint64_t)>& key, bool measure_bytes) {
        auto names = names_;
        if (insert == &map_bench::insert_batch)
            names = with_ability(name, &map_abilities::insert_batch, "no batch of inserts");
        if (n_ <= small_size)
            fill_anew(name, names, insert, key, measure_bytes);
        else
            fill_in_lockstep(name, names, insert, key, measure_bytes);
    }

    std::vector<std::string> with_ability(const std::string& name, bool map_abilities::* ability,
                                          const char* why) {
        std::vector<std::string> able;
        for (const auto& subject : names_) {
            if (make(subject).can.*ability)
                able.push_back(subject);
            else
                session_.not_available(case_name(name), subject, why);
        }
        return able;
    }

    void fill_anew(const std::string& name, const std::vector<std::string>& names,
                   insert_call insert, const std::function<std::uint64_t(std::uint64_t)>& key,
                   bool measure_bytes) {
        maps_.clear();
        auto keys = slice_keys(key, 0, n_);
        session_.each_interleaved(session_.reps(), names, [&](const std::string& subject, int rep) {
            std::erase_if(maps_, [&](const filled_map& c) { return c.name == subject; });
            show(name, rep, subject);
            malloc_trim(0);
            filled_map c = make(subject);
            std::uint64_t before = c.map->memory();
            std::uint64_t inserted = 0;
            double ns = insert_slice(c, insert, keys, inserted);
            record(name, subject, ns, inserted == n_);
            if (measure_bytes && threads_ == 1 && rep == 0)
                record_bytes(subject, c.map->memory() - before);
            c.live = {0, n_};
            maps_.push_back(std::move(c));
        });
    }

    void fill_in_lockstep(const std::string& name, const std::vector<std::string>& names,
                          insert_call insert,
                          const std::function<std::uint64_t(std::uint64_t)>& key,
                          bool measure_bytes) {
        auto reps = static_cast<std::size_t>(session_.reps());
        std::size_t slices = reps * slices_per_sample;
        bool bytes = measure_bytes && threads_ == 1;
        maps_.clear();
        malloc_trim(0);
        for (const auto& subject : names)
            maps_.push_back(make(subject));
        struct progress_of {
            std::vector<double> ns;
            std::uint64_t inserted = 0, bytes = 0;
        };
        std::vector<progress_of> progress(maps_.size(), {std::vector<double>(reps), 0, 0});
        for (std::size_t s = 0; s < slices && !session_.stopped(); s++) {
            auto keys = slice_keys(key, n_ * s / slices, n_ * (s + 1) / slices);
            for (std::size_t i = 0; i < maps_.size(); i++) {
                std::size_t at = (i + s) % maps_.size();
                show(name, static_cast<int>(s % reps), maps_[at].name);
                std::uint64_t before = bytes ? maps_[at].map->memory() : 0;
                double ns = insert_slice(maps_[at], insert, keys, progress[at].inserted);
                progress[at].ns[s % reps] += ns * static_cast<double>(keys.size());
                progress[at].bytes += bytes ? maps_[at].map->memory() - before : 0;
            }
        }
        if (session_.stopped())
            return;
        for (std::size_t i = 0; i < maps_.size(); i++) {
            maps_[i].live = {0, n_};
            bool right = progress[i].inserted == n_;
            for (double ns : progress[i].ns)
                record(name, maps_[i].name,
                       ns * static_cast<double>(reps) / static_cast<double>(n_), right);
            if (bytes)
                record_bytes(maps_[i].name, progress[i].bytes);
        }
    }

    // The keys of a slice. Thread t inserts a part of them that is from part t of all keys.
    std::vector<std::uint64_t> slice_keys(const std::function<std::uint64_t(std::uint64_t)>& key,
                                          std::uint64_t from, std::uint64_t to) const {
        std::vector<std::uint64_t> keys;
        auto t = static_cast<std::uint64_t>(threads_);
        for (std::uint64_t part = 0; part < t; part++) {
            std::uint64_t base = n_ * part / t, size = n_ * (part + 1) / t - base;
            std::uint64_t first = base + size * from / n_, last = base + size * to / n_;
            for (std::uint64_t i = first; i < last; i++)
                keys.push_back(key(i));
        }
        return keys;
    }

    double insert_slice(filled_map& c, insert_call insert, const std::vector<std::uint64_t>& keys,
                        std::uint64_t& inserted) {
        std::vector<std::uint64_t> done(static_cast<std::size_t>(threads_));
        double ns = timed(c, keys.size(), [&](std::size_t from, std::size_t to, int i) {
            done[static_cast<std::size_t>(i)] = ((*c.map).*insert)(keys.data() + from, to - from);
        });
        for (auto d : done)
            inserted += d;
        return ns;
    }

    // If there are fewer bytes than the keys have, the map took memory that the process held
    // before, which no counter shows.
    void record_bytes(const std::string& subject, std::uint64_t bytes) {
        if (bytes < n_ * sizeof(std::uint64_t))
            session_.not_available(case_name("bytes"), subject,
                                   "its allocator kept memory from before");
        else
            record("bytes", subject, static_cast<double>(bytes) / static_cast<double>(n_), true,
                   "bytes", "B");
    }

    // ---- cases on the filled maps ----

    // The subjects take turns. Each does all cases in a row with its memory in the caches, like the
    // map of a program that uses no other.
    void repetition(int rep) {
        for (std::size_t i = 0; i < maps_.size() && !session_.stopped(); i++) {
            turn_ = &maps_[(i + static_cast<std::size_t>(rep)) % maps_.size()];
            warm_up(*turn_, rep);
            cases(rep);
        }
    }

    void warm_up(filled_map& c, int rep) {
        workload load(source_, session_.seed(90000 + static_cast<std::uint64_t>(rep)));
        key_stream s = load.uniform(c.live, std::min<std::size_t>(n_, 5 * operations_));
        timed(c, s.keys.size(), [&](std::size_t from, std::size_t to, int) {
            c.map->lookup(s.keys.data() + from, to - from);
        });
    }

    void cases(int rep) {
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

    bool able(const std::string& name, bool map_abilities::* ability, const char* why) {
        if (!wants(name))
            return false;
        for (const auto& c : maps_)
            if (!(c.can.*ability))
                session_.not_available(case_name(name), c.name, why);
        return true;
    }

    void each(const std::string& name, int rep, const std::function<void(filled_map&)>& body,
              bool map_abilities::* ability = nullptr) {
        if (!wants(name))
            return;
        if (session_.stopped() || (ability && !(turn_->can.*ability)))
            return;
        show(name, rep, turn_->name);
        body(*turn_);
    }

    void show(const std::string& name, int rep, const std::string& subject) {
        session_.progress("index: " + case_name(name) + ", sample " + std::to_string(rep + 1) +
                          ", " + subject);
    }

    // Cases whose calls return the entries that they are asked for, all of which are in the map.
    void hits(const std::string& name, int rep, std::uint64_t seed,
              tally (map_bench::*call)(const std::uint64_t*, std::size_t),
              key_stream (workload::*generate)(const window&, std::size_t),
              bool map_abilities::* ability = nullptr) {
        bool after = generate == &workload::between;
        each(
            name, rep,
            [&](filled_map& c) {
                workload load(source_, seed);
                key_stream s = (load.*generate)(c.live, operations_);
                std::vector<tally> got(static_cast<std::size_t>(threads_));
                double ns = timed(c, s.keys.size(), [&](std::size_t from, std::size_t to, int i) {
                    got[static_cast<std::size_t>(i)] =
                        ((*c.map).*call)(s.keys.data() + from, to - from);
                });
                bool right = true;
                for (std::size_t i = 0; i < got.size(); i++) {
                    std::size_t from = s.keys.size() * i / got.size(),
                                to = s.keys.size() * (i + 1) / got.size();
                    std::uint64_t keys = s.sum(from, to) - (after ? to - from : 0);
                    right = right && got[i].entries == to - from && got[i].keys == keys &&
                            got[i].pairs_fit();
                }
                record(name, c.name, ns, right);
            },
            ability);
    }

    void miss(filled_map& c, std::uint64_t seed) {
        workload load(source_, seed);
        key_stream s = load.absent(operations_);
        std::vector<tally> got(static_cast<std::size_t>(threads_));
        double ns = timed(c, s.keys.size(), [&](std::size_t from, std::size_t to, int i) {
            got[static_cast<std::size_t>(i)] = c.map->lookup(s.keys.data() + from, to - from);
        });
        record("miss", c.name, ns,
               std::all_of(got.begin(), got.end(), [](const tally& t) { return t == tally{}; }));
    }

    void scan(filled_map& c, std::uint64_t seed) {
        constexpr std::size_t length = 100;
        workload load(source_, seed);
        key_stream s =
            load.uniform(c.live, std::max<std::size_t>(operations_ / operations_per_scan, 1));
        tally expected;
        for (auto from : s.keys)
            add(expected, oracle(c.live).scan(from, length));
        std::vector<tally> got(static_cast<std::size_t>(threads_));
        double ns = timed(c, s.keys.size(), [&](std::size_t from, std::size_t to, int i) {
            got[static_cast<std::size_t>(i)] = c.map->scan(s.keys.data() + from, to - from, length);
        });
        record("scan100", c.name, ns, sum(got) == expected);
    }

    // Runs the steps; returns ns per operation. read: tally of what lookups and scans returned;
    // done: how many changes succeeded.
    double run_steps(filled_map& c, const std::vector<step>& steps, tally& read,
                     std::uint64_t& done) {
        std::vector<tally> got(static_cast<std::size_t>(threads_));
        std::vector<std::uint64_t> changed(got.size());
        double ns = timed(c, steps.size(), [&](std::size_t from, std::size_t to, int i) {
            auto id = static_cast<std::size_t>(i);
            got[id] = c.map->mix(steps.data() + from, to - from, changed[id]);
        });
        read = sum(got);
        done = 0;
        for (auto n : changed)
            done += n;
        return ns;
    }

    static std::uint64_t count(const std::vector<step>& steps, op what) {
        return static_cast<std::uint64_t>(std::count_if(
            steps.begin(), steps.end(), [&](const step& s) { return s.what == what; }));
    }

    void update(filled_map& c, const char* name, std::uint64_t seed, int percent) {
        workload load(source_, seed);
        auto steps = load.updates(c.live, operations_, percent);
        tally read;
        std::uint64_t done = 0;
        double ns = run_steps(c, steps, read, done);
        record(name, c.name, ns,
               read.entries == count(steps, op::lookup) && read.pairs_fit() &&
                   done == count(steps, op::update));
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
        workload load(source_, seed);
        auto steps = load.churn(c.live, std::min<std::size_t>(operations_, c.live.size() / 2));
        tally read;
        std::uint64_t done = 0;
        double ns = run_steps(c, steps, read, done);
        record("mixed", c.name, ns,
               read.entries == count(steps, op::lookup) && read.pairs_fit() &&
                   done == count(steps, op::insert) + count(steps, op::erase));
    }

    void erase(filled_map& c) {
        workload load(source_, 0);
        key_stream old = load.ordinals(c.live.low, operations_),
                   fresh = load.ordinals(c.live.high, operations_);
        std::vector<std::uint64_t> done(static_cast<std::size_t>(threads_));
        double ns = timed(c, old.keys.size(), [&](std::size_t from, std::size_t to, int i) {
            done[static_cast<std::size_t>(i)] = c.map->erase(old.keys.data() + from, to - from);
        });
        std::uint64_t erased = 0, inserted = 0;
        for (auto d : done)
            erased += d;
        insert_slice(c, &map_bench::insert, fresh.keys, inserted); // the size stays
        c.live.low += operations_;
        c.live.high += operations_;
        record("erase", c.name, ns, erased == operations_ && inserted == operations_);
    }

    // Checks after all cases that a sample of the live keys is there and the erased keys are not.
    void audit() {
        for (auto& c : maps_) {
            if (session_.stopped())
                return;
            workload load(source_, session_.seed(99));
            key_stream there = load.uniform(c.live, operations_);
            key_stream gone = load.ordinals(0, std::min(c.live.low, operations_));
            if (session_.opt().input.empty() || c.live.low == 0) {
                tally left;
                timed(c, 1, [&](std::size_t, std::size_t to, int) {
                    if (to)
                        left = c.map->lookup(gone.keys.data(), gone.keys.size());
                });
                if (left.entries)
                    session_.wrong(c.name, case_name("audit") + ": erased keys are still there");
            }
            tally found;
            timed(c, 1, [&](std::size_t, std::size_t to, int) {
                if (to)
                    found = c.map->lookup(there.keys.data(), there.keys.size());
            });
            if (found.entries != there.keys.size() || !found.pairs_fit())
                session_.wrong(c.name, case_name("audit") + ": live keys are missing");
        }
    }

    static void add(tally& to, const tally& more) {
        to.entries += more.entries;
        to.keys += more.keys;
        to.values += more.values;
    }

    static tally sum(const std::vector<tally>& parts) {
        tally total;
        for (const auto& p : parts)
            add(total, p);
        return total;
    }

    // Two oracles are kept, because subjects that cannot erase have another set of live keys.
    const ordered_oracle& oracle(const window& live) {
        for (auto& o : oracles_)
            if (o && o->of() == live)
                return *o;
        std::swap(oracles_[0], oracles_[1]);
        oracles_[0].emplace(source_, live);
        return *oracles_[0];
    }

    session& session_;
    const key_source& source_;
    std::uint64_t n_;
    int threads_;
    std::vector<std::string> names_;
    std::uint64_t operations_ = 0;
    filled_map* turn_ = nullptr;
    std::vector<filled_map> maps_;
    std::optional<ordered_oracle> oracles_[2];
};

// How many maps of n keys fit into 60 % of the free memory, at 100 bytes per key.
std::size_t maps_in_memory(std::uint64_t n) {
    return std::max<std::size_t>(
        static_cast<std::size_t>(available_bytes() * 6 / 10 / (n * 100 + 1)), 1);
}

void run_size(session& s, const key_source& source, std::uint64_t n) {
    auto names = s.subjects();
    std::size_t group = maps_in_memory(n);
    if (group < names.size())
        s.remark("n = " + std::to_string(n) + ": memory for " + std::to_string(group) +
                 " subjects at a time, not interleaved beyond");
    for (int threads : s.threads({1, 2}))
        for (std::size_t i = 0; i < names.size() && !s.stopped(); i += group)
            block(s, source, n, threads,
                  {names.begin() + static_cast<std::ptrdiff_t>(i),
                   names.begin() + static_cast<std::ptrdiff_t>(std::min(i + group, names.size()))})
                .run();
}

std::vector<std::uint64_t> map_sizes(const options& opt) {
    if (!opt.n.empty())
        return opt.n;
    std::vector<std::uint64_t> sizes = {100000, 1000000};
    if (!opt.quick())
        sizes.push_back(10000000);
    if (opt.full())
        sizes.push_back(100000000);
    return sizes;
}

void run_index(session& s) {
    s.remark("one thread: thread CPU time; several: wall time over all operations");
    if (!s.opt().input.empty()) {
        extent_set set = read_extents(s.opt().input);
        set.keys.resize(set.items);
        key_source source(set.keys, s.seed(0));
        // a quarter stays outside, to be inserted
        run_size(s, source, std::max<std::uint64_t>(set.items * 3 / 4, 1));
        return;
    }
    key_source source(s.seed(0));
    for (std::uint64_t n : map_sizes(s.opt()))
        if (!s.stopped())
            run_size(s, source, n);
}

std::vector<std::string> index_cases(const options& opt) {
    std::vector<std::string> names;
    for (auto n : map_sizes(opt))
        for (int t : opt.threads.empty() ? std::vector<int>{1, 2} : opt.threads)
            for (const char* name : {"insert", "insert-seq", "insert-batch", "lookup", "lookup-dep",
                                     "lookup-zipf", "miss", "lookup-batch", "floor", "scan100",
                                     "erase", "mixed", "ycsb-a", "ycsb-b", "ycsb-e", "bytes"})
                if (t == 1 || name != std::string("bytes"))
                    names.push_back(std::string(name) + "/" + std::to_string(n) +
                                    (t == 1 ? "" : "/" + std::to_string(t)));
    return names;
}

} // namespace

table index_table() {
    table t;
    t.name = "index";
    t.summary = "maps u64 -> u64: ns per operation, bytes per key";
    t.named_peer = "absl-btree";
    for (const auto& s : range_subjects())
        if (s.map || !s.missing.empty())
            t.subjects.push_back({s.name, s.map_note.empty() ? s.note : s.map_note, s.missing});
    t.more = {"lathwork-huge", "linux-rbtree", "boost-rbtree", "std-map",    "tbb",
              "libcds",        "maple-lock",   "maple-rcu",    "design-2013"};
    t.cases = index_cases;
    t.run = run_index;
    t.compare_with = {{"lookup-batch", "lookup"}, {"insert-batch", "insert"}};
    return t;
}

} // namespace lathbench
