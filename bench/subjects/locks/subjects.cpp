// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects. The macros LATH_SUBJECT_* say what the build found (bench/CMakeLists.txt).
#include "locks_subject.hpp"

namespace lathbench {

namespace {

std::vector<locks_subject> make_list() {
    std::vector<locks_subject> list = {lathwork_locks()};
#if LATH_SUBJECT_LINUX
    list.push_back(linux_range_lock());
#else
    list.push_back({{"interval-tree", "", LATH_SUBJECT_LINUX_WHY}, {}});
#endif
    list.push_back(list_2020());
    list.push_back(striped_rwlocks());
    list.push_back(one_rwlock());
    return list;
}

} // namespace

const std::vector<locks_subject>& locks_subjects() {
    static const std::vector<locks_subject> list = make_list();
    return list;
}

} // namespace lathbench
