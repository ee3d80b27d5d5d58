// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath alloc TRACE: allocations and frees replayed in a pool of addresses.
#include "alloc/report.hpp"
#include "commands.hpp"
#include "stop_on_signal.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace lathcli {

namespace {

constexpr int no_room = 4, interrupted = 130;

constexpr const char* epilogue =
    "TRACE, a line an operation (- is standard input; # begins a comment):\n"
    "  a ID SIZE [ALIGN [HINT]]   allocate; ALIGN is a power of two, HINT serves near and next\n"
    "  f ID                       free\n"
    "Numbers: 4096, 0x1000, 4Ki or 4K, 1Mi, 2G, by 1024. A-B is from A up to, not including, B;\n"
    "A- goes up to 2^64.\n"
    "Policies: first and last are the lowest and the highest place; best is the shortest hole; "
    "near\n"
    "is nearest to the hint or else to the place before; next goes on behind it, then from the "
    "start.\n"
    "Examples:\n"
    "  lath alloc --pool 4Ki-4G --unit 4K trace.txt\n"
    "  lath extents / --json used.json; lath alloc --extents used.json --pool 0-100G trace.txt\n"
    "Exit codes: 0 done, 1 failed, 4 some requests found no room, 130 interrupted (what was done\n"
    "until then is reported), 100 and above wrong usage.";

struct request {
    std::string trace, extents, policy = "first", limits, below, unit = "1";
    std::vector<std::string> pool;
    std::string json, csv, svg, placement;
    bool skip_bad = false, quiet = false;
};

constexpr std::pair<const char*, lath_hole_policy> policies[] = {
    {"first", LATH_HOLE_FIRST}, {"last", LATH_HOLE_LAST}, {"best", LATH_HOLE_BEST},
    {"near", LATH_HOLE_NEAR},   {"next", LATH_HOLE_NEXT},
};

std::uint64_t number(const std::string& option, const std::string& text) {
    auto value = alloc::parse_number(text);
    if (!value)
        throw std::runtime_error(option + " " + text + ": not a number below 2^64");
    return *value;
}

alloc::replay_options options_of(const request& ask) {
    alloc::replay_options options;
    options.unit = number("--unit", ask.unit);
    if (!std::has_single_bit(options.unit))
        throw std::runtime_error("--unit " + ask.unit + ": not a power of two");
    if (!ask.limits.empty())
        options.limits = alloc::parse_span(ask.limits);
    if (!ask.below.empty())
        options.below = number("--below", ask.below);
    for (auto [name, policy] : policies)
        if (ask.policy == name)
            options.policy = policy;
    return options;
}

alloc::pool pool_of(const request& ask, std::uint64_t unit) {
    std::vector<alloc::span> spans, taken;
    for (const auto& text : ask.pool)
        spans.push_back(alloc::parse_span(text));
    if (!ask.extents.empty())
        taken = alloc::read_extents(ask.extents);
    if (spans.empty()) {
        if (taken.empty())
            throw std::runtime_error(ask.extents.empty()
                                         ? "no pool: give --pool, --extents or both"
                                         : ask.extents + ": no extents, so --pool is needed");
        std::uint64_t last = 0;
        for (const auto& t : taken)
            last = std::max(last, t.last);
        spans.push_back({0, last});
    }
    auto made = alloc::trim(alloc::without(alloc::make_pool(spans), taken), unit);
    if (made.empty())
        throw std::runtime_error("the pool is empty");
    return made;
}

// Writes to a file or, for "-", to standard output.
void write(const std::string& path, const std::function<void(std::ostream&)>& print) {
    if (path == "-") {
        print(std::cout);
        std::cout.flush();
        if (!std::cout)
            throw std::runtime_error("standard output: write failed");
        return;
    }
    std::ofstream file(path);
    print(file);
    file.close();
    if (!file)
        throw std::runtime_error(path + ": cannot be written");
}

class progress {
public:
    explicit progress(bool wanted) : shown_(wanted && isatty(STDERR_FILENO)) {}
    ~progress() {
        if (shown_)
            std::fprintf(stderr, "\r\033[K");
    }
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    void at(std::uint64_t operations, double used) {
        using clock = std::chrono::steady_clock;
        if (!shown_ || operations % 1024 || clock::now() - last_ < std::chrono::milliseconds(200))
            return;
        last_ = clock::now();
        std::fprintf(stderr, "\r\033[K%llu operations, %.1f %% used",
                     static_cast<unsigned long long>(operations), used);
    }

private:
    bool shown_;
    std::chrono::steady_clock::time_point last_;
};

void replay(const request& ask, alloc::reader& in, alloc::replayer& pool, double pool_bytes,
            std::ostream* placement) {
    progress shown(!ask.quiet);
    std::uint64_t operations = 0;
    double used = 0;
    // a signal also ends a read that waits for more of the trace
    auto next = [&](alloc::operation& o) {
        try {
            return !stop_asked && in.next(o);
        } catch (const std::runtime_error&) {
            if (!stop_asked)
                throw;
            return false;
        }
    };
    for (alloc::operation o; next(o);) {
        auto where = pool.play(o);
        used += o.is_free ? -static_cast<double>(where.size) : static_cast<double>(where.size);
        shown.at(++operations, 100 * used / pool_bytes);
        if (!placement)
            continue;
        *placement << (o.is_free ? "f " : "a ") << in.name_of(o.slot);
        if (where.size == 0)
            *placement << " -\n";
        else
            *placement << " 0x" << std::hex << where.key << " 0x" << where.size << std::dec << "\n";
    }
}

void run(const request& ask) {
    alloc::outcome o;
    o.options = options_of(ask);
    o.space = pool_of(ask, o.options.unit);
    o.trace = ask.trace;
    o.policy = ask.policy;
    bool to_stdout = ask.json == "-" || ask.csv == "-" || ask.svg == "-" || ask.placement == "-";
    bool text = !to_stdout && !ask.quiet;
    o.options.history = text || !ask.json.empty() || !ask.csv.empty() || !ask.svg.empty();
    alloc::reader in(trace::input(ask.trace, trace::open_file(ask.trace)), ask.skip_bad);
    alloc::replayer pool(o.space, o.options);
    auto bytes = static_cast<double>(alloc::size_of(o.space));
    {
        stop_on_signal scope;
        if (ask.placement.empty())
            replay(ask, in, pool, bytes, nullptr);
        else
            write(ask.placement, [&](std::ostream& out) { replay(ask, in, pool, bytes, &out); });
    }
    o.interrupted = stop_asked;
    o.counts = in.counts();
    o.last_error = in.last_error();
    if (o.options.history)
        o.history = pool.history();
    o.allocating = &pool.allocating();
    o.freeing = &pool.freeing();
    for (auto [path, print] : {std::pair{&ask.json, &alloc::print_json},
                               {&ask.csv, &alloc::print_csv},
                               {&ask.svg, &alloc::print_svg}})
        if (!path->empty())
            write(*path, [&, p = print](std::ostream& out) { p(out, o); });
    if (text)
        write("-", [&](std::ostream& out) { alloc::print_text(out, o); });
    if (o.interrupted)
        throw CLI::RuntimeError(interrupted);
    if (pool.without_room())
        throw CLI::RuntimeError(no_room);
}

} // namespace

void add_alloc(CLI::App& app) {
    auto ask = std::make_shared<request>();
    auto* sub = app.add_subcommand("alloc", "an allocation trace in a pool of addresses");
    sub->footer(epilogue);
    sub->add_option("TRACE", ask->trace, "The operations")->required();
    sub->add_option("--pool", ask->pool, "Ranges of addresses")
        ->type_name("A-B")
        ->delimiter(',')
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("--extents", ask->extents,
                    "Take away what this JSON of `lath extents` says is taken")
        ->type_name("FILE");
    sub->add_option("--unit", ask->unit, "Round sizes and alignments up to a multiple")
        ->type_name("N")
        ->capture_default_str();
    std::vector<std::string> names;
    for (auto [name, policy] : policies)
        names.emplace_back(name);
    sub->add_option("--policy", ask->policy, "Which place to take")
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    sub->add_option("--limits", ask->limits, "Allocate only there")->type_name("A-B");
    sub->add_option("--below", ask->below, "Allocate below N first")->type_name("N");
    sub->add_flag("--skip-bad", ask->skip_bad, "Go on behind bad lines, count them");
    sub->add_flag("--quiet", ask->quiet, "No report, no progress");
    sub->add_option("--placement", ask->placement, "Write where each ID came to lie")
        ->type_name("FILE");
    sub->add_option("--json", ask->json, "Write the report as JSON")->type_name("FILE");
    sub->add_option("--csv", ask->csv, "Write the state over time")->type_name("FILE");
    sub->add_option("--svg", ask->svg, "Plot the state over time")->type_name("FILE");
    sub->callback([ask] { run(*ask); });
}

} // namespace lathcli
