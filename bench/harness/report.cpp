// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// First the files (JSON, CSV), then the tables on the terminal.
#include "report.hpp"

#include "base/input_file.hpp"
#include "base/json_text.hpp"
#include "context.hpp"
#include "stats.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <set>
#include <stdexcept>
#include <unistd.h>

namespace lathbench {

namespace {

using json = nlohmann::ordered_json;

const char* better(const row& r) { return r.what.higher_is_better ? "higher" : "lower"; }

json asked_for(const options& opt) {
    json asked = {{"effort", opt.quick()  ? "quick"
                             : opt.full() ? "full"
                                          : "default"},
                  {"seed", opt.seed},
                  {"isa", opt.isa},
                  {"parameters", opt.parameters},
                  {"input", opt.input.empty() ? "made-up keys" : lathcli::printable(opt.input)}};
    json limits = {{"n", opt.n},         {"threads", opt.threads}, {"subjects", opt.subjects},
                   {"cases", opt.cases}, {"reps", opt.reps},       {"brief", opt.brief}};
    if (opt.seconds > 0)
        limits["seconds"] = opt.seconds;
    asked["only"] = limits;
    return asked;
}

json noise_of(const noise& n) {
    auto percent = [](double x) { return x < 0 ? json(nullptr) : json(std::round(x * 100) / 100); };
    return {{"verdict", verdict(n)},
            {"other_programs_percent", percent(n.others)},
            {"stolen_percent", percent(n.stolen)},
            {"loop_spread_percent", percent(n.loop_spread)},
            {"loop_lost_percent", percent(n.loop_lost)},
            {"line_least_ns", std::round(n.line_least_ns * 10) / 10},
            {"line_most_ns", std::round(n.line_most_ns * 10) / 10},
            {"preempted", n.preempted}};
}

json context_of(const std::deque<run>& done, const options& opt) {
    json context;
    for (const auto& [name, value] : machine_context())
        context[name] = value;
    context.update(asked_for(opt));
    json remarks = json::array(), absent = json::array(), errors = json::array(),
         tables = json::array();
    for (const auto& each : done) {
        const session& s = each.measured;
        const noise& n = each.circumstances;
        json declared = json::array();
        for (const auto& p : s.of().parameters)
            declared.push_back(p.name);
        tables.push_back({{"name", s.of().name},
                          {"parameters", declared},
                          {"summary", s.of().summary},
                          {"ours", s.of().ours},
                          {"named_peer", s.of().named_peer},
                          {"complete", each.complete},
                          {"resumed_cases", s.kept().size()},
                          {"seconds", std::round(n.seconds * 10) / 10},
                          {"noise", noise_of(n)},
                          {"huge_page_bytes", n.huge_bytes},
                          {"resident_bytes", n.resident_bytes}});
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
    context["tables"] = tables;
    context["remarks"] = remarks;
    context["not_available"] = absent;
    context["errors"] = errors;
    return context;
}

bool is_ours(const table& t, const std::string& subject) {
    return subject == t.ours || subject.compare(0, 8, "lathwork") == 0;
}

// "lookup-batch/1000000/2" is compared with the peers' "lookup/1000000/2" where the table says so.
std::string peer_case(const table& t, const std::string& name) {
    auto slash = name.find('/');
    auto it = t.compare_with.find(name.substr(0, slash));
    return it == t.compare_with.end() || slash == std::string::npos
               ? name
               : it->second + name.substr(slash);
}

// Adds the ratios of ours to each peer in the same run.
void add_ratios(json& ratios, const session& s) {
    for (const auto& ours : s.rows()) {
        if (!ours.verified || ours.subject != s.of().ours)
            continue;
        auto theirs = peer_case(s.of(), ours.what.name);
        for (const auto& r : s.rows()) {
            if (!r.verified || is_ours(s.of(), r.subject) || r.what.name != theirs ||
                r.what.metric != ours.what.metric)
                continue;
            ratio q = ratio_of(ours.samples, r.samples);
            if (q.value > 0)
                ratios.push_back({{"table", s.of().name},
                                  {"case", ours.what.name},
                                  {"metric", ours.what.metric},
                                  {"peer", r.subject},
                                  {"peer_case", theirs},
                                  {"ratio", q.value},
                                  {"low", q.low},
                                  {"high", q.high},
                                  {"tie", q.tie}});
        }
    }
}

} // namespace

void write_json(std::ostream& to, const std::deque<run>& done, const options& opt) {
    json rows = json::array(), ratios = json::array();
    for (const auto& each : done) {
        const session& s = each.measured;
        add_ratios(ratios, s);
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
    json document = {{"context", context_of(done, opt)}, {"rows", rows}, {"ratios", ratios}};
    to << lathcli::json_text(document, 1) << '\n';
}

void write_csv(std::ostream& to, const std::deque<run>& done) {
    to << "table,case,subject,n,threads,metric,unit,better,median,min,mad,samples\n";
    for (const auto& each : done) {
        const session& s = each.measured;
        for (const auto& r : s.rows()) {
            if (!r.verified)
                continue;
            summary sum = summarise(r.samples);
            to << s.of().name << ',' << r.what.name << ',' << r.subject << ',' << r.what.n << ','
               << r.what.threads << ',' << r.what.metric << ',' << r.what.unit << ',' << better(r)
               << ',' << sum.median << ',' << sum.min << ',' << sum.mad << ',';
            for (std::size_t i = 0; i < r.samples.size(); i++)
                to << (i ? ";" : "") << r.samples[i];
            to << '\n';
        }
    }
}

namespace {

// Throws if the samples must not be mixed with those of this run.
void check_circumstances(const std::string& path, const json& was, const options& opt) {
    json now = asked_for(opt);
    for (const auto& [name, value] : machine_context())
        now[name] = value;
    for (const char* name : {"machine", "cpus", "kernel", "compiler", "flags", "commit", "effort",
                             "seed", "isa", "parameters", "input", "only"})
        if (was.value(name, json()) != now[name])
            throw std::runtime_error(path + ": was measured with another " + name + " (" +
                                     was.value(name, json()).dump() + ", now " + now[name].dump() +
                                     "): it cannot be resumed");
}

} // namespace

session::former read_former(const std::string& path, const std::string& table, const options& opt) {
    auto in = lathcli::open_stream(path);
    session::former found;
    try {
        json file = json::parse(in);
        check_circumstances(path, file.at("context"), opt);
        for (const auto& r : file.at("rows")) {
            if (r.at("table") != table)
                continue;
            row each;
            each.what = {r.at("case"),   r.at("n"),    r.at("threads"),
                         r.at("metric"), r.at("unit"), r.at("better") == "higher"};
            each.subject = r.at("subject");
            each.samples = r.at("samples").get<std::vector<double>>();
            found.rows.push_back(std::move(each));
        }
        for (const auto& a : file.at("context").at("not_available"))
            if (a.at("table") == table && a.at("case") != "*")
                found.absences.push_back({a.at("case"), a.at("subject"), a.at("why")});
        for (const auto& r : file.at("context").at("remarks"))
            if (auto text = r.get<std::string>();
                text.compare(0, table.size() + 2, table + ": ") == 0)
                found.remarks.push_back(text.substr(table.size() + 2));
    } catch (const json::exception& e) {
        throw std::runtime_error(path + ": not a file of lath bench: " + lathcli::json_problem(e));
    }
    return found;
}

namespace {

bool colours(std::FILE* out) { return isatty(fileno(out)) && !std::getenv("NO_COLOR"); }

// Cases and subjects in the order of their first sample.
std::vector<std::string> case_order(const session& s) {
    std::vector<std::string> order;
    for (const auto& r : s.rows()) {
        std::string key = r.what.name + '\n' + r.what.metric;
        if (std::find(order.begin(), order.end(), key) == order.end())
            order.push_back(key);
    }
    // cases that the table lists are in its order
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

// "lookup/1000000", "4k/16 p99"
std::string label(const cell& what) {
    return what.metric == "time" ? what.name : what.name + " " + what.metric;
}

int case_width(const session& s) {
    std::size_t width = 8;
    for (const auto& r : s.rows())
        width = std::max(width, label(r.what).size());
    return static_cast<int>(width);
}

// Prints one line per reason, with the cases by their first words.
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
    contest c = {find_row(s, key, s.of().ours), nullptr, nullptr};
    std::string theirs =
        peer_case(s.of(), key.substr(0, key.find('\n'))) + key.substr(key.find('\n'));
    c.named = find_row(s, theirs, s.of().named_peer);
    for (const auto& r : s.rows()) {
        if (!r.verified || is_ours(s.of(), r.subject) ||
            r.what.name + '\n' + r.what.metric != theirs)
            continue;
        double mine = summarise(r.samples).median,
               champion = c.best ? summarise(c.best->samples).median : 0;
        if (!c.best || (r.what.higher_is_better ? mine > champion : mine < champion))
            c.best = &r;
    }
    return c;
}

// How many times faster, or otherwise better, ours is: below 1 it is slower.
std::string ratio_text(std::FILE* out, const row* ours, const row* theirs) {
    ratio q = ours && theirs ? ratio_of(ours->samples, theirs->samples) : ratio{};
    if (q.value <= 0)
        return "       -    ";
    double times = ours->what.higher_is_better ? q.value : 1 / q.value;
    bool ahead = times > 1;
    char text[64];
    const char* word = q.tie ? "tie " : ahead ? "    " : "loss";
    const char* colour = !colours(out) || q.tie ? "" : ahead ? "\033[32m" : "\033[31m";
    std::snprintf(text, sizeof(text), "%s%7.3g %s%s", colour, times, word,
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
    int width = case_width(s);
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
            std::fprintf(out, "%-*s %-4s%s %5.1f%%\n", width, label(any->what).c_str(),
                         any->what.unit.c_str(), cells.c_str(), noise * 100);
    }
    print_absences(out, s);
}

void print_ratios(std::FILE* out, const session& s) {
    auto cases = case_order(s);
    int width = case_width(s);
    std::fprintf(out,
                 "\n%s: how many times better %s is than a peer (below 1: worse; a tie is within "
                 "the noise)\n%-*s %10s %-4s %7s  %-12s %-12s %s\n",
                 s.of().name.c_str(), s.of().ours.c_str(), width, "case", s.of().ours.c_str(),
                 "unit", "+-", s.of().named_peer.c_str(), "best peer", "");
    for (const auto& key : cases) {
        contest c = contestants(s, key);
        if (!c.ours)
            continue;
        summary sum = summarise(c.ours->samples);
        std::string against = c.best ? c.best->subject : "no peer has it";
        if (c.best && c.best->what.name != c.ours->what.name)
            against += " (" + c.best->what.name + ")";
        std::fprintf(out, "%-*s %10s %-4s %6.1f%%  %-12s %-12s %s\n", width,
                     label(c.ours->what).c_str(), figure(sum.median).c_str(),
                     c.ours->what.unit.c_str(), sum.median > 0 ? sum.mad / sum.median * 100 : 0,
                     ratio_text(out, c.ours, c.named).c_str(),
                     ratio_text(out, c.ours, c.best).c_str(), against.c_str());
    }
}

} // namespace lathbench
