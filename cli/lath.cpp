// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath: the command-line door of lathwork.
#include "base/text.hpp"
#include "base/usage.hpp"
#include "commands.hpp"
#include "companions.hpp"

#include <cstring>
#include <string>

namespace lathcli {

namespace {

// "lath help" and "lath help COMMAND" become "lath --help" and "lath COMMAND --help".
void turn_help(char** argv) {
    static char option[] = "--help";
    if (!argv[0] || !argv[1] || std::strcmp(argv[1], "help") != 0)
        return;
    if (!argv[2]) {
        argv[1] = option;
        return;
    }
    if (argv[3])
        throw usage_error(std::string("help takes one command, not '") + printable(argv[3]) +
                          "' too");
    argv[1] = argv[2];
    argv[2] = option;
}

} // namespace

void define_program(CLI::App& app, char** argv) {
    app.name("lath");
    app.description("lathwork: ordered in-memory structures, measured and put to use");
    app.require_subcommand(1);
    app.footer("lath help COMMAND tells more of one.");
    turn_help(argv);
    if (const companion* chosen = argv[0] && argv[1] ? find_companion(argv[1]) : nullptr)
        replace_by_companion(*chosen, argv + 2);
    alloc::add(app);
    extents::add(app);
    store::add(app);
    for (const companion& each : companions)
        app.add_subcommand(each.command, describe(each));
    completion::add(app);
}

} // namespace lathcli
