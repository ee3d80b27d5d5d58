// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Codes: keys of Python as 64-bit keys of an index.
//
// A code is monotone: x < y implies code(x) <= code(y). Keys of one code are told apart by
// comparing them. A code is exact if its key can be made from it again; then the key itself is not
// kept.
//
//   kind      code                                                    exact
//   integer   the number, sign bit flipped; of a float its floor;     int of 64 bits
//             beyond 64 bits the least or greatest code
//   real      the bits of the double, in order; of integers those     float, except -0.0
//             of the nearest double
//   text      the next 7 bytes of the UTF-8 form and their number     up to 7 bytes, in the first
//                                                                     level
//   bytes     likewise
//   a shape   likewise, of the bytes of its elements (shape.cpp)      none
//   object    0: all keys in one bucket                               none
//
// Only keys that compare as an int, float, str or bytes have codes (KeyView), and tuples that begin
// with such, dates and UUIDs. All others are of the kind object: their own __lt__ and __eq__ order
// them.
#pragma once

#include "error.hpp"

#include <cstdint>

namespace lathpy {

// A kind that is none of these is a shape: which classes the elements of a tuple have, as far as
// that is told without comparing them, or what else the key is. It has a symbol of four bits for
// each, the first one lowest. A tuple may be shorter or longer than others of its kind.
enum class Kind : uint64_t { none, integer, real, text, bytes, object };

// Whether codes of the kind are of bytes, of which a level has the next ones.
inline bool has_levels(Kind kind) { return kind > Kind::real && kind != Kind::object; }
// Whether one of two shapes begins with the other.
bool shapes_agree(uint64_t a, uint64_t b);

// Bytes of a text that one level looks at.
inline constexpr size_t level_bytes = 7;

// Whether a code of such bytes has the last ones of its keys.
inline bool ends_here(uint64_t code) { return (code & 0xff) <= level_bytes; }

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
    uint64_t shape = 0; // 0: it has none
    size_t size = 0; // of the bytes of a key with a shape
    char data[48];

private:
    void write_shape();
};

// The UTF-8 form of a str, or NULL if there is none. Throws std::bad_alloc.
const char* utf8_of(PyObject* text, Py_ssize_t* size);

// The function that compares objects of a type: equal for classes that inherit their comparisons.
void* comparison_of(PyTypeObject* type);

// After a comparison that raised: what NumPy raises for a scalar beside a sequence, ValueError,
// becomes a TypeError, as of others that do not compare.
void tell_incomparable(PyObject* a, PyObject* b);

// The kind of a container whose first key this is.
Kind kind_of(const KeyView& view);
// The kind of a container that gets this key, which is encodable, beside others.
inline Kind kind_with(Kind kind, const KeyView& view) {
    return static_cast<uint64_t>(kind) < view.shape && kind > Kind::object ? Kind{view.shape}
                                                                           : kind;
}
// Whether encode() has a code for this key in a container of this kind. A NaN has none, nor has a
// str that has no UTF-8 form.
bool encodable(Kind kind, const KeyView& view);
// The code of an encodable key in a container of this kind, from byte `depth` on.
Code encode(Kind kind, const KeyView& view, size_t depth);
// Throws ValueError for what no container takes: a NaN, or, as UnicodeEncodeError, a str without
// UTF-8 form among keys of the kind text.
void refuse_unordered(Kind kind, const KeyView& view);

// The key of an exact code.
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
