// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The interval tree of Linux 6.1 (interval_tree_generic.h), an allocation per interval.
#include "linux_interval.h"
#include "interval_subject.hpp"

#include "harness/memory.hpp"

#include <algorithm>

namespace lathbench {

namespace {

class linux_set : public interval_set {
public:
    explicit linux_set(bool locked) : tree_(linux_interval_new(locked)) {}
    ~linux_set() override { linux_interval_free(tree_); }
    linux_set(const linux_set&) = delete;
    linux_set& operator=(const linux_set&) = delete;

    void insert(const bench_interval& i) override {
        linux_interval_insert(tree_, i.first, i.last, i.value);
    }
    bool erase(const bench_interval& i) override {
        return linux_interval_erase(tree_, i.first, i.last, i.value);
    }
    interval_sum overlap(std::uint64_t first, std::uint64_t last) override {
        interval_sum sum;
        sum.count = linux_interval_overlap(tree_, first, last, &sum.values);
        return sum;
    }
    std::uint64_t bytes() const override { return std::max(heap_bytes(), before_) - before_; }

private:
    std::uint64_t before_ = heap_bytes();
    linux_interval* tree_;
};

} // namespace

interval_subject linux_interval_tree() {
    return {{"linux-interval-tree", "augmented red-black tree of Linux 6.1", ""},
            [](bool locked) { return std::make_unique<linux_set>(locked); }};
}

} // namespace lathbench
