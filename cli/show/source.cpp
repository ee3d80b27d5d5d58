// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "show/source.hpp"

#include "base/input_file.hpp"
#include "base/numbers.hpp"
#include "base/stop_on_signal.hpp"
#include "base/text.hpp"
#include "lathwork/index.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>

namespace lathcli::show {

namespace {

struct destroyer {
    void operator()(lath_index* index) const { lath_index_destroy(index, nullptr, nullptr); }
};
using index_ptr = std::unique_ptr<lath_index, destroyer>;

index_ptr make(bool points) {
    lath_config config = LATH_CONFIG_INIT;
    config.layout = points ? LATH_POINTS : LATH_RANGES;
    config.flags = points ? 0 : LATH_HOLES;
    index_ptr index(lath_index_create(&config));
    if (!index)
        throw std::runtime_error("no memory for an index");
    return index;
}

void insert(lath_index* index, const lath_item& item, const std::string& where) {
    lath_item there;
    int error = lath_index_insert_item(index, &item, &there);
    if (error == -EEXIST)
        throw std::runtime_error(where + "keys " + key_text(item.key) + " to " +
                                 key_text(item.key + (item.size - 1)) +
                                 " overlap the earlier item with keys " + key_text(there.key) +
                                 " to " + key_text(there.key + (there.size - 1)));
    if (error)
        throw std::runtime_error(where + "keys from " + key_text(item.key) +
                                 " on: " + std::strerror(-error));
}

void erase(lath_index* index, std::vector<lath_item>& items, const changes& after) {
    std::mt19937_64 random(after.seed);
    std::shuffle(items.begin(), items.end(), random);
    std::size_t n = items.size() * after.erase_percent / 100;
    for (std::size_t i = 0; i < n; i++)
        lath_index_erase_item(index, items[i].key, nullptr);
}

void append(void* to, const char* text) { *static_cast<std::string*>(to) += text; }

picture picture_of(std::vector<lath_item> items, const changes& after, std::string& dump,
                   const std::vector<std::string>& where) {
    bool points = std::all_of(items.begin(), items.end(),
                              [](const lath_item& item) { return item.size == 1; });
    index_ptr index = make(points);
    for (std::size_t i = 0; i < items.size(); i++)
        insert(index.get(), items[i], where.empty() ? "" : where[i]);
    erase(index.get(), items, after);
    lath_index_dump(index.get(), LATH_DUMP_JSON, append, &dump);
    picture made;
    std::istringstream lines(dump);
    for (std::string line; std::getline(lines, line);)
        made.add(line);
    return made;
}

lath_item item_of(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    std::vector<std::uint64_t> numbers;
    while (words >> word && word[0] != '#') {
        auto number = parse_number(word);
        if (!number || numbers.size() == 3)
            throw std::runtime_error("'" + printable(line) +
                                     "' is not an item: KEY [SIZE [VALUE]]");
        numbers.push_back(*number);
    }
    numbers.resize(3, numbers.size() < 2 ? 1 : 0);
    if (numbers[1] == 0 || numbers[1] - 1 > UINT64_MAX - numbers[0])
        throw std::runtime_error("size " + std::to_string(numbers[1]) +
                                 ": none, or beyond the last key");
    return {numbers[0], numbers[1], numbers[2]};
}

bool is_comment(const std::string& line) {
    auto at = line.find_first_not_of(" \t\r");
    return at == std::string::npos || line[at] == '#';
}

std::uint64_t key_at(const std::string& keys, std::uint64_t i, std::mt19937_64& random) {
    if (keys == "random")
        return random();
    if (keys == "clustered") { // 64 neighbours at each place
        std::mt19937_64 place(i / 64 + 1);
        return (place() & ~0xffffull) + i % 64 * 7;
    }
    return i;
}

} // namespace

std::vector<std::string> distributions() {
    return {"extents", "ascending", "dense", "random", "clustered"};
}

picture from_keys(const made_up& ask, const changes& after, std::string& dump) {
    std::mt19937_64 random(ask.seed);
    std::vector<lath_item> items;
    for (std::uint64_t i = 0; i < ask.n; i++) {
        if (ask.keys == "extents") // of 1 to 8 blocks of 512, in places of 8
            items.push_back({i * 4096, 512 * (1 + random() % 8), i});
        else
            items.push_back({key_at(ask.keys, i, random), 1, i});
    }
    if (ask.keys == "random") { // two that are equal, once in a lifetime
        std::sort(items.begin(), items.end(), [](auto& a, auto& b) { return a.key < b.key; });
        items.erase(std::unique(items.begin(), items.end(),
                                [](auto& a, auto& b) { return a.key == b.key; }),
                    items.end());
    }
    if (ask.keys != "ascending")
        std::shuffle(items.begin(), items.end(), random);
    picture made = picture_of(std::move(items), after, dump, {});
    made.title = std::to_string(ask.n) + " keys, " + ask.keys;
    if (after.erase_percent)
        made.title += ", " + std::to_string(after.erase_percent) + " % of them erased again";
    return made;
}

picture from_file(const std::string& path, const changes& after, std::string& dump) {
    line_reader lines(path);
    std::vector<lath_item> items;
    std::vector<std::string> where;
    picture dumped;
    std::size_t number = 0;
    for (std::string line; lines.next(line);) {
        std::string here = printable(path) + ":" + std::to_string(++number) + ": ";
        if (is_comment(line))
            continue;
        try {
            if (line[0] == '{') {
                dumped.add(line);
                dump += line + "\n";
            } else {
                items.push_back(item_of(line));
                where.push_back(here);
            }
        } catch (const std::runtime_error& e) {
            throw std::runtime_error(here + e.what());
        }
        if (!items.empty() && !dumped.levels.empty())
            throw std::runtime_error(here + "items and nodes of a dump in one file");
    }
    if (stop_asked)
        throw stopped();
    if (!dumped.levels.empty() && dumped.levels.back().front().level)
        throw std::runtime_error(printable(path) + ": the dump ends before the leaves");
    if (!dumped.levels.empty() && after.erase_percent)
        throw std::runtime_error(printable(path) + ": --erase is for items, this is a dump");
    if (dumped.levels.empty())
        dumped = picture_of(std::move(items), after, dump, where);
    dumped.title = printable(path);
    return dumped;
}

} // namespace lathcli::show
