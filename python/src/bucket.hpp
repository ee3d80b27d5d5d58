// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A bucket: an array of items in order. One that outgrows `most` items becomes a list of such
// arrays, its pieces, so that a change moves no more than one of them.
//
//   few items    [used, room | item item item ...]
//   many         [0, 0 | total, pieces] -> [used, room | ...] [used, room | ...] ...
//
// Items are only moved here: who keeps an item has a reference, who erases it gets it back.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lathpy {

struct Item { // owned references
    PyObject *sort, *key,
        *value; // sort is NULL if the key orders itself; value is NULL in sets and lists
    PyObject* order() const { return sort ? sort : key; }
};

// How many references an item holds.
inline unsigned references(const Item& item) {
    return 1u + (item.sort != nullptr) + (item.value != nullptr);
}

// Where an item is in a bucket. The end is behind the last item of the last piece.
struct Spot {
    size_t piece = 0, at = 0;
};

class Bucket {
public:
    static constexpr size_t most = 512; // items of a piece

    // A bucket of these items. Throws std::bad_alloc.
    static Bucket* make(const Item* items, size_t n);
    // Frees the bucket, but not what its items refer to.
    void free();

    size_t size() const { return room ? used : many()->total; }
    Item& operator[](Spot spot) { return piece(spot.piece)->items[spot.at]; }
    const Item& operator[](Spot spot) const { return piece(spot.piece)->items[spot.at]; }

    Spot end() const { return {pieces() - 1, piece(pieces() - 1)->used}; }
    Spot last() const { return {pieces() - 1, piece(pieces() - 1)->used - 1u}; }
    // To the next or previous item. Return false, at the same place, if there is none.
    bool next(Spot* spot) const;
    bool previous(Spot* spot) const;
    Spot spot_of(size_t position) const; // below size()
    size_t position_of(Spot spot) const;

    // The first spot whose item is not before(item); all items before it are.
    template <class Before>
    Spot partition(Before before) const {
        size_t low = 0, high = pieces() - 1; // the last piece is looked at in any case
        while (low < high) {
            size_t middle = (low + high) / 2;
            const Bucket* part = piece(middle);
            if (before(part->items[part->used - 1]))
                low = middle + 1;
            else
                high = middle;
        }
        const Bucket* part = piece(low);
        Spot spot = {low, 0};
        for (size_t end = part->used; spot.at < end;) {
            size_t middle = (spot.at + end) / 2;
            if (before(part->items[middle]))
                spot.at = middle + 1;
            else
                end = middle;
        }
        return spot;
    }

    // Puts an item at a spot, before the one that is there. Returns the bucket, which may have
    // moved. Throws std::bad_alloc, and then nothing has changed.
    Bucket* insert(Spot spot, const Item& item);
    // Takes the item at a spot out of a bucket of several. Never allocates.
    void erase(Spot spot);

    // Calls each(item) in order, until it returns something else than 0, which is returned.
    template <class Each>
    int each(Each each) const {
        for (size_t i = 0; i < pieces(); i++)
            for (size_t at = 0; at < piece(i)->used; at++)
                if (int ret = each(piece(i)->items[at]))
                    return ret;
        return 0;
    }

    // Whether the pieces are as they should be.
    bool sound() const;

private:
    struct Many {
        uint32_t used, room; // 0
        size_t total;
        std::vector<Bucket*> pieces;
    };

    static Bucket* grow(Bucket* bucket, size_t room);
    static Bucket* split(Bucket* bucket, size_t at);
    Many* many() { return reinterpret_cast<Many*>(this); }
    const Many* many() const { return reinterpret_cast<const Many*>(this); }
    size_t pieces() const { return room ? 1 : many()->pieces.size(); }
    Bucket* piece(size_t i) { return room ? this : many()->pieces[i]; }
    const Bucket* piece(size_t i) const { return room ? this : many()->pieces[i]; }
    void put(size_t at, const Item& item);
    void merge(size_t left);

    uint32_t used, room;
    Item items[];
};

} // namespace lathpy
