// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "map.hpp"
#include "memory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>

namespace lathpy {

namespace {

bool is_text(Kind kind) { return kind == Kind::text || kind == Kind::bytes; }

// For lath_bytes: where the key of a record is.
void key_of_record(void*, uint64_t value, lath_bytes_key* key) {
    const auto* record = reinterpret_cast<const Record*>(value);

    key->data = record->data;
    key->size = record->size;
}

lath_bytes_key bytes_key(std::string_view bytes) { return {bytes.data(), bytes.size(), 0}; }

Record* make_record(std::string_view bytes, Word word) {
    if (bytes.size() > LATH_BYTES_SIZE_MAX)
        raise(PyExc_ValueError, "a key is too long");
    void* block = PyMem_Malloc(sizeof(Record) + bytes.size());
    if (!block)
        throw std::bad_alloc();
    auto* record = new (block) Record{word, static_cast<uint32_t>(bytes.size())};
    std::memcpy(record->data, bytes.data(), bytes.size());
    return record;
}

} // namespace

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

// Numbers of both types have a place in the order of either.
MapKey::MapKey(Kind kind, PyObject* key) : kind(kind) {
    KeyView view(key);
    Py_ssize_t size;
    char* data;

    if (!view.plain || view.nan)
        return;
    held = nb::borrow(view.plain);
    if (PyUnicode_Check(view.plain) && kind == Kind::text) {
        if (const char* form = utf8_of(view.plain, &size)) {
            bytes = {form, static_cast<size_t>(size)};
        } else { // lone surrogates
            held = nb::steal(PyUnicode_AsEncodedString(view.plain, "utf-8", "surrogatepass"));
            if (!held.is_valid())
                throw nb::python_error();
            bytes = {PyBytes_AsString(held.ptr()), static_cast<size_t>(PyBytes_Size(held.ptr()))};
        }
        fit = same;
    } else if (PyBytes_Check(view.plain) && kind == Kind::bytes) {
        if (PyBytes_AsStringAndSize(view.plain, &data, &size))
            throw nb::python_error();
        bytes = {data, static_cast<size_t>(size)};
        fit = same;
    } else if ((PyLong_Check(view.plain) || PyFloat_Check(view.plain)) &&
               (kind == Kind::integer || kind == Kind::real)) {
        Code there = encode(kind, view);
        code = there.code;
        fit = there.exact ? same : between;
        past = there.past;
    }
}

// ---- the index ----

struct Map::Store {
    explicit Store(Kind kind) : kind(kind) {
        lath_config config = index_config();
        lath_bytes_records records = {key_of_record, nullptr, 0};

        config.flags = LATH_RANKS | LATH_GAPPED;
        if (is_text(kind)) {
            must(LATH_CORE(lath_bytes_init(&texts, &records, &config)), "lath_bytes_init");
        } else {
            config.layout = LATH_POINTS;
            must(LATH_CORE(lath_index_init(&numbers, &config)), "lath_index_init");
        }
    }
    ~Store() {
        if (is_text(kind))
            lath_bytes_fini(&texts, nullptr, nullptr);
        else
            lath_index_fini(&numbers, nullptr, nullptr);
    }
    // The item with this key. Returns whether it is there.
    bool get(const MapKey& key, Cell* cell) {
        uint64_t value;
        if (key.fit != MapKey::same)
            return false;
        cell->code = key.code;
        if (!is_text(kind))
            return lath_index_get(&numbers, key.code, &cell->word);
        lath_bytes_key bytes = bytes_key(key.bytes);
        if (!lath_bytes_get(&texts, &bytes, &value))
            return false;
        *cell = cell_of(value);
        return true;
    }
    static Cell cell_of(uint64_t value) {
        auto* record = reinterpret_cast<Record*>(value);
        return {0, record->value.load(std::memory_order_acquire), record};
    }
    // Copies up to n items behind `from`, NULL: all, in either direction. Returns how many.
    size_t scan(const Cell* from, bool backward, Cell* cells, size_t n);
    // Calls each(cell) for all items in order, until one returns a number other than 0, which is
    // returned.
    template <class Each>
    int each(Each each) {
        Cell cells[64], last;
        size_t n = scan(nullptr, false, cells, 64);

        for (; n; n = scan(&last, false, cells, 64)) {
            last = cells[n - 1];
            for (size_t i = 0; i < n; i++)
                if (int result = each(cells[i]))
                    return result;
        }
        return 0;
    }

    const Kind kind;
    union {
        lath_index numbers;
        lath_bytes texts;
    };
};

// The index for a change that adds keys of this kind. An empty map takes any kind.
Map::Store* Map::ready(Kind with) {
    Store* there = store.load(std::memory_order_relaxed);

    if (there && kind == with)
        return there;
    auto* made = new Store(with);
    kind = with;
    store.store(made, std::memory_order_release);
    if (there)
        await_visits(this);
    delete there;
    return made;
}

void Map::release(Word word, Record* record) {
    if (record || is_object(word))
        await_visits(this);
    PyMem_Free(record);
    if (is_object(word)) // runs finalizers
        Py_DECREF(object_of(word));
}

size_t Map::Store::scan(const Cell* from, bool backward, Cell* cells, size_t n) {
    uint64_t values[64];
    lath_item items[64];

    if (is_text(kind)) {
        lath_bytes_key key = from ? bytes_key(from->record->key()) : lath_bytes_key{};
        unsigned flags = (backward ? LATH_BYTES_BACK : 0) | (from ? LATH_BYTES_BEHIND : 0);
        n = lath_bytes_scan(&texts, from ? &key : nullptr, flags, values, n);
        for (size_t i = 0; i < n; i++)
            cells[i] = cell_of(values[i]);
        return n;
    }
    if (from && from->code == (backward ? 0 : ~0ull))
        return 0;
    if (backward)
        n = lath_index_scan_back(&numbers, from ? from->code - 1 : ~0ull, 0, items, n, nullptr);
    else
        n = lath_index_scan(&numbers, from ? from->code + 1 : 0, ~0ull, items, n, nullptr);
    for (size_t i = 0; i < n; i++)
        cells[i] = {items[i].key, items[i].value, nullptr};
    return n;
}

// ---- look-ups ----

nb::object Map::get(PyObject* self, PyObject* key) const {
    std::optional<Locked> lock;

    for (;;) {
        Kind as = kind_seen();
        if (as == Kind::none)
            return {};
        MapKey made(as, key); // may run other code, so not within a visit
        Visit visit(this);
        if (!visit && !lock)
            lock.emplace(self);
        Store* there = store.load(std::memory_order_acquire);
        Cell cell;
        if (there && there->kind == as)
            return there->get(made, &cell) ? unpack(cell.word) : nb::object();
    }
}

// The kind of the keys, for a call without the lock.
Kind Map::kind_seen() const {
    Visit visit(this);
    Store* there = store.load(std::memory_order_acquire);
    return there ? there->kind : Kind::none;
}

bool Map::look_up(const MapKey& key, Cell* cell) {
    Store* there = store.load(std::memory_order_relaxed);

    return there && key.kind == kind && there->get(key, cell);
}

uint64_t Map::rank(PyObject* key, bool right) {
    Kind as = kind_of_keys();
    MapKey made(as, key);

    if (as == Kind::none || as != kind_of_keys()) // none, or the conversion has changed the map
        return 0;
    if (made.fit == MapKey::none)
        raise(PyExc_TypeError, "the key has no place among those of the map");
    Store* there = store.load(std::memory_order_relaxed);
    if (is_text(kind)) {
        lath_bytes_key bytes = bytes_key(made.bytes);
        return static_cast<uint64_t>(
            lath_bytes_rank(&there->texts, &bytes, right ? LATH_BYTES_BEHIND : 0));
    }
    if (made.past)
        return count;
    Cell cell;
    auto before = static_cast<uint64_t>(lath_index_rank(&there->numbers, made.code));
    return before + (right && there->get(made, &cell));
}

bool Map::find_rank(PyObject* key, uint64_t* there) {
    Kind as = kind_of_keys();
    MapKey made(as, key);
    Cell cell;

    if (!look_up(made, &cell))
        return false;
    *there = rank(key, false);
    return true;
}

Map::Cell Map::select(uint64_t rank) {
    Store* there = store.load(std::memory_order_relaxed);
    uint64_t value;
    lath_item item;

    // -ENOENT: a batch of another thread erases.
    if (is_text(kind)) {
        must(LATH_CORE(lath_bytes_select(&there->texts, rank, &value)), "lath_bytes_select");
        return Store::cell_of(value);
    }
    must(LATH_CORE(lath_index_select(&there->numbers, rank, &item)), "lath_index_select");
    return {item.key, item.value, nullptr};
}

nb::object Map::key_at(const Cell& cell) const {
    if (!cell.record)
        return decode(kind, cell.code);
    const char* data = cell.record->data;
    auto size = static_cast<Py_ssize_t>(cell.record->size);
    nb::object key =
        nb::steal(kind == Kind::text ? PyUnicode_DecodeUTF8(data, size, "surrogatepass")
                                     : PyBytes_FromStringAndSize(data, size));
    if (!key.is_valid())
        throw nb::python_error();
    return key;
}

nb::object Map::value_at(const Cell& cell) const {
    return unpack(cell.record ? cell.record->value.load(std::memory_order_acquire) : cell.word);
}

// ---- changes ----

// Counts a reference of the index that comes or goes.
void Map::note(Word word, int64_t by) { held += is_object(word) ? static_cast<uint64_t>(by) : 0; }

// Gives an item another value, whose reference the map takes over. Returns the old one.
Word Map::exchange(const Cell& cell, Word word) {
    lath_item old;
    Word before;

    if (cell.record) {
        before = cell.record->value.exchange(word, std::memory_order_acq_rel);
    } else {
        lath_index_replace_item(&store.load(std::memory_order_relaxed)->numbers, cell.code, word,
                                &old);
        before = old.value;
    }
    note(before, -1);
    note(word, 1);
    replaced++;
    return before;
}

// Takes an item out of the index. The caller releases its word and its record.
void Map::erase(const Cell& cell) {
    Store* there = store.load(std::memory_order_relaxed);

    if (cell.record) {
        lath_bytes_key key = bytes_key(cell.record->key());
        lath_bytes_erase(&there->texts, &key, nullptr);
    } else {
        lath_index_erase_item(&there->numbers, cell.code, nullptr);
    }
    note(cell.word, -1);
    count--;
    version++;
}

Map::Cell Map::Items::cell(size_t at) const {
    return is_text(kind) ? Store::cell_of(items[at].key)
                         : Cell{items[at].key, items[at].value, nullptr};
}

Map::Items::~Items() {
    for (size_t i = 0; i < items.size(); i++) {
        Cell gone = cell(i);
        PyMem_Free(gone.record);
        if (is_object(gone.word))
            Py_DECREF(object_of(gone.word));
    }
}

void Map::Items::gather(PyObject* key, PyObject* value) {
    if (kind == Kind::none)
        kind = kind_of(KeyView(key));
    MapKey made(kind, key);
    if (made.fit == MapKey::same) {
        items.push_back({made.code, 1, no_value});
        if (!is_text(kind)) {
            items.back().value = pack(value);
            return;
        }
        Record* record = nullptr;
        try {
            record = make_record(made.bytes, no_value);
        } catch (...) {
            items.pop_back();
            throw;
        }
        record->value = pack(value);
        items.back().key = reinterpret_cast<uint64_t>(record);
        return;
    }
    KeyView view(key);
    if (view.nan)
        raise(PyExc_ValueError, "NaN has no place in an order");
    static const char* const names[] = {"int, float, str or bytes", "int", "float", "str", "bytes"};
    if (made.fit == MapKey::between && PyLong_Check(view.plain))
        PyErr_Format(PyExc_OverflowError, "%R is beyond the keys of the map", key);
    else
        PyErr_Format(PyExc_TypeError, "%R cannot be a key: those of the map are %s", key,
                     names[static_cast<size_t>(kind)]);
    throw nb::python_error();
}

// While it exists a thread changes the index without the GIL.
class Map::Batch {
public:
    explicit Batch(Map& map) : map(map), alone(map.turns) {
        map.batch = true;
        map.version++;
    }
    ~Batch() {
        map.batch = false;
        map.version++;
    }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

private:
    Map& map;
    Turns::Alone alone;
};

// In the child of a fork a batch of another thread ends in the midst of its work. The index is
// whole (lathwork/config.h); what is counted beside it is counted anew.
void Map::settle() {
    if (std::exchange(era, forks) == forks || !batch)
        return;
    batch = false;
    count = held = 0;
    version++;
    store.load(std::memory_order_relaxed)->each([this](const Cell& cell) {
        count++;
        note(cell.word, 1);
        return 0;
    });
}

// Fills an empty index of numbers.
void Map::load(Items& given) {
    std::vector<lath_item>& items = given.items;
    std::vector<lath_item> words;
    Items old; // of equal keys the last one counts

    sort_by_code(items);
    words.reserve(items.size());
    old.items.reserve(items.size());
    for (size_t i = 0; i < items.size(); i++)
        if (i + 1 == items.size() || items[i].key != items[i + 1].key)
            words.push_back(items[i]);
    Store* there = ready(given.kind);
    must(LATH_CORE(lath_index_load_sorted(&there->numbers, words.size(), words.data(), nullptr)),
         "lath_index_load_sorted");
    for (size_t i = 0; i + 1 < items.size(); i++)
        if (items[i].key == items[i + 1].key)
            old.items.push_back(items[i]);
    items.clear(); // the index owns the references now
    count = words.size();
    version++;
    for (const lath_item& item : words)
        note(item.value, 1);
}

// Inserts those items that are not there, without the GIL. Returns an error, or 0.
int Map::insert_all(Items& given, std::vector<int>& results) {
    Store* there = ready(given.kind);
    Batch alone(*this);
    size_t n = results.size();
    std::vector<uint64_t> records;
    int error = 0;

    for (size_t i = 0; i < n && is_text(given.kind); i++)
        records.push_back(given.items[i].key);
    if (plan.error && plan.hits("lath_index_insert_batch"))
        return plan.error; // none is in the map, whatever the error
    {
        nb::gil_scoped_release others;
        if (is_text(given.kind))
            lath_bytes_insert_batch(&there->texts, n, records.data(), results.data());
        else
            lath_index_insert_batch(&there->numbers, n, given.items.data(), results.data());
    }
    for (size_t i = 0; i < n; i++) {
        if (results[i] == 0) {
            count++;
            note(given.cell(i).word, 1);
        } else if (results[i] != -EEXIST) {
            error = results[i];
        }
    }
    return error;
}

void Map::add_all(Items& given) {
    bool text = is_text(given.kind);
    size_t n = given.items.size();
    std::vector<int> results(n, -EEXIST);

    if (n == 0)
        return;
    writing();
    if (count && kind != given.kind) // what made the items has changed the map
        raise(PyExc_TypeError, "the map has keys of another type");
    if (count == 0 && !text && n > 1)
        return load(given);
    int error = insert_all(given, results);
    // No code of the caller's runs from here on until the items are whole again: each has what the
    // map has not, so they drop it.
    Store* there = store.load(std::memory_order_relaxed);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        Cell cell = given.cell(i), old = cell;
        if (error && results[i] == 0)
            erase(cell);
        if (!error && results[i] == -EEXIST) {
            lath_bytes_key key = text ? bytes_key(cell.record->key()) : lath_bytes_key{};
            uint64_t value;
            if (text && lath_bytes_get(&there->texts, &key, &value))
                old = Store::cell_of(value);
            Word before = exchange(old, cell.word);
            if (text)
                cell.record->value = before;
            else
                given.items[i].value = before;
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
    int over = 0;

    writing();
    bool whole = count && kind == Kind::integer && PyLong_CheckExact(key);
    uint64_t code = whole ? integer_code(PyLong_AsLongLongAndOverflow(key, &over)) : 0;
    if (whole && !over) { // most often
        lath_item item = {code, 1, pack(value)};
        int ret = LATH_CORE(lath_index_insert_item(&store.load(std::memory_order_relaxed)->numbers,
                                                   &item, nullptr));
        if (ret == 0) {
            note(item.value, 1);
            count++;
            version++;
            return;
        }
        Cell cell = {code, 0, nullptr};
        if (ret == -EEXIST &&
            lath_index_get(&store.load(std::memory_order_relaxed)->numbers, code, &cell.word))
            return release(exchange(cell, item.value));
        if (is_object(item.value))
            Py_DECREF(value); // the caller has another reference
        raise_error(ret, "lath_index_insert");
    }
    Items items;
    items.kind = kind_of_keys();
    items.gather(key, value);
    add_all(items);
}

nb::object Map::take(PyObject* key) {
    MapKey made(kind, key);
    Cell cell;

    writing();
    while (made.kind != kind)
        made = MapKey(kind, key);
    return look_up(made, &cell) ? take(cell) : nb::object();
}

nb::object Map::take(const Cell& cell) {
    nb::object value = value_at(cell);

    erase(cell);
    release(cell.word, cell.record);
    return value;
}

void Map::clear() {
    Store* gone = store.exchange(nullptr);

    kind = Kind::none;
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

// ---- many keys ----

void Map::find_codes(const std::vector<uint64_t>& codes, std::vector<Word>* words,
                     std::vector<uint8_t>* hits, bool hold) {
    words->resize(codes.size());
    hits->assign(codes.size(), 0);
    turns.wait();
    Turns::Shared shared(turns);
    Store* there = store.load(std::memory_order_relaxed);
    if (!there || is_text(kind))
        return;
    {
        nb::gil_scoped_release others;
        lath_index_get_batch(&there->numbers, codes.size(), codes.data(), words->data(),
                             hits->data());
    }
    for (size_t i = 0; hold && i < codes.size(); i++)
        if ((*hits)[i] && is_object((*words)[i]))
            Py_INCREF(object_of((*words)[i]));
}

uint64_t Map::erase_codes(const std::vector<uint64_t>& codes) {
    std::vector<int> results(codes.size());
    std::vector<Word> words(codes.size());
    std::vector<uint8_t> hits(codes.size());
    uint64_t erased = 0;

    writing();
    Store* there = store.load(std::memory_order_relaxed);
    if (!there || is_text(kind))
        return 0;
    {
        Batch alone(*this);
        nb::gil_scoped_release others;
        lath_index_get_batch(&there->numbers, codes.size(), codes.data(), words.data(),
                             hits.data());
        erased =
            lath_index_erase_batch(&there->numbers, codes.size(), codes.data(), results.data());
    }
    count -= erased;
    for (size_t i = 0; i < codes.size(); i++)
        if (results[i] == 0)
            note(words[i], -1);
    for (size_t i = 0; i < codes.size(); i++)
        if (results[i] == 0)
            release(words[i]);
    return erased;
}

size_t Map::all_codes(std::vector<uint64_t>* codes) {
    std::vector<uint64_t> words;

    turns.wait();
    Turns::Shared shared(turns);
    Store* there = store.load(std::memory_order_relaxed);
    codes->resize(count);
    words.resize(count);
    if (count == 0)
        return 0;
    nb::gil_scoped_release others;
    return lath_index_scan_values(&there->numbers, 0, ~0ull, codes->data(), words.data(),
                                  codes->size(), nullptr);
}

int Map::traverse(visitproc visit, void* arg) {
    settle();
    if (batch || !held) // in a batch items come and go between two looks of the collector
        return 0;
    return store.load(std::memory_order_relaxed)->each([&](const Cell& cell) {
        return is_object(cell.word) ? visit(object_of(cell.word), arg) : 0;
    });
}

size_t Map::memory() {
    Store* there = store.load(std::memory_order_relaxed);
    lath_bytes_stats texts = {};
    lath_index_stats numbers;

    if (!there)
        return 0;
    if (!is_text(kind)) {
        lath_index_get_stats(&there->numbers, &numbers);
        return numbers.bytes;
    }
    lath_bytes_get_stats(&there->texts, &texts);
    there->each([&](const Cell& cell) {
        texts.bytes += sizeof(Record) + cell.record->size;
        return 0;
    });
    return texts.bytes;
}

void Map::verify() {
    char report[200];
    uint64_t found = 0, objects = 0;

    writing();
    Store* there = store.load(std::memory_order_relaxed);
    if (there && (is_text(kind) ? lath_bytes_verify(&there->texts, report, sizeof(report))
                                : lath_index_verify(&there->numbers, 6, report, sizeof(report))))
        raise(PyExc_RuntimeError, report);
    for (MapWalk walk(*this, 0, count, false); walk.next(); found++)
        objects += is_object(walk.cell_now().word);
    if (found != count || objects != held)
        raise(PyExc_RuntimeError, "a count is wrong");
}

MapWalk::MapWalk(Map& map, uint64_t from, uint64_t count, bool backward)
    : map(map), count(from < map.size() ? count : 0), version(map.version), replaced(map.replaced),
      backward(backward) {
    if (this->count == 0)
        return;
    this->count = std::min(count, backward ? from + 1 : map.size() - from);
    if (from != (backward ? map.size() - 1 : 0)) {
        cells[0] = map.select(from);
        used = 1;
    }
}

bool MapWalk::next() {
    if (count == 0)
        return false;
    Map::Store* there = map.store.load(std::memory_order_relaxed);
    if (version == map.version && at == used) {
        Map::Cell last = cells[used ? used - 1 : 0];
        used = there->scan(used ? &last : nullptr, backward, cells, want);
        want = std::min<size_t>(want * 2, 64);
        at = 0;
    }
    // No more items: a batch of another thread erases, and has not lowered their number yet.
    if (version != map.version || at == used) {
        version = ~0ull; // the next step raises too
        raise(PyExc_RuntimeError, "the container changed during the iteration");
    }
    cell = cells[at++];
    if (replaced != map.replaced && !cell.record) // the word may be outdated
        lath_index_get(&there->numbers, cell.code, &cell.word);
    count--;
    return true;
}

} // namespace lathpy
