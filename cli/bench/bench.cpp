// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath-bench TABLE..., as `lath bench` calls it: runs benchmark tables (bench/) and reports them.
#include "base/input_file.hpp"
#include "base/output.hpp"
#include "base/status_line.hpp"
#include "base/stop_on_signal.hpp"
#include "base/text.hpp"
#include "base/usage.hpp"
#include "bench/bundle.hpp"
#include "bench/isa.hpp"
#include "bench/progress.hpp"
#include "commands.hpp"
#include "companions.hpp"
#include "describe.hpp"
#include "options.hpp"

#include "harness/context.hpp"
#include "harness/interrupt.hpp"
#include "harness/parameters.hpp"
#include "harness/report.hpp"
#include "harness/table.hpp"
#include "tables/index/distributions.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lathcli {

namespace {

using lathbench::options;
using lathbench::session;
using lathbench::table;

struct request {
    std::vector<std::string> tables, n, keys, values, parameters;
    options opt;
    std::string json, csv, text, isa, bundle;
    std::uint64_t seconds = 0;
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
    std::vector<std::string> names{"all"};
    for (const table& t : tables) {
        if (t.name == name)
            return t;
        names.push_back(t.name);
    }
    throw usage_error("bench: " + no_such("table", name, names));
}

void check_subjects(const std::vector<const table*>& chosen, const options& opt) {
    std::vector<std::string> names;
    for (const table* t : chosen)
        for (const auto& s : t->subjects)
            if (std::find(names.begin(), names.end(), s.name) == names.end())
                names.push_back(s.name);
    for (const auto& name : opt.subjects) {
        const lathbench::subject* known = nullptr;
        for (const table* t : chosen)
            for (const auto& s : t->subjects)
                if (s.name == name && (!known || s.missing.empty()))
                    known = &s;
        if (!known)
            throw usage_error("--subjects: " + no_such("subject", name, names));
        if (!known->missing.empty())
            throw std::runtime_error("--subjects: '" + name +
                                     "' is not in this build: " + known->missing);
    }
}

// Each filter must choose a case.
void check_cases(const std::vector<const table*>& chosen, const options& opt) {
    for (const auto& filter : opt.cases) {
        options only = opt;
        only.cases = {filter};
        std::vector<std::string> names;
        bool some = false;
        for (const table* t : chosen) {
            session one(*t, only);
            for (const auto& name : t->cases(opt)) {
                some = some || one.wants_case(name);
                names.push_back(name);
            }
        }
        if (!some)
            throw usage_error("--cases: " + no_such("case", filter, names));
    }
}

void print(std::FILE* out, const request& asked, const std::deque<lathbench::run>& done) {
    std::fprintf(out, "%s, %s\n", lathbench::processor().c_str(), asked.opt.isa.c_str());
    for (const auto& [name, value] : lathbench::machine_context())
        if (name == "cpus" || name == "memory" || name == "kernel")
            std::fprintf(out, "%s%s: %s", name == "cpus" ? "" : ", ", name.c_str(), value.c_str());
    std::fprintf(out, "\n");
    for (const auto& each : done)
        lathbench::print_medians(out, each.measured);
    for (const auto& each : done)
        lathbench::print_ratios(out, each.measured);
    std::fprintf(out, "\n");
    for (const auto& each : done)
        std::fprintf(out, "%s was %s\n", each.measured.of().name.c_str(),
                     lathbench::describe(each.circumstances).c_str());
    if (asked.opt.brief)
        std::fprintf(out, "--brief: some peers were left out; lath bench --list names all\n");
}

// What print() prints, without colours.
std::string printed(const request& asked, const std::deque<lathbench::run>& done) {
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* memory = open_memstream(&text, &size);
    if (!memory)
        throw std::bad_alloc();
    print(memory, asked, done);
    bool complete = std::fclose(memory) == 0;
    std::string result = complete ? std::string(text, size) : "";
    std::free(text);
    if (!complete)
        throw std::bad_alloc();
    return result;
}

// The files of a run: opened at its beginning, and anew after each table, whose rows must not get
// lost.
class outputs {
public:
    explicit outputs(const request& asked) : asked_(asked) {
        check_distinct({{"--json", asked.json}, {"--csv", asked.csv}, {"--text", asked.text}});
        open();
        to_stdout_ = (json_ && json_->standard()) || (csv_ && csv_->standard()) ||
                     (text_ && text_->standard());
    }
    bool to_stdout() const { return to_stdout_; }
        // After each table.
    void save(const std::deque<lathbench::run>& done) {
        write(done, false);
        open();
    }
        // Standard output, once.
    void finish(const std::deque<lathbench::run>& done) { write(done, true); }

private:
    void open() {
        const std::vector<std::string> inputs{asked_.opt.input};
        if (!asked_.json.empty())
            json_.emplace(asked_.json, inputs);
        if (!asked_.csv.empty())
            csv_.emplace(asked_.csv, inputs);
        if (!asked_.text.empty())
            text_.emplace(asked_.text, inputs);
    }
    void write(const std::deque<lathbench::run>& done, bool standard) {
        if (json_ && json_->standard() == standard) {
            lathbench::write_json(json_->stream(), done, asked_.opt);
            json_->commit();
        }
        if (csv_ && csv_->standard() == standard) {
            lathbench::write_csv(csv_->stream(), done);
            csv_->commit();
        }
        if (text_ && text_->standard() == standard) {
            text_->stream() << printed(asked_, done);
            text_->commit();
        }
    }
    const request& asked_;
    std::optional<output> json_, csv_, text_;
    bool to_stdout_ = false;
};

int report(const request& asked, const std::deque<lathbench::run>& done) {
    bool failed = false, in_file = !asked.json.empty() && asked.json != "-";
    for (const auto& each : done) {
        for (const auto& e : each.measured.errors()) {
            message("lath: NOT VERIFIED: " + e);
            failed = true;
        }
    }
    if (lathbench::interrupted() && asked.seconds) {
        message("lath: interrupted: the tables are of what was measured until then");
        return stop_on_signal::exit_code;
    }
    if (lathbench::interrupted()) {
        message("lath: interrupted: the tables are incomplete" +
                (in_file ? "; go on with --resume --json " + asked.json
                         : " (with --json FILE a run can be resumed)"));
        return stop_on_signal::exit_code;
    }
    if (in_file)
        message("samples: " + asked.json);
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

// --keys and --values are parameters that some tables have.
void set_parameter(request& asked, const std::vector<const table*>& chosen, const char* name,
                   const std::vector<std::string>& words, const char* who) {
    if (words.empty())
        return;
    auto has = [&](auto* t) {
        return std::any_of(t->parameters.begin(), t->parameters.end(),
                           [&](auto& p) { return p.name == name; });
    };
    if (std::none_of(chosen.begin(), chosen.end(), has))
        throw usage_error(std::string("--") + name + ": only " + who);
    asked.parameters.push_back(std::string(name) + "=" + join(words, ","));
}

// The tables to run; the options that they are run with are in asked.opt.
std::vector<const table*> understand(request& asked, const std::vector<table>& tables) {
    asked.opt.mode = asked.quick  ? lathbench::effort::quick
                     : asked.full ? lathbench::effort::full
                                  : lathbench::effort::normal;
    for (const auto& text : asked.n)
        asked.opt.n.push_back(lathbench::parse_size("--n", text));
    auto chosen = choose(asked, tables);
    set_parameter(asked, chosen, "keys", asked.keys,
                  "tables index and store have distributions of keys");
    set_parameter(asked, chosen, "values", asked.values, "table store has kinds of values");
    lathbench::set_parameters(chosen, asked.parameters, asked.opt);
    if (asked.opt.parameters.count("keys") && !asked.opt.input.empty())
        throw usage_error("bench: --keys and --input both choose the keys");
    if (chosen.empty())
        throw usage_error("bench: which table? (lath bench --list names them; all runs them all)");
    check_subjects(chosen, asked.opt);
    check_cases(chosen, asked.opt);
    return chosen;
}

std::deque<lathbench::run> runs_of(const request& asked, const std::vector<const table*>& chosen) {
    if (asked.resume && (asked.json.empty() || asked.json == "-"))
        throw usage_error("bench: --resume needs --json FILE, the file of the interrupted run");
    std::deque<lathbench::run> done;
    for (const table* t : chosen) {
        lathbench::run each(*t, asked.opt);
        if (each.measured.subjects().empty())
            continue; // none of its subjects was asked for
        if (asked.resume)
            each.measured.keep(lathbench::read_former(asked.json, t->name, asked.opt));
        done.push_back(std::move(each));
    }
    if (done.empty())
        throw usage_error("bench: none of the chosen tables has one of the --subjects");
    return done;
}

void measure(lathbench::run& each, std::size_t turn, std::size_t turns) {
    progress_line line(each.measured, turn, turns);
    lathbench::noise_watch watch;
    each.measured.on_progress([&](const session& s, const std::string& what) {
        watch.look();
        line.show(s, what);
    });
    each.complete = each.measured.all_kept() || each.measured.run();
    each.circumstances = watch.finish();
    line.done(each.circumstances);
}

int run(request& asked, char** argv) {
    if (!asked.bundle.empty()) {
        if (!asked.tables.empty())
            throw usage_error("bench: --bundle measures nothing: no tables, or no --bundle");
        write_bundle(asked.bundle);
        std::printf("%s/run measures\n", printable(asked.bundle).c_str());
        return 0;
    }
    if (!asked.isa.empty())
        use_isa(asked.isa, argv);
    asked.opt.isa = isa_in_use();
    auto tables = lathbench::all_tables();
    auto chosen = understand(asked, tables);
    if (asked.list) {
        print_list(chosen, asked.opt);
        return 0;
    }
    auto done = runs_of(asked, chosen);
    if (!asked.opt.input.empty())
        open_stream(asked.opt.input); // before the work
    outputs files(asked);
    asked.opt.seconds = static_cast<double>(asked.seconds) / static_cast<double>(done.size());
    std::optional<output_error> unsaved;
    lathbench::catch_interrupt();
    std::size_t turn = 0;
    for (auto& each : done) {
        turn++;
        if (lathbench::interrupted())
            break;
        measure(each, turn, done.size());
        try {
            files.save(done);
        } catch (const output_error& e) { // the figures are shown all the same
            unsaved = e;
            break;
        }
    }
    if (files.to_stdout())
        files.finish(done);
    else
        print(stdout, asked, done);
    int code = report(asked, done);
    if (unsaved)
        throw *unsaved;
    return code;
}

// What is measured, and how often.
void add_plan(CLI::App& bench, request& asked) {
    bench.add_option("tables", asked.tables, "the tables to run, or all")->type_name("TABLE");
    bench.add_flag("--list", asked.list,
                   "name tables, cases and subjects, and what is missing and why");
    auto* quick = bench.add_flag("--quick", asked.quick,
                                 "smaller sizes and fewer repetitions: under a minute per table");
    bench.add_flag("--full", asked.full, "all sizes, all rounds")->excludes(quick);
    bench.add_flag("--brief", asked.opt.brief, "skip the less informative peers");
    bench.add_option("--threads", asked.opt.threads, "numbers of threads")
        ->delimiter(',')
        ->type_name("N")
        ->transform(whole_number(1, 1024));
    bench.add_option("--n", asked.n, "numbers of items (1000000 or 1e6)")
        ->type_name("N")
        ->delimiter(',');
    bench.add_option("--seed", asked.opt.seed, "seed of all made-up data")
        ->type_name("N")
        ->transform(whole_number())
        ->capture_default_str();
    bench.add_option("--subjects", asked.opt.subjects, "only these")->delimiter(',');
    bench.add_option("--cases", asked.opt.cases, "only these (a case or its first words)")
        ->delimiter(',');
    bench.add_option("--reps", asked.opt.reps, "repetitions (default 7; 3 with --quick)")
        ->type_name("N")
        ->transform(whole_number(1, 1000));
    bench
        .add_option("--seconds", asked.seconds,
                    "measure so long, in turns of one repetition, each table as "
                    "long as the others; --reps is the most of them")
        ->type_name("N")
        ->transform(whole_number(1, 1000000))
        ->take_last();
}

void add_variants(CLI::App& bench, request& asked) {
    auto keys = lathbench::distribution_names();
    keys.push_back("all");
    bench
        .add_option("--keys", asked.keys,
                    "tables index and store: keys that are distributed like these, in place of "
                    "random ones (all: every one; index with --quick: uniform, dense, clustered "
                    "and osm)")
        ->delimiter(',')
        ->check(one_of(keys));
    bench
        .add_option("--values", asked.values,
                    "table store: values like these, in place of decimal strings")
        ->delimiter(',')
        ->check(one_of({"decimal", "binary8", "binary16", "text64", "mixed"}));
    bench
        .add_option("--isa", asked.isa,
                    "the library's vector code, in place of the best that the processor has")
        ->check(one_of(isa_names()));
    bench
        .add_option("--parameter", asked.parameters,
                    "set what a table declares (--list names it); may be given again")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
}

void add_files(CLI::App& bench, request& asked) {
    bench
        .add_option("--json", asked.json,
                    std::string("write all samples there (with all: ") + default_file +
                        "); - is standard output, in place of the tables")
        ->type_name("FILE")
        ->check(file_name());
    bench
        .add_flag("--resume", asked.resume,
                  "measure only what an interrupted run did not write to the --json file")
        ->excludes("--seconds");
    bench.add_option("--csv", asked.csv, "write the rows there; - as for --json")
        ->type_name("FILE")
        ->check(file_name());
    bench.add_option("--text", asked.text, "write the tables there too; - as for --json")
        ->type_name("FILE")
        ->check(file_name());
    bench
        .add_option("--bundle", asked.bundle,
                    "write a directory that measures on a machine on which nothing can be "
                    "installed: this program, its libraries and a script")
        ->type_name("DIR")
        ->check(file_name());
    bench
        .add_option("--input", asked.opt.input,
                    "extents (from `lath extents --json`) as the key set")
        ->type_name("FILE")
        ->check(file_name());
}

} // namespace

void define_program(CLI::App& app, char** argv) {
    auto asked = std::make_shared<request>();
    const companion& self = *find_companion("bench");
    app.name("lath bench");
    app.description(self.summary);
    add_description(app, self.command, [](command_text& text) {
        text.words = {"all"};
        std::set<std::string> subjects;
        for (const auto& t : lathbench::all_tables()) {
            text.words.push_back(t.name);
            for (const auto& s : t.subjects)
                subjects.insert(s.name);
        }
        for (auto& o : text.options)
            if (o.names.back() == "--subjects")
                o.choices.assign(subjects.begin(), subjects.end());
    });
    add_plan(app, *asked);
    add_variants(app, *asked);
    add_files(app, *asked);
    app.callback([asked, argv] {
        if (int code = run(*asked, argv))
            throw CLI::RuntimeError(code);
    });
}

} // namespace lathcli
