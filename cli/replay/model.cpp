// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "replay/model.hpp"

#include <algorithm>
#include <cmath>

namespace lathcli {

namespace {

constexpr double capacity = 4294967296.0; // sectors
constexpr double half_turn_ns = 60e9 / 7200 / 2;
constexpr std::size_t flash_channels = 8;

double now_ns() {
    return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count());
}

lathwork::sort_options queue_options(const replay_options& o, unsigned flags) {
    return {o.engine, flags, LATH_SIMD_BEST};
}

double distance(std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(a > b ? a - b : b - a);
}

} // namespace

void replay_totals::add(const replay_totals& o) {
    arrivals += o.arrivals;
    back_merges += o.back_merges;
    front_merges += o.front_merges;
    dispatched += o.dispatched;
    sectors += o.sectors;
    order_errors += o.order_errors;
    seek_arrival += o.seek_arrival;
    seek_dispatch += o.seek_dispatch;
    depth_sum += o.depth_sum;
    busy_ns += o.busy_ns;
    end_ns = std::max(end_ns, o.end_ns);
    latency_ms.insert(latency_ms.end(), o.latency_ms.begin(), o.latency_ms.end());
    insert_ns += o.insert_ns;
    extract_ns += o.extract_ns;
    timed_requests += o.timed_requests;
}

replay_device::replay_device(const replay_options& options)
    : options_(options), pool_(options.depth),
      queue_(pool_, queue_options(options, LATH_SORTQ_AGES | LATH_SORTQ_MERGES)),
      arrivals_(options.depth) {
    for (auto& r : pool_)
        free_.push_back(&r);
}

// Whether e went in: false when all requests are in use.
bool replay_device::submit(const trace::event& e, double now) {
    std::uint64_t end = e.sector + e.sectors;
    auto found = queue_.lookup(e.sector, end);
    auto fits = [&](const request* r) {
        return r && std::uint64_t{r->hook.sectors} + e.sectors <= options_.merge_sectors;
    };
    if (found.back && !fits(found.back)) {
        found = queue_.lookup(e.sector, end, true);
        found.back = nullptr;
    }
    auto ms = static_cast<float>(now / 1e6);
    if (fits(found.back)) {
        queue_.merge_back(*found.back, e.sectors);
        arrivals_[found.back->hook.tag].push_back(ms);
        totals_.back_merges++;
        return true;
    }
    if (fits(found.front)) {
        queue_.merge_front(*found.front, e.sector);
        arrivals_[found.front->hook.tag].push_back(ms);
        totals_.front_merges++;
        return true;
    }
    if (free_.empty())
        return false;
    request* r = free_.back();
    free_.pop_back();
    r->hook.sector = e.sector;
    r->hook.sectors = e.sectors;
    r->hook.time = static_cast<std::uint64_t>(now);
    r->arrival_ns = now;
    arrivals_[r->hook.tag].clear();
    queue_.insert_at(found, *r);
    return true;
}

double replay_device::service_ns(const request& r) {
    double bytes = r.hook.sectors * 512.0;
    if (options_.device == device_kind::flash)
        return 80e3 + bytes / 2; // 2 GB/s are 2 bytes a ns
    double d = distance(head_, r.hook.sector);
    double seek =
        d == 0 ? 0 : 0.5e6 + 7.5e6 * std::sqrt(std::min(d / capacity, 1.0)) + half_turn_ns;
    return seek + bytes / 0.2;
}

// A one-way sweep never gives out a sector between the one before and its own that is queued: the
// next of the queue must not lie between them.
void replay_device::note_order(const request& r) {
    if (options_.engine == LATH_SORTQ_FIFO)
        return;
    constexpr std::uint64_t circle = trace::sector_limit - 1;
    request* next = queue_.first();
    if (next &&
        ((next->hook.sector - sweep_floor_) & circle) < ((r.hook.sector - sweep_floor_) & circle))
        totals_.order_errors++;
    sweep_floor_ = r.hook.sector;
}

// The device takes the next request as soon as it can.
void replay_device::dispatch() {
    std::size_t channels = options_.device == device_kind::flash ? flash_channels : 1;
    if (busy_until_.size() == channels) {
        now_ = std::max(now_, busy_until_.top());
        busy_until_.pop();
    }
    totals_.depth_sum += static_cast<double>(queue_.size());
    request* r = queue_.dispatch();
    note_order(*r);
    double took = service_ns(*r), done = now_ + took;
    busy_until_.push(done);
    totals_.dispatched++;
    totals_.sectors += r->hook.sectors;
    totals_.seek_dispatch += distance(head_, r->hook.sector);
    totals_.busy_ns += took / static_cast<double>(channels);
    totals_.end_ns = std::max(totals_.end_ns, done);
    head_ = r->hook.sector + r->hook.sectors;
    totals_.latency_ms.push_back(static_cast<float>((done - r->arrival_ns) / 1e6));
    for (float at : arrivals_[r->hook.tag])
        totals_.latency_ms.push_back(static_cast<float>(done / 1e6) - at);
    free_.push_back(r);
}

// Dispatch all that the device can begin before `now`.
void replay_device::run_until(double now) {
    std::size_t channels = options_.device == device_kind::flash ? flash_channels : 1;
    while (!queue_.empty() && (busy_until_.size() < channels || busy_until_.top() <= now))
        dispatch();
    now_ = std::max(now_, now);
}

void replay_device::push(const trace::event& e, bool timed) {
    totals_.arrivals++;
    totals_.seek_arrival += distance(last_arrival_, e.sector);
    last_arrival_ = e.sector + e.sectors;
    double arrival = timed ? static_cast<double>(e.time_ns) : now_;
    if (timed)
        run_until(arrival);
    // a full scheduler makes the arrival wait
    while (!submit(e, arrival))
        dispatch();
}

void replay_device::finish() {
    while (!queue_.empty())
        dispatch();
}

replay_cost::replay_cost(const replay_options& options)
    : pool_(depth), queue_(pool_, queue_options(options, 0)) {
    for (auto& r : pool_)
        free_.push_back(&r);
}

void replay_cost::push(std::uint64_t sector) {
    request* r = free_.back();
    free_.pop_back();
    r->hook.sector = sector;
    waiting_.push_back(r);
    if (waiting_.size() < batch)
        return;
    double a = now_ns();
    for (request* w : waiting_)
        queue_.insert(*w);
    double b = now_ns();
    waiting_.clear();
    if (queue_.size() < depth)
        return;
    double c = now_ns();
    for (std::size_t i = 0; i < batch; i++)
        free_.push_back(queue_.dispatch());
    double d = now_ns();
    insert_ns_ += b - a;
    extract_ns_ += d - c;
    timed_ += batch;
}

void replay_cost::add_to(replay_totals& totals) const {
    totals.insert_ns += insert_ns_;
    totals.extract_ns += extract_ns_;
    totals.timed_requests += timed_;
}

} // namespace lathcli
