// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include <iostream>
#include <lathwork/cxx/index.hpp>

int main() {
    lathwork::range_map<int> map;
    if (!map.insert(10, 30, 7) || map.insert(25, 35, 8)) // the second one overlaps: refused
        return 1;
    for (auto [where, value] : map.overlapping(15, 40))
        std::cout << "15 is in [" << where.first() << ", " << where.end() << ") -> " << value
                  << '\n';
}
