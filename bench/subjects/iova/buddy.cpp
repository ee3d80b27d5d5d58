// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Buddies (Knowlton 1965). The size of a block is a power of two; there is one list of free blocks
// per size. To serve a request a larger block is halved; two halves that are free are joined again.
// A request takes the least power of two that is at least its size and its alignment.
#include "halves.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <new>

namespace lathbench {

namespace {

using u64 = std::uint64_t;

class buddy_part {
public:
    buddy_part(u64 first, u64 end) : base_(first & ~(largest - 1)), pages_(end - base_) {
        if (pages_) {
            blocks_.reset(static_cast<block*>(std::calloc(pages_, sizeof(block))));
            if (!blocks_)
                throw std::bad_alloc();
        }
        heads_.fill(none);
        // from the top down, so that low blocks are taken first
        for (u64 at = pages_, low = first - base_; at > low;) {
            u64 size = std::min(at & (~at + 1), largest);
            while (at - size < low)
                size /= 2;
            at -= size;
            push(at, order_of(size));
        }
    }
    bool take(u64 pages, u64 align, u64& first) {
        unsigned want = order_of(std::max(power_of_two_from(pages), align)), order = want;
        while (order < orders && heads_[order] == none)
            order++;
        if (order >= orders)
            return false;
        u64 at = heads_[order];
        remove(at);
        while (order > want) {
            order--;
            push(at + (u64{1} << order), order);
        }
        used_ += pages;
        first = base_ + at;
        return true;
    }
    void give(u64 first, u64 pages, u64 align) {
        unsigned order = order_of(std::max(power_of_two_from(pages), align));
        u64 at = first - base_;
        for (; order + 1 < orders; order++) {
            u64 other = at ^ (u64{1} << order);
            if (other >= pages_ || blocks_[other].order != order + 1)
                break;
            remove(other);
            at = std::min(at, other);
        }
        push(at, order);
        used_ -= pages;
    }
    u64 used() const { return used_; }

private:
    static constexpr unsigned orders = 15;
    static constexpr u64 largest = u64{1} << (orders - 1);
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    struct block {
        std::uint32_t next, previous;
        std::uint32_t order; // of a free block that begins here, plus one; or 0
    };
    struct release {
        void operator()(block* b) const { std::free(b); }
    };

    static unsigned order_of(u64 size) { return static_cast<unsigned>(std::countr_zero(size)); }
    void push(u64 at, unsigned order) {
        auto& head = heads_[order];
        blocks_[at] = {head, none, order + 1};
        if (head != none)
            blocks_[head].previous = static_cast<std::uint32_t>(at);
        head = static_cast<std::uint32_t>(at);
    }
    void remove(u64 at) {
        block& b = blocks_[at];
        if (b.next != none)
            blocks_[b.next].previous = b.previous;
        if (b.previous != none)
            blocks_[b.previous].next = b.next;
        else
            heads_[b.order - 1] = b.next;
        b.order = 0;
    }

    u64 base_, pages_, used_ = 0;
    std::unique_ptr<block[], release> blocks_;
    std::array<std::uint32_t, orders> heads_;
};

} // namespace

iova_subject buddy_iova() {
    return {{"buddy", "one lock; sizes and alignments rounded up to powers of two", ""},
            make_iova_halves<buddy_part>};
}

} // namespace lathbench
