// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What IntervalTree is built on: a set of intervals (lathwork/interval.h) whose values are Interval
// objects, and a table of these by their bounds, for membership and equal intervals.
#include "held.hpp"
#include "interval_table.hpp"
#include "memory.hpp"
#include "object.hpp"

#include <lathwork/interval.h>

#include <memory>
#include <utility>
#include <vector>

namespace lathpy {

namespace {

struct Codes {
    uint64_t begin, end;
    uint64_t hash() const {
        uint64_t mixed = (begin * 0x9e3779b97f4a7c15ull) ^ (end * 0xc2b2ae3d27d4eb4full);
        return (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15ull;
    }
};

Codes codes_in(const lath_item& item) { return {item.key, item.size}; }
PyObject* interval_in(const lath_item& item) { return reinterpret_cast<PyObject*>(item.value); }

// Intervals that are to be added or removed, with a reference of each: begin, end, and the object.
struct Given : Pinned, std::vector<lath_item> {
    ~Given() {
        for (const lath_item& item : *this)
            Py_DECREF(interval_in(item));
    }
    void add(nb::object interval, Codes codes = {0, 0}) {
        push_back({codes.begin, codes.end, reinterpret_cast<uint64_t>(interval.ptr())});
        (void)interval.release();
    }
};

PyObject* bound_of(PyObject* interval, int which) {
    PyObject* bound = PyTuple_GetItem(interval, which);

    if (!bound)
        throw nb::python_error();
    return bound;
}

// A set, which has its own place, so that it can be exchanged.
struct Set : Pinned {
    Set() {
        lath_config config = index_config();
        must(LATH_CORE(lath_intervals_init(&set, LATH_HALF_OPEN, &config)), "lath_intervals_init");
    }
    ~Set() { lath_intervals_fini(&set, nullptr, nullptr); }

    void insert(const Codes& codes, PyObject* object) {
        lath_interval interval = {codes.begin, codes.end, reinterpret_cast<uint64_t>(object)};
        must(LATH_CORE(lath_intervals_insert(&set, &interval)), "lath_intervals_insert");
    }
    void erase(const Codes& codes, PyObject* object) {
        lath_interval interval = {codes.begin, codes.end, reinterpret_cast<uint64_t>(object)};
        lath_intervals_erase(&set, &interval);
    }

    lath_intervals set;
};

class Tree : Pinned {
public:
    ~Tree() { release(); }

    size_t size() const { return table.size(); }
    // Whether this interval, with its data, is here.
    bool contains(nb::handle interval) { return slot_of(interval) != nullptr; }
    // The Interval of the tree that is equal to this one, or None.
    nb::object find_equal(nb::handle interval) {
        Slot* slot = slot_of(interval);
        return slot ? nb::borrow(slot->object) : nb::none();
    }
    void add_all(nb::handle intervals, nb::handle type);
    // Removes Intervals that are objects of the tree, and returns how many. Compares nothing.
    size_t take(nb::handle intervals);
    void clear() {
        changing();
        drop(std::make_unique<Set>());
    }
    void exchange(Tree& other) {
        changing();
        other.changing();
        std::swap(own, other.own);
        std::swap(table, other.table);
        std::swap(codec, other.codec);
    }
    // clear() where no comparison can be under way, with a set in place of the one that there is.
    void drop(std::unique_ptr<Set> fresh) {
        std::swap(own, fresh);
        codec = Codec();
        release();
    }

    nb::object at(nb::handle point);
    nb::object overlap(nb::handle begin, nb::handle end, bool within);
    bool overlaps(nb::handle begin, nb::handle end);
    nb::object all() {
        nb::list list;
        table.each([&](uint64_t, PyObject* object) { list.append(nb::handle(object)); });
        return list;
    }
    // The interval that begins first, or that ends last; None.
    nb::object edge(bool last) {
        lath_interval found;
        if (lath_intervals_nearest(&own->set, last ? ~0ull : 0, &found))
            return nb::none();
        return nb::borrow(reinterpret_cast<PyObject*>(found.value));
    }
    int traverse(visitproc visit, void* arg);
    void verify();

private:
    using Slot = IntervalTable::Slot;

    // Within its life other code may run, which must not change the tree: a comparison of
    // intervals, which compares their data, or a conversion of bounds.
    struct Comparing {
        explicit Comparing(Tree& tree) : count(tree.comparing) { count++; }
        ~Comparing() { count--; }
        unsigned& count;
    };
    void changing() const {
        if (comparing)
            raise(PyExc_RuntimeError, "the tree was changed within a comparison of intervals");
    }
    void release() { // the references of `table`, which is empty then
        IntervalTable gone;
        std::swap(gone, table); // the end of an object may run code of the caller's
        gone.each([](uint64_t, PyObject* object) { Py_DECREF(object); });
    }
    // Before a change: converts bounds, of which other code may change the tree: then once more.
    template <class Convert>
    void convert(Convert convert) {
        auto now = [this] { return table.empty() ? Codec() : codec; };
        for (Codec before = now();; before = now()) {
            changing();
            convert(before);
            if (before.python().is(now().python()))
                return changing(); // a comparison of another thread may have begun
        }
    }
    // Throws if a bound has no code.
    static Codes codes_of(PyObject* interval, const Codec& of) {
        return {of.code(bound_of(interval, 0), Round::exact),
                of.code(bound_of(interval, 1), Round::exact)};
    }
    static void join(Codec* codec, PyObject* interval);
    bool point_code(nb::handle point, uint64_t* code) const;
    bool search(nb::handle begin, nb::handle end, bool within, Codes* codes) const;
    void become(const Codec& next);
    Slot* find(uint64_t hash, PyObject* interval);
    Slot* slot_of(nb::handle interval);
    nb::object leave(const Codes& codes, PyObject* object);
    nb::object collect(lath_interval_iter* iter);

    std::unique_ptr<Set> own = std::make_unique<Set>();
    IntervalTable table; // by the codes of the bounds; it owns references
    Codec codec;
    unsigned comparing = 0;
};

// Makes the codec of a tree one that has the bounds of this interval too.
void Tree::join(Codec* codec, PyObject* interval) {
    uint64_t code;

    for (int which : {0, 1}) {
        PyObject* bound = bound_of(interval, which);
        if (fast_code(codec->kind(), bound, &code))
            continue;
        nb::object old = codec->python().is_valid() ? codec->python() : nb::none();
        nb::object made = bounds("joined")(old, nb::handle(bound));
        if (!made.is(old))
            *codec = Codec(made);
    }
}

// The code of a point. Returns whether an interval can contain it.
bool Tree::point_code(nb::handle point, uint64_t* code) const {
    if (size() == 0 || fast_code(codec.kind(), point.ptr(), code))
        return size() != 0;
    nb::object found = nb::object(codec.python()).attr("point")(point);
    if (found.is_none())
        return false;
    *code = nb::cast<uint64_t>(found);
    return true;
}

// The codes of a range; within: of which intervals have to lie in it. Returns whether it has keys.
bool Tree::search(nb::handle begin, nb::handle end, bool within, Codes* codes) const {
    if (size() == 0)
        return false;
    if (fast_code(codec.kind(), begin.ptr(), &codes->begin) &&
        fast_code(codec.kind(), end.ptr(), &codes->end))
        return codes->begin < codes->end;
    nb::object found = nb::object(codec.python()).attr("search")(begin, end, within);
    if (found.is_none())
        return false;
    *codes = {nb::cast<uint64_t>(found[0]), nb::cast<uint64_t>(found[1])};
    return true;
}

// Makes the tree one of another kind. If that throws, the tree is as it was.
void Tree::become(const Codec& next) {
    Comparing guard(*this);
    auto made = std::make_unique<Set>();
    IntervalTable by_codes;

    by_codes.reserve(table.size());
    table.each([&](uint64_t, PyObject* object) {
        Codes codes = codes_of(object, next);
        by_codes.insert(codes.hash(), object);
        made->insert(codes, object);
    });
    std::swap(own, made);
    std::swap(table, by_codes);
    codec = next;
}

// An interval that is equal to this one.
Tree::Slot* Tree::find(uint64_t hash, PyObject* interval) {
    Comparing guard(*this);

    return table.find(hash, [=](PyObject* other) {
        return checked(PyObject_RichCompareBool(other, interval, Py_EQ)) != 0;
    });
}

// The slot of an interval that is equal to this one. What no bound of the tree can equal is not
// there.
Tree::Slot* Tree::slot_of(nb::handle interval) {
    if (size() == 0 || !PyTuple_Check(interval.ptr()) || PyTuple_Size(interval.ptr()) != 3)
        return nullptr;
    uint64_t hashed;
    try {
        hashed = codes_of(interval.ptr(), Codec(codec)).hash();
    } catch (nb::python_error& error) {
        if (error.matches(PyExc_OverflowError) || error.matches(PyExc_TypeError) ||
            error.matches(PyExc_ValueError)) // a NaN
            return nullptr;
        throw;
    }
    return find(hashed, interval.ptr());
}

// Takes an object of the tree out of the table, if it is there, and returns its reference.
nb::object Tree::leave(const Codes& codes, PyObject* object) {
    Slot* slot = table.find(codes.hash(), [=](PyObject* other) { return other == object; });

    if (!slot)
        return {};
    table.erase(slot);
    return nb::steal(object);
}

// Adds many in the order of their begins, so that neighbours in the set share cache lines. If it
// throws, the tree is as it was.
void Tree::add_all(nb::handle intervals, nb::handle type) {
    Given given;

    for (nb::handle one : intervals) {
        nb::object interval = nb::borrow(one);
        if (reinterpret_cast<PyObject*>(Py_TYPE(one.ptr())) != type.ptr())
            interval = type(*nb::steal<nb::tuple>(PySequence_Tuple(one.ptr())));
        given.add(std::move(interval));
    }
    Codec before, next;
    convert([&](const Codec& now) {
        before = next = now;
        for (const lath_item& item : given)
            join(&next, interval_in(item));
        for (lath_item& item : given) {
            Codes codes = codes_of(interval_in(item), next);
            if (codes.begin >= codes.end)
                raise(PyExc_ValueError,
                      "IntervalTree: Null Interval objects not allowed in IntervalTree: %R",
                      interval_in(item));
            item.key = codes.begin;
            item.size = codes.end;
        }
    });
    sort_by_code(given);
    bool other = before.kind() != Kind::none && next.kind() != before.kind();
    other ? become(next) : void(codec = next);
    size_t fresh = 0, done = 0; // those that were not there, which are put first
    try {
        constexpr size_t ahead = 16;
        table.reserve(table.size() + given.size());
        for (size_t i = 0; i < given.size(); i++) {
            if (i + ahead < given.size())
                table.prefetch(codes_in(given[i + ahead]).hash());
            uint64_t hash = codes_in(given[i]).hash();
            if (find(hash, interval_in(given[i])))
                continue;
            table.insert(hash, interval_in(given[i]));
            std::swap(given[fresh++], given[i]);
        }
        for (; done < fresh; done++)
            own->insert(codes_in(given[done]), interval_in(given[done]));
    } catch (...) {
        for (size_t i = 0; i < fresh; i++) {
            if (i < done)
                own->erase(codes_in(given[i]), interval_in(given[i]));
            (void)leave(codes_in(given[i]), interval_in(given[i])).release();
        }
        if (other)
            become(before);
        throw;
    }
    given.erase(given.begin(), given.begin() + static_cast<ptrdiff_t>(done)); // the table's now
}

size_t Tree::take(nb::handle intervals) {
    std::vector<nb::object> gone;
    Given given;

    convert([&](const Codec& now) {
        Given made;
        if (now.kind() != Kind::none)
            for (nb::handle one : intervals)
                made.add(nb::borrow(one), codes_of(one.ptr(), now));
        given.swap(made);
    });
    gone.reserve(given.size());
    for (const lath_item& item : given) {
        nb::object left = leave(codes_in(item), interval_in(item));
        if (!left.is_valid())
            continue;
        gone.push_back(std::move(left));
        own->erase(codes_in(item), interval_in(item));
    }
    return gone.size();
}

// The set of what the search finds. All references are taken first: making a set hashes and
// compares, and other code may then change the tree. What hashes are made from, the objects and
// then their bounds, is loaded before: all misses of one kind are under way at once.
nb::object Tree::collect(lath_interval_iter* iter) {
    constexpr size_t at_a_time = 64;
    lath_interval found[at_a_time];
    std::vector<nb::object> held;
    size_t n;

    do {
        n = lath_interval_next_batch(iter, found, at_a_time);
        for (size_t i = 0; i < n; i++)
            __builtin_prefetch(reinterpret_cast<PyObject*>(found[i].value));
        for (size_t i = 0; i < n; i++)
            for (int which : {0, 1})
                __builtin_prefetch(bound_of(reinterpret_cast<PyObject*>(found[i].value), which));
        for (size_t i = 0; i < n; i++)
            held.push_back(nb::borrow(reinterpret_cast<PyObject*>(found[i].value)));
    } while (n == at_a_time);
    nb::object result = checked(PySet_New(nullptr));
    for (const nb::object& interval : held)
        checked(PySet_Add(result.ptr(), interval.ptr()));
    return result;
}

// The intervals that contain a point, or that meet a range; within: that lie in it.
nb::object Tree::at(nb::handle point) {
    lath_interval_iter iter;
    uint64_t code;

    if (!point_code(point, &code))
        return checked(PySet_New(nullptr));
    lath_interval_iter_stab(&iter, &own->set, code);
    return collect(&iter);
}

nb::object Tree::overlap(nb::handle begin, nb::handle end, bool within) {
    lath_interval_iter iter;
    Codes codes;

    if (!search(begin, end, within, &codes))
        return checked(PySet_New(nullptr));
    (within ? lath_interval_iter_within : lath_interval_iter_overlap)(&iter, &own->set, codes.begin,
                                                                      codes.end);
    return collect(&iter);
}

bool Tree::overlaps(nb::handle begin, nb::handle end) {
    lath_interval found;
    Codes codes;

    if (end.is_none())
        return point_code(begin, &codes.begin) &&
               lath_intervals_stab(&own->set, codes.begin, &found, 1) != 0;
    return search(begin, end, false, &codes) &&
           lath_intervals_overlap(&own->set, codes.begin, codes.end, &found, 1) != 0;
}

int Tree::traverse(visitproc visit, void* arg) {
    int result = 0;

    Py_VISIT(codec.python().ptr());
    table.each([&](uint64_t, PyObject* object) {
        if (result == 0)
            result = visit(object, arg);
    });
    return result;
}

void Tree::verify() {
    char report[200];

    if (lath_intervals_verify(&own->set, report, sizeof(report)))
        raise(PyExc_AssertionError, report);
    if (lath_intervals_count(&own->set) != table.size())
        raise(PyExc_AssertionError, "the set and the table have different numbers of intervals");
    changing();
    Comparing guard(*this);
    table.each([&](uint64_t hash, PyObject* object) {
        Codes codes = codes_of(object, codec);
        if (codes.begin >= codes.end || codes.hash() != hash || !find(hash, object))
            raise(PyExc_AssertionError, "an interval is in the wrong place of the table");
    });
}

int tree_clear(PyObject* self) {
    if (nb::inst_ready(self))
        try {
            nb::inst_ptr<Tree>(self)->drop(std::make_unique<Set>());
        } catch (const std::exception&) {
            // no memory: another collection may have some
        }
    return 0;
}

PyType_Slot tree_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_of<Tree>)},
    {Py_tp_clear, reinterpret_cast<void*>(tree_clear)},
    {0, nullptr},
};

// The hash of an Interval is made from those of its bounds: data need not be hashable. A tuple of
// the bounds would have to be allocated for its hash.
Py_hash_t interval_hash(PyObject* self) {
    uint64_t mixed = 0;

    for (int which : {0, 1}) {
        PyObject* bound = PyTuple_GetItem(self, which);
        Py_hash_t hash = bound ? PyObject_Hash(bound) : -1;
        if (hash == -1)
            return -1;
        mixed = (mixed ^ static_cast<uint64_t>(hash)) * 0x9e3779b97f4a7c15ull;
        mixed ^= mixed >> 32;
    }
    auto hash = static_cast<Py_hash_t>(mixed);
    return hash == -1 ? -2 : hash; // -1 says that there is an error
}

PyType_Slot interval_slots[] = {
    {Py_tp_hash, reinterpret_cast<void*>(interval_hash)},
    {Py_tp_doc, const_cast<char*>("A tuple that is hashed by its first two elements.")},
    {0, nullptr},
};

PyType_Spec interval_spec = {"lathwork._core.Bounded", 0, 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, interval_slots};

} // namespace

void bind_intervals(nb::module_& module) {
    nb::object bases = nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)));
    nb::object bounded = checked(PyType_FromSpecWithBases(&interval_spec, bases.ptr()));
    module.attr("Bounded") = bounded;
    const auto any = nb::arg().none(); // None is refused as other bounds are
    LockedClass<Tree>(module, "Tree", nb::type_slots(tree_slots), nb::is_weak_referenceable())
        .def(nb::init<>())
        .def("__len__", &Tree::size)
        .def("__contains__", &Tree::contains, nb::arg().none())
        .def("_clear", &Tree::clear)
        .def("_at", &Tree::at, any)
        .def("_add_all", &Tree::add_all)
        .def("_find", &Tree::find_equal, nb::arg().none())
        .def("_take", &Tree::take)
        .def("_exchange", &Tree::exchange, nb::arg().lock())
        .def("_overlap", &Tree::overlap, any, any, nb::arg() = false)
        .def("_overlaps", &Tree::overlaps, any, any)
        .def("_all", &Tree::all)
        .def("_edge", &Tree::edge)
        .def("_verify", &Tree::verify);
}

} // namespace lathpy
