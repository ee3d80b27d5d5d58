// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Arrivals for table `sort`: sectors of 512 bytes on a 16 TiB device, requests of 4 KiB.
#include "sort_bench.hpp"

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

// k streams, each served when chance says so; every stream has room to run to its end
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

// one stream; with the given probability it goes on somewhere else
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

// a stream, every second request of which is followed by one somewhere
sectors half_stream(std::size_t n, rng& r) {
    sectors out;
    std::uint64_t s = anywhere(r, device / 2);
    while (out.size() < n) {
        out.push_back(r() & 1 ? s : anywhere(r));
        s += out.back() == s ? page : 0;
    }
    return out;
}

// 65536 places of 1 MiB, chosen by Zipf's law with exponent 1.1
sectors zipf(std::size_t n, rng& r) {
    constexpr std::size_t places = 65536;
    std::vector<double> sum(places);
    double total = 0;
    for (std::size_t i = 0; i < places; i++)
        sum[i] = total += 1 / std::pow(static_cast<double>(i + 1), 1.1);
    sectors where(places), out;
    for (auto& w : where)
        w = anywhere(r);
    std::uniform_real_distribution<double> dice(0, total);
    while (out.size() < n) {
        auto i = std::lower_bound(sum.begin(), sum.end(), dice(r)) - sum.begin();
        out.push_back(where[static_cast<std::size_t>(std::min<long>(i, places - 1))] +
                      page * (r() % 256));
    }
    return out;
}

sectors each(std::size_t n, const std::function<std::uint64_t(std::uint64_t)>& sector) {
    sectors out;
    for (std::size_t i = 0; i < n; i++)
        out.push_back(sector(i));
    return out;
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
    if (name.rfind("mix", 0) == 0)
        return streams(n, r, static_cast<unsigned>(std::stoul(name.substr(3))));
    throw std::logic_error("no input " + name);
}

} // namespace lathbench
