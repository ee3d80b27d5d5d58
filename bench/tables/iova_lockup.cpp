// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `iova-lockup`: the linear search behind the soft lockups of Linux's IOMMU code, in user
// space.
//
// Drivers ask for device addresses below 4 GiB first. When that window is nearly full, the
// allocator of Linux 6.1 walks over all ranges in it to learn that a large request has no place,
// with a lock held and, in the kernel, with interrupts off. It remembers the size that failed, but
// every range that is freed there makes the next large request walk again. (Patches of May 2026,
// "iova augmented rbtree O(log n) alloc_iova", say that this locks machines up, and that its author
// knew no way to reproduce it.)
//
//   P/T   T threads; P percent of a window of --n pages are taken, by single pages and blocks of 64
//         pages, and as many single pages lie above the window. Each thread frees one of its pages
//         there at random and asks for another one. Every 16th time it frees a block instead, which
//         magazines do not keep, and asks for 64, 128 or 256 pages, aligned to their number. A
//         request that has no place in the window is served above it (tables/iova/lockup.hpp).
//
// p50, p99, p99.9, max: latency of single requests; p50 is that of single pages, p99 and above of
// large requests. missed: percent of the large requests that went above the window although it had
// an aligned place (one thread). bytes: memory per range after them (one thread).
#include "tables/iova/lockup.hpp"
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

// From full to less full: one allocator goes through all cases.
constexpr u64 percents[] = {99, 90, 50};

std::vector<int> thread_counts(const options& opt) {
    if (!opt.threads.empty())
        return opt.threads;
    return {1, 4};
}

std::string case_name(u64 percent, int threads) {
    return std::to_string(percent) + "/" + std::to_string(threads);
}

iova_space space_of(const options& opt) {
    iova_space space;
    u64 pages = opt.n.empty() ? (opt.quick() ? u64{1} << 17 : u64{1} << 20) : opt.n[0];
    auto threads = thread_counts(opt);
    u64 each = 4096 * static_cast<u64>(*std::max_element(threads.begin(), threads.end()));
    space.low_end = power_of_two_from(std::max(pages, each));
    space.end = 4 * space.low_end;
    return space;
}

// The subjects of table `iova` that map something, without those that would not fill the space in
// reasonable time (rbtree-2013) or that add nothing here.
bool takes_part(const subject& s) {
    const std::set<std::string> others = {"off", "rbtree-2013", "buddy", "icl"};
    return !others.count(s.name);
}

class runner {
public:
    explicit runner(session& s) : session_(s), space_(space_of(s.opt())) {
        const options& opt = s.opt();
        limits_.requests = opt.quick() ? 20000 : opt.full() ? 1000000 : 100000;
        limits_.ms = size_list(opt, "window_ms",
                               {opt.quick()  ? 60u
                                : opt.full() ? 4000u
                                             : 500u})[0];
    }

    void run() {
        session_.remark("the window has " + std::to_string(space_.low_end) + " pages");
        bool any = false;
        for (u64 percent : percents)
            for (int threads : thread_counts(session_.opt()))
                any = any || session_.wants_case(case_name(percent, threads));
        if (!any)
            return;
        session_.each_interleaved(session_.reps(), session_.subjects(),
                                  [&](const std::string& subject, int) { run_subject(subject); });
        for (const auto& name : cut_)
            session_.remark(name + " did fewer requests than the others in " +
                            std::to_string(limits_.ms) + " ms");
    }

private:
    void run_subject(const std::string& subject) {
        session_.progress("iova-lockup: filling " + subject);
        page_shadow shadow(space_);
        lockup_worker all(shadow, space_.low_end, session_.seed(0));
        all.reserve(2 * space_.low_end);
        auto allocator = find_subject(iova_subjects(), subject).make(space_);
        all.use(*allocator);
        bool filled = false;
        on_one_thread(*allocator, [&] { filled = all.fill(space_.low_end); });
        if (!filled) {
            session_.wrong(subject, "does not fill the window");
            return;
        }
        for (u64 percent : percents) {
            on_one_thread(*allocator, [&] { all.thin(space_.low_end * percent / 100); });
            for (int threads : thread_counts(session_.opt()))
                if (session_.wants_case(case_name(percent, threads)) && !session_.stopped())
                    run_case(subject, *allocator, shadow, all, percent, threads);
        }
        on_one_thread(*allocator, [&] { all.drain(); });
        if (!all.right || allocator->used() != 0)
            session_.wrong(subject, "a range was given out twice, refused or not taken back");
    }

    static void on_one_thread(iova_allocator& allocator, const std::function<void()>& work) {
        run_threads(
            1, [&](int) { work(); }, [&](int i) { allocator.enter(i); },
            [&](int i) { allocator.leave(i); });
    }

    void run_case(const std::string& subject, iova_allocator& allocator, page_shadow& shadow,
                  lockup_worker& all, u64 percent, int threads) {
        std::string name = case_name(percent, threads);
        session_.progress("iova-lockup: " + name + ", " + subject);
        std::vector<lockup_worker> workers;
        for (int i = 0; i < threads; i++) {
            workers.emplace_back(shadow, space_.low_end,
                                 session_.seed(percent * 1000 + static_cast<u64>(i)));
            workers.back().use(allocator);
        }
        all.deal(workers);
        lockup_limits limits = limits_;
        limits.alone = threads == 1;
        run_threads(
            threads, [&](int i) { workers[static_cast<std::size_t>(i)].run(limits); },
            [&](int i) { allocator.enter(i); }, [&](int i) { allocator.leave(i); });
        std::vector<float> latency;
        u64 large = 0, missed = 0;
        bool right = all.right;
        for (auto& w : workers) {
            all.absorb(w);
            latency.insert(latency.end(), w.latency.begin(), w.latency.end());
            large += w.large;
            missed += w.missed;
            right = right && w.right;
            if (w.cut)
                cut_.insert(name + ": " + subject);
        }
        all.right = right;
        std::sort(latency.begin(), latency.end());
        auto put = [&](const char* metric, const char* unit, bool higher, double value) {
            session_.sample({name, space_.low_end, threads, metric, unit, higher}, subject, value,
                            right);
        };
        put_latency(put, latency);
        put("max", "ns", false, static_cast<double>(latency.back()));
        if (threads > 1)
            return;
        put("missed", "%", false,
            large ? 100 * static_cast<double>(missed) / static_cast<double>(large) : 0);
        workers.clear(); // their memory is not the allocator's
        latency.clear();
        latency.shrink_to_fit();
        put("bytes", "B", false,
            static_cast<double>(allocator.bytes()) / static_cast<double>(all.held()));
    }

    session& session_;
    iova_space space_;
    lockup_limits limits_;
    std::set<std::string> cut_;
};

std::vector<std::string> lockup_cases(const options& opt) {
    std::vector<std::string> names;
    for (u64 percent : percents)
        for (int threads : thread_counts(opt))
            names.push_back(case_name(percent, threads));
    return names;
}

} // namespace

table iova_lockup_table() {
    table t;
    t.name = "iova-lockup";
    t.summary = "large requests in a window of device addresses that is full of single pages";
    t.named_peer = "rbtree-6.1";
    t.more = {"lathwork-arenas", "lathwork-plain", "rbtree-rcache", "bitmap", "absl-btree"};
    for (const auto& s : iova_subjects())
        if (takes_part(s))
            t.subjects.push_back(s);
    t.cases = lockup_cases;
    t.run = [](session& s) { runner(s).run(); };
    t.parameters = {size_parameter("window_ms", "longest time that a thread spends in requests",
                                   "60, 500 or 4000 by mode")};
    return t;
}

} // namespace lathbench
