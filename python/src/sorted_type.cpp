// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The types Map and Sequence of lathwork._core. What is called most often is in type slots, with a
// short way for int keys.
#include "sorted_type.hpp"
#include "iterator.hpp"
#include "modules.hpp"
#include "walk.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>

namespace lathpy {

namespace {

// References to what is asked for of the walk's item.
Pair held(const Walk& walk, What what) {
    return {what == What::values ? nb::object() : walk.key(),
            what == What::keys ? nb::object() : walk.value()};
}

nb::list shown(std::vector<Pair>&& items, What what) {
    nb::list list;

    for (Pair& item : items)
        list.append(shown(std::move(item), what));
    return list;
}

// The items of a sorted container from one to another, which an iterator visits in order.
struct SortedWalk {
    Walk walk;
    What what;

    std::optional<Pair> next() {
        return walk.next() ? std::optional(held(walk, what)) : std::nullopt;
    }
    nb::object shown(Pair&& item) const { return lathpy::shown(std::move(item), what); }
    uint64_t left() const { return walk.left(); }
};

// An iterator over the items of ranks [start, stop). Ranks and walk belong to one moment: a caller
// lets no code of others run between finding out ranks and this call.
nb::object walk_ranks(nb::handle owner, uint64_t start, uint64_t stop, bool backward, What what) {
    auto& sorted = self_of<Sorted>(owner.ptr());
    uint64_t count = start < stop ? stop - start : 0;
    Walk walk(sorted, backward && count ? stop - 1 : start, count, backward);
    return nb::cast(Iterator<SortedWalk>{nb::borrow(owner), {std::move(walk), what}});
}

nb::object walk_all(nb::handle owner, bool backward, What what) {
    return walk_ranks(owner, 0, self_of<Sorted>(owner.ptr()).size(), backward, what);
}

// From key `low` on, and up to `high`, as the container's key function gives them; None: no limit.
// inside: whether items equal to the limit belong to it.
nb::object walk_between(nb::handle owner, nb::handle low, bool low_inside, nb::handle high,
                        bool high_inside, bool backward) {
    auto& sorted = self_of<Sorted>(owner.ptr());

    for (;;) {
        uint64_t before = sorted.version;
        uint64_t start = low.is_none() ? 0 : sorted.rank(low.ptr(), !low_inside);
        uint64_t stop = high.is_none() ? sorted.size() : sorted.rank(high.ptr(), high_inside);
        if (before == sorted.version) // else a comparison let others change the container
            return walk_ranks(owner, start, stop, backward, What::keys);
    }
}

// ---- slots of both types ----

int sorted_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Sorted>(self)->traverse(visit, arg) : 0;
}

int sorted_clear(PyObject* self) {
    return guarded(0, [&] {
        Locked lock(self);
        if (nb::inst_ready(self))
            nb::inst_ptr<Sorted>(self)->clear();
        return 0;
    });
}

Py_ssize_t sorted_length(PyObject* self) {
    return guarded(static_cast<Py_ssize_t>(-1), [&] {
        Locked lock(self);
        return static_cast<Py_ssize_t>(self_of<Sorted>(self).size());
    });
}

// The code of an int key of a container whose codes are exact for it.
bool plain_code(const Sorted& sorted, PyObject* key, uint64_t* code) {
    int over = 0;

    if (sorted.kind != Kind::integer || !sorted.plain || !PyLong_CheckExact(key))
        return false;
    *code = integer_code(PyLong_AsLongLongAndOverflow(key, &over));
    return !over;
}

int sorted_contains(PyObject* self, PyObject* key) {
    return guarded(-1, [&]() -> int {
        auto& sorted = self_of<Sorted>(self);
        auto seen = sorted.peek(key, nullptr);
        if (seen != Sorted::Seen::unsure)
            return seen == Sorted::Seen::there;
        Locked lock(self);
        Path path;
        return sorted.find(key, &path);
    });
}

PyObject* sorted_iter(PyObject* self) {
    return guarded(static_cast<PyObject*>(nullptr), [&] {
        Locked lock(self);
        return walk_all(self, false, What::keys).release().ptr();
    });
}

// ---- Map ----

PyObject* missing(PyObject* self, PyObject* key) {
    if (PyObject_Hash(key) == -1)
        throw nb::python_error();
    nb::object function = nb::getattr(nb::handle(self), "__missing__", nb::none());
    if (function.is_none())
        raise_key(key);
    return function(nb::handle(key)).release().ptr();
}

// The value of a key, or nothing.
nb::object value_of(PyObject* self, PyObject* key) {
    auto& map = self_of<Sorted>(self);
    Word word;

    switch (PyLong_CheckExact(key) ? map.peek_integer(key, &word) : map.peek(key, &word)) {
    case Sorted::Seen::there:
        return nb::steal(tag_of(word) == Tag::object ? object_of(word) : unpack(word));
    case Sorted::Seen::absent:
        return {};
    default:
        Locked lock(self);
        Path path;
        return map.find(key, &path) ? map.value_at(path) : nb::object();
    }
}

PyObject* map_get(PyObject* self, PyObject* key) {
    return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
        nb::object value = value_of(self, key);
        return value.is_valid() ? value.release().ptr() : missing(self, key);
    });
}

void put(Sorted& sorted, PyObject* key, PyObject* value) {
    uint64_t code;

    sorted.writing();
    if (sorted.size() && plain_code(sorted, key, &code)) {
        lath_item item = {code, 1, value ? pack(value) : no_value}, there;
        int ret = LATH_CORE(lath_index_insert_item(&sorted.root->index, &item, &there));
        if (ret == 0) {
            sorted.held += tag_of(item.value) == Tag::object;
            sorted.root->count++;
            sorted.version++;
            return;
        }
        if (tag_of(item.value) == Tag::object)
            Py_DECREF(value); // the caller has another reference
        if (ret != -EEXIST)
            raise_error(ret, "lath_index_insert");
    }
    sorted.add(key, value, Sorted::Present::replace, nullptr);
}

void map_erase(Sorted& map, PyObject* key) {
    Path path;

    if (!map.find(key, &path, true)) {
        if (PyObject_Hash(key) == -1)
            throw nb::python_error();
        raise_key(key);
    }
    map.take(std::move(path));
}

int map_set(PyObject* self, PyObject* key, PyObject* value) {
    return guarded(-1, [&] {
        auto& map = self_of<Sorted>(self);
        Locked lock(self);
        if (value)
            put(map, key, value);
        else
            map_erase(map, key);
        return 0;
    });
}

PyType_Slot map_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(sorted_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(sorted_clear)},
    {Py_tp_iter, reinterpret_cast<void*>(sorted_iter)},
    {Py_mp_length, reinterpret_cast<void*>(sorted_length)},
    {Py_sq_contains, reinterpret_cast<void*>(sorted_contains)},
    {Py_mp_subscript, reinterpret_cast<void*>(map_get)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(map_set)},
    {0, nullptr},
};

// ---- Sequence ----

// A slice as it was given, and its positions in a container.
struct Limits {
    Py_ssize_t start, stop, step;
};

struct Slice {
    Py_ssize_t start, step, count;
};

// May run __index__ of the limits.
Limits limits_of(PyObject* index) {
    Limits limits;

    if (PySlice_Unpack(index, &limits.start, &limits.stop, &limits.step))
        throw nb::python_error();
    return limits;
}

Slice slice_of(Sorted& sorted, Limits limits) {
    Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(sorted.size()), &limits.start,
                                             &limits.stop, limits.step);
    return {limits.start, limits.step, count};
}

int64_t number_of(PyObject* index) {
    Py_ssize_t number = PyNumber_AsSsize_t(index, PyExc_IndexError);

    if (number == -1 && PyErr_Occurred())
        throw nb::python_error();
    return number;
}

// The keys, values or items of a slice.
nb::list slice_list(Sorted& sorted, PyObject* index, What what) {
    Slice slice = slice_of(sorted, limits_of(index));
    std::vector<Pair> items;

    if (slice.count) {
        auto step = static_cast<uint64_t>(slice.step < 0 ? -slice.step : slice.step);
        uint64_t count = static_cast<uint64_t>(slice.count - 1) * step + 1, at = 0;
        items.reserve(static_cast<size_t>(slice.count));
        for (Walk walk(sorted, static_cast<uint64_t>(slice.start), count, slice.step < 0);
             walk.next(); at++)
            if (at % step == 0)
                items.push_back(held(walk, what));
    }
    return shown(std::move(items), what);
}

// An iterator over the keys of a slice without a step.
nb::object walk_slice(nb::handle owner, nb::handle index, bool backward) {
    Slice slice = slice_of(self_of<Sorted>(owner.ptr()), limits_of(index.ptr()));
    auto start = static_cast<uint64_t>(slice.start);

    return walk_ranks(owner, start, start + static_cast<uint64_t>(slice.count), backward,
                      What::keys);
}

nb::object sorted_at(Sorted& sorted, PyObject* index, What what) {
    Path path;

    if (PySlice_Check(index))
        return slice_list(sorted, index, what);
    int64_t number = number_of(index);
    sorted.select(position(sorted, number, "list index out of range"), &path);
    if (what == What::items)
        return pair_of(sorted.key_at(path), sorted.value_at(path));
    return what == What::keys ? sorted.key_at(path) : sorted.value_at(path);
}

void erase_at(Sorted& sorted, PyObject* index) {
    if (!PySlice_Check(index)) {
        Path path;
        int64_t number = number_of(index);
        sorted.writing();
        sorted.select(position(sorted, number, "list index out of range"), &path);
        sorted.take(std::move(path));
        return;
    }
    Limits limits = limits_of(index);
    sorted.writing();
    Slice slice = slice_of(sorted, limits);
    if (slice.count && static_cast<uint64_t>(slice.count) == sorted.size()) {
        sorted.clear();
        return;
    }
    if (slice.step > 0) // from the highest position on
        slice = {slice.start + (slice.count - 1) * slice.step, -slice.step, slice.count};
    std::vector<uint64_t> ranks;
    for (; slice.count-- > 0; slice.start += slice.step)
        ranks.push_back(static_cast<uint64_t>(slice.start));
    sorted.take_ranks(ranks);
}

PyObject* sequence_get(PyObject* self, PyObject* index) {
    return guarded(static_cast<PyObject*>(nullptr), [&] {
        Locked lock(self);
        return sorted_at(self_of<Sorted>(self), index, What::keys).release().ptr();
    });
}

// By which C code knows a sequence.
PyObject* sequence_item(PyObject* self, Py_ssize_t index) {
    nb::object number = nb::steal(PyLong_FromSsize_t(index));
    return number.is_valid() ? sequence_get(self, number.ptr()) : nullptr;
}

int sequence_set(PyObject* self, PyObject* index, PyObject* value) {
    return guarded(-1, [&] {
        if (value)
            raise(PyExc_NotImplementedError, "use ``del sl[index]`` and ``sl.add(value)`` instead");
        Locked lock(self);
        erase_at(self_of<Sorted>(self), index);
        return 0;
    });
}

PyType_Slot sequence_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(sorted_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(sorted_clear)},
    {Py_tp_iter, reinterpret_cast<void*>(sorted_iter)},
    {Py_mp_length, reinterpret_cast<void*>(sorted_length)},
    {Py_sq_length, reinterpret_cast<void*>(sorted_length)},
    {Py_sq_item, reinterpret_cast<void*>(sequence_item)},
    {Py_sq_contains, reinterpret_cast<void*>(sorted_contains)},
    {Py_mp_subscript, reinterpret_cast<void*>(sequence_get)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(sequence_set)},
    {0, nullptr},
};

// ---- many at once, from Python's iterables ----

void sequence_update(Sequence& sequence, nb::args iterables) {
    Update update(sequence);

    for (nb::handle iterable : iterables)
        for (nb::handle key : iterable)
            update.gather(key, nullptr);
    update.commit();
}

void gather_dict(Update& update, nb::handle given) {
#ifdef Py_GIL_DISABLED // other threads may change it between two steps
    nb::object dict = nb::steal(PyDict_Copy(given.ptr()));
    if (!dict.is_valid())
        throw nb::python_error();
#else
    nb::handle dict = given;
#endif
    Py_ssize_t size = PyDict_Size(dict.ptr()), at = 0;
    PyObject *key, *value;

    while (PyDict_Next(dict.ptr(), &at, &key, &value)) {
        nb::object held_key = nb::borrow(key), held_value = nb::borrow(value);
        update.gather(held_key, value);
        if (size != PyDict_Size(dict.ptr()))
            raise(PyExc_RuntimeError, "the dict changed during the update");
    }
}

void gather_pairs(Update& update, nb::handle pairs) {
    for (nb::handle pair : pairs) {
        nb::object tuple =
            PyTuple_Check(pair.ptr()) ? nb::borrow(pair) : nb::steal(PySequence_Tuple(pair.ptr()));
        if (!tuple.is_valid())
            throw nb::python_error();
        if (PyTuple_Size(tuple.ptr()) != 2)
            raise(PyExc_ValueError, "an element of the update is not a pair");
        update.gather(nb::handle(PyTuple_GetItem(tuple.ptr(), 0)), PyTuple_GetItem(tuple.ptr(), 1));
    }
}

void map_update(Map& map, nb::args sources) {
    Update update(map);

    for (nb::handle pairs : sources)
        if (PyDict_CheckExact(pairs.ptr()))
            gather_dict(update, pairs);
        else
            gather_pairs(update, pairs);
    update.commit();
}

// Takes those of the values out that are there. All are looked for first.
void discard_all(Sequence& sequence, nb::handle values) {
    std::vector<uint64_t> ranks;
    uint64_t version = sequence.version;

    for (nb::handle value : values) {
        Path path;
        if (sequence.find(value.ptr(), &path))
            ranks.push_back(sequence.rank_of(path));
        if (version != sequence.version)
            raise(PyExc_RuntimeError, "the container changed during the call");
    }
    std::sort(ranks.begin(), ranks.end(), std::greater<>());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    sequence.writing();
    if (version != sequence.version)
        raise(PyExc_RuntimeError, "the container changed during the call");
    sequence.take_ranks(ranks);
}

// ---- methods ----

nb::object map_pop(Map& map, nb::handle key, nb::handle missing_value, bool must) {
    Path path;

    if (!map.find(key.ptr(), &path, true)) {
        if (must)
            raise_key(key);
        return nb::borrow(missing_value);
    }
    nb::object value = map.value_at(path);
    map.take(std::move(path));
    return value;
}

nb::object map_setdefault(Map& map, nb::handle key, nb::object value) {
    nb::object there = value;

    map.add(key, value.ptr(), Sorted::Present::keep, &there);
    return there;
}

bool sequence_discard(Sequence& sequence, nb::handle key) {
    Path path;

    if (!sequence.find(key.ptr(), &path, true))
        return false;
    sequence.take(std::move(path));
    return true;
}

void exchange(Sorted& sorted, Sorted& other) {
    if (sorted.values != other.values || sorted.twins != other.twins ||
        !sorted.key_function().is(other.key_function()))
        raise(PyExc_TypeError, "containers of different classes cannot change contents");
    sorted.exchange(other);
}

int64_t index_of(Sorted& sorted, nb::handle key) {
    Path path;

    return sorted.find(key.ptr(), &path) ? static_cast<int64_t>(sorted.rank_of(path)) : -1;
}

// Takes the item at a position out. Returns its key, or the pair.
nb::object take_at(Sorted& sorted, nb::handle where) {
    int64_t index = number_of(where.ptr());
    // The pair is made first: without memory nothing is lost, and the position is of the moment in
    // which the item goes.
    nb::object pair = sorted.values ? pair_of(nb::none(), nb::none()) : nb::object();
    Path path;

    sorted.writing();
    sorted.select(position(sorted, index, "pop index out of range"), &path);
    nb::object key = sorted.key_at(path);
    if (sorted.values) {
        nb::object value = sorted.value_at(path);
        if (PyTuple_SetItem(pair.ptr(), 0, key.release().ptr()) ||
            PyTuple_SetItem(pair.ptr(), 1, value.release().ptr()))
            throw nb::python_error();
        key = std::move(pair);
    }
    sorted.take(std::move(path));
    return key;
}

} // namespace

uint64_t position(Sorted& sorted, int64_t index, const char* text) {
    auto size = static_cast<int64_t>(sorted.size());

    if (index < 0)
        index += size;
    if (index < 0 || index >= size)
        raise(PyExc_IndexError, text);
    return static_cast<uint64_t>(index);
}

static void bind_sorted_base(nb::module_& module) {
    const auto any = nb::arg().none(); // None is a key like others

    nb::enum_<What>(module, "What")
        .value("keys", What::keys)
        .value("values", What::values)
        .value("items", What::items);
    bind_iterator<SortedWalk>(module, "SortedIterator");

    // Whether __init__ of the C++ class has been called.
    module.def("_ready",
               [](nb::handle self) { return nb::inst_check(self) && nb::inst_ready(self); });
    LockedClass<Sorted>(module, "Sorted")
        .def("clear", &Sorted::clear, "Remove everything. O(n)")
        .def("_key_function", &Sorted::key_function)
        .def(
            "_rank",
            [](Sorted& self, nb::handle sort, bool right) { return self.rank(sort.ptr(), right); },
            any, nb::arg())
        .def("_sort_of", &Sorted::sort_of, any)
        .def("_index_of", index_of, any)
        .def(
            "_count", [](Sorted& self, nb::handle key) { return self.count_of(key.ptr()); }, any)
        .def("_exchange", exchange, nb::arg().lock())
        .def("_take_at", take_at, any)
        .def(
            "_erase_at", [](Sorted& self, nb::handle index) { erase_at(self, index.ptr()); }, any)
        .def(
            "_at",
            [](Sorted& self, nb::handle index, What what) {
                return sorted_at(self, index.ptr(), what);
            },
            any, nb::arg())
        .def("_restart", &Sorted::restart, any)
        .def("_walk", walk_all)
        .def("_walk_slice", walk_slice)
        .def("_walk_between", walk_between, any, nb::arg(), any, nb::arg(), nb::arg())
        .def("_verify", &Sorted::verify);
}

void bind_sorted(nb::module_& module) {
    const auto any = nb::arg().none();

    bind_sorted_base(module);
    LockedClass<Map, Sorted> map(module, "Map", nb::type_slots(map_slots),
                                 nb::is_weak_referenceable());
    map.def(nb::init<nb::object>(), nb::arg().none())
        .def_unlocked(
            "get",
            [](nb::pointer_and_handle<Map> self, nb::handle key, nb::object missing_value) {
                nb::object value = value_of(self.h.ptr(), key.ptr());
                return value.is_valid() ? value : missing_value;
            },
            nb::arg("key").none(), nb::arg("default").none() = nb::none(),
            "The value of key, or default. O(log n)")
        .def("_pop", map_pop, any, any, nb::arg())
        .def("setdefault", map_setdefault, nb::arg("key").none(),
             nb::arg("default").none() = nb::none(),
             "The value of key, which is set to default if there is none. O(log n)")
        .def("_update", map_update);
    LockedClass<Sequence, Sorted> sequence(module, "Sequence", nb::type_slots(sequence_slots),
                                           nb::is_weak_referenceable());
    sequence.def(nb::init<bool, nb::object>(), nb::arg(), nb::arg().none())
        .def(
            "add", [](Sequence& self, nb::handle key) { put(self, key.ptr(), nullptr); },
            nb::arg("value").none(), "Add a value. O(log n)")
        .def("_discard", sequence_discard, any)
        .def("_discard_all", discard_all)
        .def("_update", sequence_update);
    bind_batches(map, sequence);
}

} // namespace lathpy
