// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "sorted_update.hpp"

#include <cerrno>
#include <memory>
#include <numeric>

namespace lathpy {

namespace {

// Inserts items, without the GIL, and counts those that were not there. Returns the error of an
// item that could not be inserted, or 0; results: those of the items.
int insert_batch(Sorted& sorted, const OwnedItems& items, std::vector<int>& results) {
    Sorted::Exclusive exclusive(sorted);
    int error = 0;

    if (plan.error && plan.hits("lath_index_insert_batch")) {
        results.assign(results.size(), plan.error);
    } else {
        lath_index* index = &sorted.root->index;
        nb::gil_scoped_release others;
        lath_index_insert_batch(index, items.size(), items.data(), results.data());
    }
    // The index has a reference of each object that was inserted. The items keep one: what follows
    // may drop those of the index.
    for (size_t i = 0; i < items.size(); i++) {
        bool object = tag_of(items[i].value) == Tag::object;
        if (results[i] == 0) {
            sorted.root->count++;
            sorted.held += object;
            if (object)
                Py_INCREF(object_of(items[i].value));
        } else if (results[i] != -EEXIST) {
            error = results[i];
        }
    }
    return error;
}

} // namespace

void add_words(Sorted& sorted, Kind kind, OwnedItems items) {
    std::vector<int> results(items.size(), -EEXIST);
    Journal journal(sorted);

    if (items.empty())
        return;
    sorted.writing();
    if (sorted.size() == 0)
        sorted.quiet();
    if (sorted.size() == 0) {
        sorted.load(kind, items);
        return;
    }
    try {
        // What made the items may have changed the container: then they are added one by one.
        int error = sorted.kind == kind ? insert_batch(sorted, items, results) : 0;
        if (error)
            raise_error(error, "lath_index_insert_batch");
        for (size_t i = 0; i < items.size(); i++) {
            if (results[i] == 0)
                continue;
            nb::object key = decode(kind, items[i].key);
            nb::object value = sorted.values ? nb::steal(unpack(items[i].value)) : nb::object();
            sorted.add_item({nullptr, key.ptr(), value.ptr()}, Sorted::Present::replace, nullptr,
                            &journal);
        }
    } catch (...) {
        journal.undo();
        for (size_t i = 0; i < items.size(); i++) {
            Path path;
            if (results[i] == 0 && sorted.find(decode(kind, items[i].key).ptr(), &path))
                sorted.take(std::move(path));
        }
        throw;
    }
}

Update::~Update() {
    for (const Item& item : items) {
        Py_XDECREF(item.sort);
        Py_DECREF(item.key);
        Py_XDECREF(item.value);
    }
}

// The word of an int of 64 bits among others, which are the most common. Returns whether it is one.
bool Update::gather_int(PyObject* key, PyObject* value) {
    int over = 0;

    if (kind != Kind::integer || !PyLong_CheckExact(key) || !sorted.plain || comparing ||
        !items.empty())
        return false;
    long long number = PyLong_AsLongLongAndOverflow(key, &over);
    if (over)
        return false;
    words.push_back({integer_code(number), 1, no_value});
    if (value)
        words.back().value = pack(value);
    return true;
}

void Update::gather(nb::handle key, PyObject* value) {
    if (gather_int(key.ptr(), value))
        return;
    nb::object sort = sorted.sort_of(key);
    KeyView view(sort.ptr());

    if (!started) {
        kind = sorted.size() ? sorted.kind : kind_of(view);
        started = true;
    }
    refuse_unordered(kind, view);
    comparing = comparing || kind == Kind::object || !encodable(kind, view);
    // Texts for an empty container are kept: many will not have exact codes.
    bool code_likely = kind == Kind::integer || kind == Kind::real || sorted.size();
    if (items.empty() && !comparing && sorted.plain && code_likely) {
        Code code = encode(kind, view, 0);
        if (code.exact) {
            words.push_back({code.code, 1, no_value});
            if (value)
                words.back().value = pack(value);
            return;
        }
    }
    unfold();
    gather_item(std::move(sort), key, value);
}

// sort: what the key function made of the key.
void Update::gather_item(nb::object sort, nb::handle key, PyObject* value) {
    items.push_back({nullptr, key.ptr(), value});
    Py_INCREF(key.ptr());
    Py_XINCREF(value);
    if (!sorted.plain)
        items.back().sort = sort.release().ptr();
}

// Makes items of the words.
void Update::unfold() {
    if (words.empty())
        return;
    items.reserve(words.size() + 1);
    OwnedItems coded(std::move(words)); // which are none then
    for (const lath_item& word : coded) {
        nb::object key = decode(kind, word.key);
        nb::object value = sorted.values ? nb::steal(unpack(word.value)) : nb::object();
        gather_item(nb::object(), key, value.ptr());
    }
}

// Whether an empty container can be built of these texts, or bytes, level by level.
bool Update::all_texts() const {
    if (sorted.size() || !sorted.plain || comparing || (kind != Kind::text && kind != Kind::bytes))
        return false;
    for (const Item& item : items)
        if (!PyUnicode_CheckExact(item.key) && !PyBytes_CheckExact(item.key))
            return false;
    return true;
}

// The order in which items are added: that of the keys, if they have their own order, so that
// each one goes to the end, and that keys that do not compare are found before anything changes.
std::vector<size_t> Update::order() const {
    std::vector<size_t> places(items.size());

    std::iota(places.begin(), places.end(), 0);
    if (!comparing)
        return places;
    nb::list sorts, numbers;
    for (size_t i = 0; i < items.size(); i++) {
        sorts.append(nb::handle(items[i].order()));
        numbers.append(i);
    }
    numbers.attr("sort")(nb::arg("key") = sorts.attr("__getitem__"));
    for (size_t i = 0; i < places.size(); i++)
        places[i] = nb::cast<size_t>(numbers[i]);
    return places;
}

void Update::commit() {
    if (!words.empty() && sorted.size() && sorted.kind != kind)
        unfold(); // what was iterated over has changed the container
    if (!words.empty())
        add_words(sorted, kind, std::move(words));
    if (items.empty())
        return;
    std::vector<size_t> places = order();
    sorted.quiet();
    if (all_texts()) {
        sorted.load_texts(kind, items);
        return;
    }
    Journal journal(sorted);
    try {
        for (size_t i : places)
            sorted.add_item(items[i], Sorted::Present::replace, nullptr, &journal);
    } catch (...) {
        journal.undo();
        throw;
    }
}

} // namespace lathpy
