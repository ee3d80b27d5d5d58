// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath completion bash|zsh|fish|json: the program's own options, told to a shell; json is what doc/man/pages.py
// makes lath(1) from. The options are read from the parser, so that nothing is listed twice.
#include "commands.hpp"

#ifdef LATH_HAVE_BENCH
#include "table.hpp"
#endif

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lathcli {

namespace {

using json = nlohmann::ordered_json;

struct option_text {
    std::vector<std::string> names; // --json, -o
    std::string argument; // FILE; empty: a flag
    std::string description;
};

struct command_text {
    std::string name, description;
    std::vector<option_text> options;
    std::vector<std::string> words; // for positional arguments, beside files
    std::vector<option_text> positionals;
};

// "N:INT in [0 - 1024]" -> "N", "TEXT" -> "WORD"
std::string argument_of(const CLI::Option* o) {
    std::string kind = o->get_type_name();
    kind = kind.substr(0, kind.find(':'));
    return kind == "TEXT" ? "WORD" : kind == "UINT" || kind == "INT" ? "N" : kind;
}

option_text describe(const CLI::Option* o) {
    option_text text;
    for (const auto& s : o->get_snames())
        text.names.push_back("-" + s);
    for (const auto& l : o->get_lnames())
        text.names.push_back("--" + l);
    if (o->get_type_size() != 0 && o->get_expected_min() > 0)
        text.argument = argument_of(o);
    text.description = o->get_description();
    return text;
}

command_text describe(const CLI::App* app) {
    command_text command = {app->get_name(), app->get_description(), {}, {}, {}};
    for (const CLI::Option* o : app->get_options()) {
        auto text = describe(o);
        if (o->get_positional())
            command.positionals.push_back(
                {{o->get_single_name()}, argument_of(o), text.description});
        else
            command.options.push_back(text);
    }
#ifdef LATH_HAVE_BENCH
    if (command.name == "bench") {
        command.words.emplace_back("all");
        for (const auto& t : lathbench::all_tables())
            command.words.push_back(t.name);
    }
#endif
    if (command.name == "completion")
        command.words = {"bash", "zsh", "fish"};
    return command;
}

std::vector<command_text> commands_of(const CLI::App& app) {
    std::vector<command_text> commands;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
        commands.push_back(describe(sub));
    return commands;
}

std::string join(const std::vector<std::string>& words) {
    std::string line;
    for (const auto& w : words)
        line += (line.empty() ? "" : " ") + w;
    return line;
}

// Inside '...' of a shell.
std::string quoted(const std::string& text) {
    std::string safe;
    for (char c : text)
        if (c == '\'')
            safe += "'\\''";
        else
            safe += c;
    return "'" + safe + "'";
}

// bash: words after `lath`, then options and words of the subcommand; files where an option takes a value.
void bash(const std::vector<command_text>& commands) {
    std::vector<std::string> names;
    std::string cases;
    for (const auto& c : commands) {
        names.push_back(c.name);
        std::vector<std::string> all, valued;
        for (const auto& o : c.options)
            for (const auto& n : o.names) {
                all.push_back(n);
                if (!o.argument.empty())
                    valued.push_back(n);
            }
        cases += "\t" + c.name + ")\n\t\toptions=" + quoted(join(all)) +
                 "\n\t\tvalued=" + quoted(" " + join(valued) + " ") +
                 "\n\t\tnames=" + quoted(join(c.words)) + "\n\t\t;;\n";
    }
    std::printf(R"(# bash completion of lath(1)
_lath() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} sub= i options= valued= names=
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* ]] || { sub=${COMP_WORDS[i]}; break; }
	done
	case $sub in
	'')
		mapfile -t COMPREPLY < <(compgen -W '%s --help --version' -- "$current")
		return
		;;
%s	*) return ;;
	esac
	[[ $valued == *" $previous "* ]] && return
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
	elif [[ $names ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$names" -- "$current")
	fi
}
complete -o bashdefault -o default -F _lath lath
)",
                join(names).c_str(), cases.c_str());
}

// In a zsh specification [ ] : \ are its own.
std::string zsh_text(const std::string& text) {
    std::string safe;
    for (char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\')
            safe += '\\';
        safe += c;
    }
    return safe;
}

void zsh(const std::vector<command_text>& commands) {
    std::printf("#compdef lath\n# zsh completion of lath(1)\n_lath() {\n\tlocal -a commands=(\n");
    for (const auto& c : commands)
        std::printf("\t\t%s\n", quoted(c.name + ":" + zsh_text(c.description)).c_str());
    std::printf(
        "\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
        "\tlocal name=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $name in\n");
    for (const auto& c : commands) {
        std::printf("\t%s)\n\t\t_arguments", c.name.c_str());
        for (const auto& o : c.options)
            for (const auto& n : o.names)
                std::printf(
                    " \\\n\t\t\t%s",
                    quoted(n + "[" + zsh_text(o.description) + "]" +
                           (o.argument.empty() ? "" : ":" + zsh_text(o.argument) + ":_files"))
                        .c_str());
        std::string words = c.words.empty() ? "_files" : "(" + join(c.words) + ")";
        std::printf(" \\\n\t\t\t%s\n\t\t;;\n", quoted("*: :" + words).c_str());
    }
    std::printf("\tesac\n}\n_lath \"$@\"\n");
}

void fish(const std::vector<command_text>& commands) {
    std::printf("# fish completion of lath(1)\n");
    for (const auto& c : commands) {
        std::printf("complete -c lath -n __fish_use_subcommand -f -a %s -d %s\n", c.name.c_str(),
                    quoted(c.description).c_str());
        std::string when = "-n " + quoted("__fish_seen_subcommand_from " + c.name);
        for (const auto& o : c.options) {
            std::string flags;
            for (const auto& n : o.names)
                flags += n.compare(0, 2, "--") == 0 ? " -l " + n.substr(2) : " -s " + n.substr(1);
            std::printf("complete -c lath %s%s%s -d %s\n", when.c_str(), flags.c_str(),
                        o.argument.empty() ? "" : " -r", quoted(o.description).c_str());
        }
        if (!c.words.empty())
            std::printf("complete -c lath %s -f -a %s\n", when.c_str(),
                        quoted(join(c.words)).c_str());
    }
}

json as_json(const std::vector<option_text>& options) {
    json list = json::array();
    for (const auto& o : options)
        list.push_back(
            {{"names", o.names}, {"argument", o.argument}, {"description", o.description}});
    return list;
}

void tell_json(const std::vector<command_text>& commands, const std::string& summary) {
    json list = json::array();
    for (const auto& c : commands)
        list.push_back({{"name", c.name},
                        {"description", c.description},
                        {"options", as_json(c.options)},
                        {"positionals", as_json(c.positionals)}});
    std::printf("%s\n", json{{"summary", summary}, {"commands", list}}.dump(1).c_str());
}

} // namespace

void add_completion(CLI::App& app) {
    auto shell = std::make_shared<std::string>();
    CLI::App* completion =
        app.add_subcommand("completion", "completions for a shell, to standard output");
    completion->add_option("shell", *shell, "bash, zsh or fish")
        ->required()
        ->type_name("SHELL")
        ->check(CLI::IsMember({"bash", "zsh", "fish", "json"}));
    completion->callback([shell, &app] {
        auto commands = commands_of(app);
        if (*shell == "bash")
            bash(commands);
        else if (*shell == "zsh")
            zsh(commands);
        else if (*shell == "fish")
            fish(commands);
        else
            tell_json(commands, app.get_description());
    });
}

} // namespace lathcli
