// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The types Dict and Set of lathwork._core: a dict and a set of Python's, each beside a List of its
// keys. SortedDict and SortedSet derive from them. Look-ups are those that they inherit.
//
// Changes hold the lock of the list. A call on the hash table may run __hash__ and __eq__ of keys,
// and these may change the container. So what was found in the list is looked for again if the
// list's version is another one behind such a call, and neither of the two keeps a key that the
// other one has lost.
#include "list_object.hpp"
#include "modules.hpp"

#include <algorithm>
#include <new>
#include <unordered_set>

namespace lathpy {

namespace {

// What a type inherits from dict or set. The list is behind what its objects have.
struct Base {
    PyTypeObject* type;
    Py_ssize_t size = 0;
    objobjproc contains = nullptr;
    binaryfunc get = nullptr; // of dict

    template <class Function>
    Function slot(int which) const {
        return reinterpret_cast<Function>(PyType_GetSlot(type, which));
    }
    PyObject*& list(PyObject* self) const {
        return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + size);
    }
};
Base dict_base = {&PyDict_Type}, set_base = {&PySet_Type};
PyObject* empty; // ()
PyTypeObject* set_type; // Set

template <Base& base>
PyObject* hashed_new(PyTypeObject* type, PyObject*, PyObject*) {
    PyObject* self = base.slot<newfunc>(Py_tp_new)(type, empty, nullptr);

    if (self && !(base.list(self) = new_list()))
        Py_CLEAR(self);
    return self;
}

template <Base& base>
int hashed_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(base.list(self));
    return base.slot<traverseproc>(Py_tp_traverse)(self, visit, arg);
}

// The list stays, as it breaks cycles by itself.
template <Base& base>
int hashed_clear(PyObject* self) {
    return base.slot<inquiry>(Py_tp_clear)(self);
}

template <Base& base>
void hashed_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    Py_CLEAR(base.list(self));
    base.slot<destructor>(Py_tp_dealloc)(self);
    Py_DECREF(type);
}

// These two make `in` and `[]` of a class of Python's direct calls: dict and set have methods for
// them.
template <Base& base>
int hashed_contains(PyObject* self, PyObject* key) {
    return base.contains(self, key);
}

template <Base& base>
PyObject* hashed_get(PyObject* self, PyObject* key) {
    return base.get(self, key);
}

template <Base& base>
PyObject* hashed_iter(PyObject* self) {
    return PyObject_GetIter(base.list(self));
}

template <Base& base>
PyObject* hashed_reversed(PyObject* self) {
    return PyObject_CallMethod(base.list(self), "__reversed__", nullptr);
}

template <Base& base>
PyObject* hashed_list(PyObject* self, void*) {
    return Py_NewRef(base.list(self));
}

void must_succeed(int result) {
    if (result < 0)
        throw nb::python_error();
}

// A place in a list as long as that does not change.
class Found {
public:
    Found(List& list, PyObject* key) : list(list), key(key) { look(); }
    Found(List& list, PyObject* key, List::Place place)
        : list(list), key(key), place(place), version(list.version), there(true) {}

    // Takes the key out of the list. The hash table has lost it.
    nb::object take() {
        if (version != list.version) {
            list.writing();
            look();
        }
        return there ? list.erase(place) : nb::object();
    }
    bool is_there() const { return there; }
    List::Place at() const { return place; }

private:
    void look() {
        nb::object order = list.key_of(key);
        there = list.find(order.ptr(), key, &place);
        if (!there) // a key that has changed, or a NaN, is not where its order says
            for (place = {}; place.chunk < list.chunk_count(); list.next(&place))
                if ((there = list.at(place) == key))
                    break;
        version = list.version;
    }

    List& list;
    PyObject* key;
    List::Place place;
    uint64_t version = 0;
    bool there = false;
};

// Begins anew, empty, with another key function or None.
template <Base& base>
void hashed_restart(PyObject* self, PyObject* key) {
    Locked lock(base.list(self));
    List& list = list_of(base.list(self));
    ListChunks gone; // dropped last

    list.restart(nb::borrow(key), &gone);
    PyDict_Check(self) ? PyDict_Clear(self) : must_succeed(PySet_Clear(self));
}

template <Base& base>
void hashed_empty(PyObject* self) {
    Locked lock(base.list(self));
    List& list = list_of(base.list(self));

    list.writing();
    ListChunks gone = list.take(); // dropped last
    PyDict_Check(self) ? PyDict_Clear(self) : must_succeed(PySet_Clear(self));
}

// ---- many keys at once ----

template <class Each>
void for_each(const nb::object& list, Each each) {
    for (Py_ssize_t i = 0; i < PyList_Size(list.ptr()); i++)
        each(nb::borrow(PyList_GetItem(list.ptr(), i)));
}

int discard(PyObject* self, PyObject* key) {
    if (PyAnySet_Check(self))
        return PySet_Discard(self, key);
    return PyDict_DelItem(self, key);
}

// The value that a dict has for a key, or nothing.
nb::object value_of(PyObject* self, PyObject* key) {
#ifdef Py_GIL_DISABLED
    PyObject* found = nullptr;
    (void)PyDict_GetItemRef(self, key, &found);
    nb::object value = nb::steal(found);
#else
    nb::object value = nb::borrow(PyDict_GetItemWithError(self, key));
#endif
    if (!value.is_valid() && PyErr_Occurred())
        throw nb::python_error();
    return value;
}

// References to the values that a dict has for these keys.
void hold_values(PyObject* self, const nb::object& keys, Dropped* values) {
    for_each(keys, [&](const nb::object& key) { values->push_back(value_of(self, key.ptr())); });
}

// The keys of the hash table, in no order.
nb::object keys_of(PyObject* self) {
    nb::object copy = PyDict_Check(self) ? nb::borrow(self) : nb::steal(PySet_New(self));
    must_succeed(copy.is_valid() ? 0 : -1);
    nb::object keys =
        nb::steal(PyDict_Check(self) ? PyDict_Keys(self) : PySequence_List(copy.ptr()));
    must_succeed(keys.is_valid() ? 0 : -1);
    return keys;
}

// After an error: takes out of the hash table the keys that the list has not, and the other way
// round. The two have the same objects, so nothing is compared.
void forget_new(PyObject* self, List& list) {
    nb::object keys = keys_of(self);
    std::unordered_set<PyObject*> there, listed;
    std::vector<size_t> positions;
    Dropped gone;
    List::Place place;

    for_each(keys, [&](const nb::object& key) { there.insert(key.ptr()); });
    for (size_t i = 0; i < list.size(); i++, list.next(&place)) {
        listed.insert(list.at(place));
        if (!there.count(list.at(place)))
            positions.push_back(i);
    }
    list.erase(positions, &gone);
    for_each(keys, [&](const nb::object& key) {
        if (!listed.count(key.ptr()))
            must_succeed(discard(self, key.ptr()));
    });
}

// After a call that has put a key into the hash table, which has `grown` or not since the list had
// this version: the list gets it too. If it does not compare, the table loses it again.
template <Base& base>
void follow(PyObject* self, PyObject* key, uint64_t version, bool grown) {
    List& list = list_of(base.list(self));
    bool sure = version == list.version;

    if (sure && !grown)
        return;
    try {
        for (uint64_t now = list.version;; sure = false, now = list.version) {
            if (!sure) { // code of the caller's has changed the container
                int there = base.contains(self, key);
                must_succeed(there);
                if (!there || Found(list, key).is_there())
                    return;
            }
            nb::object order = list.key_of(key);
            if (now == list.version)
                return list.add(order.ptr(), key);
        }
    } catch (...) {
        if (version != list.version || discard(self, key) < 0)
            forget_new(self, list);
        throw;
    }
}

// Takes keys that are there out, if all can be found.
template <Base& base>
void hashed_remove_all(PyObject* self, PyObject* given) {
    nb::object keys = list_from(given);
    nb::list found;
    Locked lock(base.list(self));
    List& list = list_of(base.list(self));
    std::vector<size_t> positions;
    Dropped gone;
    uint64_t version = list.version;

    list.writing();
    for_each(keys, [&](const nb::object& key) {
        Found place(list, key.ptr());
        if (!place.is_there())
            return;
        positions.push_back(list.position_of(place.at()));
        found.append(key);
    });
    if (PyDict_Check(self)) // the values are dropped last
        hold_values(self, found, &gone);
    if (version != list.version)
        raise(PyExc_RuntimeError, "the container changed during the call");
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    try {
        for_each(found, [&](const nb::object& key) {
            if (discard(self, key.ptr()) < 0 && !PyErr_ExceptionMatches(PyExc_KeyError))
                throw nb::python_error();
            PyErr_Clear();
        });
    } catch (...) {
        forget_new(self, list);
        throw;
    }
    if (version == list.version)
        list.erase(positions, &gone);
    else // a hash or a comparison in the hash table has changed the container
        forget_new(self, list);
}

// Makes the list anew of what a dict has.
void follow_all(PyObject* self, List& list) {
    for (;;) {
        uint64_t version = list.version;
        nb::object keys = nb::steal(PyDict_Keys(self));
        if (!keys.is_valid())
            throw nb::python_error();
        List made;
        ListChunks none;
        made.restart(list.key_function(), &none);
        update(made, keys);
        if (version == list.version) // else a comparison let others change the container
            return list.exchange(made);
    }
}

// A copy of a dict if looking one of these keys up may raise, else nothing: to undo changes.
nb::object backup_of(PyObject* self, const nb::object& keys) {
    bool own = false;

    for_each(keys, [&](const nb::object& key) {
        own = own || (PyType_GetFlags(Py_TYPE(key.ptr())) & Py_TPFLAGS_HEAPTYPE);
    });
    nb::object copy = own ? nb::steal(PyDict_Copy(self)) : nb::object();
    must_succeed(own && !copy.is_valid() ? -1 : 0);
    return copy;
}

// ---- dict ----

List& dict_list(PyObject* self) { return list_of(dict_base.list(self)); }

void put(PyObject* self, PyObject* key, PyObject* value) {
    List& list = dict_list(self);
    uint64_t version = list.version;
    Py_ssize_t size = PyDict_Size(self);

    must_succeed(PyDict_SetItem(self, key, value));
    follow<dict_base>(self, key, version, PyDict_Size(self) != size);
}

// The value of a key, taken out, or nothing.
nb::object take(PyObject* self, PyObject* key) {
    List& list = dict_list(self);
    nb::object value = value_of(self, key);

    if (!value.is_valid())
        return value;
    list.writing();
    Found found(list, key);
    must_succeed(PyDict_DelItem(self, key));
    nb::object gone = found.take();
    return value;
}

int dict_set(PyObject* self, PyObject* key, PyObject* value) {
    return guarded(-1, [&] {
        Locked lock(dict_base.list(self));
        if (value)
            put(self, key, value);
        else if (!take(self, key).is_valid())
            raise_key(key);
        return 0;
    });
}

nb::object dict_pop(PyObject* self, PyObject* key, PyObject* missing) {
    Locked lock(dict_base.list(self));
    nb::object value = take(self, key);

    if (!value.is_valid() && !missing)
        raise_key(key);
    return value.is_valid() ? value : nb::borrow(missing);
}

nb::object dict_setdefault(PyObject* self, PyObject* key, PyObject* value) {
    Locked lock(dict_base.list(self));
    nb::object there = value_of(self, key);

    if (there.is_valid())
        return there;
    value = value ? value : Py_None;
    put(self, key, value);
    return nb::borrow(value);
}

// The key at a position, which is `index` of a call, and its value.
std::pair<nb::object, nb::object> item_at(PyObject* self, PyObject* index, List::Place* place) {
    List& list = dict_list(self);

    *place = list.place_of(list_position(list, index, "list index out of range"));
    nb::object key = nb::borrow(list.at(*place)), value = value_of(self, key.ptr());
    if (!value.is_valid())
        raise_key(key);
    return {key, value};
}

// An iterator over the values, or over the items, in the order of the keys.
template <bool pairs>
PyObject* dict_walk(PyObject* self, PyObject* backward) {
    bool reverse = truth_of(backward);
    PyObject* owner = dict_base.list(self);
    Locked lock(owner);

    return walk(owner, 0, list_of(owner).size(), reverse, list_of(owner).version, self, pairs);
}

nb::object dict_peekitem(PyObject* self, PyObject* index) {
    Locked lock(dict_base.list(self));
    List::Place place;
    auto [key, value] = item_at(self, index, &place);

    return nb::make_tuple(std::move(key), std::move(value));
}

nb::object dict_popitem(PyObject* self, PyObject* index) {
    nb::object pair = nb::make_tuple(nb::none(), nb::none()); // now: without memory nothing is lost
    Locked lock(dict_base.list(self));
    List& list = dict_list(self);
    List::Place place;

    if (PyDict_Size(self) == 0)
        raise(PyExc_KeyError, "popitem(): dictionary is empty");
    auto [key, value] = item_at(self, index, &place);
    list.writing();
    Found found(list, key.ptr(), place);
    must_succeed(PyDict_DelItem(self, key.ptr()));
    nb::object gone = found.take();
    PyTuple_SetItem(pair.ptr(), 0, key.release().ptr());
    PyTuple_SetItem(pair.ptr(), 1, value.release().ptr());
    return pair;
}

// _update(...): sets the items of what dict() takes as the arguments of a call.
PyObject* dict_update(PyObject* self, PyObject* args, PyObject* more) {
    return returning([&] {
        Locked lock(dict_base.list(self));
        List& list = dict_list(self);
        list.writing();
        nb::object type = nb::borrow(reinterpret_cast<PyObject*>(&PyDict_Type));
        if (PyDict_Size(self) == 0) {
            nb::object method = type.attr("update").attr("__get__")(nb::handle(self));
            try {
                must_succeed(nb::steal(PyObject_Call(method.ptr(), args, more)).is_valid() ? 0
                                                                                           : -1);
                follow_all(self, list);
            } catch (...) {
                forget_new(self, list);
                throw;
            }
            return Py_NewRef(Py_None);
        }
        nb::object made = nb::steal(PyObject_Call(type.ptr(), args, more));
        must_succeed(made.is_valid() ? 0 : -1);
        nb::list fresh;
        Dropped old; // a finalizer finds the list and the dict in order
        nb::object keys = nb::steal(PyDict_Keys(made.ptr()));
        must_succeed(keys.is_valid() ? 0 : -1);
        hold_values(self, keys, &old);
        nb::object backup = backup_of(self, keys);
        uint64_t version = list.version;
        for_each(keys, [&](const nb::object& key) {
            int there = PyDict_Contains(self, key.ptr());
            must_succeed(there);
            if (!there)
                fresh.append(key);
        });
        if (version != list.version)
            raise(PyExc_RuntimeError, "the container changed during the call");
        update(list, fresh);
        version = list.version;
        if (PyDict_Update(self, made.ptr())) {
            nb::python_error error;
            if (backup.is_valid()) {
                PyDict_Clear(self);
                must_succeed(PyDict_Update(self, backup.ptr()));
            }
            forget_new(self, list);
            throw error;
        }
        if (version != list.version) // a hash or a comparison in the dict has changed the container
            follow_all(self, list);
        return Py_NewRef(Py_None);
    });
}

// ---- set ----

List& set_list(PyObject* self) { return list_of(set_base.list(self)); }

void set_add(PyObject* self, PyObject* value) {
    Locked lock(set_base.list(self));
    uint64_t version = set_list(self).version;
    Py_ssize_t size = PySet_Size(self);

    must_succeed(PySet_Add(self, value));
    follow<set_base>(self, value, version, PySet_Size(self) != size);
}

// Adds all of an iterable, or none.
void set_add_all(PyObject* self, PyObject* given) {
    nb::object values = list_from(given);
    nb::list added;
    Locked lock(set_base.list(self));
    List& list = set_list(self);
    uint64_t version = list.version;

    list.writing();
    try {
        for_each(values, [&](const nb::object& value) {
            Py_ssize_t size = PySet_Size(self);
            must_succeed(PySet_Add(self, value.ptr()));
            if (PySet_Size(self) != size)
                added.append(value);
        });
        if (version != list.version) // a hash or a comparison in the set has changed the container
            raise(PyExc_RuntimeError, "the container changed during the call");
        update(list, added);
    } catch (...) {
        forget_new(self, list);
        throw;
    }
}

// Gives a set the elements of another one, which are not hashed or compared again, and their list.
void take_over(PyObject* self, PyObject* from, List& list, List& made) {
    nb::object update = nb::borrow(reinterpret_cast<PyObject*>(&PySet_Type)).attr("update");
    uint64_t version = list.version;

    must_succeed(PySet_Clear(self));
    update(nb::handle(self), nb::handle(from));
    bool other =
        version != list.version; // a finalizer that the collector ran has changed the container
    list.exchange(made);
    if (other)
        forget_new(self, list);
}

// Becomes these, a list that is sorted and has each once.
void set_fill(PyObject* self, PyObject* given) {
    nb::object values = list_from(given);
    Locked lock(set_base.list(self));
    List& list = set_list(self);
    List made;
    ListChunks none;

    list.writing();
    made.restart(list.key_function(), &none);
    update(made, values);
    nb::object fresh = nb::steal(PySet_New(values.ptr()));
    nb::object gone = nb::steal(PySet_New(self)); // dropped last
    must_succeed(fresh.is_valid() && gone.is_valid() ? 0 : -1);
    take_over(self, fresh.ptr(), list, made);
}

// Becomes a copy of another set with the same key function.
void set_copy_from(PyObject* self, PyObject* other) {
    if (!PyObject_TypeCheck(other, set_type))
        raise(PyExc_TypeError, "only a sorted set can be copied");
    BothLocked lock(set_base.list(self), set_base.list(other));
    List &list = set_list(self), &from = set_list(other), made;
    ListChunks none;

    if (!list.key_function().is(from.key_function()))
        raise(PyExc_RuntimeError, "the container changed during the call");
    nb::object gone = nb::steal(PySet_New(self)); // dropped last
    must_succeed(gone.is_valid() ? 0 : -1);
    list.writing();
    made.restart(list.key_function(), &none);
    made.assign(from.refs(true), from.refs(false));
    take_over(self, other, list, made);
}

template <bool must>
void set_discard(PyObject* self, PyObject* value) {
    Locked lock(set_base.list(self));
    List& list = set_list(self);
    int there = PySet_Contains(self, value);

    must_succeed(there);
    if (!there && must)
        raise_key(value);
    if (!there)
        return;
    list.writing();
    Found found(list, value);
    must_succeed(PySet_Discard(self, value));
    nb::object gone = found.take();
}

nb::object set_pop(PyObject* self, PyObject* index) {
    Locked lock(set_base.list(self));
    List& list = set_list(self);
    const char* text = list.size() ? "pop index out of range" : "pop from empty list";
    List::Place place = list.place_of(list_position(list, index, text));

    list.writing();
    nb::object value = nb::borrow(list.at(place));
    Found found(list, value.ptr(), place);
    must_succeed(PySet_Discard(self, value.ptr()));
    nb::object gone = found.take();
    return value;
}

template <Base& base>
size_t hashed_sizeof(PyObject* self) {
    nb::object type = nb::borrow(reinterpret_cast<PyObject*>(base.type));
    auto own = nb::cast<size_t>(type.attr("__sizeof__")(nb::handle(self)));
    return own + nb::cast<size_t>(nb::handle(base.list(self)).attr("__sizeof__")());
}

#define SHARED(base)                                                             \
    method<"clear($self)\n--\n\nRemove everything. O(n)", hashed_empty<base>>(), \
        method<"__reversed__($self)\n--\n\nIterate in descending order.",        \
               hashed_reversed<base>>(),                                         \
        method<"__sizeof__($self)\n--\n\n", hashed_sizeof<base>>(),              \
        method<"_restart($self, key)\n--\n\n", hashed_restart<base>>(),          \
        method<"_remove_all($self, keys)\n--\n\n", hashed_remove_all<base>>(), { \
        nullptr, nullptr, 0, nullptr                                             \
    }

PyMethodDef dict_methods[] = {
    method<
        "pop($self, key, default=...)\n--\n\nRemove key and return its value, or default. Raises "
        "KeyError without one. O(log n)",
        dict_pop>(),
    method<"popitem($self, index=-1)\n--\n\nRemove the item at a position and return it. O(log n)",
           dict_popitem>(),
    method<"peekitem($self, index=-1)\n--\n\nThe item at a position. O(log n)", dict_peekitem>(),
    method<"setdefault($self, key, default=None)\n--\n\nThe value of key, which is set to default "
           "if there is none. O(log n)",
           dict_setdefault>(),
    method<"_walk_items($self, backward)\n--\n\n", dict_walk<true>>(),
    method<"_walk_values($self, backward)\n--\n\n", dict_walk<false>>(),
    {"_update", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(dict_update)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    SHARED(dict_base)};

PyMethodDef set_methods[] = {
    method<"add($self, value)\n--\n\nAdd a value. O(log n)", set_add>(),
    method<"discard($self, value)\n--\n\nRemove a value if it is there. O(log n)",
           set_discard<false>>(),
    method<
        "remove($self, value)\n--\n\nRemove a value. Raises KeyError if it is not there. O(log n)",
        set_discard<true>>(),
    method<"pop($self, index=-1)\n--\n\nRemove the value at a position and return it. O(log n)",
           set_pop>(),
    method<"_add_all($self, values)\n--\n\n", set_add_all>(),
    method<"_fill($self, values)\n--\n\n", set_fill>(),
    method<"_copy_from($self, other)\n--\n\n", set_copy_from>(),
    SHARED(set_base)};

template <Base& base>
PyGetSetDef hashed_getters[] = {
    {"_list", hashed_list<base>, nullptr, "The SortedList of the keys. Do not change it.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

template <Base& base>
nb::object make_type(const char* name, PyMethodDef* methods, void* set_item) {
    nb::object own = nb::borrow(reinterpret_cast<PyObject*>(base.type));
    PyType_Slot slots[] = {
        {Py_tp_new, reinterpret_cast<void*>(hashed_new<base>)},
        {Py_tp_traverse, reinterpret_cast<void*>(hashed_traverse<base>)},
        {Py_tp_clear, reinterpret_cast<void*>(hashed_clear<base>)},
        {Py_tp_dealloc, reinterpret_cast<void*>(hashed_dealloc<base>)},
        {Py_tp_iter, reinterpret_cast<void*>(hashed_iter<base>)},
        {Py_tp_methods, methods},
        {Py_tp_getset, hashed_getters<base>},
        {Py_sq_contains, reinterpret_cast<void*>(hashed_contains<base>)},
        {set_item ? Py_mp_subscript : 0, reinterpret_cast<void*>(hashed_get<base>)},
        {set_item ? Py_mp_ass_subscript : 0, set_item},
        {0, nullptr},
    };

    base.contains = base.slot<objobjproc>(Py_sq_contains);
    base.get = base.slot<binaryfunc>(Py_mp_subscript);
    base.size = nb::cast<Py_ssize_t>(own.attr("__basicsize__"));
    PyType_Spec spec = {name, static_cast<int>(base.size + sizeof(PyObject*)), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
    nb::object type = nb::steal(PyType_FromSpecWithBases(&spec, own.ptr()));
    if (!type.is_valid())
        throw nb::python_error();
    return type;
}

} // namespace

void bind_hashed(nb::module_& module) {
    empty = PyTuple_New(0);
    module.attr("Dict") = make_type<dict_base>("lathwork._core.Dict", dict_methods,
                                               reinterpret_cast<void*>(dict_set));
    nb::object made = make_type<set_base>("lathwork._core.Set", set_methods, nullptr);
    module.attr("Set") = made;
    set_type = reinterpret_cast<PyTypeObject*>(made.release().ptr());
}

} // namespace lathpy
