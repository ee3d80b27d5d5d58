// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A call that adds many items: what is to be added is gathered first, then added, all or nothing.
#pragma once

#include "held.hpp"

namespace lathpy {

class Update {
public:
    explicit Update(Sorted& sorted) : sorted(sorted) {}
    ~Update();
    Update(const Update&) = delete;
    Update& operator=(const Update&) = delete;

    // Gathers one key, and its value in a container of pairs. Calls the key function. Throws for
    // what no container takes.
    void gather(nb::handle key, PyObject* value);
    // Adds all. If that throws, the container is as it was.
    void commit();

private:
    bool gather_int(PyObject* key, PyObject* value);
    void gather_item(nb::object sort, nb::handle key, PyObject* value);
    void unfold();
    bool all_texts() const;
    std::vector<size_t> order() const;

    Sorted& sorted;
    Kind kind = Kind::none;
    bool started = false;
    bool comparing = false; // keys have their own order
    OwnedItems words; // as long as all keys have exact codes of this kind
    std::vector<Item> items; // else all of them
};

// Adds pairs of exact codes of `kind` and words, in this order: later ones replace earlier ones. If
// it throws, the container is as it was.
void add_words(Sorted& sorted, Kind kind, OwnedItems items);

} // namespace lathpy
