// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What a benchmark table is, and the session that it runs with.
//
// To add a table NAME:
//   1. tables/NAME.cpp with a function `table NAME_table()` that fills in the struct below. Helpers
//      of this table alone go into tables/NAME/, what it measures into subjects/NAME/.
//   2. Its declaration and a line in harness/tables.cpp, and a line in bench/CMakeLists.txt.
// `lath bench NAME`, --list, all options, JSON, CSV, the tables on the terminal, SIGINT and the
// smoke test then work without further changes. In run(), for every figure:
//
//   session.repeat("scan/1000/0", subjects, names, [&](const scan_subject& s, int rep) {
//       ... build, work, compare with the oracle, take the time ...
//       session.sample({.name = "scan/1000/0", .n = 1000}, s.name, ns_per_element,
//                      result == expected);
//   });
//
// A subject that cannot do a case is reported with session.not_available(), never left out
// silently.
#pragma once

#include "subject.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace lathbench {

enum class effort { quick, normal, full };

struct options {
    effort mode = effort::normal;
    std::vector<int> threads; // empty: the table's own list
    std::vector<std::uint64_t> n; // empty: the table's own sizes
    std::vector<std::string> subjects; // empty: all
    std::vector<std::string> cases; // empty: all; each is a case or its first words
    std::uint64_t seed = 1;
    int reps = 0; // 0: by mode
    double seconds = 0; // 0: no limit; for each table
    bool brief = false; // without table::more
    std::string isa; // the library's vector code, as LATH_ISA names it
    std::string input; // JSON with "extents": the key set instead of made-up keys
    std::map<std::string, std::string> parameters; // --parameter, checked (parameters.hpp)
    bool quick() const { return mode == effort::quick; }
    bool full() const { return mode == effort::full; }
};

// The threads, or the sizes, that were asked for, or the table's own.
inline std::vector<int> threads_of(const options& opt, std::vector<int> own = {1, 2}) {
    return opt.threads.empty() ? own : opt.threads;
}
inline std::vector<std::uint64_t> sizes_of(const options& opt, std::vector<std::uint64_t> quick,
                                           std::vector<std::uint64_t> normal,
                                           std::vector<std::uint64_t> full) {
    return !opt.n.empty() ? opt.n : opt.quick() ? quick : opt.full() ? full : normal;
}

// What `--parameter NAME=VALUE` may set in a table; parameters.hpp makes and reads them.
struct parameter {
    std::string name;
    std::string summary;
    std::string by_default; // as --list shows it
    // Throws a usage_error that begins with `what` if the value is not valid.
    std::function<void(const std::string& what, const std::string& value)> check;
};

// What a row of samples measures.
struct cell {
    std::string name; // "thread/2", "lookup/1000000/2"
    std::uint64_t n = 0;
    int threads = 1;
    std::string metric = "time";
    std::string unit = "ns";
    bool higher_is_better = false;
};

struct row {
    cell what;
    std::string subject;
    std::vector<double> samples;
    bool verified = true;
};

class session;

struct table {
    std::string name;
    std::string summary;
    std::string named_peer; // the peer that the table was written against; has a column of ratios
    std::string ours = "lathwork"; // the subject whose ratios to the others are printed
    std::vector<subject> subjects; // ours first; "lathwork-..." are variants of ours
    std::vector<std::string> more{}; // the subjects that --brief leaves out
    std::function<std::vector<std::string>(const options&)> cases;
    std::function<void(session&)> run;
    std::vector<parameter> parameters{}; // may be empty
    // Cases that no peer has, and the case of the peers to compare with: "lookup-batch" ->
    // "lookup".
    std::map<std::string, std::string> compare_with{};
    // Prints the medians in its own form, in place of the general one; may be empty.
    std::function<void(std::FILE*, const session&)> print{};
};

std::vector<table> all_tables();

// One run of one table. It collects samples and knows what was asked for and when to stop. The
// thread that runs the table makes all calls.
class session {
public:
    session(const table& t, const options& o);

    struct absence {
        std::string case_name, subject, why;
    };
    // What an interrupted run has measured of this table.
    struct former {
        std::vector<row> rows;
        std::vector<absence> absences;
        std::vector<std::string> remarks;
    };
    // Takes over the cases that are complete in it, which will not be measured again; drops the
    // rest.
    void keep(former measured);
    const std::set<std::string>& kept() const { return kept_; } // the cases taken over
    bool all_kept() const; // nothing is left to measure
    // The watcher is called by progress(), never while something is timed.
    void on_progress(std::function<void(const session&, const std::string&)> watcher);
    // The share, 0 to 1, of the samples that this run will take, as far as the list of cases tells.
    double done_share() const;
    std::size_t samples_taken() const { return taken_; }

    // Runs the table. With a limit of seconds: with one repetition, and again until the time is
    // over or there were as many repetitions as asked for. Returns whether each case was run.
    bool run();

    const options& opt() const { return opt_; }
    // Repetitions: --reps, or 3 (quick), 7 (default and full); 1 with a limit of seconds.
    int reps() const;
    bool wants_subject(const std::string& name) const; // asked for, and in this build
    bool wants_case(const std::string& name) const;
    bool wants_any(const std::vector<std::string>& names) const;
    std::vector<std::string> subjects() const; // all that wants_subject()
    // A seed for each purpose; it is the same for every subject.
    std::uint64_t seed(std::uint64_t purpose) const;

    // Records one figure. correct: the result of this very sample agreed with the oracle. A row
    // with a wrong sample is not printed; it is an error, and the program fails at its end. Cases
    // that are not wanted are passed over.
    void sample(const cell& what, const std::string& subject, double value, bool correct);
    // Reports any other disagreement with the oracle, which removes all rows of the subject.
    void wrong(const std::string& subject, const std::string& what);
    void not_available(const std::string& case_name, const std::string& subject,
                       const std::string& why);
    // Adds a remark, which is printed under the table and is in the context of the JSON.
    void remark(const std::string& text);
    void progress(const std::string& text); // says what comes next; shown on a terminal
    bool stopped() const; // after SIGINT, and when the time is over: leave loops early

    // Calls body for all subjects, reps times; each repetition begins with another subject.
    void each_interleaved(int reps, const std::vector<std::string>& subjects,
                          const std::function<void(const std::string&, int)>& body);
    // The same with reps() and subjects of a list; says each time what comes next.
    template <class Subject, class Body>
    void repeat(const std::string& what, const std::vector<Subject>& list,
                const std::vector<std::string>& names, const Body& body) {
        each_interleaved(reps(), names, [&](const std::string& name, int rep) {
            progress(table_.name + ": " + what + ", repetition " + std::to_string(rep + 1) + ", " +
                     name);
            body(find_subject(list, name), rep);
        });
    }

    const table& of() const { return table_; }
    const std::vector<row>& rows() const { return rows_; }
    const std::vector<absence>& absences() const { return absences_; }
    const std::vector<std::string>& remarks() const { return remarks_; }
    const std::vector<std::string>& errors() const { return errors_; }

private:
    const table& table_;
    const options& opt_;
    std::vector<row> rows_;
    std::map<std::string, std::size_t> index_;
    std::vector<absence> absences_;
    std::vector<std::string> remarks_;
    std::vector<std::string> errors_;
    std::set<std::string> kept_; // cases
    std::map<std::string, int> cells_; // case and subject -> samples of its first metric
    std::function<void(const session&, const std::string&)> watcher_;
    std::size_t taken_ = 0, settled_ = 0;
    std::uint64_t started_ns_ = 0;
};

template <class Runner>
void run_with(session& s) {
    Runner(s).run();
}

// A table without parameters, of the subjects of a list.
template <class Runner, class Subjects, class Cases>
table table_of(const char* name, const char* summary, const char* named_peer,
               const Subjects& subjects, Cases cases, std::vector<std::string> more = {}) {
    return {.name = name,
            .summary = summary,
            .named_peer = named_peer,
            .subjects = listed(subjects),
            .more = std::move(more),
            .cases = cases,
            .run = run_with<Runner>};
}

// Calls run for each of these cases that is wanted; case.name is its name.
template <class Cases, class Run>
void each_wanted(session& s, const Cases& cases, const Run& run) {
    for (const auto& c : cases)
        if (!s.stopped() && s.wants_case(c.name))
            run(c);
}

// For table::cases, of a function that lists structs with names.
template <auto all_cases>
std::vector<std::string> names_of(const options& opt) {
    std::vector<std::string> names;
    for (const auto& c : all_cases(opt))
        names.push_back(c.name);
    return names;
}

// How many searches to time in a structure with n things.
inline std::uint64_t searches_of(std::uint64_t n) {
    return std::min<std::uint64_t>(std::max<std::uint64_t>(n, 10000), 300000);
}

} // namespace lathbench
