// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The type Map of lathwork._core: an index (map_index.hpp) without objects of keys, so no
// comparison runs code of the caller's. Such code may run in a conversion, which is before anything
// is looked for, and in a finalizer, when a change is complete (release()).
//
// All calls hold the GIL, or where there is none the lock of the object (visit.hpp); get() needs
// neither. Look-ups of arrays release it while they work on the index (turn.hpp): meanwhile changes
// wait (writing()).
#include "array.hpp"
#include "map_index.hpp"
#include "method.hpp"
#include "turn.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <vector>

namespace lathpy {

void sort_by_code(std::vector<lath_item>& items) {
    constexpr unsigned bits = 11, digits = (64 + bits - 1) / bits;
    if (items.size() < 1u << bits) { // not worth the counters
        std::stable_sort(items.begin(), items.end(),
                         [](auto& a, auto& b) { return a.key < b.key; });
        return;
    }
    std::vector<std::array<size_t, 1u << bits>> counts(digits);
    std::vector<lath_item> other(items.size());

    for (const lath_item& item : items)
        for (unsigned digit = 0; digit < digits; digit++)
            counts[digit][item.key >> digit * bits & ((1u << bits) - 1)]++;
    for (unsigned digit = 0; digit < digits; digit++) {
        auto place = [=](uint64_t key) { return key >> digit * bits & ((1u << bits) - 1); };
        if (counts[digit][place(items[0].key)] == items.size())
            continue; // all have the same digit
        size_t sum = 0;
        for (size_t& count : counts[digit])
            sum += std::exchange(count, sum);
        for (const lath_item& item : items)
            other[counts[digit][place(item.key)]++] = item;
        items.swap(other);
    }
}

namespace {

class Map : Pinned {
public:
    ~Map() { clear(); }

    uint64_t size() const { return count; }
    Kind kind() const { return count ? here()->kind : Kind::none; }
    Index* here() const { return index.load(std::memory_order_relaxed); }
    // The value of a key, or nothing. Takes the lock of `self`, the map's object, if it needs it.
    nb::object get(PyObject* self, PyObject* key) const;
    void set(PyObject* key, PyObject* value);
    nb::object take(PyObject* key); // the value, or nothing
    nb::object take(const Cell& cell) {
        nb::object value = value_at(cell);
        here()->erase(cell);
        counted(cell.word, -1);
        release(cell.word, cell.record);
        return value;
    }
    // The rank of a key; nothing for what has no place in the order. there: only if it is there.
    std::optional<uint64_t> rank(PyObject* key, bool right, bool there = false) const;
    nb::object key_at(const Cell& cell) const;
    static nb::object value_at(const Cell& cell) {
        return unpack(cell.record ? cell.record->value.load(std::memory_order_acquire) : cell.word);
    }
    void add_all(Items& items);
    void clear();

    // Whether there are keys that are numbers.
    bool has_numbers() const { return count && !is_text(here()->kind); }
    uint64_t erase_codes(const std::vector<uint64_t>& codes);

    int traverse(visitproc visit, void* arg) const {
        if (!held)
            return 0;
        return here()->each([&](const Cell& cell) {
            return is_object(cell.word) ? visit(object_of(cell.word), arg) : 0;
        });
    }
    size_t memory() const;
    void verify(); // throws RuntimeError with what is wrong

    // Waits for calls of other threads. Before each change, and before what it depends on is found.
    void writing() { turns.wait_for_all(); }

    uint64_t version = 0; // counts changes of the set of keys
    uint64_t replaced = 0; // and of values
    Turns turns; // look-ups of arrays; changes exclude them

private:
    Index* ready(Kind with);
    Word exchange(const Cell& cell, Word word);
    // An item has come (1) or left (-1).
    void counted(Word word, int by) {
        count += static_cast<uint64_t>(by);
        held += is_object(word) ? static_cast<uint64_t>(by) : 0;
        version++;
    }
    void load(Items& items);
    void release(Word word, Record* record = nullptr) {
        if (record || is_object(word))
            await_visits(this);
        PyMem_Free(record);
        if (is_object(word)) // runs finalizers
            Py_DECREF(object_of(word));
    }

    std::atomic<Index*> index = nullptr;
    uint64_t count = 0, held = 0; // held: references
};

// The index for a change that adds keys of this kind. An empty map takes any kind.
Index* Map::ready(Kind with) {
    Index* there = here();

    if (there && there->kind == with)
        return there;
    auto* made = new Index(with);
    index.store(made, std::memory_order_release);
    if (there)
        await_visits(this);
    delete there;
    return made;
}

nb::object Map::get(PyObject* self, PyObject* key) const {
    std::optional<Locked> lock;
    auto seen = [this] { return index.load(std::memory_order_acquire); };

    for (;;) {
        Kind as = Kind::none;
        if (Visit visit(this); Index* there = seen())
            as = there->kind;
        if (as == Kind::none)
            return {};
        MapKey made(as, key); // may run other code, so not within a visit
        Visit visit(this);
        if (!visit && !lock)
            lock.emplace(self);
        Index* there = seen();
        Cell cell;
        if (there && there->kind == as)
            return there->get(made, &cell) ? unpack(cell.word) : nb::object();
    }
}

std::optional<uint64_t> Map::rank(PyObject* key, bool right, bool there) const {
    Kind as = kind();
    MapKey made(as, key);
    Cell cell;

    if (as == Kind::none || as != kind()) // none, or the conversion has changed the map
        return there ? std::nullopt : std::optional<uint64_t>(0);
    if (made.fit == MapKey::none || (there && !here()->get(made, &cell)))
        return {};
    return made.past ? count : here()->rank(made, right);
}

nb::object Map::key_at(const Cell& cell) const {
    if (!cell.record)
        return decode(here()->kind, cell.code);
    const char* data = cell.record->data;
    auto size = static_cast<Py_ssize_t>(cell.record->size);
    return checked(here()->kind == Kind::text ? PyUnicode_DecodeUTF8(data, size, "surrogatepass")
                                              : PyBytes_FromStringAndSize(data, size));
}

// Gives an item another value, whose reference the map takes over. Returns the old one.
Word Map::exchange(const Cell& cell, Word word) {
    lath_item old = {};

    if (cell.record)
        old.value = cell.record->value.exchange(word, std::memory_order_acq_rel);
    else
        lath_index_replace_item(&here()->numbers, cell.code, word, &old);
    held += is_object(word);
    held -= is_object(old.value);
    replaced++;
    return old.value;
}

// Fills an empty index of numbers. Of equal keys the last one counts.
void Map::load(Items& given) {
    std::vector<lath_item>& items = given.items;
    std::vector<lath_item> last;
    Items others;

    sort_by_code(items);
    last.reserve(items.size());
    others.items.reserve(items.size());
    for (size_t i = 0; i < items.size(); i++)
        if (i + 1 == items.size() || items[i].key != items[i + 1].key)
            last.push_back(items[i]);
    must(LATH_CORE(lath_index_load_sorted(&ready(given.kind)->numbers, last.size(), last.data(),
                                          nullptr)),
         "lath_index_load_sorted");
    for (size_t i = 0; i + 1 < items.size(); i++)
        if (items[i].key == items[i + 1].key)
            others.items.push_back(items[i]);
    items.clear(); // the index owns the references now
    for (const lath_item& item : last)
        counted(item.value, 1);
}

// Adds all, or none if it throws. The items are those that the map does not keep afterwards.
void Map::add_all(Items& given) {
    bool text = is_text(given.kind);
    size_t n = given.items.size(), kept = 0;
    std::vector<int> results(n, -EEXIST);
    std::vector<uint64_t> records;
    int error = 0;

    writing();
    if (n && count && kind() != given.kind) // what made the items has changed the map
        raise(PyExc_TypeError, "the map has keys of another type");
    if (count == 0 && !text && n > 1)
        return load(given);
    for (size_t i = 0; i < n && text; i++)
        records.push_back(given.items[i].key);
    Index* there = n ? ready(given.kind) : nullptr;
    if (plan.error && plan.hits("lath_index_insert_batch"))
        error = plan.error; // none is in the map, whatever the error
    else if (text)
        lath_bytes_insert_batch(&there->texts, n, records.data(), results.data());
    else if (n)
        lath_index_insert_batch(&there->numbers, n, given.items.data(), results.data());
    for (int result : results)
        error = result && result != -EEXIST ? result : error;
    // No code of the caller's runs until the items are whole again: each has what the map has not.
    for (size_t i = 0; i < n; i++) {
        Cell cell = given.cell(i), old = cell;
        if (results[i] == 0 && error)
            there->erase(cell);
        else if (results[i] == 0)
            counted(cell.word, 1);
        if (!error && results[i] == -EEXIST) {
            lath_bytes_key key = text ? cell.key() : lath_bytes_key{};
            uint64_t value;
            if (text && lath_bytes_get(&there->texts, &key, &value))
                old = Cell::of(value);
            Word before = exchange(old, cell.word);
            text ? void(cell.record->value = before) : void(given.items[i].value = before);
        }
        if (error || results[i] != 0)
            given.items[kept++] = given.items[i];
    }
    given.items.resize(kept);
    await_visits(this); // they may have seen what the items have
    if (error)
        raise_error(error, "lath_index_insert_batch");
}

void Map::set(PyObject* key, PyObject* value) {
    Cell cell;
    Items items;

    writing();
    if (fast_code(kind(), key, &cell.code)) { // most often
        lath_item item = {cell.code, 1, pack(value)};
        int ret = LATH_CORE(lath_index_insert_item(&here()->numbers, &item, nullptr));
        if (ret == 0)
            return counted(item.value, 1);
        if (ret == -EEXIST && lath_index_get(&here()->numbers, cell.code, &cell.word))
            return release(exchange(cell, item.value));
        if (is_object(item.value))
            Py_DECREF(value); // the caller has another reference
        raise_error(ret, "lath_index_insert");
    }
    items.kind = kind();
    items.gather(key, value);
    add_all(items);
}

nb::object Map::take(PyObject* key) {
    Cell cell;

    for (;;) {
        MapKey made(kind(), key);
        writing();
        if (made.kind == kind())
            return count && here()->get(made, &cell) ? take(cell) : nb::object();
    }
}

void Map::clear() {
    Index* gone = index.exchange(nullptr);

    count = held = 0;
    version++;
    if (!gone)
        return;
    await_visits(this);
    gone->each([](const Cell& cell) { // finalizers that run here find an empty map
        if (is_object(cell.word))
            Py_DECREF(object_of(cell.word));
        return 0;
    });
    delete gone;
}

uint64_t Map::erase_codes(const std::vector<uint64_t>& codes) {
    std::vector<int> results(codes.size());
    std::vector<Word> words(codes.size());
    std::vector<uint8_t> hits(codes.size());

    writing();
    uint64_t before = count;
    if (!has_numbers())
        return 0;
    lath_index_get_batch(&here()->numbers, codes.size(), codes.data(), words.data(), hits.data());
    lath_index_erase_batch(&here()->numbers, codes.size(), codes.data(), results.data());
    for (size_t i = 0; i < codes.size(); i++)
        if (results[i] == 0)
            counted(words[i], -1);
    before -= count;
    for (size_t i = 0; i < codes.size(); i++)
        if (results[i] == 0)
            release(words[i]);
    return before;
}

size_t Map::memory() const {
    lath_bytes_stats texts = {};
    lath_index_stats numbers;

    if (!here())
        return 0;
    if (!is_text(here()->kind)) {
        lath_index_get_stats(&here()->numbers, &numbers);
        return numbers.bytes;
    }
    lath_bytes_get_stats(&here()->texts, &texts);
    here()->each([&](const Cell& cell) {
        texts.bytes += sizeof(Record) + cell.record->size;
        return 0;
    });
    return texts.bytes;
}

void Map::verify() {
    char report[200];
    uint64_t found = 0, objects = 0;

    writing();
    Index* there = here();
    if (there &&
        (is_text(there->kind) ? lath_bytes_verify(&there->texts, report, sizeof(report))
                              : lath_index_verify(&there->numbers, 6, report, sizeof(report))))
        raise(PyExc_RuntimeError, report);
    if (there)
        there->each([&](const Cell& cell) {
            found++;
            objects += is_object(cell.word);
            return 0;
        });
    if (found != count || objects != held)
        raise(PyExc_RuntimeError, "a count is wrong");
}

// ---- iteration ----

enum class What { keys, values, items };

nb::object shown(nb::object key, nb::object value, What what) {
    if (what == What::items)
        return nb::make_tuple(std::move(key), std::move(value));
    return what == What::keys ? key : value;
}

// An iterator over the items of some ranks, in either direction. A step holds the locks of the
// iterator and of its map, so several threads may share one.
struct MapWalk {
    MapWalk(nb::object owner, uint64_t from, uint64_t most, bool backward, What what)
        : owner(owner), map(self_of<Map>(owner.ptr())), version(map.version),
          replaced(map.replaced), backward(backward), what(what) {
        if (from >= map.size())
            return;
        count = std::min(most, backward ? from + 1 : map.size() - from);
        if (count && from != (backward ? map.size() - 1 : 0)) {
            cells[0] = map.here()->select(from);
            used = 1;
        }
    }
    Cell step();
    int traverse(visitproc visit, void* arg) {
        Py_VISIT(owner.ptr());
        return 0;
    }
    void clear() { nb::object end = std::move(owner); }

    nb::object owner; // the map's object, until the end
    Map& map;
    uint64_t count = 0, version, replaced; // count: of the items to come
    bool backward;
    What what;
    size_t at = 0, used = 0, want = 8;
    Cell cells[64];
};

// Moves to the next item, if one is to come. Throws RuntimeError if keys were added or taken out.
Cell MapWalk::step() {
    if (version != map.version) {
        version = ~0ull; // the next step raises too
        raise(PyExc_RuntimeError, "the container changed during the iteration");
    }
    if (at == used) {
        Cell last = cells[used ? used - 1 : 0];
        used = map.here()->scan(used ? &last : nullptr, backward, cells, want);
        want = std::min<size_t>(want * 2, 64);
        at = 0;
    }
    Cell cell = cells[at++];
    if (replaced != map.replaced && !cell.record) // the word may be outdated
        lath_index_get(&map.here()->numbers, cell.code, &cell.word);
    count--;
    return cell;
}

PyObject* walk_next(PyObject* self) {
    return returning([&]() -> PyObject* {
        auto& walk = self_of<MapWalk>(self);
        nb::object owner, key, value; // dropped last, without the locks
        {
            Locked own(self);
            owner = walk.owner;
        }
        if (!owner.is_valid())
            return nullptr;
        {
            BothLocked lock(self, owner);
            if (walk.count == 0)
                return walk.clear(), nullptr;
            Cell cell = walk.step();
            key = walk.what == What::values ? nb::object() : walk.map.key_at(cell);
            value = walk.what == What::keys ? nb::object() : Map::value_at(cell);
        }
        return shown(std::move(key), std::move(value), walk.what).release().ptr();
    });
}

PyType_Slot walk_slots[] = {
    {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(walk_next)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_of<MapWalk>)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_of<MapWalk>)},
    {0, nullptr},
};

// An iterator over the items of ranks [start, stop).
nb::object walk_ranks(nb::handle owner, uint64_t start, uint64_t stop, bool backward, What what) {
    uint64_t n = start < stop ? stop - start : 0;
    return nb::cast(
        MapWalk(nb::borrow(owner), backward && n ? stop - 1 : start, n, backward, what));
}

nb::object walk_all(nb::handle owner, bool backward, What what) {
    return walk_ranks(owner, 0, self_of<Map>(owner.ptr()).size(), backward, what);
}

uint64_t rank_of(Map& map, nb::handle key, bool right) {
    std::optional<uint64_t> rank = map.rank(key.ptr(), right);
    if (!rank)
        raise(PyExc_TypeError, "the key has no place among those of the map");
    return *rank;
}

// From key to key; None: no limit. inside: whether the limit belongs to it.
nb::object walk_between(nb::handle owner, nb::handle low, bool low_inside, nb::handle high,
                        bool high_inside, bool backward, What what) {
    auto& map = self_of<Map>(owner.ptr());

    for (;;) {
        uint64_t before = map.version;
        uint64_t start = low.is_none() ? 0 : rank_of(map, low, !low_inside);
        uint64_t stop = high.is_none() ? map.size() : rank_of(map, high, high_inside);
        if (before == map.version) // else a conversion has let others change the map
            return walk_ranks(owner, start, stop, backward, what);
    }
}

// ---- slots ----

Py_ssize_t map_length(PyObject* self) {
    return guarded(static_cast<Py_ssize_t>(-1), [&] {
        Locked lock(self);
        return static_cast<Py_ssize_t>(self_of<Map>(self).size());
    });
}

int map_contains(PyObject* self, PyObject* key) {
    return guarded(-1, [&]() -> int { return self_of<Map>(self).get(self, key).is_valid(); });
}

PyObject* map_iter(PyObject* self) {
    return returning([&] {
        Locked lock(self);
        return walk_all(self, false, What::keys).release().ptr();
    });
}

PyObject* map_get(PyObject* self, PyObject* key) {
    return returning([&]() -> PyObject* {
        nb::object value = self_of<Map>(self).get(self, key);
        if (value.is_valid())
            return value.release().ptr();
        nb::object function = nb::getattr(nb::handle(self), "__missing__", nb::none());
        if (function.is_none())
            raise_key(key);
        return function(nb::handle(key)).release().ptr();
    });
}

int map_set(PyObject* self, PyObject* key, PyObject* value) {
    return guarded(-1, [&] {
        auto& map = self_of<Map>(self);
        Locked lock(self);
        if (value)
            map.set(key, value);
        else if (!map.take(key).is_valid())
            raise_key(key);
        return 0;
    });
}

// ---- methods ----

nb::object get_or(PyObject* self, PyObject* key, PyObject* missing) {
    nb::object value = self_of<Map>(self).get(self, key);
    return value.is_valid() ? value : nb::borrow(missing ? missing : Py_None);
}

nb::object take(Map& map, nb::handle key, nb::handle missing) {
    nb::object value = map.take(key.ptr());
    return value.is_valid() ? value : nb::borrow(missing);
}

nb::object setdefault(PyObject* self, PyObject* key, PyObject* value) {
    Locked lock(self);
    auto& map = self_of<Map>(self);
    nb::object there = map.get(self, key);

    if (there.is_valid())
        return there;
    value = value ? value : Py_None;
    map.set(key, value);
    return nb::borrow(value);
}

// The cell at a position, which is an index of Python's.
Cell cell_at(Map& map, nb::handle index) {
    size_t position = position_in(map, index.ptr(), "map index out of range");
    return map.here()->select(position);
}

nb::object item_at(Map& map, nb::handle index, What what) {
    Cell cell = cell_at(map, index);
    return shown(what == What::values ? nb::object() : map.key_at(cell),
                 what == What::keys ? nb::object() : map.value_at(cell), what);
}

nb::object popitem(Map& map, nb::handle index) {
    // made first: without memory nothing is lost
    nb::object pair = nb::make_tuple(nb::none(), nb::none());
    Cell cell = cell_at(map, index);
    nb::object key = map.key_at(cell), value = map.take(cell);
    PyTuple_SetItem(pair.ptr(), 0, key.release().ptr());
    PyTuple_SetItem(pair.ptr(), 1, value.release().ptr());
    return pair;
}

nb::object index_of(Map& map, nb::handle key) {
    std::optional<uint64_t> rank = map.rank(key.ptr(), false, true);
    return rank ? nb::int_(*rank) : nb::int_(-1);
}

// Sets the items of iterables of pairs, all or none.
void update(Map& map, nb::args sources) {
    Items items;

    items.kind = map.kind();
    for (nb::handle pairs : sources)
        for (nb::handle pair : pairs) {
            nb::object tuple = pair_from(pair);
            items.gather(PyTuple_GetItem(tuple.ptr(), 0), PyTuple_GetItem(tuple.ptr(), 1));
        }
    map.add_all(items);
}

// ---- arrays ----

struct Codes {
    Kind kind = Kind::integer;
    std::vector<uint64_t> codes;
};

// The codes of an array of int64 or float64. Throws TypeError if the map has other keys.
Codes codes_of(Map& map, nb::handle object) {
    Array<int64_t> integers;
    Array<double> reals;
    Codes made;

    if (nb::try_cast(object, integers, false)) {
        for (size_t i = 0; i < integers.shape(0); i++)
            made.codes.push_back(integer_code(integers.data()[i]));
    } else if (nb::try_cast(object, reals, false)) {
        made.kind = Kind::real;
        for (size_t i = 0; i < reals.shape(0); i++)
            made.codes.push_back(real_code(reals.data()[i]));
    }
    if (map.size() && made.codes.empty())
        made.kind = map.kind();
    if (map.size() && map.kind() != made.kind)
        raise(PyExc_TypeError, "the array and the map have keys of different types");
    return made;
}

// What is found without the GIL: an item per key, whose size says whether the key is there.
OwnedItems found_in(Map& map, nb::handle keys) {
    std::vector<uint64_t> codes = codes_of(map, keys).codes;
    std::vector<Word> words(codes.size(), no_value);
    std::vector<uint8_t> hits(codes.size());
    std::vector<lath_item> items;

    items.reserve(codes.size());
    map.turns.wait();
    Turns::Shared shared(map.turns);
    if (map.has_numbers()) { // another thread may have changed it
        lath_index* numbers = &map.here()->numbers;
        nb::gil_scoped_release others;
        lath_index_get_batch(numbers, codes.size(), codes.data(), words.data(), hits.data());
    }
    for (size_t i = 0; i < codes.size(); i++)
        items.push_back({codes[i], hits[i], hits[i] ? words[i] : no_value});
    return OwnedItems(std::move(items));
}

nb::object get_many(Map& map, nb::handle keys, nb::handle missing) {
    nb::list list;

    for (const lath_item& item : found_in(map, keys))
        list.append(item.size ? unpack(item.value) : nb::borrow(missing));
    return list;
}

nb::object get_ints(Map& map, nb::handle keys, nb::handle absent) {
    int64_t missing = int64_of(absent, "the default");
    std::vector<int64_t> values;

    for (const lath_item& item : found_in(map, keys))
        values.push_back(!item.size              ? missing
                         : is_object(item.value) ? int64_of(object_of(item.value), "a value")
                                                 : small_of(item.value));
    return new_array(std::move(values));
}

nb::object contains_many(Map& map, nb::handle keys) {
    std::vector<uint8_t> hits;

    for (const lath_item& item : found_in(map, keys))
        hits.push_back(item.size != 0);
    return new_array(std::move(hits)).attr("view")("bool");
}

// values: an array of integers, or a list of objects.
void insert_many(Map& map, nb::handle keys, nb::handle values) {
    Codes codes = codes_of(map, keys);
    Items items;
    Array<int64_t> numbers;
    bool array = nb::try_cast(values, numbers, false);

    if (nb::len(values) != codes.codes.size())
        raise(PyExc_ValueError, "there are not as many values as keys");
    items.kind = codes.kind;
    items.items.reserve(codes.codes.size());
    for (size_t i = 0; i < codes.codes.size(); i++)
        items.items.push_back({codes.codes[i], 1,
                               !array ? pack(nb::object(values[i]).ptr())
                               : is_small(numbers.data()[i])
                                   ? small_word(numbers.data()[i])
                                   : pack(nb::int_(numbers.data()[i]).ptr())});
    map.add_all(items);
}

uint64_t erase_many(Map& map, nb::handle keys) {
    return map.erase_codes(codes_of(map, keys).codes);
}

nb::object keys_array(Map& map) {
    std::vector<uint64_t> codes;
    std::vector<Word> words;
    Kind kind = Kind::none;

    if (map.size() && !map.has_numbers())
        raise(PyExc_TypeError, "the keys are neither integers nor floats");
    map.turns.wait();
    if (map.has_numbers()) {
        Turns::Shared shared(map.turns);
        lath_index* numbers = &map.here()->numbers;
        kind = map.kind();
        codes.resize(map.size());
        words.resize(map.size());
        nb::gil_scoped_release others;
        lath_index_scan_values(numbers, 0, ~0ull, codes.data(), words.data(), codes.size(),
                               nullptr);
    }
    if (kind == Kind::real) {
        std::vector<double> reals(codes.size());
        std::transform(codes.begin(), codes.end(), reals.begin(), real_of);
        return new_array(std::move(reals));
    }
    std::vector<int64_t> integers(codes.size());
    std::transform(codes.begin(), codes.end(), integers.begin(), integer_of);
    return new_array(std::move(integers));
}

template <bool right>
uint64_t bisect(Map& map, PyObject* key) {
    return rank_of(map, key, right);
}

void empty(Map& map) {
    map.writing();
    map.clear();
}

PyMethodDef map_methods[] = {
    method<"get($self, key, default=None)\n--\n\nThe value of key, or default. O(log n)", get_or>(),
    method<"setdefault($self, key, default=None)\n--\n\nThe value of key, which is set to "
           "default "
           "if there is none. O(log n)",
           setdefault>(),
    method<"clear($self)\n--\n\nRemove everything. O(n)", empty, Map>(),
    method<"bisect_left($self, key)\n--\n\nHow many keys are before this one. O(log n)",
           bisect<false>, Map>(),
    method<"bisect_right($self, key)\n--\n\nHow many keys are not behind this one. O(log n)",
           bisect<true>, Map>(),
    method<"keys_array($self)\n--\n\nAll keys as an array of int64 or float64.", keys_array, Map>(),
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot map_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_of<Map>)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_of<Map>)},
    {Py_tp_iter, reinterpret_cast<void*>(map_iter)},
    {Py_mp_length, reinterpret_cast<void*>(map_length)},
    {Py_sq_contains, reinterpret_cast<void*>(map_contains)},
    {Py_mp_subscript, reinterpret_cast<void*>(map_get)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(map_set)},
    {Py_tp_methods, map_methods},
    {0, nullptr},
};

} // namespace

void bind_maps(nb::module_& module) {
    const auto any = nb::arg().none(); // None is a value, and a key that is not there

    nb::enum_<What>(module, "What")
        .value("keys", What::keys)
        .value("values", What::values)
        .value("items", What::items);
    LockedClass<MapWalk>(module, "MapIterator", nb::type_slots(walk_slots))
        .def("__length_hint__", [](const MapWalk& self) { return self.count; });
    // Whether __init__ of the C++ class has been called.
    module.def("_ready",
               [](nb::handle self) { return nb::inst_check(self) && nb::inst_ready(self); });
    LockedClass<Map>(module, "Map", nb::type_slots(map_slots), nb::is_weak_referenceable())
        .def(nb::init<>())
        .def("_pop", take, any, any)
        .def("_popitem", popitem)
        .def("_index_of", index_of, any)
        .def("_at", item_at)
        .def("_update", update)
        .def("_walk", walk_all)
        .def("_walk_between", walk_between, any, nb::arg(), any, nb::arg(), nb::arg(), nb::arg())
        .def("_get_many", get_many, any, any)
        .def("_get_ints", get_ints, any, any)
        .def("_insert_many", insert_many, any, any)
        .def("_erase_many", erase_many)
        .def("_contains_many", contains_many)
        .def("_memory", &Map::memory)
        .def("_verify", &Map::verify);
}

} // namespace lathpy
