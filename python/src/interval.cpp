// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What IntervalTree is built on: a set of intervals (lathwork/interval.h) whose values are Interval
// objects, and a table of these by their bounds, for membership and equal intervals.
//
// Bounds: bound.hpp.
#include "bound.hpp"
#include "held.hpp"
#include "interval_table.hpp"
#include "memory.hpp"
#include "method.hpp"
#include "modules.hpp"
#include "visit.hpp"

#include <lathwork/interval.h>

#include <memory>
#include <utility>
#include <vector>

namespace lathpy {

namespace {

struct Codes {
    uint64_t begin, end;
    bool empty() const { return begin >= end; }
};

// A set, which has its own place, so that it can be exchanged.
struct Set {
    Set() {
        lath_config config = index_config();
        must(LATH_CORE(lath_intervals_init(&set, LATH_HALF_OPEN, &config)), "lath_intervals_init");
    }
    ~Set() { lath_intervals_fini(&set, nullptr, nullptr); }
    Set(const Set&) = delete;
    Set& operator=(const Set&) = delete;

    // Throws std::bad_alloc.
    void insert(const Codes& codes, PyObject* object);

    lath_intervals set;
};

// Where an iteration stands within a search.
constexpr size_t at_a_time = 64;

PyObject* bound_of(PyObject* interval, int which) {
    PyObject* bound = PyTuple_GetItem(interval, which);

    if (!bound)
        throw nb::python_error();
    return bound;
}

void Set::insert(const Codes& codes, PyObject* object) {
    lath_interval interval = {codes.begin, codes.end, reinterpret_cast<uint64_t>(object)};

    must(LATH_CORE(lath_intervals_insert(&set, &interval)), "lath_intervals_insert");
}

// Within its life comparisons may run.
class Comparing {
public:
    explicit Comparing(unsigned& count) : count(count) { count++; }
    ~Comparing() { count--; }
    Comparing(const Comparing&) = delete;
    Comparing& operator=(const Comparing&) = delete;

private:
    unsigned& count;
};

class Tree {
public:
    Tree() = default;
    ~Tree() { release(); }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;

    size_t size() const { return table.size(); }
    // Whether this interval, with its data, is here.
    bool contains(nb::handle interval);
    void add(nb::object interval);
    void add_all(nb::handle intervals, nb::handle type);
    // The Interval of the tree that is equal to this one, or None.
    nb::object find_equal(nb::handle interval);
    bool discard(nb::handle interval);
    nb::object pop();
    // Removes Intervals that are objects of the tree, and returns how many. Compares nothing.
    size_t take(nb::handle intervals);
    void clear();
    void exchange(Tree& other);
    // clear() where no comparison can be under way, with a set in place of the one that there is.
    void drop(std::unique_ptr<Set> fresh);

    nb::object at(nb::handle point);
    nb::object overlap(nb::handle begin, nb::handle end);
    nb::object envelop(nb::handle begin, nb::handle end);
    bool overlaps(nb::handle begin, nb::handle end);
    nb::object all();
    nb::object edge(bool last);
    int traverse(visitproc visit, void* arg);
    void verify();

private:
    void release(); // the references of `table`, which is empty then

    // Comparing intervals compares their data, which may run code of the caller's: it must not
    // change the tree. Throws RuntimeError within a comparison.
    void changing() const {
        if (comparing)
            raise(PyExc_RuntimeError, "the tree was changed within a comparison of intervals");
    }
    uint64_t code(PyObject* bound, Round round) const {
        nb::object from = epoch; // code of the caller's may set another one
        return bound_code(kind, bound, round, from);
    }
    bool point_code(PyObject* point, uint64_t* at) const;
    Bounds kind_with(PyObject* interval, Bounds with);
    Codes codes_of(PyObject* interval, Bounds in) const;
    void become(Bounds next);
    using Slot = IntervalTable::Slot;
    Slot* find(uint64_t hash, PyObject* interval);
    Slot* slot_of(nb::handle interval);
    nb::object leave(const Codes& codes, PyObject* object);
    size_t enter(std::vector<lath_item>& given);
    nb::object collect(lath_interval_iter* iter);
    static uint64_t hash(const Codes& codes) {
        uint64_t mixed =
            (codes.begin * 0x9e3779b97f4a7c15ull) ^ (codes.end * 0xc2b2ae3d27d4eb4full);
        return (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15ull;
    }
    static uint64_t hash(const lath_item& item) { return hash(Codes{item.key, item.size}); }

    std::unique_ptr<Set> own = std::make_unique<Set>();
    IntervalTable table; // by the bounds; it owns references
    Bounds kind = Bounds::none;
    unsigned comparing = 0;
    nb::object epoch;
};

// The code of a point. Returns whether an interval can contain it.
bool Tree::point_code(PyObject* point, uint64_t* at) const {
    if (size() == 0)
        return false;
    *at = code(point, Round::down);
    if (*at != 0 || kind != Bounds::integer)
        return true;
    return !is_before(kind, point, decode(Kind::integer, 0).ptr());
}

// The kind of a tree of the kind `with` to which this interval is added.
Bounds Tree::kind_with(PyObject* interval, Bounds with) {
    for (int which : {0, 1}) {
        PyObject* bound = bound_of(interval, which);
        if (with == Bounds::integer && PyLong_CheckExact(bound))
            continue;
        with = kind_with_bound(with, bound);
        if (which == 0 && with == Bounds::moment && table.empty())
            epoch = epoch_of(bound);
    }
    return with;
}

// Throws if a bound has no code in a tree of this kind.
Codes Tree::codes_of(PyObject* interval, Bounds in) const {
    return {bound_code(in, bound_of(interval, 0), Round::exact, epoch),
            bound_code(in, bound_of(interval, 1), Round::exact, epoch)};
}

// Makes the tree one of another kind. If that throws, the tree is as it was.
void Tree::become(Bounds next) {
    Comparing guard(comparing); // converting bounds may run code of the caller's
    auto made = std::make_unique<Set>();
    IntervalTable by_codes;

    by_codes.reserve(table.size());
    table.each([&](uint64_t, PyObject* object) {
        Codes codes = codes_of(object, next);
        by_codes.insert(hash(codes), object);
        made->insert(codes, object);
    });
    std::swap(own, made);
    std::swap(table, by_codes);
    kind = next;
}

// An interval that is equal to this one.
Tree::Slot* Tree::find(uint64_t hash, PyObject* interval) {
    Comparing guard(comparing);

    return table.find(hash, [=](PyObject* other) {
        int same = other == interval ? 1 : PyObject_RichCompareBool(other, interval, Py_EQ);
        if (same < 0)
            throw nb::python_error();
        return same != 0;
    });
}

// The slot of an interval that is equal to this one. What no bound of the tree can equal is not
// there.
Tree::Slot* Tree::slot_of(nb::handle interval) {
    if (size() == 0 || !PyTuple_Check(interval.ptr()) || PyTuple_Size(interval.ptr()) != 3)
        return nullptr;
    uint64_t hashed;
    try {
        hashed = hash(codes_of(interval.ptr(), kind));
    } catch (nb::python_error& error) {
        if (error.matches(PyExc_OverflowError) || error.matches(PyExc_TypeError) ||
            error.matches(PyExc_ValueError)) // a NaN
            return nullptr;
        throw;
    }
    return find(hashed, interval.ptr());
}

bool Tree::contains(nb::handle interval) { return slot_of(interval) != nullptr; }

nb::object Tree::find_equal(nb::handle interval) {
    Slot* slot = slot_of(interval);
    return slot ? nb::borrow(slot->object) : nb::none();
}

// Takes an object of the tree out of the table, if it is there, and returns its reference.
nb::object Tree::leave(const Codes& codes, PyObject* object) {
    Slot* slot = table.find(hash(codes), [=](PyObject* other) { return other == object; });

    if (!slot)
        return {};
    table.erase(slot);
    return nb::steal(object);
}

[[noreturn]] void raise_null(PyObject* interval) {
    PyErr_Format(PyExc_ValueError,
                 "IntervalTree: Null Interval objects not allowed in IntervalTree: %R", interval);
    throw nb::python_error();
}

void Tree::add(nb::object interval) {
    nb::list one;

    one.append(interval);
    add_all(one, nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(interval.ptr()))));
}

// Items of intervals that are to be added, with a reference of each.
struct Given : std::vector<lath_item> {
    ~Given() {
        for (const lath_item& item : *this)
            Py_DECREF(reinterpret_cast<PyObject*>(item.value));
    }
};

// Adds many in the order of their begins, so that neighbours in the set share cache lines. If it
// throws, the tree is as it was.
void Tree::add_all(nb::handle intervals, nb::handle type) {
    Given given; // begin, end, and the object

    for (nb::handle one : intervals) {
        nb::object interval = nb::borrow(one);
        if (reinterpret_cast<PyObject*>(Py_TYPE(one.ptr())) != type.ptr())
            interval = type(*nb::steal<nb::tuple>(PySequence_Tuple(one.ptr())));
        given.push_back({0, 0, reinterpret_cast<uint64_t>(interval.ptr())});
        (void)interval.release();
    }
    changing();
    Bounds before = table.empty() ? Bounds::none : kind, next = before;
    {
        Comparing guard(comparing); // converting bounds may run code of the caller's
        for (const lath_item& item : given)
            next = kind_with(reinterpret_cast<PyObject*>(item.value), next);
        for (lath_item& item : given) {
            auto* interval = reinterpret_cast<PyObject*>(item.value);
            Codes codes = codes_of(interval, next);
            if (codes.empty())
                raise_null(interval);
            item.key = codes.begin;
            item.size = codes.end;
        }
    }
    changing(); // a comparison of another thread may have begun
    sort_by_code(given);
    if (next != before && before != Bounds::none)
        become(next);
    kind = next;
    size_t fresh = 0, done = 0;
    try {
        fresh = enter(given);
        for (; done < fresh; done++)
            own->insert({given[done].key, given[done].size},
                        reinterpret_cast<PyObject*>(given[done].value));
    } catch (...) {
        for (size_t i = 0; i < fresh; i++) {
            lath_interval item = {given[i].key, given[i].size, given[i].value};
            (void)leave({given[i].key, given[i].size}, reinterpret_cast<PyObject*>(item.value))
                .release();
            if (i < done)
                lath_intervals_erase(&own->set, &item);
        }
        if (next != before && before != Bounds::none)
            become(before);
        throw;
    }
    given.erase(given.begin(),
                given.begin() + static_cast<ptrdiff_t>(done)); // the table's references
}

// Enters those into the table that are not in it, without a reference, and puts them first. Returns
// their number.
size_t Tree::enter(std::vector<lath_item>& given) {
    constexpr size_t ahead = 16;
    size_t fresh = 0;

    table.reserve(table.size() + given.size());
    try {
        for (size_t i = 0; i < given.size(); i++) {
            if (i + ahead < given.size())
                table.prefetch(hash(given[i + ahead]));
            auto* interval = reinterpret_cast<PyObject*>(given[i].value);
            if (find(hash(given[i]), interval))
                continue;
            table.insert(hash(given[i]), interval);
            std::swap(given[fresh++], given[i]);
        }
    } catch (...) {
        for (size_t i = 0; i < fresh; i++)
            (void)leave({given[i].key, given[i].size}, reinterpret_cast<PyObject*>(given[i].value))
                .release();
        throw;
    }
    return fresh;
}

bool Tree::discard(nb::handle interval) {
    changing();
    nb::object there = find_equal(interval);
    if (there.is_none())
        return false;
    take(nb::make_tuple(there));
    return true;
}

size_t Tree::take(nb::handle intervals) {
    std::vector<nb::object> gone;

    changing();
    gone.reserve(nb::len(intervals));
    for (nb::handle one : intervals) {
        Codes codes;
        {
            Comparing guard(comparing); // converting bounds may run code of the caller's
            codes = codes_of(one.ptr(), kind);
        }
        nb::object left = leave(codes, one.ptr());
        if (!left.is_valid())
            continue;
        gone.push_back(std::move(left));
        lath_interval item = {codes.begin, codes.end, reinterpret_cast<uint64_t>(one.ptr())};
        lath_intervals_erase(&own->set, &item);
    }
    return gone.size();
}

void Tree::clear() {
    changing();
    drop(std::make_unique<Set>());
}

void Tree::exchange(Tree& other) {
    changing();
    other.changing();
    std::swap(own, other.own);
    std::swap(table, other.table);
    std::swap(kind, other.kind);
    std::swap(epoch, other.epoch);
}

void Tree::drop(std::unique_ptr<Set> fresh) {
    std::swap(own, fresh);
    kind = Bounds::none;
    release();
}

void Tree::release() {
    IntervalTable gone;

    std::swap(gone, table); // the end of an object may run code of the caller's
    gone.each([](uint64_t, PyObject* object) { Py_DECREF(object); });
}

// Loads what the hashes of these intervals are made from: the objects, then their bounds. All
// misses of one kind are under way at once.
void prefetch(const lath_interval* found, size_t n) {
    for (size_t i = 0; i < n; i++)
        __builtin_prefetch(reinterpret_cast<PyObject*>(found[i].value));
    for (size_t i = 0; i < n; i++)
        for (int which : {0, 1})
            __builtin_prefetch(bound_of(reinterpret_cast<PyObject*>(found[i].value), which));
}

// The set of what the search finds. All references are taken first: making a set hashes and
// compares, and other code may then change the tree.
nb::object Tree::collect(lath_interval_iter* iter) {
    lath_interval found[at_a_time];
    std::vector<nb::object> held;
    size_t n;

    do {
        n = lath_interval_next_batch(iter, found, at_a_time);
        prefetch(found, n);
        for (size_t i = 0; i < n; i++)
            held.push_back(nb::borrow(reinterpret_cast<PyObject*>(found[i].value)));
    } while (n == at_a_time);
    nb::object result = nb::steal(PySet_New(nullptr));
    if (!result.is_valid())
        throw nb::python_error();
    for (const nb::object& interval : held)
        if (PySet_Add(result.ptr(), interval.ptr()))
            throw nb::python_error();
    return result;
}

nb::object Tree::at(nb::handle point) {
    lath_interval_iter iter;
    uint64_t key;

    if (!point_code(point.ptr(), &key))
        return nb::steal(PySet_New(nullptr));
    lath_interval_iter_stab(&iter, &own->set, key);
    return collect(&iter);
}

nb::object Tree::overlap(nb::handle begin, nb::handle end) {
    lath_interval_iter iter;

    if (size()) {
        uint64_t first = code(begin.ptr(), Round::down), behind = code(end.ptr(), Round::up);
        if (first < behind && is_before(kind, begin.ptr(), end.ptr())) {
            lath_interval_iter_overlap(&iter, &own->set, first, behind);
            return collect(&iter);
        }
    }
    return nb::steal(PySet_New(nullptr));
}

bool Tree::overlaps(nb::handle begin, nb::handle end) {
    lath_interval found;

    uint64_t first;
    if (end.is_none())
        return point_code(begin.ptr(), &first) &&
               lath_intervals_stab(&own->set, first, &found, 1) != 0;
    if (size() == 0)
        return false;
    first = code(begin.ptr(), Round::down);
    uint64_t behind = code(end.ptr(), Round::up);
    return first < behind && is_before(kind, begin.ptr(), end.ptr()) &&
           lath_intervals_overlap(&own->set, first, behind, &found, 1) != 0;
}

nb::object Tree::envelop(nb::handle begin, nb::handle end) {
    lath_interval_iter iter;

    if (size()) {
        uint64_t first = code(begin.ptr(), Round::up), behind = code(end.ptr(), Round::down);
        if (first < behind) {
            lath_interval_iter_within(&iter, &own->set, first, behind);
            return collect(&iter);
        }
    }
    return nb::steal(PySet_New(nullptr));
}

nb::object Tree::all() {
    nb::list list;

    table.each([&](uint64_t, PyObject* object) { list.append(nb::handle(object)); });
    return list;
}

// Takes the interval that begins first out and returns it; None: the tree is empty.
nb::object Tree::pop() {
    for (;;) {
        changing();
        nb::object first = edge(false);
        if (first.is_none() || take(nb::make_tuple(first))) // else another thread took it
            return first;
    }
}

// The interval that begins first, or that ends last.
nb::object Tree::edge(bool last) {
    lath_interval found;

    if (lath_intervals_nearest(&own->set, last ? ~0ull : 0, &found))
        return nb::none();
    return nb::borrow(reinterpret_cast<PyObject*>(found.value));
}

int Tree::traverse(visitproc visit, void* arg) {
    int result = 0;

    Py_VISIT(epoch.ptr());
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
    Comparing guard(comparing);
    table.each([&](uint64_t key, PyObject* object) {
        Codes codes = codes_of(object, kind);
        if (codes.empty() || hash(codes) != key || !find(key, object))
            raise(PyExc_AssertionError, "an interval is in the wrong place of the table");
    });
}

int tree_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Tree>(self)->traverse(visit, arg) : 0;
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

PyMethodDef tree_methods[] = {
    method<"clear($self)\n--\n\nRemove all intervals. O(n)", &Tree::clear, Tree>(),
    method<"at($self, p)\n--\n\nThe set of the intervals that contain p. O(log n) and those found",
           &Tree::at, Tree>(),
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot tree_slots[] = {
    {Py_tp_methods, tree_methods},
    {Py_tp_traverse, reinterpret_cast<void*>(tree_traverse)},
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
    nb::object bounded = nb::steal(PyType_FromSpecWithBases(&interval_spec, bases.ptr()));
    if (!bounded.is_valid())
        throw nb::python_error();
    module.attr("Bounded") = bounded;
    const auto any = nb::arg().none(); // None is refused as other bounds are
    LockedClass<Tree>(module, "Tree", nb::type_slots(tree_slots), nb::is_weak_referenceable())
        .def(nb::init<>())
        .def("__len__", &Tree::size)
        .def("__contains__", &Tree::contains, nb::arg().none())
        .def("_add", &Tree::add)
        .def("_add_all", &Tree::add_all)
        .def("_discard", &Tree::discard, nb::arg().none())
        .def("_find", &Tree::find_equal, nb::arg().none())
        .def("_take", &Tree::take)
        .def("_pop", &Tree::pop)
        .def("_exchange", &Tree::exchange, nb::arg().lock())
        .def("_overlap", &Tree::overlap, any, any)
        .def("_envelop", &Tree::envelop, any, any)
        .def("_overlaps", &Tree::overlaps, any, any)
        .def("_all", &Tree::all)
        .def("_edge", &Tree::edge)
        .def("_verify", &Tree::verify);
}

} // namespace lathpy
