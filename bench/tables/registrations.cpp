// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `registrations`: hits in a cache of N registered regions of memory, as libraries for RDMA
// and page caches have them: find the region that covers an address, take a reference, give it
// back.
//
//   hit/N[/T]   random addresses by T threads, 1 % of them in no region (ns per address)
//
// The regions are 4 KiB to 64 KiB long, with as much between them. The sum of what is found is
// compared with that of the regions that were drawn.
#include "harness/random.hpp"
#include "harness/table.hpp"
#include "harness/timing.hpp"

#include "subjects/registrations/registrations_subject.hpp"

#include <string>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

std::vector<u64> counts(const options& opt) {
    if (!opt.n.empty())
        return opt.n;
    return opt.quick() ? std::vector<u64>{1000, 100000}
                       : std::vector<u64>{1000, 10000, 100000, 1000000};
}

std::vector<int> thread_counts(const options& opt) {
    return opt.threads.empty() ? std::vector<int>{1, 2} : opt.threads;
}

std::string case_name(u64 n, int threads) {
    std::string name = "hit/" + std::to_string(n);
    return threads == 1 ? name : name + "/" + std::to_string(threads);
}

std::vector<std::string> registration_cases(const options& opt) {
    std::vector<std::string> names;
    for (u64 n : counts(opt))
        for (int t : thread_counts(opt))
            names.push_back(case_name(n, t));
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
    void measure(u64 n) {
        make_input(n);
        std::vector<std::string> names;
        for (const auto& name : session_.subjects())
            names.push_back(name);
        for (int threads : thread_counts(session_.opt())) {
            std::string name = case_name(n, threads);
            if (!session_.wants_case(name))
                continue;
            session_.each_interleaved(
                session_.reps(), names, [&](const std::string& subject, int rep) {
                    session_.progress("registrations: " + name + ", repetition " +
                                      std::to_string(rep + 1) + ", " + subject);
                    bool right = false;
                    double ns =
                        hits(find_subject(registration_subjects(), subject), threads, right);
                    session_.sample({name, n, threads, "time", "ns"}, subject, ns, right);
                });
        }
    }

    u64 draw(u64 below) {
        state_ += golden_ratio;
        return static_cast<u64>((static_cast<unsigned __int128>(mix_bits(state_)) * below) >> 64);
    }

    void make_input(u64 n) {
        state_ = session_.seed(n);
        regions_ = std::vector<region>(n);
        u64 at = u64{1} << 30;
        for (region& r : regions_) {
            r.size = (1 + draw(16)) * 4096;
            r.key = at;
            at += 2 * r.size;
        }
        order_.resize(n);
        for (u64 i = 0; i < n; i++) {
            u64 other = draw(i + 1);
            order_[i] = order_[other];
            order_[other] = i;
        }
        addresses_.clear();
        sum_ = 0;
        for (int i = 0; i < 400000; i++) {
            const region& r = regions_[draw(n)];
            bool miss = draw(100) == 0;
            addresses_.push_back(r.key + (miss ? r.size : 0) + draw(r.size));
            sum_ += miss ? 0 : r.key;
        }
    }

    double hits(const registration_subject& s, int threads, bool& right) {
        auto cache = s.make();
        for (u64 i : order_)
            cache->insert(regions_[i]);
        std::vector<u64> sums(static_cast<std::size_t>(threads) * 16);
        auto times = run_threads(threads, [&](int id) {
            u64 sum = 0;
            for (u64 i = static_cast<u64>(id); i < addresses_.size();
                 i += static_cast<u64>(threads))
                if (region* found = cache->get(addresses_[i])) {
                    sum += found->key;
                    cache->put(*found);
                }
            sums[static_cast<std::size_t>(id) * 16] = sum;
        });
        u64 sum = 0;
        for (u64 part : sums)
            sum += part;
        right = sum == sum_;
        for (region& r : regions_)
            right = right && r.refs == 0;
        return static_cast<double>(times.span) / static_cast<double>(addresses_.size());
    }

    session& session_;
    std::vector<region> regions_;
    std::vector<u64> order_, addresses_;
    u64 state_ = 0, sum_ = 0;
};

} // namespace

table registrations_table() {
    table t;
    t.name = "registrations";
    t.summary = "hits in a cache of registered memory: the region of an address, and a reference";
    t.named_peer = "page-table";
    t.more = {"std-map"};
    for (const auto& s : registration_subjects())
        t.subjects.push_back({s.name, s.note, s.missing});
    t.cases = registration_cases;
    t.run = [](session& s) { runner(s).run(); };
    return t;
}

} // namespace lathbench
