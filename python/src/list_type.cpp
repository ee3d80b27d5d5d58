// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The type List of lathwork._core, on which SortedList is built, and its iterator. They are made
// without nanobind: a call of it costs more than what most of these methods do.
#include "list_object.hpp"
#include "modules.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace lathpy {

namespace {

PyTypeObject *list_type, *iterator_type;
PyTypeObject* list_class; // lathwork.SortedList, once it is there

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

// An iterator over the items at positions [start, stop) of a list that has this version. The
// allocation may run finalizers: if they change the list, the first step raises RuntimeError.
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

// The next item, borrowed, or NULL at the end. Throws RuntimeError if the list has changed.
PyObject* step(ListIterator* iterator) {
    List& list = list_of(iterator->owner);

    if (list.version != iterator->version)
        raise(PyExc_RuntimeError, "the container changed during the iteration");
    if (iterator->at == iterator->end) {
        if (iterator->left == 0)
            return nullptr;
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
        PyObject* item = iterator->owner ? step(iterator) : nullptr;
        if (!item) {
            iterator->at = iterator->end;
            Py_CLEAR(iterator->owner);
        }
        return Py_XNewRef(item);
    });
}

// For copy and pickle: iter, and a list of the items to come. The iterator does not move.
PyObject* iterator_reduce(PyObject* self, PyObject*) {
    return returning([&] {
        auto* iterator = reinterpret_cast<ListIterator*>(self);
        std::vector<nb::object> items;
        nb::list list;
        {
            Locked own(self);
            nb::object owner = nb::borrow(iterator->owner);
            if (owner.is_valid()) {
                BothLocked lock(self, owner);
                ListIterator copy = *iterator;
                while (PyObject* item = copy.owner ? step(&copy) : nullptr)
                    items.push_back(nb::borrow(item));
            }
        }
        for (nb::object& item : items)
            list.append(item);
        nb::object iter = nb::module_::import_("builtins").attr("iter");
        return nb::make_tuple(iter, nb::make_tuple(list)).release().ptr();
    });
}

PyObject* iterator_hint(PyObject* self, PyObject*) {
    return PyLong_FromSize_t(reinterpret_cast<ListIterator*>(self)->to_come());
}

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
    {"__length_hint__", iterator_hint, METH_NOARGS, nullptr},
    {"__reduce__", iterator_reduce, METH_NOARGS, nullptr},
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
    List& list = list_of(self);
    ListChunks gone = list.take();
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

PyObject* list_index_of(PyObject* self, PyObject* value) {
    return returning([&] {
        Locked lock(self);
        List& list = list_of(self);
        nb::object key = list.key_of(value);
        List::Place place;
        bool there = list.find(key.ptr(), value, &place);
        return PyLong_FromSsize_t(there ? static_cast<Py_ssize_t>(list.position_of(place))
                                        : Py_ssize_t{-1});
    });
}

PyObject* rank(PyObject* self, nb::object key, bool right) {
    List& list = list_of(self);
    return PyLong_FromSize_t(list.position_of(list.bisect(key.ptr(), right)));
}

template <bool right, bool by_key>
PyObject* list_bisect(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    return returning([&] {
        PyObject* value = only_argument(args, n, names, by_key ? "key" : "value");
        Locked lock(self);
        return rank(self, by_key ? nb::borrow(value) : list_of(self).key_of(value), right);
    });
}

Py_ssize_t list_length(PyObject* self) {
    Locked lock(self);
    return static_cast<Py_ssize_t>(list_of(self).size());
}

PyObject* list_iter(PyObject* self) {
    return returning([&] {
        Locked lock(self);
        return walk(self, 0, list_of(self).size(), false, list_of(self).version);
    });
}

PyObject* list_reversed(PyObject* self, PyObject*) {
    return returning([&] {
        Locked lock(self);
        return walk(self, 0, list_of(self).size(), true, list_of(self).version);
    });
}

// _walk_slice(slice, backward): an iterator over a slice without a step
PyObject* list_walk_slice(PyObject* self, PyObject* args) {
    return returning([&] {
        PyObject* index;
        Py_ssize_t start, stop, step;
        int backward;
        if (!PyArg_ParseTuple(args, "Op", &index, &backward) ||
            PySlice_Unpack(index, &start, &stop, &step))
            throw nb::python_error();
        Locked lock(self);
        PySlice_AdjustIndices(static_cast<Py_ssize_t>(list_of(self).size()), &start, &stop, step);
        return walk(self, static_cast<size_t>(start), static_cast<size_t>(stop), backward,
                    list_of(self).version);
    });
}

// _walk_between(low, low inside, high, high inside, backward): from key to key, None: no limit
PyObject* list_walk_between(PyObject* self, PyObject* args) {
    return returning([&] {
        PyObject *low, *high;
        int low_inside, high_inside, backward;
        if (!PyArg_ParseTuple(args, "OpOpp", &low, &low_inside, &high, &high_inside, &backward))
            throw nb::python_error();
        Locked lock(self);
        List& list = list_of(self);
        for (;;) {
            uint64_t before = list.version;
            size_t start = low == Py_None ? 0 : list.position_of(list.bisect(low, !low_inside));
            size_t stop =
                high == Py_None ? list.size() : list.position_of(list.bisect(high, high_inside));
            if (before == list.version) // else another comparison has ended, and a change was made
                return walk(self, start, stop, backward, before);
        }
    });
}

// ---- positions ----

struct Slice {
    Py_ssize_t start, stop, step, count = 0;

    explicit Slice(PyObject* index) {
        if (PySlice_Unpack(index, &start, &stop, &step)) // may run __index__ of the limits
            throw nb::python_error();
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
    List::Place place = list.place_of(static_cast<size_t>(slice.start));

    for (Py_ssize_t i = 0; i < slice.count;) {
        PyObject** items = list.begin_of(place.chunk);
        size_t n = list.items_in(place.chunk);
        if (slice.step == 1) {
            for (; place.at < n && i < slice.count; place.at++, i++) {
                __builtin_prefetch(items[std::min(place.at + 8, n - 1)]);
                set_item(made, i, Py_NewRef(items[place.at]));
            }
            place = {place.chunk + 1, 0};
            continue;
        }
        set_item(made, i++, Py_NewRef(items[place.at]));
        if (i < slice.count && slice.step != -1)
            place = list.place_of(static_cast<size_t>(slice.start + i * slice.step));
        else if (i < slice.count)
            list.previous(&place);
    }
}

PyObject* slice_list(List& list, PyObject* index) {
    Slice whole(index);

    for (;;) {
        uint64_t version = list.version;
        Slice slice = whole.in(list);
        // Before Python 3.12 this allocation may run finalizers, which may change the list.
        nb::object made = nb::steal(PyList_New(slice.count));
        if (!made.is_valid())
            throw nb::python_error();
        if (version != list.version)
            continue;
        if (slice.count)
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
            list.at(list.place_of(list_position(list, index, "list index out of range"))));
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

void erase_at(List& list, PyObject* index) {
    Dropped gone;

    if (!PySlice_Check(index)) {
        size_t position = list_position(list, index, "list assignment index out of range");
        list.writing();
        gone.push_back(list.erase(list.place_of(position)));
        return;
    }
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

PyObject* list_pop(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    return returning([&] {
        PyObject* index = only_argument(args, n, names, "index", true);
        Locked lock(self);
        List& list = list_of(self);
        const char* text = list.size() ? "pop index out of range" : "pop from empty list";
        size_t position = list_position(list, index, text);
        list.writing();
        return list.erase(list.place_of(position)).release().ptr();
    });
}

// ---- changes ----

// Takes the references of what is in a list of Python's, which lives on and does not change.
List::Refs refs_of(const nb::object& list) {
    List::Refs refs(static_cast<size_t>(PyList_Size(list.ptr())));

    for (size_t i = 0; i < refs.size(); i++)
        refs[i] = PyList_GetItem(list.ptr(), static_cast<Py_ssize_t>(i));
    return refs;
}

PyObject* list_add(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
    return returning([&] {
        PyObject* value = only_argument(args, n, names, "value");
        Locked lock(self);
        List& list = list_of(self);
        nb::object key = list.key_of(value);
        list.add(key.ptr(), value);
        return Py_NewRef(Py_None);
    });
}

// Returns whether there was one.
PyObject* list_discard(PyObject* self, PyObject* value) {
    return returning([&] {
        Locked lock(self);
        return PyBool_FromLong(take_value(list_of(self), value));
    });
}

PyObject* list_update(PyObject* self, PyObject* iterable) {
    return returning([&] {
        nb::object values = nb::steal(PySequence_List(iterable)); // before the lock: it may be self
        if (!values.is_valid())
            throw nb::python_error();
        Locked lock(self);
        update(list_of(self), values);
        return Py_NewRef(Py_None);
    });
}

// _assign(values): becomes these, which are sorted.
PyObject* list_assign(PyObject* self, PyObject* values) {
    return returning([&] {
        nb::object list = nb::steal(PySequence_List(values));
        if (!list.is_valid())
            throw nb::python_error();
        Locked lock(self);
        List& mine = list_of(self);
        nb::list keys;
        if (mine.keyed())
            for (nb::handle value : nb::borrow<nb::list>(list))
                keys.append(mine.key_of(value.ptr()));
        List::Refs refs = refs_of(list);
        mine.assign(mine.keyed() ? refs_of(keys) : refs, refs);
        return Py_NewRef(Py_None);
    });
}

PyObject* list_empty(PyObject* self, PyObject*) {
    return returning([&] {
        Locked lock(self);
        list_of(self).writing();
        list_of(self).clear();
        return Py_NewRef(Py_None);
    });
}

PyObject* list_restart(PyObject* self, PyObject* key) {
    return returning([&] {
        Locked lock(self);
        ListChunks gone; // dropped last
        list_of(self).restart(nb::borrow(key), &gone);
        return Py_NewRef(Py_None);
    });
}

PyObject* list_key(PyObject* self, void*) {
    return returning([&] { return list_of(self).key_function().release().ptr(); });
}

PyObject* list_verify(PyObject* self, PyObject*) {
    return returning([&] {
        Locked lock(self);
        list_of(self).verify();
        return Py_NewRef(Py_None);
    });
}

PyObject* list_sizeof(PyObject* self, PyObject*) {
    return returning([&] {
        Locked lock(self);
        nb::object own =
            nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(self))).attr("__basicsize__");
        return PyLong_FromSize_t(nb::cast<size_t>(own) + list_of(self).memory());
    });
}

#define BISECT(name, argument, right, by_key, text)      \
    {name, fast(list_bisect<right, by_key>), fast_flags, \
     name "($self, " argument ")\n--\n\nThe position of a " argument ", " text " O(log n)"}

PyMethodDef list_methods[] = {
    BISECT("bisect_left", "value", false, false, "before equal ones."),
    BISECT("bisect_right", "value", true, false, "behind equal ones."),
    BISECT("bisect", "value", true, false, "behind equal ones."),
    BISECT("_bisect_key_left", "key", false, true, "before equal ones."),
    BISECT("_bisect_key_right", "key", true, true, "behind equal ones."),
    {"add", fast(list_add), fast_flags, "add($self, value)\n--\n\nAdd a value. O(log n)"},
    {"pop", fast(list_pop), fast_flags,
     "pop($self, index=-1)\n--\n\nRemove the value at a position and return it. O(log n)"},
    {"clear", list_empty, METH_NOARGS, "clear($self)\n--\n\nRemove everything. O(n)"},
    {"_discard", list_discard, METH_O, nullptr},
    {"_index_of", list_index_of, METH_O, nullptr},
    {"_update", list_update, METH_O, nullptr},
    {"_assign", list_assign, METH_O, nullptr},
    {"_restart", list_restart, METH_O, nullptr},
    {"_walk_slice", list_walk_slice, METH_VARARGS, nullptr},
    {"_walk_between", list_walk_between, METH_VARARGS, nullptr},
    {"_verify", list_verify, METH_NOARGS, nullptr},
    {"__reversed__", list_reversed, METH_NOARGS, "Iterate in descending order."},
    {"__sizeof__", list_sizeof, METH_NOARGS, nullptr},
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

PyObject* only_argument(PyObject* const* args, Py_ssize_t n, PyObject* names, const char* name,
                        bool optional) {
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;

    if (n == 1 && named == 0)
        return args[0];
    if (n == 0 && named == 1 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), name) == 0)
        return args[0];
    if (n + named == 0 && optional)
        return nullptr;
    PyErr_Format(PyExc_TypeError, "expected one argument, %s, not %zd", name, n + named);
    throw nb::python_error();
}

size_t list_position(const List& list, PyObject* index, const char* text) {
    int64_t number = index ? number_of(index) : -1; // the size is that after __index__
    auto size = static_cast<int64_t>(list.size());

    number += number < 0 ? size : 0;
    if (number < 0 || number >= size)
        raise(PyExc_IndexError, text);
    return static_cast<size_t>(number);
}

bool take_value(List& list, PyObject* value) {
    nb::object key = list.key_of(value), gone;
    List::Place place;

    list.writing();
    if (!list.find(key.ptr(), value, &place))
        return false;
    gone = list.erase(place);
    return true;
}

void update(List& list, const nb::object& values) {
    nb::object keys, key = list.key_function();
    List::Refs sorted_keys, sorted;
    uint64_t version = list.version;

    if (list.keyed()) {
        nb::list made, order;
        for (nb::handle value : nb::borrow<nb::list>(values))
            made.append(list.key_of(value.ptr()));
        for (size_t i = 0; i < nb::len(made); i++)
            order.append(nb::int_(i));
        order.attr("sort")(nb::arg("key") = made.attr("__getitem__"));
        List::Refs all_keys = refs_of(made), all = refs_of(values);
        for (nb::handle i : order) {
            sorted_keys.push_back(all_keys[nb::cast<size_t>(i)]);
            sorted.push_back(all[nb::cast<size_t>(i)]);
        }
        keys = made;
    } else {
        if (PyList_Sort(values.ptr()))
            throw nb::python_error();
        sorted = refs_of(values);
    }
    // A key function or a comparison, of this thread or another one
    if (version != list.version || !key.is(list.key_function()))
        raise(PyExc_RuntimeError, "the container changed during the call");
    list.merge(list.keyed() ? sorted_keys : sorted, sorted);
}

PyObject* new_list() { return list_new(list_class, nullptr, nullptr); }

void bind_lists(nb::module_& module) {
    auto make = [&](PyType_Spec* spec) {
        nb::object type = nb::steal(PyType_FromSpec(spec));
        if (!type.is_valid())
            throw nb::python_error();
        return reinterpret_cast<PyTypeObject*>(type.release().ptr());
    };
    iterator_type = make(&iterator_spec);
    list_type = make(&list_spec);
    module.def("_lists_are", [](nb::handle type) {
        list_class = reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr());
    });
    module.attr("List") = nb::handle(reinterpret_cast<PyObject*>(list_type));
    bind_hashed(module);
}

} // namespace lathpy
