// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects. The macros LATH_SUBJECT_* say what the build found (bench/CMakeLists.txt).
#include "regions_subject.hpp"

namespace lathbench {

namespace {

std::vector<regions_subject> make_list() {
    std::vector<regions_subject> list = {lathwork_regions()};
#if LATH_SUBJECT_LINUX
    list.push_back(linux_maple_regions());
    list.push_back(linux_maple_locked_regions());
#else
    list.push_back({{"maple", "", LATH_SUBJECT_LINUX_WHY}, {}});
    list.push_back({{"maple-rwlock", "", LATH_SUBJECT_LINUX_WHY}, {}});
#endif
    list.push_back(std_map_regions());
    return list;
}

} // namespace

const std::vector<regions_subject>& regions_subjects() {
    static const std::vector<regions_subject> list = make_list();
    return list;
}

} // namespace lathbench
