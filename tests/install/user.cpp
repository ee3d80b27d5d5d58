// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A C++ program outside the tree that uses the installed headers and library.
#include <lathwork/cxx/index.hpp>
#include <lathwork/cxx/split_list.hpp>

int main() {
    lathwork::range_map<int> map;
    return map.insert(10, 30, 7) && !map.insert(25, 35, 8) ? 0 : 1;
}
