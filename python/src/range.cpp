// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What RangeMap and RangeAllocator are built on: an index of ranges (lathwork/index.h) with objects
// as values, and an allocator of ranges (lathwork/space.h). Keys are numbers from 0 to 2^64 - 1;
// the end of a range may be 2^64.
#include "held.hpp"
#include "memory.hpp"
#include "modules.hpp"
#include "turn.hpp"
#include "visit.hpp"

#include <lathwork/space.h>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace lathpy {

namespace {

uint64_t key_of(nb::handle number) { return uint64_of(number, "a key"); }

// The last key before `stop`, which may be 2^64.
uint64_t last_before(nb::handle stop) {
    nb::object end = nb::steal(PyNumber_Index(stop.ptr())), one = nb::int_(1);
    if (!end.is_valid()) {
        PyErr_Clear();
        return key_of(stop); // throws, and names it
    }
    nb::object last = nb::steal(PyNumber_Subtract(end.ptr(), one.ptr()));
    if (!last.is_valid())
        throw nb::python_error();
    return key_of(last);
}

nb::object number_of(uint64_t key) { return nb::steal(PyLong_FromUnsignedLongLong(key)); }

// The key behind a range, as a number of Python: 2^64 has no code of its own.
nb::object stop_of(const lath_item& item) {
    nb::object last = number_of(item.key + item.size - 1), one = nb::int_(1);
    return nb::steal(PyNumber_Add(last.ptr(), one.ptr()));
}

struct Range {
    uint64_t first, last;
    uint64_t size() const { return last - first + 1; }
};

// The end of a range: its last key. An int that is exact, as the arithmetic of other types may
// wrap.
Range range_of(nb::handle start, nb::handle stop) {
    uint64_t first = key_of(start);
    nb::object end = nb::steal(PyNumber_Index(stop.ptr()));
    nb::object begin = nb::steal(PyLong_FromUnsignedLongLong(first));
    if (!end.is_valid())
        PyErr_Clear(); // last_before() says which number it is
    int empty = end.is_valid() ? PyObject_RichCompareBool(end.ptr(), begin.ptr(), Py_LE) : 0;
    if (empty < 0)
        throw nb::python_error();
    if (empty)
        raise(PyExc_ValueError, "the range is empty");
    Range range = {first, last_before(stop)};
    if (range.size() == 0)
        raise(PyExc_OverflowError, "a range has at most 2**64 - 1 keys");
    return range;
}

// The numbers of a sequence or an array. Throws TypeError or OverflowError for what are no keys.
std::vector<uint64_t> keys_of(nb::handle given) {
    std::vector<uint64_t> keys;

    if (!nb::hasattr(given, "__array__")) {
        for (nb::handle number : nb::list(nb::borrow(given)))
            keys.push_back(key_of(number));
        return keys;
    }
    nb::object array = nb::module_::import_("numpy").attr("ascontiguousarray")(given);
    auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
    bool empty = nb::cast<size_t>(array.attr("size")) == 0;
    nb::ndarray<const uint64_t, nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> numbers;
    if ((!empty && kind != "u" && kind != "i") ||
        !nb::try_cast(array.attr("astype")("uint64", nb::arg("copy") = false), numbers))
        raise(PyExc_TypeError, "keys of an array must be integers, in one dimension");
    keys.assign(numbers.data(), numbers.data() + numbers.shape(0));
    if (kind == "i" &&
        std::any_of(keys.begin(), keys.end(), [](uint64_t key) { return key >> 63; }))
        raise(PyExc_OverflowError, "a key is negative: it must be from 0 to 2**64 - 1");
    return keys;
}

// ---- RangeMap ----

class Ranges {
public:
    Ranges() {
        lath_config config = index_config();
        must(LATH_CORE(lath_index_init(&index, &config)), "lath_index_init");
    }
    // Nothing finds the map any more.
    ~Ranges() {
        auto drop = [](void*, const lath_item* item) {
            if (tag_of(item->value) == Tag::object)
                Py_DECREF(object_of(item->value));
        };
        lath_index_fini(&index, drop, nullptr);
    }
    Ranges(const Ranges&) = delete;
    Ranges& operator=(const Ranges&) = delete;

    bool insert(nb::handle start, nb::handle stop, nb::handle value);
    void store(nb::handle start, nb::handle stop, nb::handle value);
    void cut(nb::handle start, nb::handle stop) { cut_range(range_of(start, stop)); }
    size_t remove(nb::handle start, nb::handle stop) { return erase(range_of(start, stop)); }
    nb::object take(nb::handle point, bool starting);
    void clear();
    nb::object find(nb::handle owner, nb::handle point);
    nb::list scan(uint64_t from, uint64_t last, size_t most);
    nb::list overlapping(nb::handle start, nb::handle stop) {
        return shown(OwnedItems(meeting(range_of(start, stop))));
    }
    nb::object get_many(nb::handle points, nb::handle missing);
    int traverse(visitproc visit, void* arg);
    void verify();

    uint64_t count = 0, version = 0;

private:
    using Items = std::vector<lath_item>;

    static nb::object shown(const lath_item& item);
    static nb::list shown(const OwnedItems& items);
    Items meeting(Range range);
    OwnedItems look_up(nb::handle owner, nb::handle point);
    OwnedItems put(const lath_item& item);
    size_t erase(Range range);
    void cut_range(Range range);
    void gone(OwnedItems items, size_t come);
    // What leaves the index. There is room: the index's callbacks must not throw.
    static void collect(void* items, const lath_item* item) {
        static_cast<OwnedItems*>(items)->push_back(*item);
    }

    lath_index index;
};

// Tuples of items, in their order. They are owned: making a tuple may run other code.
nb::list Ranges::shown(const OwnedItems& items) {
    nb::list list;

    for (const lath_item& item : items)
        list.append(shown(item));
    return list;
}

nb::object Ranges::shown(const lath_item& item) {
    nb::object value = nb::steal(unpack(item.value)); // before any other object is made
    return nb::make_tuple(number_of(item.key), stop_of(item), std::move(value));
}

// The items that meet a range, in order, without references.
Ranges::Items Ranges::meeting(Range range) {
    Items found;
    lath_item item, items[64];

    if (!lath_index_lookup_item(&index, range.first, &item) && item.key < range.first)
        found.push_back(item);
    for (size_t n = 64; n == 64;) {
        n = lath_index_scan(&index, range.first, range.last, items, 64, &range.first);
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
    Range range = range_of(start, stop);
    lath_item item = {range.first, range.size(), pack(value.ptr())};
    int ret = LATH_CORE(lath_index_insert_item(&index, &item, nullptr));

    if (ret == 0)
        gone({}, 1);
    else if (tag_of(item.value) == Tag::object)
        Py_DECREF(value.ptr()); // the caller has another reference
    if (ret != -EEXIST)
        must(ret, "lath_index_insert");
    return ret == 0;
}

// Removes the items that lie within a range.
size_t Ranges::erase(Range range) {
    OwnedItems items;

    items.reserve(meeting(range).size());
    lath_index_erase_range(&index, range.first, range.size(), collect, &items);
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
    PyObject* twice =
        both && tag_of(there[0].value) == Tag::object ? object_of(there[0].value) : nullptr;

    items.reserve(there.size());
    must(LATH_CORE(lath_index_store_range(&index, &item, collect, &items)),
         "lath_index_store_range");
    Py_XINCREF(twice);
    count += 1u + both;
    count -= items.size();
    version++;
    return items;
}

// An item of its own takes the place of the keys first: that may need memory, erasing does not.
void Ranges::cut_range(Range range) {
    OwnedItems last;

    last.reserve(1);
    OwnedItems items = put({range.first, range.size(), no_value});
    lath_index_erase_range(&index, range.first, range.size(), collect, &last);
    gone(std::move(last), 0); // no visit sees what `items` has either
}

// Removes the range that contains a key, or only one that starts there. Returns it, or None. The
// tuple is made before, which may run code that changes the map: then the search begins anew.
nb::object Ranges::take(nb::handle point, bool starting) {
    uint64_t key = key_of(point);

    for (;;) {
        lath_item item, now;

        if (lath_index_lookup_item(&index, key, &item) || (starting && item.key != key))
            return nb::none();
        nb::list made = shown(OwnedItems(meeting({key, key})));
        if (lath_index_lookup_item(&index, key, &now) || now.key != item.key ||
            now.size != item.size || now.value != item.value)
            continue;
        erase({item.key, item.key + (item.size - 1)});
        return nb::object(made[0]);
    }
}

void Ranges::store(nb::handle start, nb::handle stop, nb::handle value) {
    Range range = range_of(start, stop);
    lath_item item = {range.first, range.size(), pack(value.ptr())};

    try {
        OwnedItems items = put(item);
        await_visits(this);
    } catch (...) {
        if (tag_of(item.value) == Tag::object)
            Py_DECREF(value.ptr()); // the caller has another reference
        throw;
    }
}

void Ranges::clear() {
    OwnedItems items;

    items.reserve(count);
    lath_index_clear(&index, collect, &items);
    gone(std::move(items), 0);
}

// The range of a key, if there is one. owner: the map's object.
OwnedItems Ranges::look_up(nb::handle owner, nb::handle point) {
    uint64_t key = key_of(point);
    OwnedItems found;
    auto look = [&] {
        if (lath_index_lookup_item(&index, key, &found[0]))
            found.clear();
        else if (tag_of(found[0].value) == Tag::object)
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

    return found.empty() ? nb::none() : shown(found[0]);
}

// At most `most` ranges that begin in [from, last].
nb::list Ranges::scan(uint64_t from, uint64_t last, size_t most) {
    Items items(std::min<uint64_t>(most, count));

    items.resize(lath_index_scan(&index, from, last, items.data(), items.size(), nullptr));
    return shown(OwnedItems(std::move(items)));
}

nb::object Ranges::get_many(nb::handle points, nb::handle missing) {
    std::vector<uint64_t> keys = keys_of(points);
    size_t n = keys.size();
    std::vector<uint64_t> words(n);
    std::vector<uint8_t> hits(n);
    std::vector<nb::object> values(n);
    lath_index_get_batch(&index, n, keys.data(), words.data(), hits.data());
    for (size_t i = 0; i < n; i++)
        values[i] = hits[i] ? nb::steal(unpack(words[i])) : nb::borrow(missing);
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
        n = lath_index_scan(&index, from, ~0ull, items, 64, &from);
        for (size_t i = 0; i < n; i++)
            if (tag_of(items[i].value) == Tag::object)
                Py_VISIT(object_of(items[i].value));
    } while (n == 64 && from != 0);
    return 0;
}

void Ranges::verify() {
    char report[200];

    if (lath_index_verify(&index, 6, report, sizeof(report)))
        raise(PyExc_RuntimeError, report);
    if (lath_index_count(&index) != count)
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

PyType_Slot ranges_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(ranges_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(ranges_clear)},
    {0, nullptr},
};

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
    nb::object next(nb::handle from, bool allocated);
    nb::dict stats();
    nb::bytes save();
    void load(nb::bytes saved);
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
    return number_of(key);
}

nb::object Space::alloc_request(const lath_hole_request& want) {
    uint64_t key;
    int ret = LATH_CORE(lath_space_alloc_request(space, &want, 0, &key));

    if (ret)
        refuse(ret, "lath_space_alloc_request");
    return number_of(key);
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
    uint64_t multiple = uint64_of(align, "the alignment");
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

// The first run of allocated, or of free, keys at or behind `from`, or None.
nb::object Space::next(nb::handle from, bool allocated) {
    lath_item run;
    uint64_t key = key_of(from);
    int ret = allocated ? LATH_CORE(lath_space_next(space, key, &run))
                        : LATH_CORE(lath_space_next_free(space, key, &run));

    if (ret == -ENOENT)
        return nb::none();
    must(ret, "lath_space_next");
    return nb::make_tuple(number_of(run.key), stop_of(run));
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

void Space::load(nb::bytes saved) {
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

} // namespace

void bind_ranges(nb::module_& module) {
    const auto any = nb::arg().none(); // None is refused as other wrong types are

    LockedClass<Ranges>(module, "Ranges", nb::type_slots(ranges_slots), nb::is_weak_referenceable())
        .def(nb::init<>())
        .def("__len__", [](const Ranges& self) { return self.count; })
        .def_prop_ro("_version", [](const Ranges& self) { return self.version; })
        .def("clear", &Ranges::clear, "Remove all ranges. O(n)")
        .def("_insert", &Ranges::insert, any, any, any)
        .def("_store", &Ranges::store, any, any, any)
        .def("cut", &Ranges::cut, nb::arg("start").none(), nb::arg("stop").none(),
             "Remove the keys [start, stop) from all ranges. O(k + log n), k of them affected")
        .def(
            "remove_covering", [](Ranges& self, nb::handle key) { return self.take(key, false); },
            nb::arg("key").none(),
            "Remove the range that contains key. Returns (start, stop, value), or None. O(log n)")
        .def(
            "remove_starting",
            [](Ranges& self, nb::handle start) { return self.take(start, true); },
            nb::arg("start").none(),
            "Remove the range that begins at start. Returns (start, stop, value), or None. O(log "
            "n)")
        .def("remove_overlapping", &Ranges::remove, nb::arg("start").none(), nb::arg("stop").none(),
             "Remove the ranges that meet [start, stop), as a whole. Returns their number. O(k + "
             "log n)")
        .def_unlocked(
            "find",
            [](nb::pointer_and_handle<Ranges> self, nb::handle key) {
                return self.p->find(self.h, key);
            },
            nb::arg("key").none(),
            "The range (start, stop, value) that contains key, or None. O(log n)")
        .def("overlapping", &Ranges::overlapping, nb::arg("start").none(), nb::arg("stop").none(),
             "The list of the ranges (start, stop, value) that meet [start, stop). O(k + log n)")
        .def("get_many", &Ranges::get_many, nb::arg("keys"), nb::arg("default").none() = nb::none(),
             "The values at an array of keys, as a list; default where there is no range.")
        .def("_scan", &Ranges::scan)
        .def("_verify", &Ranges::verify);

    no_space = PyErr_NewExceptionWithDoc("lathwork.NoSpace", "There is no free range that fits.",
                                         PyExc_MemoryError, nullptr);
    module.attr("NoSpace") = nb::handle(no_space);
    nb::enum_<lath_hole_policy>(module, "Policy")
        .value("first", LATH_HOLE_FIRST)
        .value("last", LATH_HOLE_LAST)
        .value("best", LATH_HOLE_BEST)
        .value("next", LATH_HOLE_NEXT)
        .value("near", LATH_HOLE_NEAR);
    LockedClass<Space>(module, "Space", nb::is_weak_referenceable())
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
        .def(
            "_alloc_request",
            [](Space& self, nb::handle size, nb::handle align, nb::handle low, nb::handle high,
               nb::handle hint, lath_hole_policy policy) {
                uint64_t last = last_before(high);
                return self.alloc_request({uint64_of(size, "the size"),
                                           uint64_of(align, "the alignment"), key_of(low), last + 1,
                                           0, uint64_of(hint, "the hint"), policy});
            },
            any, any, any, any, any, nb::arg())
        .def("reserve", &Space::reserve, nb::arg("start").none(), nb::arg("stop").none(),
             "Take exactly [start, stop). Raises NoSpace if a part of it is allocated. O(log n)")
        .def("free", &Space::free, nb::arg("start").none(), nb::arg("stop").none(),
             "Free [start, stop): one or several adjacent allocations, or a part of one. Raises "
             "ValueError if a part\n"
             "of it is not allocated. O(log n)")
        .def("alloc_many", &Space::alloc_many, nb::arg("count").none(), nb::arg("size").none(),
             nb::arg("align").none() = 0,
             "Take count ranges of one size, all or none. Returns an array of their starts. "
             "Without the GIL.")
        .def("free_many", &Space::free_many, nb::arg("starts").none(), nb::arg("size").none(),
             "Free an array of ranges of one size. Without the GIL.")
        .def("stats", &Space::stats,
             "Numbers of keys that are allocated and free, of parts, and the bytes used. O(1)")
        .def("save", &Space::save, "What is allocated, as bytes. O(n)")
        .def("load", &Space::load, nb::arg("saved"),
             "Take what save() said, in an allocator in which nothing is allocated. O(n)")
        .def("_next", &Space::next, any, nb::arg())
        .def("_verify", &Space::verify);
}

} // namespace lathpy
