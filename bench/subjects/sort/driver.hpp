// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The timed loops of table `sort`, templates over the queue: the compiler can inline the calls of a
// queue that is a header, as it does for its users.
//
// A queue Q has
//
//   Q::request                      256 bytes; the first cache line has the key and the hook
//   Q(plan, pool, count, arguments...)    pool: all requests there will be
//   void push(request *);           request *pop();
//   static void set_key(request *, u64 key);
//   static u64 touch(const request *);    a word of the cache line that the hook is in
//   void push_batch(request **, u32 n);   both or neither: one call for many requests
//   void pop_batch(request **, u32 n);
//
// The key is sweep << 48 | sector: a request behind the head belongs to the next sweep. All
// subjects get the same keys and must return the requests in the same order.
#pragma once

#include "sort_subject.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <random>

namespace lathbench {

#define LATH_BENCH_CALL __attribute__((noinline))

// Times of batches. A batch that took more than 12 times the median was interrupted and is left
// out.
class batch_times {
public:
    void add(std::uint64_t t, std::size_t requests) {
        samples_.push_back({static_cast<double>(t), static_cast<double>(requests)});
    }
    double per_request_ns() const {
        if (samples_.empty())
            return 0;
        std::vector<double> sorted;
        for (auto& s : samples_)
            sorted.push_back(s.ticks / s.requests);
        std::nth_element(sorted.begin(), sorted.begin() + static_cast<long>(sorted.size() / 2),
                         sorted.end());
        double limit = sorted[sorted.size() / 2] * 12, sum = 0, n = 0;
        for (auto& s : samples_)
            if (s.ticks <= limit * s.requests + 4000) {
                sum += s.ticks - ticks_scale().overhead;
                n += s.requests;
            }
        return sum * ticks_scale().ns / n;
    }

private:
    struct sample {
        double ticks, requests;
    };
    std::vector<sample> samples_;
};

constexpr std::uint64_t sector_mask = (std::uint64_t{1} << 48) - 1;

inline std::uint64_t sweep_key(std::uint64_t head, std::uint64_t sector) {
    std::uint64_t key = (head & ~sector_mask) | sector;
    return key < head ? key + sector_mask + 1 : key;
}

// The requests, at shuffled addresses. They are used again in the order in which they came back.
template <class Request>
class request_ring {
public:
    explicit request_ring(std::size_t n)
        : memory_(static_cast<Request*>(std::aligned_alloc(64, n * sizeof(Request)))), ring_(n) {
        if (!memory_)
            throw std::bad_alloc();
        std::memset(static_cast<void*>(memory_.get()), 0, n * sizeof(Request));
        std::iota(ring_.begin(), ring_.end(), 0u);
        std::shuffle(ring_.begin(), ring_.end(), std::mt19937(12345));
    }
    Request* base() { return memory_.get(); }
    Request* take() {
        Request* r = &memory_.get()[ring_[head_]];
        head_ = head_ + 1 == ring_.size() ? 0 : head_ + 1;
        return r;
    }
    void give(Request* r) {
        ring_[tail_] = static_cast<std::uint32_t>(r - memory_.get());
        tail_ = tail_ + 1 == ring_.size() ? 0 : tail_ + 1;
    }

private:
    struct release {
        void operator()(Request* p) const { std::free(p); }
    };
    std::unique_ptr<Request, release> memory_;
    std::vector<std::uint32_t> ring_;
    std::size_t head_ = 0, tail_ = 0;
};

// What most queues have in common: the request has a member `key` in the line of its hook, and the
// queue needs to know neither the plan nor the pool.
template <class Request>
class keyed_queue {
public:
    using request = Request;
    static void set_key(request* r, std::uint64_t key) { r->key = key; }
    static std::uint64_t touch(const request* r) { return r->key; }
    keyed_queue() = default;
    keyed_queue(const sort_plan&, request*, std::uint32_t) {}
};

template <class Q>
concept takes_batches = requires(Q q, typename Q::request** r) { q.push_batch(r, 1u); };

// Timed loops are separate functions, so that the code around them takes none of their registers.
template <class Q>
LATH_BENCH_CALL void push_all(Q& q, typename Q::request** r, std::uint32_t n) {
    if constexpr (takes_batches<Q>)
        q.push_batch(r, n);
    else
        for (std::uint32_t i = 0; i < n; i++)
            q.push(r[i]);
}

// Reads each request after its pop, as a driver would.
template <class Q>
LATH_BENCH_CALL std::uint64_t pop_all(Q& q, typename Q::request** r, std::uint32_t n) {
    std::uint64_t sum = 0;
    if constexpr (takes_batches<Q>) {
        q.pop_batch(r, n);
        for (std::uint32_t i = 0; i < n; i++)
            sum += Q::touch(r[i]);
    } else {
        for (std::uint32_t i = 0; i < n; i++) {
            r[i] = q.pop();
            sum += Q::touch(r[i]);
        }
    }
    return sum;
}

// For sort_subject::run. The arguments are passed on to the queue.
template <class Q, class... A>
sort_result run_sort(const sort_plan& plan, const A&... arguments) {
    using request = typename Q::request;
    static_assert(sizeof(request) == 256);
    request_ring<request> ring(plan.depth + plan.batch + 8);
    auto queue = std::make_unique<Q>(plan, ring.base(), plan.depth + plan.batch + 8, arguments...);
    std::uint64_t head = 0, sum = 0;
    std::size_t at = 0;
    const auto& in = *plan.sectors;
    auto next_key = [&] {
        std::uint64_t s = in[at];
        at = at + 1 == in.size() ? 0 : at + 1;
        return plan.lowest ? s : sweep_key(head, s);
    };
    std::vector<std::uint64_t> first;
    for (std::uint32_t i = 0; i < plan.depth - plan.batch; i++)
        first.push_back(next_key());
    std::sort(first.begin(), first.end());
    for (auto key : first) {
        request* r = ring.take();
        Q::set_key(r, key);
        queue->push(r);
    }
    batch_times inserts, extracts;
    std::vector<request*> batch(plan.batch);
    std::uint64_t warm = std::max<std::uint64_t>(plan.operations / 4, plan.depth * 4ull + 4096);
    for (std::uint64_t done = 0; done < warm + plan.operations; done += plan.batch) {
        for (auto& r : batch) {
            r = ring.take();
            Q::set_key(r, next_key());
        }
        std::uint64_t a = ticks();
        push_all(*queue, batch.data(), plan.batch);
        std::uint64_t b = ticks();
        std::uint64_t seen = pop_all(*queue, batch.data(), plan.batch);
        std::uint64_t c = ticks();
        for (auto* r : batch) {
            sum = sum * 31 + r->key;
            seen -= Q::touch(r);
            ring.give(r);
        }
        if (!plan.lowest)
            head = batch.back()->key;
        sum += seen; // 0
        if (done >= warm) {
            inserts.add(b - a, plan.batch);
            extracts.add(c - b, plan.batch);
        }
    }
    for (std::uint32_t i = 0; i < plan.depth - plan.batch; i++)
        queue->pop();
    return {inserts.per_request_ns(), extracts.per_request_ns(), sum};
}

template <class Q>
sort_subject sort_subject_of(const std::string& name, const std::string& note = "") {
    return {{name, note, ""}, run_sort<Q>, {}};
}

// A queue P of the cases path/... has P::request, P(plan, pool, count), set_key() and key(), and
//
//   bool submit(request *, u32 limit);    true: merged into a queued request, and free again
//   request *dispatch();                  request *oldest();
template <class P>
LATH_BENCH_CALL bool one_submit(P& p, typename P::request* r, std::uint32_t limit) {
    return p.submit(r, limit);
}
template <class P>
LATH_BENCH_CALL typename P::request* one_dispatch(P& p) {
    return p.dispatch();
}
template <class P>
LATH_BENCH_CALL typename P::request* one_oldest(P& p) {
    return p.oldest();
}

template <class P>
void take_batch(std::vector<typename P::request*>& batch, request_ring<typename P::request>& ring,
                const path_plan& plan, std::uint64_t head, std::size_t& at) {
    const auto& in = *plan.sectors;
    for (auto& r : batch) {
        r = ring.take();
        P::set_key(r, sweep_key(head, in[at]));
        at = at + 1 == in.size() ? 0 : at + 1;
    }
}

template <class P>
path_result run_path(const path_plan& plan) {
    using request = typename P::request;
    static_assert(sizeof(request) == 256);
    std::size_t count = plan.depth + plan.batch + 8;
    request_ring<request> ring(count);
    auto path = std::make_unique<P>(plan, ring.base(), static_cast<std::uint32_t>(count));
    std::vector<request*> batch(plan.batch);
    std::vector<char> merged(plan.batch);
    batch_times submits, dispatches, expiries;
    path_result result;
    std::uint64_t head = 0, queued = 0;
    std::size_t at = 0;
    std::uint64_t warm = plan.operations / 4;
    while (result.submitted < warm + plan.operations) {
        take_batch<P>(batch, ring, plan, head, at);
        bool timed = result.submitted >= warm;
        std::uint64_t a = ticks();
        for (std::uint32_t i = 0; i < plan.batch; i++)
            merged[i] = one_submit(*path, batch[i], plan.limit);
        std::uint64_t b = ticks();
        if (timed)
            submits.add(b - a, plan.batch);
        for (std::uint32_t i = 0; i < plan.batch; i++) {
            if (merged[i])
                ring.give(batch[i]);
            result.merged += merged[i] != 0;
            queued += !merged[i];
        }
        result.submitted += plan.batch;
        if (queued < plan.depth)
            continue;
        std::uint32_t old = std::max(plan.batch / 16, 1u), n = plan.batch - old;
        std::uint64_t c = ticks();
        for (std::uint32_t i = 0; i < n; i++)
            batch[i] = one_dispatch(*path);
        std::uint64_t d = ticks();
        head = P::key(batch[n - 1]);
        for (std::uint32_t i = 0; i < old; i++)
            batch[n + i] = one_oldest(*path);
        std::uint64_t e = ticks();
        if (timed) {
            dispatches.add(d - c, n);
            expiries.add(e - d, old);
        }
        for (auto* r : batch) {
            result.checksum = result.checksum * 31 + P::key(r);
            ring.give(r);
        }
        queued -= plan.batch;
    }
    while (queued--)
        one_dispatch(*path);
    result.submit_ns = submits.per_request_ns();
    result.dispatch_ns = dispatches.per_request_ns();
    result.expire_ns = expiries.per_request_ns();
    return result;
}

} // namespace lathbench
