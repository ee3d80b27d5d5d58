// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `address-space`: the regions of an address space, N of them to begin with, by T threads; ns
// of wall time per call.
//
//   query/N/T     which region has a random page
//   alloc/N/T     a region of 1 to 16 pages where there is room for it; each thread keeps 64, the
//                 oldest of which it unmaps
//   map/N/T       a region of 1 to 16 pages over what is there
//   program/N/T   per 1,000 calls 893 page faults, 63 allocs as above, 26 maps and 14 changes of
//                 access, which split and join regions: the calls of a start of Python
//
// A thread maps and changes pages of its own part. At the end each of these pages must have
// the access that its thread gave it last. A region that is allocated must be nobody's.
#include "harness/random.hpp"
#include "harness/table.hpp"
#include "harness/timing.hpp"

#include "subjects/regions/regions_subject.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

constexpr u64 most = 16, spread = 32; // pages of a region; one region for this many pages
constexpr u64 top_page = (u64{1} << 35) - 1;
constexpr std::size_t kept = 64;

struct space_case {
    std::string name, work;
    u64 n;
    int threads;
};

std::vector<space_case> all_cases(const options& opt) {
    std::vector<space_case> cases;
    for (const char* work : {"query", "alloc", "map", "program"})
        for (u64 n : sizes_of(opt, {10000}, {1000, 10000, 100000}, {1000, 10000, 100000}))
            for (int t : threads_of(opt, {1, 2, 4}))
                cases.push_back(
                    {std::string(work) + "/" + std::to_string(n) + "/" + std::to_string(t), work, n,
                     t});
    return cases;
}

// One thread of a load: it makes the calls, and knows which access each of its pages must have.
class worker {
public:
    // Its pages are first to first + pages - 1.
    worker(address_space& space, std::vector<std::atomic<unsigned char>>& taken, u64 first,
           u64 pages, u64 seed)
        : space_(space), taken_(taken), first_(first), access_(pages), state_(seed) {}

    void fill() {
        for (u64 at = 0; at + spread <= access_.size(); at += spread)
            map(at + random() % most, 1 + random() % most);
    }
    void run(const std::string& work, u64 calls) {
        for (u64 i = 0; i < calls; i++) {
            u64 what = work == "query"   ? 0
                       : work == "alloc" ? 893
                       : work == "map"   ? 956
                                         : random() % 1000;
            if (what < 893)
                look(random() % access_.size(), work == "program");
            else if (what < 956)
                alloc();
            else if (what < 982)
                map(random() % (access_.size() - most), 1 + random() % most);
            else
                protect(random() % (access_.size() - most), 1 + random() % most);
        }
    }
    // Unmaps what it allocated. Returns whether all was right.
    bool end() {
        while (!own_.empty())
            give_back();
        for (u64 i = 0; i < access_.size(); i++)
            right_ &= space_.query(first_ + i) == access_[i];
        return right_;
    }

private:
    // Subjects allocate from the top.
    static u64 place(u64 page) { return top_page - page; }
    u64 random() { return mix_bits(state_ += golden_ratio) >> 8; }
    void look(u64 at, bool fault) {
        u64 access = fault ? space_.fault(first_ + at) : space_.query(first_ + at);
        right_ &= access == access_[at];
    }
    void set(u64 at, u64 pages, u64 access) {
        std::fill_n(access_.begin() + static_cast<std::ptrdiff_t>(at), pages,
                    static_cast<unsigned char>(access));
    }
    void map(u64 at, u64 pages) {
        u64 access = 2 + random() % 4;
        space_.map({first_ + at, first_ + at + pages - 1, access});
        set(at, pages, access);
    }
    // Changes the access of the mapped pages from `at` on, up to the first one that is not mapped.
    void protect(u64 at, u64 pages) {
        u64 n = 0, access = 2 + random() % 4;
        while (n < pages && access_[at + n])
            n++;
        if (!n)
            return;
        space_.protect({first_ + at, first_ + at + n - 1, access});
        set(at, n, access);
    }
    void alloc() {
        if (own_.size() == kept)
            give_back();
        u64 pages = 1 + random() % most, first = space_.alloc(pages, 1);
        right_ &= first != 0;
        if (!first)
            return;
        for (u64 i = 0; i < pages; i++)
            right_ &= place(first + i) < taken_.size() &&
                      !taken_[place(first + i)].exchange(1, std::memory_order_relaxed);
        own_.push_back({first, first + pages - 1, 1});
    }
    void give_back() {
        region r = own_.front();
        own_.pop_front();
        for (u64 page = r.first; page <= r.last && place(page) < taken_.size(); page++)
            taken_[place(page)].store(0, std::memory_order_relaxed);
        space_.unmap(r.first, r.last);
    }

    address_space& space_;
    std::vector<std::atomic<unsigned char>>& taken_; // pages that an alloc has, by place()
    u64 first_;
    std::vector<unsigned char> access_; // of its pages; 0: unmapped
    std::deque<region> own_;
    u64 state_;
    bool right_ = true;
};

class runner {
public:
    explicit runner(session& s) : session_(s) {}

    void run() {
        each_wanted(session_, all_cases(session_.opt()), [&](const space_case& c) {
            session_.repeat(c.name, regions_subjects(), session_.subjects(),
                            [&](const regions_subject& s, int) { repetition(s, c); });
        });
    }

private:
    void repetition(const regions_subject& s, const space_case& c) {
        const auto& [name, work, n, threads] = c;
        u64 calls = session_.opt().quick() ? 100000 : 1000000, parts = static_cast<u64>(threads);
        u64 pages = n / parts * spread, base = u64{1} << 30;
        auto space = s.make();
        std::vector<std::atomic<unsigned char>> taken(1 << 22);
        std::vector<worker> workers;
        for (u64 t = 0; t < parts; t++)
            workers.emplace_back(*space, taken, base + t * pages, pages, session_.seed(t));
        space->enter();
        for (worker& w : workers)
            w.fill();
        space->leave();
        auto times = run_threads(
            threads,
            [&](int t) { workers[static_cast<std::size_t>(t)].run(c.work, calls / parts); },
            [&](int) { space->enter(); }, [&](int) { space->leave(); });
        bool right = true;
        space->enter();
        for (worker& w : workers)
            right &= w.end();
        space->leave();
        session_.sample({name, n, threads}, s.name,
                        static_cast<double>(times.span) / static_cast<double>(calls), right);
    }

    session& session_;
};

} // namespace

table address_space_table() {
    return table_of<runner>("address-space",
                            "regions of an address space: look up, allocate, map over, change",
                            "maple", regions_subjects(), names_of<all_cases>);
}

} // namespace lathbench
