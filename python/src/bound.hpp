// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Bounds of intervals as 64-bit keys. A bound is a number, a moment or an address; all of a tree
// are of one kind:
//
//   integer   an int of 64 bits
//   real      the bits of the double, in order
//   moment    datetime, date or timedelta: the number of microseconds, or days, since an epoch
//   address   ipaddress.IPv4Address: its number
//
// Numbers are int, float, what compares as one of them (KeyView), Decimal and Fraction. A number is
// never rounded without asking: a bound that is kept must have the value of its code, and of a
// point that is asked for the code below or above it is taken.
#pragma once

#include "code.hpp"

namespace lathpy {

enum class Bounds { none, integer, real, moment, address };
enum class Round { down, up, exact };

// The kind of a tree that has only this bound. Throws TypeError for what is not a bound, ValueError
// for NaN.
Bounds kind_of_bound(PyObject* bound);
// The kind of a tree of this kind to which such a bound is added. Throws as kind_of_bound(), and
// TypeError if there is none.
Bounds kind_with_bound(Bounds kind, PyObject* bound);
// What the codes of moments like this one count from. Throws TypeError.
nb::object epoch_of(PyObject* moment);

// The code of a bound in a tree of this kind. exact: throws TypeError if there is none with its
// value, OverflowError for an int. epoch: of a tree of moments.
uint64_t bound_code(Bounds kind, PyObject* bound, Round round, const nb::object& epoch);

// The bound of a code: a float, a moment or an address.
nb::object bound_of_code(Bounds kind, uint64_t code, const nb::object& epoch);

// Whether a bound or point is before another one. Numbers of all types compare exactly.
bool is_before(Bounds kind, PyObject* a, PyObject* b);

} // namespace lathpy
