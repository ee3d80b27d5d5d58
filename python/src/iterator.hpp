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
// end; and shown(), which makes an object of such an item, needs no lock and may run other code. A
// copy of it goes on by itself. left(), if it has that, is the number of items to come.
template <class Walk>
struct Iterator {
    nb::object owner; // the container, until the end
    Walk walk;
};

// The container of an iterator, which may be at its end: then none.
template <class Walk>
nb::object owner_of(PyObject* self) {
    auto& iterator = self_of<Iterator<Walk>>(self);
    Locked lock(self);

    return iterator.owner;
}

template <class Walk>
PyObject* iterator_next(PyObject* self) {
    return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
        auto& iterator = self_of<Iterator<Walk>>(self);
        nb::object owner = owner_of<Walk>(self), end; // dropped last, without the locks
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

// Returns what copy and pickle need: iter, and a list of the items to come. The iterator does not
// move.
template <class Walk>
nb::object iterator_reduce(nb::pointer_and_handle<Iterator<Walk>> self) {
    Iterator<Walk>& iterator = *self.p;
    std::vector<typename decltype(iterator.walk.next())::value_type> items;
    nb::object owner = owner_of<Walk>(self.h.ptr());
    nb::list list;

    if (owner.is_valid()) {
        BothLocked lock(self.h, owner);
        if (iterator.owner.is_valid()) {
            Walk walk = iterator.walk;
            while (auto item = walk.next())
                items.push_back(std::move(*item));
        }
    }
    for (auto& item : items)
        list.append(iterator.walk.shown(std::move(item)));
    return nb::make_tuple(nb::module_::import_("builtins").attr("iter"), nb::make_tuple(list));
}

inline PyObject* iterator_self(PyObject* self) {
    Py_INCREF(self);
    return self;
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
        {Py_tp_iter, reinterpret_cast<void*>(iterator_self)},
        {Py_tp_iternext, reinterpret_cast<void*>(iterator_next<Walk>)},
        {Py_tp_traverse, reinterpret_cast<void*>(iterator_traverse<Walk>)},
        {Py_tp_clear, reinterpret_cast<void*>(iterator_clear<Walk>)},
        {0, nullptr},
    };
    LockedClass<Iterator<Walk>> iterator(module, name, nb::type_slots(slots));

    if constexpr (requires(const Walk& walk) { walk.left(); })
        iterator.def("__length_hint__",
                     [](const Iterator<Walk>& self) { return self.walk.left(); });
    iterator.def_unlocked("__reduce__", iterator_reduce<Walk>);
    iterator.attr("__module__") = "lathwork"; // what an iterator prints
}

} // namespace lathpy
