// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath extents PATH...: where files lie on their device, and who owns what.
#include "base/output.hpp"
#include "base/status_line.hpp"
#include "base/stop_on_signal.hpp"
#include "commands.hpp"
#include "extents/report.hpp"
#include "extents/scan.hpp"
#include "options.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <unistd.h>

namespace lathcli::extents {

namespace {

constexpr int incomplete = 3, nothing_found = 4;

constexpr const char* epilogue =
    "OFFSET, A and B are bytes from the start of the device: 4096, 0x1000, 1e6, 4Ki or 4K, 1Mi, "
    "2Gi;\n"
    "123b is block 123 of the file system. B is not included.\n"
    "On btrfs addresses are translated to its devices, all copies, which needs CAP_SYS_ADMIN; "
    "without\n"
    "it, and on overlayfs and the like, they are the file system's own, and questions are refused\n"
    "unless --logical. A device is what is mounted: a partition, /dev/md0, /dev/loop0.\n"
    "Links among the PATHs are followed, links inside directories are not. Only the file system "
    "of\n"
    "the first PATH is looked at, unless --all-devices. Files without their own place "
    "(inline,\n"
    "compressed, not yet written) are counted by reason. In the JSON a name that is not UTF-8 has\n"
    "U+FFFD in \"file\" and its bytes, two hexadecimal digits each, in \"file_hex\".\n"
    "Exit codes: 0 done, 1 failed, or nothing could be read, 3 some paths or files could not be "
    "read (the\n"
    "answers cover the others), 4 a question found nothing, 130 interrupted (nothing is reported: "
    "answers\n"
    "from a part of the files would be wrong), 100 and above wrong usage.";

struct request {
    scan_options scan;
    report_options report;
    std::vector<std::string> at, overlap;
    std::string json;
};

void run(request& ask) {
    for (const auto& text : ask.at)
        ask.report.at.push_back(parse_place(text));
    for (const auto& text : ask.overlap)
        ask.report.overlap.push_back(parse_span(text));
    if (ask.scan.threads == 0)
        ask.scan.threads = std::max(1u, std::thread::hardware_concurrency());
    const char* no_colour = std::getenv("NO_COLOR");
    ask.report.colour = isatty(STDOUT_FILENO) && (!no_colour || !*no_colour);

    ask.scan.asks = !ask.at.empty() || !ask.overlap.empty();

    stop_on_signal signals;
    std::optional<output> json;
    if (!ask.json.empty())
        json.emplace(ask.json, ask.scan.paths);
    scan_result found;
    scan(ask.scan, found);
    if (found.interrupted) {
        message("lath extents: interrupted; nothing is reported");
        throw CLI::RuntimeError(stop_on_signal::exit_code);
    }
    answers a = answer(found, ask.report);
    if (found.errors && a.files == 0)
        throw std::runtime_error("extents: no file could be read");
    if (json) {
        print_json(json->stream(), found, ask.scan, a);
        json->commit();
    }
    if (!json || !json->standard())
        print_text(std::cout, found, a, ask.report);
    if (found.errors)
        throw CLI::RuntimeError(incomplete);
    if (!a.complete())
        throw CLI::RuntimeError(nothing_found);
}

} // namespace

void add(CLI::App& app) {
    auto ask = std::make_shared<request>();
    auto* sub = app.add_subcommand("extents", "tell which file owns which bytes of the device");
    sub->footer(epilogue);
    sub->add_option("PATH", ask->scan.paths, "Files and directories")->required();
    sub->add_option("--at", ask->at, "Who owns this byte (b: block) of the device")
        ->type_name("OFFSET")
        ->check(parsed_by([](const std::string& text) { parse_place(text); }))
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("--overlap", ask->overlap, "Who owns what in [A, B)")
        ->type_name("A-B")
        ->check(parsed_by([](const std::string& text) { parse_span(text); }))
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("--gaps", ask->report.gaps, "Show the N largest gaps")
        ->type_name("N")
        ->transform(whole_number(0, INT32_MAX))
        ->capture_default_str();
    sub->add_option("--top", ask->report.top, "Show N files and shared ranges")
        ->type_name("N")
        ->transform(whole_number(0, INT32_MAX))
        ->capture_default_str();
    sub->add_option("--threads", ask->scan.threads, "Threads that read; 0: one per processor")
        ->type_name("T")
        ->default_val(0)
        ->transform(whole_number(0, 1024));
    sub->add_flag("--all-devices", ask->scan.all_devices, "Cross into other file systems");
    sub->add_option("--device", ask->scan.only, "Only what lies on this device (btrfs has several)")
        ->type_name("PATH")
        ->check(file_name());
    sub->add_flag("--logical", ask->scan.logical,
                  "Take the file system's own addresses where they are not offsets of a device");
    sub->add_flag("--sync", ask->scan.sync, "Have delayed data written before reading");
    sub->add_option("--json", ask->json, "Write JSON; - is standard output, in place of the text")
        ->type_name("FILE")
        ->check(file_name());
    sub->callback([ask] { run(*ask); });
}

} // namespace lathcli::extents
