// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The policy-based tree of libstdc++ with the size of each subtree.
#include "peers.hpp"

#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>

namespace lathbench {

namespace {

struct policy_tree {
    using u64 = std::uint64_t;

    void insert(u64 key) { keys.insert(key); }
    u64 rank(u64 key) const { return keys.order_of_key(key); }
    u64 select(u64 rank) const {
        auto at = keys.find_by_order(rank);
        return at == keys.end() ? ~u64{0} : *at;
    }

    __gnu_pbds::tree<u64, __gnu_pbds::null_type, std::less<u64>, __gnu_pbds::rb_tree_tag,
                     __gnu_pbds::tree_order_statistics_node_update>
        keys;
};

} // namespace

ranked_subject pb_ds_tree() {
    return {{"pb-ds", "libstdc++ __gnu_pbds::tree", ""}, make_locked_set<policy_tree>};
}

} // namespace lathbench
