// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "options.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lathcli {

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
    auto check = [least, most](std::string& text) {
        auto n = parse_number(text);
        if (!n || *n < least || *n > most)
            return no_number(text, least, most);
        text = std::to_string(*n);
        return std::string();
    };
    return {check, ""};
}

CLI::Validator one_of(const std::vector<std::string>& words) {
    auto check = [words](const std::string& text) {
        bool known = std::find(words.begin(), words.end(), text) != words.end();
        return known ? "" : no_such("choice", text, words);
    };
    return {check, "{" + join(words, ",") + "}"};
}

CLI::Validator file_name() {
    auto check = [](const std::string& text) {
        return is_option_like(text)
                   ? "'" + printable(text) + "' looks like an option; a file of that name is ./" +
                         printable(text)
                   : std::string();
    };
    return {check, ""};
}

CLI::Validator parsed_by(std::function<void(const std::string&)> parse) {
    auto check = [parse = std::move(parse)](const std::string& text) -> std::string {
        try {
            parse(text);
        } catch (const std::runtime_error& e) {
            return e.what();
        }
        return "";
    };
    return {check, ""};
}

std::vector<std::string> words_of(const CLI::Option& option) {
    std::string kind = option.get_type_name();
    auto begin = kind.find('{'), end = kind.rfind('}');
    std::vector<std::string> words;
    if (begin == std::string::npos || end == std::string::npos)
        return words;
    while (begin < end) {
        auto comma = std::min(kind.find(',', begin + 1), end);
        words.push_back(kind.substr(begin + 1, comma - begin - 1));
        begin = comma;
    }
    return words;
}

} // namespace lathcli
