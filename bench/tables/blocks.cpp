// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `blocks`: 64 KiB on a disk whose free space is in pieces of 4 KiB, the requests for which
// Ceph's BlueStore took 70 to 100 ms (pull request 45755 of ceph/ceph).
//
//   64k/N   N free runs (tables/blocks/device.hpp). A request is for 64 KiB at a multiple of 64
//           KiB; a quarter of all such places is kept taken, and a random one is freed before each
//           request.
//   mix/N   three of four requests are for 4 to 60 KiB anywhere instead, of which N / 10 are held.
//           Such requests also take pieces of the places for 64 KiB.
//
// p50, p99, p99.9, max: latency of a request. failed: percent of requests without a place. missed:
// percent that failed although there was a place. bytes: memory per free run of the empty disk,
// after the requests. Every answer is checked against a bitmap.
#include "tables/blocks/device.hpp"
#include "harness/latency.hpp"
#include "harness/parameters.hpp"
#include "harness/table.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

struct block_case {
    std::string name;
    u64 n;
    bool mixed;
};

std::vector<block_case> all_cases(const options& opt) {
    std::vector<block_case> cases;
    for (u64 n : sizes_of(opt, {100000}, {100000, 1000000}, {100000, 1000000}))
        for (bool mixed : {false, true})
            cases.push_back({(mixed ? "mix/" : "64k/") + std::to_string(n), n, mixed});
    return cases;
}

class runner {
public:
    explicit runner(session& s) : session_(s) {
        const options& opt = s.opt();
        work_.requests = opt.quick() ? 20000 : opt.full() ? 1000000 : 100000;
        work_.ms = size_list(opt, "window_ms", {opt.quick() ? 60u : opt.full() ? 4000u : 500u})[0];
    }

    void run() {
        each_wanted(session_, all_cases(session_.opt()), [&](const block_case& c) { run_case(c); });
    }

private:
    void run_case(const block_case& c) {
        block_device device = fragmented_device(c.n, session_.seed(c.n));
        work_.mixed = c.mixed;
        std::set<std::string> cut;
        session_.repeat(
            c.name, blocks_subjects(), session_.subjects(), [&](const blocks_subject& s, int rep) {
                block_result r =
                    work_on(s, device, work_, session_.seed(c.n + static_cast<u64>(rep) + 1));
                record(c, s.name, r);
                if (r.cut)
                    cut.insert(s.name);
            });
        for (const auto& subject : cut)
            session_.remark(c.name + ": " + subject + " did fewer requests than the others in " +
                            std::to_string(work_.ms) + " ms");
    }

    void record(const block_case& c, const std::string& subject, const block_result& r) {
        auto put = [&](const char* metric, const char* unit, bool higher, double value) {
            session_.sample({c.name, c.n, 1, metric, unit, higher}, subject, value, r.right);
        };
        put_latency(put, r.latency);
        put("max", "ns", false, static_cast<double>(r.latency.back()));
        put("failed", "%", false, r.failed);
        put("missed", "%", false, r.missed);
        put("bytes", "B", false, static_cast<double>(r.bytes) / static_cast<double>(c.n));
    }

    session& session_;
    block_work work_;
};

} // namespace

table blocks_table() {
    return {
        .name = "blocks",
        .summary = "64 KiB on a disk whose free space is in pieces: the block allocator of an "
                   "object store",
        .named_peer = "avl",
        .subjects = listed(blocks_subjects()),
        .more = {"lathwork-next", "lathwork-best", "lathwork-arenas"},
        .cases = names_of<all_cases>,
        .run = run_with<runner>,
        .parameters = {size_parameter("window_ms", "longest time spent in the requests of a sample",
                                      "60, 500 or 4000 by mode")}};
}

} // namespace lathbench
