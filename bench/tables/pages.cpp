// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `pages`: what virtual memory costs, by page size and access pattern
// (doc/virtual-memory.md).
//
//   chain/N/K   reads one line of each of N pages of 4 KiB in random order; what is read says where
//               the next read goes. K such chains side by side (ns per read)
//   order/N/K   the same with the pages in order
//   touch/N     the first write to each of N pages of 4 KiB (ns per page)
//
// The subjects are the pages behind the memory: `thp-2m` has 2 MiB pages by madvise(), as the
// arenas of the store do; `4k`; `hugetlb-2m` and `hugetlb-1g` if the machine has reserved such
// pages. The sum of what was read is checked.
#include "harness/memory.hpp"
#include "harness/table.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/mman.h>

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

namespace lathbench {

namespace {

constexpr std::size_t page = 4096, line = 64;

struct backing {
    const char* name;
    const char* note;
    int flags; // for mmap
    int advice; // for madvise; 0: none
    std::size_t granule;
};

constexpr backing backings[] = {
    {"thp-2m", "2 MiB by madvise, as the store asks for them", 0, MADV_HUGEPAGE,
     std::size_t{2} << 20},
    {"4k", "4 KiB", 0, MADV_NOHUGEPAGE, page},
    {"hugetlb-2m", "reserved 2 MiB pages", MAP_HUGETLB | 21 << MAP_HUGE_SHIFT, 0,
     std::size_t{2} << 20},
    {"hugetlb-1g", "reserved 1 GiB pages", MAP_HUGETLB | 30 << MAP_HUGE_SHIFT, 0,
     std::size_t{1} << 30},
};

class region {
public:
    region(const backing& b, std::size_t pages) {
        size_ = (pages * page + b.granule - 1) / b.granule * b.granule;
        mapped_ = b.flags ? size_ : size_ + b.granule;
        // without MAP_NORESERVE too few reserved pages fail here, not at the first touch
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | b.flags | (b.flags ? 0 : MAP_NORESERVE);
        map_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (map_ == MAP_FAILED) {
            why = std::string("no such pages reserved: ") + std::strerror(errno);
            return;
        }
        auto start =
            (reinterpret_cast<std::uintptr_t>(map_) + b.granule - 1) / b.granule * b.granule;
        base = reinterpret_cast<char*>(start);
        if (b.advice)
            madvise(base, size_, b.advice);
    }
    region(const region&) = delete;
    region& operator=(const region&) = delete;
    ~region() {
        if (base)
            munmap(map_, mapped_);
    }

    char* base = nullptr;
    std::string why;

private:
    std::size_t size_, mapped_ = 0;
    void* map_ = nullptr;
};

// The word of a page that holds the number of the next page of the chain. Its line depends on the
// page, so that the sets of the caches are used evenly.
std::uint64_t& link_of(char* base, std::uint64_t p) {
    return *reinterpret_cast<std::uint64_t*>(base + p * page +
                                             p * 0x9e3779b97f4a7c15ull % (page / line) * line);
}

void make_chain(char* base, const std::vector<std::uint32_t>& order) {
    for (std::size_t i = 0; i < order.size(); ++i)
        link_of(base, order[i]) = order[(i + 1) % order.size()];
}

// Walks K chains, which begin at equal distances on the one circle of all pages and together visit
// each page once. Returns the sum of what was read.
template <int K>
std::uint64_t walk(char* base, const std::vector<std::uint32_t>& order) {
    std::uint64_t at[K], sum = 0;
    std::size_t part = order.size() / K;
    for (int k = 0; k < K; ++k)
        at[k] = order[part * static_cast<std::size_t>(k)];
    for (std::size_t i = 0; i < part; ++i)
        for (int k = 0; k < K; ++k) {
            at[k] = link_of(base, at[k]);
            sum += at[k];
        }
    return sum;
}

std::uint64_t expected(const std::vector<std::uint32_t>& order, std::size_t chains) {
    std::uint64_t sum = 0;
    std::size_t part = order.size() / chains;
    for (std::size_t k = 0; k < chains; ++k)
        for (std::size_t i = 1; i <= part; ++i)
            sum += order[(part * k + i) % order.size()];
    return sum;
}

constexpr int chain_counts[] = {1, 4, 16};

std::uint64_t walk_chains(int chains, char* base, const std::vector<std::uint32_t>& order) {
    return chains == 1   ? walk<1>(base, order)
           : chains == 4 ? walk<4>(base, order)
                         : walk<16>(base, order);
}

std::vector<std::uint64_t> page_counts(const options& opt) {
    if (!opt.n.empty())
        return opt.n;
    if (opt.quick())
        return {16384};
    return opt.full() ? std::vector<std::uint64_t>{16384, 262144, 1048576}
                      : std::vector<std::uint64_t>{16384, 262144};
}

std::string walk_case(const char* pattern, std::uint64_t n, int chains) {
    return std::string(pattern) + "/" + std::to_string(n) + "/" + std::to_string(chains);
}

std::vector<std::string> page_cases(const options& opt) {
    std::vector<std::string> names;
    for (std::uint64_t n : page_counts(opt)) {
        for (const char* pattern : {"chain", "order"})
            for (int k : chain_counts)
                names.push_back(walk_case(pattern, n, k));
        names.push_back("touch/" + std::to_string(n));
    }
    return names;
}

class runner {
public:
    explicit runner(session& s) : session_(s) {}

    void run() {
        pin_thread(0);
        for (std::uint64_t n : page_counts(session_.opt()))
            if (!session_.stopped())
                size(n);
    }

private:
    void size(std::uint64_t n) {
        std::map<std::string, std::unique_ptr<region>> regions;
        std::vector<std::string> able;
        std::uint64_t huge = huge_page_bytes();
        for (const auto& name : session_.subjects()) {
            const backing& b = *std::find_if(std::begin(backings), std::end(backings),
                                             [&](const backing& x) { return name == x.name; });
            auto r = std::make_unique<region>(b, n);
            if (!r->base) {
                for (const auto& c : page_cases(session_.opt()))
                    if (c.find("/" + std::to_string(n)) != std::string::npos)
                        session_.not_available(c, name, r->why);
                continue;
            }
            session_.progress("pages: touching " + std::to_string(n) + " of " + name);
            touch(name, r->base, n);
            // new pages for every repetition; those of the last one stay
            for (int rep = 1;
                 rep < session_.reps() && session_.wants_case("touch/" + std::to_string(n)) &&
                 !session_.stopped();
                 ++rep) {
                r.reset();
                r = std::make_unique<region>(b, n);
                if (!r->base)
                    throw std::runtime_error("pages: " + name + ": " + r->why);
                touch(name, r->base, n);
            }
            if (b.advice == MADV_HUGEPAGE)
                session_.remark(std::to_string((huge_page_bytes() - huge) >> 20) + " MiB of " +
                                std::to_string(n * page >> 20) + " really on huge pages");
            regions.emplace(name, std::move(r));
            able.push_back(name);
        }
        std::vector<std::uint32_t> order(n);
        std::iota(order.begin(), order.end(), 0u);
        walks("order", n, order, able, regions);
        std::mt19937_64 random(session_.seed(n));
        std::shuffle(order.begin(), order.end(), random);
        walks("chain", n, order, able, regions);
    }

    void touch(const std::string& name, char* base, std::uint64_t n) {
        std::string c = "touch/" + std::to_string(n);
        std::uint64_t start = cpu_ns();
        for (std::uint64_t i = 0; i < n; ++i)
            *reinterpret_cast<volatile std::uint64_t*>(base + i * page) = i;
        double ns = static_cast<double>(cpu_ns() - start) / static_cast<double>(n);
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < n; ++i)
            sum += *reinterpret_cast<volatile std::uint64_t*>(base + i * page);
        if (session_.wants_case(c))
            session_.sample({c, n, 1, "cpu", "ns"}, name, ns, sum == n * (n - 1) / 2);
    }

    void walks(const char* pattern, std::uint64_t n, const std::vector<std::uint32_t>& order,
               const std::vector<std::string>& able,
               const std::map<std::string, std::unique_ptr<region>>& regions) {
        for (const auto& name : able)
            make_chain(regions.at(name)->base, order);
        for (int k : chain_counts) {
            std::string c = walk_case(pattern, n, k);
            if (!session_.wants_case(c) || session_.stopped())
                continue;
            std::uint64_t want = expected(order, static_cast<std::size_t>(k));
            session_.each_interleaved(session_.reps(), able, [&](const std::string& name, int rep) {
                session_.progress(c + ", repetition " + std::to_string(rep + 1) + ", " + name);
                char* base = regions.at(name)->base;
                std::uint64_t rounds = std::max<std::uint64_t>(1, 200000 / n), sum = 0;
                walk_chains(k, base, order);
                std::uint64_t start = cpu_ns();
                for (std::uint64_t r = 0; r < rounds; ++r)
                    sum += walk_chains(k, base, order);
                double reads = static_cast<double>(rounds * (n / static_cast<std::uint64_t>(k)) *
                                                   static_cast<std::uint64_t>(k));
                session_.sample({c, n, 1, "cpu", "ns"}, name,
                                static_cast<double>(cpu_ns() - start) / reads,
                                sum == want * rounds);
            });
        }
    }

    session& session_;
};

} // namespace

table pages_table() {
    table t;
    t.name = "pages";
    t.summary = "what virtual memory costs, by page size and access pattern";
    t.ours = "thp-2m";
    t.named_peer = "4k";
    for (const auto& b : backings)
        t.subjects.push_back({b.name, b.note, ""});
    t.cases = page_cases;
    t.run = [](session& s) { runner(s).run(); };
    return t;
}

} // namespace lathbench
