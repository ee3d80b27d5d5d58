// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What IntervalTree is built on: a set of intervals (lathwork/interval.h) whose values are Interval
// objects, and a table of these by their bounds, for membership and equal intervals.
//
// Bounds are int of 64 bits, float, or datetime, date and timedelta: then the codes are their
// numbers of microseconds. All of a tree are of one kind; an int may be among floats if a double
// has its value.
#include "code.hpp"
#include "interval_table.hpp"
#include "memory.hpp"
#include "modules.hpp"
#include "sorted.hpp"

#include <lathwork/interval.h>

#include <cmath>
#include <new>
#include <utility>
#include <vector>

namespace lathpy {

namespace {

enum class Bounds { none, integer, real, moment };

int init(lath_intervals* set) {
    lath_config config = index_config();
    return lath_intervals_init(set, LATH_HALF_OPEN, &config);
}

enum class Round { down, up, exact };

struct Codes {
    uint64_t begin, end;
    bool empty() const { return begin >= end; }
};

// Where an iteration stands within a search.
constexpr size_t at_a_time = 64;

PyObject* bound_of(PyObject* interval, int which) {
    PyObject* bound = PyTuple_GetItem(interval, which);

    if (!bound)
        throw nb::python_error();
    return bound;
}

bool is_moment(PyObject* bound) {
    return !PyLong_Check(bound) && !PyFloat_Check(bound) &&
           nb::hasattr(nb::handle(bound), "resolution");
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
    Tree() {
        if (init(&set))
            throw std::bad_alloc();
    }
    ~Tree() {
        drop();
        lath_intervals_fini(&set, nullptr, nullptr);
    }
    Tree(const Tree&) = delete;
    Tree& operator=(const Tree&) = delete;

    size_t size() const { return table.size(); }
    // Whether this interval, with its data, is here.
    bool contains(nb::handle interval);
    void add(nb::object interval);
    void add_all(nb::handle intervals, nb::handle type);
    bool discard(nb::handle interval);
    void clear();
    // Before intervals are added: an empty tree may become one of any kind.
    void begin_change() {
        changing();
        if (table.empty())
            kind = Bounds::none;
    }
    void drop(); // clear() where no comparison can be under way

    nb::object at(nb::handle point);
    nb::object overlap(nb::handle begin, nb::handle end);
    nb::object envelop(nb::handle begin, nb::handle end);
    bool overlaps(nb::handle begin, nb::handle end);
    nb::object all();
    nb::object edge(bool last);
    int traverse(visitproc visit, void* arg);
    void verify();

private:
    // Comparing intervals compares their data, which may run code of the caller's: it must not
    // change the tree. Throws RuntimeError within a comparison.
    void changing() const {
        if (comparing)
            raise(PyExc_RuntimeError, "the tree was changed within a comparison of intervals");
    }
    uint64_t code(PyObject* bound, Round round) const;
    bool point_code(PyObject* point, uint64_t* at) const;
    bool accept(PyObject* begin, PyObject* end);
    Codes codes_of(PyObject* interval);
    void become_real();
    using Slot = IntervalTable::Slot;
    Slot* find(uint64_t hash, PyObject* interval);
    bool insert(const lath_item& item);
    void leave(const lath_item& item);
    size_t enter(std::vector<lath_item>& given);
    nb::object collect(lath_interval_iter* iter);
    static uint64_t hash(const Codes& codes) {
        uint64_t mixed =
            (codes.begin * 0x9e3779b97f4a7c15ull) ^ (codes.end * 0xc2b2ae3d27d4eb4full);
        return (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15ull;
    }
    static uint64_t hash(const lath_item& item) { return hash(Codes{item.key, item.size}); }

    lath_intervals set;
    IntervalTable table; // by the bounds; it owns references
    Bounds kind = Bounds::none;
    unsigned comparing = 0;
    nb::object epoch;
};

// The code of a bound, or of a point that need not be a possible bound: that of the next one.
uint64_t Tree::code(PyObject* bound, Round round) const {
    if (kind == Bounds::integer && PyLong_CheckExact(bound)) { // the most common
        int over = 0;
        long long number = PyLong_AsLongLongAndOverflow(bound, &over);
        if (!over)
            return integer_code(number);
    }
    if (kind == Bounds::moment) {
        nb::object since = nb::borrow(bound) - epoch;
        nb::object unit = nb::module_::import_("datetime").attr("timedelta").attr("resolution");
        return integer_code(nb::cast<int64_t>(since.attr("__floordiv__")(unit)));
    }
    if (!PyLong_Check(bound) && !PyFloat_Check(bound) && encodable(Kind::real, bound)) {
        nb::object whole = nb::steal(PyNumber_Index(bound)); // numpy's integers
        if (whole.is_valid())
            return code(whole.ptr(), round);
        PyErr_Clear();
    }
    if (kind == Bounds::integer) {
        uint64_t low = encode(Kind::integer, bound, 0).code;
        if (PyLong_Check(bound)) {
            int over = 0;
            (void)PyLong_AsLongLongAndOverflow(bound, &over);
            if (over && round == Round::exact)
                raise(PyExc_OverflowError, "the bound of an interval is beyond 64 bits");
            return low;
        }
        double number = PyFloat_AsDouble(bound);
        return low + (round == Round::up && number != std::floor(number) && low != ~0ull);
    }
    uint64_t near = encode(Kind::real, bound, 0).code;
    if (PyLong_Check(bound)) {
        nb::object number = nb::steal(PyFloat_FromDouble(real_of(near)));
        int less = PyObject_RichCompareBool(number.ptr(), bound, Py_LT);
        int greater = PyObject_RichCompareBool(number.ptr(), bound, Py_GT);
        if (round == Round::exact && (less || greater))
            raise(PyExc_OverflowError,
                  "an int among the float bounds of intervals has no exact float");
        return round == Round::down ? near - static_cast<uint64_t>(greater)
                                    : near + static_cast<uint64_t>(less);
    }
    return near;
}

// The code of a point. Returns whether an interval can contain it.
bool Tree::point_code(PyObject* point, uint64_t* at) const {
    if (size() == 0)
        return false;
    *at = code(point, Round::down);
    if (*at != 0 || kind != Bounds::integer)
        return true;
    int below = PyObject_RichCompareBool(point, decode(Kind::integer, 0).ptr(), Py_LT);
    if (below < 0)
        throw nb::python_error();
    return !below;
}

// Makes the tree one of the kind that these bounds need. Returns whether it has codes for them.
bool Tree::accept(PyObject* begin, PyObject* end) {
    bool moment = is_moment(begin);
    bool real = PyFloat_Check(begin) || PyFloat_Check(end);

    if (kind == Bounds::none) {
        kind = moment ? Bounds::moment : real ? Bounds::real : Bounds::integer;
        if (moment)
            epoch = nb::module_::import_("lathwork.interval").attr("_epoch")(nb::handle(begin));
    } else if (kind == Bounds::integer && real) {
        become_real();
    }
    return moment == (kind == Bounds::moment);
}

Codes Tree::codes_of(PyObject* interval) {
    PyObject *begin = bound_of(interval, 0), *end = bound_of(interval, 1);

    if (!accept(begin, end))
        raise(PyExc_TypeError, "the tree has bounds of another type");
    return {code(begin, Round::exact), code(end, Round::exact)};
}

void Tree::become_real() {
    std::vector<PyObject*> objects;
    std::vector<Codes> codes;

    kind = Bounds::real;
    try {
        table.each([&](uint64_t, PyObject* object) {
            objects.push_back(object);
            codes.push_back(
                {code(bound_of(object, 0), Round::exact), code(bound_of(object, 1), Round::exact)});
        });
    } catch (...) {
        kind = Bounds::integer;
        throw;
    }
    lath_intervals_fini(&set, nullptr, nullptr);
    init(&set);
    IntervalTable made;
    made.reserve(objects.size());
    table = std::move(made);
    bool room = true;
    for (size_t i = 0; i < objects.size(); i++) {
        table.insert(hash(codes[i]), objects[i]);
        room =
            insert({codes[i].begin, codes[i].end, reinterpret_cast<uint64_t>(objects[i])}) && room;
    }
    if (!room) {
        drop();
        throw std::bad_alloc();
    }
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

// Into the set. Returns whether there was memory.
bool Tree::insert(const lath_item& item) {
    lath_interval interval = {item.key, item.size, item.value};
    return lath_intervals_insert(&set, &interval) == 0;
}

// Out of the table, if it is there. Its reference becomes the caller's.
void Tree::leave(const lath_item& item) {
    auto* object = reinterpret_cast<PyObject*>(item.value);
    Slot* slot = table.find(hash(item), [=](PyObject* other) { return other == object; });

    if (slot)
        table.erase(slot);
}

bool Tree::contains(nb::handle interval) {
    if (size() == 0 || !PyTuple_Check(interval.ptr()) || PyTuple_Size(interval.ptr()) != 3)
        return false;
    try {
        Codes codes = codes_of(interval.ptr());
        return find(hash(codes), interval.ptr()) != nullptr;
    } catch (nb::python_error& error) {
        if (error.matches(PyExc_OverflowError) || error.matches(PyExc_TypeError))
            return false;
        throw;
    }
}

[[noreturn]] void raise_null(PyObject* interval) {
    PyErr_Format(PyExc_ValueError,
                 "IntervalTree: Null Interval objects not allowed in IntervalTree: %R", interval);
    throw nb::python_error();
}

void Tree::add(nb::object interval) {
    begin_change();
    Codes codes = codes_of(interval.ptr());

    if (codes.empty())
        raise_null(interval.ptr());
    if (find(hash(codes), interval.ptr()))
        return;
    lath_item item = {codes.begin, codes.end, reinterpret_cast<uint64_t>(interval.ptr())};
    table.insert(hash(codes), interval.ptr());
    if (!insert(item)) {
        leave(item);
        throw std::bad_alloc();
    }
    (void)interval.release();
}

// Items of intervals that are to be added, with a reference of each.
struct Given : std::vector<lath_item> {
    ~Given() {
        for (const lath_item& item : *this)
            Py_DECREF(reinterpret_cast<PyObject*>(item.value));
    }
};

// Adds many in the order of their begins, so that neighbours in the set share cache lines. What
// raises leaves the tree as it was, but for want of memory.
void Tree::add_all(nb::handle intervals, nb::handle type) {
    Given given; // begin, end, and the object

    begin_change();
    Bounds before = kind;
    for (nb::handle one : intervals) {
        nb::object interval = nb::borrow(one);
        if (reinterpret_cast<PyObject*>(Py_TYPE(one.ptr())) != type.ptr())
            interval = type(*nb::steal<nb::tuple>(PySequence_Tuple(one.ptr())));
        Codes codes = codes_of(interval.ptr());
        if (codes.empty())
            raise_null(interval.ptr());
        given.push_back({codes.begin, codes.end, reinterpret_cast<uint64_t>(interval.ptr())});
        (void)interval.release();
        if (std::exchange(before, kind) != kind) // here, or by what makes the intervals
            for (lath_item& item : given) {
                codes = codes_of(reinterpret_cast<PyObject*>(item.value));
                item.key = codes.begin;
                item.size = codes.end;
            }
    }
    changing();
    sort_by_code(given);
    size_t fresh = enter(given), done = 0;
    while (done < fresh && insert(given[done]))
        done++;
    for (size_t i = done; i < fresh; i++)
        leave(given[i]);
    given.erase(given.begin(),
                given.begin() + static_cast<ptrdiff_t>(done)); // the table's references
    if (done < fresh)
        throw std::bad_alloc();
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
            leave(given[i]);
        throw;
    }
    return fresh;
}

bool Tree::discard(nb::handle interval) {
    changing();
    if (!contains(interval))
        return false;
    Codes codes = codes_of(interval.ptr());
    Slot* there = find(hash(codes), interval.ptr());
    nb::object gone = nb::steal(there->object);
    lath_interval item = {codes.begin, codes.end, reinterpret_cast<uint64_t>(gone.ptr())};
    lath_intervals_erase(&set, &item);
    table.erase(there);
    if (table.empty())
        kind = Bounds::none;
    return true;
}

void Tree::clear() {
    changing();
    drop();
}

void Tree::drop() {
    IntervalTable gone;

    std::swap(gone, table);
    lath_intervals_fini(&set, nullptr, nullptr);
    init(&set);
    kind = Bounds::none;
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
    lath_interval_iter_stab(&iter, &set, key);
    return collect(&iter);
}

nb::object Tree::overlap(nb::handle begin, nb::handle end) {
    lath_interval_iter iter;

    if (size()) {
        uint64_t first = code(begin.ptr(), Round::down), behind = code(end.ptr(), Round::up);
        int empty = PyObject_RichCompareBool(begin.ptr(), end.ptr(), Py_GE);
        if (empty < 0)
            throw nb::python_error();
        if (!empty && first < behind) {
            lath_interval_iter_overlap(&iter, &set, first, behind);
            return collect(&iter);
        }
    }
    return nb::steal(PySet_New(nullptr));
}

bool Tree::overlaps(nb::handle begin, nb::handle end) {
    lath_interval found;

    uint64_t first;
    if (end.is_none())
        return point_code(begin.ptr(), &first) && lath_intervals_stab(&set, first, &found, 1) != 0;
    if (size() == 0)
        return false;
    first = code(begin.ptr(), Round::down);
    uint64_t behind = code(end.ptr(), Round::up);
    int empty = PyObject_RichCompareBool(begin.ptr(), end.ptr(), Py_GE);
    if (empty < 0)
        throw nb::python_error();
    return !empty && first < behind && lath_intervals_overlap(&set, first, behind, &found, 1) != 0;
}

nb::object Tree::envelop(nb::handle begin, nb::handle end) {
    lath_interval_iter iter;

    if (size()) {
        uint64_t first = code(begin.ptr(), Round::up), behind = code(end.ptr(), Round::down);
        if (first < behind) {
            lath_interval_iter_within(&iter, &set, first, behind);
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

// The interval that begins first, or that ends last.
nb::object Tree::edge(bool last) {
    lath_interval found;

    if (lath_intervals_nearest(&set, last ? ~0ull : 0, &found))
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

    if (lath_intervals_verify(&set, report, sizeof(report)))
        raise(PyExc_AssertionError, report);
    if (lath_intervals_count(&set) != table.size())
        raise(PyExc_AssertionError, "the set and the table have different numbers of intervals");
    table.each([&](uint64_t key, PyObject* object) {
        Codes codes = codes_of(object);
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
        nb::inst_ptr<Tree>(self)->drop();
    return 0;
}

PyType_Slot tree_slots[] = {
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
    nb::class_<Tree>(module, "Tree", nb::type_slots(tree_slots), nb::is_weak_referenceable())
        .def(nb::init<>())
        .def("__len__", &Tree::size)
        .def("__contains__", &Tree::contains, nb::arg().none())
        .def("_add", &Tree::add)
        .def("_add_all", &Tree::add_all)
        .def("_discard", &Tree::discard)
        .def("clear", &Tree::clear, "Remove all intervals. O(n)")
        .def("at", &Tree::at, nb::arg("p"),
             "The set of the intervals that contain p. O(log n) and those found")
        .def("_overlap", &Tree::overlap)
        .def("_envelop", &Tree::envelop)
        .def("_overlaps", &Tree::overlaps, nb::arg(), nb::arg().none())
        .def("_all", &Tree::all)
        .def("_edge", &Tree::edge)
        .def("_verify", &Tree::verify);
}

} // namespace lathpy
