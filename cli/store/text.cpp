// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "store/text.hpp"

#include "base/numbers.hpp"

#include <nlohmann/json.hpp>

namespace lathcli {

namespace {

constexpr std::string_view expires_column = "expires=";

int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = static_cast<char>(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The escape at text[at] == '\\'; at moves behind it.
std::optional<text_error> unescape(std::string_view text, std::size_t& at, std::string& out) {
    static constexpr std::string_view letters = "tnr0\\\"", bytes{"\t\n\r\0\\\"", 6};
    std::size_t begin = at++;
    if (at == text.size())
        return text_error{begin + 1, "a \\ at the end"};
    char c = text[at++];
    if (auto i = letters.find(c); i != std::string_view::npos) {
        out += bytes[i];
        return std::nullopt;
    }
    if (c != 'x' || text.size() - at < 2 || hex_digit(text[at]) < 0 || hex_digit(text[at + 1]) < 0)
        return text_error{begin + 1,
                          "an unknown escape (there are \\t \\n \\r \\0 \\\\ \\\" \\xHH)"};
    out += static_cast<char>(hex_digit(text[at]) * 16 + hex_digit(text[at + 1]));
    at += 2;
    return std::nullopt;
}

std::optional<text_error> unescape_field(std::string_view line, std::size_t begin, std::size_t end,
                                         std::string& out) {
    out.clear();
    for (std::size_t at = begin; at < end;) {
        if (line[at] != '\\') {
            out += line[at++];
        } else if (auto bad = unescape(line.substr(0, end), at, out)) {
            return bad;
        }
    }
    return std::nullopt;
}

bool from_hex(std::string_view text, std::string& out) {
    out.clear();
    if (text.size() % 2)
        return false;
    for (std::size_t i = 0; i < text.size(); i += 2) {
        int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0)
            return false;
        out += static_cast<char>(high * 16 + low);
    }
    return true;
}

// A member as text: a string, a number, or NAME_hex.
bool take_member(const nlohmann::json& object, const std::string& name, std::string& out) {
    auto it = object.find(name);
    if (it == object.end()) {
        it = object.find(name + "_hex");
        return it != object.end() && it->is_string() &&
               from_hex(it->get_ref<const std::string&>(), out);
    }
    if (it->is_string())
        out = it->get<std::string>();
    else if (it->is_number())
        out = it->dump();
    else
        return false;
    return true;
}

std::optional<text_error> parse_json(std::string_view line, text_entry& entry) {
    nlohmann::json object;
    try {
        object = nlohmann::json::parse(line);
    } catch (const nlohmann::json::parse_error& e) {
        return text_error{e.byte ? e.byte : 1, "no JSON"};
    } catch (const nlohmann::json::exception&) {
        return text_error{1, "a number out of range"};
    }
    if (!object.is_object())
        return text_error{1, "no JSON object"};
    if (!take_member(object, "key", entry.key))
        return text_error{1, "no \"key\" (a string or a number) or \"key_hex\""};
    if (!take_member(object, "value", entry.value))
        return text_error{1, "no \"value\" (a string or a number) or \"value_hex\""};
    entry.expires = 0;
    if (auto it = object.find("expires"); it != object.end()) {
        if (!it->is_number_unsigned())
            return text_error{1, "\"expires\" is not a time in ms since 1970"};
        entry.expires = it->get<std::uint64_t>();
    }
    return std::nullopt;
}

} // namespace

text_format format_of(std::string_view path) {
    for (std::string_view end : {".jsonl", ".ndjson", ".json"})
        if (path.size() >= end.size() && path.substr(path.size() - end.size()) == end)
            return text_format::jsonl;
    return text_format::tsv;
}

std::optional<text_error> parse_entry(std::string_view line, text_format format,
                                      text_entry& entry) {
    if (!line.empty() && line.back() == '\r')
        line.remove_suffix(1);
    if (format == text_format::jsonl)
        return parse_json(line, entry);
    std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos)
        return text_error{line.size() + 1, "no tab between key and value"};
    entry.expires = 0;
    if (auto third = line.find('\t', tab + 1); third != std::string_view::npos) {
        auto column = line.substr(third + 1);
        auto time = column.starts_with(expires_column)
                        ? parse_digits<std::uint64_t>(column.substr(expires_column.size()))
                        : std::nullopt;
        if (!time)
            return text_error{third + 1,
                              "a second tab (write it as \\t), and no expires=MS behind it"};
        entry.expires = *time;
        line = line.substr(0, third);
    }
    if (auto bad = unescape_field(line, 0, tab, entry.key))
        return bad;
    return unescape_field(line, tab + 1, line.size(), entry.value);
}

std::string format_entry(const text_entry& entry, text_format format) {
    if (format == text_format::tsv)
        return printable(entry.key) + "\t" + printable(entry.value) +
               (entry.expires ? "\t" + std::string(expires_column) + std::to_string(entry.expires)
                              : "");
    nlohmann::ordered_json object;
    for (const auto& [name, bytes] :
         {std::pair<std::string, const std::string&>{"key", entry.key},
          std::pair<std::string, const std::string&>{"value", entry.value}}) {
        if (is_utf8(bytes))
            object[name] = bytes;
        else
            object[name + "_hex"] = to_hex(bytes);
    }
    if (entry.expires)
        object["expires"] = entry.expires;
    return object.dump();
}

std::optional<text_error> parse_words(std::string_view line, std::vector<std::string>& words) {
    words.clear();
    for (std::size_t at = 0;;) {
        while (at < line.size() && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r'))
            ++at;
        if (at == line.size())
            return std::nullopt;
        std::string word;
        char quote = 0;
        std::size_t opened = at;
        for (; at < line.size();) {
            char c = line[at];
            if (!quote && (c == ' ' || c == '\t' || c == '\r'))
                break;
            if (c == quote) {
                quote = 0;
                ++at;
            } else if (!quote && (c == '"' || c == '\'')) {
                quote = c;
                opened = at++;
            } else if (quote == '"' && c == '\\') {
                if (auto bad = unescape(line, at, word))
                    return bad;
            } else {
                word += c;
                ++at;
            }
        }
        if (quote)
            return text_error{opened + 1, "a quote that does not end"};
        words.push_back(std::move(word));
    }
}

} // namespace lathcli
