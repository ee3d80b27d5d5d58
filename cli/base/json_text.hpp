// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Names of files in JSON, which knows UTF-8 alone: "file" is the name with U+FFFD for what is none,
// and then "file_hex" has its bytes, two digits each. Without "file_hex" the name is exact.
#pragma once

#include "base/text.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace lathcli {

// One text for a JSON or several, in that order.
template <class Json>
void put_text(Json& object, const std::string& name, const std::string& bytes) {
    object[name] = bytes;
    if (!is_utf8(bytes))
        object[name + "_hex"] = to_hex(bytes);
}

template <class Json>
void put_texts(Json& object, const std::string& name, const std::vector<std::string>& list) {
    object[name] = list;
    if (std::all_of(list.begin(), list.end(), [](const std::string& s) { return is_utf8(s); }))
        return;
    Json& exact = object[name + "_hex"] = Json::array();
    for (const auto& bytes : list)
        exact.push_back(to_hex(bytes));
}

// Text of a document with such names in it: U+FFFD where they are no UTF-8.
template <class Json>
std::string json_text(const Json& document, int indent = -1) {
    return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// What the parser says, without its own name and number.
inline std::string json_problem(const nlohmann::json::exception& e) {
    std::string text = e.what();
    auto end = text.find("] ");
    return end == std::string::npos ? text : text.substr(end + 2);
}

} // namespace lathcli
