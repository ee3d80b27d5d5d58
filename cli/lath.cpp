// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath: the command-line door of lathwork.
#include "commands.hpp"
#include "companions.hpp"

namespace lathcli {

void define_program(CLI::App& app, char** argv) {
    app.name("lath");
    app.description("lathwork: ordered in-memory structures, measured and put to use");
    app.require_subcommand(1);
    if (const companion* chosen = argv[0] && argv[1] ? find_companion(argv[1]) : nullptr)
        replace_by_companion(*chosen, argv + 2);
    alloc::add(app);
    extents::add(app);
    replay::add(app);
    show::add(app);
    store::add(app);
    watch::add(app);
    for (const companion& each : companions)
        app.add_subcommand(each.command, describe(each));
    completion::add(app);
}

} // namespace lathcli
