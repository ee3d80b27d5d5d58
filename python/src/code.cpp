// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "code.hpp"

#include <bit>
#include <cmath>
#include <cstring>

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

// The value of an int or a float. Beyond the doubles it is infinite.
double as_double(PyObject* number) {
    if (PyFloat_Check(number))
        return PyFloat_AsDouble(number);
    double value = PyLong_AsDouble(number);
    if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        int over = 0;
        (void)PyLong_AsLongLongAndOverflow(number, &over);
        value = over < 0 ? -HUGE_VAL : HUGE_VAL;
    }
    return value;
}

uint64_t floor_code(double number) {
    if (number >= two63)
        return ~0ull;
    if (number < -two63)
        return 0;
    return integer_code(static_cast<int64_t>(std::floor(number)));
}

Code encode_integer(const KeyView& view) {
    if (PyLong_Check(view.plain)) {
        int over = 0;
        long long number = PyLong_AsLongLongAndOverflow(view.plain, &over);
        if (over)
            return {over > 0 ? ~0ull : 0, false};
        return {integer_code(number), view.exact};
    }
    return {floor_code(as_double(view.plain)), false};
}

Code encode_real(const KeyView& view) {
    double number = as_double(view.plain);
    bool exact = PyFloat_CheckExact(view.key) && !(number == 0 && std::signbit(number));
    return {real_code(number), exact};
}

Code encode_bytes(const char* data, size_t size, size_t depth, bool exact) {
    size_t left = size - depth;
    uint64_t code = 0;

    std::memcpy(&code, data + depth, left < level_bytes ? left : level_bytes);
    code = __builtin_bswap64(code) | (left <= level_bytes ? left : level_bytes + 1);
    return {code, exact && left <= level_bytes && depth == 0};
}

} // namespace

#ifdef Py_LIMITED_API
void* comparison_of(PyTypeObject* type) { return PyType_GetSlot(type, Py_tp_richcompare); }
#else
void* comparison_of(PyTypeObject* type) { return reinterpret_cast<void*>(type->tp_richcompare); }
#endif

void tell_incomparable(PyObject* a, PyObject* b) {
    if (!PyErr_ExceptionMatches(PyExc_ValueError))
        return;
    nb::python_error raised;
    if (numpy_item(a).is_valid() || numpy_item(b).is_valid())
        PyErr_Format(PyExc_TypeError, "%R and %R do not compare", a, b);
    else
        raised.restore();
}

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
    if (!plain && !made.is_valid())
        write_shape();
    if (!plain && !shape)
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
        return view.shape ? Kind{view.shape} : Kind::object;
    if (PyLong_Check(view.plain))
        return Kind::integer;
    if (PyFloat_Check(view.plain))
        return Kind::real;
    return PyUnicode_Check(view.plain) ? Kind::text : Kind::bytes;
}

bool encodable(Kind kind, const KeyView& view) {
    Py_ssize_t size;

    if (kind == Kind::object)
        return true;
    if (kind > Kind::object)
        return view.shape && shapes_agree(static_cast<uint64_t>(kind), view.shape);
    if (!view.plain || view.nan)
        return false;
    switch (kind) {
    case Kind::integer:
    case Kind::real:
        return PyLong_Check(view.plain) || PyFloat_Check(view.plain);
    case Kind::text:
        return PyUnicode_Check(view.plain) && utf8_of(view.plain, &size);
    default:
        return PyBytes_Check(view.plain);
    }
}

Code encode(Kind kind, const KeyView& view, size_t depth) {
    Py_ssize_t size;
    const char* text;
    char* bytes;

    switch (kind) {
    case Kind::integer:
        return encode_integer(view);
    case Kind::real:
        return encode_real(view);
    case Kind::text:
        text = PyUnicode_AsUTF8AndSize(view.plain, &size);
        if (!text)
            throw nb::python_error();
        return encode_bytes(text, static_cast<size_t>(size), depth, view.exact);
    case Kind::bytes:
        if (PyBytes_AsStringAndSize(view.plain, &bytes, &size))
            throw nb::python_error();
        return encode_bytes(bytes, static_cast<size_t>(size), depth, view.exact);
    case Kind::object:
        return {0, false};
    default:
        return encode_bytes(view.data, view.size, depth, false);
    }
}

void refuse_unordered(Kind kind, const KeyView& view) {
    if (view.nan)
        raise(PyExc_ValueError, "NaN has no place in an order");
    if (kind == Kind::text && view.plain && PyUnicode_Check(view.plain) && !encodable(kind, view))
        encode(kind, view, 0); // throws the UnicodeEncodeError
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
