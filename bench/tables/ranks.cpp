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
#include "harness/sized.hpp"
#include "harness/timing.hpp"

#include "subjects/ranks/ranks_subject.hpp"

#include <algorithm>
#include <string>

#include <malloc.h>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

const sized_plan plan = {{10000, 100000},
                         {10000, 1000000},
                         {10000, 100000, 1000000, 10000000},
                         {""},
                         {"insert", "rank", "select"},
                         {"first", "count", "mixed", "bytes"}};

class runner : public sized_runner<ranked_subject> {
public:
    explicit runner(session& s) : sized_runner(s, plan, ranked_subjects()) {}

private:
    // What is asked, and the sum of the answers.
    struct questions {
        std::vector<u64> of;
        u64 sum = 0;
    };

    // Different keys, in random order; those of `mixed` follow the n others.
    void prepare() override {
        u64 n = n_;
        random_source random{session_.seed(n)};
        u64 more = std::max<u64>(n / 1000, 100);
        keys_.resize(n + more);
        for (u64 i = 0; i < keys_.size(); i++)
            keys_[i] = (i << 24) + random(u64{1} << 24);
        for (u64 i = keys_.size(); i > 1; i--)
            std::swap(keys_[i - 1], keys_[random(i)]);
        std::vector<u64> sorted(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(n));
        std::sort(sorted.begin(), sorted.end());
        auto below = [&](u64 key) {
            return static_cast<u64>(std::lower_bound(sorted.begin(), sorted.end(), key) -
                                    sorted.begin());
        };
        ranks_ = selects_ = counts_ = {};
        distance_ = (keys_.size() << 24) / 100;
        for (u64 i = 0; i < searches_of(n); i++) {
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

    bool able(const ranked_subject& s) override {
        for (const auto& name : plan(session_.opt()))
            if (!s.counts && name.rfind("insert/", 0) && name.rfind("bytes/", 0))
                session_.not_available(name, s.name, "it has no ranks");
        return true;
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

    void repetition(const ranked_subject& s, int threads) override {
        malloc_trim(0); // or malloc tidies up here what the subject before has freed
        auto set = s.make(threads > 1);
        double ns = timed(threads, n_, [&](u64 i, int) { set->insert(keys_[i]); });
        u64 bytes = set->bytes();
        bool right = true;
        if (!s.counts) {
            put("insert", s, threads, ns, right);
            if (threads == 1)
                put_bytes(s, bytes, n_, right);
            return;
        }
        double first_ns = timed(1, 1, [&](u64, int) { right = set->rank(~u64{0}) == n_; });
        put("insert", s, threads, ns, right);
        if (threads == 1) {
            put_bytes(s, bytes, n_, right);
            session_.sample({name("first"), n_, 1, "time", "us"}, s.name, first_ns / 1000, right);
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

    std::vector<u64> keys_;
    u64 distance_ = 0, mixed_sum_ = 0;
    questions ranks_, selects_, counts_;
};

} // namespace

table ranks_table() {
    return table_of<runner>(
        "ranks", "order statistics: rank, select, count of a range; insert with and without",
        "pb-ds", ranked_subjects(), plan, {"boost-ranked", "lathwork-plain"});
}

} // namespace lathbench
