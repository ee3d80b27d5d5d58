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

std::vector<u64> sizes(const options& opt) {
    if (!opt.n.empty())
        return opt.n;
    if (opt.quick())
        return {100000};
    return {100000, 1000000};
}

std::string case_name(bool mixed, u64 n) {
    return std::string(mixed ? "mix/" : "64k/") + std::to_string(n);
}

class runner {
public:
    explicit runner(session& s) : session_(s) {
        const options& opt = s.opt();
        work_.requests = opt.quick() ? 20000 : opt.full() ? 1000000 : 100000;
        work_.ms = size_list(opt, "window_ms", {opt.quick() ? 60u : opt.full() ? 4000u : 500u})[0];
    }

    void run() {
        for (u64 n : sizes(session_.opt()))
            for (bool mixed : {false, true})
                if (session_.wants_case(case_name(mixed, n)) && !session_.stopped())
                    run_case(case_name(mixed, n), n, mixed);
    }

private:
    void run_case(const std::string& name, u64 n, bool mixed) {
        block_device device = fragmented_device(n, session_.seed(n));
        work_.mixed = mixed;
        std::set<std::string> cut;
        session_.each_interleaved(
            session_.reps(), session_.subjects(), [&](const std::string& subject, int rep) {
                session_.progress("blocks: " + name + ", repetition " + std::to_string(rep + 1) +
                                  ", " + subject);
                block_result r = work_on(find_subject(blocks_subjects(), subject), device, work_,
                                         session_.seed(n + static_cast<u64>(rep) + 1));
                record(name, n, subject, r);
                if (r.cut)
                    cut.insert(subject);
            });
        for (const auto& subject : cut)
            session_.remark(name + ": " + subject + " did fewer requests than the others in " +
                            std::to_string(work_.ms) + " ms");
    }

    void record(const std::string& name, u64 n, const std::string& subject, const block_result& r) {
        auto put = [&](const char* metric, const char* unit, bool higher, double value) {
            session_.sample({name, n, 1, metric, unit, higher}, subject, value, r.right);
        };
        put_latency(put, r.latency);
        put("max", "ns", false, static_cast<double>(r.latency.back()));
        put("failed", "%", false, r.failed);
        put("missed", "%", false, r.missed);
        put("bytes", "B", false, static_cast<double>(r.bytes) / static_cast<double>(n));
    }

    session& session_;
    block_work work_;
};

std::vector<std::string> blocks_cases(const options& opt) {
    std::vector<std::string> names;
    for (u64 n : sizes(opt))
        for (bool mixed : {false, true})
            names.push_back(case_name(mixed, n));
    return names;
}

} // namespace

table blocks_table() {
    table t;
    t.name = "blocks";
    t.summary =
        "64 KiB on a disk whose free space is in pieces: the block allocator of an object store";
    t.named_peer = "avl";
    t.more = {"lathwork-next", "lathwork-best", "lathwork-arenas"};
    t.subjects.assign(blocks_subjects().begin(), blocks_subjects().end());
    t.cases = blocks_cases;
    t.run = [](session& s) { runner(s).run(); };
    t.parameters = {size_parameter("window_ms", "longest time spent in the requests of a sample",
                                   "60, 500 or 4000 by mode")};
    return t;
}

} // namespace lathbench
