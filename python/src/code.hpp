// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Codes: keys and bounds as 64-bit numbers in their order.
//
//   natural   the number, from 0 to 2^64 - 1
//   integer   the number of 64 bits, sign bit flipped
//   real      the bits of the double, in order
//   other     what lathwork/bounds.py says: dates and addresses
//
// Exact ints and floats are coded here. Other numbers, limits that are not keys, dates and
// addresses are for bounds.py, which also refuses what has no code.
#pragma once

#include "error.hpp"

#include <lathwork/index.h>

#include <cmath>
#include <optional>
#include <vector>

namespace lathpy {

enum class Kind : uint8_t { none, natural, integer, real, other, text, bytes };
enum class Round { down = -1, exact, up };

inline uint64_t integer_code(int64_t number) {
    return static_cast<uint64_t>(number) ^ (1ull << 63);
}
inline int64_t integer_of(uint64_t code) { return static_cast<int64_t>(code ^ (1ull << 63)); }
uint64_t real_code(double number);
double real_of(uint64_t code);

// The code of an exact int or float among those of a kind. Returns whether it has one: if not,
// bounds.py knows more.
inline bool fast_code(Kind kind, PyObject* key, uint64_t* code) {
    int over = 0;

    if (kind == Kind::real && PyFloat_CheckExact(key)) {
        *code = real_code(PyFloat_AsDouble(key));
        return !std::isnan(PyFloat_AsDouble(key));
    }
    if (kind == Kind::none || kind > Kind::real || !PyLong_CheckExact(key))
        return false;
    int64_t number = PyLong_AsLongLongAndOverflow(key, &over);
    if (kind == Kind::real) { // a double has it exactly
        *code = real_code(static_cast<double>(number));
        return !over && number >= -(1ll << 53) && number <= 1ll << 53;
    }
    *code = kind == Kind::natural ? static_cast<uint64_t>(number) : integer_code(number);
    return !over && (kind == Kind::integer || number >= 0);
}

// The number of a code.
nb::object decode(Kind kind, uint64_t code);

// A function or a member of lathwork.bounds.
nb::object bounds(const char* name);

struct Range {
    uint64_t first, last;
    uint64_t size() const { return last - first + 1; } // 0: 2^64
};
// The range itself. Throws OverflowError for one of 2^64 keys, which no item has.
Range limited(Range range);

// How the bounds of one container have codes. It does not change, so any thread may read it.
class Codec {
public:
    Codec() = default;
    explicit Codec(nb::object codec); // one of lathwork.bounds
    static const Codec& naturals();

    Kind kind() const { return of; }
    const nb::object& python() const { return codec; }
    // The code of a key. exact: throws TypeError or OverflowError if there is none with its value.
    // Throws for what does not belong to the kind, ValueError for NaN.
    uint64_t code(nb::handle key, Round round) const;
    std::vector<uint64_t> codes(nb::handle given) const; // below the keys of a sequence or an array
    // The codes of the keys [start, stop). None is not a limit, after(key) the place behind a key.
    // Not exact: the codes of all keys that a key between has. Throws as code().
    std::optional<Range> some(nb::handle start, nb::handle stop, Round round) const;
    // As some(). Throws ValueError for an empty range.
    Range range(nb::handle start, nb::handle stop, Round round) const;
    nb::object key(uint64_t code) const;
    nb::object stop(const lath_item& item) const; // of a range; None: it has the greatest key

private:
    nb::object codec;
    Kind of = Kind::none;
    uint64_t most = ~0ull; // the greatest code of a key
};

// A number from 0 to 2^64 - 1. Throws TypeError or OverflowError.
inline uint64_t key_of(nb::handle number) { return uint64_of(number, "a key"); }
// A range of such numbers, the end of which may be 2^64. Throws ValueError for an empty one.
inline Range any_range_of(nb::handle start, nb::handle stop) {
    for (nb::handle bound : {start, stop})
        if (!PyIndex_Check(bound.ptr()))
            key_of(bound); // throws
    return Codec::naturals().range(start, stop, Round::exact);
}
inline Range range_of(nb::handle start, nb::handle stop) {
    return limited(any_range_of(start, stop));
}
inline nb::object number_of_key(uint64_t key) {
    return nb::steal(PyLong_FromUnsignedLongLong(key));
}
inline nb::object stop_of(const lath_item& item) { return Codec::naturals().stop(item); }

} // namespace lathpy
