// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Table `sort`: the experiment of 2008 on sorting block requests, today.
//
//   INPUT                depth 128, batch 32, one-way sweep: the tables of 2008, more inputs
//   INPUT/min            the lowest sector first
//   INPUT/dDEPTH/bBATCH  other depths and batches
//   path/INPUT/mLIMIT    the whole way: merge lookups and insert, dispatch (extract), expiry
//
// insert, extract, both: ns per request. The order of extraction of each subject is compared with
// that of std-multimap.
#include "tables/sort/inputs.hpp"
#include "subjects/sort/sort_subject.hpp"
#include "harness/stats.hpp"
#include "harness/table.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace lathbench {

namespace {

constexpr const char* inputs[] = {"random",     "sequential",   "seq95",       "reverse",
                                  "mix4",       "mix16",        "half",        "zipf",
                                  "window",     "fio-randread", "fio-seqread", "fio-zipf",
                                  "fio-pareto", "fio-writers",  "fio-db"};
constexpr const char* oracle = "std-multimap";

struct sort_case {
    std::string name, input;
    std::uint32_t depth = 128, batch = 32;
    bool lowest = false;
    std::uint32_t merge_limit = 0; // path cases
};

std::vector<sort_case> all_cases(const options& opt) {
    std::vector<sort_case> cases;
    for (const char* input : inputs)
        cases.push_back({input, input});
    for (const char* input : {"random", "sequential"})
        cases.push_back({std::string(input) + "/min", input, 128, 32, true});
    if (!opt.quick()) {
        std::vector<std::string> swept = {"random"};
        if (opt.full())
            swept.push_back("sequential");
        for (const auto& input : swept)
            for (std::uint32_t batch : {32u, 8u, 1u})
                for (std::uint32_t depth : {8u, 32u, 256u, 1024u, 4096u, 65536u})
                    if (batch <= depth && (batch < 32 || depth > 32) && (batch < 8 || depth >= 8))
                        cases.push_back(
                            {input + "/d" + std::to_string(depth) + "/b" + std::to_string(batch),
                             input, depth, batch});
    }
    // Random and zipf data have only a limit that forbids merges: where a request could be merged
    // into several others, each subject may choose another one, and the orders could not be
    // compared.
    for (const char* input : {"random", "zipf", "mix8", "sequential"})
        cases.push_back({std::string("path/") + input + "/m8", input, 128, 32, false, 8});
    for (const char* input : {"mix8", "sequential"})
        cases.push_back({std::string("path/") + input + "/m256", input, 128, 32, false, 256});
    return cases;
}

class runner {
public:
    explicit runner(session& s) : session_(s) {}

    void run() {
        each_wanted(session_, all_cases(session_.opt()), [&](const sort_case& c) { run_case(c); });
        session_.remark("depth 128, batch 32 unless in the name; one-way sweep, /min lowest first");
    }

private:
    std::vector<std::string> able(const sort_case& c) {
        std::vector<std::string> names;
        for (const auto& name : session_.subjects()) {
            const auto& s = find_subject(sort_subjects(), name);
            if (c.merge_limit && !s.path)
                session_.not_available(c.name, name, "no whole path is built around it");
            else if (c.lowest && s.monotone)
                session_.not_available(c.name, name, "keys must not fall behind the last one out");
            else if (c.depth > s.max_depth)
                session_.not_available(c.name, name, "O(n) inserts: minutes at this depth");
            else
                names.push_back(name);
        }
        return names;
    }

    void run_case(const sort_case& c) {
        auto sectors = sort_input(c.input, c.depth > 4096 ? 1u << 20 : 1u << 18, session_.seed(7));
        if (c.merge_limit)
            run_path_case(c, sectors);
        else
            run_sort_case(c, sectors);
    }

    std::uint64_t operations(const sort_case& c) const {
        std::uint64_t n = session_.opt().quick() ? 30000 : 100000;
        return std::max<std::uint64_t>(n, c.depth * 2ull) / c.batch * c.batch;
    }

    void run_sort_case(const sort_case& c, const std::vector<std::uint64_t>& sectors) {
        sort_plan plan = {&sectors, c.depth, c.batch, c.lowest, operations(c)};
        std::uint64_t right = find_subject(sort_subjects(), oracle).run(plan).checksum;
        session_.repeat(c.name, sort_subjects(), able(c), [&](const sort_subject& s, int) {
            sort_result r = s.run(plan);
            bool ok = r.checksum == right;
            put(c, "insert", s.name, r.insert_ns, ok);
            put(c, "extract", s.name, r.extract_ns, ok);
            put(c, "both", s.name, r.insert_ns + r.extract_ns, ok);
        });
    }

    // All subjects must merge the same requests and dispatch them in the same order.
    void run_path_case(const sort_case& c, const std::vector<std::uint64_t>& sectors) {
        path_plan plan = {&sectors, c.depth, c.batch, c.merge_limit, operations(c)};
        std::optional<path_result> right;
        session_.repeat(c.name, sort_subjects(), able(c), [&](const sort_subject& s, int) {
            path_result r = s.path(plan);
            if (!right)
                right = r;
            bool ok = r.checksum == right->checksum && r.merged == right->merged;
            put(c, "insert", s.name, r.submit_ns, ok);
            put(c, "extract", s.name, r.dispatch_ns, ok);
            put(c, "expire", s.name, r.expire_ns, ok);
        });
        if (right)
            session_.remark(c.name + ": " + std::to_string(right->merged * 100 / right->submitted) +
                            " % merged");
    }

    void put(const sort_case& c, const char* metric, const std::string& name, double ns, bool ok) {
        session_.sample({c.name, c.depth, 1, metric, "ns"}, name, ns, ok);
    }

    session& session_;
};

// Prints figures as the tables of 2008 had them: relative to linux-rbtree, insert, extract and both
// side by side.
class printer {
public:
    printer(std::FILE* out, const session& s) : out_(out), session_(s) {}

    void print() const {
        std::vector<sort_case> found, paths;
        for (const auto& c : all_cases(session_.opt()))
            if (median(c.name, "insert", peer))
                (c.merge_limit ? paths : found).push_back(c);
        std::fprintf(out_, "\nsort: insert, extract, total relative to %s (1.00)\n", peer);
        for (std::size_t i = 0; i < found.size(); i += per_line)
            group(found.data() + i, std::min(per_line, found.size() - i), "both");
        if (!paths.empty())
            std::fprintf(out_, "\nsort: submit, dispatch, expire relative to %s\n", peer);
        for (std::size_t i = 0; i < paths.size(); i += per_line)
            group(paths.data() + i, std::min(per_line, paths.size() - i), "expire");
    }

private:
    static constexpr std::size_t per_line = 4;
    static constexpr const char* peer = "linux-rbtree";

    std::optional<double> median(const std::string& name, const char* metric,
                                 const std::string& subject) const {
        for (const auto& r : session_.rows())
            if (r.verified && r.subject == subject && r.what.name == name &&
                r.what.metric == metric)
                return summarise(r.samples).median;
        return {};
    }

    void group(const sort_case* cases, std::size_t n, const char* third) const {
        std::fprintf(out_, "\n%-22s", "");
        for (std::size_t i = 0; i < n; i++)
            std::fprintf(out_, " %20s", cases[i].name.c_str());
        for (const auto& s : session_.of().subjects) {
            std::string line;
            for (std::size_t i = 0; i < n; i++)
                line += cell_text(cases[i].name, third, s.name);
            if (line.find('.') != std::string::npos)
                std::fprintf(out_, "\n%-22s%s", s.name.c_str(), line.c_str());
        }
        std::fprintf(out_, "\n%-22s", "  linux-rbtree, ns");
        for (std::size_t i = 0; i < n; i++)
            std::fprintf(out_, "  %6.1f %5.1f %5.1f", *median(cases[i].name, "insert", peer),
                         *median(cases[i].name, "extract", peer),
                         *median(cases[i].name, third, peer));
        std::fputc('\n', out_);
    }

    std::string cell_text(const std::string& name, const char* third,
                          const std::string& subject) const {
        char text[64];
        auto a = median(name, "insert", subject), b = median(name, "extract", subject),
             c = median(name, third, subject);
        if (!a || !b || !c) {
            std::snprintf(text, sizeof(text), " %20s", "-");
            return text;
        }
        std::snprintf(text, sizeof(text), "  %6.2f %5.2f %5.2f", *a / *median(name, "insert", peer),
                      *b / *median(name, "extract", peer), *c / *median(name, third, peer));
        return text;
    }

    std::FILE* out_;
    const session& session_;
};

} // namespace

table sort_table() {
    return {.name = "sort",
            .summary = "sorting block requests, as measured in 2008: ns per request to insert, to "
                       "extract, and both",
            .named_peer = "linux-rbtree",
            .subjects = listed(sort_subjects()),
            .cases = names_of<all_cases>,
            .run = run_with<runner>,
            .print = [](std::FILE* out, const session& s) { printer(out, s).print(); }};
}

} // namespace lathbench
