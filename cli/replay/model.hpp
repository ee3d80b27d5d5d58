// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A trace's requests through one engine of the sort queue, in front of a simple model of a device.
#pragma once

#include "trace/trace.hpp"

#include "lathwork/cxx/sortq.hpp"

#include <chrono>
#include <cstdint>
#include <queue>
#include <vector>

namespace lathcli {

enum class device_kind { disk, flash };

struct replay_options {
    lath_sortq_engine engine = LATH_SORTQ_HYBRID;
    device_kind device = device_kind::disk;
    std::uint32_t depth = 256; // requests the scheduler may hold
    std::uint32_t merge_sectors = 1024; // a request grows to at most this
};

// What can be added up over devices.
struct replay_totals {
    std::uint64_t arrivals = 0, back_merges = 0, front_merges = 0, dispatched = 0, sectors = 0;
    std::uint64_t order_errors = 0; // dispatches that broke the sweep; must stay 0
    double seek_arrival = 0, seek_dispatch = 0; // sums of distances, sectors
    double depth_sum = 0; // of the queue, seen by each dispatch
    double busy_ns = 0, end_ns = 0;
    std::vector<float> latency_ms;
    double insert_ns = 0, extract_ns = 0; // of the processor, sums
    std::uint64_t timed_requests = 0;

    void add(const replay_totals& other);
};

// One device. Requests arrive by push(); finish() dispatches the rest.
//
// The disk: one request at a time; a seek of 0.5 ms + 7.5 ms * sqrt(distance / capacity) and half a
// turn of 7200/min, nothing where a request begins at the end of the one before; 200 MB/s; 2^32
// sectors.
// The flash: 8 requests at a time, 80 us each, 2 GB/s.
class replay_device {
public:
    explicit replay_device(const replay_options& options);
    // timed: it arrives at its time; else as soon as the queue takes it.
    void push(const trace::event& e, bool timed);
    void finish();
    replay_totals& totals() { return totals_; }

private:
    struct request {
        lathwork::sort_hook hook;
        double arrival_ns;
        std::uint32_t merged;
    };
    using queue = lathwork::sort_queue<request, &request::hook>;

    bool submit(const trace::event& e, double now);
    void dispatch();
    void run_until(double now);
    double service_ns(const request& r);
    void note_order(const request& r);

    replay_options options_;
    std::vector<request> pool_;
    queue queue_;
    std::vector<request*> free_;
    std::vector<std::vector<float>> arrivals_; // of requests merged into a request, by tag
    std::priority_queue<double, std::vector<double>, std::greater<>> busy_until_;
    double now_ = 0;
    std::uint64_t last_arrival_ = 0, head_ = 0, sweep_floor_ = 0;
    replay_totals totals_;
};

// What the engine itself costs: the same arrivals, without merges, 32 in and 32 out at a depth of
// 128.
class replay_cost {
public:
    static constexpr std::size_t depth = 128, batch = 32;
    explicit replay_cost(const replay_options& options);
    void push(std::uint64_t sector);
    void add_to(replay_totals& totals) const;

private:
    struct request {
        lathwork::sort_hook hook;
    };
    using queue = lathwork::sort_queue<request, &request::hook>;
    std::vector<request> pool_;
    queue queue_;
    std::vector<request*> free_;
    std::vector<request*> waiting_;
    double insert_ns_ = 0, extract_ns_ = 0;
    std::uint64_t timed_ = 0;
};

} // namespace lathcli
