// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects. The macros LATH_SUBJECT_* say what the build found (bench/CMakeLists.txt).
#include "blocks_subject.hpp"

namespace lathbench {

namespace {

std::vector<blocks_subject> make_list() {
    std::vector<blocks_subject> list = lathwork_blocks_subjects();
#if LATH_SUBJECT_BOOST
    list.push_back(avl_blocks());
#else
    list.push_back({{"avl", "", "package libboost-dev not found"}, {}});
#endif
#if LATH_SUBJECT_ABSL
    list.push_back(absl_blocks());
#else
    list.push_back({{"absl-btree", "", "package libabsl-dev not found"}, {}});
#endif
    list.push_back(bitmap_blocks());
    return list;
}

} // namespace

const std::vector<blocks_subject>& blocks_subjects() {
    static const std::vector<blocks_subject> list = make_list();
    return list;
}

} // namespace lathbench
