// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "alloc/trace.hpp"

#include "base/numbers.hpp"
#include "trace/fields.hpp"

#include <utility>

namespace lathcli::alloc {

namespace {

constexpr std::size_t longest_id = 200;
// Of a request, by its MAX: each piece is an entry in memory.
constexpr std::uint64_t most_pieces = 1 << 20;

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> all;
    trace::words words(text.substr(0, text.find('#')), " \t\r");
    for (auto word = words.next(); !word.empty(); word = words.next())
        all.push_back(word);
    return all;
}

// What an error message shows of a word that came from a file.
std::string quoted(std::string_view word) {
    std::string shown = "'";
    for (char c : word.substr(0, 40))
        shown += c >= ' ' && c <= '~' ? c : '?';
    return shown + (word.size() > 40 ? "...'" : "'");
}

} // namespace

std::uint64_t reader::number(const char* what, std::string_view text) const {
    auto value = parse_number(text);
    if (!value)
        complain(std::string(what) + " " + quoted(text) + " is not a number below 2^64");
    return *value;
}

void reader::read_allocation(operation& o, const std::vector<std::string_view>& words) {
    if (words.size() < 3 || words.size() > 5)
        complain("an allocation is: a ID SIZE [ALIGN [HINT]]");
    o.size = number("size", words[2]);
    if (o.size == 0)
        complain("size 0");
    if (words.size() > 3)
        o.align = number("alignment", words[3]);
    if (o.align & (o.align - 1))
        complain("alignment " + quoted(words[3]) + " is not a power of two");
    if (words.size() > 4)
        o.hint = number("hint", words[4]);
    auto [place, fresh] = live_.try_emplace(std::string(words[1]));
    if (!fresh)
        complain("ID " + quoted(words[1]) + " is in use");
    if (unused_.empty()) {
        unused_.push_back(names_.size());
        names_.emplace_back();
    }
    o.slot = place->second = unused_.back();
    unused_.pop_back();
    names_[o.slot] = place->first;
    counts_.allocations++;
}

void reader::read_request(operation& o, const std::vector<std::string_view>& words) {
    if (words.size() < 2 || words.size() > 4)
        complain("a request in pieces is: WANT UNIT [MAX [HINT]]");
    o.in_pieces = true;
    o.size = number("WANT", words[0]);
    if (o.size == 0)
        complain("WANT is 0");
    o.align = number("UNIT", words[1]);
    if (o.align == 0 || (o.align & (o.align - 1)))
        complain("UNIT " + quoted(words[1]) + " is not a power of two");
    if (words.size() > 2)
        o.most = number("MAX", words[2]);
    if (o.most != 0 && o.most < o.align)
        complain("MAX " + quoted(words[2]) + " is below UNIT");
    if (o.most != 0 && (o.size - 1) / o.most >= most_pieces)
        complain("WANT " + quoted(words[0]) + " is more than " + std::to_string(most_pieces) +
                 " pieces of MAX bytes");
    if (words.size() > 3)
        o.hint = number("HINT", words[3]);
    if (o.hint == 0)
        o.hint.reset();
    counts_.allocations++;
}

bool reader::line(operation& o, std::string_view text) {
    if (in_.too_long() || in_.has_nul())
        complain(in_.too_long() ? "a line too long for a trace" : "a zero byte");
    auto words = words_of(text);
    if (words.empty())
        return false;
    o = {};
    if (words[0][0] >= '0' && words[0][0] <= '9') {
        read_request(o, words);
        return true;
    }
    if (words[0] != "a" && words[0] != "f")
        complain("unknown operation " + quoted(words[0]) + " (expected a, f or a number)");
    if (words.size() > 1 && words[1].size() > longest_id)
        complain("an ID of more than " + std::to_string(longest_id) + " bytes");
    if (words[0] == "a") {
        read_allocation(o, words);
        return true;
    }
    if (words.size() != 2)
        complain("a free is: f ID");
    auto it = live_.find(std::string(words[1]));
    if (it == live_.end())
        complain("ID " + quoted(words[1]) + " is not allocated");
    o.is_free = true;
    o.slot = it->second;
    live_.erase(it);
    unused_.push_back(o.slot);
    counts_.frees++;
    return true;
}

bool reader::next(operation& o) {
    std::string_view text;
    while (in_.line(text)) {
        try {
            if (line(o, text))
                return true;
        } catch (const trace::bad_input& e) {
            if (!skips(e))
                throw;
            counts_.bad++;
        }
    }
    return false;
}

} // namespace lathcli::alloc
