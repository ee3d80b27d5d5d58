// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath bench TABLE...: runs benchmark tables (bench/) and reports them.
#include "commands.hpp"

#include "progress.hpp"

#include "guest/guests.hpp"
#include "interrupt.hpp"
#include "parameters.hpp"
#include "report.hpp"
#include "table.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace lathcli {

namespace {

using lathbench::options;
using lathbench::session;
using lathbench::table;

struct request {
    std::vector<std::string> tables, n, parameters, vs;
    options opt;
    std::string json, csv;
    bool quick = false, full = false, list = false, resume = false;
};

// Where `all` leaves its samples, and `report` finds them.
constexpr const char* default_file = "lath-bench.json";

void print_list(const std::vector<const table*>& tables, const options& opt) {
    for (const table* each : tables) {
        const table& t = *each;
        std::printf("%s - %s\n  cases:", t.name.c_str(), t.summary.c_str());
        for (const auto& c : t.cases(opt))
            std::printf(" %s", c.c_str());
        std::printf("\n  subjects:\n");
        for (const auto& s : t.subjects) {
            std::printf("    %s", s.name.c_str());
            if (!s.missing.empty())
                std::printf("  (skipped: %s)", s.missing.c_str());
            else if (!s.note.empty())
                std::printf("  (%s)", s.note.c_str());
            std::printf("\n");
        }
        if (!t.parameters.empty())
            std::printf("  parameters:\n");
        for (const auto& p : t.parameters)
            std::printf("    %s  (%s; default %s)\n", p.name.c_str(), p.summary.c_str(),
                        p.by_default.c_str());
    }
}

const table& find_table(const std::vector<table>& tables, const std::string& name) {
    auto it =
        std::find_if(tables.begin(), tables.end(), [&](const table& t) { return t.name == name; });
    if (it == tables.end())
        throw std::runtime_error("no table '" + name + "' (lath bench --list names them)");
    return *it;
}

void check_subjects(const std::vector<const table*>& chosen, const options& opt) {
    for (const auto& name : opt.subjects) {
        const lathbench::subject* known = nullptr;
        for (const table* t : chosen)
            for (const auto& s : t->subjects)
                if (s.name == name && (!known || s.missing.empty()))
                    known = &s;
        if (!known)
            throw std::runtime_error("no subject '" + name +
                                     "' in the chosen tables (lath bench --list names them)");
        if (!known->missing.empty())
            throw std::runtime_error("subject '" + name +
                                     "' is not in this build: " + known->missing);
    }
}

void save(const request& asked, const std::deque<lathbench::run>& done) {
    if (!asked.json.empty())
        lathbench::write_json(asked.json, done, asked.opt);
    if (!asked.csv.empty())
        lathbench::write_csv(asked.csv, done);
}

int report(const request& asked, const std::deque<lathbench::run>& done) {
    bool failed = false;
    for (const auto& each : done)
        lathbench::print_medians(stdout, each.measured);
    for (const auto& each : done)
        lathbench::print_ratios(stdout, each.measured);
    std::printf("\n");
    for (const auto& each : done)
        std::printf("%s was %s\n", each.measured.of().name.c_str(),
                    lathbench::describe(each.circumstances).c_str());
    if (asked.opt.brief)
        std::printf("--brief: some peers were left out; lath bench --list names all\n");
    for (const auto& each : done) {
        for (const auto& e : each.measured.errors()) {
            std::fprintf(stderr, "lath: NOT VERIFIED: %s\n", e.c_str());
            failed = true;
        }
    }
    if (lathbench::interrupted()) {
        std::fprintf(stderr, "lath: interrupted: the tables above are incomplete%s%s%s\n",
                     asked.json.empty() ? "" : "; go on with --resume --json ", asked.json.c_str(),
                     asked.json.empty() ? " (with --json FILE a run can be resumed)" : "");
        return 130;
    }
    if (!asked.json.empty())
        std::fprintf(stderr, "samples: %s\n", asked.json.c_str());
    return failed ? 2 : 0;
}

// Everything the chosen tables need, checked before the first is run.
std::vector<const table*> choose(request& asked, const std::vector<table>& tables) {
    std::vector<const table*> chosen;
    for (const auto& name : asked.tables) {
        if (name == "all") {
            for (const auto& t : tables)
                chosen.push_back(&t);
            if (asked.json.empty() && !asked.list)
                asked.json = default_file;
        } else {
            chosen.push_back(&find_table(tables, name));
        }
    }
    if (asked.list && chosen.empty())
        for (const auto& t : tables)
            chosen.push_back(&t);
    std::vector<const table*> once;
    for (const table* t : chosen)
        if (std::find(once.begin(), once.end(), t) == once.end())
            once.push_back(t);
    return once;
}

// A table none of whose subjects was asked for is left out.
bool takes_part(const session& s) { return !s.subjects().empty(); }

int run(request& asked) {
    for (const auto& path : asked.vs)
        lathbench::load_guest(path);
    auto tables = lathbench::all_tables();
    asked.opt.mode = asked.quick  ? lathbench::effort::quick
                     : asked.full ? lathbench::effort::full
                                  : lathbench::effort::normal;
    for (const auto& text : asked.n)
        asked.opt.n.push_back(lathbench::parse_size("--n " + text, text));
    auto chosen = choose(asked, tables);
    lathbench::set_parameters(chosen, asked.parameters, asked.opt);
    if (asked.list) {
        print_list(chosen, asked.opt);
        return 0;
    }
    if (chosen.empty())
        throw std::runtime_error(
            "bench: which table? (lath bench --list names them; all runs them all)");
    check_subjects(chosen, asked.opt);
    if (asked.resume && asked.json.empty())
        throw std::runtime_error(
            "bench: --resume needs --json FILE, the file of the interrupted run");
    std::deque<lathbench::run> done;
    for (const table* t : chosen) {
        lathbench::run each(*t, asked.opt);
        if (!takes_part(each.measured))
            continue;
        if (asked.resume)
            each.measured.keep(lathbench::read_former(asked.json, t->name, asked.opt));
        done.push_back(std::move(each));
    }
    lathbench::catch_interrupt();
    std::size_t turn = 0;
    for (auto& each : done) {
        turn++;
        if (lathbench::interrupted())
            break;
        progress_line line(each.measured, turn, done.size());
        lathbench::noise_watch watch;
        each.measured.on_progress([&](const session& s, const std::string& what) {
            watch.look();
            line.show(s, what);
        });
        if (!each.measured.all_kept())
            each.measured.of().run(each.measured);
        each.circumstances = watch.finish();
        each.complete = !lathbench::interrupted();
        line.done(each.circumstances);
        save(asked, done);
    }
    return report(asked, done);
}

} // namespace

void add_bench(CLI::App& app) {
    auto asked = std::make_shared<request>();
    CLI::App* bench =
        app.add_subcommand("bench", "measure our structures beside their peers, results verified");
    bench->add_option("tables", asked->tables, "the tables to run, or all")->type_name("TABLE");
    bench->add_flag("--list", asked->list,
                    "name tables, cases and subjects, and what is missing and why");
    auto* quick = bench->add_flag("--quick", asked->quick,
                                  "smaller sizes and fewer repetitions: under a minute a table");
    bench->add_flag("--full", asked->full, "all sizes, all rounds")->excludes(quick);
    bench->add_flag("--brief", asked->opt.brief,
                    "without the subjects that say least beside the others");
    bench->add_option("--threads", asked->opt.threads, "numbers of threads")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024));
    bench->add_option("--n", asked->n, "numbers of items (1000000 or 1e6)")->delimiter(',');
    bench->add_option("--seed", asked->opt.seed, "seed of all made-up data")->capture_default_str();
    bench->add_option("--subjects", asked->opt.subjects, "only these")->delimiter(',');
    bench->add_option("--cases", asked->opt.cases, "only these (a case or its first words)")
        ->delimiter(',');
    bench->add_option("--reps", asked->opt.reps, "repetitions (default 7; 3 with --quick)")
        ->check(CLI::Range(1, 1000));
    bench
        ->add_option("--parameter", asked->parameters,
                     "set what a table declares (--list names it); may be given again")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    bench
        ->add_option(
            "--vs", asked->vs,
            "a structure of your own, in a shared object (bench_adapter.h); may be given again")
        ->type_name("FILE.so")
        ->allow_extra_args(false);
    bench
        ->add_option("--json", asked->json,
                     std::string("write all samples there (with all: ") + default_file + ")")
        ->type_name("FILE");
    bench->add_flag("--resume", asked->resume,
                    "measure only what an interrupted run did not write to the --json file");
    bench->add_option("--csv", asked->csv, "write the rows there")->type_name("FILE");
    bench
        ->add_option("--input", asked->opt.input,
                     "extents (from `lath extents --json`) as the key set")
        ->check(CLI::ExistingFile);
    bench->callback([asked] {
        if (int code = run(*asked))
            throw CLI::RuntimeError(code);
    });
}

} // namespace lathcli
