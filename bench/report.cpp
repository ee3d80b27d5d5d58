// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Files first (JSON, CSV), then the tables for people.
#include "report.hpp"

#include "context.hpp"
#include "stats.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <unistd.h>

namespace lathbench {

namespace {

using json = nlohmann::ordered_json;

std::ofstream open_output(const std::string& path) {
    std::ofstream out(path);
    if (!out)
        throw std::runtime_error(path + ": " + std::strerror(errno));
    return out;
}

void close_output(std::ofstream& out, const std::string& path) {
    out.close();
    if (!out)
        throw std::runtime_error(path + ": could not be written");
}

const char* better(const row& r) { return r.what.higher_is_better ? "higher" : "lower"; }

json context_of(const std::deque<session>& done, const options& opt) {
    json context;
    for (const auto& [name, value] : machine_context())
        context[name] = value;
    context["effort"] = opt.quick() ? "quick" : opt.full() ? "full" : "default";
    context["seed"] = opt.seed;
    context["parameters"] = opt.parameters;
    context["input"] = opt.input.empty() ? "made-up keys" : opt.input;
    json remarks = json::array(), absent = json::array(), errors = json::array();
    for (const auto& s : done) {
        for (const auto& text : s.remarks())
            remarks.push_back(s.of().name + ": " + text);
        for (const auto& a : s.absences())
            absent.push_back({{"table", s.of().name},
                              {"case", a.case_name},
                              {"subject", a.subject},
                              {"why", a.why}});
        for (const auto& p : s.of().subjects)
            if (!p.missing.empty())
                absent.push_back({{"table", s.of().name},
                                  {"case", "*"},
                                  {"subject", p.name},
                                  {"why", p.missing}});
        for (const auto& e : s.errors())
            errors.push_back(e);
    }
    context["remarks"] = remarks;
    context["not_available"] = absent;
    context["errors"] = errors;
    return context;
}

} // namespace

void write_json(const std::string& path, const std::deque<session>& done, const options& opt) {
    json rows = json::array();
    for (const auto& s : done) {
        for (const auto& r : s.rows()) {
            if (!r.verified)
                continue;
            summary sum = summarise(r.samples);
            rows.push_back({{"table", s.of().name},
                            {"case", r.what.name},
                            {"subject", r.subject},
                            {"n", r.what.n},
                            {"threads", r.what.threads},
                            {"metric", r.what.metric},
                            {"unit", r.what.unit},
                            {"better", better(r)},
                            {"median", sum.median},
                            {"min", sum.min},
                            {"mad", sum.mad},
                            {"samples", r.samples},
                            {"verified", true}});
        }
    }
    auto out = open_output(path);
    out << json{{"context", context_of(done, opt)}, {"rows", rows}}.dump(1) << '\n';
    close_output(out, path);
}

void write_csv(const std::string& path, const std::deque<session>& done) {
    auto out = open_output(path);
    out << "table,case,subject,n,threads,metric,unit,better,median,min,mad,samples\n";
    for (const auto& s : done) {
        for (const auto& r : s.rows()) {
            if (!r.verified)
                continue;
            summary sum = summarise(r.samples);
            out << s.of().name << ',' << r.what.name << ',' << r.subject << ',' << r.what.n << ','
                << r.what.threads << ',' << r.what.metric << ',' << r.what.unit << ',' << better(r)
                << ',' << sum.median << ',' << sum.min << ',' << sum.mad << ',';
            for (std::size_t i = 0; i < r.samples.size(); i++)
                out << (i ? ";" : "") << r.samples[i];
            out << '\n';
        }
    }
    close_output(out, path);
}

namespace {

bool is_ours(const std::string& subject) { return subject.compare(0, 8, "lathwork") == 0; }

bool colours(std::FILE* out) { return isatty(fileno(out)) && !std::getenv("NO_COLOR"); }

// Cases and subjects in the order of their first sample.
std::vector<std::string> case_order(const session& s) {
    std::vector<std::string> order;
    for (const auto& r : s.rows()) {
        std::string key = r.what.name + '\n' + r.what.metric;
        if (std::find(order.begin(), order.end(), key) == order.end())
            order.push_back(key);
    }
    // the table's own order where it knows the case
    auto declared = s.of().cases(s.opt());
    std::stable_sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
        auto place = [&](const std::string& key) {
            return std::find(declared.begin(), declared.end(), key.substr(0, key.find('\n'))) -
                   declared.begin();
        };
        return place(a) < place(b);
    });
    return order;
}

const row* find_row(const session& s, const std::string& key, const std::string& subject) {
    for (const auto& r : s.rows())
        if (r.verified && r.subject == subject && r.what.name + '\n' + r.what.metric == key)
            return &r;
    return nullptr;
}

std::string figure(double value) {
    char text[32];
    int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 1 ? 2 : 4;
    std::snprintf(text, sizeof(text), "%.*f", digits, value);
    return text;
}

int case_width(const std::vector<std::string>& cases) {
    std::size_t width = 8;
    for (const auto& c : cases)
        width = std::max(width, c.find('\n'));
    return static_cast<int>(width);
}

// "lookup-batch/1000000/2" is compared with the peers' "lookup/1000000/2" where the table says so.
std::string peer_key(const session& s, const std::string& key) {
    auto slash = key.find('/');
    auto it = s.of().compare_with.find(key.substr(0, slash));
    return it == s.of().compare_with.end() || slash == std::string::npos
               ? key
               : it->second + key.substr(slash);
}

// One line a reason; cases by their first word.
void print_absences(std::FILE* out, const session& s) {
    std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> by_reason;
    for (const auto& a : s.absences()) {
        auto& [cases, subjects] = by_reason[a.why];
        cases.insert(a.case_name.substr(0, a.case_name.find('/')));
        subjects.insert(a.subject);
    }
    auto join = [](const std::set<std::string>& words) {
        std::string text;
        for (const auto& w : words)
            text += (text.empty() ? "" : ", ") + w;
        return text;
    };
    for (const auto& [reason, both] : by_reason)
        std::fprintf(out, "  n/a %s: %s (%s)\n", join(both.first).c_str(), reason.c_str(),
                     join(both.second).c_str());
    for (const auto& p : s.of().subjects) {
        if (!p.missing.empty())
            std::fprintf(out, "  not in this build: %s (%s)\n", p.name.c_str(), p.missing.c_str());
        else if (!p.note.empty() && s.wants_subject(p.name))
            std::fprintf(out, "  %s: %s\n", p.name.c_str(), p.note.c_str());
    }
    for (const auto& text : s.remarks())
        std::fprintf(out, "  note: %s\n", text.c_str());
}

struct contest {
    const row *ours, *named, *best;
};

contest contestants(const session& s, const std::string& key) {
    contest c = {find_row(s, key, "lathwork"), nullptr, nullptr};
    std::string theirs = peer_key(s, key);
    c.named = find_row(s, theirs, s.of().named_peer);
    for (const auto& r : s.rows()) {
        if (!r.verified || is_ours(r.subject) || r.what.name + '\n' + r.what.metric != theirs)
            continue;
        double mine = summarise(r.samples).median,
               champion = c.best ? summarise(c.best->samples).median : 0;
        if (!c.best || (r.what.higher_is_better ? mine > champion : mine < champion))
            c.best = &r;
    }
    return c;
}

// ours / theirs; below 1 is good where lower is better
std::string ratio_text(std::FILE* out, const row* ours, const row* theirs) {
    if (!ours || !theirs)
        return "       -    ";
    summary a = summarise(ours->samples), b = summarise(theirs->samples);
    if (b.median == 0)
        return "       -    ";
    double ratio = a.median / b.median;
    bool tie = is_tie(a, b), ahead = ours->what.higher_is_better ? ratio > 1 : ratio < 1;
    char text[64];
    const char* word = tie ? "tie " : ahead ? "    " : "loss";
    const char* colour = !colours(out) || tie ? "" : ahead ? "\033[32m" : "\033[31m";
    std::snprintf(text, sizeof(text), "%s%7.3f %s%s", colour, ratio, word,
                  *colour ? "\033[0m" : "");
    return text;
}

} // namespace

void print_medians(std::FILE* out, const session& s) {
    if (s.of().print) {
        s.of().print(out, s);
        print_absences(out, s);
        return;
    }
    auto cases = case_order(s);
    int width = case_width(cases);
    std::vector<std::string> names;
    for (const auto& p : s.of().subjects)
        if (std::any_of(s.rows().begin(), s.rows().end(),
                        [&](const row& r) { return r.subject == p.name; }))
            names.push_back(p.name);
    std::size_t most = 0, least = cases.empty() ? 0 : ~std::size_t{0};
    for (const auto& r : s.rows()) {
        most = std::max(most, r.samples.size());
        least = std::min(least, r.samples.size());
    }
    std::fprintf(out, "\n%s - %s\nmedians of %zu", s.of().name.c_str(), s.of().summary.c_str(),
                 least);
    if (most != least)
        std::fprintf(out, " to %zu", most);
    std::fprintf(out, " interleaved samples, +- the largest MAD of a row\n%-*s %-4s", width, "case",
                 "unit");
    for (const auto& name : names)
        std::fprintf(out, " %*s", std::max(8, static_cast<int>(name.size())), name.c_str());
    std::fprintf(out, "     +-\n");
    for (const auto& key : cases) {
        const row* any = nullptr;
        double noise = 0;
        std::string cells;
        for (const auto& name : names) {
            char text[64];
            const row* r = find_row(s, key, name);
            summary sum = r ? summarise(r->samples) : summary{};
            std::snprintf(text, sizeof(text), " %*s", std::max(8, static_cast<int>(name.size())),
                          r ? figure(sum.median).c_str() : "n/a");
            cells += text;
            if (r) {
                any = r;
                noise = std::max(noise, sum.median > 0 ? sum.mad / sum.median : 0);
            }
        }
        if (any)
            std::fprintf(out, "%-*s %-4s%s %5.1f%%\n", width, any->what.name.c_str(),
                         any->what.unit.c_str(), cells.c_str(), noise * 100);
    }
    print_absences(out, s);
}

void print_ratios(std::FILE* out, const session& s) {
    auto cases = case_order(s);
    int width = case_width(cases) + (s.of().print ? 3 : 0);
    std::fprintf(out,
                 "\n%s: lathwork / peer (%s; a tie is within the noise)\n%-*s %10s %-4s %7s  %-12s "
                 "%-12s %s\n",
                 s.of().name.c_str(), "below 1 is ahead where lower is better", width, "case",
                 "lathwork", "unit", "+-", s.of().named_peer.c_str(), "best peer", "");
    for (const auto& key : cases) {
        contest c = contestants(s, key);
        if (!c.ours)
            continue;
        summary sum = summarise(c.ours->samples);
        std::string label = c.ours->what.name;
        if (c.ours->what.metric != "time")
            label += " " + c.ours->what.metric;
        std::string against = c.best ? c.best->subject : "no peer has it";
        if (c.best && c.best->what.name != c.ours->what.name)
            against += " (" + c.best->what.name + ")";
        std::fprintf(out, "%-*s %10s %-4s %6.1f%%  %-12s %-12s %s\n", width, label.c_str(),
                     figure(sum.median).c_str(), c.ours->what.unit.c_str(),
                     sum.median > 0 ? sum.mad / sum.median * 100 : 0,
                     ratio_text(out, c.ours, c.named).c_str(),
                     ratio_text(out, c.ours, c.best).c_str(), against.c_str());
    }
}

} // namespace lathbench
