// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Keys of ranges as 64-bit keys of an index. The keys of a RangeAllocator are numbers from 0 to
// 2^64 - 1, and the end of a range may be 2^64. A RangeMap has these, or keys of which each 64-bit
// number, its code, is one (bound.hpp): floats, dates or IPv4 addresses. So a range that ends
// behind a key ends before the next one.
#pragma once

#include "bound.hpp"

#include <lathwork/index.h>

#include <optional>
#include <vector>

namespace lathpy {

struct Range {
    uint64_t first, last;
    uint64_t size() const { return last - first + 1; } // 0: 2^64
};
// The range itself. Throws OverflowError for one of 2^64 keys, which no item has.
Range limited(Range range);

// A number from 0 to 2^64 - 1. Throws TypeError or OverflowError.
inline uint64_t key_of(nb::handle number) { return uint64_of(number, "a key"); }
// The last number before `stop`, which may be 2^64. Throws likewise.
uint64_t last_before(nb::handle stop);
inline nb::object number_of_key(uint64_t key) {
    return nb::steal(PyLong_FromUnsignedLongLong(key));
}
// The number behind a range: 2^64 has no code.
nb::object stop_of(const lath_item& item);
// The range [start, stop) of numbers. Throws ValueError for an empty one, else as key_of().
Range any_range_of(nb::handle start, nb::handle stop);
// As any_range_of(); throws as limited() for a range of 2^64 keys.
Range range_of(nb::handle start, nb::handle stop);
// The numbers of a sequence or an array. Throws as key_of().
std::vector<uint64_t> keys_of(nb::handle given);

// The kind of keys that a RangeMap has. It does not change, so any thread may read it at any time.
class Keys {
public:
    // The keys of a map whose first range has these bounds. Throws TypeError for other objects.
    Keys(nb::handle start, nb::handle stop);

    // The code of the key, exact: of a change. Else it is the one below. Throws TypeError or
    // OverflowError for a key that has none, ValueError for NaN.
    uint64_t code(nb::handle key, Round round) const;
    std::vector<uint64_t> codes(nb::handle given) const; // below the keys of a sequence or an array
    // The range of [start, stop): None is not a limit, after(key) the place behind a key. Throws as
    // code(), ValueError for an empty one. Not exact: the codes of all keys that a key between has.
    Range range(nb::handle start, nb::handle stop, Round round) const;
    // As range(); nothing if it is empty.
    std::optional<Range> some(nb::handle start, nb::handle stop, Round round) const;

    nb::object key(uint64_t code) const;
    nb::object stop(const lath_item& item) const; // of a range; None: it has the last key

private:
    Bounds kind; // integer: a number from 0 to 2^64 - 1
    nb::object epoch;
    uint64_t least = 0, most = ~0ull; // codes of keys
};

} // namespace lathpy
