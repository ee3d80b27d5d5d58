// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "bucket.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

namespace lathpy {

// Room for more items; moves the bucket. NULL makes one. PyMem_Malloc() takes 32 bytes for a bucket
// of one item, malloc() 48.
Bucket* Bucket::grow(Bucket* bucket, size_t room) {
    auto* grown = static_cast<Bucket*>(PyMem_Realloc(bucket, sizeof(Bucket) + room * sizeof(Item)));

    if (!grown)
        throw std::bad_alloc();
    if (!bucket)
        grown->used = 0;
    grown->room = static_cast<uint32_t>(room);
    return grown;
}

void Bucket::free() {
    if (room) {
        PyMem_Free(this);
        return;
    }
    for (Bucket* part : many()->pieces)
        PyMem_Free(part);
    delete many();
}

Bucket* Bucket::make(const Item* items, size_t n) {
    constexpr size_t load = most / 4 * 3; // of each piece, so that not every insert splits one
    auto fill = [items](size_t from, size_t count) {
        Bucket* part = grow(nullptr, count);
        std::memcpy(part->items, items + from, count * sizeof(Item));
        part->used = static_cast<uint32_t>(count);
        return part;
    };

    if (n <= most)
        return fill(0, n);
    auto made = std::make_unique<Many>();
    try {
        made->pieces.reserve(n / load + 1);
        for (; made->total < n; made->total += made->pieces.back()->used)
            made->pieces.push_back(fill(made->total, std::min(load, n - made->total)));
    } catch (...) {
        for (Bucket* part : made->pieces)
            PyMem_Free(part);
        throw;
    }
    return reinterpret_cast<Bucket*>(made.release());
}

bool Bucket::next(Spot* spot) const {
    if (spot->at + 1 < piece(spot->piece)->used)
        spot->at++;
    else if (spot->piece + 1 < pieces())
        *spot = {spot->piece + 1, 0};
    else
        return false;
    return true;
}

bool Bucket::previous(Spot* spot) const {
    if (spot->at > 0)
        spot->at--;
    else if (spot->piece > 0)
        *spot = {spot->piece - 1, piece(spot->piece - 1)->used - 1u};
    else
        return false;
    return true;
}

Spot Bucket::spot_of(size_t position) const {
    size_t i = 0;

    for (; position >= piece(i)->used; i++)
        position -= piece(i)->used;
    return {i, position};
}

size_t Bucket::position_of(Spot spot) const {
    size_t position = spot.at;

    for (size_t i = 0; i < spot.piece; i++)
        position += piece(i)->used;
    return position;
}

void Bucket::put(size_t at, const Item& item) {
    std::memmove(&items[at + 1], &items[at], (used - at) * sizeof(Item));
    items[at] = item;
    used++;
}

// A new piece with the items from `at` on, which leave the bucket.
Bucket* Bucket::split(Bucket* bucket, size_t at) {
    Bucket* upper = grow(nullptr, most);

    std::memcpy(upper->items, bucket->items + at, (bucket->used - at) * sizeof(Item));
    upper->used = static_cast<uint32_t>(bucket->used - at);
    bucket->used = static_cast<uint32_t>(at);
    return upper;
}

Bucket* Bucket::insert(Spot spot, const Item& item) {
    Bucket* part = piece(spot.piece);

    if (part->used == part->room && part->room < most) { // it grows, and may move
        const bool single = room != 0; // then it is this bucket that moves
        Bucket* grown = grow(part, std::min<size_t>(part->room * 2, most));
        grown->put(spot.at, item);
        if (single)
            return grown;
        many()->pieces[spot.piece] = grown;
        many()->total++;
        return this;
    }
    if (part->used < part->room) {
        part->put(spot.at, item);
        if (!room)
            many()->total++;
        return this;
    }
    if (room) { // the first piece of several
        auto list = std::make_unique<Many>();
        list->pieces.push_back(this);
        list->total = used;
        auto* whole = reinterpret_cast<Bucket*>(list.get());
        whole->insert(spot, item);
        return reinterpret_cast<Bucket*>(list.release());
    }
    auto& all = many()->pieces;
    all.reserve(all.size() + 1);
    // At the end of all items a new piece begins, so that items that come in order fill pieces.
    bool append = spot.piece + 1 == all.size() && spot.at == part->used;
    Bucket* upper = split(part, append ? part->used : part->used / 2);
    all.insert(all.begin() + static_cast<ptrdiff_t>(spot.piece) + 1, upper);
    many()->total++;
    if (spot.at > part->used || append)
        upper->put(spot.at - part->used, item);
    else
        part->put(spot.at, item);
    return this;
}

// Moves the items of a piece and the next one together, if that needs no memory.
void Bucket::merge(size_t left) {
    auto& all = many()->pieces;
    Bucket *low = all[left], *high = all[left + 1];
    size_t sum = low->used + high->used;

    if (sum > most / 4 * 3)
        return;
    if (low->room >= sum) {
        std::memcpy(low->items + low->used, high->items, high->used * sizeof(Item));
        low->used = static_cast<uint32_t>(sum);
    } else if (high->room >= sum) {
        std::memmove(high->items + low->used, high->items, high->used * sizeof(Item));
        std::memcpy(high->items, low->items, low->used * sizeof(Item));
        high->used = static_cast<uint32_t>(sum);
        all[left] = high;
        std::swap(low, high); // `high` is the empty one
    } else {
        return;
    }
    PyMem_Free(high);
    all.erase(all.begin() + static_cast<ptrdiff_t>(left) + 1);
}

void Bucket::erase(Spot spot) {
    Bucket* part = piece(spot.piece);

    part->used--;
    std::memmove(&part->items[spot.at], &part->items[spot.at + 1],
                 (part->used - spot.at) * sizeof(Item));
    if (room)
        return;
    auto& all = many()->pieces;
    many()->total--;
    if (part->used == 0 && all.size() > 1) {
        PyMem_Free(part);
        all.erase(all.begin() + static_cast<ptrdiff_t>(spot.piece));
    } else if (part->used < most / 4 && all.size() > 1) {
        merge(spot.piece + 1 < all.size() ? spot.piece : spot.piece - 1);
    }
}

bool Bucket::sound() const {
    size_t sum = 0;

    for (size_t i = 0; i < pieces(); i++) {
        const Bucket* part = piece(i);
        if (part->used == 0 || part->used > part->room || part->room > most)
            return false;
        sum += part->used;
    }
    return sum == size();
}

} // namespace lathpy
