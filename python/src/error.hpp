// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Errors of the library as exceptions. Every result of a call of the library that can be negative
// goes through raise_error(), so that no error is taken for another one.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace lathpy {

namespace nb = nanobind;

// An object of a class that derives from it is not copied.
struct Pinned {
    Pinned() = default;
    Pinned(const Pinned&) = delete;
    Pinned& operator=(const Pinned&) = delete;
};

// What an errno means in one call: an exception class and its text; no text: lath_strerror()'s.
struct Meaning {
    int error;
    PyObject* type;
    const char* text;
};

// Throws the exception for a negative result: what `own` says of its errno, else the general
// meaning. -ENOMEM is std::bad_alloc, which becomes MemoryError; nothing else does. `where` names
// the call.
[[noreturn]] void raise_error(int64_t ret, const char* where,
                              std::initializer_list<Meaning> own = {});

// Throws for a negative result; returns others.
inline int64_t must(int64_t ret, const char* where, std::initializer_list<Meaning> own = {}) {
    if (ret < 0)
        raise_error(ret, where, own);
    return ret;
}

// Raises an exception; its text, with values, is a format of PyErr_Format().
template <class... Values>
[[noreturn]] void raise(PyObject* type, const char* text, Values... values) {
    if constexpr (sizeof...(values))
        PyErr_Format(type, text, values...);
    else
        PyErr_SetString(type, text);
    throw nb::python_error();
}

// The result of a call of Python's. Throws what the call raised.
inline nb::object checked(PyObject* made) {
    if (!made)
        throw nb::python_error();
    return nb::steal(made);
}
inline int checked(int result) {
    if (result < 0)
        throw nb::python_error();
    return result;
}

// Throws KeyError(key); of a tuple, too, the key is the one argument.
[[noreturn]] inline void raise_key(nb::handle key) {
    PyErr_SetObject(PyExc_KeyError, nb::make_tuple(key).ptr());
    throw nb::python_error();
}

// A planted error, for tests: a call of the library whose name begins with `call` is not made, but
// returns `error`, after `after` calls that are made.
struct Plan {
    std::string call;
    int error = 0;
    uint64_t after = 0;

    bool hits(const char* text) {
        if (!std::string_view(text).starts_with(call) || after-- > 0)
            return false;
        after = 0;
        return true;
    }
};
extern Plan plan;

// A call of the library that may return an error.
#define LATH_CORE(call)                                                           \
    (__builtin_expect(::lathpy::plan.error != 0, 0) && ::lathpy::plan.hits(#call) \
         ? ::lathpy::plan.error                                                   \
         : (call))

// The number of an int, or of what has __index__. Throws TypeError for others, OverflowError beyond
// the limits; the text names the number as `what`.
uint64_t uint64_of(nb::handle number, const char* what);
int64_t int64_of(nb::handle number, const char* what);

void bind_errors(nb::module_& module);

} // namespace lathpy
