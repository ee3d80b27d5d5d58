// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "map_bytes.hpp"

#include <map>
#include <string>

namespace lathbench {

bytes_subject std_map_bytes() {
    return {{"std-map", "std::map of std::string", ""},
            make_map_bytes<std::map<std::string, std::uint64_t, std::less<>>>};
}

} // namespace lathbench
