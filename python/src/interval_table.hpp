// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The Interval objects of a tree by the hash of their bounds, several of which may have one hash.
// Open addressing in one array: an object is in the first free slot behind the place that the upper
// bits of its hash give it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <Python.h>

namespace lathpy {

class IntervalTable {
public:
    struct Slot {
        uint64_t hash;
        PyObject* object; // nullptr: free
    };

    size_t size() const { return used; }
    bool empty() const { return used == 0; }

    // Makes room for n objects. Throws std::bad_alloc, and then nothing has changed.
    void reserve(size_t n) {
        size_t capacity = slots.empty() ? 8 : slots.size();

        while (capacity * 2 < n * 3)
            capacity *= 2;
        if (capacity == slots.size())
            return;
        std::vector<Slot> before(capacity);
        before.swap(slots);
        shift = 64;
        for (; capacity > 1; capacity /= 2)
            shift--;
        used = 0;
        for (const Slot& slot : before)
            if (slot.object)
                enter(slot.hash, slot.object);
    }

    // Adds an object, whether there is an equal one or not.
    void insert(uint64_t hash, PyObject* object) {
        reserve(used + 1);
        enter(hash, object);
    }

    // The first slot with this hash whose object is_it() takes; nullptr if there is none.
    template <class F>
    Slot* find(uint64_t hash, F is_it) {
        if (slots.empty())
            return nullptr;
        for (size_t at = hash >> shift; slots[at].object; at = next(at))
            if (slots[at].hash == hash && is_it(slots[at].object))
                return &slots[at];
        return nullptr;
    }

    void erase(Slot* slot) {
        size_t free = static_cast<size_t>(slot - slots.data()), at = free, mask = slots.size() - 1;

        while (slots[at = next(at)].object) { // what may be nearer to its place moves there
            size_t from_place = (at - (slots[at].hash >> shift)) & mask;
            if (from_place < ((at - free) & mask))
                continue;
            slots[free] = slots[at];
            free = at;
        }
        slots[free].object = nullptr;
        used--;
    }

    // Loads the cache line of a hash that will be looked for.
    void prefetch(uint64_t hash) const { __builtin_prefetch(&slots[hash >> shift]); }

    // Calls each(hash, object) for all objects, whose heads are in the cache then.
    template <class F>
    void each(F each) const {
        constexpr size_t ahead = 16;

        for (size_t i = 0; i < slots.size(); i++) {
            if (i + ahead < slots.size())
                __builtin_prefetch(slots[i + ahead].object);
            if (slots[i].object)
                each(slots[i].hash, slots[i].object);
        }
    }

private:
    size_t next(size_t at) const { return (at + 1) & (slots.size() - 1); }
    void enter(uint64_t hash, PyObject* object) {
        size_t at = hash >> shift;

        while (slots[at].object)
            at = next(at);
        slots[at] = {hash, object};
        used++;
    }

    std::vector<Slot> slots; // a power of two, or none
    unsigned shift = 64; // from a hash to its place
    size_t used = 0;
};

} // namespace lathpy
