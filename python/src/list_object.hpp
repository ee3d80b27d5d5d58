// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What the types of lathwork._core that have a List share: List (list_type.cpp), and Dict and Set
// (hashed.cpp), which have one beside the hash table that they inherit.
#pragma once

#include "list.hpp"
#include "method.hpp"

namespace lathpy {

struct ListObject {
    PyObject head;
    List list;
};

inline List& list_of(PyObject* self) { return reinterpret_cast<ListObject*>(self)->list; }

template <>
inline List& self_of<List>(PyObject* self) {
    return list_of(self);
}

// A new empty object of lathwork._core.List, or of the class of Python's that derives from it.
PyObject* new_list();

// An iterator over the items at positions [start, stop) of a list that has this version.
PyObject* walk(PyObject* owner, size_t start, size_t stop, bool backward, uint64_t version);
// Adds all of a list of Python's that no one else has, or none; sorts it.
void update(List& list, const nb::object& values);

// A list of Python's of what an iterable has.
nb::object list_from(PyObject* iterable);

// Puts a new reference into a new list of Python's.
inline void set_item(PyObject* list, Py_ssize_t at, PyObject* item) {
#ifdef Py_LIMITED_API
    PyList_SetItem(list, at, item);
#else
    PyList_SET_ITEM(list, at, item);
#endif
}

} // namespace lathpy
