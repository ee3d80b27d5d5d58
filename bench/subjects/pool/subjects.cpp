// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects. The macros LATH_SUBJECT_* say what the build found (bench/CMakeLists.txt).
#include "pool_subject.hpp"

#include <utility>

namespace lathbench {

namespace {

std::vector<pool_subject> make_list() {
    std::vector<pool_subject> list = lathwork_pool_subjects();
    for (auto& s : offset_pool_subjects())
        list.push_back(std::move(s));
    for (const char* name : {"rbtree-2013", "maple"})
        list.push_back(iova_pool_subject(name));
#if LATH_SUBJECT_ABSL
    list.push_back(absl_pool());
#else
    list.push_back({{"absl-btree", "", "package libabsl-dev not found"}, {}});
#endif
    return list;
}

} // namespace

const std::vector<pool_subject>& pool_subjects() {
    static const std::vector<pool_subject> list = make_list();
    return list;
}

} // namespace lathbench
