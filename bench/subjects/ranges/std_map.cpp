// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// std::map of libstdc++: a red-black tree, a node an entry.
#include "ordered_map.hpp"

#include <map>

namespace lathbench {

peer std_map_peer() {
    return ordered_map_peer<std::map<u64, extent*>, std::map<u64, u64>>("std-map");
}

} // namespace lathbench
