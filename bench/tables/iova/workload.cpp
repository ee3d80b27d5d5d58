// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "workload.hpp"

#include "harness/random.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace lathbench {

using u64 = std::uint64_t;

u64 io_device::send(u64 now) {
    u64 ready = ready_.load(), begin;
    do
        begin = std::max(ready, now);
    while (!ready_.compare_exchange_weak(ready, begin + ns_per_io_));
    if (begin > ready)
        idle_ += begin - ready;
    return begin + ns_per_io_;
}

double io_device::busy(u64 now) const {
    u64 idle = idle_ + (now > ready_ ? now - ready_ : 0);
    return 1 - static_cast<double>(idle) / static_cast<double>(now - begin_);
}

page_owners::page_owners(const iova_space& space)
    : low_end_(space.low_end), low_(new std::atomic<bool>[space.low_end]()) {}

bool page_owners::claim(u64 first, u64 pages) {
    bool right = true;
    if (first < low_end_)
        low_used_ += std::min(pages, low_end_ - first);
    for (; pages && first < low_end_; first++, pages--)
        right = !low_[first].exchange(true) && right;
    if (pages) {
        std::lock_guard hold(lock_);
        auto next = high_.upper_bound(first); // the first that ends behind first
        right = right && (next == high_.end() || next->second >= first + pages);
        high_[first + pages] = first;
    }
    return right;
}

bool page_owners::release(u64 first, u64 pages) {
    bool right = true;
    if (first < low_end_)
        low_used_ -= std::min(pages, low_end_ - first);
    for (; pages && first < low_end_; first++, pages--)
        right = low_[first].exchange(false) && right;
    if (pages) {
        std::lock_guard hold(lock_);
        right = high_.erase(first + pages) == 1 && right;
    }
    return right;
}

double page_owners::low_free() const {
    return 1 - static_cast<double>(low_used_) / static_cast<double>(low_end_);
}

io_worker::io_worker(iova_allocator* allocator, const iova_space& space, io_kind kind, u64 pages,
                     u64 seed)
    : allocator_(allocator), space_(space), kind_(kind), pages_(pages), random_(seed | 1) {
    for (auto& ranges : ios_)
        ranges.reserve(pages);
}

std::uint32_t io_worker::random() { return next_random(random_); }

u64 io_worker::next_size(bool small, u64 left) {
    u64 pages;
    if (kind_ == io_kind::fragments) {
        pages = 1 + random() % most_pages;
    } else if (kind_ != io_kind::big) {
        pages = small ? 1 : most_pages;
    } else {
        std::uint32_t percent = random() % 100;
        pages = percent < 50   ? most_pages
                : percent < 75 ? most_pages / 2
                : percent < 90 ? 1 + random() % most_pages
                               : 1;
    }
    return std::min(pages, left);
}

bool io_worker::place(u64 pages, u64& first) {
    if (!allocator_) {
        first = identity_ = (identity_ + most_pages) % (space_.low_end - most_pages);
        return true;
    }
    u64 align = power_of_two_from(pages);
    if (!allocator_->alloc(pages, align, first)) {
        counts_.failed++;
        return false;
    }
    if (first >= space_.low_end) {
        counts_.above++;
        if (owners_)
            counts_.low_free += owners_->low_free();
    }
    if ((first & (align - 1)) || first < space_.first || first + pages > space_.end)
        right_ = false;
    if (owners_ && !owners_->claim(first, pages))
        right_ = false;
    return true;
}

template <bool Timed>
void io_worker::map(io& ranges, const std::atomic<bool>& stop) {
    bool small = kind_ == io_kind::pages || (kind_ == io_kind::mix && random() % 2);
    for (u64 left = pages_; left && !stop.load(std::memory_order_relaxed);) {
        u64 pages = next_size(small, left), first;
        bool placed;
        if (Timed && counts_.mapped % 32 == 0) {
            u64 begin = wall_ns();
            placed = place(pages, first);
            latency_.push_back(static_cast<float>(wall_ns() - begin));
        } else {
            placed = place(pages, first);
        }
        left -= pages;
        if (!placed)
            continue;
        ranges.push_back({first, pages});
        counts_.mapped++;
    }
}

void io_worker::unmap(io& ranges, const std::atomic<bool>& stop) {
    while (!ranges.empty() && !stop.load(std::memory_order_relaxed)) {
        std::swap(ranges.back(), ranges[random() % ranges.size()]);
        u64 first = ranges.back().first, pages = ranges.back().pages;
        ranges.pop_back();
        if (owners_ && !owners_->release(first, pages))
            right_ = false;
        if (allocator_)
            allocator_->free(first, pages, power_of_two_from(pages));
    }
}

void io_worker::fill(const std::atomic<bool>& stop) {
    for (auto& ranges : ios_)
        map<false>(ranges, stop);
    filled_ = !stop;
}

void io_worker::saturate(const std::atomic<bool>& stop) {
    latency_.reserve(std::size_t{1} << 16);
    while (!stop.load(std::memory_order_relaxed)) {
        auto& ranges = ios_[random() % io_depth];
        unmap(ranges, stop);
        map<true>(ranges, stop);
    }
}

void io_worker::drive(const std::atomic<bool>& stop, io_device& device) {
    std::array<u64, io_depth> complete{};
    while (!stop.load(std::memory_order_relaxed)) {
        u64 now = wall_ns();
        std::size_t i = random() % io_depth, tried = 0;
        while (complete[i] > now && tried++ < io_depth)
            i = (i + 1) % io_depth;
        if (complete[i] > now) {
            u64 wait = std::min<u64>(*std::min_element(complete.begin(), complete.end()) - now,
                                     10000000); // ns, so that stop is read often enough
            timespec t{0, static_cast<long>(wait)};
            nanosleep(&t, nullptr);
            continue;
        }
        unmap(ios_[i], stop);
        map<false>(ios_[i], stop);
        if (!stop.load(std::memory_order_relaxed))
            complete[i] = device.send(wall_ns());
    }
}

void io_worker::check(const std::atomic<bool>& stop, page_owners& owners) {
    owners_ = &owners;
    while (!stop.load(std::memory_order_relaxed)) {
        auto& ranges = ios_[random() % io_depth];
        unmap(ranges, stop);
        map<false>(ranges, stop);
    }
    owners_ = nullptr;
}

void io_worker::drain() {
    const std::atomic<bool> never{false};
    for (auto& ranges : ios_)
        unmap(ranges, never);
}

io_worker::counts io_worker::take_counts() { return std::exchange(counts_, {}); }

std::vector<float> io_worker::take_latency() { return std::exchange(latency_, {}); }

void io_worker::held(std::vector<io_range>& all) const {
    for (const auto& ranges : ios_)
        all.insert(all.end(), ranges.begin(), ranges.end());
}

bool disjoint(std::vector<io_range>& all) {
    std::sort(all.begin(), all.end(),
              [](const io_range& a, const io_range& b) { return a.first < b.first; });
    for (std::size_t i = 1; i < all.size(); i++)
        if (all[i - 1].first + all[i - 1].pages > all[i].first)
            return false;
    return true;
}

} // namespace lathbench
