// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "alloc/pool.hpp"

#include "base/extent_list.hpp"
#include "base/input_file.hpp"
#include "base/json_text.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "base/usage.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

namespace lathcli::alloc {

span parse_span(const std::string& text) {
    auto fail = [&](const char* why) { throw usage_error("'" + text + "': " + why); };
    auto dash = text.find('-');
    if (dash == std::string::npos)
        fail("not a span (A-B: from A up to, not including, B; A-: up to 2^64)");
    auto first = parse_number(std::string_view(text).substr(0, dash));
    if (!first)
        fail("A is not a number below 2^64");
    if (dash + 1 == text.size())
        return {*first, UINT64_MAX};
    auto end = parse_number(std::string_view(text).substr(dash + 1));
    if (!end)
        fail("B is not a number below 2^64");
    if (*end <= *first)
        fail("empty, B must be greater than A");
    return {*first, *end - 1};
}

pool make_pool(std::vector<span> spans, const std::string& what) {
    std::sort(spans.begin(), spans.end(),
              [](const span& a, const span& b) { return a.first < b.first; });
    pool made;
    for (const span& s : spans) {
        if (!made.empty() && s.first <= made.back().last)
            throw usage_error(what + ": the ranges overlap at " + std::to_string(s.first));
        if (!made.empty() && s.first - 1 == made.back().last)
            made.back().last = s.last;
        else
            made.push_back(s);
    }
    return made;
}

pool trim(const pool& of, std::uint64_t unit) {
    pool trimmed;
    std::uint64_t mask = unit - 1;
    for (span s : of) {
        if (s.first > UINT64_MAX - mask)
            continue;
        s.first = (s.first + mask) & ~mask;
        if ((s.last & mask) != mask) { // its last unit is not whole
            if (s.last < unit)
                continue;
            s.last = (s.last & ~mask) - 1;
        }
        if (s.first <= s.last)
            trimmed.push_back(s);
    }
    return trimmed;
}

namespace {

// Spans in order, each merged with those it overlaps or touches.
std::vector<span> merged(std::vector<span> spans) {
    std::sort(spans.begin(), spans.end(),
              [](const span& a, const span& b) { return a.first < b.first; });
    std::vector<span> runs;
    for (const span& s : spans) {
        if (runs.empty() || (s.first > runs.back().last && s.first - 1 > runs.back().last))
            runs.push_back(s);
        else
            runs.back().last = std::max(runs.back().last, s.last);
    }
    return runs;
}

} // namespace

pool without(const pool& of, std::vector<span> taken) {
    auto blocks = merged(std::move(taken));
    pool left;
    for (span s : of) {
        auto b = std::partition_point(blocks.begin(), blocks.end(),
                                      [&](const span& t) { return t.last < s.first; });
        bool open = true; // [s.first, s.last] is not decided on yet
        for (; open && b != blocks.end() && b->first <= s.last; ++b) {
            if (b->first > s.first)
                left.push_back({s.first, b->first - 1});
            open = b->last < s.last;
            s.first = open ? b->last + 1 : s.first;
        }
        if (open)
            left.push_back(s);
    }
    return left;
}

taken_extents read_extents(const std::string& name, std::istream& in) {
    taken_extents taken;
    try {
        auto document = nlohmann::json::parse(in);
        for (const auto& e : list_extents(document, name))
            taken.spans.push_back({e.first, e.first + (e.length - 1)});
        if (document.contains("context") && document["context"].contains("devices"))
            for (const auto& d : document["context"]["devices"])
                taken.logical = taken.logical || d.value("addresses", "device") == "logical";
    } catch (const nlohmann::json::exception& e) {
        throw std::runtime_error(name +
                                 ": not the JSON of `lath extents --json`: " + json_problem(e));
    }
    return taken;
}

taken_extents read_extents(const std::string& path) {
    auto in = open_stream(path);
    return read_extents(path, in);
}

namespace {

// Returns a member of the object: "0x1000" as BlueStore prints it, or a number. Throws
// std::runtime_error that begins with `name`.
std::uint64_t number_in(const nlohmann::json& object, const char* member, const std::string& name) {
    const auto& value = object.at(member);
    std::optional<std::uint64_t> number;
    if (value.is_string())
        number = parse_number(value.get_ref<const std::string&>());
    else if (value.is_number_unsigned())
        number = value.get<std::uint64_t>();
    if (!number)
        throw std::runtime_error(name + ": \"" + member + "\" is not a number below 2^64");
    return *number;
}

// The free space that one object tells.
free_dump dump_of(const nlohmann::json& document, const std::string& name) {
    free_dump dump;
    std::vector<span> spans;
    dump.unit = number_in(document, "alloc_unit", name);
    if (!std::has_single_bit(dump.unit))
        throw std::runtime_error(name + ": \"alloc_unit\" is not a power of two");
    auto capacity = number_in(document, "capacity", name);
    for (const auto& e : document.at("extents")) {
        const std::string where = name + ": free extent " + std::to_string(spans.size() + 1);
        auto first = number_in(e, "offset", where), length = number_in(e, "length", where);
        if (length == 0 || first >= capacity || length > capacity - first)
            throw std::runtime_error(where + ", at " + std::to_string(first) +
                                     ", is empty or ends beyond the capacity");
        spans.push_back({first, first + (length - 1)});
    }
    dump.free = make_pool(std::move(spans), name);
    if (capacity)
        dump.taken = without({{0, capacity - 1}}, dump.free);
    return dump;
}

// The objects of a dump, each with the label before it, or else the name that it has within.
std::vector<std::pair<std::string, nlohmann::json>> objects_of(const std::string& name,
                                                               std::istream& in) {
    std::vector<std::pair<std::string, nlohmann::json>> all;
    std::string label;
    while ((in >> std::ws) && in.peek() != std::istream::traits_type::eof()) {
        if (in.peek() == '{') {
            nlohmann::json document;
            in >> document; // up to its closing brace
            if (label.empty() && document.contains("alloc_name") &&
                document["alloc_name"].is_string())
                label = document["alloc_name"].get<std::string>();
            all.emplace_back(std::exchange(label, ""), std::move(document));
            continue;
        }
        std::string line;
        std::getline(in, line);
        line.erase(line.find_last_not_of(" \t\r") + 1);
        if (!label.empty() || line.size() < 2 || !line.ends_with(':') ||
            line.find_first_of(" \t\"{}[],") != std::string::npos)
            throw std::runtime_error(name + ": '" + printable(line.substr(0, 60)) +
                                     "' is neither an object of `bluestore allocator dump` nor "
                                     "the name of an allocator and a colon");
        label = line.substr(0, line.size() - 1);
    }
    if (all.empty() || !label.empty())
        throw std::runtime_error(name + ": there is no JSON of `bluestore allocator dump` " +
                                 (label.empty() ? "in it" : "behind '" + printable(label) + ":'"));
    return all;
}

} // namespace

free_dump read_dump(const std::string& name, std::istream& in, const std::string& allocator) {
    try {
        auto all = objects_of(name, in);
        std::vector<std::string> names;
        const nlohmann::json* chosen = nullptr;
        for (const auto& [label, document] : all) {
            names.push_back(label.empty() ? "(no name)" : printable(label));
            if (allocator.empty() ? all.size() == 1 : label == allocator)
                chosen = &document;
        }
        if (!chosen)
            throw usage_error(name +
                              (allocator.empty()
                                   ? ": several allocators; --allocator "
                                     "chooses one of "
                                   : ": no allocator '" + printable(allocator) + "'; it has ") +
                              join(names));
        try {
            return dump_of(*chosen, name);
        } catch (const usage_error& e) { // two extents overlap
            throw std::runtime_error(e.what());
        }
    } catch (const nlohmann::json::exception& e) {
        throw std::runtime_error(
            name + ": not the JSON of `bluestore allocator dump`: " + json_problem(e));
    }
}

free_dump read_dump(const std::string& path, const std::string& allocator) {
    auto in = open_stream(path);
    return read_dump(path, in, allocator);
}

void write_extents(std::ostream& out, std::vector<span> spans) {
    auto extents = nlohmann::json::array();
    for (const span& s : merged(std::move(spans))) {
        span rest = s;
        if (s.last - s.first == UINT64_MAX) { // one more than a length can say
            extents.push_back({{"physical", s.first}, {"length", UINT64_MAX}});
            rest.first = s.last;
        }
        extents.push_back({{"physical", rest.first}, {"length", rest.last - rest.first + 1}});
    }
    out << nlohmann::json{{"context", {{"tool", "lath alloc"}}}, {"extents", extents}}.dump(1)
        << '\n';
}

std::uint64_t size_of(const pool& of) {
    std::uint64_t sum = 0;
    for (const span& s : of) {
        std::uint64_t size = s.last - s.first;
        if (size == UINT64_MAX || sum > UINT64_MAX - (size + 1))
            return UINT64_MAX;
        sum += size + 1;
    }
    return sum;
}

} // namespace lathcli::alloc
