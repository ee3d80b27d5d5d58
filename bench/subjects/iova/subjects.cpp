// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects. The macros LATH_SUBJECT_* say what the build found (bench/CMakeLists.txt).
#include "iova_subject.hpp"

#include <utility>

namespace lathbench {

namespace {

std::vector<iova_subject> make_list() {
    std::vector<iova_subject> list = lathwork_iova_subjects();
    list.push_back({{"off", "maps nothing: the rest of the loop and the device alone", ""}, {}});
#if LATH_SUBJECT_LINUX
    for (auto& s : linux_iova_subjects())
        list.push_back(std::move(s));
#else
    for (const char* name : {"rbtree-2013", "rbtree-6.1", "rbtree-rcache", "rbtree-gaps", "maple"})
        list.push_back({{name, "", LATH_SUBJECT_LINUX_WHY}, {}});
#endif
    list.push_back(bitmap_iova());
    list.push_back(buddy_iova());
#if LATH_SUBJECT_BOOST
    list.push_back(icl_iova());
#else
    list.push_back({{"icl", "", "package libboost-dev not found"}, {}});
#endif
#if LATH_SUBJECT_ABSL
    list.push_back(absl_iova());
#else
    list.push_back({{"absl-btree", "", "package libabsl-dev not found"}, {}});
#endif
    return list;
}

} // namespace

const std::vector<iova_subject>& iova_subjects() {
    static const std::vector<iova_subject> list = make_list();
    return list;
}

} // namespace lathbench
