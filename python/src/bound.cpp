// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "bound.hpp"

#include <cmath>
#include <cstring>

namespace lathpy {

namespace {

[[noreturn]] void refuse(PyObject* type, const char* what, PyObject* bound) {
    PyErr_Format(type, "the bound %R of type %R %s", bound,
                 reinterpret_cast<PyObject*>(Py_TYPE(bound)), what);
    throw nb::python_error();
}

bool less(PyObject* a, PyObject* b) {
    int result = PyObject_RichCompareBool(a, b, Py_LT);

    if (result < 0)
        throw nb::python_error();
    return result;
}

// Whether this is a Decimal or a Fraction, of the class itself.
bool is_rational(PyObject* bound) {
    nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(bound)));
    nb::object home = nb::getattr(type, "__module__", nb::none());

    for (auto [module, name] : {std::pair("decimal", "Decimal"), {"fractions", "Fraction"}})
        if (PyUnicode_Check(home.ptr()) &&
            PyUnicode_CompareWithASCIIString(home.ptr(), module) == 0)
            return type.is(nb::module_::import_(module).attr(name));
    return false;
}

// Whether this is an IPv4Address, of the class itself. Throws for the other classes of its module.
bool is_address(PyObject* bound) {
    nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(bound)));
    nb::object home = nb::getattr(type, "__module__", nb::none());

    if (!PyUnicode_Check(home.ptr()) ||
        PyUnicode_CompareWithASCIIString(home.ptr(), "ipaddress") != 0)
        return false;
    if (!type.is(nb::module_::import_("ipaddress").attr("IPv4Address")))
        refuse(PyExc_TypeError, "has no place among 64-bit keys, as an IPv4Address has", bound);
    return true;
}

// Calls a method of a number that makes ints of it; invalid if the number is infinite.
nb::object whole(PyObject* number, const char* method) {
    try {
        return nb::handle(number).attr(method)();
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_OverflowError))
            throw;
        return {};
    }
}

// A number as an int or float, Decimal or Fraction. Throws for others.
nb::object number_of(PyObject* bound) {
    KeyView view(bound);

    if (view.nan)
        raise(PyExc_ValueError, "NaN has no place in an order");
    if (view.plain && (PyLong_Check(view.plain) || PyFloat_Check(view.plain)))
        return nb::borrow(view.plain);
    if (!is_rational(bound))
        refuse(PyExc_TypeError,
               "is neither a number that compares as int or float do, nor a date or an address",
               bound);
    return nb::borrow(bound);
}

// The code of an int; beyond 64 bits the least or greatest one. *over: whether it is beyond.
uint64_t code_of_int(PyObject* number, int* over) {
    long long value = PyLong_AsLongLongAndOverflow(number, over);

    return *over ? (*over > 0 ? ~0ull : 0) : integer_code(value);
}

uint64_t integer_bound(PyObject* bound, PyObject* number, Round round) {
    int over = 0;

    if (PyLong_Check(number)) {
        uint64_t code = code_of_int(number, &over);
        if (over && round == Round::exact)
            refuse(PyExc_OverflowError, "is beyond 64 bits", bound);
        return code;
    }
    nb::object below = whole(number, "__floor__");
    if (!below.is_valid() && round == Round::exact)
        refuse(PyExc_TypeError, "is infinite", bound);
    if (!below.is_valid())
        return less(number, nb::int_(0).ptr()) ? 0 : ~0ull;
    uint64_t code = code_of_int(below.ptr(), &over);
    bool inexact = less(below.ptr(), number);
    if (round == Round::exact && over)
        refuse(PyExc_OverflowError, "is beyond 64 bits", bound);
    if (round == Round::exact && inexact)
        refuse(PyExc_TypeError, "is not a whole number, as the others are", bound);
    return code + (round == Round::up && inexact && !over);
}

// The double next to a number; beyond them it is infinite.
double nearest(PyObject* number) {
    nb::object made = nb::steal(PyNumber_Float(number));

    if (!made.is_valid()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            throw nb::python_error();
        PyErr_Clear();
        return less(number, nb::int_(0).ptr()) ? -HUGE_VAL : HUGE_VAL;
    }
    return PyFloat_AsDouble(made.ptr());
}

uint64_t real_bound(PyObject* bound, PyObject* number, Round round) {
    if (PyFloat_Check(number))
        return real_code(PyFloat_AsDouble(number));
    uint64_t near = real_code(nearest(number));
    nb::object made = nb::steal(PyFloat_FromDouble(real_of(near)));
    bool below = less(made.ptr(), number), above = less(number, made.ptr());
    if (round == Round::exact && (below || above) && PyLong_Check(number))
        refuse(PyExc_OverflowError, "has no exact float, as the others are", bound);
    if (round == Round::exact && (below || above))
        refuse(PyExc_TypeError, "has no exact float", bound);
    return round == Round::down ? near - above : near + below;
}

uint64_t address_bound(PyObject* bound) {
    int over;

    if (!is_address(bound))
        refuse(PyExc_TypeError, "is not an address, as the others are", bound);
    return code_of_int(nb::int_(nb::handle(bound)).ptr(), &over);
}

uint64_t moment_bound(PyObject* bound, const nb::object& epoch) {
    // A class with its own order is none of these, nor is a number.
    if (comparison_of(Py_TYPE(bound)) == comparison_of(Py_TYPE(epoch.ptr()))) {
        try {
            nb::object since = nb::borrow(bound) - epoch;
            nb::object number = since.attr("__floordiv__")(epoch.attr("resolution"));
            int over = 0;
            uint64_t code = code_of_int(number.ptr(), &over);
            if (over)
                refuse(PyExc_OverflowError, "is beyond 64 bits of microseconds", bound);
            return code;
        } catch (nb::python_error& error) {
            if (!error.matches(PyExc_TypeError)) // one with a time zone among those without
                throw;
        }
    }
    refuse(PyExc_TypeError, "does not go with the dates that the others are", bound);
}

} // namespace

Bounds kind_of_bound(PyObject* bound) {
    if (PyLong_CheckExact(bound))
        return Bounds::integer;
    if (!PyFloat_CheckExact(bound) && !PyLong_Check(bound) && !PyFloat_Check(bound) &&
        nb::hasattr(nb::handle(bound), "resolution"))
        return Bounds::moment;
    if (is_address(bound))
        return Bounds::address;
    nb::object number = number_of(bound);
    if (PyLong_Check(number.ptr()))
        return Bounds::integer;
    if (PyFloat_Check(number.ptr()))
        return Bounds::real;
    nb::object below = whole(number.ptr(), "__floor__");
    return below.is_valid() && !less(below.ptr(), number.ptr()) ? Bounds::integer : Bounds::real;
}

Bounds kind_with_bound(Bounds kind, PyObject* bound) {
    Bounds of = kind_of_bound(bound);

    if (kind == Bounds::none || kind == of)
        return of;
    if (kind > Bounds::real || of > Bounds::real)
        refuse(PyExc_TypeError,
               "does not go with the others: numbers, dates and addresses do not mix", bound);
    return Bounds::real;
}

nb::object epoch_of(PyObject* moment) {
    nb::object epoch = nb::module_::import_("lathwork.interval").attr("_epoch")(nb::handle(moment));

    if (comparison_of(Py_TYPE(moment)) != comparison_of(Py_TYPE(epoch.ptr())))
        refuse(PyExc_TypeError, "has its own order", moment);
    return epoch;
}

uint64_t bound_code(Bounds kind, PyObject* bound, Round round, const nb::object& epoch) {
    if (kind == Bounds::integer && PyLong_CheckExact(bound)) { // the most common
        int over = 0;
        uint64_t code = code_of_int(bound, &over);
        if (!over)
            return code;
    }
    if (kind == Bounds::moment)
        return moment_bound(bound, epoch);
    if (kind == Bounds::address)
        return address_bound(bound);
    nb::object number = number_of(bound);
    return kind == Bounds::integer ? integer_bound(bound, number.ptr(), round)
                                   : real_bound(bound, number.ptr(), round);
}

nb::object bound_of_code(Bounds kind, uint64_t code, const nb::object& epoch) {
    if (kind == Bounds::real)
        return nb::float_(real_of(code));
    nb::object number = nb::int_(integer_of(code));
    if (kind == Bounds::address)
        return nb::module_::import_("ipaddress").attr("IPv4Address")(number);
    return epoch + epoch.attr("resolution") * number;
}

bool is_before(Bounds kind, PyObject* a, PyObject* b) {
    if (kind > Bounds::real || (PyLong_CheckExact(a) && PyLong_CheckExact(b)))
        return less(a, b);
    // A Decimal does not compare with a Fraction, nor all of them with the scalars of NumPy.
    auto comparable = [](PyObject* bound) {
        nb::object number = number_of(bound);
        if (PyLong_Check(number.ptr()) || PyFloat_Check(number.ptr()))
            return number;
        nb::object ratio = whole(number.ptr(), "as_integer_ratio"); // none of an infinite one
        return ratio.is_valid()
                   ? nb::module_::import_("fractions").attr("Fraction")(ratio[0], ratio[1])
                   : nb::object(nb::float_(nearest(number.ptr())));
    };
    nb::object left = comparable(a), right = comparable(b);
    return less(left.ptr(), right.ptr());
}

} // namespace lathpy
