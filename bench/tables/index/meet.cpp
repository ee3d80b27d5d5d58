// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Loads in which threads meet: at the end of the key order, in a few keys, in one leaf, in a small
// map. tests/simulate has loads of the same names.
//
// Each sample is verified. A map that grows has exactly its keys, in order, with their values. An
// updated key has the last value that one of the threads wrote.
#include "block.hpp"

#include "harness/latency.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <malloc.h>
#include <utility>

namespace lathbench {

namespace {

// The cases LOAD/N[/T]. A load grows its own map in each sample, or runs on maps that stay.
enum class load { tail, fill, grow, insert, hot, one_key, one_leaf, get, update };

struct meet_case {
    const char* name;
    load does;
    bool each_call; // single calls are timed; else the whole
    std::vector<std::uint64_t> sizes, quick_sizes;
};

constexpr std::uint64_t leaf_keys = 40; // fewer than a leaf of lathwork has

const std::vector<meet_case>& all_cases() {
    static const std::vector<meet_case> all = {
        {"tail", load::tail, false, {2000000}, {100000}},
        {"hot", load::hot, false, {1000000}, {100000}},
        {"one-key", load::one_key, false, {1000000}, {100000}},
        {"one-leaf", load::one_leaf, false, {leaf_keys}, {leaf_keys}},
        {"fill", load::fill, false, {10000, 200000, 10000000}, {10000, 200000}},
        {"grow", load::grow, false, {200000}, {200000}},
        {"latency-get", load::get, true, {1000000}, {100000}},
        {"latency-insert", load::insert, true, {1000000}, {100000}},
        {"latency-update", load::update, true, {1000000}, {100000}},
        {"latency-tail", load::tail, true, {1000000}, {100000}},
        {"latency-one-key", load::one_key, true, {1000000}, {100000}},
    };
    return all;
}

std::vector<std::uint64_t> sizes_of(const meet_case& c, const options& opt) {
    if (opt.n.empty())
        return opt.quick() ? c.quick_sizes : c.sizes;
    if (c.does == load::one_leaf)
        return {std::min(opt.n.front(), leaf_keys)};
    return opt.n;
}

// 1, 2, 4, 8, 16 where there are processors; single calls are timed with one thread and with all.
std::vector<int> threads_of(const meet_case& c, const options& opt) {
    if (!opt.threads.empty())
        return opt.threads;
    std::vector<int> threads = {1};
    for (int t : {2, 4, 8, 16})
        if (!c.each_call && t <= usable_cpus())
            threads.push_back(t);
    if (c.each_call && usable_cpus() > 1)
        threads.push_back(usable_cpus());
    return threads;
}

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

// Draws ordinals of which few are frequent: zipf with exponent .99, by the distribution function of
// a continuous one.
class zipf_99 {
public:
    explicit zipf_99(std::uint64_t n)
        : n_(n), reach_(std::pow(static_cast<double>(n) + 1, 0.01) - 1) {}
    std::uint64_t operator()(std::mt19937_64& random) const {
        double u = static_cast<double>(random() >> 11) / 0x1p53;
        return std::min(n_ - 1, static_cast<std::uint64_t>(std::pow(1 + u * reach_, 100) - 1));
    }

private:
    std::uint64_t n_;
    double reach_;
};

// A value per thread. No two of them share a cache line.
template <class T>
class per_thread {
public:
    explicit per_thread(int threads, std::size_t reserve = 0)
        : all_(static_cast<std::size_t>(threads)) {
        if constexpr (requires(T t) { t.reserve(reserve); })
            for (auto& each : all_)
                each.value.reserve(reserve);
    }
    T& operator[](int thread) { return all_[static_cast<std::size_t>(thread)].value; }
    T sum() const {
        T total = {};
        for (const auto& each : all_)
            total += each.value;
        return total;
    }
    void gather(T& into) const {
        for (const auto& each : all_)
            into.insert(into.end(), each.value.begin(), each.value.end());
    }

private:
    struct alignas(64) slot {
        T value = {};
    };
    std::vector<slot> all_;
};

template <class Call>
auto clocked(std::vector<float>& times, const Call& call) {
    std::uint64_t begin = ticks();
    auto result = call();
    times.push_back(static_cast<float>(ticks() - begin));
    return result;
}

class meet_block : public map_block {
public:
    meet_block(session& s, const key_source& source, std::uint64_t n, int threads,
               std::vector<std::string> names)
        : map_block(s, "", n, threads, std::move(names)), source_(source) {
        for (const auto& c : all_cases())
            if (contains(sizes_of(c, s.opt()), n) && contains(threads_of(c, s.opt()), threads) &&
                wants(c.name))
                (grows(c.does) ? growing_ : staying_).push_back(&c);
        operations_ = s.opt().quick() ? 100000 : 1000000;
        if (!s.opt().n.empty())
            operations_ = std::min(operations_, std::max<std::uint64_t>(n * 10, 1000));
    }

    void run() {
        for (const meet_case* c : growing_)
            session_.each_interleaved(
                session_.reps(), names_,
                [&](const std::string& subject, int rep) { grow(*c, subject, rep); });
        if (staying_.empty() || session_.stopped())
            return;
        for (const auto& subject : names_)
            maps_.push_back(filled(subject));
        for (int rep = 0; rep < session_.reps() && !session_.stopped(); rep++)
            repetition(rep);
        for (auto& c : maps_)
            if (!session_.stopped() && !has_exactly(c, sorted(n_), false))
                session_.wrong(c.name, case_name(staying_.front()->name) + ": not its keys");
    }

private:
    static bool grows(load l) {
        return l == load::tail || l == load::fill || l == load::grow || l == load::insert;
    }

    std::vector<std::uint64_t> keys(std::uint64_t from, std::uint64_t to) const {
        return workload(source_, 0).ordinals(from, to - from).keys;
    }

    // The first `count` keys in order.
    const std::vector<std::uint64_t>& sorted(std::uint64_t count) {
        if (sorted_.size() != count) {
            sorted_ = keys(0, count);
            std::sort(sorted_.begin(), sorted_.end());
        }
        return sorted_;
    }

    // Has one thread do something with the map.
    void alone(filled_map& c, const std::function<void()>& body) {
        timed(c, 1, [&](std::size_t, std::size_t to, int) {
            if (to)
                body();
        });
    }

    // A map of n keys with the values of updates number 0.
    filled_map filled(const std::string& subject) {
        filled_map c = make(subject);
        show("map", 0, subject);
        auto first = keys(0, n_);
        std::vector<meet_call> marks;
        for (auto key : first)
            marks.push_back({key, meet_value(key, 0), true});
        std::uint64_t done = 0;
        alone(c, [&] {
            done = c.map->insert(first.data(), first.size());
            done += c.map->meet(marks.data(), marks.size());
        });
        if (done != 2 * n_)
            session_.wrong(subject, case_name("map") + ": keys are missing");
        c.live = {0, n_};
        return c;
    }

    // ---- maps that grow ----

    void grow(const meet_case& what, const std::string& subject, int rep) {
        // A small map is filled several times in a sample.
        std::uint64_t maps =
            what.does == load::fill ? std::clamp<std::uint64_t>(100000 / n_, 1, 10) : 1;
        double ns = 0;
        bool right = true;
        std::vector<float> calls;
        for (std::uint64_t i = 0; i < maps && right; i++) {
            malloc_trim(0);
            filled_map c = make(subject);
            show(what.name, rep, subject);
            ns += what.does == load::tail ? append(c, what, calls, right)
                                          : insert_own(c, what, calls, right);
        }
        if (what.each_call)
            record_calls(what, subject, calls, right);
        else
            record(what.name, subject, ns / static_cast<double>(maps), right);
    }

    // All threads insert the next key of one counter.
    double append(filled_map& c, const meet_case& what, std::vector<float>& calls, bool& right) {
        alignas(64) std::atomic<std::uint64_t> next = 0;
        auto key = [](std::uint64_t i) { return (i + 1) * 16; };
        per_thread<std::uint64_t> inserted(threads_);
        per_thread<std::vector<float>> times(threads_, n_);
        double ns = timed(c, n_, [&](std::size_t, std::size_t, int t) {
            std::uint64_t done = 0;
            for (std::uint64_t i; (i = next.fetch_add(1)) < n_;) {
                std::uint64_t one = key(i);
                if (what.each_call)
                    done += clocked(times[t], [&] { return c.map->insert(&one, 1); });
                else
                    done += c.map->insert(&one, 1);
            }
            inserted[t] = done;
        });
        times.gather(calls);
        std::vector<std::uint64_t> all(n_);
        for (std::uint64_t i = 0; i < n_; i++)
            all[i] = key(i);
        right = inserted.sum() == n_ && has_exactly(c, all, true);
        return ns;
    }

    // Each thread inserts its part of new uniform keys: into nothing, or a tenth more.
    double insert_own(filled_map& c, const meet_case& what, std::vector<float>& calls,
                      bool& right) {
        std::uint64_t before = what.does == load::fill ? 0 : n_,
                      after = before + (before ? std::max<std::uint64_t>(n_ / 10, 1) : n_);
        auto old = keys(0, before), fresh = keys(before, after);
        std::uint64_t done = 0;
        if (before)
            alone(c, [&] { done = c.map->insert(old.data(), old.size()); });
        double ns = 0;
        if (what.each_call) {
            per_thread<std::uint64_t> inserted(threads_);
            per_thread<std::vector<float>> times(threads_, fresh.size());
            timed(c, fresh.size(), [&](std::size_t from, std::size_t to, int t) {
                for (std::size_t i = from; i < to; i++)
                    inserted[t] += clocked(times[t], [&] { return c.map->insert(&fresh[i], 1); });
            });
            times.gather(calls);
            done += inserted.sum();
        } else {
            ns = change_keys(c, &map_bench::insert, fresh, done);
        }
        right = done == after && has_exactly(c, sorted(after), true);
        return ns;
    }

    // Whether the map has these keys in this order and no others, and with `values` those of
    // value_of(). Without a scan: whether it has (a million of) them.
    bool has_exactly(filled_map& c, const std::vector<std::uint64_t>& all, bool values) {
        constexpr std::size_t length = 100, most = 1000000;
        bool right = true;
        alone(c, [&] {
            std::size_t step = c.can.scan ? length : std::max<std::size_t>(all.size() / most, 1);
            for (std::size_t i = 0; right && i < all.size(); i += step) {
                tally expected, got;
                for (std::size_t k = i; k < std::min(i + (c.can.scan ? length : 1), all.size());
                     k++)
                    expected.add(all[k], 0);
                std::uint64_t from = i == 0 && c.can.scan ? 0 : all[i];
                got =
                    c.can.scan ? c.map->scan(&from, 1, expected.entries) : c.map->lookup(&from, 1);
                right = got.entries == expected.entries && got.keys == expected.keys &&
                        (!values || got.pairs_fit());
            }
            std::uint64_t behind = all.back() + 1;
            right = right && (!c.can.scan || c.map->scan(&behind, 1, 1).entries == 0);
        });
        return right;
    }

    // ---- maps that stay ----

    void warm_up(filled_map& c, int rep) override {
        workload load(source_, session_.seed(90000 + static_cast<std::uint64_t>(rep)));
        key_stream s = load.uniform(c.live, std::min<std::size_t>(n_, operations_));
        timed(c, s.keys.size(), [&](std::size_t from, std::size_t to, int) {
            c.map->lookup(s.keys.data() + from, to - from);
        });
    }

    void cases(int rep) override {
        for (const meet_case* what : staying_)
            each(what->name, rep, [&](filled_map& c) { meet(c, *what, rep); });
    }

    void meet(filled_map& c, const meet_case& what, int rep) {
        auto calls = make_calls(what, rep);
        per_thread<std::uint64_t> right(threads_);
        per_thread<std::vector<float>> times(threads_, what.each_call ? calls.size() : 0);
        double ns = timed(c, calls.size(), [&](std::size_t from, std::size_t to, int t) {
            if (!what.each_call)
                right[t] = c.map->meet(calls.data() + from, to - from);
            else
                for (std::size_t i = from; i < to; i++)
                    right[t] += clocked(times[t], [&] { return c.map->meet(&calls[i], 1); });
        });
        bool all_right = right.sum() == calls.size() && last_updates_stay(c, calls);
        if (!what.each_call)
            return record(what.name, c.name, ns, all_right);
        std::vector<float> all;
        times.gather(all);
        record_calls(what, c.name, all, all_right);
    }

    // The calls of all threads, each of which has its part of them.
    std::vector<meet_call> make_calls(const meet_case& what, int rep) {
        std::uint64_t count = operations_, turn = static_cast<std::uint64_t>(rep) * 16 +
                                                  static_cast<std::uint64_t>(what.does) + 1;
        std::mt19937_64 random(session_.seed(turn + 600));
        zipf_99 hot(n_);
        const auto& order = sorted(n_);
        std::vector<meet_call> calls(count);
        for (std::uint64_t i = 0; i < count; i++) {
            std::uint64_t key = order[n_ / 2];
            if (what.does == load::hot)
                key = source_.key(hot(random));
            else if (what.does == load::one_leaf)
                key = order[part_of(i, count) % n_];
            else if (what.does != load::one_key)
                key = source_.key(random() % n_);
            bool update = what.does == load::hot ? random() % 2 : what.does != load::get;
            calls[i] = {key, meet_value(key, turn * count + i), update};
        }
        return calls;
    }

    // Whether each updated key has the value that one of the threads wrote last.
    bool last_updates_stay(filled_map& c, const std::vector<meet_call>& calls) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> updates; // key, number of the call
        for (std::size_t i = 0; i < calls.size(); i++)
            if (calls[i].update)
                updates.emplace_back(calls[i].key, i);
        std::sort(updates.begin(), updates.end());
        bool right = true;
        alone(c, [&] {
            for (std::size_t i = 0, next; right && i < updates.size(); i = next) {
                std::uint64_t key = updates[i].first, value = c.map->lookup(&key, 1).values;
                bool found = false;
                for (next = i; next < updates.size() && updates[next].first == key; next++) {
                    auto call = updates[next].second;
                    bool last = next + 1 == updates.size() || updates[next + 1].first != key ||
                                part_of(updates[next + 1].second, calls.size()) !=
                                    part_of(call, calls.size());
                    found = found || (last && calls[call].value == value);
                }
                right = found;
            }
        });
        return right;
    }

    // ---- single calls ----

    void record_calls(const meet_case& what, const std::string& subject, std::vector<float>& calls,
                      bool right) {
        const tick_scale& scale = ticks_scale();
        for (auto& call : calls)
            call *= static_cast<float>(scale.ns);
        std::sort(calls.begin(), calls.end());
        auto put = [&](const char* metric, const char* unit, bool, double value) {
            record(what.name, subject, value, right, metric, unit);
        };
        put_latency(put, calls, scale.overhead * scale.ns);
        if (!calls.empty())
            put("longest", "ns", false, static_cast<double>(calls.back()));
    }

    const key_source& source_;
    std::vector<const meet_case*> growing_, staying_;
    std::vector<std::uint64_t> sorted_;
};

} // namespace

std::vector<std::uint64_t> meet_sizes(const options& opt) {
    std::vector<std::uint64_t> sizes;
    for (const auto& c : all_cases())
        for (auto n : sizes_of(c, opt))
            sizes.push_back(n);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

std::vector<int> meet_threads(const options& opt) {
    std::vector<int> threads;
    for (const auto& c : all_cases())
        for (int t : threads_of(c, opt))
            if (!contains(threads, t))
                threads.push_back(t);
    return threads;
}

std::vector<std::string> meet_cases(const options& opt) {
    std::vector<std::string> names;
    for (const auto& c : all_cases())
        for (auto n : sizes_of(c, opt))
            for (int t : threads_of(c, opt))
                names.push_back(std::string(c.name) + "/" + std::to_string(n) +
                                (t == 1 ? "" : "/" + std::to_string(t)));
    return names;
}

void run_meet(session& s, const key_source& source, std::uint64_t n, int threads,
              const std::vector<std::string>& names) {
    meet_block(s, source, n, threads, names).run();
}

} // namespace lathbench
