// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Tells who is present at an hour, by lathwork::interval_map.
#include <lathwork/cxx/interval.hpp>

#include <cstdint>
#include <cstdio>
#include <set>

class presence {
public:
    bool add(std::uint64_t first, std::uint64_t end, int who) {
        return bool(map_.insert(first, end, who)); // false: no memory, or empty
    }
    void remove(std::uint64_t first, std::uint64_t end, int who) { map_.erase(first, end, who); }
    std::set<int> at(std::uint64_t hour) const {
        std::set<int> all;
        for (const auto& each : map_.stab(hour))
            all.insert(each.value);
        return all;
    }
    std::set<int> during(std::uint64_t first, std::uint64_t end) const {
        std::set<int> all;
        for (const auto& each : map_.overlapping(first, end))
            all.insert(each.value);
        return all;
    }

private:
    lathwork::interval_map<int> map_;
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
