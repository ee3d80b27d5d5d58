// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What point_map and range_map refuse: with WRONG 0 this must compile, without exceptions too.
#include "lathwork/cxx/index.hpp"
#include "lathwork/cxx/point_map.hpp"

#include <functional>
#include <memory>
#include <string>

using namespace lathwork;

struct no_code {
    friend auto operator<=>(const no_code&, const no_code&) = default;
};
using order = std::function<bool(int, int)>;

int main() {
    point_map<int, int> map;
    range_map<int> ranges;
    read_section inside(map);
    int got = map[1] + map.at(1) + *map.find(inside, 1);
    point_map<int, std::string> names;
    [[maybe_unused]] auto kept = map[1]; // has no use
    for (auto& [key, value] : map) // copies, which live as long as the loop's body
        got += key + value;
#if WRONG == 1
    point_map<no_code, int> wrong;
#elif WRONG == 2
    point_map<int, int, order> wrong;
#elif WRONG == 3
    point_map<int, int&> wrong;
#elif WRONG == 4
    int& place = map[1];
#elif WRONG == 5
    map.begin()->second = 1;
#elif WRONG == 6
    *names.find(inside, 1) = "2";
#elif WRONG == 7
    *map.erase(1) = 2;
#elif WRONG == 8
    point_map<int, std::unique_ptr<int>> movers, others;
    movers.merge(others);
#elif WRONG == 9
    range_map<std::string> texts;
    texts.insert_or_assign(1, 2, "text");
#elif WRONG == 10
    bool done = map.replace(1, 2); // was 0 for done
#elif WRONG == 11
    got = kept;
#elif WRONG == 12
    map[2] = kept;
#elif WRONG == 13
    kept = 5;
#elif WRONG == 14
    names.at(1) += "er";
#elif WRONG == 15
    names.find(1)->second.push_back('b');
#elif WRONG == 16
    *ranges.find(1) = 2;
#elif WRONG == 17
    auto& place = map[1];
#endif
    return got;
}
