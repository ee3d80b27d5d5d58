// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What the files that bind containers to Python share.
#pragma once

#include "held.hpp"
#include "sorted_update.hpp"

#include <exception>
#include <new>

namespace lathpy {

struct Map : Sorted {
    explicit Map(nb::object key) : Sorted(true, false, std::move(key)) {}
};

struct Sequence : Sorted {
    Sequence(bool twins, nb::object key) : Sorted(false, twins, std::move(key)) {}
};

// The object behind `self`. Throws RuntimeError if __init__ of the base has not been called.
template <class T>
T& self_of(PyObject* self) {
    if (!nb::inst_ready(self))
        raise(PyExc_RuntimeError, "__init__ of the base class has not been called");
    return *nb::inst_ptr<T>(self);
}

// Runs a body of a type slot: what it throws becomes Python's exception, and `failed` is returned.
template <class Result, class Body>
Result guarded(Result failed, Body body) noexcept {
    try {
        return body();
    } catch (nb::python_error& error) {
        error.restore();
    } catch (nb::builtin_exception& error) {
        PyErr_SetString(error.type() == nb::exception_type::key_error ? PyExc_KeyError
                                                                      : PyExc_IndexError,
                        error.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return failed;
}

// The position that an index of Python's means. Throws IndexError with this text.
uint64_t position(Sorted& sorted, int64_t index, const char* text);

void bind_batches(LockedClass<Map, Sorted>& map, LockedClass<Sequence, Sorted>& sequence);

} // namespace lathpy
