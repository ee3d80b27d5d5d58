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
//
// The keys are random, or of the distributions that the parameter `keys` names.
#include "harness/extents_input.hpp"
#include "harness/memory.hpp"
#include "harness/parameters.hpp"
#include "harness/table.hpp"
#include "tables/index/block.hpp"
#include "tables/index/distributions.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace lathbench {

namespace {

// How many maps of n keys fit into 60 % of the free memory, at 100 bytes per key.
std::size_t maps_in_memory(std::uint64_t n) {
    return std::max<std::size_t>(
        static_cast<std::size_t>(available_bytes() * 6 / 10 / (n * 100 + 1)), 1);
}

using run_block = std::function<void(int threads, const std::vector<std::string>& subjects)>;

// Runs the block with each number of threads, with as many subjects at a time as there is memory.
void run_size(session& s, std::uint64_t n, const std::vector<int>& threads, const run_block& run) {
    auto names = s.subjects();
    std::size_t group = maps_in_memory(n);
    if (group < names.size())
        s.remark("n = " + std::to_string(n) + ": memory for " + std::to_string(group) +
                 " subjects at a time, not interleaved beyond");
    for (int t : threads_of(s.opt(), threads))
        for (std::size_t i = 0; i < names.size() && !s.stopped(); i += group)
            run(t,
                {names.begin() + static_cast<std::ptrdiff_t>(i),
                 names.begin() + static_cast<std::ptrdiff_t>(std::min(i + group, names.size()))});
}

const std::vector<int> uniform_threads = {1, 2}, distributed_threads = {1};

std::vector<std::uint64_t> map_sizes(const options& opt) {
    return sizes_of(opt, {100000, 1000000}, {100000, 1000000, 10000000},
                    {100000, 1000000, 10000000, 100000000});
}

void run_source(session& s, const key_source& source, std::uint64_t n) {
    run_size(s, n, uniform_threads, [&](int threads, const std::vector<std::string>& subjects) {
        run_uniform(s, source, n, threads, subjects);
    });
}

// ---- with --keys ----

const std::vector<std::string> quick_distributions = {"uniform", "dense", "clustered", "osm"};

// `all` is every distribution, or four of them with --quick. Empty: the table without --keys.
std::vector<std::string> chosen_distributions(const options& opt) {
    std::vector<std::string> chosen;
    if (!opt.parameters.count("keys"))
        return chosen;
    bool all = wants_word(opt, "keys", "all");
    for (const auto& name : distribution_names()) {
        bool quick = std::find(quick_distributions.begin(), quick_distributions.end(), name) !=
                     quick_distributions.end();
        if (wants_word(opt, "keys", name) || (all && (quick || !opt.quick())))
            chosen.push_back(name);
    }
    return chosen;
}

std::vector<std::uint64_t> distributed_sizes(const options& opt) {
    return sizes_of(opt, {100000}, {1000000, 10000000}, {1000000, 10000000, 100000000});
}

void run_distribution(session& s, const std::string& name, std::uint64_t n) {
    if (n * distributed_bytes > available_bytes() / 4)
        throw std::runtime_error("index: " + std::to_string(n) + " keys (" + name +
                                 ") with their oracle take more than a quarter of the free memory");
    run_size(s, n, distributed_threads, [&](int threads, const std::vector<std::string>& subjects) {
        run_distributed(s, name, n, threads, subjects);
    });
}

void run_index(session& s) {
    s.remark("one thread: thread CPU time; several: wall time over all operations");
    auto distributions = chosen_distributions(s.opt());
    for (const auto& name : distributions)
        for (std::uint64_t n : distributed_sizes(s.opt()))
            if (!s.stopped())
                run_distribution(s, name, n);
    if (!distributions.empty())
        return;
    if (!s.opt().input.empty()) {
        extent_set set = read_extents(s.opt().input);
        set.keys.resize(set.items);
        key_source source(set.keys, s.seed(0));
        // a quarter stays outside, to be inserted
        run_source(s, source, std::max<std::uint64_t>(set.items * 3 / 4, 1));
        return;
    }
    key_source source(s.seed(0));
    for (std::uint64_t n : map_sizes(s.opt()))
        if (!s.stopped())
            run_source(s, source, n);
    for (std::uint64_t n : meet_sizes(s.opt()))
        run_size(s, n, meet_threads(s.opt()),
                 [&](int threads, const std::vector<std::string>& subjects) {
                     run_meet(s, source, n, threads, subjects);
                 });
    if (!s.stopped())
        run_small(s, s.subjects());
    if (!s.stopped())
        run_churn(s, s.subjects());
}

void add_cases(std::vector<std::string>& to, const options& opt, const std::string& kind,
               const std::vector<std::string>& cases, std::uint64_t n,
               const std::vector<int>& threads) {
    for (int t : threads_of(opt, threads))
        for (const auto& name : cases)
            if (t == 1 || name != "bytes")
                to.push_back(name + kind + "/" + std::to_string(n) +
                             (t == 1 ? "" : "/" + std::to_string(t)));
}

std::vector<std::string> index_cases(const options& opt) {
    std::vector<std::string> names;
    auto distributions = chosen_distributions(opt);
    for (const auto& name : distributions)
        for (auto n : distributed_sizes(opt))
            add_cases(names, opt, "/" + name, distributed_cases(name), n, distributed_threads);
    if (distributions.empty())
        for (auto n : map_sizes(opt))
            add_cases(names, opt, "", uniform_cases(), n, uniform_threads);
    if (distributions.empty() && opt.input.empty())
        for (const auto& more : {meet_cases(opt), small_cases(), churn_cases(opt)})
            names.insert(names.end(), more.begin(), more.end());
    return names;
}

parameter keys_parameter() {
    auto words = distribution_names();
    words.push_back("all");
    parameter p = words_parameter("keys", "distributions of the keys, as --keys", words);
    p.by_default = "random keys, other cases";
    return p;
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
    t.more = {"lathwork-huge", "lathwork-cxx", "linux-rbtree", "boost-rbtree", "std-map",
              "tbb",           "libcds",       "maple-lock",   "maple-rcu",    "design-2013"};
    t.cases = index_cases;
    t.run = run_index;
    t.parameters = {keys_parameter()};
    t.compare_with = {
        {"lookup-batch", "lookup"}, {"miss-batch", "miss"}, {"insert-batch", "insert"}};
    return t;
}

} // namespace lathbench
