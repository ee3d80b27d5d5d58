// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// An allocator from a structure that knows one stretch of pages and has no locks: one structure
// below low_end, one above it, and one lock around both.
//
//   Part(first, end, arguments...);  bool take(pages, align, first);
//   void give(first, pages, align);  u64 used();
#pragma once

#include "iova_subject.hpp"

#include "subjects/lock.hpp"

namespace lathbench {

template <class Part, class Lock = spin_lock>
class iova_halves final : public iova_allocator {
public:
    template <class... A>
    explicit iova_halves(const iova_space& space, const A&... arguments)
        : low_end_(space.low_end), low_(space.first, space.low_end, arguments...),
          high_(space.low_end, space.tabled(), arguments...) {}

    bool alloc(std::uint64_t pages, std::uint64_t align, std::uint64_t& first) override {
        guard g(lock_);
        return low_.take(pages, align, first) || high_.take(pages, align, first);
    }
    void free(std::uint64_t first, std::uint64_t pages, std::uint64_t align) override {
        guard g(lock_);
        (first < low_end_ ? low_ : high_).give(first, pages, align);
    }
    std::uint64_t used() override { return low_.used() + high_.used(); }

private:
    std::uint64_t low_end_;
    Part low_, high_;
    [[no_unique_address]] Lock lock_;
};

template <class Part>
std::unique_ptr<iova_allocator> make_iova_halves(const iova_space& space) {
    return std::make_unique<iova_halves<Part>>(space);
}

} // namespace lathbench
