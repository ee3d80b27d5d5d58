// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Which files own which bytes of which device: one range index over the extents of many files.
//
// Key: device number (8 bits) above the offset on the device (56 bits), so that one index holds
// several devices. Value of a segment: one owner, or a group of owners where files share bytes.
// Threads add() at the same time; an extent that overlaps another is put aside and settled
// afterwards by one thread, which cuts segments so that each has one set of owners.
#pragma once

#include "extents/fiemap.hpp"

#include "lathwork/cxx/index.hpp"

#include <cstdint>
#include <vector>

namespace lathcli {

// Extent number `extent` of file number `file`.
struct owner {
    std::uint32_t file;
    std::uint32_t extent;
    friend bool operator==(const owner&, const owner&) = default;
};

// Bytes of one device with the same owners.
struct segment {
    unsigned device;
    std::uint64_t physical;
    std::uint64_t length;
    std::vector<owner> owners; // in the order in which they were found; at least one
};

// Bytes between two segments that no indexed file owns.
struct gap {
    unsigned device;
    std::uint64_t physical;
    std::uint64_t length;
};

class extent_map {
public:
    // An extent that waits for settle().
    struct pending {
        lathwork::range where;
        owner who;
    };

    explicit operator bool() const { return static_cast<bool>(index_); }
    // Enter an extent; one that overlaps goes to `later`. 0 or -ENOMEM. From any thread.
    int add(unsigned device, const extent& e, owner who, std::vector<pending>& later);
    // Enter what was put aside. 0 or -ENOMEM. No other call may run.
    int settle(std::vector<pending> later);

    std::uint64_t segments() const { return index_.size(); }
    std::vector<segment> at(unsigned device, std::uint64_t physical) const;
    // Segments that overlap [from, end) of the device, whole.
    std::vector<segment> overlap(unsigned device, std::uint64_t from, std::uint64_t end) const;
    // The longest gaps between segments of one device, longest first.
    std::vector<gap> largest_gaps(std::size_t n) const;
    // Calls fn(segment) for each segment with several owners, in order.
    template <typename Fn>
    void each_shared(Fn&& fn) const {
        for (auto [where, value] : index_)
            if (value & shared_bit)
                fn(make(where, value));
    }
    // Bytes owned by anyone, each counted once.
    std::uint64_t bytes() const;
    lathwork::stats stats() const { return index_.get_stats(); }

private:
    static constexpr std::uint64_t shared_bit = std::uint64_t{1} << 63;
    static lathwork::range key(unsigned device, std::uint64_t physical, std::uint64_t length) {
        return lathwork::range::sized(std::uint64_t{device} << 56 | physical, length);
    }
    static std::uint64_t pack(owner who) { return std::uint64_t{who.file} << 32 | who.extent; }
    static owner unpack(std::uint64_t value) {
        return {static_cast<std::uint32_t>(value >> 32), static_cast<std::uint32_t>(value)};
    }
    segment make(lathwork::range where, std::uint64_t value) const;
    int share(lathwork::range where, owner who);
    int join(lathwork::range piece, std::uint64_t value, owner who);
    int cut(std::uint64_t at);

    lathwork::range_map<std::uint64_t> index_; // owner, or shared_bit | index into groups_
    std::vector<std::vector<owner>> groups_;
};

} // namespace lathcli
