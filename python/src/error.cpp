// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "error.hpp"

#include <lathwork/error.h>

#include <nanobind/stl/string.h>

#include <cerrno>
#include <new>

namespace lathpy {

Plan plan;

namespace {

// The general meaning of each errno that a header of the library names.
const Meaning meanings[] = {
    {EINVAL, PyExc_ValueError, nullptr},       {E2BIG, PyExc_ValueError, nullptr},
    {EBADMSG, PyExc_ValueError, nullptr},      {EEXIST, PyExc_ValueError, nullptr},
    {ENOENT, PyExc_LookupError, nullptr},      {ERANGE, PyExc_OverflowError, nullptr},
    {EOVERFLOW, PyExc_OverflowError, nullptr}, {EBUSY, PyExc_RuntimeError, nullptr},
    {EAGAIN, PyExc_RuntimeError, nullptr},     {ECANCELED, PyExc_RuntimeError, nullptr},
    {EDEADLK, PyExc_RuntimeError, nullptr},    {ESTALE, PyExc_RuntimeError, nullptr},
    {ENOTEMPTY, PyExc_ValueError, nullptr},    {EOPNOTSUPP, PyExc_RuntimeError, nullptr},
};

[[noreturn]] void throw_error(const Meaning& meaning, int error, const char* where) {
    if (meaning.text)
        raise(meaning.type, meaning.text);
    raise(meaning.type, "%s: %s", where, lath_strerror(-error));
}

// The int that a number is. Throws TypeError.
nb::object whole(nb::handle number, const char* what) {
    nb::object made = nb::steal(PyNumber_Index(number.ptr()));

    if (!made.is_valid()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            throw nb::python_error();
        PyErr_Clear();
        raise(PyExc_TypeError, "%s must be an int, not %R of %R", what, number.ptr(),
              reinterpret_cast<PyObject*>(Py_TYPE(number.ptr())));
    }
    return made;
}

[[noreturn]] void beyond(nb::handle number, const char* what, const char* limits) {
    PyErr_Clear();
    raise(PyExc_OverflowError, "%s is %S: it must be from %s", what, number.ptr(), limits);
}

} // namespace

void raise_error(int64_t ret, const char* where, std::initializer_list<Meaning> own) {
    auto error = static_cast<int>(-ret);

    for (const Meaning& meaning : own)
        if (meaning.error == error)
            throw_error(meaning, error, where);
    if (error == ENOMEM)
        throw std::bad_alloc();
    for (const Meaning& meaning : meanings)
        if (meaning.error == error)
            throw_error(meaning, error, where);
    nb::object args = checked(Py_BuildValue("(is)", error, lath_strerror(-error)));
    PyErr_SetObject(PyExc_OSError, args.ptr());
    throw nb::python_error();
}

uint64_t uint64_of(nb::handle number, const char* what) {
    nb::object made = whole(number, what);
    uint64_t value = PyLong_AsUnsignedLongLong(made.ptr());

    if (value == ~0ull && PyErr_Occurred())
        beyond(made, what, "0 to 2**64 - 1");
    return value;
}

int64_t int64_of(nb::handle number, const char* what) {
    nb::object made = whole(number, what);
    int over = 0;
    int64_t value = PyLong_AsLongLongAndOverflow(made.ptr(), &over);

    if (over)
        beyond(made, what, "-2**63 to 2**63 - 1");
    return value;
}

void bind_errors(nb::module_& module) {
    module.def("_plant", [](const std::string& call, int error, uint64_t after) {
        plan = {call, error, after};
    });
    module.def("_raise", [](int64_t ret) { raise_error(ret, "test"); });
}

} // namespace lathpy
