// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Iterators of Python's over containers. A step holds the locks of the iterator and of its
// container, so several threads may share one.
#pragma once

#include "held.hpp"
#include "object.hpp"
#include "visit.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace lathpy {

enum class What { keys, values, items };

inline nb::object pair_of(nb::object key, nb::object value) {
    return nb::make_tuple(std::move(key), std::move(value));
}

inline nb::object shown(Pair&& item, What what) {
    if (what == What::items)
        return pair_of(std::move(item.first), std::move(item.second));
    return std::move(what == What::keys ? item.first : item.second);
}

// A walk has next(), which moves to the next item and returns it with references, or nothing at the
// end; shown(), which makes an object of such an item, needs no lock and may run other code; and
// left(), the number of items to come.
template <class Walk>
struct Iterator {
    nb::object owner; // the container, until the end
    Walk walk;
};

template <class Walk>
PyObject* iterator_next(PyObject* self) {
    return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
        auto& iterator = self_of<Iterator<Walk>>(self);
        nb::object owner, end; // dropped last, without the locks
        {
            Locked own(self);
            owner = iterator.owner;
        }
        if (!owner.is_valid())
            return nullptr;
        BothLocked lock(self, owner);
        if (iterator.owner.is_valid())
            if (auto item = iterator.walk.next())
                return iterator.walk.shown(std::move(*item)).release().ptr();
        end = std::move(iterator.owner);
        return nullptr;
    });
}

template <class Walk>
int iterator_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self))
        Py_VISIT(nb::inst_ptr<Iterator<Walk>>(self)->owner.ptr());
    return 0;
}

template <class Walk>
int iterator_clear(PyObject* self) {
    if (nb::inst_ready(self))
        nb::object owner = std::move(nb::inst_ptr<Iterator<Walk>>(self)->owner);
    return 0;
}

template <class Walk>
void bind_iterator(nb::module_& module, const char* name) {
    static PyType_Slot slots[] = {
        {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
        {Py_tp_iternext, reinterpret_cast<void*>(iterator_next<Walk>)},
        {Py_tp_traverse, reinterpret_cast<void*>(iterator_traverse<Walk>)},
        {Py_tp_clear, reinterpret_cast<void*>(iterator_clear<Walk>)},
        {0, nullptr},
    };
    LockedClass<Iterator<Walk>> iterator(module, name, nb::type_slots(slots));

    iterator.def("__length_hint__", [](const Iterator<Walk>& self) { return self.walk.left(); });
    iterator.attr("__module__") = "lathwork"; // what an iterator prints
}

} // namespace lathpy
