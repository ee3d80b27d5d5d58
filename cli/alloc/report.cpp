// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "alloc/report.hpp"

#include "base/json_text.hpp"

#include "lathwork/error.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace lathcli::alloc {

namespace {

using json = nlohmann::ordered_json;

constexpr double quantiles[] = {0.5, 0.9, 0.99, 0.999};
constexpr const char* quantile_names[] = {"p50", "p90", "p99", "p99.9"};

template <typename... Values>
std::string format(const char* how, Values... values) {
    char text[300];
    std::snprintf(text, sizeof text, how, values...);
    return text;
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

double used_percent(const state& s) { return percent(s.used, s.used + s.free); }

unsigned long long print(std::uint64_t n) { return n; }

std::string latency_text(const char* name, const latencies& l) {
    std::string text = format("%-8s", name);
    for (double q : quantiles) {
        auto ns = l.quantile(q);
        text += ns ? format(" %9.0f", *ns) : format(" %9s", "-");
    }
    text += l.count() ? format(" %9.0f", l.max()) : format(" %9s", "-");
    return text + format("  ns, %llu calls\n", print(l.count()));
}

json latency_json(const latencies& l) {
    json j{{"count", l.count()}};
    for (std::size_t i = 0; i < std::size(quantiles); i++) {
        auto ns = l.quantile(quantiles[i]);
        j[quantile_names[i]] = ns ? json(*ns) : json();
    }
    j["max"] = l.count() ? json(l.max()) : json();
    return j;
}

json state_json(const state& s) {
    return {{"operations", s.operations},
            {"used", s.used},
            {"free", s.free},
            {"holes", s.holes},
            {"largest", s.largest},
            {"largest_order", s.largest_order},
            {"without_room", s.without_room},
            {"fragmentation", s.fragmentation()}};
}

std::string history_text(const outcome& o) {
    std::string text = "operations       used     free    holes    largest  fragmentation\n";
    constexpr std::size_t lines = 12;
    std::size_t n = o.history.size(), shown = std::min(n, lines);
    for (std::size_t i = 0; i < shown; i++) {
        const state& s = o.history[shown == 1 ? 0 : i * (n - 1) / (shown - 1)];
        text += format("%10llu %9.1f%% %8s %8llu %10s %8.1f%%  ", print(s.operations),
                       used_percent(s), size_text(s.free).c_str(), print(s.holes),
                       size_text(s.largest).c_str(), s.fragmentation());
        text += std::string(static_cast<std::size_t>(s.fragmentation() / 4), '#') + "\n";
    }
    return text;
}

std::string holes_text(const state& s) {
    std::string text;
    for (std::size_t i = 0; i < s.histogram.size(); i++)
        if (s.histogram[i])
            text += format("%10llu holes of %s to %s\n", print(s.histogram[i]),
                           size_text(std::uint64_t{1} << i).c_str(),
                           size_text((std::uint64_t{2} << i) - 1).c_str());
    return text;
}

// Of a pool of several ranges.
std::string ranges_text(const outcome& o) {
    std::string text;
    for (std::size_t i = 0; i < o.space.size() && o.space.size() > 1; i++)
        text += format("%#18llx + %-9s %5.1f%% used\n", print(o.space[i].first),
                       size_text(size_of({o.space[i]})).c_str(),
                       100 * static_cast<double>(o.used[i]) /
                           static_cast<double>(size_of({o.space[i]})));
    return text;
}

} // namespace

std::vector<std::uint64_t> used_of(const pool& space, const std::vector<span>& allocated) {
    std::vector<std::uint64_t> used(space.size());
    for (const span& s : allocated) {
        auto in = std::partition_point(space.begin(), space.end(),
                                       [&](const span& range) { return range.last < s.first; });
        used[static_cast<std::size_t>(in - space.begin())] += s.last - s.first + 1;
    }
    return used;
}

std::string size_text(std::uint64_t bytes) {
    constexpr const char* units[] = {"", " Ki", " Mi", " Gi", " Ti", " Pi", " Ei"};
    std::size_t unit = 0;
    auto value = static_cast<double>(bytes);
    while (value >= 1024 && unit + 1 < std::size(units)) {
        value /= 1024;
        unit++;
    }
    if (unit == 0 || value >= 100)
        return format("%.0f%s", value, units[unit]);
    return format("%.1f%s", value, units[unit]);
}

void print_text(std::ostream& out, const outcome& o) {
    const state& end = o.history.back();
    out << printable(o.trace) << ": "
        << format("%llu allocations (%llu without room), %llu frees", print(o.counts.allocations),
                  print(end.without_room), print(o.counts.frees))
        << (o.interrupted ? "; interrupted there\n" : "\n");
    if (o.served_in_pieces)
        out << format("%llu allocations lie in %llu pieces\n", print(o.served_in_pieces),
                      print(o.pieces));
    if (o.counts.bad)
        out << format("%llu bad lines skipped, the last one ", print(o.counts.bad)) << o.last_error
            << "\n";
    out << "pool: " << size_text(size_of(o.space)) << " in " << o.space.size()
        << (o.space.size() == 1 ? " range" : " ranges") << ", unit " << size_text(o.options.unit)
        << ", policy " << o.policy << "\n\n"
        << history_text(o) << "\nat the end " << size_text(end.used) << " used; largest hole "
        << size_text(end.largest) << ", largest aligned block "
        << (end.largest_order < 0 ? "none" : size_text(std::uint64_t{1} << end.largest_order))
        << "\n"
        << ranges_text(o) << holes_text(end)
        << "\n             p50       p90       p99     p99.9       max\n"
        << latency_text("allocate", *o.allocating) << latency_text("free", *o.freeing);
    if (std::min(o.allocating->count(), o.freeing->count()) < 1000)
        out << "-: too few calls to know it: p50 takes 2, p90 10, p99 100, p99.9 1000\n";
}

void print_json(std::ostream& out, const outcome& o) {
    json ranges = json::array(), history = json::array(), holes = json::array();
    for (std::size_t i = 0; i < o.space.size(); i++)
        ranges.push_back(
            {{"first", o.space[i].first}, {"last", o.space[i].last}, {"used", o.used[i]}});
    for (const state& s : o.history)
        history.push_back(state_json(s));
    const state& end = o.history.back();
    for (std::size_t i = 0; i < end.histogram.size(); i++)
        if (end.histogram[i])
            holes.push_back({{"from", std::uint64_t{1} << i}, {"holes", end.histogram[i]}});
    json j{{"context",
            {{"tool", "lath alloc"},
             {"version", lath_version()},
             {"policy", o.policy},
             {"unit", o.options.unit},
             {"limits", {o.options.limits.first, o.options.limits.last}},
             {"below", o.options.below},
             {"interrupted", o.interrupted}}},
           {"pool", {{"bytes", size_of(o.space)}, {"ranges", ranges}}},
           {"allocations", o.counts.allocations},
           {"frees", o.counts.frees},
           {"in_pieces", {{"allocations", o.served_in_pieces}, {"pieces", o.pieces}}},
           {"bad_lines", o.counts.bad},
           {"end", state_json(end)},
           {"hole_sizes", holes},
           {"latency_ns",
            {{"allocate", latency_json(*o.allocating)}, {"free", latency_json(*o.freeing)}}},
           {"history", history}};
    put_text(j["context"], "trace", o.trace);
    out << json_text(j, 1) << '\n';
}

void print_csv(std::ostream& out, const outcome& o) {
    out << "operations,used,free,holes,largest,largest_order,without_room,fragmentation\n";
    for (const state& s : o.history)
        out << format("%llu,%llu,%llu,%llu,%llu,%d,%llu,%.3f\n", print(s.operations), print(s.used),
                      print(s.free), print(s.holes), print(s.largest), s.largest_order,
                      print(s.without_room), s.fragmentation());
}

namespace {

constexpr double left = 60, top = 40, width = 700, height = 260;

template <typename Value>
std::string curve(const outcome& o, const char* colour, const char* name, double legend,
                  Value value) {
    auto last = static_cast<double>(std::max<std::uint64_t>(o.history.back().operations, 1));
    std::string points;
    for (const state& s : o.history)
        points += format("%.1f,%.1f ", left + width * static_cast<double>(s.operations) / last,
                         top + height * (1 - value(s) / 100));
    return format("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", colour) +
           points +
           format("\"/>\n<text x=\"%.0f\" y=\"%.0f\" fill=\"%s\">%s</text>\n", legend, top - 12,
                  colour, name);
}

} // namespace

void print_svg(std::ostream& out, const outcome& o) {
    out << format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "font-family=\"sans-serif\" font-size=\"13\">\n",
                  left + width + 40, top + height + 50)
        << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    for (int tick = 0; tick <= 100; tick += 25) {
        double y = top + height * (1 - tick / 100.0);
        out << format("<line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
                      left, left + width, y, y)
            << format("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n", left - 6,
                      y + 4, tick);
    }
    std::uint64_t last = o.history.back().operations;
    for (int part = 0; part <= 4; part++)
        out << format("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%llu</text>\n",
                      left + width * part / 4, top + height + 18,
                      print(last / 4 * static_cast<unsigned>(part) +
                            last % 4 * static_cast<unsigned>(part) / 4));
    out << format("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">operations</text>\n",
                  left + width / 2, top + height + 38)
        << curve(o, "#1f77b4", "used", left, used_percent)
        << curve(o, "#d62728", "fragmentation (1 - largest hole / free)", left + 60,
                 [](const state& s) { return s.fragmentation(); })
        << "</svg>\n";
}

} // namespace lathcli::alloc
