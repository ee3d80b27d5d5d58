// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "range_key.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>

namespace lathpy {

uint64_t last_before(nb::handle stop) {
    nb::object end = nb::steal(PyNumber_Index(stop.ptr())), one = nb::int_(1);
    if (!end.is_valid()) {
        PyErr_Clear();
        return key_of(stop); // throws, and names it
    }
    nb::object last = nb::steal(PyNumber_Subtract(end.ptr(), one.ptr()));
    if (!last.is_valid())
        throw nb::python_error();
    return key_of(last);
}

nb::object stop_of(const lath_item& item) {
    nb::object last = number_of_key(item.key + item.size - 1), one = nb::int_(1);
    return nb::steal(PyNumber_Add(last.ptr(), one.ptr()));
}

namespace {

__extension__ using Place = unsigned __int128; // of a bound: the number of codes before it

// The place of the end of a range of numbers. An int is exact, the arithmetic of other types may
// wrap.
Place end_of(nb::handle stop) {
    nb::object end = nb::steal(PyNumber_Index(stop.ptr()));
    if (!end.is_valid())
        PyErr_Clear(); // last_before() says which number it is
    int nothing =
        end.is_valid() ? PyObject_RichCompareBool(end.ptr(), nb::int_(0).ptr(), Py_LE) : 0;
    if (nothing < 0)
        throw nb::python_error();
    return nothing ? 0 : Place{last_before(stop)} + 1;
}

std::optional<Range> some_between(Place first, Place end) {
    if (end <= first)
        return {};
    return Range{static_cast<uint64_t>(first), static_cast<uint64_t>(end - 1)};
}

Range not_empty(std::optional<Range> range) {
    if (!range)
        raise(PyExc_ValueError, "the range is empty");
    return *range;
}

} // namespace

Range limited(Range range) {
    if (range.size() == 0)
        raise(PyExc_OverflowError, "a range has at most 2**64 - 1 keys");
    return range;
}

Range any_range_of(nb::handle start, nb::handle stop) {
    uint64_t first = key_of(start);

    return not_empty(some_between(first, end_of(stop)));
}

Range range_of(nb::handle start, nb::handle stop) { return limited(any_range_of(start, stop)); }

std::vector<uint64_t> keys_of(nb::handle given) {
    std::vector<uint64_t> keys;

    if (!nb::hasattr(given, "__array__")) {
        for (nb::handle number : nb::list(nb::borrow(given)))
            keys.push_back(key_of(number));
        return keys;
    }
    nb::object array = nb::module_::import_("numpy").attr("ascontiguousarray")(given);
    auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
    bool empty = nb::cast<size_t>(array.attr("size")) == 0;
    nb::ndarray<const uint64_t, nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> numbers;
    if ((!empty && kind != "u" && kind != "i") ||
        !nb::try_cast(array.attr("astype")("uint64", nb::arg("copy") = false), numbers))
        raise(PyExc_TypeError, "keys of an array must be integers, in one dimension");
    keys.assign(numbers.data(), numbers.data() + numbers.shape(0));
    if (kind == "i" &&
        std::any_of(keys.begin(), keys.end(), [](uint64_t key) { return key >> 63; }))
        raise(PyExc_OverflowError, "a key is negative: it must be from 0 to 2**64 - 1");
    return keys;
}

namespace {

// The key of after(key), or an invalid object if the bound is another one.
nb::object behind(nb::handle bound) {
    if (PyLong_CheckExact(bound.ptr()) || PyFloat_CheckExact(bound.ptr()))
        return {};
    nb::object type = nb::module_::import_("lathwork.rangeset").attr("after");
    return nb::isinstance(bound, type) ? bound.attr("key") : nb::object();
}

// The kind of a map that has only this key.
Bounds kind_of_key(nb::handle key) {
    if (PyIndex_Check(key.ptr()))
        return Bounds::integer;
    Bounds kind = kind_of_bound(key.ptr());
    return kind == Bounds::integer ? Bounds::real : kind; // a Decimal or Fraction
}

} // namespace

Keys::Keys(nb::handle start, nb::handle stop) : kind(Bounds::none), epoch(nb::none()) {
    for (nb::handle bound : {start, stop}) {
        nb::object before = behind(bound), key = before.is_valid() ? before : nb::borrow(bound);
        if (key.is_none())
            continue;
        Bounds of = kind_of_key(key);
        if (kind == Bounds::none && of == Bounds::moment)
            epoch = epoch_of(key.ptr());
        if (kind == Bounds::none || kind == of)
            kind = of;
        else if (kind <= Bounds::real && of <= Bounds::real)
            kind = Bounds::real;
        else
            kind_with_bound(kind, key.ptr()); // throws
    }
    if (kind == Bounds::none)
        kind = Bounds::integer;
    if (kind != Bounds::integer) {
        nb::object ends =
            nb::module_::import_("lathwork.interval").attr("_ends")(epoch, kind == Bounds::real);
        least = bound_code(kind, nb::object(ends[0]).ptr(), Round::exact, epoch);
        most = bound_code(kind, nb::object(ends[1]).ptr(), Round::exact, epoch);
    }
}

uint64_t Keys::code(nb::handle key, Round round) const {
    return kind == Bounds::integer ? key_of(key) : bound_code(kind, key.ptr(), round, epoch);
}

std::vector<uint64_t> Keys::codes(nb::handle given) const {
    std::vector<uint64_t> codes;

    if (kind == Bounds::integer)
        return keys_of(given);
    nb::object keys = nb::hasattr(given, "tolist") ? given.attr("tolist")() : nb::borrow(given);
    for (nb::handle key : nb::list(keys))
        codes.push_back(code(key, Round::down));
    return codes;
}

Range Keys::range(nb::handle start, nb::handle stop, Round round) const {
    return not_empty(some(start, stop, round));
}

std::optional<Range> Keys::some(nb::handle start, nb::handle stop, Round round) const {
    auto place = [&](nb::handle bound, bool end) -> Place {
        nb::object before = behind(bound);
        bool exact = round == Round::exact;
        if (before.is_valid()) {
            uint64_t below = code(before, exact ? round : Round::down);
            return Place{below} + (end || exact || below == code(before, Round::up));
        }
        if (bound.is_none())
            return end ? Place{most} + 1 : least;
        if (kind == Bounds::integer && end)
            return end_of(bound);
        return code(bound, exact ? round : end ? Round::up : Round::down);
    };

    Place first = place(start, false);
    return some_between(first, place(stop, true));
}

nb::object Keys::key(uint64_t code) const {
    return kind == Bounds::integer ? number_of_key(code) : bound_of_code(kind, code, epoch);
}

nb::object Keys::stop(const lath_item& item) const {
    if (kind == Bounds::integer)
        return stop_of(item);
    uint64_t last = item.key + (item.size - 1);
    return last == most ? nb::none() : key(last + 1);
}

} // namespace lathpy
