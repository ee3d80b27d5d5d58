// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "lockup.hpp"

#include "harness/random.hpp"
#include "harness/timing.hpp"

namespace lathbench {

using u64 = std::uint64_t;

namespace {
constexpr u64 block = 64; // pages
constexpr std::size_t most_above = 8; // of the ranges of run() that one thread keeps there
} // namespace

bool page_shadow::claim(const page_range& r) {
    if ((r.first & (r.align - 1)) || r.first < space_.first || r.first + r.pages > space_.end)
        return false;
    std::lock_guard hold(lock_);
    bool free = taken_.next(r.first, r.first + r.pages, true) == r.first + r.pages;
    taken_.set(r.first, r.pages, true);
    return free;
}

void page_shadow::release(const page_range& r) {
    std::lock_guard hold(lock_);
    taken_.set(r.first, r.pages, false);
}

bool page_shadow::low_place(u64 pages, u64 align) {
    std::lock_guard hold(lock_);
    u64 at;
    return taken_.find_clear(space_.first, space_.low_end, pages, align, at);
}

lockup_worker::lockup_worker(page_shadow& shadow, u64 low_end, u64 seed)
    : shadow_(shadow), low_end_(low_end), random_(seed | 1) {}

void lockup_worker::reserve(std::size_t n) {
    pages_.reserve(n);
    above_.reserve(n);
}

bool lockup_worker::take(u64 pages, u64* spent) {
    page_range r{0, pages, power_of_two_from(pages)};
    u64 begin = wall_ns();
    bool placed = allocator_->alloc(r.pages, r.align, r.first);
    *spent = wall_ns() - begin;
    if (!placed)
        return false;
    right = shadow_.claim(r) && right;
    add(r);
    return true;
}

void lockup_worker::add(const page_range& r) {
    bool low = r.first < low_end_;
    low_pages_ += low ? r.pages : 0;
    (!low ? above_ : r.pages == 1 ? pages_ : blocks_).push_back(r);
}

void lockup_worker::free_at(std::vector<page_range>& of, std::size_t i) {
    page_range r = of[i];
    of[i] = of.back();
    of.pop_back();
    low_pages_ -= r.first < low_end_ ? r.pages : 0;
    shadow_.release(r);
    allocator_->free(r.first, r.pages, r.align);
}

void lockup_worker::free_random(std::vector<page_range>& of) {
    free_at(of, next_random(random_) % of.size());
}

bool lockup_worker::fill(u64 count) {
    u64 spent;
    for (u64 i = 0; above_.size() < count; i++)
        if (!take(i % 1024 == 0 && above_.empty() ? block : 1, &spent) || !right)
            return false;
    return true;
}

void lockup_worker::thin(u64 pages) {
    while (low_pages_ > pages && !pages_.empty())
        free_random(pages_);
}

void lockup_worker::run(const lockup_limits& limits) {
    const u64 quota = low_pages_, blocks = blocks_.size(), above = above_.size();
    u64 all = 0, spent;
    latency.reserve(limits.requests);
    for (u64 i = 0; i < limits.requests && !cut; i++) {
        bool is_large = i % 16 == 15;
        u64 pages = is_large ? block << next_random(random_) % 3 : 1;
        free_random(is_large && !blocks_.empty() ? blocks_ : pages_);
        std::size_t before = above_.size();
        right = take(pages, &spent) && right; // there is room above
        latency.push_back(static_cast<float>(spent));
        all += spent;
        cut = all > limits.ms * 1000000;
        if (is_large) {
            large++;
            missed += limits.alone && above_.size() > before && shadow_.low_place(pages, pages);
        }
        restore(quota, blocks, above + most_above);
    }
    restore(quota, blocks, above);
}

void lockup_worker::restore(u64 quota, std::size_t blocks, std::size_t above) {
    u64 spent;
    while (blocks_.size() > blocks)
        free_random(blocks_);
    if (blocks_.size() < blocks)
        right = take(block, &spent) && right;
    thin(quota);
    for (u64 n = low_pages_; n < quota; n++)
        right = take(1, &spent) && right;
    while (above_.size() > above)
        free_at(above_, above);
}

void lockup_worker::drain() {
    for (auto* of : {&pages_, &blocks_, &above_})
        while (!of->empty())
            free_at(*of, of->size() - 1);
}

void lockup_worker::deal(std::vector<lockup_worker>& to) {
    std::size_t turn = 0;
    for (auto* of : {&pages_, &blocks_, &above_}) {
        for (const auto& r : *of)
            to[turn++ % to.size()].add(r);
        of->clear();
    }
    low_pages_ = 0;
}

void lockup_worker::absorb(lockup_worker& other) {
    for (auto* of : {&other.pages_, &other.blocks_, &other.above_}) {
        for (const auto& r : *of)
            add(r);
        of->clear();
    }
    other.low_pages_ = 0;
}

} // namespace lathbench
