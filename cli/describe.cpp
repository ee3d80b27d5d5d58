// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "describe.hpp"

#include "options.hpp"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace lathcli {

namespace {

using json = nlohmann::ordered_json;

// "N:INT in [0 - 1024]" -> "N", "TEXT" -> "WORD"
std::string argument_of(const CLI::Option* o) {
    std::string kind = o->get_type_name();
    kind = kind.substr(0, kind.find(':'));
    return kind == "TEXT" ? "WORD" : kind == "UINT" || kind == "INT" ? "N" : kind;
}

std::map<const CLI::App*, std::vector<word_text>>& told_commands() {
    static std::map<const CLI::App*, std::vector<word_text>> all;
    return all;
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
    text.choices = words_of(*o);
    text.by_default = o->get_default_str();
    return text;
}

json as_json(const std::vector<option_text>& options) {
    json list = json::array();
    for (const auto& o : options)
        list.push_back({{"names", o.names},
                        {"argument", o.argument},
                        {"description", o.description},
                        {"choices", o.choices},
                        {"default", o.by_default}});
    return list;
}

std::vector<option_text> options_of(const json& list) {
    std::vector<option_text> options;
    for (const auto& o : list)
        options.push_back({o.at("names"), o.at("argument"), o.at("description"), o.at("choices"),
                           o.at("default")});
    return options;
}

} // namespace

command_text describe(const CLI::App& app) {
    command_text command = {app.get_name(), app.get_description(), {}, {}, {}, {}, 0};
    for (const CLI::Option* o : app.get_options()) {
        auto text = describe(o);
        if (o->get_positional())
            command.positionals.push_back({{o->get_single_name()},
                                           argument_of(o),
                                           text.description,
                                           text.choices,
                                           text.by_default});
        else if (!o->get_group().empty()) // hidden without a group
            command.options.push_back(text);
    }
    if (auto told = told_commands().find(&app); told != told_commands().end())
        command.commands = told->second;
    return command;
}

void tell_commands(const CLI::App& app, std::vector<word_text> commands) {
    told_commands()[&app] = std::move(commands);
}

std::string to_json(const command_text& command) {
    json commands = json::array();
    for (const auto& c : command.commands)
        commands.push_back({{"name", c.name}, {"arguments", c.arguments}, {"summary", c.summary}});
    return json{{"name", command.name},
                {"description", command.description},
                {"options", as_json(command.options)},
                {"words", command.words},
                {"positionals", as_json(command.positionals)},
                {"commands", commands}}
        .dump(1);
}

command_text from_json(const std::string& text) {
    try {
        json told = json::parse(text);
        std::vector<word_text> commands;
        for (const auto& c : told.at("commands"))
            commands.push_back({c.at("name"), c.at("arguments"), c.at("summary")});
        return {told.at("name"),
                told.at("description"),
                options_of(told.at("options")),
                told.at("words"),
                options_of(told.at("positionals")),
                std::move(commands),
                0};
    } catch (const json::exception&) {
        throw std::runtime_error("a program of another version describes its options: " +
                                 text.substr(0, 80));
    }
}

void add_description(CLI::App& app, const std::string& command,
                     std::function<void(command_text&)> more) {
    auto tell = [&app, command, more = std::move(more)] {
        command_text text = describe(app);
        text.name = command;
        if (more)
            more(text);
        std::printf("%s\n", to_json(text).c_str());
        throw CLI::Success();
    };
    app.add_flag_callback("--describe", tell)->group("");
}

} // namespace lathcli
