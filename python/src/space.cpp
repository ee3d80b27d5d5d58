// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What RangeAllocator is built on: lathwork/space.h.
#include "array.hpp"
#include "object.hpp"
#include "turn.hpp"

#include <lathwork/space.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

namespace lathpy {

namespace {

PyObject* no_space; // the exception class

struct Space : Pinned {
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

    // The first run of allocated, or of free, keys at or behind a key. Returns whether there is
    // one.
    bool next(uint64_t key, bool allocated, lath_item* run) const {
        int ret = allocated ? LATH_CORE(lath_space_next(space, key, run))
                            : LATH_CORE(lath_space_next_free(space, key, run));
        return ret != -ENOENT && must(ret, "lath_space_next") == 0;
    }

    lath_space* space = nullptr;
    Turns turns; // alloc_many() and free_many(); load() and verify() exclude them
};

void given_out(int ret, const char* where) {
    must(ret, where,
         {{ENOSPC, no_space, "there is no free range of this size"},
          {EBUSY, no_space, "a part of the range is allocated"},
          {EINVAL, PyExc_ValueError,
           "the size must be a multiple of the unit, the alignment a power of two, and the "
           "range "
           "within the limits"}});
}

nb::object alloc(Space& self, nb::handle size, nb::handle align) {
    uint64_t key, keys = uint64_of(size, "the size"), multiple = uint64_of(align, "the alignment");

    given_out(LATH_CORE(lath_space_alloc(self.space, keys, multiple, 0, &key)), "lath_space_alloc");
    return number_of_key(key);
}

nb::object alloc_request(Space& self, nb::handle size, nb::handle align, nb::handle low,
                         nb::handle high, nb::handle hint, lath_hole_policy policy) {
    Range within = any_range_of(low, high);
    lath_hole_request want = {uint64_of(size, "the size"),
                              uint64_of(align, "the alignment"),
                              within.first,
                              within.last + 1,
                              0,
                              uint64_of(hint, "the hint"),
                              policy};
    uint64_t key;

    given_out(LATH_CORE(lath_space_alloc_request(self.space, &want, 0, &key)),
              "lath_space_alloc_request");
    return number_of_key(key);
}

void reserve(Space& self, nb::handle start, nb::handle stop) {
    Range range = range_of(start, stop);

    given_out(LATH_CORE(lath_space_reserve(self.space, range.first, range.size(), 0)),
              "lath_space_reserve");
}

void free(Space& self, nb::handle start, nb::handle stop) {
    Range range = range_of(start, stop);

    must(LATH_CORE(lath_space_free(self.space, range.first, range.size())), "lath_space_free",
         {{EINVAL, PyExc_ValueError, "a part of the range is not allocated"}});
}

// Runs a call for each key, while it succeeds, without the GIL. Returns its error, or 0.
template <class Call>
int for_all(Space& self, std::vector<uint64_t>& keys, Call call) {
    int ret = 0;

    self.turns.wait();
    Turns::Shared turn(self.turns);
    nb::gil_scoped_release others;
    for (size_t i = 0; i < keys.size() && !ret; i++)
        ret = call(i);
    return ret;
}

// All or none.
nb::object alloc_many(Space& self, nb::handle number, nb::handle size, nb::handle align) {
    uint64_t count = uint64_of(number, "the count"), each = uint64_of(size, "the size");
    uint64_t multiple = uint64_of(align, "the alignment");
    std::vector<uint64_t> keys;

    if (count > keys.max_size())
        throw std::bad_alloc();
    keys.resize(count);
    given_out(for_all(self, keys,
                      [&](size_t i) {
                          int ret =
                              LATH_CORE(lath_space_alloc(self.space, each, multiple, 0, &keys[i]));
                          for (; ret && i > 0; i--)
                              lath_space_free(self.space, keys[i - 1], each);
                          return ret;
                      }),
              "lath_space_alloc");
    return new_array(std::move(keys));
}

void free_many(Space& self, nb::handle starts, nb::handle size) {
    std::vector<uint64_t> keys = Codec::naturals().codes(starts);
    uint64_t each = uint64_of(size, "the size");

    must(for_all(self, keys,
                 [&](size_t i) { return LATH_CORE(lath_space_free(self.space, keys[i], each)); }),
         "lath_space_free",
         {{EINVAL, PyExc_ValueError,
           "one of the ranges is not allocated; those before it are free now"}});
}

bool contains(Space& self, nb::handle key) {
    uint64_t number = key_of(key);
    lath_item run;

    return self.next(number, true, &run) && run.key <= number;
}

// The run (start, stop) at or behind a key, or None.
nb::object next(Space& self, nb::handle key, bool allocated) {
    lath_item run;

    if (!self.next(key_of(key), allocated, &run))
        return nb::none();
    return nb::make_tuple(number_of_key(run.key), stop_of(run));
}

nb::dict stats(Space& self) {
    lath_space_stats stats;
    nb::dict dict;

    lath_space_get_stats(self.space, &stats);
    dict["allocated"] = stats.allocated;
    dict["free"] = stats.free;
    dict["arenas"] = stats.arenas;
    dict["ranges"] = stats.ranges;
    dict["bytes"] = stats.bytes;
    return dict;
}

nb::bytes save(Space& self) {
    std::string saved;
    auto write = [](void* arg, const void* data, size_t size) {
        try {
            static_cast<std::string*>(arg)->append(static_cast<const char*>(data), size);
        } catch (const std::bad_alloc&) {
            return -ENOMEM;
        }
        return 0;
    };

    must(LATH_CORE(lath_space_save(self.space, write, &saved)), "lath_space_save");
    return nb::bytes(saved.data(), saved.size());
}

void load(Space& self, nb::handle given) {
    if (!PyBytes_Check(given.ptr()))
        raise(PyExc_TypeError, "what save() said is bytes");
    auto saved = nb::borrow<nb::bytes>(given);
    std::string_view left(saved.c_str(), saved.size());
    char report[200] = "";
    auto read = [](void* arg, void* data, size_t size) {
        auto* from = static_cast<std::string_view*>(arg);
        size = from->copy(static_cast<char*>(data), size);
        from->remove_prefix(size);
        return static_cast<int64_t>(size);
    };
    auto load = [&] { // the turn ends before an error is raised
        Turns::Alone turn(self.turns);
        return LATH_CORE(lath_space_load(self.space, read, &left, 0, report, sizeof(report)));
    };
    must(
        load(), "lath_space_load",
        {{EBUSY, PyExc_ValueError, "only an allocator in which nothing is allocated can be loaded"},
         {EBADMSG, PyExc_ValueError, report},
         {EINVAL, PyExc_ValueError, report}});
}

void verify(Space& self) {
    char report[200];
    int broken; // the number of an invariant

    {
        Turns::Alone turn(self.turns);
        broken = lath_space_verify(self.space, report, sizeof(report));
    }
    if (broken)
        raise(PyExc_RuntimeError, report);
}

} // namespace

void bind_space(nb::module_& module) {
    const auto any = nb::arg().none();

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
        .def("_reserve", reserve)
        .def("_free", free)
        .def("_alloc_many", alloc_many)
        .def("_free_many", free_many)
        .def("_stats", stats)
        .def("_save", save)
        .def("_load", load)
        .def("_alloc", alloc, any, any)
        .def("_alloc_request", alloc_request, any, any, any, any, any, nb::arg())
        .def("__contains__", contains, any)
        .def("_next", next)
        .def("_verify", verify);
}

} // namespace lathpy
