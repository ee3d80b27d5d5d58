// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Allocation traces, read as a stream. One operation a line:
//
//   a ID SIZE [ALIGN [HINT]]    allocate; ALIGN is a power of two
//   f ID                        free what ID names
//   WANT UNIT [MAX [HINT]]      allocate WANT bytes in pieces, which are multiples of UNIT, a power
//                               of two, and aligned to it; each has at most MAX bytes (0: any), of
//                               which WANT has 2^20 at most. HINT 0 is none. A line of a replay
//                               list of Ceph's BlueStore
//   # a comment, as is everything behind a # in a line
//
// ID is any word; it may be used again once it was freed. Numbers as base/numbers.hpp has them:
// 4096, 0x1000, 4Ki.
#pragma once

#include "trace/input.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lathcli::alloc {

struct operation {
    bool is_free = false;
    std::size_t slot = 0; // stands for the ID: small numbers, used again
    std::uint64_t size = 0, align = 0;
    std::optional<std::uint64_t> hint;
    bool in_pieces = false; // without a slot; align is UNIT
    std::uint64_t most = 0; // bytes of a piece; 0: any
};

class reader : public trace::input_reader {
public:
    struct counters {
        std::uint64_t allocations = 0, frees = 0, bad = 0; // allocations: in pieces or not
    };

    // skip_bad: lines that make no sense are counted and passed by.
    reader(trace::input in, bool skip_bad) : input_reader(std::move(in), skip_bad) {}
    // false at the end; throws trace::bad_input "FILE:LINE: what is wrong", and goes on behind it
    // when called again.
    bool next(operation& o);
    const counters& counts() const { return counts_; }
    const std::string& name_of(std::size_t slot) const { return names_[slot]; }

private:
    bool line(operation& o, std::string_view text); // false: nothing on it
    void read_allocation(operation& o, const std::vector<std::string_view>& words);
    void read_request(operation& o, const std::vector<std::string_view>& words);
    std::uint64_t number(const char* what, std::string_view text) const;

    counters counts_;
    std::unordered_map<std::string, std::size_t> live_;
    std::vector<std::string> names_; // of each slot
    std::vector<std::size_t> unused_;
};

} // namespace lathcli::alloc
