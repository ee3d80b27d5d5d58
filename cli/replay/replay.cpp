// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath-replay, which `lath replay FILE` starts: a real trace through the sort queue's engines.
#include "base/json_text.hpp"
#include "base/output.hpp"
#include "base/status_line.hpp"
#include "base/stop_on_signal.hpp"
#include "commands.hpp"
#include "companions.hpp"
#include "describe.hpp"
#include "options.hpp"
#include "replay/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathcli::replay {

namespace {

constexpr std::size_t most_devices = 256;
constexpr const char* epilogue =
    "Formats, recognised by content: fio iolog 2 and 3, blktrace (either byte order), blkparse\n"
    "text. - is standard input.\n"
    "Exit codes: 0 done, 1 failed, 2 an engine gave requests out of order, 130 interrupted (what "
    "was\n"
    "read until then is reported), 100 and above wrong usage.";

struct request {
    std::string file;
    std::vector<std::string> engines{"hybrid"};
    std::string device = "disk", json;
    std::uint32_t depth = 256, merge_kib = 512;
    bool skip_bad = false, drop_doubles = false, untimed = false;
    std::uint64_t limit = 0;
};

constexpr lath_sortq_engine all_engines[] = {LATH_SORTQ_HYBRID, LATH_SORTQ_FIFO};

std::vector<lath_sortq_engine> engines_of(const std::vector<std::string>& names) {
    std::vector<lath_sortq_engine> engines;
    for (const auto& name : names)
        for (auto e : all_engines)
            if ((name == "all" || name == lath_sortq_engine_name(e)) &&
                std::find(engines.begin(), engines.end(), e) == engines.end())
                engines.push_back(e);
    return engines;
}

std::vector<std::string> engine_names() {
    std::vector<std::string> names{"all"};
    for (auto e : all_engines)
        names.emplace_back(lath_sortq_engine_name(e));
    return names;
}

// One engine, in front of every device of the trace.
class lane {
public:
    explicit lane(const replay_options& options) : options_(options), cost_(options) {}

    void push(const trace::event& e, bool timed) {
        while (devices_.size() <= e.device)
            devices_.push_back(std::make_unique<replay_device>(options_));
        devices_[e.device]->push(e, timed);
        cost_.push(e.sector);
    }
    replay_totals finish() {
        replay_totals sum;
        for (auto& d : devices_) {
            d->finish();
            sum.add(d->totals());
        }
        cost_.add_to(sum);
        std::sort(sum.latency_ms.begin(), sum.latency_ms.end());
        return sum;
    }
    lath_sortq_engine engine() const { return options_.engine; }

private:
    replay_options options_;
    std::vector<std::unique_ptr<replay_device>> devices_;
    replay_cost cost_;
};

struct result {
    std::string engine;
    replay_totals totals;
    double share(double part, double whole) const { return whole > 0 ? part / whole : 0; }
    // Nothing where no request is beyond it: with fewer than 1 / (1 - quantile).
    std::optional<double> latency(double quantile) const {
        const auto& l = totals.latency_ms;
        auto n = static_cast<double>(l.size());
        if (l.empty() ||
            (quantile < 1 && n * (1 - quantile) < 0.9999)) // 0.99 is not a binary fraction
            return std::nullopt;
        return l[static_cast<std::size_t>(std::ceil(quantile * n - 1e-9)) - 1];
    }
    std::optional<double> mean_latency() const {
        if (totals.latency_ms.empty())
            return std::nullopt;
        double sum = 0;
        for (float l : totals.latency_ms)
            sum += l;
        return sum / static_cast<double>(totals.latency_ms.size());
    }
    double mean(double sum) const { return share(sum, static_cast<double>(totals.dispatched)); }
    double arrival_seek() const {
        return share(totals.seek_arrival, static_cast<double>(totals.arrivals));
    }
    // Nothing where too few came to fill the queue once.
    std::optional<double> ns_each(double sum) const {
        if (!totals.timed_requests)
            return std::nullopt;
        return sum / static_cast<double>(totals.timed_requests);
    }
};

std::string cell(std::optional<double> figure, int digits) {
    char text[40] = "-";
    if (figure)
        std::snprintf(text, sizeof text, "%.*f", digits, *figure);
    return text;
}

void print(const request& ask, const trace::reader& in, std::size_t devices,
           const std::vector<result>& results) {
    const auto& n = in.counts();
    std::printf("%s: %s, %llu requests on %zu device%s, %llu other records%s\n",
                printable(ask.file).c_str(), trace::name_of(in.kind()),
                static_cast<unsigned long long>(n.events), devices, devices == 1 ? "" : "s",
                static_cast<unsigned long long>(n.other), stop_asked ? "; interrupted there" : "");
    if (auto records = in.records(); records && *records != trace::record_kind::queue)
        std::printf("the requests are its %s records: it has no queue records (Q)\n",
                    trace::name_of(*records));
    if (n.bad)
        std::printf("%llu bad lines skipped, the last one %s\n",
                    static_cast<unsigned long long>(n.bad), in.last_error().c_str());
    if (n.doubles)
        std::printf("%llu requests equal the one before%s\n",
                    static_cast<unsigned long long>(n.doubles),
                    ask.drop_doubles ? ", dropped" : " (--drop-doubles drops them)");
    std::printf("%s model, %s, %u requests in the queue, merges up to %u KiB\n\n",
                ask.device.c_str(),
                ask.untimed ? "arrivals as fast as the queue takes them" : "arrivals as recorded",
                ask.depth, ask.merge_kib);
    std::printf("%-9s %7s %7s %9s %8s %9s %10s %8s %9s %9s %9s %9s\n", "engine", "in ns", "out ns",
                "sent", "merged", "seek MiB", "unsorted", "queue", "mean ms", "p50 ms", "p99 ms",
                "end s");
    for (const auto& r : results) {
        const auto& t = r.totals;
        std::printf("%-9s %7s %7s %9llu %7.1f%% %9.1f %10.1f %8.1f %9s %9s %9s %9.3f\n",
                    r.engine.c_str(), cell(r.ns_each(t.insert_ns), 1).c_str(),
                    cell(r.ns_each(t.extract_ns), 1).c_str(),
                    static_cast<unsigned long long>(t.dispatched),
                    100 * r.share(static_cast<double>(t.back_merges + t.front_merges),
                                  static_cast<double>(t.arrivals)),
                    r.mean(t.seek_dispatch) / 2048, r.arrival_seek() / 2048, r.mean(t.depth_sum),
                    cell(r.mean_latency(), 3).c_str(), cell(r.latency(0.5), 3).c_str(),
                    cell(r.latency(0.99), 3).c_str(), t.end_ns / 1e9);
    }
    std::printf("\n"
                "in, out: processor time of a request at depth 128, 32 at a time, without merges\n"
                "seek: mean distance from request to request as sent; unsorted: as they came\n"
                "-: too few requests to know it: p50 takes 2, p99 100, in and out %zu\n",
                replay_cost::depth);
}

nlohmann::json or_null(std::optional<double> figure) {
    return figure ? nlohmann::json(*figure) : nlohmann::json();
}

void print_json(std::ostream& to, const request& ask, const trace::reader& in,
                const std::vector<result>& results) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& r : results) {
        const auto& t = r.totals;
        rows.push_back({{"engine", r.engine},
                        {"insert_ns", or_null(r.ns_each(t.insert_ns))},
                        {"extract_ns", or_null(r.ns_each(t.extract_ns))},
                        {"arrivals", t.arrivals},
                        {"back_merges", t.back_merges},
                        {"front_merges", t.front_merges},
                        {"dispatched", t.dispatched},
                        {"sectors", t.sectors},
                        {"seek_sectors", r.mean(t.seek_dispatch)},
                        {"seek_sectors_unsorted", r.arrival_seek()},
                        {"queue_depth", r.mean(t.depth_sum)},
                        {"latency_ms",
                         {{"mean", or_null(r.mean_latency())},
                          {"p50", or_null(r.latency(0.5))},
                          {"p99", or_null(r.latency(0.99))},
                          {"max", or_null(r.latency(1))}}},
                        {"end_s", t.end_ns / 1e9},
                        {"order_errors", t.order_errors}});
    }
    const auto& n = in.counts();
    nlohmann::json out = {{"format", trace::name_of(in.kind())},
                          {"requests", n.events},
                          {"other_records", n.other},
                          {"bad_lines", n.bad},
                          {"doubles", n.doubles},
                          {"device", ask.device},
                          {"depth", ask.depth},
                          {"timed", !ask.untimed},
                          {"interrupted", stop_asked.load()},
                          {"engines", rows}};
    put_text(out, "file", ask.file);
    if (auto records = in.records())
        out["records"] = trace::name_of(*records);
    to << json_text(out, 1) << '\n';
}

// Every request of the trace to every lane, until it ends or a signal comes. How many devices it
// has.
std::size_t feed(const request& ask, trace::reader& in, std::deque<lane>& lanes) {
    std::size_t devices = 0;
    trace::event e;
    auto next = [&] {
        try {
            return in.next(e); // a read that a signal ends throws
        } catch (const stopped&) {
            return false;
        }
    };
    for (std::uint64_t n = 0; (!ask.limit || n < ask.limit) && next(); n++) {
        devices = std::max<std::size_t>(devices, e.device + 1u);
        if (devices > most_devices)
            throw std::runtime_error(ask.file + ": more than 256 devices");
        for (auto& l : lanes)
            l.push(e, !ask.untimed && in.has_times());
    }
    return devices;
}

void run(request ask) {
    stop_on_signal scope;
    std::optional<output> json;
    if (!ask.json.empty())
        json.emplace(ask.json, std::vector{ask.file});
    std::unique_ptr<trace::reader> reader;
    try {
        reader = trace::open(trace::input(ask.file, trace::open_file(ask.file)),
                             {ask.skip_bad, ask.drop_doubles});
    } catch (const stopped& e) {
        message(std::string("lath replay: ") + e.what());
        throw CLI::RuntimeError(stop_on_signal::exit_code);
    }
    replay_options options;
    options.device = ask.device == "flash" ? device_kind::flash : device_kind::disk;
    options.depth = ask.depth;
    options.merge_sectors = ask.merge_kib * 2;
    std::deque<lane> lanes; // they do not move
    for (auto engine : engines_of(ask.engines)) {
        options.engine = engine;
        lanes.emplace_back(options);
    }
    std::size_t devices = feed(ask, *reader, lanes);
    ask.untimed = ask.untimed || !reader->has_times();
    if (devices == 0 && !stop_asked)
        throw std::runtime_error(ask.file + ": no requests in it");
    std::vector<result> results;
    bool in_order = true;
    for (auto& l : lanes) {
        results.push_back({lath_sortq_engine_name(l.engine()), l.finish()});
        in_order = in_order && results.back().totals.order_errors == 0;
    }
    if (!json || !json->standard())
        print(ask, *reader, devices, results);
    if (json) {
        print_json(json->stream(), ask, *reader, results);
        json->commit();
    }
    if (!in_order) {
        message("lath replay: an engine gave requests out of order");
        throw CLI::RuntimeError(2);
    }
    if (stop_asked)
        throw CLI::RuntimeError(stop_on_signal::exit_code);
}

} // namespace

} // namespace lathcli::replay

namespace lathcli {

void define_program(CLI::App& app, char**) {
    auto ask = std::make_shared<replay::request>();
    const companion& self = *find_companion("replay");
    app.name("lath replay");
    app.description(self.summary);
    app.footer(replay::epilogue);
    add_description(app, self.command);
    app.add_option("FILE", ask->file, "The trace")->required();
    app.add_option("--engine", ask->engines, "Engines, or all")
        ->type_name("NAME")
        ->delimiter(',')
        ->check(one_of(replay::engine_names()))
        ->capture_default_str();
    app.add_option("--device", ask->device, "The model behind the queue")
        ->check(one_of({"disk", "flash"}))
        ->capture_default_str();
    app.add_option("--depth", ask->depth, "Requests the queue may hold")
        ->type_name("N")
        ->transform(whole_number(1, LATH_SORTQ_MAX_REQUESTS))
        ->capture_default_str();
    app.add_option("--merge-limit", ask->merge_kib, "A request grows to N KiB; 0: no merges")
        ->type_name("N")
        ->transform(whole_number(0, 1u << 20))
        ->capture_default_str();
    app.add_flag("--untimed", ask->untimed, "Ignore the times: the queue is always full");
    app.add_flag("--skip-bad", ask->skip_bad, "Go on behind bad lines, count them");
    app.add_flag("--drop-doubles", ask->drop_doubles,
                 "Drop a request equal to the one before it (fio's null engine logs twice)");
    app.add_option("--limit", ask->limit, "Stop after N requests; 0: at the end of the trace")
        ->type_name("N")
        ->transform(whole_number());
    app.add_option("--json", ask->json,
                   "Write the figures there as well; - is standard output, in place of the text")
        ->type_name("FILE")
        ->check(file_name());
    app.callback([ask] { replay::run(*ask); });
}

} // namespace lathcli
