// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The workload of table `iova-lockup`: requests in a window that stays nearly full of single pages,
// below a space that has as many.
#pragma once

#include "subjects/iova/iova_subject.hpp"
#include "subjects/iova/page_bitmap.hpp"

#include <cstdint>
#include <mutex>
#include <vector>

namespace lathbench {

struct page_range {
    std::uint64_t first, pages, align;
};

// Who holds each page. Several threads may call at once.
class page_shadow {
public:
    explicit page_shadow(const iova_space& space) : space_(space), taken_(space.end) {}
    // Returns whether the range is aligned, in the space, and was held by nobody.
    bool claim(const page_range& r);
    void release(const page_range& r);
    // Returns whether there is an aligned free place below low_end.
    bool low_place(std::uint64_t pages, std::uint64_t align);

private:
    iova_space space_;
    std::mutex lock_;
    page_bitmap taken_;
};

struct lockup_limits {
    std::uint64_t requests = 100000; // of one thread
    std::uint64_t ms = 1000; // that one thread may spend in requests
    bool alone = true; // no other thread runs: a place that a request missed is noticed
};

// What one thread holds: single pages and blocks in the window, and ranges above it.
class lockup_worker {
public:
    lockup_worker(page_shadow& shadow, std::uint64_t low_end, std::uint64_t seed);
    // All calls below go to this allocator.
    void use(iova_allocator& allocator) { allocator_ = &allocator; }
    // Makes room for n ranges in the window and n above it, so that this memory does not count as
    // the allocator's.
    void reserve(std::size_t n);
    // Takes a block of 64 pages and 960 single pages, again and again, until the window is full,
    // and then `count` single pages above it. Returns false if there is no room for them, or at the
    // first wrong answer.
    bool fill(std::uint64_t count);
    // Frees single pages of the window at random until it holds at most `pages` pages.
    void thin(std::uint64_t pages);
    // Frees a page of the window at random and asks for another one, 15 times of 16. Else it frees
    // a block there and asks for 64, 128 or 256 pages. Calls that are not timed put back what is
    // missing in the window, and free what is too much, there and above.
    void run(const lockup_limits& limits);
    void drain();
    // Deals what it holds out to the others in turn, which hold nothing. absorb() takes it back.
    void deal(std::vector<lockup_worker>& to);
    void absorb(lockup_worker& other);

    std::size_t held() const { return pages_.size() + blocks_.size() + above_.size(); }

    std::vector<float> latency; // ns, of the requests of run()
    // Large requests, and those of them that went above the window although it had a place.
    std::uint64_t large = 0, missed = 0;
    bool right = true, cut = false; // cut: limits.ms was over first

private:
    // Returns false when there was no room at all. *spent: ns in the allocator
    bool take(std::uint64_t pages, std::uint64_t* spent);
    void restore(std::uint64_t quota, std::size_t blocks, std::size_t above);
    void free_at(std::vector<page_range>& of, std::size_t i);
    void free_random(std::vector<page_range>& of);
    void add(const page_range& r);

    iova_allocator* allocator_ = nullptr;
    page_shadow& shadow_;
    std::uint64_t low_end_, random_, low_pages_ = 0;
    std::vector<page_range> pages_, blocks_, above_;
};

} // namespace lathbench
