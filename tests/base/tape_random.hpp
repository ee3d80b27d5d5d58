// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A source of numbers that takes them from a tape of bytes, for models that libFuzzer drives.
#pragma once

#include <cstddef>
#include <cstdint>

class tape_random {
public:
    tape_random(const std::uint8_t* bytes, std::size_t size) : at_(bytes), end_(bytes + size) {}

    bool more() const { return at_ < end_; }

    // The next three bytes; behind the end, numbers that depend on none.
    std::uint64_t operator()() {
        if (end_ - at_ < 3) {
            at_ = end_;
            return behind_ += 0x9e3779b97f4a7c15u;
        }
        at_ += 3;
        return at_[-3] | at_[-2] << 8 | static_cast<std::uint64_t>(at_[-1]) << 16;
    }

private:
    const std::uint8_t *at_, *end_;
    std::uint64_t behind_ = 0;
};
