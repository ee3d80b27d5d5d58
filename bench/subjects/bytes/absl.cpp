// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Abseil's B-tree, with copies of the keys, and with views of the caller's.
#include "map_bytes.hpp"

#include <string>

#include <absl/container/btree_map.h>
#include <absl/strings/string_view.h>

namespace lathbench {

bytes_subject absl_bytes() {
    return {{"absl-btree", "absl::btree_map of std::string", ""},
            make_map_bytes<absl::btree_map<std::string, std::uint64_t>, absl::string_view>};
}

bytes_subject absl_view_bytes() {
    return {{"absl-btree-view", "absl::btree_map of string_view: keys stay in the records", ""},
            make_map_bytes<absl::btree_map<absl::string_view, std::uint64_t>, absl::string_view>};
}

} // namespace lathbench
