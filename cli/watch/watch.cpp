// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath watch: a line of figures of a store per interval.
#include "base/json_text.hpp"
#include "base/output.hpp"
#include "base/stop_on_signal.hpp"
#include "base/text.hpp"
#include "base/usage.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "watch/sampler.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>

#include <poll.h>

namespace lathcli::watch {

namespace {

using clock = std::chrono::steady_clock;

constexpr const char* epilogue =
    "Rates are per second since the line before. Nothing of the store is changed.\n"
    "Exit codes: 0 done (--count), 1 failed, or the store is gone, 130 interrupted, 100 and above\n"
    "wrong usage.";

struct request {
    std::string spec, interval = "1";
    std::uint64_t count = 0;
    bool json = false, foreign = false;
};

clock::duration interval_of(const std::string& text) {
    double seconds = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0.01) ||
        seconds > 86400)
        throw std::runtime_error("'" + printable(text) +
                                 "' is not a number of seconds from 0.01 to 86400");
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

void check(const request& asked) {
    std::string kind = asked.spec.substr(0, asked.spec.find(':') + 1),
                name = asked.spec.substr(kind.size());
    if ((kind != "shm:" && kind != "file:") || name.empty())
        throw usage_error("watch: '" + printable(asked.spec) +
                          "' is not a store that other processes have: use shm:NAME or file:PATH");
    if (kind == "shm:" && name.find('/') != std::string::npos)
        throw usage_error("watch: " + printable(asked.spec) +
                          ": a name has 1 to 200 characters, none of them '/'");
    if (asked.foreign && kind != "shm:")
        throw usage_error("watch: --foreign is for shm:NAME");
}

// Whether the time came before a signal.
bool sleep_until(clock::time_point when) {
    while (!stop_asked) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(when - clock::now());
        if (left.count() <= 0)
            return true;
        pollfd stop{stop_descriptor(), POLLIN, 0};
        if (poll(&stop, 1, static_cast<int>(left.count())) < 0 && errno != EINTR)
            throw std::runtime_error("cannot wait");
    }
    return false;
}

std::string rate_text(std::optional<double> rate) {
    char text[32] = "-";
    if (rate)
        std::snprintf(text, sizeof text, "%.0f", *rate == 0 ? 0.0 : *rate);
    return text;
}

void print_header() {
    std::printf("%-8s %12s %10s %11s %11s %6s %10s %10s\n", "time", "items", "items/s", "used",
                "committed", "free", "evicted/s", "expired/s");
}

void print_line(const watch_sample& sample) {
    const lath_store_stats& s = sample.figures;
    std::time_t seconds = static_cast<std::time_t>(sample.time / 1000);
    std::tm local{};
    char when[16] = "";
    if (localtime_r(&seconds, &local))
        std::strftime(when, sizeof when, "%H:%M:%S", &local);
    std::optional<double> items, evicted, expired;
    if (sample.rates) {
        items = sample.rates->items;
        evicted = sample.rates->evicted;
        expired = sample.rates->expired;
    }
    std::printf("%-8s %12" PRIu64 " %10s %11s %11s %5.1f%% %10s %10s\n", when, s.items,
                rate_text(items).c_str(), human(sample.used()).c_str(), human(s.committed).c_str(),
                static_cast<double>(s.fragmentation_permille) / 10, rate_text(evicted).c_str(),
                rate_text(expired).c_str());
}

nlohmann::ordered_json number(std::optional<double> value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

void print_json(const std::string& spec, const watch_sample& sample) {
    const lath_store_stats& s = sample.figures;
    nlohmann::ordered_json line;
    line["time_ms"] = sample.time;
    put_text(line, "store", spec);
    line["items"] = s.items;
    line["used_bytes"] = sample.used();
    line["index_bytes"] = s.index_bytes;
    line["record_bytes"] = s.record_bytes;
    line["pending_bytes"] = s.pending_bytes;
    line["free_bytes"] = s.free_bytes;
    line["lost_bytes"] = s.lost_bytes;
    line["committed_bytes"] = s.committed;
    line["layers"] = s.layers;
    line["evicted"] = s.evicted;
    line["expired"] = s.expired;
    std::optional<double> items, bytes, evicted, expired;
    if (sample.rates) {
        items = sample.rates->items;
        bytes = sample.rates->bytes;
        evicted = sample.rates->evicted;
        expired = sample.rates->expired;
    }
    line["items_per_s"] = number(items);
    line["used_bytes_per_s"] = number(bytes);
    line["evicted_per_s"] = number(evicted);
    line["expired_per_s"] = number(expired);
    std::printf("%s\n", json_text(line).c_str());
}

void run(const request& asked) {
    check(asked);
    clock::duration interval = interval_of(asked.interval);
    stop_on_signal stop;
    store_sampler store(asked.spec, asked.foreign);
    clock::time_point next = clock::now();
    for (std::uint64_t n = 0; !asked.count || n < asked.count; n++) {
        if (!sleep_until(next))
            throw CLI::RuntimeError(stop_on_signal::exit_code);
        watch_sample sample = store.take();
        if (!asked.json && n % 20 == 0)
            print_header();
        if (asked.json)
            print_json(asked.spec, sample);
        else
            print_line(sample);
        check_standard_output(); // flushes: a line is seen when it is made
        next = std::max(next + interval, clock::now());
    }
}

} // namespace

void add(CLI::App& app) {
    auto asked = std::make_shared<request>();
    auto* sub = app.add_subcommand("watch", "figures of a store in use, a line per interval");
    sub->footer(epilogue);
    sub->add_option("SPEC", asked->spec, "shm:NAME, or file:PATH (the snapshot there)")->required();
    sub->add_option("-i,--interval", asked->interval, "Seconds from line to line")
        ->type_name("SECONDS")
        ->check(parsed_by([](const std::string& text) { interval_of(text); }))
        ->capture_default_str();
    sub->add_option("-n,--count", asked->count, "End after N lines; 0: go on")
        ->type_name("N")
        ->transform(whole_number())
        ->capture_default_str();
    sub->add_flag("--json", asked->json, "A JSON object per line");
    sub->add_flag(
        "--foreign", asked->foreign,
        "shm: open an object that another user owns; that user can take over this program");
    sub->callback([asked] { run(*asked); });
}

} // namespace lathcli::watch
