// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// main() of lath, lath-bench, lath-replay and lath-report; each program defines define_program()
// in its own file.
// Exit codes: 0 done, 1 failed (the message names the input), 2 figures or answers that did not
// verify, 3 and 4 as the subcommand says, 130 interrupted, 100 and above wrong usage (as CLI11
// numbers it).
#include "base/output.hpp"
#include "base/text.hpp"
#include "base/usage.hpp"
#include "commands.hpp"

#include "lathwork/error.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace {

using lathcli::usage_error;

std::string version_text() { return std::string("lath ") + lath_version(); }

// The command whose help is of use: "lath replay", or "lath" where none was named.
std::string help_of(const CLI::App& app, int argc, char** argv) {
    if (argc > 1)
        for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
            if (sub->get_name() == argv[1])
                return app.get_name() + " " + argv[1];
    return app.get_name();
}

int wrong_usage(const CLI::App& app, int argc, char** argv, const std::string& what,
                int code = usage_error::code) {
    std::fprintf(stderr, "lath: %s (%s --help)\n", what.c_str(), help_of(app, argc, argv).c_str());
    return code;
}

// Words that look like options and are none; of the command line in front of a "--".
std::string unknown_options(const CLI::App& app, int argc, char** argv) {
    std::vector<std::string> left = app.remaining(true), told;
    for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; i++)
        if (lathcli::is_option_like(argv[i]) &&
            std::find(left.begin(), left.end(), argv[i]) != left.end())
            told.push_back("'" + lathcli::printable(argv[i]) + "'");
    if (told.empty())
        return "";
    return "no option " + lathcli::join(told) +
           "; a name that begins with - goes behind --, a file also as ./" +
           told.front().substr(1, told.front().size() - 2);
}

// The first word is the command. "": none is missing, or none is unknown.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(sub->get_name());
    if (names.empty())
        return "";
    if (argc < 2)
        return "which command? There are: " + lathcli::join(names);
    for (const auto& name : names)
        if (name == argv[1])
            return "";
    return argv[1][0] == '-' ? "" : lathcli::no_such("command", argv[1], names);
}

int run(CLI::App& app, int argc, char** argv) {
    try {
        lathcli::define_program(app, argv);
        if (auto what = unknown_command(app, argc, argv); !what.empty())
            return wrong_usage(app, argc, argv, what);
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        // help, version, and what a subcommand has said already
        if (e.get_exit_code() == 0 || dynamic_cast<const CLI::RuntimeError*>(&e))
            return app.exit(e);
        auto what = unknown_options(app, argc, argv);
        // An unknown option is told before what is missing for its sake.
        if (!what.empty())
            return wrong_usage(app, argc, argv, what,
                               static_cast<int>(CLI::ExitCodes::ExtrasError));
        return wrong_usage(app, argc, argv, e.what(), e.get_exit_code());
    } catch (const usage_error& e) {
        return wrong_usage(app, argc, argv, e.what());
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "lath: out of memory\n");
        return 1;
    } catch (const lathcli::output_error&) {
        throw; // main's
    } catch (const std::exception& e) {
        std::fprintf(stderr, "lath: %s\n", e.what());
        return 1;
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    lathcli::prepare_standard_files();
    CLI::App app;
    app.set_version_flag("--version", version_text());
    try {
        int code = run(app, argc, argv);
        lathcli::check_standard_output();
        return code;
    } catch (const lathcli::output_error& e) {
        if (e.broken_pipe)
            std::raise(SIGPIPE); // ends us, unless the caller has it ignored
        std::fprintf(stderr, "lath: %s\n", e.what());
        return 1;
    }
}
