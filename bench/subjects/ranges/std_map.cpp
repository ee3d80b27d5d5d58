// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// std::map of libstdc++: a red-black tree, one node per entry.
#include "ordered_map.hpp"

#include <map>

namespace lathbench {

range_subject std_map_subject() {
    return ordered_map_subject<std::map<u64, extent*>, std::map<u64, u64>>("std-map");
}

} // namespace lathbench
