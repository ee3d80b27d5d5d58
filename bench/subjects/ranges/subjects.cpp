// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects. The macros LATH_SUBJECT_* say what the build found (bench/CMakeLists.txt).
#include "range_subject.hpp"

#include <utility>

namespace lathbench {

range_subject lathwork_subject();
range_subject lathwork_huge_subject();
range_subject lathwork_cxx_subject();
range_subject linux_rbtree_subject();
range_subject boost_rbtree_subject();
range_subject std_map_subject();
range_subject absl_btree_subject();
range_subject tbb_subject();
range_subject libcds_subject();
range_subject judy_subject();
range_subject maple_lock_subject();
range_subject maple_rcu_subject();
range_subject design_2013_subject();

namespace {

[[maybe_unused]] range_subject missing(const char* name, const char* why) {
    range_subject s;
    s.name = name;
    s.missing = why;
    return s;
}

std::vector<range_subject> make_list() {
    std::vector<range_subject> list;
    list.push_back(lathwork_subject());
    list.push_back(lathwork_huge_subject());
    list.push_back(lathwork_cxx_subject());
#if LATH_SUBJECT_LINUX
    list.push_back(linux_rbtree_subject());
#else
    list.push_back(missing("linux-rbtree", LATH_SUBJECT_LINUX_WHY));
#endif
#if LATH_SUBJECT_BOOST
    list.push_back(boost_rbtree_subject());
#else
    list.push_back(missing("boost-rbtree", "package libboost-dev not found"));
#endif
    list.push_back(std_map_subject());
#if LATH_SUBJECT_ABSL
    list.push_back(absl_btree_subject());
#else
    list.push_back(missing("absl-btree", "package libabsl-dev not found"));
#endif
#if LATH_SUBJECT_TBB
    list.push_back(tbb_subject());
#else
    list.push_back(missing("tbb", "package libtbb-dev not found"));
#endif
#if LATH_SUBJECT_LIBCDS
    list.push_back(libcds_subject());
#else
    list.push_back(missing("libcds", "package libcds-dev not found"));
#endif
#if LATH_SUBJECT_JUDY
    list.push_back(judy_subject());
#else
    list.push_back(missing("judy", "package libjudy-dev not found"));
#endif
#if LATH_SUBJECT_LINUX
    list.push_back(maple_lock_subject());
    list.push_back(maple_rcu_subject());
#else
    list.push_back(missing("maple-lock", LATH_SUBJECT_LINUX_WHY));
    list.push_back(missing("maple-rcu", LATH_SUBJECT_LINUX_WHY));
#endif
#if LATH_SUBJECT_URCU
    list.push_back(design_2013_subject());
#else
    list.push_back(missing("design-2013", "LATH_URCU is off"));
#endif
    return list;
}

} // namespace

const std::vector<range_subject>& range_subjects() {
    static const std::vector<range_subject> list = make_list();
    return list;
}

} // namespace lathbench
