// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Codes: keys of Python as 64-bit keys of an index.
//
// A code is monotone: x < y implies code(x) <= code(y). Keys of one code are told apart by
// comparing them. A code is exact if its key can be made from it again; then the key itself is not
// kept.
//
//   kind      code                                                    exact
//   integer   the number, sign bit flipped; of others their floor;    int of 64 bits
//             beyond 64 bits the least or greatest code
//   real      the bits of the double, in order; of integers those     float, except -0.0
//             of the nearest double
//   text      the next 7 bytes of the UTF-8 form and their number     up to 7 bytes, in the first
//   level bytes     likewise object    0: all keys in one sorted array                         none
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace lathpy {

namespace nb = nanobind;

enum class Kind : uint8_t { none, integer, real, text, bytes, object };

// Bytes of a text that one level looks at.
inline constexpr size_t level_bytes = 7;

struct Code {
    uint64_t code;
    bool exact;
};

inline uint64_t integer_code(int64_t number) {
    return static_cast<uint64_t>(number) ^ (1ull << 63);
}

inline int64_t integer_of(uint64_t code) { return static_cast<int64_t>(code ^ (1ull << 63)); }

uint64_t real_code(double number);
double real_of(uint64_t code);

// The kind of a container whose first key this is. Throws ValueError for NaN.
Kind kind_of(PyObject* key);

// The code of a key in a container of this kind, from byte `depth` on. Throws TypeError for a key
// that has none: the container would have to become one of objects, if the key compares at all.
Code encode(Kind kind, PyObject* key, size_t depth);
// Whether encode() has a code for keys of this type in a container of this kind.
bool encodable(Kind kind, PyObject* key);

// The key of an exact code.
nb::object decode(Kind kind, uint64_t code);

[[noreturn]] inline void raise(PyObject* type, const char* text) {
    PyErr_SetString(type, text);
    throw nb::python_error();
}

} // namespace lathpy
