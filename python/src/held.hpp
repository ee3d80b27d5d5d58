// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// References that a call holds.
//
// Code of the caller's may run, or another thread, wherever a call allocates an object that the
// collector tracks (before Python 3.12 the allocation collects, which runs finalizers), compares,
// hashes or converts objects, drops a reference, or releases the GIL. Whatever was found in a
// structure is outdated behind such a place. So a call takes references to what it found first,
// and then makes tuples, lists and sets; what it removed it drops last.
#pragma once

#include "code.hpp"

#include <lathwork/index.h>

#include <utility>
#include <vector>

namespace lathpy {

// A value in an index: the address of an object, or an integer of 62 bits in place.
using Word = uint64_t;
inline constexpr Word no_value = 2; // the integer 0

inline bool is_object(Word word) { return (word & 3) == 0; }
inline PyObject* object_of(Word word) { return reinterpret_cast<PyObject*>(word); }
inline int64_t small_of(Word word) { return static_cast<int64_t>(word) >> 2; }
inline bool is_small(int64_t number) { return number >= -(1ll << 61) && number < 1ll << 61; }
inline Word small_word(int64_t number) { return static_cast<uint64_t>(number) << 2 | 2; }

// The word of a value. Takes a reference if it is that of an object.
inline Word pack(PyObject* value) {
    if (PyLong_CheckExact(value)) {
        int over = 0;
        long long number = PyLong_AsLongLongAndOverflow(value, &over);
        if (!over && is_small(number))
            return small_word(number);
    }
    Py_INCREF(value);
    return reinterpret_cast<Word>(value);
}

inline nb::object unpack(Word word) {
    if (is_object(word))
        return nb::borrow(object_of(word));
    return checked(PyLong_FromLongLong(small_of(word)));
}

// Items with words of values. It owns a reference per word of an object.
class OwnedItems : public std::vector<lath_item> {
public:
    OwnedItems() = default;
    // Takes references to the objects of all words, which another owner has.
    explicit OwnedItems(std::vector<lath_item>&& items) noexcept
        : std::vector<lath_item>(std::move(items)) {
        for (const lath_item& item : *this)
            if (is_object(item.value))
                Py_INCREF(object_of(item.value));
    }
    OwnedItems(OwnedItems&& other) noexcept : std::vector<lath_item>(std::move(other)) {
        other.clear();
    }
    OwnedItems& operator=(OwnedItems&&) = delete;
    ~OwnedItems() {
        for (const lath_item& item : *this)
            if (is_object(item.value))
                Py_DECREF(object_of(item.value));
    }
};

// Sorts by key, digit by digit; equal ones stay in order.
void sort_by_code(std::vector<lath_item>& items);

} // namespace lathpy
