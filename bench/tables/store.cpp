// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `store`: 64-bit keys to decimal strings, as the benchmark of llds has them, or to the
// values and with the distributions of keys that the parameters `values` and `keys` name. Their
// names then follow that of the case: get/binary8/N/T, get/osm/N/T, get/binary8+osm/N/T.
//
//   set/N/T, get/N/T    into and from a store of N items: new keys and old ones, in random key
//                       order, one call per item; each of T threads has a part of the items.
//                       set+get is the sum of both, which the program of llds measures
//   mset, mget, mset+mget   the same in groups of 64 items
//   path-...            with what the program of llds does for each item: it formats and hashes the
//                       key, and formats the value
//   incr/N/T            all threads add one to one counter, its own key
//   scan/N/1            all items in key order
//   bytes/N             resident memory of the filled store, per item
//
// Metrics: cpu and wall, ns per operation (wall: of all threads together). Peers have one
// reader-writer lock, as in llds. Each subject runs in its own process (store/worker.hpp).
// Gets add up the first bytes of the values, and the sum is checked each time; after each set,
// 200 values are compared as a whole.
#include "harness/memory.hpp"
#include "harness/parameters.hpp"
#include "harness/table.hpp"
#include "tables/index/distributions.hpp"
#include "tables/store/worker.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lathbench {

namespace {

std::vector<std::uint64_t> item_counts(const options& opt) {
    return sizes_of(opt, {2000000}, {20000000}, {20000000, 50000000});
}

// Cases path-... have at most this many items, because formatting costs the same at any size.
constexpr std::uint64_t path_most = 5000000;

const char* const phases[] = {"set", "get", "set+get", "mset", "mget", "mset+mget"};

// ---- kinds of items ----

const std::vector<std::pair<std::string, item_values>> value_words = {
    {"decimal", item_values::decimal},   {"binary8", item_values::binary8},
    {"binary16", item_values::binary16}, {"text64", item_values::text64},
    {"mixed", item_values::mixed},
};

// The table only adds items, so keys that move away have no meaning here.
std::vector<std::string> key_words() {
    auto names = distribution_names();
    std::erase_if(names, distribution_moves);
    return names;
}

// One kind of items: its values, and the distribution of its keys or an empty string.
struct kind {
    std::string name; // in the names of cases; empty: decimal strings under random keys
    item_values values;
    std::string distribution;
};

std::vector<kind> chosen_kinds(const options& opt) {
    bool values = opt.parameters.count("values"), keys = opt.parameters.count("keys");
    std::vector<std::string> distributions = {""};
    if (keys) {
        distributions = key_words();
        std::erase_if(distributions, [&](auto& d) {
            return !wants_word(opt, "keys", d) && !wants_word(opt, "keys", "all");
        });
    }
    std::vector<kind> kinds;
    for (const auto& [word, v] : value_words)
        for (const auto& d : distributions)
            if (values ? wants_word(opt, "values", word) : v == item_values::decimal)
                kinds.push_back({(values ? word : "") + (values && keys ? "+" : "") + d, v, d});
    return kinds;
}

// One measurement: n items of a kind, with their own keys or the key path.
struct part {
    kind items;
    std::uint64_t n;
    bool path;
};

std::string named(const part& p, const std::string& phase) {
    return (p.path ? "path-" : "") + phase + "/" +
           (p.items.name.empty() ? "" : p.items.name + "/") + std::to_string(p.n);
}

std::string case_of(const part& p, const std::string& phase, int threads) {
    return named(p, phase) + "/" + std::to_string(threads);
}

// A counter is not an item, so one part measures it: the one with the default items.
bool has_counter(const part& p) { return !p.path && p.items.name.empty(); }

std::vector<std::string> cases_of(const options& opt, const part& p) {
    std::vector<std::string> names;
    for (int t : threads_of(opt))
        if (!p.path || t == 1)
            for (const char* phase : phases)
                names.push_back(case_of(p, phase, t));
    if (has_counter(p))
        for (int t : threads_of(opt))
            names.push_back(case_of(p, "incr", t));
    if (!p.path) {
        names.push_back(case_of(p, "scan", 1));
        names.push_back(named(p, "bytes"));
    }
    return names;
}

std::vector<part> plan(const options& opt) {
    auto counts = item_counts(opt);
    std::uint64_t least = *std::min_element(counts.begin(), counts.end());
    std::vector<part> all;
    for (const auto& k : chosen_kinds(opt)) {
        for (std::uint64_t n : counts)
            all.push_back({k, n, false});
        if (k.distribution.empty())
            all.push_back({k, std::min(least, path_most), true});
    }
    return all;
}

class runner {
public:
    explicit runner(session& s) : session_(s) {}

    void run() {
        serve_if_worker(store_subjects());
        session_.remark("each subject in its own process; operations on items in random key "
                        "order; gets in the order of the sets, as in llds");
        for (const auto& p : plan(session_.opt()))
            run(p);
    }

private:
    void run(const part& p) {
        cases_ = cases_of(session_.opt(), p);
        std::erase_if(cases_, [&](const std::string& c) { return !session_.wants_case(c); });
        if (cases_.empty() || session_.stopped())
            return;
        part_ = p;
        auto names = session_.subjects();
        // one after another when they do not fit into memory together
        double bytes = p.items.values == item_values::text64 ? 160 : 110;
        bytes += p.items.distribution.empty() ? 0 : distribution_bytes;
        if (static_cast<double>(p.n) * bytes * static_cast<double>(names.size()) <
            0.6 * static_cast<double>(available_bytes())) {
            together(names);
            return;
        }
        session_.remark(std::to_string(p.n) +
                        " items: the subjects were measured one after another");
        for (const auto& name : names)
            together({name});
    }

    void together(const std::vector<std::string>& names) {
        std::map<std::string, std::unique_ptr<worker>> workers;
        std::vector<std::string> able;
        for (const auto& name : names) {
            if (session_.stopped())
                return;
            session_.progress("store: " + items() + " into " + name);
            auto w = std::make_unique<worker>(find_subject(store_subjects(), name), job(name));
            if (auto why = w->ready()) {
                for (const auto& c : cases_)
                    session_.not_available(c, name, *why);
                continue;
            }
            session_.remark(name + ": " +
                            std::to_string(static_cast<int>(w->huge_share() * 100 + 0.5)) +
                            " % of the process on huge pages with " + items());
            std::string bytes = named(part_, "bytes");
            if (wants(bytes))
                session_.sample({bytes, part_.n, 1, "bytes", "B"}, name, w->bytes_per_item(), true);
            able.push_back(name);
            workers.emplace(name, std::move(w));
        }
        for (int threads : threads_of(session_.opt())) {
            if (part_.path && threads > 1)
                continue;
            session_.repeat(
                items() + ", " + std::to_string(threads) + " threads", store_subjects(), able,
                [&](const store_subject& s, int) { repetition(*workers.at(s.name), s, threads); });
        }
    }

    store_job job(const std::string& name) const {
        std::uint64_t timed =
            std::clamp<std::uint64_t>(part_.n / 8, 1, session_.opt().quick() ? 100000 : 400000);
        std::uint64_t runs = static_cast<std::uint64_t>(session_.reps()) *
                             (part_.path ? 1 : threads_of(session_.opt()).size());
        item_keys keys = part_.path                         ? item_keys::path
                         : part_.items.distribution.empty() ? item_keys::mixed
                                                            : item_keys::drawn;
        return {name,
                part_.n,
                timed,
                session_.seed(part_.n),
                2 * timed * runs,
                keys,
                part_.items.distribution,
                part_.items.values};
    }

    std::string items() const {
        return std::to_string(part_.n) + " items" +
               (part_.items.name.empty() ? "" : " (" + part_.items.name + ")");
    }

    bool wants(const std::string& c) const {
        return std::find(cases_.begin(), cases_.end(), c) != cases_.end();
    }

    void record(const std::string& phase, const std::string& name, int threads, double cpu,
                double wall, bool right) {
        std::string c = case_of(part_, phase, threads);
        if (!wants(c))
            return;
        session_.sample({c, part_.n, threads, "cpu", "ns"}, name, cpu, right);
        session_.sample({c, part_.n, threads, "wall", "ns"}, name, wall, right);
    }

    void repetition(worker& w, const store_subject& s, int threads) {
        const auto& name = s.name;
        if (threads > 1 && !s.many_threads) {
            for (const char* p : phases)
                session_.not_available(case_of(part_, p, threads), name, "one writer only");
            if (has_counter(part_))
                session_.not_available(case_of(part_, "incr", threads), name, "one writer only");
            return;
        }
        bool scan = threads == 1 && !part_.path && wants(case_of(part_, "scan", 1));
        bool incr = has_counter(part_) && wants(case_of(part_, "incr", threads));
        auto figures = w.run(threads, scan, incr);
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
                    session_.not_available(case_of(part_, phase, threads), name,
                                           "no batched calls");
        }
        if (incr && !by_phase.count("incr"))
            session_.not_available(case_of(part_, "incr", threads), name, "no counters");
        if (scan && !by_phase.count("scan"))
            session_.not_available(case_of(part_, "scan", 1), name, "has no order");
    }

    session& session_;
    std::vector<std::string> cases_;
    part part_;
};

std::vector<std::string> store_cases(const options& opt) {
    std::vector<std::string> names;
    for (const auto& p : plan(opt)) {
        auto more = cases_of(opt, p);
        names.insert(names.end(), more.begin(), more.end());
    }
    return names;
}

std::vector<parameter> store_parameters() {
    std::vector<std::string> values;
    for (const auto& [word, v] : value_words)
        values.push_back(word);
    auto keys = key_words();
    keys.emplace_back("all");
    std::vector<parameter> all = {
        words_parameter("values", "what the values are, as --values", std::move(values)),
        words_parameter("keys", "distributions of the keys, as --keys", std::move(keys))};
    all[0].by_default = "decimal";
    all[1].by_default = "random keys";
    return all;
}

} // namespace

table store_table() {
    return {.name = "store",
            .summary = "key-value stores: the benchmark of llds, one call per item and batched",
            .named_peer = "rbtree-malloc-4k",
            .subjects = listed(store_subjects()),
            .more = {"lathwork-4k", "lathwork-records", "lathwork-shm", "rbtree-malloc-thp",
                     "rbtree-mimalloc", "rbtree-jemalloc", "absl-btree-4k", "judy-4k", "lmdb",
                     "flat-hash"},
            .cases = store_cases,
            .run = run_with<runner>,
            .parameters = store_parameters(),
            .compare_with = {{"mset", "set"},
                             {"mget", "get"},
                             {"mset+mget", "set+get"},
                             {"path-mset", "path-set"},
                             {"path-mget", "path-get"},
                             {"path-mset+mget", "path-set+get"}}};
}

} // namespace lathbench
