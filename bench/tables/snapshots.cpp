// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `snapshots`: a set of N keys of 16 random bytes that can be read as it was
// (lathwork/versions.h).
//
//   take/N          take a snapshot and give it back, nothing in between (ns per pair)
//   get/N           a random key of the present (ns per key)
//   get-at/N        the same at a snapshot; nothing has changed since
//   get-old/N       the same at a snapshot; each key was replaced since
//   seek/N, seek-at/N, seek-old/N    a random key and the ten behind it (ns per seek)
//   put/N           each key is replaced, in random order; no snapshot is held (ns per key)
//   put-held/N      the same while one is held
//
// Every answer is compared with sums over the sorted keys. One thread.
#include "harness/random.hpp"
#include "harness/table.hpp"
#include "harness/timing.hpp"

#include "subjects/snapshots/snapshots_subject.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include <malloc.h>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr std::size_t near = 11;
constexpr u64 later = 1u << 20; // what the second number of a key is more than its first

std::vector<u64> counts(const options& opt) {
    return sizes_of(opt, {10000, 100000}, {10000, 1000000}, {10000, 1000000, 10000000});
}

const char* const works[] = {"take",    "get",      "get-at", "get-old", "seek",
                             "seek-at", "seek-old", "put",    "put-held"};

std::string case_name(const std::string& work, u64 n) { return work + "/" + std::to_string(n); }

std::vector<std::string> snapshot_cases(const options& opt) {
    std::vector<std::string> names;
    for (u64 n : counts(opt))
        for (const char* work : works)
            names.push_back(case_name(work, n));
    return names;
}

class runner {
public:
    explicit runner(session& s) : session_(s) {}

    void run() {
        for (u64 n : counts(session_.opt()))
            if (!session_.stopped())
                measure(n);
    }

private:
    void measure(u64 n) {
        n_ = n;
        make_input();
        std::vector<std::string> names;
        for (const auto& name : session_.subjects()) {
            if (!find_subject(versioned_subjects(), name).snapshots)
                for (const char* work :
                     {"take", "get-at", "get-old", "seek-at", "seek-old", "put-held"})
                    session_.not_available(case_name(work, n), name, "it has no snapshots");
            names.push_back(name);
        }
        session_.each_interleaved(session_.reps(), names, [&](const std::string& name, int rep) {
            session_.progress("snapshots: " + std::to_string(n) + ", repetition " +
                              std::to_string(rep + 1) + ", " + name);
            repetition(find_subject(versioned_subjects(), name));
        });
    }

    // Keys in random order, and what is asked for.
    void make_input() {
        u64 state = session_.seed(n_);
        auto random = [&] { return mix_bits(state += golden_ratio); };
        keys_.resize(n_);
        for (auto& key : keys_)
            for (std::size_t i = 0; i < key.size(); i += 8) {
                u64 word = random();
                std::memcpy(&key[i], &word, 8);
            }
        std::vector<u64> sorted(n_);
        for (u64 i = 0; i < n_; i++)
            sorted[i] = i;
        std::sort(sorted.begin(), sorted.end(), [&](u64 a, u64 b) { return keys_[a] < keys_[b]; });
        asked_.clear();
        gets_ = seeks_ = 0;
        for (u64 i = 0; i < std::min<u64>(std::max<u64>(n_, 10000), 300000); i++) {
            u64 at = random() % n_;
            asked_.push_back(keys_[sorted[at]]);
            gets_ += sorted[at] + 1;
            for (u64 k = at; k < std::min<u64>(at + near, n_); k++)
                seeks_ += sorted[k] + 1;
        }
    }

    void repetition(const versioned_subject& s) {
        malloc_trim(0); // or malloc tidies up here what the subject before has freed
        auto map = s.make();
        for (u64 i = 0; i < n_; i++)
            map->put(keys_[i], i + 1);
        // what is read below lies where these records do, in the present and at the snapshot
        put(s, "put", timed(1, n_, [&](u64 i, int) { map->put(keys_[i], i + 1); }), true);
        read(s, *map, "get", "seek", false);
        if (!s.snapshots)
            return;
        u64 pairs = std::max<u64>(1, 1000000 / n_);
        if (s.name == "lathwork")
            pairs = 1000000;
        put(s, "take",
            timed(1, pairs,
                  [&](u64, int) {
                      map->take();
                      map->release();
                  }),
            true);
        map->take();
        read(s, *map, "get-at", "seek-at", true);
        put(s, "put-held", timed(1, n_, [&](u64 i, int) { map->put(keys_[i], i + 1 + later); }),
            true);
        read(s, *map, "get-old", "seek-old", true);
        map->release();
        u64 sum = 0;
        for (const auto& key : asked_)
            sum += map->get(key, false);
        if (sum != gets_ + later * asked_.size())
            throw std::runtime_error("snapshots: " + s.name + " lost what was put");
    }

    void read(const versioned_subject& s, versioned_map& map, const char* get, const char* seek,
              bool at) {
        u64 sum = 0;
        double ns = timed(1, asked_.size(), [&](u64 i, int) { sum += map.get(asked_[i], at); });
        put(s, get, ns, sum == gets_);
        sum = 0;
        ns = timed(1, asked_.size(), [&](u64 i, int) { sum += map.scan(asked_[i], near, at); });
        put(s, seek, ns, sum == seeks_);
    }

    void put(const versioned_subject& s, const char* work, double ns, bool right) {
        std::string name = case_name(work, n_);
        if (session_.wants_case(name))
            session_.sample({name, n_, 1, "time", "ns"}, s.name, ns, right);
    }

    session& session_;
    u64 n_ = 0, gets_ = 0, seeks_ = 0;
    std::vector<bytes16> keys_, asked_;
};

} // namespace

table snapshots_table() {
    table t;
    t.name = "snapshots";
    t.summary = "a set of byte keys that can be read as it was: take, get, seek, put";
    t.named_peer = "std-map-copy";
    t.more = {"lathwork-bytes"};
    for (const auto& s : versioned_subjects())
        t.subjects.push_back({s.name, s.note, s.missing});
    t.cases = snapshot_cases;
    t.run = [](session& s) { runner(s).run(); };
    return t;
}

} // namespace lathbench
