// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath show FILE: a drawing of an index.
#include "base/output.hpp"
#include "base/stop_on_signal.hpp"
#include "base/usage.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "show/source.hpp"

#include <memory>
#include <string>

#include <unistd.h>

namespace lathcli::show {

namespace {

constexpr const char* epilogue =
    "FILE has a line per item, KEY [SIZE [VALUE]], in the order in which they are inserted; or it "
    "is a\n"
    "dump (LATH_DUMP_JSON of lath_index_dump(), or `lath json` within gdb). - is standard input.\n"
    "Exit codes: 0 done, 1 failed, 130 interrupted, 100 and above wrong usage.";

struct request {
    std::string file, format, path = "-", theme = "auto";
    show::made_up keys;
    show::changes after;
    bool demo = false;
    std::uint64_t nodes = 60, erase = 0;
};

std::string format_of(const request& ask) {
    if (!ask.format.empty())
        return ask.format;
    return ask.path.ends_with(".svg") ? "svg" : ask.path.ends_with(".json") ? "json" : "text";
}

void run(request ask) {
    if (ask.demo && !ask.file.empty())
        throw usage_error("show: --demo needs no FILE");
    // What is piped in is meant to be read; a terminal would wait in silence.
    bool implied = !ask.demo && ask.file.empty();
    const char* nothing = "show: give FILE (- is standard input) or --demo";
    if (implied && isatty(STDIN_FILENO))
        throw usage_error(nothing);
    if (implied)
        ask.file = "-";
    ask.after = {static_cast<unsigned>(ask.erase), ask.keys.seed};
    stop_on_signal scope;
    output to(ask.path, {ask.file});
    std::string dump, format = format_of(ask);
    try {
        show::picture what = ask.demo ? show::from_keys(ask.keys, ask.after, dump)
                                      : show::from_file(ask.file, ask.after, dump);
        if (implied && what.items() == 0) // nobody piped anything in
            throw usage_error(nothing);
        if (format == "json")
            to.stream() << dump;
        else if (format == "svg")
            draw_svg(to.stream(), what, ask.nodes,
                     ask.theme == "dark"    ? show::theme::dark
                     : ask.theme == "light" ? show::theme::light
                                            : show::theme::automatic);
        else
            draw_text(to.stream(), what, ask.nodes);
    } catch (const stopped&) {
        throw CLI::RuntimeError(stop_on_signal::exit_code);
    }
    to.commit();
}

} // namespace

void add(CLI::App& app) {
    auto ask = std::make_shared<request>();
    auto* sub = app.add_subcommand("show", "draw an index: its levels, nodes, entries and holes");
    sub->footer(epilogue);
    sub->add_option(
        "FILE", ask->file,
        "Items, or a dump of an index; without FILE: standard input, unless that is a terminal");
    sub->add_flag("--demo", ask->demo, "Draw an index of made-up keys");
    auto* keys = sub->add_option("--keys", ask->keys.keys, "Distribution of the made-up keys")
                     ->type_name("NAME")
                     ->check(one_of(show::distributions()))
                     ->capture_default_str();
    auto* n = sub->add_option("--n", ask->keys.n, "Number of items")
                  ->type_name("N")
                  ->transform(whole_number(0, 10000000))
                  ->capture_default_str();
    for (CLI::Option* option : {keys, n})
        option->needs("--demo");
    sub->add_option("--seed", ask->keys.seed, "Seed of all random choices")
        ->type_name("N")
        ->transform(whole_number())
        ->capture_default_str();
    sub->add_option("--erase", ask->erase, "Then erase N per cent of the items, at random")
        ->type_name("N")
        ->transform(whole_number(0, 100))
        ->capture_default_str();
    sub->add_option("--format", ask->format,
                    "text, svg, or json (a dump); else by the end of the output's name, or text")
        ->check(one_of({"text", "svg", "json"}));
    sub->add_option("--theme", ask->theme, "svg: colours; auto follows the reader's scheme")
        ->check(one_of({"auto", "light", "dark"}))
        ->capture_default_str();
    sub->add_option("--nodes", ask->nodes, "Draw at most N nodes of a level")
        ->type_name("N")
        ->transform(whole_number(1, 100000))
        ->capture_default_str();
    sub->add_option("-o,--output", ask->path, "Write there; - is standard output")
        ->type_name("FILE")
        ->check(file_name())
        ->capture_default_str();
    sub->callback([ask] { run(*ask); });
}

} // namespace lathcli::show
