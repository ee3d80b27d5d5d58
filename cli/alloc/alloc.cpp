// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath alloc TRACE: allocations and frees replayed in a pool of addresses.
#include "alloc/report.hpp"
#include "base/numbers.hpp"
#include "base/output.hpp"
#include "base/status_line.hpp"
#include "base/stop_on_signal.hpp"
#include "base/text.hpp"
#include "base/usage.hpp"
#include "commands.hpp"
#include "options.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lathcli::alloc {

namespace {

constexpr int no_room = 4;

constexpr const char* epilogue =
    "TRACE, one operation per line (- is standard input; # begins a comment):\n"
    "  a ID SIZE [ALIGN [HINT]]   allocate; ALIGN is a power of two, HINT serves near and next\n"
    "  f ID                       free\n"
    "  WANT UNIT [MAX [HINT]]     allocate in pieces of at most MAX, multiples of UNIT: a line of "
    "a\n"
    "                             replay list of Ceph's BlueStore\n"
    "Numbers: 4096, 0x1000, 1e6; 4K or 4Ki, 1Mi, 2G by 1024. A-B is from A up to, not including, "
    "B;\n"
    "A- goes up to 2^64. Without --pool the pool goes from the first of the --extents to the end "
    "of the\n"
    "last: what is before the first is the file system's own.\n"
    "Policies: first and last are the lowest and the highest place; best is the shortest hole; "
    "near\n"
    "is nearest to the hint or else to the place before; next goes on behind it, then from the "
    "start.\n"
    "Examples:\n"
    "  lath alloc --pool 4Ki-4G --unit 4K trace.txt\n"
    "  lath extents / --json used.json; lath alloc --extents used.json --pool 0-100G trace.txt\n"
    "  lath alloc --dump osd.json requests.txt\n"
    "  lath alloc --pool 0-1G --save state.json day1; lath alloc --pool 0-1G --extents state.json "
    "day2\n"
    "Exit codes: 0 done, 1 failed, 4 some requests found no room, 130 interrupted (what was done\n"
    "until then is reported), 100 and above wrong usage.";

struct request {
    std::string trace, extents, dump, allocator, policy = "first", limits;
    std::uint64_t below = 0, unit = 0; // 0: not given
    std::vector<std::string> pool;
    std::string json, csv, svg, placement, save;
    bool skip_bad = false, quiet = false;
};

constexpr std::pair<const char*, lath_hole_policy> policies[] = {
    {"first", LATH_HOLE_FIRST}, {"last", LATH_HOLE_LAST}, {"best", LATH_HOLE_BEST},
    {"near", LATH_HOLE_NEAR},   {"next", LATH_HOLE_NEXT},
};

alloc::replay_options options_of(const request& ask) {
    alloc::replay_options options;
    if (!ask.limits.empty())
        options.limits = alloc::parse_span(ask.limits);
    options.below = ask.below;
    for (auto [name, policy] : policies)
        if (ask.policy == name)
            options.policy = policy;
    return options;
}

alloc::pool not_empty(alloc::pool made) {
    if (made.empty())
        throw usage_error("the pool is empty: nothing of it is free and as long as --unit");
    return made;
}

// Returns the pool; in unit what --unit says, or the dump, or 1; in taken what is not part of it by
// what --extents or --dump says.
alloc::pool pool_of(const request& ask, std::uint64_t& unit, std::vector<alloc::span>& taken) {
    unit = ask.unit ? ask.unit : 1;
    std::vector<alloc::span> spans;
    if (!ask.dump.empty()) {
        auto dump = alloc::read_dump(ask.dump, ask.allocator);
        unit = ask.unit ? ask.unit : dump.unit;
        taken = dump.taken;
        return not_empty(alloc::trim(dump.free, unit));
    }
    spans.reserve(ask.pool.size());
    for (const auto& text : ask.pool)
        spans.push_back(alloc::parse_span(text));
    if (spans.empty() && ask.extents.empty())
        throw usage_error("alloc: no pool: give --pool, --extents or both, or --dump");
    if (!ask.extents.empty()) {
        auto told = alloc::read_extents(ask.extents);
        taken = std::move(told.spans);
        if (told.logical)
            message("lath alloc: " + printable(ask.extents) +
                    " has logical addresses of a file system, not offsets of a device: so has the "
                    "pool");
    }
    if (spans.empty()) {
        if (taken.empty())
            throw usage_error(ask.extents + ": no extents, so --pool is needed");
        alloc::span all = taken.front();
        for (const auto& t : taken)
            all = {std::min(all.first, t.first), std::max(all.last, t.last)};
        spans.push_back(all);
    }
    return not_empty(alloc::trim(alloc::without(alloc::make_pool(spans, "--pool"), taken), unit));
}

std::string status_text(std::uint64_t operations, double used) {
    char text[80];
    std::snprintf(text, sizeof text, "%llu operations, %.1f %% used",
                  static_cast<unsigned long long>(operations), used);
    return text;
}

void replay(const request& ask, alloc::reader& in, alloc::replayer& pool, double pool_bytes,
            std::ostream* placement) {
    status_line shown(!ask.quiet && ask.placement != "-");
    std::uint64_t operations = 0;
    double used = 0;
    auto next = [&](alloc::operation& o) {
        try {
            return !stop_asked && in.next(o);
        } catch (const stopped&) {
            return false;
        }
    };
    for (alloc::operation o; next(o);) {
        auto where = pool.play(o);
        used += o.is_free ? -static_cast<double>(where.size) : static_cast<double>(where.size);
        if (++operations % 1024 == 0 && shown.due())
            shown.show(status_text(operations, 100 * used / pool_bytes));
        if (!placement)
            continue;
        if (o.in_pieces)
            *placement << "r " << o.size;
        else
            *placement << (o.is_free ? "f " : "a ") << in.name_of(o.slot);
        if (where.size == 0)
            *placement << " -";
        for (const auto& piece : o.in_pieces ? pool.pieces() : std::vector{where})
            if (piece.size)
                *placement << " 0x" << std::hex << piece.key << " 0x" << piece.size << std::dec;
        *placement << "\n";
    }
}

// What a run writes, opened before it begins.
struct outputs {
    explicit outputs(const request& ask) {
        check_distinct({{"--placement", ask.placement},
                        {"--json", ask.json},
                        {"--csv", ask.csv},
                        {"--svg", ask.svg},
                        {"--save", ask.save}});
        std::vector<std::string> inputs = {ask.trace, ask.extents, ask.dump};
        for (auto [path, file] : {std::pair{&ask.placement, &placement},
                                  {&ask.json, &json},
                                  {&ask.csv, &csv},
                                  {&ask.svg, &svg},
                                  {&ask.save, &save}})
            if (!path->empty()) {
                file->emplace(*path, inputs);
                to_stdout = to_stdout || (*file)->standard();
            }
    }
    std::optional<output> placement, json, csv, svg, save;
    bool to_stdout = false;
};

void run(const request& ask) {
    alloc::outcome o;
    o.options = options_of(ask);
    std::vector<alloc::span> taken;
    o.space = pool_of(ask, o.options.unit, taken);
    o.trace = ask.trace;
    o.policy = ask.policy;
    stop_on_signal scope;
    outputs files(ask);
    bool text = !files.to_stdout && !ask.quiet;
    o.options.history = text || files.json || files.csv || files.svg;
    alloc::reader in(trace::input(ask.trace, trace::open_file(ask.trace)), ask.skip_bad);
    alloc::replayer pool(o.space, o.options);
    auto bytes = static_cast<double>(alloc::size_of(o.space));
    replay(ask, in, pool, bytes, files.placement ? &files.placement->stream() : nullptr);
    o.interrupted = stop_asked;
    o.counts = in.counts();
    o.last_error = in.last_error();
    if (o.options.history)
        o.history = pool.history();
    o.served_in_pieces = pool.served_in_pieces();
    o.pieces = pool.all_pieces();
    auto allocated = pool.allocated();
    o.used = alloc::used_of(o.space, allocated);
    o.allocating = &pool.allocating();
    o.freeing = &pool.freeing();
    if (files.placement)
        files.placement->commit();
    for (auto [file, print] : {std::pair{&files.json, &alloc::print_json},
                               {&files.csv, &alloc::print_csv},
                               {&files.svg, &alloc::print_svg}})
        if (*file) {
            print((*file)->stream(), o);
            (*file)->commit();
        }
    if (files.save) {
        allocated.insert(allocated.end(), taken.begin(), taken.end());
        alloc::write_extents(files.save->stream(), std::move(allocated));
        files.save->commit();
    }
    if (text)
        alloc::print_text(std::cout, o);
    if (o.interrupted)
        throw CLI::RuntimeError(stop_on_signal::exit_code);
    if (pool.without_room())
        throw CLI::RuntimeError(no_room);
}

CLI::Validator is_span() {
    return parsed_by([](const std::string& text) { alloc::parse_span(text); });
}

void add_pool(CLI::App& sub, request& ask) {
    auto power_of_two = CLI::Validator(
        [](const std::string& text) {
            auto n = parse_number(text);
            return n && std::has_single_bit(*n) ? "" : "'" + text + "' is not a power of two";
        },
        "");
    sub.add_option("--pool", ask.pool, "Ranges of addresses")
        ->check(is_span())
        ->type_name("A-B")
        ->delimiter(',')
        ->take_all()
        ->allow_extra_args(false);
    sub.add_option("--extents", ask.extents, "JSON of `lath extents`: what it lists is not free")
        ->type_name("FILE")
        ->check(file_name());
    sub.add_option("--dump", ask.dump,
                   "The pool is what this dump of BlueStore's allocator says is free")
        ->type_name("FILE")
        ->check(file_name())
        ->excludes("--pool")
        ->excludes("--extents");
    sub.add_option("--allocator", ask.allocator, "The one to read of a dump that has several")
        ->type_name("NAME")
        ->needs("--dump");
    sub.add_option("--unit", ask.unit,
                   "Round sizes and alignments up to a multiple; default: 1, or the unit recorded "
                   "in --dump")
        ->type_name("N")
        ->check(power_of_two)
        ->transform(whole_number(1));
}

void add_outputs(CLI::App& sub, request& ask) {
    auto file = [&](const char* name, std::string& to, const char* text) {
        sub.add_option(name, to, text)->type_name("FILE")->check(file_name());
    };
    file("--placement", ask.placement, "Write where each ID came to lie");
    file("--json", ask.json,
         "Write the report as JSON; - is standard output, in place of the text");
    file("--csv", ask.csv, "Write the state over time");
    file("--svg", ask.svg, "Plot the state over time");
    file("--save", ask.save, "Write what is taken at the end, for --extents of another run");
}

} // namespace

void add(CLI::App& app) {
    auto ask = std::make_shared<request>();
    auto* sub = app.add_subcommand("alloc", "replay an allocation trace in a pool of addresses");
    sub->footer(epilogue);
    sub->add_option("TRACE", ask->trace, "The operations")->required();
    add_pool(*sub, *ask);
    std::vector<std::string> names;
    for (auto [name, policy] : policies)
        names.emplace_back(name);
    sub->add_option("--policy", ask->policy, "Which place to take")
        ->check(one_of(names))
        ->capture_default_str();
    sub->add_option("--limits", ask->limits, "Allocate only there")
        ->type_name("A-B")
        ->check(is_span());
    sub->add_option("--below", ask->below, "Allocate below N first")
        ->type_name("N")
        ->transform(whole_number());
    sub->add_flag("--skip-bad", ask->skip_bad, "Go on behind bad lines, count them");
    sub->add_flag("--quiet", ask->quiet, "No report, no progress");
    add_outputs(*sub, *ask);
    sub->callback([ask] { run(*ask); });
}

} // namespace lathcli::alloc
