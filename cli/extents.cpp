// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath extents PATH...: where files lie on their device, and who owns what.
#include "commands.hpp"

#include "extent_report.hpp"
#include "extent_scan.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <unistd.h>

namespace lathcli {

namespace {

constexpr int incomplete = 3, nothing_found = 4, interrupted = 130;

constexpr const char* epilogue =
    "OFFSET, A and B are bytes from the start of the device: 4096, 0x1000, 4Ki, 1Mi, 2Gi;\n"
    "123b is block 123 of the file system. B is not included.\n"
    "Links among the PATHs are followed, links inside directories are not. Only the device of the\n"
    "first PATH is looked at, unless --all-devices. Files without a place of their own (inline,\n"
    "compressed, not yet written) are counted and told by reason.\n"
    "Exit codes: 0 done, 1 failed, 3 some files could not be read (the answers cover the others),\n"
    "4 a question found nothing, 130 interrupted, 100 and above wrong usage.";

struct request {
    scan_options scan;
    report_options report;
    std::vector<std::string> at, overlap;
    std::string json;
};

void write_json(const request& ask, const scan_result& found, const answers& a) {
    if (ask.json == "-") {
        print_json(std::cout, found, ask.scan, a);
        std::cout.flush();
        if (!std::cout)
            throw std::runtime_error("standard output: write failed");
        return;
    }
    std::ofstream file(ask.json);
    print_json(file, found, ask.scan, a);
    file.close();
    if (!file)
        throw std::runtime_error(ask.json + ": cannot be written");
}

void run(request& ask) {
    for (const auto& text : ask.at)
        ask.report.at.push_back(parse_place(text));
    for (const auto& text : ask.overlap)
        ask.report.overlap.push_back(parse_span(text));
    if (ask.scan.threads == 0)
        ask.scan.threads = std::max(1u, std::thread::hardware_concurrency());
    ask.scan.progress = isatty(STDERR_FILENO);
    const char* no_colour = std::getenv("NO_COLOR");
    ask.report.colour = isatty(STDOUT_FILENO) && (!no_colour || !*no_colour);

    scan_result found;
    scan(ask.scan, found);
    if (found.interrupted) {
        std::fprintf(stderr, "lath extents: interrupted; nothing is reported\n");
        throw CLI::RuntimeError(interrupted);
    }
    answers a = answer(found, ask.report);
    if (!ask.json.empty())
        write_json(ask, found, a);
    if (ask.json != "-") {
        print_text(std::cout, found, a, ask.report);
        std::cout.flush();
        if (!std::cout)
            throw std::runtime_error("standard output: write failed");
    }
    if (found.errors && a.files == 0)
        throw std::runtime_error("no file could be read");
    if (found.errors)
        throw CLI::RuntimeError(incomplete);
    if (!a.complete())
        throw CLI::RuntimeError(nothing_found);
}

} // namespace

void add_extents(CLI::App& app) {
    auto ask = std::make_shared<request>();
    auto* sub = app.add_subcommand("extents", "which file owns which bytes of the device");
    sub->footer(epilogue);
    sub->add_option("PATH", ask->scan.paths, "Files and directories")->required();
    sub->add_option("--at", ask->at, "Who owns this byte (b: block) of the device")
        ->type_name("OFFSET")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("--overlap", ask->overlap, "Who owns what in [A, B)")
        ->type_name("A-B")
        ->take_all()
        ->allow_extra_args(false);
    sub->add_option("--gaps", ask->report.gaps, "Show the N largest gaps")
        ->type_name("N")
        ->check(CLI::Range(0, INT32_MAX))
        ->capture_default_str();
    sub->add_option("--top", ask->report.top, "Show N files and shared ranges")
        ->type_name("N")
        ->check(CLI::Range(0, INT32_MAX))
        ->capture_default_str();
    sub->add_option("--threads", ask->scan.threads, "Threads that read; 0: one a processor")
        ->type_name("T")
        ->default_val(0)
        ->check(CLI::Range(0, 1024));
    sub->add_flag("--all-devices", ask->scan.all_devices, "Cross into other file systems");
    sub->add_flag("--sync", ask->scan.sync, "Have delayed data written before reading");
    sub->add_option("--json", ask->json, "Write JSON; - is standard output instead of text")
        ->type_name("FILE");
    sub->callback([ask] { run(*ask); });
}

} // namespace lathcli
