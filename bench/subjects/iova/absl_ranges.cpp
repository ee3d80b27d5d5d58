// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The free ranges in two B-trees, best fit (best_fit.hpp).
#include "best_fit.hpp"
#include "halves.hpp"

namespace lathbench {

iova_subject absl_iova() {
    return {{"absl-btree", "free ranges in two B-trees, best fit, one lock", ""},
            make_iova_halves<best_fit_part>};
}

} // namespace lathbench
