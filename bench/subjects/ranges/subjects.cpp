// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// All subjects, ours first. LATH_PEER_* say what the build found (bench/CMakeLists.txt).
#include "range_subject.hpp"

#include "subjects/loaded/loaded.hpp"

namespace lathbench {

peer lathwork_peer();
peer lathwork_huge_peer();
peer linux_rbtree_peer();
peer boost_rbtree_peer();
peer std_map_peer();
peer absl_btree_peer();
peer tbb_peer();
peer libcds_peer();
peer judy_peer();
peer maple_lock_peer();
peer maple_rcu_peer();
peer design_2013_peer();

namespace {

[[maybe_unused]] peer missing(const char* name, const char* why) {
    peer p;
    p.name = name;
    p.missing = why;
    return p;
}

std::vector<peer> make_list() {
    std::vector<peer> list;
#if LATH_PEER_LATHWORK
    list.push_back(lathwork_peer());
    list.push_back(lathwork_huge_peer());
#else
    list.push_back(missing("lathwork", "the core is not in this tree"));
#endif
#if LATH_PEER_LINUX
    list.push_back(linux_rbtree_peer());
#else
    list.push_back(missing("linux-rbtree", LATH_PEER_LINUX_WHY));
#endif
#if LATH_PEER_BOOST
    list.push_back(boost_rbtree_peer());
#else
    list.push_back(missing("boost-rbtree", "package libboost-dev not found"));
#endif
    list.push_back(std_map_peer());
#if LATH_PEER_ABSL
    list.push_back(absl_btree_peer());
#else
    list.push_back(missing("absl-btree", "package libabsl-dev not found"));
#endif
#if LATH_PEER_TBB
    list.push_back(tbb_peer());
#else
    list.push_back(missing("tbb", "package libtbb-dev not found"));
#endif
#if LATH_PEER_LIBCDS
    list.push_back(libcds_peer());
#else
    list.push_back(missing("libcds", "package libcds-dev not found"));
#endif
#if LATH_PEER_JUDY
    list.push_back(judy_peer());
#else
    list.push_back(missing("judy", "package libjudy-dev not found"));
#endif
#if LATH_PEER_LINUX
    list.push_back(maple_lock_peer());
    list.push_back(maple_rcu_peer());
#else
    list.push_back(missing("maple-lock", LATH_PEER_LINUX_WHY));
    list.push_back(missing("maple-rcu", LATH_PEER_LINUX_WHY));
#endif
    list.push_back(design_2013_peer());
    add_guest_peers(list);
    return list;
}

} // namespace

const std::vector<peer>& all_peers() {
    static const std::vector<peer> list = make_list();
    return list;
}

} // namespace lathbench
