// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// --parameter NAME=VALUE: declared by tables, checked before anything runs.
#include "parameters.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/usage.hpp"

#include <algorithm>
#include <utility>

namespace lathbench {

namespace {

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t comma; (comma = list.find(',', begin)) != std::string::npos; begin = comma + 1)
        parts.push_back(list.substr(begin, comma - begin));
    parts.push_back(list.substr(begin));
    return parts;
}

const parameter* find_parameter(const std::vector<const table*>& tables, const std::string& name) {
    for (const table* t : tables)
        for (const auto& p : t->parameters)
            if (p.name == name)
                return &p;
    return nullptr;
}

std::string known_names(const std::vector<const table*>& tables) {
    std::vector<std::string> names;
    for (const table* t : tables)
        for (const auto& p : t->parameters)
            names.push_back(p.name);
    return names.empty() ? "the chosen tables have none" : "there are: " + lathcli::join(names);
}

} // namespace

std::uint64_t parse_size(const std::string& what, const std::string& text) {
    return lathcli::number_of(what, text, 1, 1000000000000);
}

parameter size_parameter(std::string name, std::string summary, std::string by_default) {
    auto check = [](const std::string& what, const std::string& value) { parse_size(what, value); };
    return {std::move(name), std::move(summary), std::move(by_default), check};
}

parameter sizes_parameter(std::string name, std::string summary, std::string by_default) {
    auto check = [](const std::string& what, const std::string& value) {
        for (const auto& part : split(value))
            parse_size(what, part);
    };
    return {std::move(name), std::move(summary), std::move(by_default), check};
}

parameter words_parameter(std::string name, std::string summary, std::vector<std::string> words) {
    auto all = lathcli::join(words, ",");
    auto check = [words = std::move(words), all](const std::string& what,
                                                 const std::string& value) {
        for (const auto& part : split(value))
            if (std::find(words.begin(), words.end(), part) == words.end())
                throw lathcli::usage_error(what + ": '" + part + "' is none of " + all);
    };
    return {std::move(name), std::move(summary), all, check};
}

std::vector<std::uint64_t> size_list(const options& opt, const std::string& name,
                                     std::vector<std::uint64_t> by_default) {
    auto set = opt.parameters.find(name);
    if (set == opt.parameters.end())
        return by_default;
    std::vector<std::uint64_t> sizes;
    for (const auto& part : split(set->second))
        sizes.push_back(parse_size(name, part));
    return sizes;
}

bool wants_word(const options& opt, const std::string& name, const std::string& word) {
    auto set = opt.parameters.find(name);
    if (set == opt.parameters.end())
        return true;
    auto words = split(set->second);
    return std::find(words.begin(), words.end(), word) != words.end();
}

void set_parameters(const std::vector<const table*>& tables, const std::vector<std::string>& texts,
                    options& opt) {
    for (const auto& text : texts) {
        std::string what = "--parameter " + text;
        std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0)
            throw lathcli::usage_error(what + ": not of the form NAME=VALUE");
        std::string name = text.substr(0, equals), value = text.substr(equals + 1);
        const parameter* known = find_parameter(tables, name);
        if (!known)
            throw lathcli::usage_error(what + ": no parameter '" + name + "' (" +
                                       known_names(tables) + ")");
        known->check(what, value);
        if (!opt.parameters.try_emplace(name, value).second)
            throw lathcli::usage_error(what + ": '" + name + "' is given twice");
    }
}

} // namespace lathbench
