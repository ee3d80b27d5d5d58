// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What the parts of lathwork._core share.
#pragma once

#include "code.hpp"
#include "visit.hpp"

#include <exception>
#include <new>

namespace lathpy {

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
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return failed;
}

// Type slots of a class for the collector.
template <class T>
int traverse_of(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<T>(self)->traverse(visit, arg) : 0;
}
template <class T>
int clear_of(PyObject* self) {
    if (nb::inst_ready(self))
        nb::inst_ptr<T>(self)->clear();
    return 0;
}

// Whether an argument is true. May run __bool__.
inline bool truth_of(PyObject* object) { return checked(PyObject_IsTrue(object)); }

// What an index of a container is. May run __index__.
inline int64_t number_of(PyObject* index) {
    Py_ssize_t number = PyNumber_AsSsize_t(index, PyExc_IndexError);

    if (number == -1 && PyErr_Occurred())
        throw nb::python_error();
    return number;
}

// The position in a container that an index means; NULL: the last one. Throws IndexError.
template <class Container>
size_t position_in(const Container& container, PyObject* index, const char* text) {
    int64_t number = index ? number_of(index) : -1; // the size is that after __index__
    auto size = static_cast<int64_t>(container.size());

    number += number < 0 ? size : 0;
    if (number < 0 || number >= size)
        raise(PyExc_IndexError, text);
    return static_cast<size_t>(number);
}

// The tuple of an element of an update, which may be any iterable of two.
inline nb::object pair_from(nb::handle element) {
    nb::object pair = checked(PySequence_Tuple(element.ptr()));
    if (PyTuple_Size(pair.ptr()) != 2)
        raise(PyExc_ValueError, "an element of the update is not a pair");
    return pair;
}

// For __init__ after code of the caller's has run: throws RuntimeError if that has called __init__
// of the same object.
inline void once(nb::handle self) {
    if (nb::inst_ready(self))
        raise(PyExc_RuntimeError, "__init__ was called within __init__");
}

void bind_maps(nb::module_& module);
void bind_lists(nb::module_& module);
void bind_hashed(nb::module_& module);
void bind_intervals(nb::module_& module);
void bind_ranges(nb::module_& module);
void bind_space(nb::module_& module);
void bind_store(nb::module_& module);
void bind_locks(nb::module_& module);

} // namespace lathpy
