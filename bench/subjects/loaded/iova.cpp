// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Guests in the table iova.
#include "loaded.hpp"

#include "subjects/spin.h"

#include <atomic>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class guest_holes final : public iova_allocator {
public:
    guest_holes(const lath_bench_adapter& a, const iova_space& space)
        : group_(*a.holes), locked_(!(a.holes->flags & LATH_BENCH_CONCURRENT)),
          low_end_(space.low_end), low_(a, group_, space.first, space.low_end),
          high_(a, group_, space.low_end, space.tabled()) {}

    bool alloc(u64 pages, u64 align, u64& first) override {
        lock();
        bool found =
            group_.alloc(low_, pages, align, &first) || group_.alloc(high_, pages, align, &first);
        unlock();
        if (found)
            used_.fetch_add(pages, std::memory_order_relaxed);
        return found;
    }
    void free(u64 first, u64 pages, u64) override {
        lock();
        group_.free(first < low_end_ ? low_ : high_, first, pages);
        unlock();
        used_.fetch_sub(pages, std::memory_order_relaxed);
    }
    u64 used() override { return used_.load(); }

private:
    void lock() {
        if (locked_)
            bench_spin_lock(&lock_);
    }
    void unlock() {
        if (locked_)
            bench_spin_unlock(&lock_);
    }

    const lath_bench_holes& group_;
    bool locked_;
    u64 low_end_;
    guest_structure<lath_bench_holes> low_, high_;
    std::atomic<u64> used_ = 0;
    bench_spin lock_{};
};

} // namespace

void add_guest_iova(std::vector<iova_subject>& list) {
    for (const auto* a : guests()) {
        if (!a->holes)
            continue;
        auto make = [a](const iova_space& space) {
            return std::make_unique<guest_holes>(*a, space);
        };
        list.push_back({a->name, a->note ? a->note : "", "", make});
    }
}

} // namespace lathbench
