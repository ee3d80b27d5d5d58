// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "inputs.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>

namespace lathbench {

namespace {

constexpr std::uint64_t device = std::uint64_t{1} << 35;
constexpr std::uint64_t page = 8;

using rng = std::mt19937_64;
using sectors = std::vector<std::uint64_t>;

std::uint64_t anywhere(rng& r, std::uint64_t limit = device) { return r() % limit & ~(page - 1); }

// k streams; each request is from one at random. Every stream has room to run to its end.
sectors streams(std::size_t n, rng& r, unsigned k) {
    sectors out, at(k);
    for (auto& s : at)
        s = anywhere(r, device - page * n);
    while (out.size() < n) {
        auto& s = at[r() % k];
        out.push_back(s);
        s += page;
    }
    return out;
}

// One stream that continues somewhere else with the given probability.
sectors broken_stream(std::size_t n, rng& r, unsigned breaks_percent) {
    sectors out;
    std::uint64_t s = anywhere(r, device - page * n);
    while (out.size() < n) {
        if (r() % 100 < breaks_percent)
            s = anywhere(r, device - page * n);
        out.push_back(s);
        s += page;
    }
    return out;
}

// Half of the requests are a stream, half are anywhere.
sectors half_stream(std::size_t n, rng& r) {
    sectors out;
    std::uint64_t s = anywhere(r, device / 2);
    while (out.size() < n) {
        out.push_back(r() & 1 ? s : anywhere(r));
        s += out.back() == s ? page : 0;
    }
    return out;
}

// Draws ranks from 0 by Zipf's law.
class zipf_dice {
public:
    zipf_dice(std::size_t ranks, double exponent) : sum_(ranks) {
        double total = 0;
        for (std::size_t i = 0; i < ranks; i++)
            sum_[i] = total += 1 / std::pow(static_cast<double>(i + 1), exponent);
    }
    std::size_t operator()(rng& r) const {
        std::uniform_real_distribution<double> dice(0, sum_.back());
        auto i = std::lower_bound(sum_.begin(), sum_.end(), dice(r)) - sum_.begin();
        return std::min(static_cast<std::size_t>(i), sum_.size() - 1);
    }

private:
    std::vector<double> sum_;
};

// 65536 places of 1 MiB
sectors zipf(std::size_t n, rng& r) {
    zipf_dice rank(65536, 1.1);
    sectors where(65536), out;
    for (auto& w : where)
        w = anywhere(r);
    while (out.size() < n) {
        auto place = where[rank(r)];
        out.push_back(place + page * (r() % 256));
    }
    return out;
}

sectors each(std::size_t n, const std::function<std::uint64_t(std::uint64_t)>& sector) {
    sectors out;
    for (std::size_t i = 0; i < n; i++)
        out.push_back(sector(i));
    return out;
}

// What fio asks for, by the rules of its manual, in files of 1 GiB laid one behind the other.
constexpr std::size_t file_pages = 1u << 18;

sectors shuffled_pages(rng& r) {
    auto pages = each(file_pages, [](std::uint64_t i) { return i * page; });
    std::shuffle(pages.begin(), pages.end(), r);
    return pages;
}

sectors fio(const std::string& job, std::size_t n, rng& r) {
    auto pages = shuffled_pages(r);
    if (job == "randread") // each page once: fio keeps a map
        return each(n, [&](std::uint64_t i) { return pages[i % file_pages]; });
    if (job == "seqread")
        return each(n, [](std::uint64_t i) { return i % file_pages * page; });
    if (job == "zipf") { // random_distribution=zipf:1.1
        zipf_dice rank(file_pages, 1.1);
        return each(n, [&](std::uint64_t) { return pages[rank(r)]; });
    }
    if (job == "pareto") { // random_distribution=pareto:0.2
        std::uniform_real_distribution<double> dice;
        return each(n, [&](std::uint64_t) {
            double rank = std::pow(dice(r), std::log(0.2) / std::log(0.8));
            return pages[static_cast<std::size_t>(rank * (file_pages - 1))];
        });
    }
    std::uint64_t at[8] = {};
    auto next = [&](std::size_t file) {
        return (file * file_pages + at[file]++ % file_pages) * page;
    };
    if (job == "writers") // numjobs=8, rw=write
        return each(n, [&](std::uint64_t) { return next(r() % 8); });
    if (job == "db") // pages of 16 KiB by zipf:0.9, a log, a backup that reads through
        return each(n, [&, rank = zipf_dice(file_pages, 0.9)](std::uint64_t) {
            auto dice = r() % 10;
            return dice < 6 ? pages[rank(r)] & ~(4 * page - 1) : next(dice < 9 ? 1 : 2);
        });
    throw std::logic_error("no fio job " + job);
}

} // namespace

sectors sort_input(const std::string& name, std::size_t n, std::uint64_t seed) {
    rng r(seed);
    if (name == "random")
        return each(n, [&](std::uint64_t) { return anywhere(r); });
    if (name == "sequential")
        return each(n, [](std::uint64_t i) { return i * page; });
    if (name == "reverse")
        return each(n, [&](std::uint64_t i) { return (n - 1 - i) * page; });
    if (name == "window") // a file of 1 GiB
        return each(n, [&](std::uint64_t) { return device / 4 + anywhere(r, 1u << 21); });
    if (name == "seq95")
        return broken_stream(n, r, 5);
    if (name == "half")
        return half_stream(n, r);
    if (name == "zipf")
        return zipf(n, r);
    if (name.rfind("fio-", 0) == 0)
        return fio(name.substr(4), n, r);
    if (name.rfind("mix", 0) == 0)
        return streams(n, r, static_cast<unsigned>(std::stoul(name.substr(3))));
    throw std::logic_error("no input " + name);
}

} // namespace lathbench
