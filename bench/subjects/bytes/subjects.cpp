// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects. The macros LATH_SUBJECT_* say what the build found (bench/CMakeLists.txt).
#include "bytes_subject.hpp"

namespace lathbench {

namespace {

std::vector<bytes_subject> make_list() {
    std::vector<bytes_subject> list = {lathwork_bytes(), lathwork_store_bytes(), std_map_bytes()};
#if LATH_SUBJECT_ABSL
    list.push_back(absl_bytes());
    list.push_back(absl_view_bytes());
#else
    list.push_back({{"absl-btree", "", "package libabsl-dev not found"}, {}});
    list.push_back({{"absl-btree-view", "", "package libabsl-dev not found"}, {}});
#endif
    return list;
}

} // namespace

const std::vector<bytes_subject>& bytes_subjects() {
    static const std::vector<bytes_subject> list = make_list();
    return list;
}

} // namespace lathbench
