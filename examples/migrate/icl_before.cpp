// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Tells who is present at an hour, by Boost.ICL's interval_map.
#include <boost/icl/interval_map.hpp>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <set>
#include <utility>

class presence {
    using interval = boost::icl::right_open_interval<std::uint64_t>;
    using map = boost::icl::interval_map<std::uint64_t, std::set<int>, boost::icl::partial_absorber,
                                         std::less, boost::icl::inplace_plus,
                                         boost::icl::inter_section, interval>;

public:
    bool add(std::uint64_t first, std::uint64_t end, int who) {
        std::lock_guard hold(lock_);
        map_ += std::make_pair(interval(first, end), std::set<int>{who});
        return true;
    }
    void remove(std::uint64_t first, std::uint64_t end, int who) {
        std::lock_guard hold(lock_);
        map_ -= std::make_pair(interval(first, end), std::set<int>{who});
    }
    std::set<int> at(std::uint64_t hour) const {
        std::lock_guard hold(lock_);
        auto piece = map_.find(hour);
        return piece == map_.end() ? std::set<int>{} : piece->second;
    }
    std::set<int> during(std::uint64_t first, std::uint64_t end) const {
        std::lock_guard hold(lock_);
        std::set<int> all;
        auto [piece, last] = map_.equal_range(interval(first, end));
        for (; piece != last; ++piece)
            all.insert(piece->second.begin(), piece->second.end());
        return all;
    }

private:
    mutable std::mutex lock_;
    map map_;
};

namespace {

void print(const char* when, const std::set<int>& who) {
    std::printf("%s:", when);
    for (int each : who)
        std::printf(" %d", each);
    std::printf("\n");
}

} // namespace

int main() {
    presence in;
    if (!in.add(8, 16, 1) || !in.add(9, 12, 2) || !in.add(14, 18, 3))
        return 1;
    print("at 11", in.at(11));
    print("at 12", in.at(12));
    print("from 15 to 20", in.during(15, 20));
    in.remove(8, 16, 1);
    print("at 13", in.at(13));
    print("from 0 to 24", in.during(0, 24));
}
