// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A vector sorted by first key with an implicit tree: the middle of a part is its root, and beside
// it is the largest last key of the part (as in cgranges of Heng Li). It cannot be changed.
#include "interval_subject.hpp"

#include <algorithm>
#include <stdexcept>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class sorted_set : public interval_set {
public:
    void fill(const std::vector<bench_interval>& all) override {
        items_.reserve(all.size());
        for (const auto& i : all)
            items_.push_back({i.first, i.last, 0, i.value});
        std::sort(items_.begin(), items_.end(),
                  [](const item& a, const item& b) { return a.first < b.first; });
        measure(0, items_.size());
    }
    void insert(const bench_interval&) override { throw std::logic_error("it is fixed"); }
    bool erase(const bench_interval&) override { throw std::logic_error("it is fixed"); }
    interval_sum overlap(u64 first, u64 last) override {
        interval_sum sum;
        search(0, items_.size(), first, last, sum);
        return sum;
    }
    u64 bytes() const override { return items_.capacity() * sizeof(item); }

private:
    struct item {
        u64 first, last, largest, value;
    };

    u64 measure(std::size_t from, std::size_t to) {
        if (from == to)
            return 0;
        std::size_t middle = from + (to - from) / 2;
        item& root = items_[middle];
        root.largest = std::max({root.last, measure(from, middle), measure(middle + 1, to)});
        return root.largest;
    }
    void search(std::size_t from, std::size_t to, u64 first, u64 last, interval_sum& sum) const {
        while (from < to) {
            std::size_t middle = from + (to - from) / 2;
            const item& root = items_[middle];
            if (root.largest < first)
                return;
            search(from, middle, first, last, sum);
            if (root.first > last)
                return;
            if (root.last >= first) {
                sum.count++;
                sum.values += root.value;
            }
            from = middle + 1;
        }
    }

    std::vector<item> items_;
};

} // namespace

interval_subject sorted_interval() {
    return {{"sorted", "sorted vector, implicit tree of largest ends; cannot be changed", ""},
            [](bool) { return std::make_unique<sorted_set>(); },
            true};
}

} // namespace lathbench
