// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Calls for arrays of keys. They look at the root's index with the GIL released; what an index does
// not tell (items in buckets) follows one by one. Python's objects are made when the batch is over
// and the call holds references to what it found: a call must not wait for itself, and what runs
// meanwhile may change the container.
#include "held.hpp"
#include "sorted_type.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cerrno>

namespace lathpy {

namespace {

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

// The codes of an array of integers or floats. Throws TypeError if the container has other keys.
Codes codes_of(Sorted& sorted, nb::handle object) {
    Array array = array_of(object);
    Codes made = {Kind::integer, {}};
    nb::dlpack::dtype type = array.dtype();
    bool whole = type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Int);
    bool natural = type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::UInt);

    made.codes.reserve(array.shape(0));
    if (array.shape(0) == 0)
        made.kind = sorted.size() ? sorted.kind : Kind::integer;
    else if (whole && type.bits == 64)
        fill_codes<int64_t>(array, made.codes);
    else if (whole && type.bits == 32)
        fill_codes<int32_t>(array, made.codes);
    else if (natural && type.bits == 64)
        fill_codes<uint64_t>(array, made.codes);
    else if (natural && type.bits == 32)
        fill_codes<uint32_t>(array, made.codes);
    else if (type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Float) && type.bits == 64) {
        made.kind = Kind::real;
        fill_codes<double>(array, made.codes);
    } else
        raise(PyExc_TypeError, "keys of an array must be integers of 32 or 64 bits, or float64");
    if (!sorted.key_function().is_none())
        raise(PyExc_TypeError, "a container with a key function takes no arrays");
    if (sorted.size() && sorted.kind != made.kind)
        raise(PyExc_TypeError, "the array and the container have keys of different types");
    return made;
}

template <class T>
nb::object new_array(std::vector<T>&& data) {
    auto* kept = new std::vector<T>(std::move(data));
    nb::capsule owner(kept,
                      [](void* block) noexcept { delete static_cast<std::vector<T>*>(block); });

    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

// What a batch found, with references to the objects.
struct Found {
    Codes keys;
    std::vector<uint64_t> words;
    std::vector<uint8_t> hits;
    bool holds = false;

    Found(Codes keys) : keys(std::move(keys)) {}
    Found(const Found&) = delete;
    Found& operator=(const Found&) = delete;
    ~Found() {
        for (size_t i = 0; holds && i < hits.size(); i++)
            if (hits[i] && tag_of(words[i]) == Tag::object)
                Py_DECREF(object_of(words[i]));
    }
    // Takes the references. While the words were found nothing was released (Reading, Exclusive).
    void hold() {
        for (size_t i = 0; i < hits.size(); i++)
            if (hits[i] && tag_of(words[i]) == Tag::object)
                Py_INCREF(object_of(words[i]));
        holds = true;
    }
};

// Looks all codes up, without the GIL, while nothing is released.
void find_words(Sorted& sorted, Found* found) {
    size_t n = found->keys.codes.size();

    found->words.resize(n);
    found->hits.resize(n);
    {
        lath_index* index = &sorted.root->index;
        nb::gil_scoped_release others;
        lath_index_get_batch(index, n, found->keys.codes.data(), found->words.data(),
                             found->hits.data());
    }
    found->hold();
}

void look_up(Sorted& sorted, Found* found) {
    Reading reading(sorted);

    find_words(sorted, found);
}

nb::object value_of(Sorted& sorted, const Found& found, size_t i, nb::handle missing) {
    if (!found.hits[i])
        return nb::borrow(missing);
    if (!is_block(found.words[i]))
        return nb::steal(unpack(found.words[i]));
    Path path;
    nb::object key = decode(found.keys.kind, found.keys.codes[i]);
    return sorted.find(key.ptr(), &path) ? sorted.value_at(path) : nb::borrow(missing);
}

nb::object get_many(Map& map, nb::handle keys, nb::handle missing) {
    Found found(codes_of(map, keys));
    nb::list list;

    look_up(map, &found);
    for (size_t i = 0; i < found.hits.size(); i++)
        list.append(value_of(map, found, i, missing));
    return list;
}

nb::object get_ints(Map& map, nb::handle keys, nb::handle absent) {
    int64_t missing = int64_of(absent, "the default");
    Found found(codes_of(map, keys));
    std::vector<int64_t> values;

    look_up(map, &found);
    values.resize(found.hits.size());
    for (size_t i = 0; i < values.size(); i++) {
        if (!found.hits[i])
            values[i] = missing;
        else if (tag_of(found.words[i]) == Tag::small)
            values[i] = small_of(found.words[i]);
        else
            values[i] = int64_of(value_of(map, found, i, nb::int_(missing)), "a value");
    }
    return new_array(std::move(values));
}

nb::object contains_many(Sorted& sorted, nb::handle keys) {
    Found found(codes_of(sorted, keys));
    std::vector<uint8_t> there;

    look_up(sorted, &found);
    for (size_t i = 0; i < found.hits.size(); i++) {
        bool hit = found.hits[i];
        if (hit && is_block(found.words[i])) {
            Path path;
            hit = sorted.find(decode(found.keys.kind, found.keys.codes[i]).ptr(), &path);
        }
        there.push_back(hit);
    }
    return new_array(std::move(there)).attr("view")("bool");
}

// Words of the values: an array of integers, or a sequence of objects.
OwnedItems items_of(const Codes& keys, nb::handle values) {
    OwnedItems items;
    size_t n = keys.codes.size(), given;
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
    items.reserve(n);
    for (size_t i = 0; i < n; i++) {
        int64_t number = array ? numbers.data()[i] : 0;
        Word word;
        if (array && is_small(number))
            word = small_word(number);
        else if (array)
            word = pack(nb::int_(number).ptr());
        else
            word = pack(PyList_GetItem(list.ptr(), static_cast<Py_ssize_t>(i)));
        items.push_back({keys.codes[i], 1, word});
    }
    return items;
}

void insert_many(Map& map, nb::handle keys, nb::handle values) {
    Codes codes = codes_of(map, keys);
    add_words(map, codes.kind, items_of(codes, values));
}

void add_many(Sequence& sequence, nb::handle keys) {
    Codes codes = codes_of(sequence, keys);
    OwnedItems items;

    for (uint64_t code : codes.codes)
        items.push_back({code, 1, no_value});
    add_words(sequence, codes.kind, std::move(items));
}

// Erases those keys of the batch that are items of the root's index, without the GIL, and returns
// how many; *rest: the codes that have buckets.
size_t erase_words(Sorted& sorted, Found* found, std::vector<uint64_t>* rest) {
    std::vector<uint64_t> codes, words;
    std::vector<PyObject*> gone;
    std::vector<int> results;
    size_t erased;

    {
        Sorted::Exclusive exclusive(sorted);
        if (sorted.kind != found->keys.kind) { // it has become empty, or one of other keys
            *rest = found->keys.codes;
            return 0;
        }
        find_words(sorted, found);
        for (size_t i = 0; i < found->hits.size(); i++) {
            if (found->hits[i] && is_block(found->words[i])) {
                rest->push_back(found->keys.codes[i]);
            } else if (found->hits[i]) {
                codes.push_back(found->keys.codes[i]);
                words.push_back(found->words[i]);
            }
        }
        results.resize(codes.size());
        gone.reserve(codes.size());
        {
            nb::gil_scoped_release others;
            erased = lath_index_erase_batch(&sorted.root->index, codes.size(), codes.data(),
                                            results.data());
        }
        for (size_t i = 0; i < codes.size(); i++)
            if (results[i] == 0 && tag_of(words[i]) == Tag::object)
                gone.push_back(object_of(words[i]));
        sorted.held -= gone.size();
        sorted.root->count -= erased;
    }
    for (PyObject* object : gone)
        sorted.release(object);
    return erased;
}

size_t erase_many(Sorted& sorted, nb::handle keys) {
    Found found(codes_of(sorted, keys));
    std::vector<uint64_t> rest;
    size_t erased = sorted.size() ? erase_words(sorted, &found, &rest) : 0;

    for (uint64_t code : rest) {
        Path path;
        if (sorted.find(decode(found.keys.kind, code).ptr(), &path, true)) {
            sorted.take(std::move(path));
            erased++;
        }
    }
    return erased;
}

// The keys, one by one, as integers or floats of the same value. Throws TypeError or OverflowError
// if there is none.
template <class T>
nb::object exact_keys(Sorted& sorted) {
    std::vector<T> numbers;

    for (nb::handle key : nb::list(nb::cast(&sorted))) {
        KeyView view(key.ptr());
        if (!encodable(Kind::real, view)) // the container has become one of other keys
            raise(PyExc_TypeError, "the keys are neither integers nor floats");
        if constexpr (std::is_floating_point_v<T>) {
            double number = PyFloat_Check(view.plain) ? PyFloat_AsDouble(view.plain)
                                                      : real_of(encode(Kind::real, view, 0).code);
            nb::object made = nb::float_(number);
            if (PyObject_RichCompareBool(made.ptr(), view.plain, Py_EQ) != 1)
                raise(PyExc_OverflowError, "a key that is an int has no exact float");
            numbers.push_back(number);
        } else {
            numbers.push_back(int64_of(view.plain, "a key"));
        }
    }
    return new_array(std::move(numbers));
}

// All keys as an array.
nb::object keys_array(Sorted& sorted) {
    std::vector<uint64_t> codes, words;
    bool real;
    size_t n;

    {
        Sorted::Exclusive exclusive(sorted);
        real = sorted.kind == Kind::real;
        if (sorted.size() && sorted.kind != Kind::integer && !real)
            raise(PyExc_TypeError, "the keys are neither integers nor floats");
        codes.resize(sorted.size());
        words.resize(sorted.size());
        lath_index* index = &sorted.root->index;
        nb::gil_scoped_release others;
        n = codes.empty() ? 0
                          : lath_index_scan_values(index, 0, ~0ull, codes.data(), words.data(),
                                                   codes.size(), nullptr);
    }
    bool plain = n == codes.size() &&
                 std::none_of(words.begin(), words.end(), [](Word word) { return is_block(word); });
    if (!plain) // equal keys, or keys without exact codes
        return real ? exact_keys<double>(sorted) : exact_keys<int64_t>(sorted);
    if (!real) {
        std::vector<int64_t> numbers;
        for (uint64_t code : codes)
            numbers.push_back(integer_of(code));
        return new_array(std::move(numbers));
    }
    std::vector<double> numbers;
    for (uint64_t code : codes)
        numbers.push_back(real_of(code));
    return new_array(std::move(numbers));
}

} // namespace

void bind_batches(LockedClass<Map, Sorted>& map, LockedClass<Sequence, Sorted>& sequence) {
    map.def("get_many", get_many, nb::arg("keys"), nb::arg("default").none() = nb::none(),
            "The values of an array of keys, as a list; default for those that are not there.")
        .def("get_ints", get_ints, nb::arg("keys"), nb::arg("default").none() = 0,
             "The values of an array of keys, which must be integers, as an array of int64.")
        .def("insert_many", insert_many, nb::arg("keys"), nb::arg("values"),
             "Set the values of an array of keys: a sequence, or an array of int64.")
        .def(
            "erase_many", [](Map& self, nb::handle keys) { return erase_many(self, keys); },
            nb::arg("keys"), "Erase an array of keys. Returns how many were there.")
        .def(
            "contains_many", [](Map& self, nb::handle keys) { return contains_many(self, keys); },
            nb::arg("keys"), "Which keys of an array are there, as an array of bool.")
        .def(
            "keys_array", [](Map& self) { return keys_array(self); },
            "All keys as an array of int64 or float64.");
    sequence.def("add_many", add_many, nb::arg("values"), "Add an array of values.")
        .def(
            "erase_many", [](Sequence& self, nb::handle keys) { return erase_many(self, keys); },
            nb::arg("values"), "Erase an array of values, each once. Returns how many were there.")
        .def(
            "contains_many",
            [](Sequence& self, nb::handle keys) { return contains_many(self, keys); },
            nb::arg("values"), "Which values of an array are there, as an array of bool.")
        .def(
            "values_array", [](Sequence& self) { return keys_array(self); },
            "All values as an array of int64 or float64.");
}

} // namespace lathpy
