// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The type List of lathwork._core, on which SortedList is built, and its iterator. They are made
// without nanobind: a call of it costs more than what most of these methods do.
#include "list_object.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace lathpy {

namespace {

PyTypeObject *list_type, *iterator_type;
PyTypeObject* list_class; // lathwork.SortedList, once it is there
PyObject* list_order; // the function that sorts values by a key function

// ---- iterator ----

struct ListIterator {
    PyObject head;
    PyObject* owner; // NULL at the end
    PyObject **at, **end; // the items to come of one chunk; they are there while the version is
    ptrdiff_t step; // 1 or -1
    size_t chunk, left; // that one, and items to come in others
    uint64_t version;

    size_t to_come() const { return left + static_cast<size_t>((end - at) * step); }
    // Goes on at a place, with `left` items to come.
    void enter(List& list, List::Place place) {
        size_t n = std::min(left, step > 0 ? list.items_in(place.chunk) - place.at : place.at + 1);
        chunk = place.chunk;
        at = list.begin_of(chunk) + place.at;
        end = at + step * static_cast<ptrdiff_t>(n);
        left -= n;
    }
};

// The next item, borrowed, or NULL at the end. Throws RuntimeError if the list has changed.
PyObject* step(ListIterator* iterator) {
    List& list = list_of(iterator->owner);

    if (iterator->to_come() == 0)
        return nullptr;
    if (list.version != iterator->version)
        raise(PyExc_RuntimeError, "the container changed during the iteration");
    if (iterator->at == iterator->end) {
        size_t next = iterator->chunk + static_cast<size_t>(iterator->step);
        iterator->enter(list, {next, iterator->step > 0 ? 0 : list.items_in(next) - 1});
    }
    PyObject* item = *iterator->at;
    iterator->at += iterator->step;
    return item;
}

PyObject* iterator_next(PyObject* self) {
    auto* iterator = reinterpret_cast<ListIterator*>(self);

#ifndef Py_GIL_DISABLED // the shortest way: nothing is locked
    if (iterator->at != iterator->end && list_of(iterator->owner).version == iterator->version) {
        PyObject* item = *iterator->at;
        constexpr ptrdiff_t ahead = 6; // a key in order is often one that the cache has not
        if ((iterator->end - iterator->at) * iterator->step > ahead)
            __builtin_prefetch(iterator->at[ahead * iterator->step]);
        iterator->at += iterator->step;
        return Py_NewRef(item);
    }
#endif
    return returning([&]() -> PyObject* {
        nb::object owner; // dropped last, without the locks
        {
            Locked own(self);
            owner = nb::borrow(iterator->owner);
        }
        if (!owner.is_valid())
            return nullptr;
        BothLocked lock(self, owner);
        PyObject* next = iterator->owner ? step(iterator) : nullptr;
        if (!next)
            Py_CLEAR(iterator->owner);
        return Py_XNewRef(next);
    });
}

size_t iterator_hint(PyObject* self) { return reinterpret_cast<ListIterator*>(self)->to_come(); }

int iterator_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reinterpret_cast<ListIterator*>(self)->owner);
    return 0;
}

int iterator_clear(PyObject* self) {
    auto* iterator = reinterpret_cast<ListIterator*>(self);
    iterator->at = iterator->end;
    iterator->left = 0;
    Py_CLEAR(iterator->owner);
    return 0;
}

void iterator_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    iterator_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

PyMethodDef iterator_methods[] = {
    method<"__length_hint__($self)\n--\n\n", iterator_hint>(),
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot iterator_slots[] = {
    {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(iterator_next)},
    {Py_tp_methods, iterator_methods},
    {Py_tp_traverse, reinterpret_cast<void*>(iterator_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(iterator_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(iterator_dealloc)},
    {0, nullptr},
};

PyType_Spec iterator_spec = {
    "lathwork.SortedListIterator", sizeof(ListIterator), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, iterator_slots};

// ---- life ----

PyObject* list_new(PyTypeObject* type, PyObject*, PyObject*) {
    auto alloc = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    PyObject* self = alloc(type, 0);

    if (self)
        new (&list_of(self)) List();
    return self;
}

int list_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return list_of(self).traverse(visit, arg);
}

int list_clear(PyObject* self) {
    ListChunks gone = list_of(self).take();
    return 0;
}

void list_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    list_of(self).~List();
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

// ---- look-ups ----

int list_contains(PyObject* self, PyObject* value) {
    return guarded(-1, [&]() -> int {
        Locked lock(self);
        List& list = list_of(self);
        nb::object key = list.key_of(value);
        List::Place place;
        return list.find(key.ptr(), value, &place);
    });
}

Py_ssize_t list_index_of(List& list, PyObject* value) {
    nb::object key = list.key_of(value);
    List::Place place;
    bool there = list.find(key.ptr(), value, &place);
    return there ? static_cast<Py_ssize_t>(list.position_of(place)) : Py_ssize_t{-1};
}

template <bool right, bool by_key = false>
size_t list_bisect(List& list, PyObject* value) {
    nb::object key = by_key ? nb::borrow(value) : list.key_of(value);
    return list.position_of(list.bisect(key.ptr(), right));
}

Py_ssize_t list_length(PyObject* self) {
    Locked lock(self);
    return static_cast<Py_ssize_t>(list_of(self).size());
}

PyObject* walk_all(PyObject* self, bool backward) {
    return returning([&] {
        Locked lock(self);
        return walk(self, 0, list_of(self).size(), backward, list_of(self).version);
    });
}

PyObject* list_iter(PyObject* self) { return walk_all(self, false); }

PyObject* list_reversed(PyObject* self) { return walk_all(self, true); }

// _walk(start, stop, backward): an iterator over the items at these positions
PyObject* list_walk(PyObject* self, PyObject* start, PyObject* stop, PyObject* reverse) {
    auto first = static_cast<size_t>(number_of(start)),
         behind = static_cast<size_t>(number_of(stop));
    bool backward = truth_of(reverse);
    Locked lock(self);

    return walk(self, first, std::min(behind, list_of(self).size()), backward,
                list_of(self).version);
}

// From key to key, None: no limit. low_in, high_in: whether the limit belongs to it.
PyObject* list_walk_between(PyObject* self, PyObject* low, PyObject* low_in, PyObject* high,
                            PyObject* high_in, PyObject* reverse) {
    bool first = truth_of(low_in), last = truth_of(high_in), backward = truth_of(reverse);
    Locked lock(self);
    List& list = list_of(self);

    for (;;) {
        uint64_t before = list.version;
        size_t start = low == Py_None ? 0 : list.position_of(list.bisect(low, !first));
        size_t stop = high == Py_None ? list.size() : list.position_of(list.bisect(high, last));
        if (before == list.version) // else another comparison has ended, and a change was made
            return walk(self, start, stop, backward, before);
    }
}

// ---- positions ----

struct Slice {
    Py_ssize_t start, stop, step, count = 0;

    explicit Slice(PyObject* index) {
        checked(PySlice_Unpack(index, &start, &stop, &step)); // may run __index__ of the limits
    }
    Slice in(const List& list) const {
        Slice slice = *this;
        slice.count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(list.size()), &slice.start,
                                            &slice.stop, step);
        return slice;
    }
};

// Fills a list of Python's that no one else has with the items at these positions.
void fill(PyObject* made, List& list, const Slice& slice) {
    for (Py_ssize_t i = 0; i < slice.count;) {
        List::Place place = list.place_of(static_cast<size_t>(slice.start + i * slice.step));
        PyObject** items = list.begin_of(place.chunk);
        size_t n = list.items_in(place.chunk);
        do {
            __builtin_prefetch(items[std::min(place.at + 8, n - 1)]);
            set_item(made, i++, Py_NewRef(items[place.at++]));
        } while (slice.step == 1 && place.at < n && i < slice.count);
    }
}

PyObject* slice_list(List& list, PyObject* index) {
    Slice whole(index);

    for (;;) {
        uint64_t version = list.version;
        Slice slice = whole.in(list);
        // Before Python 3.12 this allocation may run finalizers, which may change the list.
        nb::object made = checked(PyList_New(slice.count));
        if (version != list.version)
            continue;
        fill(made.ptr(), list, slice);
        return made.release().ptr();
    }
}

PyObject* list_get(PyObject* self, PyObject* index) {
    return returning([&] {
        Locked lock(self);
        List& list = list_of(self);
        if (PySlice_Check(index))
            return slice_list(list, index);
        return Py_NewRef(
            list.at(list.place_of(position_in(list, index, "list index out of range"))));
    });
}

// By which C code knows a sequence.
PyObject* list_item(PyObject* self, Py_ssize_t index) {
    return returning([&] {
        Locked lock(self);
        List& list = list_of(self);
        if (index < 0 || static_cast<size_t>(index) >= list.size())
            raise(PyExc_IndexError, "list index out of range");
        return Py_NewRef(list.at(list.place_of(static_cast<size_t>(index))));
    });
}

// The item at a position, taken out.
nb::object take(List& list, PyObject* index, const char* text) {
    size_t position = position_in(list, index, text);

    list.writing();
    return list.erase(list.place_of(position));
}

void erase_at(List& list, PyObject* index) {
    Dropped gone;

    if (!PySlice_Check(index))
        return void(take(list, index, "list assignment index out of range"));
    Slice slice = Slice(index).in(list);
    list.writing();
    if (slice.count && static_cast<size_t>(slice.count) == list.size())
        return list.clear();
    if (slice.step < 0) {
        slice.start += (slice.count - 1) * slice.step;
        slice.step = -slice.step;
    }
    std::vector<size_t> positions;
    for (; slice.count-- > 0; slice.start += slice.step)
        positions.push_back(static_cast<size_t>(slice.start));
    list.erase(positions, &gone);
}

int list_set(PyObject* self, PyObject* index, PyObject* value) {
    return guarded(-1, [&] {
        if (value)
            raise(PyExc_NotImplementedError, "use ``del sl[index]`` and ``sl.add(value)`` instead");
        Locked lock(self);
        erase_at(list_of(self), index);
        return 0;
    });
}

nb::object list_pop(List& list, PyObject* index) {
    return take(list, index, list.size() ? "pop index out of range" : "pop from empty list");
}

// ---- changes ----

// Takes the references of what is in a list of Python's, which lives on and does not change.
List::Refs refs_of(const nb::object& list) {
    List::Refs refs(static_cast<size_t>(PyList_Size(list.ptr())));

    for (size_t i = 0; i < refs.size(); i++)
        refs[i] = PyList_GetItem(list.ptr(), static_cast<Py_ssize_t>(i));
    return refs;
}

template <bool must>
void list_remove(List& list, PyObject* value) {
    nb::object key = list.key_of(value), gone;
    List::Place place;

    list.writing();
    if (list.find(key.ptr(), value, &place))
        gone = list.erase(place);
    else if (must)
        raise(PyExc_ValueError, "%R not in list", value);
}

void list_add(List& list, PyObject* value) {
    nb::object key = list.key_of(value);
    list.add(key.ptr(), value);
}

void list_update(PyObject* self, PyObject* iterable) {
    nb::object values = list_from(iterable); // before the lock: it may be self
    Locked lock(self);
    update(list_of(self), values);
}

// Becomes these values and their keys, which are sorted.
void assign(List& list, const nb::object& keys, const nb::object& values) {
    list.assign(refs_of(keys), list.keyed() ? refs_of(values) : List::Refs());
}

void list_assign(List& list, PyObject* keys, PyObject* values) {
    assign(list, list_from(keys), list_from(values));
}

// Becomes a copy of another List with the same key function. Returns the other one's version.
uint64_t list_copy(PyObject* self, PyObject* other) {
    if (!PyObject_TypeCheck(other, list_type))
        raise(PyExc_TypeError, "only a sorted list can be copied");
    BothLocked lock(self, other);
    list_of(self).assign(list_of(other).refs(true), list_of(other).refs(false));
    return list_of(other).version;
}

uint64_t list_version(List& list) { return list.version; }

void list_empty(List& list) {
    list.writing();
    list.clear();
}

void list_restart(List& list, PyObject* key) {
    ListChunks gone; // dropped last
    list.restart(nb::borrow(key), &gone);
}

PyObject* list_key(PyObject* self, void*) {
    return returning([&] { return list_of(self).key_function().release().ptr(); });
}

size_t list_sizeof(PyObject* self) {
    Locked lock(self);
    nb::object own = nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(self))).attr("__basicsize__");
    return nb::cast<size_t>(own) + list_of(self).memory();
}

PyMethodDef list_methods[] = {
    method<"bisect_left($self, value)\n--\n\nThe position of a value, before equal ones. O(log n)",
           list_bisect<false>, List>(),
    method<"bisect_right($self, value)\n--\n\nThe position of a value, behind equal ones. O(log n)",
           list_bisect<true>, List>(),
    method<"bisect($self, value)\n--\n\nThe position of a value, behind equal ones. O(log n)",
           list_bisect<true>, List>(),
    method<"_bisect_key_left($self, key)\n--\n\n", list_bisect<false, true>, List>(),
    method<"_bisect_key_right($self, key)\n--\n\n", list_bisect<true, true>, List>(),
    method<"add($self, value)\n--\n\nAdd a value. O(log n)", list_add, List>(),
    method<"pop($self, index=-1)\n--\n\nRemove the value at a position and return it. O(log n)",
           list_pop, List>(),
    method<"clear($self)\n--\n\nRemove everything. O(n)", list_empty, List>(),
    method<"discard($self, value)\n--\n\nRemove one value if it is there. O(log n)",
           list_remove<false>, List>(),
    method<"remove($self, value)\n--\n\nRemove one value. Raises ValueError if it is not there. "
           "O(log n)",
           list_remove<true>, List>(),
    method<"_index_of($self, value)\n--\n\n", list_index_of, List>(),
    method<"_update($self, iterable)\n--\n\n", list_update>(),
    method<"_assign($self, keys, values)\n--\n\n", list_assign, List>(),
    method<"_copy($self, other)\n--\n\n", list_copy>(),
    method<"_version($self)\n--\n\n", list_version, List>(),
    method<"_restart($self, key)\n--\n\n", list_restart, List>(),
    method<"_walk($self, start, stop, backward)\n--\n\n", list_walk>(),
    method<"_walk_between($self, low, low_in, high, high_in, backward)\n--\n\n",
           list_walk_between>(),
    method<"_verify($self)\n--\n\n", &List::verify, List>(),
    method<"__reversed__($self)\n--\n\nIterate in descending order.", list_reversed>(),
    method<"__sizeof__($self)\n--\n\n", list_sizeof>(),
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef list_getters[] = {
    {"key", list_key, nullptr, "The function that orders the items, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot list_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(list_new)},
    {Py_tp_traverse, reinterpret_cast<void*>(list_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(list_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(list_dealloc)},
    {Py_tp_iter, reinterpret_cast<void*>(list_iter)},
    {Py_tp_methods, list_methods},
    {Py_tp_getset, list_getters},
    {Py_mp_length, reinterpret_cast<void*>(list_length)},
    {Py_sq_length, reinterpret_cast<void*>(list_length)},
    {Py_sq_item, reinterpret_cast<void*>(list_item)},
    {Py_sq_contains, reinterpret_cast<void*>(list_contains)},
    {Py_mp_subscript, reinterpret_cast<void*>(list_get)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(list_set)},
    {0, nullptr},
};

PyType_Spec list_spec = {"lathwork._core.List", sizeof(ListObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, list_slots};

} // namespace

nb::object list_from(PyObject* iterable) {
    return checked(PySequence_List(iterable)); // may run code of the caller's
}

void update(List& list, const nb::object& values) {
    nb::object key = list.key_function();
    uint64_t version = list.version;
    bool many = static_cast<size_t>(PyList_Size(values.ptr())) >= list.size() / 8;
    nb::object all = values;

    if (many && list.size()) { // they are sorted with those that are there
        nb::list both;
        for (PyObject* old : list.refs(false))
            both.append(nb::handle(old));
        both.extend(values);
        all = both;
    }
    // Runs code of the caller's: a key function or a comparison, of this thread or another one.
    nb::object pair = nb::borrow(list_order)(all, key);
    if (version != list.version || !key.is(list.key_function()))
        raise(PyExc_RuntimeError, "the container changed during the call");
    if (many)
        assign(list, pair[0], pair[1]);
    else
        list.merge(refs_of(pair[0]), refs_of(pair[1]));
}

// The allocation may run finalizers: if they change the list, the first step raises RuntimeError.
PyObject* walk(PyObject* owner, size_t start, size_t stop, bool backward, uint64_t version) {
    List& list = list_of(owner);
    auto* made = PyObject_GC_New(ListIterator, iterator_type);

    if (!made)
        throw nb::python_error();
    made->owner = Py_NewRef(owner);
    made->at = made->end = nullptr;
    made->step = backward ? -1 : 1;
    made->left = start < stop ? stop - start : 0;
    made->version = version;
    if (made->left && version == list.version)
        made->enter(list, list.place_of(backward ? stop - 1 : start));
    PyObject_GC_Track(made);
    return &made->head;
}

PyObject* new_list() { return list_new(list_class, nullptr, nullptr); }

void bind_lists(nb::module_& module) {
    auto make = [&](PyType_Spec* spec) {
        nb::object type = checked(PyType_FromSpec(spec));
        return reinterpret_cast<PyTypeObject*>(type.release().ptr());
    };
    iterator_type = make(&iterator_spec);
    list_type = make(&list_spec);
    module.def("_lists_are", [](nb::handle type, nb::handle order) {
        list_class = reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr());
        list_order = order.inc_ref().ptr();
    });
    module.attr("List") = nb::handle(reinterpret_cast<PyObject*>(list_type));
    bind_hashed(module);
}

} // namespace lathpy
