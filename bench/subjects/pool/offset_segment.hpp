// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// One segment, allocated in bins as Sebastian Aaltonen's OffsetAllocator does; written from the
// description in its README.
//
// The size of a bin is a floating point number with a mantissa of 3 bits; there are 256 of them,
// with a list of free ranges each. A bit per bin, and a bit per 8 bins, tell which lists are not
// empty. A free range is in the list of the largest bin that is not above its size. A request is
// rounded up to the size of a bin, as Mooncake does, and takes any range of the least bin from
// there on that has one; what is left becomes a free range. A range that is freed is joined with
// free neighbours.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace lathbench {

class offset_segment {
    using u32 = std::uint32_t;

public:
    explicit offset_segment(u32 size) : free_(size) {
        heads_.fill(none);
        push(make({0, size, none, none, none, none, false}));
    }

    static u32 rounded(u32 size) { return size_of(bin_from(size)); }

    // Takes rounded(size) bytes. Returns false when there is no room.
    bool take(u32 size, u32& offset, u32& node) {
        u32 bin = lowest(bin_from(size));
        if (bin == bins)
            return false;
        node = heads_[bin];
        pop(node);
        u32 want = rounded(size), rest = nodes_[node].size - want;
        if (rest) {
            u32 right = nodes_[node].right;
            u32 behind = make({nodes_[node].offset + want, rest, none, none, node, right, false});
            if (right != none)
                nodes_[right].left = behind;
            nodes_[node].right = behind;
            nodes_[node].size = want;
            push(behind);
        }
        nodes_[node].used = true;
        free_ -= want;
        offset = nodes_[node].offset;
        return true;
    }
    void give(u32 node) {
        nodes_[node].used = false;
        free_ += nodes_[node].size;
        u32 left = nodes_[node].left;
        if (left != none && !nodes_[left].used) {
            pop(left);
            join(left, node);
            node = left;
        }
        u32 right = nodes_[node].right;
        if (right != none && !nodes_[right].used) {
            pop(right);
            join(node, right);
        }
        push(node);
    }
    u32 free() const { return free_; }
    // The size of the largest bin that has a range; 0: none.
    u32 largest() const {
        if (!groups_)
            return 0;
        u32 group = 31 - static_cast<u32>(std::countl_zero(groups_));
        return size_of(group * 8 + 7 - static_cast<u32>(std::countl_zero(in_group_[group])));
    }

private:
    static constexpr u32 none = ~u32{0}, bins = 256;
    struct range {
        u32 offset, size;
        u32 next, previous; // in the list of a bin
        u32 left, right; // neighbours in the segment
        bool used;
    };

    static u32 bin_of(u32 size, bool up) {
        if (size < 8)
            return size;
        u32 shift = static_cast<u32>(std::bit_width(size)) - 4, mantissa = size >> shift;
        return shift * 8 + mantissa + (up && (mantissa << shift) < size);
    }
    static u32 bin_from(u32 size) { return bin_of(size, true); }
    static u32 size_of(u32 bin) { return bin < 8 ? bin : (8 + bin % 8) << (bin / 8 - 1); }

    // The lowest bin from this one on that has a range, or `bins`.
    u32 lowest(u32 bin) const {
        u32 group = bin / 8;
        if (u32 rest = in_group_[group] & (0xffu << bin % 8))
            return group * 8 + static_cast<u32>(std::countr_zero(rest));
        u32 above = group == 31 ? 0 : groups_ & (~u32{0} << (group + 1));
        if (!above)
            return bins;
        group = static_cast<u32>(std::countr_zero(above));
        return group * 8 + static_cast<u32>(std::countr_zero(u32{in_group_[group]}));
    }
    u32 make(const range& n) {
        if (spare_.empty()) {
            nodes_.push_back(n);
            return static_cast<u32>(nodes_.size() - 1);
        }
        u32 at = spare_.back();
        spare_.pop_back();
        nodes_[at] = n;
        return at;
    }
    void join(u32 left, u32 right) {
        nodes_[left].size += nodes_[right].size;
        nodes_[left].right = nodes_[right].right;
        if (nodes_[left].right != none)
            nodes_[nodes_[left].right].left = left;
        spare_.push_back(right);
    }
    void push(u32 at) {
        u32 bin = bin_of(nodes_[at].size, false);
        nodes_[at].next = heads_[bin];
        nodes_[at].previous = none;
        if (heads_[bin] != none)
            nodes_[heads_[bin]].previous = at;
        heads_[bin] = at;
        in_group_[bin / 8] |= static_cast<std::uint8_t>(1u << bin % 8);
        groups_ |= 1u << bin / 8;
    }
    void pop(u32 at) {
        const range& n = nodes_[at];
        u32 bin = bin_of(n.size, false);
        if (n.next != none)
            nodes_[n.next].previous = n.previous;
        if (n.previous != none)
            nodes_[n.previous].next = n.next;
        else
            heads_[bin] = n.next;
        if (heads_[bin] != none)
            return;
        in_group_[bin / 8] &= static_cast<std::uint8_t>(~(1u << bin % 8));
        if (!in_group_[bin / 8])
            groups_ &= ~(1u << bin / 8);
    }

    u32 free_, groups_ = 0;
    std::array<std::uint8_t, 32> in_group_{};
    std::array<u32, bins> heads_;
    std::vector<range> nodes_;
    std::vector<u32> spare_;
};

} // namespace lathbench
