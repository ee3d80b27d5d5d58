// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lath completion bash|zsh|fish|json: the program's own options, told to a shell; json is what
// doc/man/pages.py makes lath(1) from. The options are read from the parser, so that nothing is
// listed twice.
#include "base/text.hpp"
#include "commands.hpp"
#include "companions.hpp"
#include "describe.hpp"
#include "options.hpp"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lathcli::completion {

namespace {

std::vector<command_text> commands_of(const CLI::App& app) {
    std::vector<command_text> commands;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
        const companion* other = find_companion(sub->get_name());
        std::string path = other ? path_of(*other) : "";
        commands.push_back(path.empty() ? describe(*sub) : from_json(self_description(path)));
        command_text& text = commands.back();
        if (text.name == "completion")
            text.words = {"bash", "zsh", "fish"};
        for (const word_text& c : text.commands)
            text.words.push_back(c.name);
        text.behind = text.commands.empty() ? 0 : 1;
    }
    return commands;
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

// One branch of the script below: what the subcommand has, and the values of the option in front of
// the cursor.
std::string bash_case(const command_text& c) {
    std::vector<std::string> all, valued;
    std::string values;
    for (const auto& o : c.options) {
        all.insert(all.end(), o.names.begin(), o.names.end());
        if (!o.argument.empty())
            valued.insert(valued.end(), o.names.begin(), o.names.end());
        if (!o.choices.empty())
            values +=
                "\t\t" + join(o.names, "|") + ") values=" + quoted(join(o.choices, " ")) + " ;;\n";
    }
    if (!values.empty())
        values = "\t\tcase $previous in\n" + values + "\t\tesac\n";
    return "\t" + c.name + ")\n\t\toptions=" + quoted(join(all, " ")) +
           "\n\t\tvalued=" + quoted(" " + join(valued, " ") + " ") +
           "\n\t\tnames=" + quoted(join(c.words, " ")) + " behind=" + std::to_string(c.behind) +
           "\n" + values + "\t\t;;\n";
}

// bash: words after `lath`, then options, their values and words of the subcommand; files for all
// else. Values may be a list with commas.
void bash(const std::vector<command_text>& commands) {
    std::vector<std::string> names;
    std::string cases;
    for (const auto& c : commands) {
        names.push_back(c.name);
        cases += bash_case(c);
    }
    std::printf(R"(# bash completion of lath(1)
_lath() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} sub= i options= valued= names=
	local values= behind=0 seen=0 list=
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
	if [[ $values ]]; then
		[[ $current == *,* ]] && list=${current%%,*},
		mapfile -t COMPREPLY < <(compgen -P "$list" -W "$values" -- "${current##*,}")
		return
	fi
	# file:PATH comes in three words
	[[ $valued == *" $previous "* || $previous == : || $current == : ]] && return
	for ((i++; i < COMP_CWORD; i++)); do
		if [[ $valued == *" ${COMP_WORDS[i]} "* ]]; then
			((i++))
		elif [[ ${COMP_WORDS[i]} != -* ]]; then
			((seen++))
		fi
	done
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
	elif [[ $names ]] && ((seen >= behind)); then
		mapfile -t COMPREPLY < <(compgen -W "$names" -- "$current")
	fi
}
complete -o bashdefault -o default -F _lath lath
)",
                join(names, " ").c_str(), cases.c_str());
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

std::string zsh_words(const std::vector<std::string>& words) {
    return words.empty() ? "_files" : "(" + join(words, " ") + ")";
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
                std::printf(" \\\n\t\t\t%s",
                            quoted(n + "[" + zsh_text(o.description) + "]" +
                                   (o.argument.empty()
                                        ? ""
                                        : ":" + zsh_text(o.argument) + ":" + zsh_words(o.choices)))
                                .c_str());
        if (c.behind)
            std::printf(" \\\n\t\t\t'1: :_files'");
        std::printf(" \\\n\t\t\t%s\n\t\t;;\n", quoted("*: :" + zsh_words(c.words)).c_str());
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
                        o.argument.empty()  ? ""
                        : o.choices.empty() ? " -r"
                                            : (" -x -a " + quoted(join(o.choices, " "))).c_str(),
                        quoted(o.description).c_str());
        }
        if (!c.words.empty())
            std::printf("complete -c lath %s%s -a %s\n", when.c_str(), c.behind ? "" : " -f",
                        quoted(join(c.words, " ")).c_str());
    }
}

void tell_json(const std::vector<command_text>& commands, const std::string& summary) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& c : commands)
        list.push_back(nlohmann::ordered_json::parse(to_json(c)));
    std::printf("%s\n",
                nlohmann::ordered_json{{"summary", summary}, {"commands", list}}.dump(1).c_str());
}

} // namespace

void add(CLI::App& app) {
    auto shell = std::make_shared<std::string>();
    CLI::App* completion =
        app.add_subcommand("completion", "completions for a shell, to standard output");
    completion->add_option("shell", *shell, "bash, zsh or fish")
        ->required()
        ->type_name("SHELL")
        ->check(one_of({"bash", "zsh", "fish", "json"}));
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

} // namespace lathcli::completion
