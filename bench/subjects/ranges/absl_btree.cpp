// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// absl::btree_map: the best single-threaded ordered map that a distribution ships.
#include "ordered_map.hpp"

#include <absl/container/btree_map.h>

namespace lathbench {

range_subject absl_btree_subject() {
    return ordered_map_subject<absl::btree_map<u64, extent*>, absl::btree_map<u64, u64>>(
        "absl-btree");
}

} // namespace lathbench
