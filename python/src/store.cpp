// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What Store is built on: lathwork/store.h. Keys are bytes, or numbers below 2^64. A call that may
// wait, for a file or for other processes, releases the GIL.
#include "object.hpp"
#include "turn.hpp"

#include <lathwork/store.h>

#include <nanobind/stl/string.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lathpy {

namespace {

// What a buffer of Python's holds, for the time of a call. A str is taken as UTF-8.
class Bytes {
public:
    explicit Bytes(nb::handle object) : copy(nb::borrow(object)) {
        Py_ssize_t length;
        char* start;

        if (PyUnicode_Check(object.ptr())) {
            data = PyUnicode_AsUTF8AndSize(object.ptr(), &length);
        } else {
            if (PyObject_HasAttrString(object.ptr(), "__index__"))
                raise(PyExc_TypeError, "bytes or str expected, not a number");
            if (!PyBytes_Check(object.ptr()))
                copy = nb::steal(PyBytes_FromObject(object.ptr()));
            if (copy.is_valid() && PyBytes_AsStringAndSize(copy.ptr(), &start, &length) == 0)
                data = start;
        }
        if (!data)
            throw nb::python_error();
        size = static_cast<size_t>(length);
    }

    const char* data = nullptr;
    size_t size;

private:
    nb::object copy;
};

// A key of either kind.
class Key {
public:
    Key(bool numbers, nb::handle object) {
        if (numbers) {
            key = lath_key_number(uint64_of(object, "a key"));
        } else {
            bytes.emplace(object);
            key = lath_key_bytes(bytes->data, bytes->size);
        }
    }
    lath_store_key key;

private:
    std::optional<Bytes> bytes;
};

[[noreturn]] void fail(int64_t ret, const std::string& why) {
    auto error = static_cast<int>(-ret);

    if (ret == -ENOMEM)
        throw std::bad_alloc();
    PyErr_SetObject(PyExc_OSError,
                    nb::make_tuple(error, why.empty() ? std::strerror(error) : why.c_str()).ptr());
    throw nb::python_error();
}

// Throws what an error of the store means; key may be invalid.
int64_t told(int64_t ret, nb::handle key = nb::handle()) {
    if (ret == -ENOENT && key.is_valid())
        raise_key(key);
    // What the files and the limit of a store refuse are errors of the system.
    for (int error : {EBUSY, EAGAIN, EDEADLK, EBADMSG, EOPNOTSUPP, ENOTEMPTY, ENOSPC, EROFS})
        if (ret == -error)
            fail(ret, "");
    return must(ret, "the store",
                {{E2BIG, PyExc_ValueError, "a key has at most 65535 bytes"},
                 {EINVAL, PyExc_ValueError, "not a number, or a key of another kind"},
                 {ERANGE, PyExc_OverflowError, "the number does not fit in 64 bits"}});
}

// A call of the library on a store, with a key or without one.
#define CALL(name, ...)                                                         \
    [&](lath_store* open, [[maybe_unused]] lath_store_key at = {}) -> int64_t { \
        return LATH_CORE(name(open __VA_OPT__(, ) __VA_ARGS__));                \
    }

class Store : Pinned {
public:
    Store(lath_store* store, const std::string& spec, bool numbers)
        : numbers(numbers), shared(spec.starts_with("shm:") || spec.starts_with("dev:")),
          store(store) {}
    ~Store() {
        if (store)
            lath_store_close(store);
    }

    // Runs f(store), without the GIL if it may wait. f runs no code of the caller's.
    template <class Call>
    auto run(bool waits, Call f) {
        lath_store* open = opened();
        if (!waits && !shared)
            return f(open);
        Turns::Shared turn(turns);
        nb::gil_scoped_release others;
        return f(open);
    }
    // As run(): a call whose error has a reason.
    template <class Call>
    void run_told(Call f) {
        std::string why;
        int64_t ret = run(true, [&](lath_store* open) {
            int64_t result = f(open);
            why = lath_store_reason();
            return result;
        });
        if (ret)
            fail(ret, why);
    }
    // As run(true): a call that excludes all others, which wait. `open` may be closed: NULL.
    template <class Call>
    void run_alone(lath_store* const& open, Call f) {
        std::string why;
        int64_t ret = 0;
        {
            Turns::Alone turn(turns);
            if (lath_store* now = open) {
                nb::gil_scoped_release others;
                ret = f(now);
                why = lath_store_reason();
            }
        }
        if (ret)
            fail(ret, why);
    }
    // As run(): a call with a key.
    template <class Call>
    int64_t on(nb::handle object, Call call) {
        Key key(numbers, object);
        return run(false, [&](lath_store* open) { return call(open, key.key); });
    }
    // Whether a call with a key did what it does: an error in `no` says that it did not.
    template <class Call>
    bool did(nb::handle key, std::initializer_list<int> no, Call call) {
        int64_t ret = on(key, call);
        for (int error : no)
            if (ret == -error)
                return false;
        return told(ret) >= 0;
    }

    // The store, for calls until the GIL is released or code of the caller's may run. Throws
    // ValueError if it is closed.
    lath_store* opened() {
        turns.wait();
        if (!store)
            raise(PyExc_ValueError, "the store is closed");
        return store;
    }
    bool closed() const { return !store; }
    void close() {
        lath_store* open = std::exchange(store, nullptr); // from now on no call begins
        run_alone(open, [](lath_store* it) { return LATH_CORE(lath_store_close(it)); });
    }
    void load(const std::string& path) {
        opened();
        run_alone(store, CALL(lath_store_load, path.c_str(), nullptr, nullptr));
        opened();
    }
    nb::object get(nb::handle key, nb::handle missing);
    void set_many(nb::handle pairs);

    nb::object key_object(const lath_store_key& key) const {
        return numbers ? nb::steal(PyLong_FromUnsignedLongLong(key.n))
                       : nb::object(nb::bytes(static_cast<const char*>(key.data), key.n));
    }

    const bool numbers, shared;

private:
    lath_store* store;
    Turns turns; // calls without the GIL; load and close exclude them
};

// __init__. Another thread may call it too while the store is opened.
void make_store(nb::pointer_and_handle<Store> self, const std::string& spec, bool numbers,
                nb::handle limit, unsigned flags, bool small_pages) {
    lath_store_options options = LATH_STORE_OPTIONS_INIT;
    char why[300] = "";
    lath_store* store;
    int ret;

    options.keys = numbers ? LATH_STORE_NUMBERS : LATH_STORE_BYTES;
    options.limit = uint64_of(limit, "the limit");
    options.flags = flags;
    options.pages = small_pages ? LATH_PAGES_SMALL : LATH_PAGES_HUGE;
    options.why = why;
    options.why_size = sizeof(why);
    {
        nb::gil_scoped_release others;
        ret = LATH_CORE(lath_store_open(&store, spec.c_str(), &options));
    }
    if (ret)
        fail(ret, why);
    if (nb::inst_ready(self.h)) {
        nb::gil_scoped_release others;
        lath_store_close(store);
    }
    once(self.h);
    new (self.p) Store(store, spec, numbers);
}

// A read-side critical section: what a ref points to stays.
struct Section : Pinned {
    explicit Section(lath_store* store) : store(store) { lath_store_read_begin(store); }
    ~Section() { lath_store_read_end(store); }

    lath_store* store;
};

nb::object value_of(const lath_store_ref& ref) { return nb::bytes(ref.data, ref.size); }

nb::object Store::get(nb::handle object, nb::handle missing) {
    Key key(numbers, object);
    nb::object value;
    int ret;

    {
        // The turn lasts as long as the section. Making bytes runs no code of the caller's.
        lath_store_ref ref;
        lath_store* open = opened();
        Turns::Shared turn(turns);
        Section section(open);
        {
            std::optional<nb::gil_scoped_release> others;
            if (shared)
                others.emplace();
            ret = LATH_CORE(lath_store_get_ref(open, key.key, &ref));
        }
        if (ret == 0)
            value = value_of(ref);
    }
    if (ret == -ENOENT)
        return nb::borrow(missing);
    told(ret, object);
    return value;
}

bool contains(Store& store, nb::handle key) {
    char none;
    return store.did(key, {ENOENT}, CALL(lath_store_get, at, &none, 0));
}

void set(Store& store, nb::handle key, nb::handle given) {
    Bytes value(given);
    told(store.on(key, CALL(lath_store_set, at, value.data, value.size)));
}

bool add(Store& store, nb::handle key, nb::handle given) {
    Bytes value(given);
    return store.did(key, {EEXIST}, CALL(lath_store_add, at, value.data, value.size));
}

bool replace(Store& store, nb::handle key, nb::handle given) {
    Bytes value(given);
    return store.did(key, {ENOENT}, CALL(lath_store_replace, at, value.data, value.size));
}

bool erase(Store& store, nb::handle key) {
    return store.did(key, {ENOENT}, CALL(lath_store_delete, at));
}

bool cas(Store& store, nb::handle key, nb::handle expected, nb::handle given) {
    Bytes old(expected), value(given);
    return store.did(key, {EAGAIN, ENOENT},
                     CALL(lath_store_cas, at, old.data, old.size, value.data, value.size));
}

bool expire(Store& store, nb::handle key, nb::handle time) {
    uint64_t when = uint64_of(time, "the time");
    return store.did(key, {ENOENT}, CALL(lath_store_expire, at, when));
}

int64_t incr(Store& store, nb::handle key, nb::handle number) {
    int64_t now = 0, by = int64_of(number, "the number to add");
    told(store.on(key, CALL(lath_store_incr, at, by, &now)));
    return now;
}

int64_t append(Store& store, nb::handle key, nb::handle given) {
    Bytes tail(given);
    return told(store.on(key, CALL(lath_store_append, at, tail.data, tail.size)));
}

void Store::set_many(nb::handle pairs) {
    std::vector<nb::object> tuples; // what the entries point into
    std::vector<Key> keys;
    std::vector<Bytes> values;
    std::vector<lath_store_entry> entries;

    for (nb::handle pair : pairs) {
        tuples.push_back(pair_from(pair));
        keys.emplace_back(numbers, nb::handle(PyTuple_GetItem(tuples.back().ptr(), 0)));
        if (!numbers && keys.back().key.n > 65535) // before anything is set
            told(-E2BIG);
        values.emplace_back(nb::handle(PyTuple_GetItem(tuples.back().ptr(), 1)));
        entries.push_back({keys.back().key, values.back().data, values.back().size, 0});
    }
    std::vector<int> results(entries.size());
    run(true, [&](lath_store* open) {
        if (plan.error && plan.hits("lath_store_mset"))
            results.assign(results.size(), plan.error);
        else
            lath_store_mset(open, entries.size(), entries.data(), results.data());
        return 0;
    });
    for (int ret : results)
        told(ret);
}

// A range as it was given, None: no limit, with the keys it points to.
struct Limits : Pinned {
    Limits(const Store& store, nb::handle from, nb::handle to, nb::handle prefix, bool backward)
        : range{nullptr, nullptr, nullptr, backward} {
        const lath_store_key** places[] = {&range.from, &range.to, &range.prefix};
        size_t at = 0;
        for (nb::handle object : {from, to, prefix}) {
            if (!object.is_none())
                *places[at] = &keys[at].emplace(store.numbers, object).key;
            at++;
        }
    }

    lath_store_range range;
    std::optional<Key> keys[3];
};

// A limit of keys as an object that nobody else changes. None: no limit.
nb::object own(Store& store, nb::handle limit) {
    return limit.is_none() ? nb::none() : store.key_object(Key(store.numbers, limit).key);
}

// The list of the keys and values of at most `most` entries of a range.
nb::list page(Store& store, nb::handle from, nb::handle to, nb::handle prefix, bool backward,
              size_t most) {
    Limits limits(store, from, to, prefix, backward);
    std::vector<std::pair<nb::object, nb::object>> found;
    int ret = 0;

    {
        struct Iteration {
            lath_store_iter* iter = nullptr;
            ~Iteration() {
                if (iter)
                    lath_store_iter_end(iter);
            }
        } iteration;
        lath_store_key key;
        lath_store_ref ref;
        ret = LATH_CORE(lath_store_iter_begin(store.opened(), &limits.range, &iteration.iter));
        while (ret >= 0 && most-- &&
               (ret = LATH_CORE(lath_store_iter_next(iteration.iter, &key, &ref))) == 1)
            found.emplace_back(store.key_object(key), value_of(ref));
    }
    told(ret);
    nb::list list; // tuples may run other code
    for (auto& [key, value] : found)
        list.append(nb::make_tuple(std::move(key), std::move(value)));
    return list;
}

int64_t count(Store& store, nb::handle from, nb::handle to, nb::handle prefix) {
    Limits limits(store, from, to, prefix, false);

    return told(store.run(true, CALL(lath_store_count, &limits.range)));
}

int64_t items(Store& store) { return told(store.run(false, CALL(lath_store_items))); }

nb::dict stats(Store& store) {
    lath_store_stats stats;
    nb::dict dict;

    told(store.run(false, [&](lath_store* open) {
        const int ret = LATH_CORE(lath_store_get_stats(open, &stats));
        return ret ? ret : LATH_CORE(lath_store_get_pages(open, &stats));
    }));
    for (auto [name, value] : {std::pair("items", stats.items),
                               {"committed", stats.committed},
                               {"index_bytes", stats.index_bytes},
                               {"record_bytes", stats.record_bytes},
                               {"pending_bytes", stats.pending_bytes},
                               {"free_bytes", stats.free_bytes},
                               {"resident", stats.resident},
                               {"huge", stats.huge},
                               {"evicted", stats.evicted},
                               {"expired", stats.expired}})
        dict[name] = value;
    return dict;
}

void save(Store& store, const std::string& path) {
    store.run_told(CALL(lath_store_save, path.c_str(), nullptr, nullptr));
}

void sync(Store& store) { store.run_told(CALL(lath_store_sync)); }

void remove_store(const std::string& spec) {
    char why[300] = "";
    int ret = LATH_CORE(lath_store_remove(spec.c_str(), why, sizeof(why)));

    if (ret)
        fail(ret, why);
}

int64_t sweep(Store& store) { return told(store.run(true, CALL(lath_store_sweep))); }

int64_t compact(Store& store) { return told(store.run(true, CALL(lath_store_compact))); }

} // namespace

void bind_store(nb::module_& module) {
    const auto any = nb::arg().none();

    module.def("_remove_store", remove_store);
    module.attr("_EVICT") = static_cast<unsigned>(LATH_STORE_EVICT);
    module.attr("_READ_ONLY") = static_cast<unsigned>(LATH_STORE_READ_ONLY);
    module.attr("_EXISTING") = static_cast<unsigned>(LATH_STORE_EXISTING);
    LockedClass<Store>(module, "Store", nb::is_weak_referenceable())
        .def("__init__", make_store, nb::arg(), nb::arg(), any, nb::arg(), nb::arg())
        .def("_close", &Store::close)
        .def("_add", add)
        .def("_replace", replace)
        .def("_cas", cas)
        .def("_incr", incr)
        .def("_append", append)
        .def("_stats", stats)
        .def("_sync", sync)
        .def("_sweep", sweep)
        .def("_compact", compact)
        .def("_get", &Store::get, nb::arg(), any)
        .def("__contains__", contains)
        .def("__setitem__", set)
        .def("_erase", erase)
        .def("_expire", expire)
        .def("_set_many", &Store::set_many)
        .def("_own", own, any)
        .def("_page", page, any, any, any, nb::arg(), nb::arg())
        .def("_count", count, any, any, any)
        .def("_items", items)
        .def("_save", save)
        .def("_load", &Store::load)
        .def_prop_ro("closed", &Store::closed);
}

} // namespace lathpy
