// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One size and number of threads of table `index`: the maps of all subjects side by side, how they
// are filled, timed and verified. What is done with them is in the classes derived from this one
// (uniform.cpp, distributed.cpp).
#pragma once

#include "harness/table.hpp"
#include "tables/index/workload.hpp"

#include "subjects/ranges/range_subject.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lathbench {

// A subject's map, and which keys are in it.
struct filled_map {
    std::string name;
    std::unique_ptr<map_bench> map;
    window live;
    map_abilities can;
    std::uint64_t bytes = 0; // taken while it was filled
};

// A case that changes the maps while they are filled. It is done as a whole, or slice by slice.
struct phase {
    std::string name; // of the case
    std::uint64_t operations; // that the time is divided by
    std::uint64_t changes; // that must succeed
    // Makes what slice s of `slices` does; the slices come in order.
    std::function<void(std::size_t s, std::size_t slices)> prepare;
    // Does the prepared slice. Adds the changes that succeeded to `done`; returns ns.
    std::function<double(filled_map& c, std::uint64_t& done)> work;
};

class map_block {
public:
    // The cases are named NAME/KIND/N; without a kind NAME/N.
    map_block(session& s, std::string kind, std::uint64_t n, int threads,
              std::vector<std::string> names);
    virtual ~map_block() = default;
    map_block(const map_block&) = delete;
    map_block& operator=(const map_block&) = delete;

protected:
    using change_call = std::uint64_t (map_bench::*)(const std::uint64_t*, std::size_t);
    using lookup_call = tally (map_bench::*)(const std::uint64_t*, std::size_t);
    using key_function = std::function<std::uint64_t(std::uint64_t ordinal)>;

    std::string case_name(const std::string& name) const;
    bool wants(const std::string& name) const { return session_.wants_case(case_name(name)); }
    bool wants_one_of(const std::vector<std::string>& names) const {
        return std::any_of(names.begin(), names.end(), [&](auto& name) { return wants(name); });
    }
    void record(const std::string& name, const std::string& subject, double value, bool right,
                const char* metric = "time", const char* unit = "ns");
    void show(const std::string& name, int rep, const std::string& subject);

    // The part of [0, total) that the thread has to which i belongs.
    std::uint64_t part_of(std::uint64_t i, std::uint64_t total) const;
    // Runs work(first, last, thread) over [0, total), split among the threads; returns ns per
    // operation.
    double timed(filled_map& c, std::size_t total,
                 const std::function<void(std::size_t, std::size_t, int)>& work);

    filled_map make(const std::string& name);
    std::vector<std::string> with_ability(const std::string& name, bool map_abilities::* ability,
                                          const char* why);

    // ---- filling ----

    // Fills the maps of these subjects by the phases, from empty, and measures each phase. After
    // the last one, each map holds n keys. measure_bytes: the case `bytes` is what it took.
    void fill(const std::vector<phase>& phases, const std::vector<std::string>& names,
              bool measure_bytes);
    // Inserts the keys of all ordinals below n.
    phase insert_phase(const std::string& name, change_call insert, key_function key);
    // Inserts or erases keys; adds how many there were to changed; returns ns per key.
    double change_keys(filled_map& c, change_call call, const std::vector<std::uint64_t>& keys,
                       std::uint64_t& changed);

    // ---- cases on the filled maps ----

    // Has each map do cases(rep), the subjects in turns.
    void repetition(int rep);
    virtual void warm_up(filled_map& c, int rep) = 0;
    virtual void cases(int rep) = 0;
    // Whether the case is wanted; says which subjects cannot do it.
    bool able(const std::string& name, bool map_abilities::* ability, const char* why);
    // Runs the case on the map whose turn it is, if it is wanted and the map has the ability.
    void each(const std::string& name, int rep, const std::function<void(filled_map&)>& body,
              bool map_abilities::* ability = nullptr);

    // Calls for all keys; returns ns per key and what each thread was returned.
    double look_up(filled_map& c, const key_stream& s, lookup_call call, std::vector<tally>& got);
    // Whether each thread got exactly the entries of its part of the keys, `after` points behind
    // them.
    static bool all_found(const key_stream& s, const std::vector<tally>& got, bool after = false);
    static bool none_found(const std::vector<tally>& got);
    // The case `scan100`: 100 entries from each key.
    void scan_hundred(filled_map& c, const key_stream& s, const ordered_oracle& oracle);
    // Runs the steps; returns ns per step. read: tally of what lookups and scans returned;
    // done: how many changes succeeded.
    double run_steps(filled_map& c, const std::vector<step>& steps, tally& read,
                     std::uint64_t& done);
    // Checks outside of all cases that these keys are all there, or none of them.
    void audit(filled_map& c, const key_stream& s, bool there);

    static void add(tally& to, const tally& more);
    static tally sum(const std::vector<tally>& parts);

    session& session_;
    std::uint64_t n_;
    int threads_;
    std::vector<std::string> names_;
    std::uint64_t operations_ = 0; // of a case, about
    std::vector<filled_map> maps_;

private:
    void fill_anew(const std::vector<phase>& phases, const std::vector<std::string>& names,
                   bool bytes);
    void fill_in_lockstep(const std::vector<phase>& phases, const std::vector<std::string>& names,
                          bool bytes);
    std::vector<std::uint64_t> slice_keys(const key_function& key, std::size_t s,
                                          std::size_t slices) const;
    void record_bytes(const filled_map& c);

    std::string kind_;
    filled_map* turn_ = nullptr;
};

constexpr std::size_t operations_per_scan = 20; // a scan counts as this many operations

// The cases of the default table on the first n keys of the source (uniform.cpp).
void run_uniform(session& s, const key_source& source, std::uint64_t n, int threads,
                 const std::vector<std::string>& names);
const std::vector<std::string>& uniform_cases();

// The cases of maps of 20 keys (small.cpp).
void run_small(session& s, const std::vector<std::string>& names);
std::vector<std::string> small_cases();
// Those in which threads meet, with the first n keys of the source (meet.cpp). They have sizes and
// numbers of their own threads; a case is run with those that it has.
void run_meet(session& s, const key_source& source, std::uint64_t n, int threads,
              const std::vector<std::string>& names);
std::vector<std::uint64_t> meet_sizes(const options& opt);
std::vector<int> meet_threads(const options& opt);
std::vector<std::string> meet_cases(const options& opt);
// Those of maps whose keys are replaced, and that shrink (churn.cpp).
void run_churn(session& s, const std::vector<std::string>& names);
std::vector<std::string> churn_cases(const options& opt);

// What run_distributed() takes beside the maps, in bytes for each key.
constexpr std::uint64_t distributed_bytes = 40;
// The cases of a key distribution (distributed.cpp).
void run_distributed(session& s, const std::string& distribution, std::uint64_t n, int threads,
                     const std::vector<std::string>& names);
std::vector<std::string> distributed_cases(const std::string& distribution);

} // namespace lathbench
