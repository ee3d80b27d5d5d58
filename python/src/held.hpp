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

#include "sorted.hpp"

#include <utility>
#include <vector>

namespace lathpy {

// Items with words of values. It owns a reference per word of an object.
class OwnedItems : public std::vector<lath_item> {
public:
    OwnedItems() = default;
    // Takes references to the objects of all words, which another owner has.
    explicit OwnedItems(std::vector<lath_item>&& items) noexcept
        : std::vector<lath_item>(std::move(items)) {
        for (const lath_item& item : *this)
            if (tag_of(item.value) == Tag::object)
                Py_INCREF(object_of(item.value));
    }
    OwnedItems(OwnedItems&& other) noexcept : std::vector<lath_item>(std::move(other)) {
        other.clear();
    }
    OwnedItems& operator=(OwnedItems&&) = delete;
    ~OwnedItems() {
        for (const lath_item& item : *this)
            if (tag_of(item.value) == Tag::object)
                Py_DECREF(object_of(item.value));
    }
};

// A key and its value, either of which may be missing.
using Pair = std::pair<nb::object, nb::object>;

} // namespace lathpy
