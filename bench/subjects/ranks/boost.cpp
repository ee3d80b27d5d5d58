// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Boost.MultiIndex: a ranked index, a red-black tree with a count per node.
#include "peers.hpp"

#include <boost/multi_index/identity.hpp>
#include <boost/multi_index/ranked_index.hpp>
#include <boost/multi_index_container.hpp>

namespace lathbench {

namespace {

namespace mi = boost::multi_index;

struct boost_tree {
    using u64 = std::uint64_t;

    void insert(u64 key) { keys.insert(key); }
    u64 rank(u64 key) const { return keys.lower_bound_rank(key); }
    u64 select(u64 rank) const {
        auto at = keys.nth(rank);
        return at == keys.end() ? ~u64{0} : *at;
    }

    mi::multi_index_container<u64, mi::indexed_by<mi::ranked_unique<mi::identity<u64>>>> keys;
};

} // namespace

ranked_subject boost_ranked() {
    return {{"boost-ranked", "Boost.MultiIndex ranked_unique", ""}, make_locked_set<boost_tree>};
}

} // namespace lathbench
