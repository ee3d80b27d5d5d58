// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `kvpool`: objects of mixed sizes in the memory of 8 machines, the pool of Mooncake Store,
// which keeps the key-value caches of language models (RFC 3965 and pull request 4000 of
// kvcache-ai/Mooncake; tables/kvpool/workload.hpp has the objects).
//
//   replay/M   one thread plays 16,320 puts and as many removes in 8 segments of M MiB
//   rate/T     T threads, each with its share of 80 payloads and 800 objects of metadata in 8
//              segments of 152 MiB, remove one at random and put a new one, again and again
//
// failed: puts that found no room. fragmentation: 1 - longest free range / free bytes in percent,
// the mean over the segments, taken after each bundle of 34 puts; the median of these. p50, p99,
// p99.9: latency of puts. rate: million pairs of remove and put per second, all threads.
//
// Every object is checked against a map of all others; those of `rate` while it goes on for another
// quarter of the time, which is not measured.
#include "tables/kvpool/workload.hpp"
#include "harness/latency.hpp"
#include "harness/parameters.hpp"
#include "harness/table.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr u64 segment_mib[] = {152, 147, 143};
constexpr u64 mib = u64{1} << 20;
constexpr int payloads_of_all = 80;

std::vector<int> thread_counts(const options& opt) {
    if (!opt.threads.empty())
        return opt.threads;
    return {1, 4, 16};
}

std::string replay_case(u64 size) { return "replay/" + std::to_string(size); }
std::string rate_case(int threads) { return "rate/" + std::to_string(threads); }

class runner {
public:
    explicit runner(session& s) : session_(s) {
        const options& opt = s.opt();
        window_ms_ = size_list(opt, "window_ms",
                               {opt.quick()  ? 60u
                                : opt.full() ? 1000u
                                             : 250u})[0];
    }

    void run() {
        for (u64 size : segment_mib)
            each(replay_case(size), [&](const std::string& name, const std::string& subject,
                                        int rep) { replay(name, size, subject, rep); });
        for (int threads : thread_counts(session_.opt()))
            each(rate_case(threads), [&](const std::string& name, const std::string& subject, int) {
                rate(name, threads, subject);
            });
    }

private:
    template <class Work>
    void each(const std::string& name, const Work& work) {
        if (!session_.wants_case(name) || session_.stopped())
            return;
        session_.each_interleaved(session_.reps(), session_.subjects(),
                                  [&](const std::string& subject, int rep) {
                                      session_.progress("kvpool: " + name + ", repetition " +
                                                        std::to_string(rep + 1) + ", " + subject);
                                      work(name, subject, rep);
                                  });
    }

    // Each repetition has its own sizes and lifetimes, the same for all subjects.
    void replay(const std::string& name, u64 size, const std::string& subject, int rep) {
        pool_shape shape;
        shape.segment = size * mib;
        auto events = kv_trace(session_.seed(static_cast<u64>(rep)));
        auto pool = find_subject(pool_subjects(), subject).make(shape);
        pool_shadow shadow(shape);
        std::vector<pool_object> objects(kv_puts);
        std::vector<float> latency;
        std::vector<double> fragmentation;
        u64 failed = 0, random = session_.seed(100 + static_cast<u64>(rep)) | 1;
        bool right = true;
        run_threads(1, [&](int) {
            pool->enter(0);
            for (const auto& e : events) {
                pool_object& o = objects[e.object];
                if (e.what == kv_event::bundle_done) {
                    fragmentation.push_back(shadow.fragmentation());
                } else if (e.what == kv_event::remove) {
                    if (!o.charged)
                        continue;
                    shadow.release(o);
                    pool->remove(o);
                } else {
                    o.size = e.size;
                    u64 begin = wall_ns();
                    bool placed = pool->put(o, random);
                    latency.push_back(static_cast<float>(wall_ns() - begin));
                    if (!placed)
                        o.charged = 0;
                    failed += !placed;
                    right = (!placed || shadow.claim(o)) && right;
                }
            }
            pool->leave(0);
        });
        right = right && pool->used() == 0;
        std::sort(latency.begin(), latency.end());
        std::sort(fragmentation.begin(), fragmentation.end());
        auto put = [&](const char* metric, const char* unit, bool higher, double value) {
            session_.sample({name, kv_puts, 1, metric, unit, higher}, subject, value, right);
        };
        put("failed", "puts", false, static_cast<double>(failed));
        put("fragmentation", "%", false, 100 * fragmentation[fragmentation.size() / 2]);
        put_latency(put, latency);
    }

    void rate(const std::string& name, int threads, const std::string& subject) {
        pool_shape shape;
        auto pool = find_subject(pool_subjects(), subject).make(shape);
        pool_shadow shadow(shape);
        std::vector<kv_worker> workers;
        auto share = static_cast<std::uint32_t>(std::max(payloads_of_all / threads, 1));
        for (int i = 0; i < threads; i++)
            workers.emplace_back(*pool, share, session_.seed(1000 + static_cast<u64>(i)));
        auto phase = [&](const std::function<void(kv_worker&)>& work) {
            return run_threads(
                threads, [&](int i) { work(workers[static_cast<std::size_t>(i)]); },
                [&](int i) { pool->enter(i); }, [&](int i) { pool->leave(i); });
        };
        phase([](kv_worker& w) { w.fill(); });
        auto times = phase([&](kv_worker& w) { w.run(window_ms_, nullptr); });
        u64 pairs = 0, failed = 0;
        for (auto& w : workers) {
            pairs += w.pairs;
            failed += w.failed;
            w.claim_all(shadow);
        }
        phase([&](kv_worker& w) { w.run(std::max<u64>(window_ms_ / 4, 1), &shadow); });
        phase([](kv_worker& w) { w.drain(); });
        bool right = pool->used() == 0;
        for (const auto& w : workers)
            right = right && w.right;
        auto put = [&](const char* metric, const char* unit, bool higher, double value) {
            session_.sample(
                {name, static_cast<u64>(payloads_of_all), threads, metric, unit, higher}, subject,
                value, right);
        };
        put("rate", "M/s", true,
            static_cast<double>(pairs) / static_cast<double>(times.span) * 1e3);
        put("failed", "%", false, 100 * static_cast<double>(failed) / static_cast<double>(pairs));
    }

    session& session_;
    u64 window_ms_;
};

std::vector<std::string> kvpool_cases(const options& opt) {
    std::vector<std::string> names;
    for (u64 size : segment_mib)
        names.push_back(replay_case(size));
    for (int threads : thread_counts(opt))
        names.push_back(rate_case(threads));
    return names;
}

} // namespace

table kvpool_table() {
    table t;
    t.name = "kvpool";
    t.summary = "objects of 256 B to 12 MiB in segments of memory: a pool of key-value caches";
    t.named_peer = "offset-best";
    t.more = {"lathwork-plain", "offset-mutex", "rbtree-2013"};
    t.subjects.assign(pool_subjects().begin(), pool_subjects().end());
    t.cases = kvpool_cases;
    t.run = [](session& s) { runner(s).run(); };
    t.parameters = {size_parameter("window_ms", "length of a measurement of `rate`",
                                   "60, 250 or 1000 by mode")};
    return t;
}

} // namespace lathbench
