// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What Store is built on: lathwork/store.h. Keys are bytes, or numbers below 2^64. A call that may
// wait, for a file or for other processes, releases the GIL.
#include "iterator.hpp"
#include "method.hpp"
#include "modules.hpp"
#include "turn.hpp"
#include "visit.hpp"

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

// What a buffer of Python's holds, for the time of a call.
class Bytes {
public:
    explicit Bytes(nb::handle object) {
        if (PyUnicode_Check(object.ptr())) {
            Py_ssize_t length;
            data = PyUnicode_AsUTF8AndSize(object.ptr(), &length);
            if (!data)
                throw nb::python_error();
            size = static_cast<size_t>(length);
            return;
        }
        copy = nb::borrow(object);
        if (PyObject_HasAttrString(object.ptr(), "__index__"))
            raise(PyExc_TypeError, "bytes or str expected, not a number");
        if (!PyBytes_Check(object.ptr()))
            copy = nb::steal(PyBytes_FromObject(object.ptr()));
        if (!copy.is_valid())
            throw nb::python_error();
        char* start;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(copy.ptr(), &start, &length))
            throw nb::python_error();
        data = start;
        size = static_cast<size_t>(length);
    }

    const char* data;
    size_t size;

private:
    nb::object copy;
};

class Store;

// A key of either kind.
class Key {
public:
    Key(const Store& store, nb::handle object);

    lath_store_key key;

private:
    std::vector<Bytes> bytes; // one or none
};

class Store {
public:
    Store(lath_store* store, const std::string& spec, bool numbers)
        : numbers(numbers), store(store),
          shared(spec.starts_with("shm:") || spec.starts_with("dev:")) {}
    ~Store() {
        if (store)
            lath_store_close(store);
    }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // Runs f(store), without the GIL if it may wait. f runs no code of the caller's.
    template <class Call>
    auto run(bool waits, Call f) {
        if (!waits && !shared)
            return f(opened());
        lath_store* open = opened();
        Turns::Shared turn(turns);
        nb::gil_scoped_release others;
        return f(open);
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

    void close();
    nb::object get(nb::handle key, nb::handle missing);
    bool contains(nb::handle key);
    void set(nb::handle key, nb::handle value);
    bool add(nb::handle key, nb::handle value);
    bool replace(nb::handle key, nb::handle value);
    bool erase(nb::handle key);
    bool cas(nb::handle key, nb::handle expected, nb::handle value);
    int64_t incr(nb::handle key, nb::handle by);
    int64_t append(nb::handle key, nb::handle tail);
    bool expire(nb::handle key, nb::handle when);
    void set_many(nb::handle pairs);
    nb::object key_object(const lath_store_key& key) const;
    nb::object own(nb::handle limit) const;
    std::vector<Pair> page(nb::handle from, nb::handle to, nb::handle prefix, bool backward,
                           size_t most);
    int64_t count(nb::handle from, nb::handle to, nb::handle prefix);
    int64_t items();
    nb::dict stats();
    void save(const std::string& path);
    void load(const std::string& path);
    void sync();

    // Throws what an error means; key may be invalid.
    static int64_t must(int64_t ret, nb::handle key = nb::handle());
    [[noreturn]] static void fail(int64_t ret, const std::string& why);

    const bool numbers;

private:
    lath_store* store;
    bool shared;
    Turns turns; // calls without the GIL; load and close exclude them
};

Key::Key(const Store& store, nb::handle object) {
    if (store.numbers) {
        key = lath_key_number(uint64_of(object, "a key"));
    } else {
        bytes.emplace_back(object);
        key = lath_key_bytes(bytes[0].data, bytes[0].size);
    }
}

void Store::fail(int64_t ret, const std::string& why) {
    if (ret == -ENOMEM)
        throw std::bad_alloc();
    PyObject* error =
        Py_BuildValue("(is)", static_cast<int>(-ret),
                      why.empty() ? std::strerror(static_cast<int>(-ret)) : why.c_str());
    if (error) {
        PyErr_SetObject(PyExc_OSError, error);
        Py_DECREF(error);
    }
    throw nb::python_error();
}

int64_t Store::must(int64_t ret, nb::handle key) {
    if (ret == -ENOENT && key.is_valid()) {
        raise_key(key);
    }
    // What the files and the limit of a store refuse are errors of the system.
    for (int error : {EBUSY, EAGAIN, EDEADLK, EBADMSG, EOPNOTSUPP, ENOTEMPTY, ENOSPC, EROFS})
        if (ret == -error)
            fail(ret, "");
    return lathpy::must(ret, "the store",
                        {{E2BIG, PyExc_ValueError, "a key has at most 65535 bytes"},
                         {EINVAL, PyExc_ValueError, "not a number, or a key of another kind"},
                         {ERANGE, PyExc_OverflowError, "the number does not fit in 64 bits"}});
}

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
        Store::fail(ret, why);
    if (nb::inst_ready(self.h)) {
        nb::gil_scoped_release others;
        lath_store_close(store);
    }
    once(self.h);
    new (self.p) Store(store, spec, numbers);
}

void Store::close() {
    lath_store* open = std::exchange(store, nullptr); // from now on no call begins
    int ret = 0;
    std::string why;

    {
        Turns::Alone turn(turns);
        if (open) {
            nb::gil_scoped_release others;
            ret = LATH_CORE(lath_store_close(open));
            why = lath_store_reason();
        }
    }
    if (ret)
        fail(ret, why);
}

// A read-side critical section: what a ref points to stays.
struct Section {
    explicit Section(lath_store* store) : store(store) { lath_store_read_begin(store); }
    ~Section() { lath_store_read_end(store); }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

    lath_store* store;
};

nb::object value_of(const lath_store_ref& ref) { return nb::bytes(ref.data, ref.size); }

nb::object Store::get(nb::handle object, nb::handle missing) {
    Key key(*this, object);
    nb::object value;
    int ret;

    {
        // The turn lasts as long as the section. Making bytes runs no code of the caller's.
        lath_store_ref ref;
        lath_store* open = opened();
        Turns::Shared turn(turns);
        Section section(open);
        if (shared) {
            nb::gil_scoped_release others;
            ret = LATH_CORE(lath_store_get_ref(open, key.key, &ref));
        } else {
            ret = LATH_CORE(lath_store_get_ref(open, key.key, &ref));
        }
        if (ret == 0)
            value = value_of(ref);
    }
    if (ret == -ENOENT)
        return nb::borrow(missing);
    must(ret, object);
    return value;
}

bool Store::contains(nb::handle object) {
    Key key(*this, object);
    char none;
    int64_t ret = run(false, [&](lath_store* open) {
        return LATH_CORE(lath_store_get(open, key.key, &none, 0));
    });

    return ret != -ENOENT && must(ret) >= 0;
}

void Store::set(nb::handle object, nb::handle given) {
    Key key(*this, object);
    Bytes value(given);

    must(run(false, [&](lath_store* open) {
        return LATH_CORE(lath_store_set(open, key.key, value.data, value.size));
    }));
}

bool Store::add(nb::handle object, nb::handle given) {
    Key key(*this, object);
    Bytes value(given);
    int ret = run(false, [&](lath_store* open) {
        return LATH_CORE(lath_store_add(open, key.key, value.data, value.size));
    });

    return ret != -EEXIST && must(ret) == 0;
}

bool Store::replace(nb::handle object, nb::handle given) {
    Key key(*this, object);
    Bytes value(given);
    int ret = run(false, [&](lath_store* open) {
        return LATH_CORE(lath_store_replace(open, key.key, value.data, value.size));
    });

    return ret != -ENOENT && must(ret) == 0;
}

bool Store::erase(nb::handle object) {
    Key key(*this, object);
    int ret =
        run(false, [&](lath_store* open) { return LATH_CORE(lath_store_delete(open, key.key)); });

    return ret != -ENOENT && must(ret) == 0;
}

bool Store::cas(nb::handle object, nb::handle expected, nb::handle given) {
    Key key(*this, object);
    Bytes old(expected), value(given);
    int ret = run(false, [&](lath_store* open) {
        return LATH_CORE(lath_store_cas(open, key.key, old.data, old.size, value.data, value.size));
    });

    return ret != -EAGAIN && ret != -ENOENT && must(ret) == 0;
}

int64_t Store::incr(nb::handle object, nb::handle number) {
    Key key(*this, object);
    int64_t now = 0, by = number.is_valid() ? int64_of(number, "the number to add") : 1;

    must(run(false, [&](lath_store* open) {
        return LATH_CORE(lath_store_incr(open, key.key, by, &now));
    }));
    return now;
}

int64_t Store::append(nb::handle object, nb::handle given) {
    Key key(*this, object);
    Bytes tail(given);

    return must(run(false, [&](lath_store* open) {
        return LATH_CORE(lath_store_append(open, key.key, tail.data, tail.size));
    }));
}

bool Store::expire(nb::handle object, nb::handle time) {
    Key key(*this, object);
    uint64_t when = uint64_of(time, "the time");
    int ret = run(
        false, [&](lath_store* open) { return LATH_CORE(lath_store_expire(open, key.key, when)); });

    return ret != -ENOENT && must(ret) == 0;
}

void Store::set_many(nb::handle pairs) {
    std::vector<nb::object> tuples; // what the entries point into
    std::vector<Key> keys;
    std::vector<Bytes> values;
    std::vector<lath_store_entry> entries;

    for (nb::handle pair : pairs) {
        tuples.push_back(nb::steal(PySequence_Tuple(pair.ptr())));
        if (!tuples.back().is_valid())
            throw nb::python_error();
        if (PyTuple_Size(tuples.back().ptr()) != 2)
            raise(PyExc_ValueError, "an element of the update is not a pair");
        keys.emplace_back(*this, nb::handle(PyTuple_GetItem(tuples.back().ptr(), 0)));
        if (!numbers && keys.back().key.n > 65535) // before anything is set
            must(-E2BIG);
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
        must(ret);
}

// A range as it was given, with the keys it points to.
struct Limits {
    Limits(const Store& store, nb::handle from, nb::handle to, nb::handle prefix, bool backward)
        : range{nullptr, nullptr, nullptr, backward} {
        auto limit = [&](nb::handle object, std::optional<Key>& key, const lath_store_key** where) {
            if (object.is_none())
                return;
            key.emplace(store, object);
            *where = &key->key;
        };
        limit(from, keys[0], &range.from);
        limit(to, keys[1], &range.to);
        limit(prefix, keys[2], &range.prefix);
    }
    Limits(const Limits&) = delete;
    Limits& operator=(const Limits&) = delete;

    lath_store_range range;
    std::optional<Key> keys[3];
};

// A limit of keys as an object that nobody else changes. None: no limit.
nb::object Store::own(nb::handle limit) const {
    return limit.is_none() ? nb::none() : key_object(Key(*this, limit).key);
}

nb::object Store::key_object(const lath_store_key& key) const {
    return numbers ? nb::steal(PyLong_FromUnsignedLongLong(key.n))
                   : nb::object(nb::bytes(static_cast<const char*>(key.data), key.n));
}

// The keys and values of at most `most` entries of a range.
std::vector<Pair> Store::page(nb::handle from, nb::handle to, nb::handle prefix, bool backward,
                              size_t most) {
    Limits limits(*this, from, to, prefix, backward);
    std::vector<Pair> found;
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
        ret = LATH_CORE(lath_store_iter_begin(opened(), &limits.range, &iteration.iter));
        while (ret >= 0 && most-- &&
               (ret = LATH_CORE(lath_store_iter_next(iteration.iter, &key, &ref))) == 1)
            found.emplace_back(key_object(key), value_of(ref));
    }
    must(ret);
    return found;
}

// The entries of a range, a page at a time: they are those that are there when it is read.
class EntryWalk {
public:
    EntryWalk(Store& store, nb::object from, nb::object to, nb::object prefix, bool backward,
              What what)
        : store(store), from(std::move(from)), to(std::move(to)), prefix(std::move(prefix)),
          backward(backward), what(what) {}

    std::optional<Pair> next() {
        while (at == page.size() && !ended) {
            store.opened(); // may wait, while another thread makes a step
            if (at == page.size() && !ended)
                turn();
        }
        return at == page.size() ? std::nullopt : std::optional(std::move(page[at++]));
    }
    nb::object shown(Pair&& entry) const { return lathpy::shown(std::move(entry), what); }

private:
    void turn();

    Store& store;
    nb::object from, to, prefix, last; // last: key of the page before
    bool backward, ended = false;
    What what;
    std::vector<Pair> page;
    size_t at = 0;
};

void EntryWalk::turn() {
    constexpr size_t most = 256;

    page = store.page(from, to, prefix, backward, most);
    ended = page.size() < most;
    // The limit `from` belongs to a range: its entry comes again.
    at = last.is_valid() && !page.empty() && page[0].first.equal(last);
    if (!ended)
        (backward ? to : from) = last = page.back().first;
}

nb::object walk_entries(nb::pointer_and_handle<Store> self, nb::handle from, nb::handle to,
                        nb::handle prefix, nb::handle backward, What what) {
    Store& store = *self.p;
    int reverse = PyObject_IsTrue(backward.ptr());

    if (reverse < 0)
        throw nb::python_error();
    return nb::cast(Iterator<EntryWalk>{
        nb::borrow(self.h),
        {store, store.own(from), store.own(to), store.own(prefix), reverse != 0, what}});
}

int64_t Store::count(nb::handle from, nb::handle to, nb::handle prefix) {
    Limits limits(*this, from, to, prefix, false);

    return must(run(
        true, [&](lath_store* open) { return LATH_CORE(lath_store_count(open, &limits.range)); }));
}

int64_t Store::items() {
    return must(run(false, [&](lath_store* open) { return LATH_CORE(lath_store_items(open)); }));
}

nb::dict Store::stats() {
    lath_store_stats stats;
    nb::dict dict;

    must(run(false, [&](lath_store* open) {
        const int ret = LATH_CORE(lath_store_get_stats(open, &stats));
        return ret ? ret : LATH_CORE(lath_store_get_pages(open, &stats));
    }));
    dict["items"] = stats.items;
    dict["committed"] = stats.committed;
    dict["index_bytes"] = stats.index_bytes;
    dict["record_bytes"] = stats.record_bytes;
    dict["pending_bytes"] = stats.pending_bytes;
    dict["free_bytes"] = stats.free_bytes;
    dict["resident"] = stats.resident;
    dict["huge"] = stats.huge;
    dict["evicted"] = stats.evicted;
    dict["expired"] = stats.expired;
    return dict;
}

void Store::save(const std::string& path) {
    std::string why;
    int ret = run(true, [&](lath_store* open) {
        int result = LATH_CORE(lath_store_save(open, path.c_str(), nullptr, nullptr));
        why = lath_store_reason();
        return result;
    });

    if (ret)
        fail(ret, why);
}

// Excludes all other calls: they wait.
void Store::load(const std::string& path) {
    std::string why;
    int ret = 0;

    opened();
    {
        Turns::Alone turn(turns);
        if (lath_store* open = store) { // else it was closed since
            nb::gil_scoped_release others;
            ret = LATH_CORE(lath_store_load(open, path.c_str(), nullptr, nullptr));
            why = lath_store_reason();
        }
    }
    opened();
    if (ret)
        fail(ret, why);
}

void Store::sync() {
    std::string why;
    int ret = run(true, [&](lath_store* open) {
        int result = LATH_CORE(lath_store_sync(open));
        why = lath_store_reason();
        return result;
    });

    if (ret)
        fail(ret, why);
}

void remove_store(const std::string& spec) {
    char why[300] = "";
    int ret = LATH_CORE(lath_store_remove(spec.c_str(), why, sizeof(why)));

    if (ret)
        Store::fail(ret, why);
}

int64_t sweep(Store& store) {
    return Store::must(
        store.run(true, [](lath_store* open) { return LATH_CORE(lath_store_sweep(open)); }));
}

int64_t compact(Store& store) {
    return Store::must(
        store.run(true, [](lath_store* open) { return LATH_CORE(lath_store_compact(open)); }));
}

PyMethodDef store_methods[] = {
    method<
        "close($self)\n--\n\nClose the store; file: saves it first if it has changed. OSError of "
        "the save.",
        &Store::close, Store>(),
    method<
        "add($self, key, value)\n--\n\nSet the value if there is no such key. Returns whether it "
        "did.",
        &Store::add, Store>(),
    method<
        "replace($self, key, value)\n--\n\nSet the value if the key is there. Returns whether it "
        "did.",
        &Store::replace, Store>(),
    method<
        "cas($self, key, expected, value)\n--\n\nSet the value if it is the expected one. Returns "
        "whether it did. O(log n)",
        &Store::cas, Store>(),
    method<
        "incr($self, key, by=1)\n--\n\nAdd to a value that is a decimal number, of an absent key "
        "0, and return it. O(log n)",
        &Store::incr, Store>(),
    method<"append($self, key, tail)\n--\n\nAppend bytes to the value. Returns its length.",
           &Store::append, Store>(),
    method<"stats($self)\n--\n\nNumbers of items and of bytes by use.", &Store::stats, Store>(),
    method<"sync($self)\n--\n\nfile: save the store if it has changed.", &Store::sync, Store>(),
    method<"sweep($self)\n--\n\nRemove expired entries and return their number. O(n)", sweep,
           Store>(),
    method<"compact($self)\n--\n\nReturn unused memory to the machine, and how many bytes.",
           compact, Store>(),
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot store_slots[] = {{Py_tp_methods, store_methods}, {0, nullptr}};

} // namespace

void bind_store(nb::module_& module) {
    const auto any = nb::arg().none();

    module.def("_remove_store", remove_store);
    module.attr("_EVICT") = static_cast<unsigned>(LATH_STORE_EVICT);
    module.attr("_READ_ONLY") = static_cast<unsigned>(LATH_STORE_READ_ONLY);
    module.attr("_EXISTING") = static_cast<unsigned>(LATH_STORE_EXISTING);
    bind_iterator<EntryWalk>(module, "StoreIterator");
    LockedClass<Store>(module, "Store", nb::type_slots(store_slots), nb::is_weak_referenceable())
        .def("__init__", make_store, nb::arg(), nb::arg(), any, nb::arg(), nb::arg())
        .def("_get", &Store::get, nb::arg(), any)
        .def("__contains__", &Store::contains)
        .def("__setitem__", &Store::set)
        .def("_erase", &Store::erase)
        .def("_expire", &Store::expire)
        .def("_set_many", &Store::set_many)
        .def("_walk", walk_entries, any, any, any, any, nb::arg())
        .def("_count", &Store::count, any, any, any)
        .def("_items", &Store::items)
        .def("_save", &Store::save)
        .def("_load", &Store::load)
        .def_prop_ro("closed", &Store::closed);
}

} // namespace lathpy
