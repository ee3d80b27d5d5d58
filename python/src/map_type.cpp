// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The type Map of lathwork._core, and its calls for arrays of keys.
#include "iterator.hpp"
#include "map.hpp"
#include "method.hpp"
#include "modules.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>

namespace lathpy {

namespace {

// The items of a map from one to another, which an iterator visits in order.
struct MapItems {
    MapWalk walk;
    What what;

    std::optional<Pair> next() {
        if (!walk.next())
            return std::nullopt;
        return Pair(what == What::values ? nb::object() : walk.key(),
                    what == What::keys ? nb::object() : walk.value());
    }
    nb::object shown(Pair&& item) const { return lathpy::shown(std::move(item), what); }
    uint64_t left() const { return walk.left(); }
};

// An iterator over the items of ranks [start, stop).
nb::object walk_ranks(nb::handle owner, uint64_t start, uint64_t stop, bool backward, What what) {
    auto& map = self_of<Map>(owner.ptr());
    uint64_t n = start < stop ? stop - start : 0;
    MapWalk walk(map, backward && n ? stop - 1 : start, n, backward);
    return nb::cast(Iterator<MapItems>{nb::borrow(owner), {std::move(walk), what}});
}

nb::object walk_all(nb::handle owner, bool backward, What what) {
    return walk_ranks(owner, 0, self_of<Map>(owner.ptr()).size(), backward, what);
}

// From key to key; None: no limit. inside: whether the limit belongs to it.
nb::object walk_between(nb::handle owner, nb::handle low, bool low_inside, nb::handle high,
                        bool high_inside, bool backward, What what) {
    auto& map = self_of<Map>(owner.ptr());

    for (;;) {
        uint64_t before = map.version;
        uint64_t start = low.is_none() ? 0 : map.rank(low.ptr(), !low_inside);
        uint64_t stop = high.is_none() ? map.size() : map.rank(high.ptr(), high_inside);
        if (before == map.version) // else a conversion has let others change the map
            return walk_ranks(owner, start, stop, backward, what);
    }
}

// ---- slots ----

int map_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Map>(self)->traverse(visit, arg) : 0;
}

int map_clear(PyObject* self) {
    if (nb::inst_ready(self))
        nb::inst_ptr<Map>(self)->clear();
    return 0;
}

Py_ssize_t map_length(PyObject* self) {
    return guarded(static_cast<Py_ssize_t>(-1), [&] {
        Locked lock(self);
        return static_cast<Py_ssize_t>(self_of<Map>(self).size());
    });
}

int map_contains(PyObject* self, PyObject* key) {
    return guarded(-1, [&]() -> int { return self_of<Map>(self).get(self, key).is_valid(); });
}

PyObject* map_iter(PyObject* self) {
    return guarded(static_cast<PyObject*>(nullptr), [&] {
        Locked lock(self);
        return walk_all(self, false, What::keys).release().ptr();
    });
}

PyObject* map_get(PyObject* self, PyObject* key) {
    return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
        nb::object value = self_of<Map>(self).get(self, key);
        if (value.is_valid())
            return value.release().ptr();
        nb::object function = nb::getattr(nb::handle(self), "__missing__", nb::none());
        if (function.is_none())
            raise_key(key);
        return function(nb::handle(key)).release().ptr();
    });
}

int map_set(PyObject* self, PyObject* key, PyObject* value) {
    return guarded(-1, [&] {
        auto& map = self_of<Map>(self);
        Locked lock(self);
        if (value)
            map.set(key, value);
        else if (!map.take(key).is_valid())
            raise_key(key);
        return 0;
    });
}

// ---- methods ----

nb::object get_or(PyObject* self, PyObject* key, PyObject* missing) {
    nb::object value = self_of<Map>(self).get(self, key);
    return value.is_valid() ? value : nb::borrow(missing ? missing : Py_None);
}

nb::object take(Map& map, nb::handle key, nb::handle missing, bool must_be) {
    nb::object value = map.take(key.ptr());
    if (!value.is_valid() && must_be)
        raise_key(key);
    return value.is_valid() ? value : nb::borrow(missing);
}

nb::object setdefault(PyObject* self, PyObject* key, PyObject* value) {
    Locked lock(self);
    auto& map = self_of<Map>(self);
    nb::object there = map.get(self, key);

    if (there.is_valid())
        return there;
    value = value ? value : Py_None;
    map.set(key, value);
    return nb::borrow(value);
}

// The cell at a position, which is an index of Python's.
Map::Cell cell_at(Map& map, nb::handle index) {
    int64_t number = number_of(index.ptr());
    map.writing(); // a batch that erases has ended
    auto size = static_cast<int64_t>(map.size());
    number += number < 0 ? size : 0;
    if (number < 0 || number >= size)
        raise(PyExc_IndexError, "map index out of range");
    return map.select(static_cast<uint64_t>(number));
}

nb::object item_at(Map& map, nb::handle index, What what) {
    Map::Cell cell = cell_at(map, index);
    return shown({what == What::values ? nb::object() : map.key_at(cell),
                  what == What::keys ? nb::object() : map.value_at(cell)},
                 what);
}

nb::object popitem(Map& map, nb::handle index) {
    // made first: without memory nothing is lost
    nb::object pair = pair_of(nb::none(), nb::none());
    Map::Cell cell = cell_at(map, index);
    nb::object key = map.key_at(cell), value = map.take(cell);
    PyTuple_SetItem(pair.ptr(), 0, key.release().ptr());
    PyTuple_SetItem(pair.ptr(), 1, value.release().ptr());
    return pair;
}

nb::object index_of(Map& map, nb::handle key) {
    uint64_t rank;
    return map.find_rank(key.ptr(), &rank) ? nb::int_(rank) : nb::int_(-1);
}

// Sets the items of iterables of pairs, all or none.
void update(Map& map, nb::args sources) {
    Map::Items items;

    items.kind = map.kind_of_keys();
    for (nb::handle pairs : sources)
        for (nb::handle pair : pairs) {
            nb::object tuple = nb::steal(PySequence_Tuple(pair.ptr()));
            if (!tuple.is_valid())
                throw nb::python_error();
            if (PyTuple_Size(tuple.ptr()) != 2)
                raise(PyExc_ValueError, "an element of the update is not a pair");
            items.gather(PyTuple_GetItem(tuple.ptr(), 0), PyTuple_GetItem(tuple.ptr(), 1));
        }
    map.add_all(items);
}

// ---- arrays ----

using Array = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Codes {
    Kind kind;
    std::vector<uint64_t> codes;
};

// Whether NumPy made an array of integers of these ints.
bool are_integers(nb::handle array) {
    auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
    return kind == "i" || kind == "u";
}

// The keys as an array. NumPy would round an int of a list that has floats too.
Array array_of(nb::handle object) {
    nb::object given = nb::borrow(object);
    Array array;

    if (PySequence_Check(object.ptr()) && !nb::hasattr(object, "__array__") &&
        !PyObject_CheckBuffer(object.ptr())) {
        nb::list list(given);
        bool ints = false, others = false;
        for (nb::handle key : list)
            (PyIndex_Check(key.ptr()) ? ints : others) = true;
        if (ints && others)
            raise(PyExc_TypeError, "keys of an array must be of one type, integers or floats");
        given = nb::module_::import_("numpy").attr("array")(list);
        if (ints && !are_integers(given))
            raise(PyExc_OverflowError, "keys of an array must be integers of 64 bits, or floats");
    }
    if (!nb::try_cast(given, array) &&
        !nb::try_cast(nb::module_::import_("numpy").attr("ascontiguousarray")(given), array))
        raise(PyExc_TypeError, "keys of an array must be integers or floats, in one dimension");
    return array;
}

template <class T>
void fill_codes(const Array& array, std::vector<uint64_t>& codes) {
    const T* data = static_cast<const T*>(array.data());

    for (size_t i = 0; i < array.shape(0); i++) {
        if constexpr (std::is_floating_point_v<T>) {
            if (data[i] != data[i])
                raise(PyExc_ValueError, "NaN has no place in an order");
            codes.push_back(real_code(static_cast<double>(data[i])));
        } else {
            if (sizeof(T) == 8 && std::is_unsigned_v<T> && data[i] > static_cast<T>(INT64_MAX))
                raise(PyExc_OverflowError, "keys of an array must be below 2**63");
            codes.push_back(integer_code(static_cast<int64_t>(data[i])));
        }
    }
}

// The codes of an array of integers or floats. Throws TypeError if the map has other keys.
Codes codes_of(Map& map, nb::handle object) {
    Array array = array_of(object);
    Codes made = {Kind::integer, {}};
    nb::dlpack::dtype type = array.dtype();
    bool whole = type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Int);
    bool natural = type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::UInt);

    made.codes.reserve(array.shape(0));
    if (array.shape(0) == 0) {
        made.kind = map.size() ? map.kind_of_keys() : Kind::integer;
    } else if (whole && type.bits == 64) {
        fill_codes<int64_t>(array, made.codes);
    } else if (whole && type.bits == 32) {
        fill_codes<int32_t>(array, made.codes);
    } else if (natural && type.bits == 64) {
        fill_codes<uint64_t>(array, made.codes);
    } else if (natural && type.bits == 32) {
        fill_codes<uint32_t>(array, made.codes);
    } else if (type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Float) &&
               type.bits == 64) {
        made.kind = Kind::real;
        fill_codes<double>(array, made.codes);
    } else {
        raise(PyExc_TypeError, "keys of an array must be integers of 32 or 64 bits, or float64");
    }
    if (map.size() && map.kind_of_keys() != made.kind)
        raise(PyExc_TypeError, "the array and the map have keys of different types");
    return made;
}

template <class T>
nb::object new_array(std::vector<T>&& data) {
    auto* kept = new std::vector<T>(std::move(data));
    nb::capsule owner(kept,
                      [](void* block) noexcept { delete static_cast<std::vector<T>*>(block); });

    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// What a call has found, with references to the objects.
struct Found {
    std::vector<Word> words;
    std::vector<uint8_t> hits;
    bool holds;

    Found(Map& map, nb::handle keys, bool holds) : holds(holds) {
        map.find_codes(codes_of(map, keys).codes, &words, &hits, holds);
    }
    Found(const Found&) = delete;
    Found& operator=(const Found&) = delete;
    ~Found() {
        for (size_t i = 0; holds && i < hits.size(); i++)
            if (hits[i] && is_object(words[i]))
                Py_DECREF(object_of(words[i]));
    }
};

nb::object get_many(Map& map, PyObject* keys, PyObject* missing) {
    Found found(map, keys, true);
    nb::list list;

    for (size_t i = 0; i < found.hits.size(); i++)
        list.append(found.hits[i] ? unpack(found.words[i])
                                  : nb::borrow(missing ? missing : Py_None));
    return list;
}

nb::object get_ints(Map& map, nb::handle keys, nb::handle absent) {
    int64_t missing = absent.is_valid() ? int64_of(absent, "the default") : 0;
    Found found(map, keys, true);
    std::vector<int64_t> values(found.hits.size());

    for (size_t i = 0; i < values.size(); i++)
        values[i] = !found.hits[i]              ? missing
                    : is_object(found.words[i]) ? int64_of(object_of(found.words[i]), "a value")
                                                : small_of(found.words[i]);
    return new_array(std::move(values));
}

nb::object contains_many(Map& map, nb::handle keys) {
    Found found(map, keys, false);
    return new_array(std::move(found.hits)).attr("view")("bool");
}

// values: an array of integers, or a sequence of objects.
void insert_many(Map& map, nb::handle keys, nb::handle values) {
    Codes codes = codes_of(map, keys);
    Map::Items items;
    size_t n = codes.codes.size(), given;
    nb::ndarray<const int64_t, nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> numbers;
    bool array = nb::try_cast(values, numbers, false);
    nb::object list;

    if (!array) {
        list = nb::steal(PySequence_List(values.ptr()));
        if (!list.is_valid())
            throw nb::python_error();
    }
    given = array ? numbers.shape(0) : static_cast<size_t>(PyList_Size(list.ptr()));
    if (given != n)
        raise(PyExc_ValueError, "there are not as many values as keys");
    items.kind = codes.kind;
    items.items.reserve(n);
    for (size_t i = 0; i < n; i++) {
        int64_t number = array ? numbers.data()[i] : 0;
        Word word = array && is_small(number) ? small_word(number)
                    : array                   ? pack(nb::int_(number).ptr())
                            : pack(PyList_GetItem(list.ptr(), static_cast<Py_ssize_t>(i)));
        items.items.push_back({codes.codes[i], 1, word});
    }
    map.add_all(items);
}

uint64_t erase_many(Map& map, nb::handle keys) {
    return map.erase_codes(codes_of(map, keys).codes);
}

nb::object keys_array(Map& map) {
    std::vector<uint64_t> codes;
    Kind kind = map.kind_of_keys();

    if (kind == Kind::text || kind == Kind::bytes)
        raise(PyExc_TypeError, "the keys are neither integers nor floats");
    codes.resize(map.all_codes(&codes));
    if (kind != Kind::real) {
        std::vector<int64_t> numbers(codes.size());
        std::transform(codes.begin(), codes.end(), numbers.begin(), integer_of);
        return new_array(std::move(numbers));
    }
    std::vector<double> numbers(codes.size());
    std::transform(codes.begin(), codes.end(), numbers.begin(), real_of);
    return new_array(std::move(numbers));
}

template <bool right>
uint64_t bisect(Map& map, PyObject* key) {
    return map.rank(key, right);
}

void empty(Map& map) {
    map.writing();
    map.clear();
}

PyMethodDef map_methods[] = {
    method<"get($self, key, default=None)\n--\n\nThe value of key, or default. O(log n)", get_or>(),
    method<"setdefault($self, key, default=None)\n--\n\nThe value of key, which is set to default "
           "if there is none. O(log n)",
           setdefault>(),
    method<"clear($self)\n--\n\nRemove everything. O(n)", empty, Map>(),
    method<"bisect_left($self, key)\n--\n\nHow many keys are before this one. O(log n)",
           bisect<false>, Map>(),
    method<"bisect_right($self, key)\n--\n\nHow many keys are not behind this one. O(log n)",
           bisect<true>, Map>(),
    method<"get_many($self, keys, default=None)\n--\n\nThe values of an array of keys, as a list; "
           "default for those that are not there.",
           get_many, Map>(),
    method<"get_ints($self, keys, default=0)\n--\n\nThe values of an array of keys, which must be "
           "integers, as an array of int64.",
           get_ints, Map>(),
    method<"insert_many($self, keys, values)\n--\n\nSet the values of an array of keys: a "
           "sequence, or an array of int64.",
           insert_many, Map>(),
    method<"erase_many($self, keys)\n--\n\nErase an array of keys. Returns how many were there.",
           erase_many, Map>(),
    method<"contains_many($self, keys)\n--\n\nWhich keys of an array are there, as an array of "
           "bool.",
           contains_many, Map>(),
    method<"keys_array($self)\n--\n\nAll keys as an array of int64 or float64.", keys_array, Map>(),
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot map_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(map_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(map_clear)},
    {Py_tp_iter, reinterpret_cast<void*>(map_iter)},
    {Py_mp_length, reinterpret_cast<void*>(map_length)},
    {Py_sq_contains, reinterpret_cast<void*>(map_contains)},
    {Py_mp_subscript, reinterpret_cast<void*>(map_get)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(map_set)},
    {Py_tp_methods, map_methods},
    {0, nullptr},
};

} // namespace

void bind_maps(nb::module_& module) {
    const auto any = nb::arg().none(); // None is a value, and a key that is not there

    nb::enum_<What>(module, "What")
        .value("keys", What::keys)
        .value("values", What::values)
        .value("items", What::items);
    bind_iterator<MapItems>(module, "MapIterator");
    // Whether __init__ of the C++ class has been called.
    module.def("_ready",
               [](nb::handle self) { return nb::inst_check(self) && nb::inst_ready(self); });
    LockedClass<Map>(module, "Map", nb::type_slots(map_slots), nb::is_weak_referenceable())
        .def(nb::init<>())
        .def("_pop", take, any, any, nb::arg())
        .def("_popitem", popitem)
        .def("_index_of", index_of, any)
        .def("_at", item_at)
        .def("_update", update)
        .def("_walk", walk_all)
        .def("_walk_between", walk_between, any, nb::arg(), any, nb::arg(), nb::arg(), nb::arg())
        .def("_memory", &Map::memory)
        .def("_verify", &Map::verify);
}

} // namespace lathpy
