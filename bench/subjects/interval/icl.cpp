// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Boost.ICL: an interval_map from pieces to the sets of values there. An interval is cut where
// another one begins or ends, so that a stab is one lookup, and an insert changes every piece.
#include "interval_subject.hpp"

#include "harness/memory.hpp"
#include "subjects/lock.hpp"

#include <algorithm>
#include <set>

#include <boost/icl/interval_map.hpp>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

template <class Lock>
class icl_set : public interval_set {
    using interval = boost::icl::closed_interval<u64>;
    using values = std::set<u64>;
    using map =
        boost::icl::interval_map<u64, values, boost::icl::partial_absorber, std::less,
                                 boost::icl::inplace_plus, boost::icl::inter_section, interval>;

public:
    void insert(const bench_interval& i) override {
        guard hold(lock_);
        map_ += std::make_pair(interval(i.first, i.last), values{i.value});
    }
    bool erase(const bench_interval& i) override {
        guard hold(lock_);
        auto at = map_.find(i.first);
        if (at == map_.end() || !at->second.count(i.value))
            return false;
        map_ -= std::make_pair(interval(i.first, i.last), values{i.value});
        return true;
    }
    interval_sum stab(u64 point) override {
        guard hold(lock_);
        auto at = map_.find(point);
        return at == map_.end() ? interval_sum{} : add(at->second);
    }
    interval_sum overlap(u64 first, u64 last) override {
        guard hold(lock_);
        values all;
        auto [at, end] = map_.equal_range(interval(first, last));
        for (; at != end; ++at)
            all.insert(at->second.begin(), at->second.end());
        return add(all);
    }
    u64 bytes() const override { return std::max(heap_bytes(), before_) - before_; }

private:
    static interval_sum add(const values& all) {
        interval_sum sum{all.size(), 0};
        for (u64 value : all)
            sum.values += value;
        return sum;
    }

    u64 before_ = heap_bytes();
    Lock lock_;
    map map_;
};

} // namespace

interval_subject icl_interval() {
    return {{"icl", "Boost.ICL interval_map of sets", ""},
            [](bool locked) -> std::unique_ptr<interval_set> {
                if (locked)
                    return std::make_unique<icl_set<spin_lock>>();
                return std::make_unique<icl_set<no_lock>>();
            },
            false,
            20000};
}

} // namespace lathbench
