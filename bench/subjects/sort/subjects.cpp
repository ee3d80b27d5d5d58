// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The list of subjects. The macros LATH_SUBJECT_* say what the build found (bench/CMakeLists.txt).
#include "sort_subject.hpp"

namespace lathbench {

namespace {

[[maybe_unused]] std::vector<sort_subject> missing(std::initializer_list<const char*> names,
                                                   const char* why) {
    std::vector<sort_subject> list;
    for (const char* name : names)
        list.push_back({{name, "", why}, {}, {}});
    return list;
}

} // namespace

#if !LATH_SUBJECT_LINUX
std::vector<sort_subject> linux_sort() {
    return missing({"linux-rbtree", "linux-rbtree-hint"}, LATH_SUBJECT_LINUX_WHY);
}
#endif
#if !LATH_SUBJECT_BOOST
std::vector<sort_subject> boost_sort() {
    return missing({"boost-rbtree", "boost-avl", "boost-splay", "boost-treap", "boost-fibonacci",
                    "boost-pairing", "boost-dary4"},
                   "package libboost-dev not found");
}
#endif

const std::vector<sort_subject>& sort_subjects() {
    static const auto list = [] {
        auto all = lathwork_sort();
        for (const auto& more :
             {classic_sort(), linux_sort(), boost_sort(), heap_sort(), std_sort()})
            all.insert(all.end(), more.begin(), more.end());
        return all;
    }();
    return list;
}

} // namespace lathbench
