// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `store`: 64-bit keys to decimal strings, as the benchmark of llds has them.
//
//   set/N/T, get/N/T    into and from a store of N items: new keys and old ones, in random key
//                       order, one call per item; each of T threads has a part of the items.
//                       set+get is the sum of both, which the program of llds measures
//   mset, mget, mset+mget   the same in groups of 64 items
//   path-...            with what the program of llds does for each item: it formats and hashes the
//                       key, and formats the value
//   scan/N/1            all items in key order
//   bytes/N             resident memory of the filled store, per item
//
// Metrics: cpu and wall, ns per operation (wall: of all threads together). Peers have one
// reader-writer lock, as in llds. Each subject runs in a process of its own (store/worker.hpp).
// Gets add up the first characters of the values, and the sum is checked each time; after each set,
// 200 values are compared as a whole.
#include "harness/memory.hpp"
#include "harness/parameters.hpp"
#include "harness/table.hpp"
#include "tables/store/worker.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lathbench {

namespace {

std::vector<std::uint64_t> item_counts(const options& opt) {
    if (!opt.n.empty())
        return opt.n;
    if (opt.quick())
        return {2000000};
    return opt.full() ? std::vector<std::uint64_t>{20000000, 50000000}
                      : std::vector<std::uint64_t>{20000000};
}

std::vector<int> thread_counts(const options& opt) {
    return opt.threads.empty() ? std::vector<int>{1, 2} : opt.threads;
}

// Cases path-... have at most so many items, because formatting costs the same at any size.
constexpr std::uint64_t path_most = 5000000;

const char* const phases[] = {"set", "get", "set+get", "mset", "mget", "mset+mget"};

std::string case_of(const std::string& phase, item_keys keys, std::uint64_t n, int threads) {
    return (keys == item_keys::path ? "path-" : "") + phase + "/" + std::to_string(n) + "/" +
           std::to_string(threads);
}

std::vector<std::string> cases_of(const options& opt, std::uint64_t n, item_keys keys) {
    std::vector<std::string> names;
    for (int t : thread_counts(opt))
        if (keys == item_keys::mixed || t == 1)
            for (const char* p : phases)
                names.push_back(case_of(p, keys, n, t));
    if (keys == item_keys::mixed) {
        names.push_back(case_of("scan", keys, n, 1));
        names.push_back("bytes/" + std::to_string(n));
    }
    return names;
}

// Sizes with the keys they are measured with.
std::vector<std::pair<std::uint64_t, item_keys>> plan(const options& opt) {
    auto counts = item_counts(opt);
    std::vector<std::pair<std::uint64_t, item_keys>> all;
    for (std::uint64_t n : counts)
        all.emplace_back(n, item_keys::mixed);
    std::uint64_t least = *std::min_element(counts.begin(), counts.end());
    all.emplace_back(std::min(least, path_most), item_keys::path);
    return all;
}

class runner {
public:
    explicit runner(session& s) : session_(s) {}

    void run() {
        serve_if_worker(store_subjects());
        session_.remark("each subject in a process of its own; operations on items in random key "
                        "order; gets in the order of the sets, as in llds");
        for (const auto& [n, keys] : plan(session_.opt()))
            size(n, keys);
    }

private:
    void size(std::uint64_t n, item_keys keys) {
        cases_ = cases_of(session_.opt(), n, keys);
        std::erase_if(cases_, [&](const std::string& c) { return !session_.wants_case(c); });
        if (cases_.empty() || session_.stopped())
            return;
        n_ = n;
        keys_ = keys;
        auto names = session_.subjects();
        // one after another when they do not fit into memory together
        if (static_cast<double>(n) * 110 * static_cast<double>(names.size()) <
            0.6 * static_cast<double>(available_bytes())) {
            together(names);
            return;
        }
        session_.remark(std::to_string(n) + " items: the subjects were measured one after another");
        for (const auto& name : names)
            together({name});
    }

    void together(const std::vector<std::string>& names) {
        std::map<std::string, std::unique_ptr<worker>> workers;
        std::vector<std::string> able;
        for (const auto& name : names) {
            if (session_.stopped())
                return;
            session_.progress("store: " + std::to_string(n_) + " items into " + name);
            const store_subject& s = find(name);
            std::uint64_t timed =
                std::clamp<std::uint64_t>(n_ / 8, 1, session_.opt().quick() ? 100000 : 400000);
            auto w =
                std::make_unique<worker>(s, store_job{name, n_, timed, session_.seed(n_), keys_});
            if (auto why = w->ready()) {
                for (const auto& c : cases_)
                    session_.not_available(c, name, *why);
                continue;
            }
            session_.remark(
                name + ": " + std::to_string(static_cast<int>(w->huge_share() * 100 + 0.5)) +
                " % of the process on huge pages with " + std::to_string(n_) + " items");
            std::string bytes = "bytes/" + std::to_string(n_);
            if (wants(bytes))
                session_.sample({bytes, n_, 1, "bytes", "B"}, name, w->bytes_per_item(), true);
            able.push_back(name);
            workers.emplace(name, std::move(w));
        }
        for (int threads : thread_counts(session_.opt())) {
            if (keys_ == item_keys::path && threads > 1)
                continue;
            session_.each_interleaved(session_.reps(), able, [&](const std::string& name, int rep) {
                session_.progress("store: " + std::to_string(n_) + " items, " +
                                  std::to_string(threads) + " threads, repetition " +
                                  std::to_string(rep + 1) + ", " + name);
                repetition(*workers.at(name), name, threads);
            });
        }
    }

    bool wants(const std::string& c) const {
        return std::find(cases_.begin(), cases_.end(), c) != cases_.end();
    }

    static const store_subject& find(const std::string& name) {
        return find_subject(store_subjects(), name);
    }

    void record(const std::string& phase, const std::string& name, int threads, double cpu,
                double wall, bool right) {
        std::string c = case_of(phase, keys_, n_, threads);
        if (!wants(c))
            return;
        session_.sample({c, n_, threads, "cpu", "ns"}, name, cpu, right);
        session_.sample({c, n_, threads, "wall", "ns"}, name, wall, right);
    }

    void repetition(worker& w, const std::string& name, int threads) {
        if (threads > 1 && !find(name).many_threads) {
            for (const char* p : phases)
                session_.not_available(case_of(p, keys_, n_, threads), name, "one writer only");
            return;
        }
        bool scan =
            threads == 1 && keys_ == item_keys::mixed && wants(case_of("scan", keys_, n_, 1));
        auto figures = w.run(threads, scan);
        if (figures.empty() && !session_.stopped())
            session_.wrong(name, w.why());
        std::map<std::string, phase_figure> by_phase;
        for (const auto& f : figures) {
            record(f.phase, name, threads, f.cpu, f.wall, f.right);
            by_phase[f.phase] = f;
        }
        for (const char* prefix : {"", "m"}) {
            std::string set = std::string(prefix) + "set", get = std::string(prefix) + "get";
            if (by_phase.count(set) && by_phase.count(get))
                record(set + "+" + get, name, threads, by_phase[set].cpu + by_phase[get].cpu,
                       by_phase[set].wall + by_phase[get].wall,
                       by_phase[set].right && by_phase[get].right);
            else
                for (const auto& phase : {set, get, set + "+" + get})
                    session_.not_available(case_of(phase, keys_, n_, threads), name,
                                           "no batched calls");
        }
        if (scan && !by_phase.count("scan"))
            session_.not_available(case_of("scan", keys_, n_, 1), name, "has no order");
    }

    session& session_;
    std::vector<std::string> cases_;
    std::uint64_t n_ = 0;
    item_keys keys_ = item_keys::mixed;
};

std::vector<std::string> store_cases(const options& opt) {
    std::vector<std::string> names;
    for (const auto& [n, keys] : plan(opt)) {
        auto more = cases_of(opt, n, keys);
        names.insert(names.end(), more.begin(), more.end());
    }
    return names;
}

} // namespace

table store_table() {
    table t;
    t.name = "store";
    t.summary = "key-value stores: the benchmark of llds, one call per item and batched";
    t.named_peer = "rbtree-malloc-4k";
    t.subjects.assign(store_subjects().begin(), store_subjects().end());
    t.more = {"lathwork-4k",       "lathwork-records", "lathwork-shm",
              "rbtree-malloc-thp", "rbtree-mimalloc",  "rbtree-jemalloc",
              "absl-btree-4k",     "judy-4k",          "lmdb",
              "flat-hash"};
    t.cases = store_cases;
    t.compare_with = {{"mset", "set"},           {"mget", "get"},
                      {"mset+mget", "set+get"},  {"path-mset", "path-set"},
                      {"path-mget", "path-get"}, {"path-mset+mget", "path-set+get"}};
    t.run = [](session& s) { runner(s).run(); };
    return t;
}

} // namespace lathbench
