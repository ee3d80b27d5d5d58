// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What RangeMap is built on: an index of ranges (lathwork/index.h) with objects as values.
#include "held.hpp"
#include "object.hpp"
#include "memory.hpp"

#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>

namespace lathpy {

namespace {

class Ranges : Pinned {
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
        delete codec.load();
    }

    bool insert(nb::handle start, nb::handle stop, nb::handle value);
    void store(nb::handle start, nb::handle stop, nb::handle value);
    void cut(nb::handle start, nb::handle stop) { cut(asked(start, stop, Round::exact)); }
    // The keys of a set's range, of which the map may have none.
    void cut_if_any(nb::handle start, nb::handle stop) {
        const Codec* of = codec.load();
        if (auto range = of ? of->some(start, stop, Round::exact) : std::nullopt)
            cut(*range);
    }
    void become(nb::handle ranges);
    // Removes the ranges that meet this one. Returns their number.
    size_t remove(nb::handle start, nb::handle stop) {
        Range range = asked(start, stop, Round::down);
        return range.size() ? erase(range) : clear();
    }
    nb::object take(nb::handle point, bool starting);
    size_t clear() { return erase({0, ~0ull}); }
    nb::object find(nb::handle owner, nb::handle point);
    nb::list overlapping(nb::handle start, nb::handle stop) {
        return shown(OwnedItems(meeting(asked(start, stop, Round::down))));
    }
    nb::object page(nb::handle place, bool backward);
    nb::list gaps(nb::handle start, nb::handle stop);
    nb::list get_many(nb::handle points, nb::handle missing);
    int traverse(visitproc visit, void* arg);
    void verify();

    // The tuple of a range.
    nb::object shown(const lath_item& item, nb::object value) const {
        const Codec* of = codec.load(std::memory_order_acquire);
        return nb::make_tuple(of->key(item.key), of->stop(item), std::move(value));
    }

    uint64_t count = 0, version = 0;
    std::atomic<lath_index*> index; // become() puts another one here

private:
    using Items = std::vector<lath_item>;

    // The codec of a map whose first range has these bounds.
    static Codec first(nb::handle start, nb::handle stop) {
        return Codec(bounds("of_ranges")(start, stop));
    }
    // The range of a call that adds none. Any keys may be its bounds before there are some.
    Range asked(nb::handle start, nb::handle stop, Round round) const {
        const Codec* of = codec.load(std::memory_order_acquire);
        return of ? of->range(start, stop, round) : first(start, stop).range(start, stop, round);
    }
    Range given(nb::handle start, nb::handle stop);
    // The code of a point. Returns whether a range may contain it.
    bool code_of(nb::handle point, uint64_t* code) const {
        const Codec* of = codec.load(std::memory_order_acquire);
        *code = (of ? *of : first(point, nb::none())).code(point, Round::down);
        return of;
    }
    // Tuples of items, in their order. They are owned: making a tuple may run other code.
    nb::list shown(const OwnedItems& items) const {
        nb::list list;
        for (const lath_item& item : items)
            list.append(shown(item, unpack(item.value)));
        return list;
    }
    Items meeting(Range range);
    OwnedItems put(const lath_item& item);
    size_t erase(Range range);
    void cut(Range range);
    // Items have left the index and others have come. Drops their references, the last thing a
    // call does.
    void gone(OwnedItems items, size_t come) {
        count += come;
        count -= items.size();
        version++;
        await_visits(this);
    }
    // What leaves the index. There is room: the index's callbacks must not throw.
    static void collect(void* items, const lath_item* item) {
        static_cast<OwnedItems*>(items)->push_back(*item);
    }

    std::atomic<const Codec*> codec = nullptr; // from the first range on, always that
};

// The range of an item that is to be added. The first one decides what the keys are.
Range Ranges::given(nb::handle start, nb::handle stop) {
    if (!codec) {
        auto made = std::make_unique<Codec>(first(start, stop));
        Range range = limited(made->range(start, stop, Round::exact)); // may run code that adds one
        if (!codec) {
            codec.store(made.release(), std::memory_order_release);
            return range;
        }
    }
    return limited(codec.load()->range(start, stop, Round::exact));
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

// Removes the items that meet a range.
size_t Ranges::erase(Range range) {
    OwnedItems items;

    items.reserve(range.size() ? meeting(range).size() : count);
    if (range.size())
        lath_index_erase_range(index, range.first, range.size(), collect, &items);
    else
        lath_index_clear(index, collect, &items);
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
void Ranges::cut(Range range) {
    OwnedItems last;

    if (range.size() == 0)
        return void(clear());
    if (count == 0)
        return;
    last.reserve(1);
    OwnedItems items = put({range.first, range.size(), no_value});
    lath_index_erase_range(index, range.first, range.size(), collect, &last);
    gone(std::move(last), 0); // no visit sees what `items` has either
}

// Takes tuples of ranges, the later one where they overlap, instead of what is there. Dropping that
// is the last thing that it does.
void Ranges::become(nb::handle ranges) {
    Ranges made;
    const Codec* of = codec.load();
    uint64_t before = version;

    if (of)
        made.codec = new Codec(*of);
    for (nb::handle range : ranges)
        made.store(nb::object(range[0]), nb::object(range[1]), nb::object(range[2]));
    if (version != before || codec != of)
        raise(PyExc_RuntimeError, "the map changed during the call");
    if (!of)
        codec = made.codec.exchange(nullptr);
    made.index = index.exchange(made.index);
    std::swap(count, made.count);
    version++;
    await_visits(this);
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

// The range of a key, or None. owner: the map's object.
nb::object Ranges::find(nb::handle owner, nb::handle point) {
    uint64_t key;
    lath_item item;
    nb::object value;

    if (!code_of(point, &key))
        return nb::none();
    {
        std::optional<Locked> lock;
        Visit visit(this);
        if (!visit)
            lock.emplace(owner);
        if (!lath_index_lookup_item(index, key, &item))
            value = unpack(item.value);
    }
    return value.is_valid() ? shown(item, std::move(value)) : nb::none();
}

// Some ranges from a code on, None: from the first or last one, and the code where the next ones
// begin, or None.
nb::object Ranges::page(nb::handle place, bool backward) {
    Items items(64);
    uint64_t from = !place.is_none() ? nb::cast<uint64_t>(place) : backward ? ~0ull : 0;

    items.resize(backward ? lath_index_scan_back(index, from, 0, items.data(), 64, &from)
                          : lath_index_scan(index, from, ~0ull, items.data(), 64, &from));
    bool last =
        items.size() < 64 || (backward ? items[63].key : items[63].key + items[63].size) == 0;
    nb::object next = last ? nb::none() : number_of_key(from);
    return nb::make_tuple(shown(OwnedItems(std::move(items))), next);
}

// The parts of a range that no item has, as pairs.
nb::list Ranges::gaps(nb::handle start, nb::handle stop) {
    std::optional<Codec> own; // there is no range yet
    const Codec* of = codec.load(std::memory_order_acquire);
    if (!of)
        of = &own.emplace(first(start, stop));
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

nb::list Ranges::get_many(nb::handle points, nb::handle missing) {
    const Codec* of = codec.load(std::memory_order_acquire);
    std::vector<uint64_t> codes = (of ? *of : Codec::naturals()).codes(points);
    std::vector<Word> words(codes.size());
    std::vector<uint8_t> hits(codes.size());
    nb::list list; // now, as that may run other code
    lath_index_get_batch(index, codes.size(), codes.data(), words.data(), hits.data());
    for (size_t i = 0; i < codes.size(); i++)
        list.append(hits[i] ? unpack(words[i]) : nb::borrow(missing));
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

PyType_Slot ranges_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_of<Ranges>)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_of<Ranges>)},
    {0, nullptr},
};

} // namespace

void bind_ranges(nb::module_& module) {
    const auto any = nb::arg().none(); // None is refused as other wrong types are

    LockedClass<Ranges>(module, "Ranges", nb::type_slots(ranges_slots), nb::is_weak_referenceable())
        .def(nb::init<>())
        .def("__len__", [](const Ranges& self) { return self.count; })
        .def_prop_ro("_version", [](const Ranges& self) { return self.version; })
        .def("_clear", &Ranges::clear)
        .def("_cut", nb::overload_cast<nb::handle, nb::handle>(&Ranges::cut), any, any)
        .def("_take", &Ranges::take, any, nb::arg())
        .def("_remove_overlapping", &Ranges::remove, any, any)
        .def_unlocked(
            "_find",
            [](nb::pointer_and_handle<Ranges> self, nb::handle key) {
                return self.p->find(self.h, key);
            },
            any)
        .def("_overlapping", &Ranges::overlapping, any, any)
        .def("_get_many", &Ranges::get_many, any, any)
        .def("_gaps", &Ranges::gaps, any, any)
        .def("_insert", &Ranges::insert, any, any, any)
        .def("_store", &Ranges::store, any, any, any)
        .def("_become", &Ranges::become)
        .def("_cut_if_any", &Ranges::cut_if_any, any, any)
        .def("_page", &Ranges::page, any, nb::arg())
        .def("_verify", &Ranges::verify);
}

} // namespace lathpy
