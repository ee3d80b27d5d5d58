// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "code.hpp"

#include <bit>
#include <cmath>

namespace lathpy {

namespace {

constexpr double two63 = 9223372036854775808.0;
constexpr uint64_t sign = 1ull << 63;

// PyType_GetSlot() takes static types from Python 3.10 on only.
#ifdef Py_LIMITED_API
bool is_number(PyTypeObject* type) { return PyType_GetSlot(type, Py_nb_float) != nullptr; }
#else
bool is_number(PyTypeObject* type) { return type->tp_as_number && type->tp_as_number->nb_float; }
#endif

// The exact type among int, float, str and bytes that this is, or NULL.
PyTypeObject* exact_type(PyObject* key) {
    PyTypeObject* type = Py_TYPE(key);

    if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type ||
        type == &PyBytes_Type)
        return type;
    return nullptr;
}

// The type among these that the key's derives from, or NULL.
PyTypeObject* base_type(PyObject* key) {
    if (PyLong_Check(key))
        return &PyLong_Type;
    if (PyFloat_Check(key))
        return &PyFloat_Type;
    if (PyUnicode_Check(key))
        return &PyUnicode_Type;
    return PyBytes_Check(key) ? &PyBytes_Type : nullptr;
}

// What item() returns of a scalar of NumPy, of a class that is NumPy's own; else an invalid object.
nb::object numpy_item(PyObject* key) {
    nb::object home = nb::getattr(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(key))),
                                  "__module__", nb::none());

    if (!PyUnicode_Check(home.ptr()) || PyUnicode_CompareWithASCIIString(home.ptr(), "numpy") != 0)
        return {};
    nb::object scalar = nb::module_::import_("numpy").attr("generic");
    if (PyObject_IsInstance(key, scalar.ptr()) != 1) {
        PyErr_Clear();
        return {};
    }
    return nb::handle(key).attr("item")();
}

// Whether a number is not equal to itself. Throws what the comparison raises.
bool is_nan(PyObject* number) {
    nb::object same = nb::steal(PyObject_RichCompare(number, number, Py_EQ));
    int equal = same.is_valid() ? PyObject_IsTrue(same.ptr()) : -1;

    if (equal < 0)
        throw nb::python_error();
    return !equal;
}

Code ceiling_code(double number) {
    if (number >= two63)
        return {~0ull, false, true};
    if (number < -two63)
        return {0, false, false};
    double whole = std::ceil(number);
    return whole >= two63 ? Code{~0ull, false, true}
                          : Code{integer_code(static_cast<int64_t>(whole)), whole == number, false};
}

// Of an int among doubles.
Code double_code(PyObject* number) {
    int over = 0;
    double value = PyLong_AsDouble(number);
    if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        (void)PyLong_AsLongLongAndOverflow(number, &over);
        return {real_code(over < 0 ? -HUGE_VAL : HUGE_VAL) + (over < 0), false, false};
    }
    nb::object near = nb::steal(PyFloat_FromDouble(value));
    if (!near.is_valid())
        throw nb::python_error();
    if (PyObject_RichCompareBool(near.ptr(), number, Py_EQ) == 1)
        return {real_code(value), true, false};
    return {real_code(value) + (PyObject_RichCompareBool(near.ptr(), number, Py_LT) == 1), false,
            false};
}

} // namespace

#ifdef Py_LIMITED_API
void* comparison_of(PyTypeObject* type) { return PyType_GetSlot(type, Py_tp_richcompare); }
#else
void* comparison_of(PyTypeObject* type) { return reinterpret_cast<void*>(type->tp_richcompare); }
#endif

KeyView::KeyView(PyObject* key) : key(key), plain(key), exact(exact_type(key) != nullptr) {
    if (!exact) {
        PyTypeObject* base = base_type(key);
        if (!base || comparison_of(Py_TYPE(key)) != comparison_of(base)) {
            made = is_number(Py_TYPE(key)) ? numpy_item(key) : nb::object(); // so are its str
            plain = made.is_valid() && base_type(made.ptr()) ? made.ptr() : nullptr;
            if (plain && !exact_type(plain) && !PyBool_Check(plain))
                plain = nullptr;
        }
    }
    if (!plain)
        nan = is_number(Py_TYPE(key)) && is_nan(key);
    else if (plain && PyFloat_Check(plain))
        nan = std::isnan(PyFloat_AsDouble(plain));
}

uint64_t real_code(double number) {
    uint64_t bits = std::bit_cast<uint64_t>(number == 0 ? 0.0 : number);
    return bits & sign ? ~bits : bits | sign;
}

double real_of(uint64_t code) { return std::bit_cast<double>(code & sign ? code & ~sign : ~code); }

const char* utf8_of(PyObject* text, Py_ssize_t* size) {
    const char* form = PyUnicode_AsUTF8AndSize(text, size);

    if (!form && !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        throw nb::python_error();
    PyErr_Clear();
    return form;
}

Kind kind_of(const KeyView& view) {
    if (!view.plain)
        return Kind::none;
    if (PyLong_Check(view.plain))
        return Kind::integer;
    if (PyFloat_Check(view.plain))
        return Kind::real;
    return PyUnicode_Check(view.plain) ? Kind::text : Kind::bytes;
}

Code encode(Kind kind, const KeyView& view) {
    if (PyFloat_Check(view.plain)) {
        double number = PyFloat_AsDouble(view.plain);
        return kind == Kind::real ? Code{real_code(number), true, false} : ceiling_code(number);
    }
    if (kind == Kind::real)
        return double_code(view.plain);
    int over = 0;
    int64_t number = PyLong_AsLongLongAndOverflow(view.plain, &over);
    return over ? Code{over > 0 ? ~0ull : 0, false, over > 0}
                : Code{integer_code(number), true, false};
}

nb::object decode(Kind kind, uint64_t code) {
    PyObject* number = kind == Kind::integer ? PyLong_FromLongLong(integer_of(code))
                                             : PyFloat_FromDouble(real_of(code));

    if (!number)
        throw nb::python_error();
    return nb::steal(number);
}

} // namespace lathpy
