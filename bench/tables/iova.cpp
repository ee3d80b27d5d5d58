// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `iova`: the IOMMU run of the skiplist patches of 2013, without the disks.
//
//   KIND/T    T threads keep 10 I/Os of 20 MiB each mapped (iova/workload.hpp has KIND). Ranges are
//             aligned to their size rounded up to a power of two, and are below 4 GiB where there
//             is room. 24 threads need 4.7 GiB.
//   aging/P   one thread allocates and frees in 4 GiB that stay P percent full (iova/aging.hpp)
//
// rate, p50, p99, p99.9: every thread unmaps one of its I/Os, in random order, and maps a new one
// without waiting, which is the most that the allocator can do. Latency is that of single
// allocations, including whatever else ran on their CPU.
// gbps: the same I/Os through a device of `device_gbps`. It completes them in order; a completed
// one is unmapped, mapped anew and sent again. `off` does all of that except the mapping, so its
// gbps are those of the device, as with the IOMMU switched off, and gbps / gbps of `off` is the
// share that the patch mails state. The default of 28 GB/s is that of two SSDs on PCIe 5.0 x4; the
// two SSDs of 2013 had 2.86 GB/s.
//
// spill: percent of the ranges that found no place below 4 GiB; with 24 threads there must be some.
// waste: percent of the space below 4 GiB that was free when a range went above, mean.
//
// Each sample is one run: fill (no longer than `fill_ms`: slow peers are measured in an emptier
// space), the two measurements, a while in which every page is claimed in a shadow map, a
// comparison of all ranges, and everything freed.
#include "tables/iova/aging.hpp"
#include "tables/iova/workload.hpp"
#include "harness/latency.hpp"
#include "harness/parameters.hpp"
#include "harness/table.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr u64 page = 4096;

struct iova_case {
    std::string name;
    io_kind kind;
    int threads;
    u64 percent; // of an aging case
};

std::vector<iova_case> all_cases(const options& opt) {
    std::vector<iova_case> cases;
    std::vector<int> own = {1, 2, 4, 16, 24};
    if (opt.quick())
        own = {1, 4, 16, 24};
    for (auto [name, kind] : {std::pair{"4k", io_kind::pages},
                              {"mix", io_kind::mix},
                              {"big", io_kind::big},
                              {"frag", io_kind::fragments}})
        for (int threads : threads_of(opt, own))
            cases.push_back({name + ("/" + std::to_string(threads)), kind, threads, 0});
    for (u64 percent : {90, 98})
        cases.push_back({"aging/" + std::to_string(percent), io_kind::mix, 1, percent});
    return cases;
}

u64 pages_per_io(const options& opt) { return size_list(opt, "io_pages", {io_pages})[0]; }

// The threads of one run, which go through its phases together.
class crew {
public:
    crew(iova_allocator* allocator, int threads, const std::function<io_worker(int)>& make)
        : allocator_(allocator), gate_(threads + 1) {
        for (int i = 0; i < threads; i++)
            workers.push_back(make(i));
        for (int i = 0; i < threads; i++)
            threads_.emplace_back([this, i] { serve(i); });
    }
    ~crew() {
        work_ = {};
        gate_.arrive_and_wait();
    }
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    // All threads do work; after ms they are told to stop (0: never). Returns how long it took, in
    // ns.
    u64 phase(u64 ms, std::function<void(io_worker&)> work) {
        work_ = std::move(work);
        stop = false;
        done_ = 0;
        gate_.arrive_and_wait();
        u64 begin = wall_ns();
        while (ms ? wall_ns() - begin < ms * 1000000 && done_ < workers.size() : false)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        u64 took = wall_ns() - begin;
        stop = ms != 0;
        gate_.arrive_and_wait();
        return took;
    }

    std::vector<io_worker> workers;
    std::atomic<bool> stop{false};

private:
    void serve(int i) {
        pin_thread(i);
        if (allocator_)
            allocator_->enter(i);
        for (;;) {
            gate_.arrive_and_wait();
            if (!work_)
                break;
            work_(workers[static_cast<std::size_t>(i)]);
            done_++;
            gate_.arrive_and_wait();
        }
        if (allocator_)
            allocator_->leave(i);
    }

    iova_allocator* allocator_;
    std::barrier<> gate_;
    std::atomic<std::size_t> done_{0};
    std::function<void(io_worker&)> work_;
    std::vector<std::jthread> threads_;
};

struct figures {
    double rate = 0, gbps = 0, spill = 0, waste = 0; // M pairs/s, GB/s, percent
    std::vector<float> latency;
    bool right = true, filled = true;
};

class runner {
public:
    explicit runner(session& s) : session_(s) {
        const options& opt = s.opt();
        window_ms_ = size_list(opt, "window_ms",
                               {opt.quick()  ? 60u
                                : opt.full() ? 1000u
                                             : 250u})[0];
        fill_ms_ = size_list(opt, "fill_ms", {opt.quick() ? 400u : opt.full() ? 10000u : 1500u})[0];
        device_gbps_ = size_list(opt, "device_gbps", {28})[0];
        aging_requests_ = size_list(opt, "aging_requests",
                                    {opt.quick()  ? 20000u
                                     : opt.full() ? 1000000u
                                                  : 100000u})[0];
    }

    void run() {
        session_.remark("gbps: through a device of " + std::to_string(device_gbps_) +
                        " GB/s shared by all threads");
        each_wanted(session_, all_cases(session_.opt()),
                    [&](const iova_case& c) { c.percent ? run_aging(c) : run_case(c); });
    }

private:
    void run_case(const iova_case& c) {
        std::set<std::string> half_full;
        session_.repeat(c.name, iova_subjects(), session_.subjects(),
                        [&](const iova_subject& s, int) {
                            figures f = run_once(s, c.kind, c.threads);
                            record(c, s, f);
                            if (!f.filled)
                                half_full.insert(s.name);
                        });
        for (const auto& subject : half_full)
            session_.remark(c.name + ": " + subject + " was still filling after " +
                            std::to_string(fill_ms_) +
                            " ms: its figures are those of an emptier space");
    }

    figures run_once(const iova_subject& subject, io_kind kind, int threads) {
        iova_space space;
        auto allocator = subject.make ? subject.make(space) : nullptr;
        u64 pages = pages_per_io(session_.opt());
        figures f;
        {
            crew all(allocator.get(), threads, [&](int i) {
                return io_worker(allocator.get(), space, kind, pages,
                                 session_.seed(static_cast<u64>(i)));
            });
            f.filled = fill(all);
            measure(all, f);
            drive(all, f, pages);
            if (allocator)
                verify(all, f, space);
            all.phase(0, [](io_worker& w) { w.drain(); });
        }
        f.right = f.right && (!allocator || allocator->used() == 0);
        return f;
    }

    bool fill(crew& all) const {
        all.phase(fill_ms_, [&](io_worker& w) { w.fill(all.stop); });
        bool filled = true;
        for (auto& w : all.workers) {
            filled = filled && w.filled();
            w.take_counts();
        }
        return filled;
    }

    void measure(crew& all, figures& f) const {
        u64 took = all.phase(window_ms_, [&](io_worker& w) { w.saturate(all.stop); });
        io_worker::counts sum;
        for (auto& w : all.workers) {
            auto c = w.take_counts();
            sum.mapped += c.mapped;
            sum.above += c.above;
            sum.failed += c.failed;
            auto latency = w.take_latency();
            f.latency.insert(f.latency.end(), latency.begin(), latency.end());
        }
        std::sort(f.latency.begin(), f.latency.end());
        f.rate = static_cast<double>(sum.mapped) / static_cast<double>(took) * 1e3;
        if (sum.mapped)
            f.spill = 100 * static_cast<double>(sum.above) / static_cast<double>(sum.mapped);
        f.right = f.right && sum.failed == 0; // the space is larger than what is asked for
    }

    void drive(crew& all, figures& f, u64 pages) const {
        double bytes = static_cast<double>(pages * page);
        io_device device(wall_ns(), static_cast<u64>(bytes / static_cast<double>(device_gbps_)));
        all.phase(window_ms_, [&](io_worker& w) { w.drive(all.stop, device); });
        f.gbps = device.busy(wall_ns()) * static_cast<double>(device_gbps_);
    }

    void verify(crew& all, figures& f, const iova_space& space) const {
        std::vector<io_range> held;
        page_owners owners(space);
        for (const auto& w : all.workers)
            w.held(held);
        for (const auto& r : held)
            f.right = owners.claim(r.first, r.pages) && f.right;
        all.phase(std::max<u64>(window_ms_ / 4, 1),
                  [&](io_worker& w) { w.check(all.stop, owners); });
        held.clear();
        double low_free = 0;
        u64 above = 0;
        for (auto& w : all.workers) {
            auto c = w.take_counts();
            above += c.above;
            low_free += c.low_free;
            f.right = f.right && w.right();
            w.held(held);
        }
        f.right = disjoint(held) && f.right;
        if (above)
            f.waste = 100 * low_free / static_cast<double>(above);
    }

    void record(const iova_case& c, const iova_subject& subject, const figures& f) {
        auto put = [&](const char* metric, const char* unit, bool higher, double value) {
            session_.sample({c.name, pages_per_io(session_.opt()), c.threads, metric, unit, higher},
                            subject.name, value, f.right);
        };
        put("gbps", "GB/s", true, f.gbps);
        if (!subject.make)
            return;
        put("rate", "M/s", true, f.rate);
        put_latency(put, f.latency);
        put("spill", "%", false, f.spill);
        put("waste", "%", false, f.waste);
    }

    void run_aging(const iova_case& c) {
        aging_options how;
        how.percent = c.percent;
        how.requests = aging_requests_;
        how.limit_ms = 8 * window_ms_;
        std::set<std::string> cut;
        auto names = session_.subjects();
        std::erase_if(names, [&](const std::string& subject) {
            if (find_subject(iova_subjects(), subject).make)
                return false;
            session_.not_available(c.name, subject, "maps nothing");
            return true;
        });
        session_.repeat(c.name, iova_subjects(), names, [&](const iova_subject& s, int) {
            aging_result r = age(s, how, session_.seed(c.percent));
            auto put = [&](const char* metric, const char* unit, bool higher, double value) {
                session_.sample({c.name, how.requests, 1, metric, unit, higher}, s.name, value,
                                r.right);
            };
            put_latency(put, r.latency);
            put("max", "ns", false, static_cast<double>(r.latency.back()));
            put("used", "%", true, r.used);
            put("failed", "%", false, r.failed);
            put("missed", "%", false, r.missed);
            put("fragmentation", "%", false, r.fragmentation);
            put("unusable", "%", false, r.unusable);
            if (r.cut)
                cut.insert(s.name);
        });
        for (const auto& subject : cut)
            session_.remark(c.name + ": " + subject + " did fewer requests than the others in " +
                            std::to_string(how.limit_ms) + " ms");
    }

    session& session_;
    u64 window_ms_, fill_ms_, device_gbps_, aging_requests_;
};

} // namespace

table iova_table() {
    return {.name = "iova",
            .summary =
                "address ranges for IOMMU mappings: I/Os of 20 MiB mapped and unmapped by threads",
            .named_peer = "maple",
            .subjects = listed(iova_subjects()),
            .more = {"lathwork-arenas", "lathwork-plain", "rbtree-6.1", "rbtree-gaps", "bitmap",
                     "buddy", "icl", "absl-btree"},
            .cases = names_of<all_cases>,
            .run = run_with<runner>,
            .parameters = {
                size_parameter("io_pages", "pages of 4 KiB per I/O", "5120: 20 MiB"),
                size_parameter("window_ms", "length of a measurement", "60, 250 or 1000 by mode"),
                size_parameter("fill_ms", "longest time to fill the space",
                               "400, 1500 or 10000 by mode"),
                size_parameter("device_gbps", "bandwidth of the modelled device, GB/s", "28"),
                size_parameter("aging_requests", "timed requests of an aging case",
                               "20000, 100000 or 1000000 by mode"),
            }};
}

} // namespace lathbench
