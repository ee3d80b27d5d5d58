// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "code.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace lathpy {

namespace {

constexpr double two63 = 9223372036854775808.0;
constexpr uint64_t sign = 1ull << 63;

[[noreturn]] void unordered() { raise(PyExc_ValueError, "NaN has no place in an order"); }

// The value of what Python can make a float of. Beyond the doubles it is infinite.
double as_double(PyObject* key) {
    double number = PyFloat_AsDouble(key);

    if (number == -1.0 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            throw nb::python_error();
        PyErr_Clear();
        nb::object zero = nb::steal(PyLong_FromLong(0));
        int below = PyObject_RichCompareBool(key, zero.ptr(), Py_LT);
        if (below < 0)
            throw nb::python_error();
        number = below ? -HUGE_VAL : HUGE_VAL;
    }
    if (std::isnan(number))
        unordered();
    return number;
}

uint64_t floor_code(double number) {
    if (number >= two63)
        return ~0ull;
    if (number < -two63)
        return 0;
    return integer_code(static_cast<int64_t>(std::floor(number)));
}

Code encode_integer(PyObject* key) {
    if (PyLong_Check(key)) {
        int over = 0;
        long long number = PyLong_AsLongLongAndOverflow(key, &over);
        if (over)
            return {over > 0 ? ~0ull : 0, false};
        return {integer_code(number), static_cast<bool>(PyLong_CheckExact(key))};
    }
    return {floor_code(as_double(key)), false};
}

Code encode_real(PyObject* key) {
    double number = as_double(key);
    bool exact = PyFloat_CheckExact(key) && !(number == 0 && std::signbit(number));
    return {real_code(number), exact};
}

Code encode_bytes(const char* data, size_t size, size_t depth, bool exact) {
    size_t left = size - depth;
    uint64_t code = 0;

    std::memcpy(&code, data + depth, left < level_bytes ? left : level_bytes);
    code = __builtin_bswap64(code) | (left <= level_bytes ? left : level_bytes + 1);
    return {code, exact && left <= level_bytes && depth == 0};
}

bool is_number(PyObject* key) {
    if (PyLong_Check(key) || PyFloat_Check(key))
        return true;
    PyTypeObject* type = Py_TYPE(key);
    return PyType_GetSlot(type, Py_nb_float) || PyType_GetSlot(type, Py_nb_index);
}

} // namespace

uint64_t real_code(double number) {
    uint64_t bits = std::bit_cast<uint64_t>(number == 0 ? 0.0 : number);
    return bits & sign ? ~bits : bits | sign;
}

double real_of(uint64_t code) { return std::bit_cast<double>(code & sign ? code & ~sign : ~code); }

Kind kind_of(PyObject* key) {
    if (PyLong_Check(key))
        return Kind::integer;
    if (PyFloat_Check(key)) {
        if (std::isnan(PyFloat_AsDouble(key)))
            unordered();
        return Kind::real;
    }
    if (PyUnicode_Check(key))
        return Kind::text;
    if (PyBytes_Check(key))
        return Kind::bytes;
    return is_number(key) ? Kind::real : Kind::object;
}

bool encodable(Kind kind, PyObject* key) {
    switch (kind) {
    case Kind::integer:
    case Kind::real:
        return is_number(key);
    case Kind::text:
        return PyUnicode_Check(key);
    case Kind::bytes:
        return PyBytes_Check(key);
    default:
        return true;
    }
}

Code encode(Kind kind, PyObject* key, size_t depth) {
    switch (kind) {
    case Kind::integer:
        if (is_number(key))
            return encode_integer(key);
        break;
    case Kind::real:
        if (is_number(key))
            return encode_real(key);
        break;
    case Kind::text:
        if (PyUnicode_Check(key)) {
            Py_ssize_t size;
            const char* data = PyUnicode_AsUTF8AndSize(key, &size);
            if (!data)
                throw nb::python_error();
            return encode_bytes(data, static_cast<size_t>(size), depth, PyUnicode_CheckExact(key));
        }
        break;
    case Kind::bytes:
        if (PyBytes_Check(key)) {
            char* data;
            Py_ssize_t size;
            if (PyBytes_AsStringAndSize(key, &data, &size))
                throw nb::python_error();
            return encode_bytes(data, static_cast<size_t>(size), depth, PyBytes_CheckExact(key));
        }
        break;
    default:
        return {0, false};
    }
    PyErr_Format(PyExc_TypeError, "a key of type %R among keys of another type",
                 reinterpret_cast<PyObject*>(Py_TYPE(key)));
    throw nb::python_error();
}

nb::object decode(Kind kind, uint64_t code) {
    PyObject* key;
    char data[8];
    uint64_t bytes = __builtin_bswap64(code);

    std::memcpy(data, &bytes, sizeof(data));
    if (kind == Kind::integer)
        key = PyLong_FromLongLong(integer_of(code));
    else if (kind == Kind::real)
        key = PyFloat_FromDouble(real_of(code));
    else if (kind == Kind::text)
        key = PyUnicode_DecodeUTF8(data, static_cast<Py_ssize_t>(code & 7), "strict");
    else
        key = PyBytes_FromStringAndSize(data, static_cast<Py_ssize_t>(code & 7));
    if (!key)
        throw nb::python_error();
    return nb::steal(key);
}

} // namespace lathpy
