// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath: the command-line door of lathwork. Exit codes: 0 done, 1 failed (the message names the input),
// 2 figures or answers that did not verify, 100 and above wrong usage (as CLI11 numbers it).
#include "commands.hpp"

#include "lathwork/error.h"

#include <cstdio>
#include <exception>
#include <string>

namespace {

std::string version_text() { return std::string("lath ") + lath_version(); }

} // namespace

int main(int argc, char** argv) {
    CLI::App app{"lathwork: ordered in-memory structures, measured and put to use", "lath"};
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    lathcli::add_alloc(app);
    lathcli::add_extents(app);
    lathcli::add_replay(app);
    lathcli::add_store(app);
#ifdef LATH_HAVE_BENCH
    lathcli::add_bench(app);
#endif
    lathcli::add_report(app);
    lathcli::add_completion(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "lath: %s\n", e.what());
        return 1;
    }
    return 0;
}
