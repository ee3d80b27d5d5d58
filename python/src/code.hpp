// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Codes: numbers of Python as 64-bit keys of an index, in their order.
//
//   integer   the number, sign bit flipped
//   real      the bits of the double, in order
//
// Keys of a map that are texts or bytes are records (map.hpp).
#pragma once

#include "error.hpp"

#include <cstdint>

namespace lathpy {

enum class Kind : uint8_t { none, integer, real, text, bytes };

inline uint64_t integer_code(int64_t number) {
    return static_cast<uint64_t>(number) ^ (1ull << 63);
}

inline int64_t integer_of(uint64_t code) { return static_cast<int64_t>(code ^ (1ull << 63)); }

uint64_t real_code(double number);
double real_of(uint64_t code);

// What a key compares as. `plain` is an int, float, str or bytes that stands for the key in every
// comparison: the key itself if its class is one of these or derives from one and inherits its
// comparisons, and what item() returns of a scalar of NumPy. Otherwise it is NULL. Looking may run
// code of the key's class.
struct KeyView {
    explicit KeyView(PyObject* key);

    PyObject *key, *plain; // borrowed
    bool exact; // key is of the type int, float, str or bytes itself
    bool nan = false; // it is a number that is not equal to itself
    nb::object made; // what plain refers to, if that is not the key
};

// The UTF-8 form of a str, or NULL if there is none. Throws std::bad_alloc.
const char* utf8_of(PyObject* text, Py_ssize_t* size);

// The function that compares objects of a type: equal for classes that inherit their comparisons.
void* comparison_of(PyTypeObject* type);

// The kind of a map whose first key this is; none: it can be no key.
Kind kind_of(const KeyView& view);

// The place of a number among codes of a kind.
struct Code {
    uint64_t code; // the number's own, or the least code above it
    bool exact; // the number has that code
    bool past; // no code is above it
};
Code encode(Kind kind, const KeyView& view);

// The number of a code.
nb::object decode(Kind kind, uint64_t code);

[[noreturn]] inline void raise(PyObject* type, const char* text) {
    PyErr_SetString(type, text);
    throw nb::python_error();
}

// Throws KeyError(key); of a tuple, too, the key is the one argument.
[[noreturn]] inline void raise_key(nb::handle key) {
    PyErr_SetObject(PyExc_KeyError, nb::make_tuple(key).ptr());
    throw nb::python_error();
}

} // namespace lathpy
