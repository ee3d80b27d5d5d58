// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects. The macros LATH_SUBJECT_* say what the build found (bench/CMakeLists.txt).
#include "interval_subject.hpp"

namespace lathbench {

namespace {

std::vector<interval_subject> make_list() {
    std::vector<interval_subject> list = {lathwork_interval()};
#if LATH_SUBJECT_LINUX
    list.push_back(linux_interval_tree());
#else
    list.push_back({{"linux-interval-tree", "", LATH_SUBJECT_LINUX_WHY}, {}});
#endif
#if LATH_SUBJECT_BOOST
    list.push_back(icl_interval());
#else
    list.push_back({{"icl", "", "package libboost-dev not found"}, {}});
#endif
    list.push_back(sorted_interval());
    return list;
}

} // namespace

const std::vector<interval_subject>& interval_subjects() {
    static const std::vector<interval_subject> list = make_list();
    return list;
}

} // namespace lathbench
