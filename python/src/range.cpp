// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What RangeMap and RangeAllocator are built on: an index of ranges (lathwork/index.h) with objects
// as values, and an allocator of ranges (lathwork/space.h).
#include "held.hpp"
#include "iterator.hpp"
#include "memory.hpp"
#include "method.hpp"
#include "modules.hpp"
#include "range_key.hpp"
#include "turn.hpp"
#include "visit.hpp"

#include <lathwork/space.h>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>

namespace lathpy {

namespace {

// ---- RangeMap ----

class Ranges {
public:
    Ranges() {
        auto made = std::make_unique<lath_index>();
        lath_config config = index_config();
        must(LATH_CORE(lath_index_init(made.get(), &config)), "lath_index_init");
        index = made.release();
    }
    // Nothing finds the map any more.
    ~Ranges() {
        auto drop = [](void*, const lath_item* item) {
            if (is_object(item->value))
                Py_DECREF(object_of(item->value));
        };
        lath_index_fini(index, drop, nullptr);
        delete index.load();
        delete keys.load();
    }
    Ranges(const Ranges&) = delete;
    Ranges& operator=(const Ranges&) = delete;

    bool insert(nb::handle start, nb::handle stop, nb::handle value);
    void store(nb::handle start, nb::handle stop, nb::handle value);
    void cut(nb::handle start, nb::handle stop);
    void cut_if_any(nb::handle start, nb::handle stop);
    void become(nb::handle ranges);
    size_t remove(nb::handle start, nb::handle stop);
    nb::object take(nb::handle point, bool starting);
    void clear();
    nb::object find(nb::handle owner, nb::handle point);
    nb::list overlapping(nb::handle start, nb::handle stop) {
        return shown(OwnedItems(meeting(asked(start, stop, Round::down))));
    }
    nb::list gaps(nb::handle start, nb::handle stop);
    nb::object get_many(nb::handle points, nb::handle missing);
    int traverse(visitproc visit, void* arg);
    void verify();

    // The tuple of a range.
    nb::object shown(const lath_item& item, nb::object value) const;

    uint64_t count = 0, version = 0;
    std::atomic<lath_index*> index; // become() puts another one here

private:
    using Items = std::vector<lath_item>;

    Range asked(nb::handle start, nb::handle stop, Round round) const;
    Range given(nb::handle start, nb::handle stop);
    bool code_of(nb::handle point, uint64_t* code) const;
    nb::list shown(const OwnedItems& items) const;
    Items meeting(Range range);
    OwnedItems look_up(nb::handle owner, nb::handle point);
    OwnedItems put(const lath_item& item);
    size_t erase(Range range);
    void cut_range(Range range);
    void cut_keys(Range range);
    void gone(OwnedItems items, size_t come);
    // What leaves the index. There is room: the index's callbacks must not throw.
    static void collect(void* items, const lath_item* item) {
        static_cast<OwnedItems*>(items)->push_back(*item);
    }

    std::atomic<const Keys*> keys = nullptr; // from the first range on, always those
};

// The range of a call that adds none. Any keys may be its bounds before there are some.
Range Ranges::asked(nb::handle start, nb::handle stop, Round round) const {
    const Keys* of = keys.load(std::memory_order_acquire);

    return of ? of->range(start, stop, round) : Keys(start, stop).range(start, stop, round);
}

// The range of an item that is to be added. The first one decides what the keys are.
Range Ranges::given(nb::handle start, nb::handle stop) {
    if (!keys) {
        auto first = std::make_unique<Keys>(start, stop);
        Range range =
            limited(first->range(start, stop, Round::exact)); // may run code that adds one
        if (!keys) {
            keys.store(first.release(), std::memory_order_release);
            return range;
        }
    }
    return limited(keys.load()->range(start, stop, Round::exact));
}

// The code of a point. Returns whether a range may contain it.
bool Ranges::code_of(nb::handle point, uint64_t* code) const {
    const Keys* of = keys.load(std::memory_order_acquire);

    *code = of ? of->code(point, Round::down) : Keys(point, nb::none()).code(point, Round::down);
    return of;
}

// Tuples of items, in their order. They are owned: making a tuple may run other code.
nb::list Ranges::shown(const OwnedItems& items) const {
    nb::list list;

    for (const lath_item& item : items)
        list.append(shown(item, unpack(item.value)));
    return list;
}

nb::object Ranges::shown(const lath_item& item, nb::object value) const {
    const Keys* of = keys.load(std::memory_order_acquire);
    return nb::make_tuple(of->key(item.key), of->stop(item), std::move(value));
}

// The items that meet a range, in order, without references.
Ranges::Items Ranges::meeting(Range range) {
    Items found;
    lath_item item, items[64];

    if (!lath_index_lookup_item(index, range.first, &item) && item.key < range.first)
        found.push_back(item);
    for (size_t n = 64; n == 64;) {
        n = lath_index_scan(index, range.first, range.last, items, 64, &range.first);
        found.insert(found.end(), items, items + n);
        if (range.first == 0 || range.first > range.last)
            break;
    }
    return found;
}

// Items have left the index and others have come. Drops their references, the last thing a call
// does.
void Ranges::gone(OwnedItems items, size_t come) {
    count += come;
    count -= items.size();
    version++;
    await_visits(this);
}

bool Ranges::insert(nb::handle start, nb::handle stop, nb::handle value) {
    Range range = given(start, stop);
    lath_item item = {range.first, range.size(), pack(value.ptr())};
    int ret = LATH_CORE(lath_index_insert_item(index, &item, nullptr));

    if (ret == 0)
        gone({}, 1);
    else if (is_object(item.value))
        Py_DECREF(value.ptr()); // the caller has another reference
    if (ret != -EEXIST)
        must(ret, "lath_index_insert");
    return ret == 0;
}

// Removes the items that lie within a range.
size_t Ranges::erase(Range range) {
    OwnedItems items;

    items.reserve(meeting(range).size());
    lath_index_erase_range(index, range.first, range.size(), collect, &items);
    size_t n = items.size();
    gone(std::move(items), 0);
    return n;
}

// Puts an item over what is there, in one step, and returns what left. If it throws, nothing has
// changed; else the index has the reference of the item's value.
OwnedItems Ranges::put(const lath_item& item) {
    Items there = meeting({item.key, item.key + (item.size - 1)});
    OwnedItems items;
    // A range that goes beyond at both ends becomes two, of one value.
    bool both = there.size() == 1 && there[0].key < item.key &&
                there[0].key + (there[0].size - 1) > item.key + (item.size - 1);
    PyObject* twice = both && is_object(there[0].value) ? object_of(there[0].value) : nullptr;

    items.reserve(there.size());
    must(LATH_CORE(lath_index_store_range(index, &item, collect, &items)),
         "lath_index_store_range");
    Py_XINCREF(twice);
    count += 1u + both;
    count -= items.size();
    version++;
    return items;
}

// Its own item takes the place of the keys first: that may need memory, erasing does not.
void Ranges::cut_range(Range range) {
    OwnedItems last;

    last.reserve(1);
    OwnedItems items = put({range.first, range.size(), no_value});
    lath_index_erase_range(index, range.first, range.size(), collect, &last);
    gone(std::move(last), 0); // no visit sees what `items` has either
}

void Ranges::cut(nb::handle start, nb::handle stop) { cut_keys(asked(start, stop, Round::exact)); }

// The keys of a set's range, of which the map may have none.
void Ranges::cut_if_any(nb::handle start, nb::handle stop) {
    const Keys* of = keys.load();
    auto range = of ? of->some(start, stop, Round::exact) : std::nullopt;

    if (range)
        cut_keys(*range);
}

void Ranges::cut_keys(Range range) {
    if (range.size() == 0)
        clear();
    else if (count)
        cut_range(range);
}

// Takes tuples of ranges, the later one where they overlap, instead of what is there. Dropping that
// is the last thing that it does.
void Ranges::become(nb::handle ranges) {
    Ranges made;
    const Keys* of = keys.load();
    uint64_t before = version;

    if (of)
        made.keys = new Keys(*of);
    for (nb::handle range : ranges)
        made.store(nb::object(range[0]), nb::object(range[1]), nb::object(range[2]));
    if (version != before || keys != of)
        raise(PyExc_RuntimeError, "the map changed during the call");
    if (!of)
        keys = made.keys.exchange(nullptr);
    made.index = index.exchange(made.index);
    std::swap(count, made.count);
    version++;
    await_visits(this);
}

// Removes the items that meet a range. Returns their number.
size_t Ranges::remove(nb::handle start, nb::handle stop) {
    Range range = asked(start, stop, Round::down);
    size_t n = count;

    if (range.size())
        return erase(range);
    clear();
    return n;
}

// Removes the range that contains a key, or only one that starts there. Returns it, or None. The
// tuple is made before, which may run code that changes the map: then the search begins anew.
nb::object Ranges::take(nb::handle point, bool starting) {
    uint64_t key;

    for (bool may = code_of(point, &key);;) {
        lath_item item, now;

        if (!may || lath_index_lookup_item(index, key, &item) || (starting && item.key != key))
            return nb::none();
        nb::list made = shown(OwnedItems(meeting({key, key})));
        if (lath_index_lookup_item(index, key, &now) || now.key != item.key ||
            now.size != item.size || now.value != item.value)
            continue;
        erase({item.key, item.key + (item.size - 1)});
        return nb::object(made[0]);
    }
}

void Ranges::store(nb::handle start, nb::handle stop, nb::handle value) {
    Range range = given(start, stop);
    lath_item item = {range.first, range.size(), pack(value.ptr())};

    try {
        OwnedItems items = put(item);
        await_visits(this);
    } catch (...) {
        if (is_object(item.value))
            Py_DECREF(value.ptr()); // the caller has another reference
        throw;
    }
}

void Ranges::clear() {
    OwnedItems items;

    items.reserve(count);
    lath_index_clear(index, collect, &items);
    gone(std::move(items), 0);
}

// The range of a key, if there is one. owner: the map's object.
OwnedItems Ranges::look_up(nb::handle owner, nb::handle point) {
    uint64_t key;
    OwnedItems found;
    if (!code_of(point, &key))
        return found;
    auto look = [&] {
        if (lath_index_lookup_item(index, key, &found[0]))
            found.clear();
        else if (is_object(found[0].value))
            Py_INCREF(object_of(found[0].value));
    };

    found.push_back({0, 0, no_value});
    if (Visit visit(this); visit) {
        look();
        return found;
    }
    Locked lock(owner);
    look();
    return found;
}

nb::object Ranges::find(nb::handle owner, nb::handle point) {
    OwnedItems found = look_up(owner, point);

    return found.empty() ? nb::none() : shown(found[0], unpack(found[0].value));
}

// The parts of a range that no item has, as pairs.
nb::list Ranges::gaps(nb::handle start, nb::handle stop) {
    std::optional<Keys> own; // there is no range yet
    const Keys* of = keys.load(std::memory_order_acquire);
    if (!of)
        of = &own.emplace(start, stop);
    Range range = of->range(start, stop, Round::exact);
    std::vector<lath_item> free;
    bool done = false;

    for (const lath_item& item : meeting(range)) {
        if (range.first < item.key)
            free.push_back({range.first, item.key - range.first, 0});
        range.first = item.key + item.size;
        done = range.first == 0 || range.first > range.last;
    }
    if (!done)
        free.push_back({range.first, range.size(), 0});
    nb::list list;
    for (const lath_item& item : free) // may run other code
        list.append(nb::make_tuple(of->key(item.key), of->stop(item)));
    return list;
}

nb::object Ranges::get_many(nb::handle points, nb::handle missing) {
    const Keys* of = keys.load(std::memory_order_acquire);
    std::vector<uint64_t> codes = of ? of->codes(points) : keys_of(points);
    size_t n = codes.size();
    std::vector<uint64_t> words(n);
    std::vector<uint8_t> hits(n);
    std::vector<nb::object> values(n);
    lath_index_get_batch(index, n, codes.data(), words.data(), hits.data());
    for (size_t i = 0; i < n; i++)
        values[i] = hits[i] ? unpack(words[i]) : nb::borrow(missing);
    nb::list list;
    for (nb::object& value : values)
        list.append(std::move(value));
    return list;
}

int Ranges::traverse(visitproc visit, void* arg) {
    lath_item items[64];
    uint64_t from = 0;
    size_t n;

    do {
        n = lath_index_scan(index, from, ~0ull, items, 64, &from);
        for (size_t i = 0; i < n; i++)
            if (is_object(items[i].value))
                Py_VISIT(object_of(items[i].value));
    } while (n == 64 && from != 0);
    return 0;
}

void Ranges::verify() {
    char report[200];

    if (lath_index_verify(index, 6, report, sizeof(report)))
        raise(PyExc_RuntimeError, report);
    if (lath_index_count(index) != count)
        raise(PyExc_RuntimeError, "the number of ranges is wrong");
}

int ranges_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Ranges>(self)->traverse(visit, arg) : 0;
}

int ranges_clear(PyObject* self) {
    if (nb::inst_ready(self))
        nb::inst_ptr<Ranges>(self)->clear();
    return 0;
}

nb::object find(PyObject* self, PyObject* key) { return self_of<Ranges>(self).find(self, key); }

template <bool starting>
nb::object remove(Ranges& ranges, PyObject* key) {
    return ranges.take(key, starting);
}

nb::list gaps(Ranges& ranges, PyObject* start, PyObject* stop) {
    return ranges.gaps(start ? start : Py_None, stop ? stop : Py_None);
}

nb::object get_many(Ranges& ranges, PyObject* keys, PyObject* missing) {
    return ranges.get_many(keys, missing ? missing : Py_None);
}

PyMethodDef ranges_methods[] = {
    method<"clear($self)\n--\n\nRemove all ranges. O(n)", &Ranges::clear, Ranges>(),
    method<
        "cut($self, start, stop)\n--\n\nRemove the keys [start, stop) from all ranges. O(k + log "
        "n), k of them affected",
        &Ranges::cut, Ranges>(),
    method<"remove_covering($self, key)\n--\n\nRemove the range that contains key. Returns (start, "
           "stop, value), or None. O(log n)",
           remove<false>, Ranges>(),
    method<"remove_starting($self, start)\n--\n\nRemove the range that begins at start. Returns "
           "(start, stop, value), or None. O(log n)",
           remove<true>, Ranges>(),
    method<"remove_overlapping($self, start, stop)\n--\n\nRemove the ranges that meet [start, "
           "stop), as a whole. Returns their number. O(k + log n)",
           &Ranges::remove, Ranges>(),
    method<"find($self, key)\n--\n\nThe range (start, stop, value) that contains key, or None. "
           "O(log n)",
           find>(),
    method<
        "overlapping($self, start, stop)\n--\n\nThe list of the ranges (start, stop, value) that "
        "meet [start, stop). O(k + log n)",
        &Ranges::overlapping, Ranges>(),
    method<"get_many($self, keys, default=None)\n--\n\nThe values at an array of keys, as a list; "
           "default where there is no range.",
           get_many, Ranges>(),
    method<"gaps($self, start=None, stop=None)\n--\n\nThe list of the parts (start, stop) of "
           "[start, stop) that no range of the map has. O(k + log n)",
           gaps, Ranges>(),
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot ranges_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(ranges_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(ranges_clear)},
    {Py_tp_methods, ranges_methods},
    {0, nullptr},
};

// The ranges of a map in their order, or from the last one on.
class RangeWalk {
public:
    struct Held {
        lath_item item;
        nb::object value;
    };

    RangeWalk(Ranges& ranges, bool backward)
        : ranges(ranges), count(ranges.count), version(ranges.version), from(backward ? ~0ull : 0),
          backward(backward) {}

    // Throws RuntimeError if ranges were added or removed since the walk began.
    std::optional<Held> next();
    nb::object shown(Held&& found) const {
        return ranges.shown(found.item, std::move(found.value));
    }
    uint64_t left() const { return count; }

private:
    Ranges& ranges;
    uint64_t count, version, from;
    bool backward;
    size_t at = 0, used = 0;
    lath_item items[64];
};

std::optional<RangeWalk::Held> RangeWalk::next() {
    if (count == 0)
        return {};
    if (version != ranges.version) {
        version = ~0ull; // the next step raises too
        raise(PyExc_RuntimeError, "the map changed during the iteration");
    }
    if (at == used) {
        used = backward ? lath_index_scan_back(ranges.index, from, 0, items, 64, &from)
                        : lath_index_scan(ranges.index, from, ~0ull, items, 64, &from);
        at = 0;
    }
    count--;
    const lath_item& item = items[at++];
    return Held{item, unpack(item.value)};
}

// ---- RangeAllocator ----

PyObject* no_space; // the exception class

class Space {
public:
    Space(Range range, uint64_t unit) {
        lath_space_config config = LATH_SPACE_CONFIG_INIT;
        config.low = range.first;
        config.high = range.last + 1;
        config.unit = unit;
        config.flags = LATH_SPACE_NO_MAGAZINES; // a wrong free is refused at once
        must(LATH_CORE(lath_space_create(&space, &config)), "lath_space_create",
             {{EINVAL, PyExc_ValueError,
               "the unit must be a power of two, and the limits multiples of it"}});
    }
    ~Space() { lath_space_destroy(space); }
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;

    nb::object alloc(nb::handle size, nb::handle align);
    nb::object alloc_request(const lath_hole_request& want);
    void reserve(nb::handle start, nb::handle stop);
    void free(nb::handle start, nb::handle stop);
    nb::object alloc_many(nb::handle number, nb::handle size, nb::handle align);
    void free_many(nb::handle starts, nb::handle size);
    // The first run of allocated, or of free, keys at or behind a key. Returns whether there is
    // one.
    bool next(uint64_t key, bool allocated, lath_item* run);
    bool contains(nb::handle key);
    nb::dict stats();
    nb::bytes save();
    void load(nb::handle given);
    void verify();

private:
    [[noreturn]] static void refuse(int ret, const char* where);

    lath_space* space = nullptr;
    Turns turns; // alloc_many() and free_many(); load() and verify() exclude them
};

void Space::refuse(int ret, const char* where) {
    raise_error(ret, where,
                {{ENOSPC, no_space, "there is no free range of this size"},
                 {EBUSY, no_space, "a part of the range is allocated"},
                 {EINVAL, PyExc_ValueError,
                  "the size must be a multiple of the unit, the alignment a power of two, and the "
                  "range within the limits"}});
}

nb::object Space::alloc(nb::handle size, nb::handle align) {
    uint64_t key, keys = uint64_of(size, "the size"), multiple = uint64_of(align, "the alignment");
    int ret = LATH_CORE(lath_space_alloc(space, keys, multiple, 0, &key));

    if (ret)
        refuse(ret, "lath_space_alloc");
    return number_of_key(key);
}

nb::object Space::alloc_request(const lath_hole_request& want) {
    uint64_t key;
    int ret = LATH_CORE(lath_space_alloc_request(space, &want, 0, &key));

    if (ret)
        refuse(ret, "lath_space_alloc_request");
    return number_of_key(key);
}

void Space::reserve(nb::handle start, nb::handle stop) {
    Range range = range_of(start, stop);
    int ret = LATH_CORE(lath_space_reserve(space, range.first, range.size(), 0));

    if (ret)
        refuse(ret, "lath_space_reserve");
}

void Space::free(nb::handle start, nb::handle stop) {
    Range range = range_of(start, stop);

    must(LATH_CORE(lath_space_free(space, range.first, range.size())), "lath_space_free",
         {{EINVAL, PyExc_ValueError, "a part of the range is not allocated"}});
}

// All or none.
nb::object Space::alloc_many(nb::handle number, nb::handle size, nb::handle align) {
    uint64_t count = uint64_of(number, "the count"), each = uint64_of(size, "the size");
    uint64_t multiple = align.is_valid() ? uint64_of(align, "the alignment") : 0;
    auto made = std::make_unique<std::vector<uint64_t>>();
    if (count > made->max_size())
        throw std::bad_alloc();
    made->resize(count);
    std::vector<uint64_t>* keys = made.release();
    nb::capsule owner(
        keys, [](void* block) noexcept { delete static_cast<std::vector<uint64_t>*>(block); });
    int ret = 0;

    {
        turns.wait();
        Turns::Shared turn(turns);
        nb::gil_scoped_release others;
        for (size_t i = 0; i < count && !ret; i++) {
            ret = LATH_CORE(lath_space_alloc(space, each, multiple, 0, &(*keys)[i]));
            for (; ret && i > 0; i--)
                lath_space_free(space, (*keys)[i - 1], each);
        }
    }
    if (ret)
        refuse(ret, "lath_space_alloc");
    return nb::cast(nb::ndarray<nb::numpy, uint64_t, nb::ndim<1>>(keys->data(), {count}, owner));
}

void Space::free_many(nb::handle starts, nb::handle size) {
    std::vector<uint64_t> keys = keys_of(starts);
    uint64_t each = uint64_of(size, "the size");
    int ret = 0;
    {
        turns.wait();
        Turns::Shared turn(turns);
        nb::gil_scoped_release others;
        for (size_t i = 0; i < keys.size() && !ret; i++)
            ret = LATH_CORE(lath_space_free(space, keys[i], each));
    }
    must(ret, "lath_space_free",
         {{EINVAL, PyExc_ValueError,
           "one of the ranges is not allocated; those before it are free now"}});
}

bool Space::next(uint64_t key, bool allocated, lath_item* run) {
    int ret = allocated ? LATH_CORE(lath_space_next(space, key, run))
                        : LATH_CORE(lath_space_next_free(space, key, run));

    return ret != -ENOENT && must(ret, "lath_space_next") == 0;
}

bool Space::contains(nb::handle key) {
    uint64_t number = key_of(key);
    lath_item run;

    return next(number, true, &run) && run.key <= number;
}

nb::dict Space::stats() {
    lath_space_stats stats;
    nb::dict dict;

    lath_space_get_stats(space, &stats);
    dict["allocated"] = stats.allocated;
    dict["free"] = stats.free;
    dict["arenas"] = stats.arenas;
    dict["ranges"] = stats.ranges;
    dict["bytes"] = stats.bytes;
    return dict;
}

nb::bytes Space::save() {
    std::string saved;
    auto write = [](void* arg, const void* data, size_t size) {
        try {
            static_cast<std::string*>(arg)->append(static_cast<const char*>(data), size);
        } catch (const std::bad_alloc&) {
            return -ENOMEM;
        }
        return 0;
    };

    must(LATH_CORE(lath_space_save(space, write, &saved)), "lath_space_save");
    return nb::bytes(saved.data(), saved.size());
}

void Space::load(nb::handle given) {
    if (!PyBytes_Check(given.ptr()))
        raise(PyExc_TypeError, "what save() said is bytes");
    auto saved = nb::borrow<nb::bytes>(given);
    struct Reader {
        const char* data;
        size_t left;
    } reader = {saved.c_str(), saved.size()};
    char report[200] = "";
    auto read = [](void* arg, void* data, size_t size) {
        auto* from = static_cast<Reader*>(arg);
        size = size < from->left ? size : from->left;
        std::memcpy(data, from->data, size);
        from->data += size;
        from->left -= size;
        return static_cast<int64_t>(size);
    };
    auto load = [&] { // the turn ends before an error is raised
        Turns::Alone turn(turns);
        return LATH_CORE(lath_space_load(space, read, &reader, 0, report, sizeof(report)));
    };
    must(
        load(), "lath_space_load",
        {{EBUSY, PyExc_ValueError, "only an allocator in which nothing is allocated can be loaded"},
         {EBADMSG, PyExc_ValueError, report},
         {EINVAL, PyExc_ValueError, report}});
}

void Space::verify() {
    char report[200];
    int broken; // the number of an invariant

    {
        Turns::Alone turn(turns);
        broken = lath_space_verify(space, report, sizeof(report));
    }
    if (broken)
        raise(PyExc_RuntimeError, report);
}

// The allocated or the free runs in their order, as they are when the walk comes there.
class RunWalk {
public:
    RunWalk(Space& space, bool allocated) : space(space), allocated(allocated) {}

    std::optional<lath_item> next() {
        lath_item run;

        if (ended || !space.next(from, allocated, &run))
            return {};
        from = run.key + run.size;
        ended = from == 0;
        return run;
    }
    nb::object shown(lath_item&& run) const {
        return nb::make_tuple(number_of_key(run.key), stop_of(run));
    }

private:
    Space& space;
    uint64_t from = 0;
    bool allocated, ended = false;
};

nb::object alloc_request(Space& self, nb::handle size, nb::handle align, nb::handle low,
                         nb::handle high, nb::handle hint, lath_hole_policy policy) {
    uint64_t last = last_before(high);
    return self.alloc_request({uint64_of(size, "the size"), uint64_of(align, "the alignment"),
                               key_of(low), last + 1, 0, uint64_of(hint, "the hint"), policy});
}

template <bool allocated>
nb::object runs(PyObject* self) {
    return nb::cast(Iterator<RunWalk>{nb::borrow(self), {self_of<Space>(self), allocated}});
}

PyMethodDef space_methods[] = {
    method<
        "reserve($self, start, stop)\n--\n\nTake exactly [start, stop). Raises NoSpace if a part "
        "of it is allocated. O(log n)",
        &Space::reserve, Space>(),
    method<
        "free($self, start, stop)\n--\n\nFree [start, stop): one or several adjacent "
        "allocations, or a part of one. Raises ValueError if a part\nof it is not allocated. O(log "
        "n)",
        &Space::free, Space>(),
    method<"alloc_many($self, count, size, align=0)\n--\n\nTake count ranges of one size, all or "
           "none. Returns an array of their starts. Without the GIL.",
           &Space::alloc_many, Space>(),
    method<"free_many($self, starts, size)\n--\n\nFree an array of ranges of one size. Without the "
           "GIL.",
           &Space::free_many, Space>(),
    method<
        "stats($self)\n--\n\nNumbers of keys that are allocated and free, of parts, and the bytes "
        "used. O(1)",
        &Space::stats, Space>(),
    method<"save($self)\n--\n\nWhat is allocated, as bytes. O(n)", &Space::save, Space>(),
    method<"load($self, saved)\n--\n\nTake what save() said, in an allocator in which nothing is "
           "allocated. O(n)",
           &Space::load, Space>(),
    method<"allocated($self)\n--\n\nIterate over the allocated runs (start, stop), in order; "
           "neighbours are one run.",
           runs<true>>(),
    method<"free_runs($self)\n--\n\nIterate over the free runs (start, stop), in order.",
           runs<false>>(),
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot space_slots[] = {{Py_tp_methods, space_methods}, {0, nullptr}};

} // namespace

void bind_ranges(nb::module_& module) {
    const auto any = nb::arg().none(); // None is refused as other wrong types are

    bind_iterator<RangeWalk>(module, "RangeIterator");
    LockedClass<Ranges>(module, "Ranges", nb::type_slots(ranges_slots), nb::is_weak_referenceable())
        .def(nb::init<>())
        .def("__len__", [](const Ranges& self) { return self.count; })
        .def_prop_ro("_version", [](const Ranges& self) { return self.version; })
        .def("_insert", &Ranges::insert, any, any, any)
        .def("_store", &Ranges::store, any, any, any)
        .def("_become", &Ranges::become)
        .def("_cut_if_any", &Ranges::cut_if_any, any, any)
        .def("_walk",
             [](nb::pointer_and_handle<Ranges> self, bool backward) {
                 return Iterator<RangeWalk>{nb::borrow(self.h), {*self.p, backward}};
             })
        .def("_verify", &Ranges::verify);
}

void bind_space(nb::module_& module) {
    const auto any = nb::arg().none();

    bind_iterator<RunWalk>(module, "RunIterator");
    no_space = PyErr_NewExceptionWithDoc("lathwork.NoSpace", "There is no free range that fits.",
                                         PyExc_MemoryError, nullptr);
    module.attr("NoSpace") = nb::handle(no_space);
    nb::enum_<lath_hole_policy>(module, "Policy")
        .value("first", LATH_HOLE_FIRST)
        .value("last", LATH_HOLE_LAST)
        .value("best", LATH_HOLE_BEST)
        .value("next", LATH_HOLE_NEXT)
        .value("near", LATH_HOLE_NEAR);
    LockedClass<Space>(module, "Space", nb::type_slots(space_slots), nb::is_weak_referenceable())
        .def(
            "__init__",
            [](nb::pointer_and_handle<Space> self, nb::handle start, nb::handle stop,
               nb::handle unit) {
                Range range = range_of(start, stop); // may run code that makes the object
                uint64_t multiple = uint64_of(unit, "the unit");
                once(self.h);
                new (self.p) Space(range, multiple);
            },
            any, any, any)
        .def("_alloc", &Space::alloc, any, any)
        .def("_alloc_request", alloc_request, any, any, any, any, any, nb::arg())
        .def("__contains__", &Space::contains, any)
        .def("_verify", &Space::verify);
}

} // namespace lathpy
