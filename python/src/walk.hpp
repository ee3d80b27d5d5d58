// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A walk over some items of a container, in either direction.
#pragma once

#include "sorted.hpp"

namespace lathpy {

class Walk {
public:
    // From the item of rank `from` on (backward: to lower ranks), at most `count` items; none if
    // there is no such rank.
    Walk(Sorted& sorted, uint64_t from, uint64_t count, bool backward);

    // Moves to the next item. Returns false at the end. Throws RuntimeError if items were added or
    // taken out since the walk began. Runs no code of the caller's: the item is valid until such
    // code runs.
    bool next();
    void end() { count = 0; }
    nb::object key() const;
    nb::object value() const;
    uint64_t left() const { return count; }

    // The current item: exact, or one of a bucket.
    const Item* item = nullptr;
    uint64_t code = 0;
    Word word = 0;

private:
    struct Frame {
        Level* level;
        uint64_t from; // where the next fill begins
        bool more;
        unsigned at, used, want;
        uint64_t codes[64], words[64];
    };

    void push(Level* level, uint64_t from, bool more);
    void fill(Frame& frame) const;
    void seek(uint64_t rank);
    [[noreturn]] void changed();

    Sorted& sorted;
    uint64_t count, version, replaced;
    bool backward;
    std::vector<Frame> frames;
    const Bucket* bucket = nullptr;
    Spot at;
};

} // namespace lathpy
