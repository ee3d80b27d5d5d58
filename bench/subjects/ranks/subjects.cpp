// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects. The macros LATH_SUBJECT_* say what the build found (bench/CMakeLists.txt).
#include "ranks_subject.hpp"

namespace lathbench {

namespace {

std::vector<ranked_subject> make_list() {
    std::vector<ranked_subject> list = {lathwork_ranks(), lathwork_without_ranks()};
#if LATH_SUBJECT_BOOST
    list.push_back(boost_ranked());
#else
    list.push_back({{"boost-ranked", "", "package libboost-dev not found"}, {}});
#endif
    list.push_back(pb_ds_tree());
    return list;
}

} // namespace

const std::vector<ranked_subject>& ranked_subjects() {
    static const std::vector<ranked_subject> list = make_list();
    return list;
}

} // namespace lathbench
