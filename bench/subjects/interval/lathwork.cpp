// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Ours, through the public calls alone.
#include "interval_subject.hpp"

#include "lathwork/interval.h"

#include <array>
#include <new>
#include <system_error>

namespace lathbench {

namespace {

class lathwork_set : public interval_set {
public:
    lathwork_set() {
        if (int error = lath_intervals_init(&set_, LATH_CLOSED, nullptr))
            throw std::system_error(-error, std::generic_category(), "lath_intervals_init");
    }
    ~lathwork_set() override { lath_intervals_fini(&set_, nullptr, nullptr); }
    lathwork_set(const lathwork_set&) = delete;
    lathwork_set& operator=(const lathwork_set&) = delete;

    void insert(const bench_interval& i) override {
        lath_interval item{i.first, i.last, i.value};
        if (lath_intervals_insert(&set_, &item))
            throw std::bad_alloc();
    }
    bool erase(const bench_interval& i) override {
        lath_interval item{i.first, i.last, i.value};
        return lath_intervals_erase(&set_, &item) == 0;
    }
    interval_sum stab(std::uint64_t point) override {
        std::array<lath_interval, 64> found;
        std::size_t n = lath_intervals_stab(&set_, point, found.data(), found.size());
        if (n == found.size())
            return overlap(point, point);
        return add({}, found.data(), n);
    }
    interval_sum overlap(std::uint64_t first, std::uint64_t last) override {
        std::array<lath_interval, 64> found;
        lath_interval_iter search;
        interval_sum sum;
        std::size_t n = found.size();
        for (lath_interval_iter_overlap(&search, &set_, first, last); n == found.size();) {
            n = lath_interval_next_batch(&search, found.data(), found.size());
            sum = add(sum, found.data(), n);
        }
        return sum;
    }
    std::uint64_t bytes() const override {
        lath_intervals_stats stats;
        lath_intervals_get_stats(&set_, &stats);
        return stats.bytes;
    }

private:
    static interval_sum add(interval_sum sum, const lath_interval* found, std::size_t n) {
        sum.count += n;
        for (std::size_t i = 0; i < n; i++)
            sum.values += found[i].value;
        return sum;
    }

    mutable lath_intervals set_;
};

} // namespace

interval_subject lathwork_interval() {
    return {{"lathwork", "", ""}, [](bool) { return std::make_unique<lathwork_set>(); }};
}

} // namespace lathbench
