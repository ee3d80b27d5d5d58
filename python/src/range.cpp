// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What RangeMap and RangeAllocator are built on: an index of ranges (lathwork/index.h) with objects
// as values, and an allocator of ranges (lathwork/space.h). Keys are numbers from 0 to 2^64 - 1;
// the end of a range may be 2^64.
#include "held.hpp"
#include "memory.hpp"
#include "modules.hpp"
#include "turn.hpp"

#include <lathwork/space.h>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

namespace lathpy {

namespace {

[[noreturn]] void out_of_keys() { raise(PyExc_OverflowError, "keys are from 0 to 2**64 - 1"); }

uint64_t key_of(nb::handle number) {
    nb::object whole = nb::steal(PyNumber_Index(number.ptr()));
    if (!whole.is_valid())
        throw nb::python_error();
    uint64_t key = PyLong_AsUnsignedLongLong(whole.ptr());
    if (key == ~0ull && PyErr_Occurred()) {
        PyErr_Clear();
        out_of_keys();
    }
    return key;
}

// The last key before `stop`, which may be 2^64.
uint64_t last_before(nb::handle stop) {
    nb::object one = nb::int_(1);
    nb::object last = nb::steal(PyNumber_Subtract(stop.ptr(), one.ptr()));
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

Range range_of(nb::handle start, nb::handle stop) {
    uint64_t first = key_of(start);
    int empty = PyObject_RichCompareBool(stop.ptr(), start.ptr(), Py_LE);
    if (empty < 0)
        throw nb::python_error();
    if (empty)
        raise(PyExc_ValueError, "the range is empty");
    Range range = {first, last_before(stop)};
    if (range.size() == 0)
        raise(PyExc_OverflowError, "a range has at most 2**64 - 1 keys");
    return range;
}

void must(int ret) {
    if (ret == -ENOMEM)
        throw std::bad_alloc();
    if (ret < 0)
        raise(PyExc_RuntimeError, std::strerror(-ret));
}

// ---- RangeMap ----

class Ranges {
public:
    Ranges() {
        lath_config config = index_config();
        if (lath_index_init(&index, &config))
            throw std::bad_alloc();
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
    bool erase_at(nb::handle point);
    void clear();
    nb::object find(nb::handle point);
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
    void split(uint64_t at);
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
}

bool Ranges::insert(nb::handle start, nb::handle stop, nb::handle value) {
    Range range = range_of(start, stop);
    lath_item item = {range.first, range.size(), pack(value.ptr())};
    int ret = lath_index_insert_item(&index, &item, nullptr);

    if (ret == 0)
        gone({}, 1);
    else if (tag_of(item.value) == Tag::object)
        Py_DECREF(value.ptr()); // the caller has another reference
    if (ret != -EEXIST)
        must(ret);
    return ret == 0;
}

// A range that begins before `at` and ends behind it becomes two.
void Ranges::split(uint64_t at) {
    lath_item item;

    if (lath_index_lookup_item(&index, at, &item) || item.key == at)
        return;
    must(lath_index_split(&index, at, item.value));
    if (tag_of(item.value) == Tag::object)
        Py_INCREF(object_of(item.value));
    gone({}, 1);
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

void Ranges::cut_range(Range range) {
    split(range.first);
    if (range.last != ~0ull)
        split(range.last + 1);
    erase(range);
}

// Removes the range that contains a key. Returns whether there is one.
bool Ranges::erase_at(nb::handle point) {
    lath_item item;

    if (lath_index_lookup_item(&index, key_of(point), &item))
        return false;
    erase({item.key, item.key + item.size - 1});
    return true;
}

// In one step: what is there before stays if there is no memory.
void Ranges::store(nb::handle start, nb::handle stop, nb::handle value) {
    Range range = range_of(start, stop);
    Items there = meeting(range);
    OwnedItems items;
    lath_item item = {range.first, range.size(), pack(value.ptr())};
    // A range that goes beyond at both ends becomes two, of one value.
    bool both = there.size() == 1 && there[0].key < range.first &&
                there[0].key + there[0].size - 1 > range.last;
    PyObject* twice =
        both && tag_of(there[0].value) == Tag::object ? object_of(there[0].value) : nullptr;

    items.reserve(there.size());
    int ret = lath_index_store_range(&index, &item, collect, &items);
    if (ret) {
        if (tag_of(item.value) == Tag::object)
            Py_DECREF(value.ptr()); // the caller has another reference
        must(ret);
    }
    Py_XINCREF(twice);
    gone(std::move(items), 1 + both);
}

void Ranges::clear() {
    OwnedItems items;

    items.reserve(count);
    lath_index_clear(&index, collect, &items);
    gone(std::move(items), 0);
}

nb::object Ranges::find(nb::handle point) {
    lath_item item;

    if (lath_index_lookup_item(&index, key_of(point), &item))
        return nb::none();
    return shown(item);
}

// At most `most` ranges that begin in [from, last].
nb::list Ranges::scan(uint64_t from, uint64_t last, size_t most) {
    Items items(std::min<uint64_t>(most, count));

    items.resize(lath_index_scan(&index, from, last, items.data(), items.size(), nullptr));
    return shown(OwnedItems(std::move(items)));
}

nb::object Ranges::get_many(nb::handle points, nb::handle missing) {
    nb::ndarray<const uint64_t, nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;
    nb::object made = nb::module_::import_("numpy").attr("ascontiguousarray")(points, "uint64");

    if (!nb::try_cast(made, array))
        raise(PyExc_TypeError, "points of an array must be integers, in one dimension");
    size_t n = array.shape(0);
    std::vector<uint64_t> words(n);
    std::vector<uint8_t> hits(n);
    std::vector<nb::object> values(n);
    lath_index_get_batch(&index, n, array.data(), words.data(), hits.data());
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
        int ret = lath_space_create(&space, &config);
        if (ret == -EINVAL)
            raise(PyExc_ValueError,
                  "the unit must be a power of two, and the limits multiples of it");
        must(ret);
    }
    ~Space() { lath_space_destroy(space); }
    Space(const Space&) = delete;
    Space& operator=(const Space&) = delete;

    nb::object alloc(uint64_t size, uint64_t align);
    nb::object alloc_request(const lath_hole_request& want);
    void reserve(nb::handle start, nb::handle stop);
    void free(nb::handle start, nb::handle stop);
    nb::object alloc_many(size_t count, uint64_t size, uint64_t align);
    void free_many(nb::handle starts, uint64_t size);
    nb::object next(nb::handle from, bool allocated);
    nb::dict stats();
    nb::bytes save();
    void load(nb::bytes saved);
    void verify();

private:
    [[noreturn]] void refuse(int ret);

    lath_space* space = nullptr;
    Turns turns; // alloc_many() and free_many(); load() and verify() exclude them
};

void Space::refuse(int ret) {
    if (ret == -ENOMEM)
        throw std::bad_alloc();
    if (ret == -ENOSPC)
        raise(no_space, "there is no free range of this size");
    if (ret == -EBUSY)
        raise(no_space, "a part of the range is allocated");
    raise(PyExc_ValueError, "the size must be a multiple of the unit, the alignment a power of "
                            "two, and the range within the limits");
}

nb::object Space::alloc(uint64_t size, uint64_t align) {
    uint64_t key;
    int ret = lath_space_alloc(space, size, align, 0, &key);

    if (ret)
        refuse(ret);
    return number_of(key);
}

nb::object Space::alloc_request(const lath_hole_request& want) {
    uint64_t key;
    int ret = lath_space_alloc_request(space, &want, 0, &key);

    if (ret)
        refuse(ret);
    return number_of(key);
}

void Space::reserve(nb::handle start, nb::handle stop) {
    Range range = range_of(start, stop);
    int ret = lath_space_reserve(space, range.first, range.size(), 0);

    if (ret)
        refuse(ret);
}

void Space::free(nb::handle start, nb::handle stop) {
    Range range = range_of(start, stop);
    int ret = lath_space_free(space, range.first, range.size());

    if (ret == -EINVAL)
        raise(PyExc_ValueError, "a part of the range is not allocated");
    must(ret);
}

// All or none.
nb::object Space::alloc_many(size_t count, uint64_t size, uint64_t align) {
    auto* keys = new std::vector<uint64_t>(count);
    nb::capsule owner(
        keys, [](void* block) noexcept { delete static_cast<std::vector<uint64_t>*>(block); });
    int ret = 0;

    {
        turns.wait();
        Turns::Shared turn(turns);
        nb::gil_scoped_release others;
        for (size_t i = 0; i < count && !ret; i++) {
            ret = lath_space_alloc(space, size, align, 0, &(*keys)[i]);
            for (; ret && i > 0; i--)
                lath_space_free(space, (*keys)[i - 1], size);
        }
    }
    if (ret)
        refuse(ret);
    return nb::cast(nb::ndarray<nb::numpy, uint64_t, nb::ndim<1>>(keys->data(), {count}, owner));
}

void Space::free_many(nb::handle starts, uint64_t size) {
    nb::ndarray<const uint64_t, nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;
    nb::object made = nb::module_::import_("numpy").attr("ascontiguousarray")(starts, "uint64");

    if (!nb::try_cast(made, array))
        raise(PyExc_TypeError, "starts must be integers, in one dimension");
    // A copy: other threads may change or free what the array shows.
    std::vector<uint64_t> keys(array.data(), array.data() + array.shape(0));
    int ret = 0;
    {
        turns.wait();
        Turns::Shared turn(turns);
        nb::gil_scoped_release others;
        for (size_t i = 0; i < keys.size() && !ret; i++)
            ret = lath_space_free(space, keys[i], size);
    }
    if (ret == -EINVAL)
        raise(PyExc_ValueError, "one of the ranges is not allocated; those before it are free now");
    must(ret);
}

// The first run of allocated, or of free, keys at or behind `from`, or None.
nb::object Space::next(nb::handle from, bool allocated) {
    lath_item run;
    int ret = allocated ? lath_space_next(space, key_of(from), &run)
                        : lath_space_next_free(space, key_of(from), &run);

    if (ret == -ENOENT)
        return nb::none();
    must(ret);
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

    must(lath_space_save(space, write, &saved));
    return nb::bytes(saved.data(), saved.size());
}

void Space::load(nb::bytes saved) {
    struct Reader {
        const char* data;
        size_t left;
    } reader = {saved.c_str(), saved.size()};
    char report[200];
    auto read = [](void* arg, void* data, size_t size) {
        auto* from = static_cast<Reader*>(arg);
        size = size < from->left ? size : from->left;
        std::memcpy(data, from->data, size);
        from->data += size;
        from->left -= size;
        return static_cast<int64_t>(size);
    };
    Turns::Alone turn(turns);
    int ret = lath_space_load(space, read, &reader, 0, report, sizeof(report));

    if (ret == -EBUSY)
        raise(PyExc_ValueError, "only an allocator in which nothing is allocated can be loaded");
    if (ret == -EBADMSG || ret == -EINVAL)
        raise(PyExc_ValueError, report);
    must(ret);
}

void Space::verify() {
    char report[200];
    Turns::Alone turn(turns);

    if (lath_space_verify(space, report, sizeof(report)))
        raise(PyExc_RuntimeError, report);
}

} // namespace

void bind_ranges(nb::module_& module) {
    nb::class_<Ranges>(module, "Ranges", nb::type_slots(ranges_slots), nb::is_weak_referenceable())
        .def(nb::init<>())
        .def("__len__", [](const Ranges& self) { return self.count; })
        .def_prop_ro("_version", [](const Ranges& self) { return self.version; })
        .def("clear", &Ranges::clear, "Remove all ranges. O(n)")
        .def("_insert", &Ranges::insert, nb::arg(), nb::arg(), nb::arg().none())
        .def("_store", &Ranges::store, nb::arg(), nb::arg(), nb::arg().none())
        .def("cut", &Ranges::cut, nb::arg("start"), nb::arg("stop"),
             "Remove the keys [start, stop) from all ranges. O(k + log n), k of them affected")
        .def("remove", &Ranges::remove, nb::arg("start"), nb::arg("stop"),
             "Remove the ranges that meet [start, stop), as a whole. Returns their number. O(k + "
             "log n)")
        .def("find", &Ranges::find, nb::arg("key"),
             "The range (start, stop, value) that contains key, or None. O(log n)")
        .def("overlapping", &Ranges::overlapping, nb::arg("start"), nb::arg("stop"),
             "The list of the ranges (start, stop, value) that meet [start, stop). O(k + log n)")
        .def("get_many", &Ranges::get_many, nb::arg("keys"), nb::arg("default").none() = nb::none(),
             "The values at an array of keys, as a list; default where there is no range.")
        .def("_scan", &Ranges::scan)
        .def("_erase_at", &Ranges::erase_at)
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
    nb::class_<Space>(module, "Space", nb::is_weak_referenceable())
        .def("__init__",
             [](nb::pointer_and_handle<Space> self, nb::handle start, nb::handle stop,
                uint64_t unit) {
                 Range range = range_of(start, stop); // may run code that makes the object
                 once(self.h);
                 new (self.p) Space(range, unit);
             })
        .def("_alloc", &Space::alloc)
        .def(
            "_alloc_request",
            [](Space& self, uint64_t size, uint64_t align, nb::handle low, nb::handle high,
               uint64_t hint, lath_hole_policy policy) {
                uint64_t last = high.is_none() ? ~0ull : last_before(high);
                return self.alloc_request(
                    {size, align, low.is_none() ? 0 : key_of(low), last + 1, 0, hint, policy});
            },
            nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg())
        .def("reserve", &Space::reserve, nb::arg("start"), nb::arg("stop"),
             "Take exactly [start, stop). Raises NoSpace if a part of it is allocated. O(log n)")
        .def("free", &Space::free, nb::arg("start"), nb::arg("stop"),
             "Free [start, stop): one or several adjacent allocations, or a part of one. Raises "
             "ValueError if a part\n"
             "of it is not allocated. O(log n)")
        .def("alloc_many", &Space::alloc_many, nb::arg("count"), nb::arg("size"),
             nb::arg("align") = 0,
             "Take count ranges of one size, all or none. Returns an array of their starts. "
             "Without the GIL.")
        .def("free_many", &Space::free_many, nb::arg("starts"), nb::arg("size"),
             "Free an array of ranges of one size. Without the GIL.")
        .def("stats", &Space::stats,
             "Numbers of keys that are allocated and free, of parts, and the bytes used. O(1)")
        .def("save", &Space::save, "What is allocated, as bytes. O(n)")
        .def("load", &Space::load, nb::arg("saved"),
             "Take what save() said, in an allocator in which nothing is allocated. O(n)")
        .def("_next", &Space::next)
        .def("_verify", &Space::verify);
}

} // namespace lathpy
