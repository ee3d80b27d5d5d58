// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `ranks`: order statistics of a set of N random keys (LATH_RANKS of lathwork/index.h).
//
//   insert/N[/T]   all of them, in random order, by T threads (ns per key, wall time)
//   first/N        the first rank after all inserts (us)
//   rank/N[/T]     how many keys are below a random one (ns per rank)
//   select/N[/T]   the key with a random rank
//   count/N        the keys between two random ones, N / 100 apart on average
//   mixed/N        a thousandth of N more keys; after every tenth a rank is asked (ns per key)
//   bytes/N        memory per key after the inserts of one thread
//
// Every answer is compared with the sorted keys. Structures without their own locks are behind
// one spinlock when there are several threads.
#include "harness/random.hpp"
#include "harness/table.hpp"
#include "harness/timing.hpp"

#include "subjects/ranks/ranks_subject.hpp"

#include <algorithm>
#include <atomic>
#include <string>

#include <malloc.h>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

struct random_source {
    u64 state;
    u64 operator()(u64 below) {
        state += golden_ratio;
        return static_cast<u64>((static_cast<unsigned __int128>(mix_bits(state)) * below) >> 64);
    }
};

std::vector<u64> counts(const options& opt) {
    return sizes_of(opt, {10000, 100000}, {10000, 1000000}, {10000, 100000, 1000000, 10000000});
}

std::string case_name(const std::string& work, u64 n, int threads = 1) {
    std::string name = work + "/" + std::to_string(n);
    return threads == 1 ? name : name + "/" + std::to_string(threads);
}

std::vector<std::string> ranks_cases(const options& opt) {
    std::vector<std::string> names;
    for (u64 n : counts(opt)) {
        for (int t : threads_of(opt))
            for (const char* work : {"insert", "rank", "select"})
                names.push_back(case_name(work, n, t));
        for (const char* work : {"first", "count", "mixed", "bytes"})
            names.push_back(case_name(work, n));
    }
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
    // What is asked, and the sum of the answers.
    struct questions {
        std::vector<u64> of;
        u64 sum = 0;
    };

    void measure(u64 n) {
        make_input(n);
        std::vector<std::string> names;
        for (const auto& name : session_.subjects()) {
            say_what_is_missing(find_subject(ranked_subjects(), name));
            names.push_back(name);
        }
        for (int threads : threads_of(session_.opt()))
            session_.each_interleaved(
                session_.reps(), names, [&](const std::string& name, int rep) {
                    session_.progress("ranks: " + std::to_string(n) + ", " +
                                      std::to_string(threads) + " threads, repetition " +
                                      std::to_string(rep + 1) + ", " + name);
                    repetition(find_subject(ranked_subjects(), name), threads);
                });
    }

    // Different keys, in random order; those of `mixed` follow the n others.
    void make_input(u64 n) {
        random_source random{session_.seed(n)};
        u64 more = std::max<u64>(n / 1000, 100);
        keys_.resize(n + more);
        for (u64 i = 0; i < keys_.size(); i++)
            keys_[i] = (i << 24) + random(u64{1} << 24);
        for (u64 i = keys_.size(); i > 1; i--)
            std::swap(keys_[i - 1], keys_[random(i)]);
        n_ = n;
        std::vector<u64> sorted(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(n));
        std::sort(sorted.begin(), sorted.end());
        auto below = [&](u64 key) {
            return static_cast<u64>(std::lower_bound(sorted.begin(), sorted.end(), key) -
                                    sorted.begin());
        };
        ranks_ = selects_ = counts_ = {};
        distance_ = (keys_.size() << 24) / 100;
        for (u64 i = 0; i < std::min<u64>(std::max<u64>(n, 10000), 300000); i++) {
            u64 key = random(keys_.size() << 24), rank = random(n);
            ranks_.of.push_back(key);
            ranks_.sum += below(key);
            selects_.of.push_back(rank);
            selects_.sum += sorted[rank];
            counts_.of.push_back(key);
            counts_.sum += below(key + distance_ + 1) - below(key);
        }
        mixed_sum_ = 0;
        for (u64 i = n; i < keys_.size(); i++) {
            sorted.insert(std::lower_bound(sorted.begin(), sorted.end(), keys_[i]), keys_[i]);
            if (i % 10 == 9)
                mixed_sum_ += below(ranks_.of[i - n]);
        }
    }

    void say_what_is_missing(const ranked_subject& s) {
        if (s.counts)
            return;
        for (const auto& name : ranks_cases(session_.opt()))
            if (name.rfind("insert/", 0) && name.rfind("bytes/", 0))
                session_.not_available(name, s.name, "it has no ranks");
    }

    // Ask all questions; right: the answers have the expected sum.
    template <class Ask>
    static double asked(int threads, const questions& all, const Ask& ask, bool& right) {
        std::vector<u64> sums(static_cast<std::size_t>(threads) * 16);
        double ns = timed(threads, all.of.size(), [&](u64 i, int id) {
            sums[static_cast<std::size_t>(id) * 16] += ask(all.of[i]);
        });
        u64 sum = 0;
        for (u64 part : sums)
            sum += part;
        right = sum == all.sum;
        return ns;
    }

    void repetition(const ranked_subject& s, int threads) {
        malloc_trim(0); // or malloc tidies up here what the subject before has freed
        auto set = s.make(threads > 1);
        double ns = timed(threads, n_, [&](u64 i, int) { set->insert(keys_[i]); });
        double bytes = static_cast<double>(set->bytes()) / static_cast<double>(n_);
        bool right = true;
        if (!s.counts) {
            put("insert", s, threads, ns, right);
            if (threads == 1)
                sample("bytes", "bytes", "B", s, 1, bytes, right);
            return;
        }
        double first_ns = timed(1, 1, [&](u64, int) { right = set->rank(~u64{0}) == n_; });
        put("insert", s, threads, ns, right);
        if (threads == 1) {
            sample("bytes", "bytes", "B", s, 1, bytes, right);
            sample("first", "time", "us", s, 1, first_ns / 1000, right);
        }
        ns = asked(threads, ranks_, [&](u64 key) { return set->rank(key); }, right);
        put("rank", s, threads, ns, right);
        ns = asked(threads, selects_, [&](u64 rank) { return set->select(rank); }, right);
        put("select", s, threads, ns, right);
        if (threads > 1)
            return;
        ns = asked(1, counts_, [&](u64 key) { return set->count(key, key + distance_); }, right);
        put("count", s, 1, ns, right);
        u64 sum = 0;
        ns = timed(1, keys_.size() - n_, [&](u64 i, int) {
            set->insert(keys_[n_ + i]);
            if ((n_ + i) % 10 == 9)
                sum += set->rank(ranks_.of[i]);
        });
        put("mixed", s, 1, ns, sum == mixed_sum_);
    }

    void put(const char* work, const ranked_subject& s, int threads, double ns, bool right) {
        sample(work, "time", "ns", s, threads, ns, right);
    }
    void sample(const char* work, const char* metric, const char* unit, const ranked_subject& s,
                int threads, double value, bool right) {
        std::string name = case_name(work, n_, threads);
        if (session_.wants_case(name))
            session_.sample({name, n_, threads, metric, unit}, s.name, value, right);
    }

    session& session_;
    std::vector<u64> keys_;
    u64 n_ = 0, distance_ = 0, mixed_sum_ = 0;
    questions ranks_, selects_, counts_;
};

} // namespace

table ranks_table() {
    table t;
    t.name = "ranks";
    t.summary = "order statistics: rank, select, count of a range; insert with and without";
    t.named_peer = "pb-ds";
    t.more = {"boost-ranked", "lathwork-plain"};
    for (const auto& s : ranked_subjects())
        t.subjects.push_back({s.name, s.note, s.missing});
    t.cases = ranks_cases;
    t.run = [](session& s) { runner(s).run(); };
    return t;
}

} // namespace lathbench
