// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// An allocator from a structure that knows one stretch of pages and no locks: one stretch below
// low_end, one above it, and the benchmark's spinlock around both.
//
//   Part(first, end);  bool take(pages, align, first);  void give(first, pages, align);
//   u64 used();
#pragma once

#include "iova_subject.hpp"

#include "subjects/spin.h"

namespace lathbench {

template <class Part>
class iova_halves final : public iova_allocator {
public:
    explicit iova_halves(const iova_space& space)
        : low_end_(space.low_end), low_(space.first, space.low_end),
          high_(space.low_end, space.tabled()) {}

    bool alloc(std::uint64_t pages, std::uint64_t align, std::uint64_t& first) override {
        bench_spin_lock(&lock_);
        bool found = low_.take(pages, align, first) || high_.take(pages, align, first);
        bench_spin_unlock(&lock_);
        return found;
    }
    void free(std::uint64_t first, std::uint64_t pages, std::uint64_t align) override {
        bench_spin_lock(&lock_);
        (first < low_end_ ? low_ : high_).give(first, pages, align);
        bench_spin_unlock(&lock_);
    }
    std::uint64_t used() override { return low_.used() + high_.used(); }

private:
    std::uint64_t low_end_;
    Part low_, high_;
    bench_spin lock_{};
};

template <class Part>
std::unique_ptr<iova_allocator> make_iova_halves(const iova_space& space) {
    return std::make_unique<iova_halves<Part>>(space);
}

} // namespace lathbench
