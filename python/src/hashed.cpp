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
// them. Without a GIL they and get() take the lock of the list, too: so the lock of the table, for
// which a call would give up that of the list, is always free.
template <Base& base>
int hashed_contains(PyObject* self, PyObject* key) {
    Locked lock(base.list(self));
    return base.contains(self, key);
}

template <Base& base>
PyObject* hashed_get(PyObject* self, PyObject* key) {
    Locked lock(base.list(self));
    return base.get(self, key);
}

template <Base& base>
PyObject* hashed_iter(PyObject* self) {
    return PyObject_GetIter(base.list(self));
}

template <Base& base>
PyObject* hashed_list(PyObject* self, void*) {
    return Py_NewRef(base.list(self));
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

template <class Each>
void for_each(const nb::object& list, Each each) {
    for (Py_ssize_t i = 0; i < PyList_Size(list.ptr()); i++)
        each(nb::borrow(PyList_GetItem(list.ptr(), i)));
}

nb::object type_of(const Base& base) { return nb::borrow(reinterpret_cast<PyObject*>(base.type)); }

// A call on a SortedDict or a SortedSet, which holds the lock of its list.
struct Call {
    explicit Call(PyObject* self)
        : self(self), dict(PyDict_Check(self)), owner((dict ? dict_base : set_base).list(self)),
          lock(owner), list(list_of(owner)), version(list.version) {}

    // Whether the list is that of the beginning: code of the caller's may have changed it.
    bool same() const { return version == list.version; }
    void must_be_same() const {
        if (!same())
            raise(PyExc_RuntimeError, "the container changed during the call");
    }
    Py_ssize_t size() const { return dict ? PyDict_Size(self) : PySet_Size(self); }
    bool contains(PyObject* key) const {
        return checked(dict ? PyDict_Contains(self, key) : PySet_Contains(self, key));
    }
    int discard(PyObject* key) const {
        return dict ? PyDict_DelItem(self, key) : PySet_Discard(self, key);
    }
    void empty_table() const { dict ? PyDict_Clear(self) : void(checked(PySet_Clear(self))); }
    // The value that a dict has for a key, or nothing.
    nb::object value_of(PyObject* key) const;
    // A new list of Python's of the keys of the hash table, in no order.
    nb::object keys() const {
        if (dict)
            return checked(PyDict_Keys(self));
        nb::object copy = checked(PySet_New(self));
        return list_from(copy.ptr());
    }
    // The position that an index of a call means, and the key there.
    List::Place place_of(PyObject* index, const char* text) const {
        return list.place_of(position_in(list, index, text));
    }
    void forget_new() const;
    void follow(PyObject* key, Py_ssize_t old_size) const;
    void follow_all() const;
    // Takes a key out that is there.
    void remove(PyObject* key, const List::Place* place = nullptr) const {
        list.writing();
        Found found = place ? Found(list, key, *place) : Found(list, key);
        checked(discard(key));
        nb::object gone = found.take();
    }

    PyObject* self;
    bool dict;
    PyObject* owner;
    Locked lock;
    List& list;
    uint64_t version;
};

nb::object Call::value_of(PyObject* key) const {
#ifdef Py_GIL_DISABLED
    PyObject* found = nullptr;
    checked(PyDict_GetItemRef(self, key, &found));
    return nb::steal(found);
#else
    nb::object value = nb::borrow(PyDict_GetItemWithError(self, key));
    checked(value.is_valid() || !PyErr_Occurred() ? 0 : -1);
    return value;
#endif
}

// After an error: takes out of the hash table the keys that the list has not, and the other way
// round. The two have the same objects, so nothing is compared.
void Call::forget_new() const {
    nb::object all = keys();
    std::unordered_set<PyObject*> there, listed;
    std::vector<size_t> positions;
    Dropped gone;
    List::Place place;

    for_each(all, [&](const nb::object& key) { there.insert(key.ptr()); });
    for (size_t i = 0; i < list.size(); i++, list.next(&place)) {
        listed.insert(list.at(place));
        if (!there.count(list.at(place)))
            positions.push_back(i);
    }
    list.erase(positions, &gone);
    for_each(all, [&](const nb::object& key) {
        if (!listed.count(key.ptr()))
            checked(discard(key.ptr()));
    });
}

// The call has put a key into the hash table: the list gets it too, if the table has grown. If the
// key does not compare, the table loses it again.
void Call::follow(PyObject* key, Py_ssize_t old_size) const {
    if (same() && size() == old_size)
        return;
    try {
        uint64_t now = list.version;
        for (bool sure = same();; sure = false, now = list.version) {
            // else code of the caller's has changed the container
            if (!sure && (!contains(key) || Found(list, key).is_there()))
                return;
            nb::object order = list.key_of(key);
            if (now == list.version)
                return list.add(order.ptr(), key);
        }
    } catch (...) {
        if (!same() || discard(key) < 0)
            forget_new();
        throw;
    }
}

// Makes the list anew of what the hash table has.
void Call::follow_all() const {
    for (;;) {
        uint64_t now = list.version;
        nb::object all = keys();
        List made;
        made.restart(list.key_function(), nullptr);
        update(made, all);
        if (now == list.version) // else a comparison let others change the container
            return list.exchange(made);
    }
}

// Begins anew, empty, with another key function or None.
void hashed_restart(PyObject* self, PyObject* key) {
    Call call(self);
    ListChunks gone; // dropped last

    call.list.restart(nb::borrow(key), &gone);
    call.empty_table();
}

void hashed_empty(PyObject* self) {
    Call call(self);

    call.list.writing();
    ListChunks gone = call.list.take(); // dropped last
    call.empty_table();
}

// Takes keys that are there out, if all can be found.
void hashed_remove_all(PyObject* self, PyObject* given) {
    nb::object keys = list_from(given);
    nb::list found;
    Call call(self);
    std::vector<size_t> positions;
    Dropped gone; // a finalizer finds the list and the table in order

    call.list.writing();
    for_each(keys, [&](const nb::object& key) {
        Found place(call.list, key.ptr());
        if (!place.is_there())
            return;
        positions.push_back(call.list.position_of(place.at()));
        found.append(key);
        if (call.dict)
            gone.push_back(call.value_of(key.ptr()));
    });
    call.must_be_same();
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    try {
        for_each(found, [&](const nb::object& key) {
            if (call.discard(key.ptr()) < 0 && !PyErr_ExceptionMatches(PyExc_KeyError))
                throw nb::python_error();
            PyErr_Clear();
        });
    } catch (...) {
        call.forget_new();
        throw;
    }
    if (call.same())
        call.list.erase(positions, &gone);
    else // a hash or a comparison in the hash table has changed the container
        call.forget_new();
}

// ---- dict ----

void put(const Call& call, PyObject* key, PyObject* value) {
    Py_ssize_t size = call.size();

    checked(PyDict_SetItem(call.self, key, value));
    call.follow(key, size);
}

// The value of a key, taken out, or nothing.
nb::object take(const Call& call, PyObject* key) {
    nb::object value = call.value_of(key);

    if (value.is_valid())
        call.remove(key);
    return value;
}

int dict_set(PyObject* self, PyObject* key, PyObject* value) {
    return guarded(-1, [&] {
        Call call(self);
        if (value)
            put(call, key, value);
        else if (!take(call, key).is_valid())
            raise_key(key);
        return 0;
    });
}

nb::object dict_pop(PyObject* self, PyObject* key, PyObject* missing) {
    Call call(self);
    nb::object value = take(call, key);

    if (!value.is_valid() && !missing)
        raise_key(key);
    return value.is_valid() ? value : nb::borrow(missing);
}

#ifdef Py_GIL_DISABLED
nb::object dict_get_or(PyObject* self, PyObject* key, PyObject* missing) {
    Call call(self);
    nb::object value = call.value_of(key);

    return value.is_valid() ? value : nb::borrow(missing ? missing : Py_None);
}
#endif

nb::object dict_setdefault(PyObject* self, PyObject* key, PyObject* value) {
    Call call(self);
    nb::object there = call.value_of(key);

    if (there.is_valid())
        return there;
    value = value ? value : Py_None;
    put(call, key, value);
    return nb::borrow(value);
}

// The item at a position; pop: taken out.
template <bool pop>
nb::object dict_item(PyObject* self, PyObject* index) {
    nb::object pair = nb::make_tuple(nb::none(), nb::none()); // now: without memory nothing is lost
    Call call(self);

    if (pop && call.size() == 0)
        raise(PyExc_KeyError, "popitem(): dictionary is empty");
    List::Place place = call.place_of(index, "list index out of range");
    uint64_t now = call.list.version;
    nb::object key = nb::borrow(call.list.at(place)), value = call.value_of(key.ptr());
    if (!value.is_valid())
        raise_key(key);
    if (pop)
        call.remove(key.ptr(), now == call.list.version ? &place : nullptr);
    PyTuple_SetItem(pair.ptr(), 0, key.release().ptr());
    PyTuple_SetItem(pair.ptr(), 1, value.release().ptr());
    return pair;
}

// _update(...): sets the items of what dict() takes as the arguments of a call.
PyObject* dict_update(PyObject* self, PyObject* args, PyObject* more) {
    return returning([&] {
        Call call(self);
        nb::object made, backup, type = type_of(dict_base);
        nb::list fresh;
        Dropped old; // a finalizer finds the list and the dict in order
        bool own = false; // some key has a class of the caller's: looking it up may raise

        call.list.writing();
        try {
            if (call.size() == 0) {
                nb::object method = type.attr("update").attr("__get__")(nb::handle(self));
                made = checked(PyObject_Call(method.ptr(), args, more));
                call.follow_all();
                return Py_NewRef(Py_None);
            }
        } catch (...) {
            call.forget_new();
            throw;
        }
        made = checked(PyObject_Call(type.ptr(), args, more));
        for_each(checked(PyDict_Keys(made.ptr())), [&](const nb::object& key) {
            own = own || (PyType_GetFlags(Py_TYPE(key.ptr())) & Py_TPFLAGS_HEAPTYPE);
            old.push_back(call.value_of(key.ptr()));
            if (!old.back().is_valid())
                fresh.append(key);
        });
        if (own)
            backup = checked(PyDict_Copy(self));
        call.must_be_same();
        update(call.list, fresh);
        call.version = call.list.version;
        if (PyDict_Update(self, made.ptr())) {
            nb::python_error error;
            if (own) {
                PyDict_Clear(self);
                checked(PyDict_Update(self, backup.ptr()));
            }
            call.forget_new();
            throw error;
        }
        if (!call.same()) // a hash or a comparison in the dict has changed the container
            call.follow_all();
        return Py_NewRef(Py_None);
    });
}

// ---- set ----

void set_add(PyObject* self, PyObject* value) {
    Call call(self);
    Py_ssize_t size = call.size();

    checked(PySet_Add(self, value));
    call.follow(value, size);
}

// Adds all of an iterable, or none.
void set_add_all(PyObject* self, PyObject* given) {
    nb::object values = list_from(given);
    nb::list added;
    Call call(self);

    call.list.writing();
    try {
        for_each(values, [&](const nb::object& value) {
            Py_ssize_t size = call.size();
            checked(PySet_Add(self, value.ptr()));
            if (call.size() != size)
                added.append(value);
        });
        call.must_be_same(); // a hash or a comparison in the set may have changed the container
        update(call.list, added);
    } catch (...) {
        call.forget_new();
        throw;
    }
}

// Takes the elements of another set, which no one else has, instead of its own. None is hashed or
// compared again.
void set_become(PyObject* self, PyObject* made) {
    nb::object gone = checked(PySet_New(self)); // dropped last
    Call call(self);

    call.list.writing();
    call.empty_table();
    type_of(set_base).attr("update")(nb::handle(self), nb::handle(made));
    bool same = call.same(); // else a finalizer that the collector ran has changed the container
    call.list.exchange(list_of(set_base.list(made)));
    if (!same)
        call.forget_new();
}

template <bool must>
void set_discard(PyObject* self, PyObject* value) {
    Call call(self);

    if (call.contains(value))
        call.remove(value);
    else if (must)
        raise_key(value);
}

nb::object set_pop(PyObject* self, PyObject* index) {
    Call call(self);
    const char* text = call.list.size() ? "pop index out of range" : "pop from empty list";
    List::Place place = call.place_of(index, text);
    nb::object value = nb::borrow(call.list.at(place));

    call.remove(value.ptr(), &place);
    return value;
}

#define SHARED                                                             \
    method<"clear($self)\n--\n\nRemove everything. O(n)", hashed_empty>(), \
        method<"_restart($self, key)\n--\n\n", hashed_restart>(),          \
        method<"_remove_all($self, keys)\n--\n\n", hashed_remove_all>(), { \
        nullptr, nullptr, 0, nullptr                                       \
    }

PyMethodDef dict_methods[] = {
#ifdef Py_GIL_DISABLED
    method<"get($self, key, default=None)\n--\n\nThe value of key, or default. O(1)",
           dict_get_or>(),
#endif
    method<
        "pop($self, key, default=...)\n--\n\nRemove key and return its value, or default. Raises "
        "KeyError without one. O(log n)",
        dict_pop>(),
    method<"popitem($self, index=-1)\n--\n\nRemove the item at a position and return it. O(log n)",
           dict_item<true>>(),
    method<"peekitem($self, index=-1)\n--\n\nThe item at a position. O(log n)", dict_item<false>>(),
    method<"setdefault($self, key, default=None)\n--\n\nThe value of key, which is set to default "
           "if there is none. O(log n)",
           dict_setdefault>(),
    {"_update", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(dict_update)),
     METH_VARARGS | METH_KEYWORDS, nullptr},
    SHARED};

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
    method<"_become($self, made)\n--\n\n", set_become>(),
    SHARED};

template <Base& base>
PyGetSetDef hashed_getters[] = {
    {"_list", hashed_list<base>, nullptr, "The SortedList of the keys. Do not change it.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

template <Base& base>
nb::object make_type(const char* name, PyMethodDef* methods, void* set_item) {
    nb::object own = type_of(base);
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
    return checked(PyType_FromSpecWithBases(&spec, own.ptr()));
}

} // namespace

void bind_hashed(nb::module_& module) {
    empty = PyTuple_New(0);
    module.attr("Dict") = make_type<dict_base>("lathwork._core.Dict", dict_methods,
                                               reinterpret_cast<void*>(dict_set));
    module.attr("Set") = make_type<set_base>("lathwork._core.Set", set_methods, nullptr);
}

} // namespace lathpy
