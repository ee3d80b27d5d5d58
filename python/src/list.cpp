// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "list.hpp"
#include "code.hpp"
#include "turn.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace lathpy {

namespace {

enum : uint8_t { uncoded, number, text, bytes, tuple }; // tuple + the kind of its first item

// The first eight bytes of a text, lone surrogates too, in the order of code points: one byte of a
// character of ASCII, three of another one.
uint64_t text_code(PyObject* text) {
    Py_ssize_t size = PyUnicode_GetLength(text);
    uint64_t code = 0;
    int left = 64;

    for (Py_ssize_t i = 0; i < size && left > 0; i++) {
        uint64_t c = PyUnicode_ReadChar(text, i);
        left -= c < 0x80 ? 8 : 24;
        c |= c < 0x80 ? 0 : 0x800000;
        code |= left >= 0 ? c << left : c >> -left;
    }
    return code;
}

uint64_t bytes_code(PyObject* object) {
    char* data = PyBytes_AsString(object);
    auto size = static_cast<size_t>(PyBytes_Size(object));
    uint64_t code = 0;

    std::memcpy(&code, data, std::min<size_t>(size, sizeof(code)));
    return __builtin_bswap64(code);
}

// The nearest double: ints and floats are in one order.
double nearest_double(PyObject* object) {
    int over = 0;

    if (PyFloat_CheckExact(object))
        return PyFloat_AsDouble(object);
    auto whole = static_cast<double>(PyLong_AsLongLongAndOverflow(object, &over));
    if (!over)
        return whole;
    whole = PyLong_AsDouble(object);
    if (!PyErr_Occurred())
        return whole;
    PyErr_Clear(); // it is beyond the doubles
    return over * HUGE_VAL;
}

} // namespace

ListCode list_code(PyObject* key) {
    if (PyLong_CheckExact(key) || PyFloat_CheckExact(key)) {
        double value = nearest_double(key);
        return std::isnan(value) ? ListCode{} : ListCode{number, real_code(value)};
    }
    if (PyUnicode_CheckExact(key))
        return {text, text_code(key)};
    if (PyBytes_CheckExact(key))
        return {bytes, bytes_code(key)};
    if (PyTuple_CheckExact(key) && PyTuple_Size(key) > 0) {
        ListCode first = list_code(PyTuple_GetItem(key, 0));
        if (first.kind != uncoded && first.kind < tuple)
            return {static_cast<uint8_t>(tuple + first.kind), first.code};
    }
    return {};
}

ListChunks::~ListChunks() {
    for (ListChunk& chunk : *this) {
        for (uint32_t i = 0; i < chunk.count; i++) {
            Py_DECREF(chunk.items[i]);
            if (keyed)
                Py_DECREF(chunk.items[chunk.room + i]);
        }
        PyMem_Free(chunk.items);
    }
}

// A key, compared with those of the list. Between exact ints of 64 bits, floats and texts no code
// of the caller's runs; in other comparisons it may, and the list is pinned.
class List::Order {
public:
    Order(List& list, PyObject* key) : list(list), key(key) {
        int over = 0;

        if (PyLong_CheckExact(key)) {
            whole = PyLong_AsLongLongAndOverflow(key, &over);
            type = over ? nullptr : &PyLong_Type;
        } else if (PyFloat_CheckExact(key)) {
            real = PyFloat_AsDouble(key);
            type = &PyFloat_Type;
        } else if (PyUnicode_CheckExact(key)) {
            type = &PyUnicode_Type;
        }
    }

    // Whether the place of the key is behind the item; right: also if they are equal.
    template <bool right>
    bool passes(PyObject* item) const {
        if (type == &PyLong_Type && Py_TYPE(item) == type) {
            int over = 0;
            long long other = PyLong_AsLongLongAndOverflow(item, &over);
            if (__builtin_expect(!over, 1)) // no branch depends on the two numbers
                return right ? other <= whole : other < whole;
        } else if (type == &PyFloat_Type && Py_TYPE(item) == type) {
            double other = PyFloat_AsDouble(item);
            return right ? !(real < other) : other < real;
        } else if (type && Py_TYPE(item) == type) {
            return right ? PyUnicode_Compare(key, item) >= 0 : PyUnicode_Compare(item, key) < 0;
        }
        return right ? !less(key, item) : less(item, key);
    }
    bool before(PyObject* item) const { return !passes<true>(item); } // key < item
    // Whether a value is equal to one of the list: neither of their keys is before the other one.
    bool equals(PyObject* value, PyObject* there) const {
        bool plain = type && !list.keyed() && Py_TYPE(there) == type;
        if (plain && type == &PyFloat_Type)
            return value == there || real == PyFloat_AsDouble(there);
        return plain || value == there || compare(there, value, Py_EQ);
    }
    bool less(PyObject* a, PyObject* b) const { return compare(a, b, Py_LT); }

    List& list;
    PyObject* key;

private:
    bool compare(PyObject* a, PyObject* b, int how) const {
        list.pinned++;
        int result = PyObject_RichCompareBool(a, b, how);
        list.pinned -= list.pinned != 0; // 0: a fork within it
        return checked(result);
    }

    PyTypeObject* type = nullptr; // of the keys with which it compares without Python's help
    union {
        long long whole;
        double real;
    };
};

// The place in a chunk before the keys that are not before this one; right: not behind it. guess:
// where keys in even distances would have it. What is near to that is fetched at once.
template <bool right>
size_t List::bisect_in(const Chunk& chunk, const Order& order, size_t guess) const {
    size_t low = 0, n = chunk.count, near = n <= 128 ? 8 : 16;

    if (guess < n) {
        size_t first = guess > near ? guess - near : 0, last = std::min(guess + near, n - 1);
        for (size_t i = first; i <= last; i++)
            __builtin_prefetch(chunk.items[i]);
        if (!order.passes<right>(chunk.items[first]))
            n = first;
        else if (low = last + 1; order.passes<right>(chunk.items[last]))
            n -= low;
        else
            low = first + 1, n = last - low;
    }
    for (; n > 1; n -= n / 2)
        low += order.passes<right>(chunk.items[low + n / 2 - 1]) * (n / 2);
    return n ? low + order.passes<right>(chunk.items[low]) : low;
}

// The number of codes before this one; without branches, which a random key would mispredict.
static size_t codes_before(const std::vector<uint64_t>& codes, uint64_t code) {
    const uint64_t* base = codes.data();
    size_t n = codes.size();

    while (n > 1) {
        size_t half = n / 2;
        base += (base[half - 1] < code) * half;
        n -= half;
    }
    return static_cast<size_t>(base - codes.data()) + (n && *base < code);
}

// The first chunk whose last key is not before this one; right: is behind it. code: of the key, if
// codes tell.
template <bool right>
size_t List::chunk_for(const Order& order, const ListCode& code) const {
    size_t low = 0, high = chunks.size();

    if (code.kind)
        for (high = low = codes_before(codes, code.code);
             high < codes.size() && codes[high] == code.code;)
            high++;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order.passes<right>(last_key(middle)))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

template <bool right>
List::Place List::bisect(const Order& order) const {
    ListCode code;
    size_t guess = SIZE_MAX;

    if (chunks.size() > 1 && coded == chunks.size())
        code = list_code(order.key);
    if (code.kind != kind)
        code = {};
    size_t chunk = chunk_for<right>(order, code);
    if (chunk == chunks.size())
        return {chunk, 0};
    if (code.kind && chunk > 0 && codes[chunk - 1] < code.code && code.code < codes[chunk]) {
        auto before = static_cast<double>(code.code - codes[chunk - 1]);
        auto all = static_cast<double>(codes[chunk] - codes[chunk - 1]);
        guess = static_cast<size_t>(before / all * chunks[chunk].count);
    }
    return {chunk, bisect_in<right>(chunks[chunk], order, guess)};
}

List::Place List::bisect(PyObject* key, bool right) {
    Order order(*this, key);

    return right ? bisect<true>(order) : bisect<false>(order);
}

bool List::find(PyObject* key, PyObject* value, Place* place) {
    Order order(*this, key);

    *place = bisect<false>(order);
    bool there = place->chunk < chunks.size();
    while (there && !order.before(key_at(*place))) { // equal ones may be apart by a key function
        if (order.equals(value, at(*place)))
            return true;
        there = next(place);
    }
    return false;
}

bool List::next(Place* place) const {
    if (++place->at < chunks[place->chunk].count)
        return true;
    place->at = 0;
    return ++place->chunk < chunks.size();
}

void List::count_sums() {
    size_t n = chunks.size();

    sums.resize(n);
    for (size_t i = 0; i < n; i++)
        sums[i] = chunks[i].count;
    for (size_t i = 0; i < n; i++)
        if (size_t above = i | (i + 1); above < n)
            sums[above] += sums[i];
}

void List::count_at(size_t chunk, int64_t by) {
    count += static_cast<size_t>(by);
    version++;
    for (size_t i = chunk; i < sums.size(); i |= i + 1)
        sums[i] += static_cast<size_t>(by);
}

List::Place List::place_of(size_t position) {
    size_t chunk = 0, step_size = 1;

    if (position >= count)
        return {chunks.size(), position - count};
    if (position < chunks[0].count)
        return {0, position};
    if (count - position <= chunks.back().count)
        return {chunks.size() - 1, chunks.back().count - (count - position)};
    if (sums.empty())
        count_sums();
    while (step_size * 2 <= sums.size())
        step_size *= 2;
    for (; step_size; step_size /= 2)
        if (chunk + step_size <= sums.size() && sums[chunk + step_size - 1] <= position) {
            chunk += step_size;
            position -= sums[chunk - 1];
        }
    return {chunk, position};
}

size_t List::position_of(Place place) {
    size_t position = place.at;

    if (place.chunk == chunks.size())
        return count;
    if (place.chunk && sums.empty())
        count_sums();
    for (size_t i = place.chunk; i > 0; i &= i - 1)
        position += sums[i - 1];
    return position;
}

nb::object List::key_of(PyObject* value) {
    struct Call {
        unsigned& calls;
        explicit Call(unsigned& calls) : calls(calls) { calls++; }
        ~Call() { calls -= calls != 0; } // 0: a fork within it
    };

    if (!keyed())
        return nb::borrow(value);
    Call call(keying);
    return nb::object(key_fn)(nb::handle(value));
}

void List::writing() {
    if (std::exchange(era, forks) !=
        forks) // in the child of a fork calls of other threads never end
        pinned = keying = 0;
    if (pinned)
        raise(PyExc_RuntimeError,
              "the container cannot be changed within a comparison of its keys");
}

void List::restart(nb::object key, ListChunks* gone) {
    writing();
    if (keying) // what it returns belongs to the order that is about to end
        raise(PyExc_RuntimeError, "__init__ was called while the key function runs");
    ListChunks old_items = take();
    if (gone)
        gone->swap(old_items);
    nb::object old = std::move(key_fn);
    chunks.keyed = !key.is_none();
    if (chunks.keyed)
        key_fn = std::move(key);
}

void List::exchange(List& other) {
    writing();
    chunks.swap(other.chunks);
    codes.swap(other.codes);
    kinds.swap(other.kinds);
    sums.swap(other.sums);
    std::swap(count, other.count);
    std::swap(coded, other.coded);
    std::swap(kind, other.kind);
    version++;
}

List::Refs List::refs(bool keys) const {
    Refs refs;

    refs.reserve(count);
    for (const Chunk& chunk : chunks) {
        PyObject** items = keys ? chunk.items : values_of(chunk);
        refs.insert(refs.end(), items, items + chunk.count);
    }
    return refs;
}

ListChunks List::take() {
    assert(!pinned);
    ListChunks gone;

    gone.swap(chunks);
    chunks.keyed = gone.keyed;
    codes.clear();
    kinds.clear();
    sums.clear();
    count = coded = 0;
    kind = 0;
    version++;
    return gone;
}

// Changes the room of a chunk. Throws std::bad_alloc, but not if it becomes smaller.
void List::resize(Chunk* chunk, size_t room) const {
    size_t n = chunk->count * sizeof(PyObject*), both = keyed() ? 2 : 1;
    PyObject** items = chunk->items;

    if (keyed() && room < chunk->room)
        std::memmove(items + room, items + chunk->room, n);
    auto* made = static_cast<PyObject**>(PyMem_Realloc(items, room * both * sizeof(PyObject*)));
    if (!made && room > chunk->room)
        throw std::bad_alloc();
    chunk->items = items = made ? made : items;
    if (keyed() && room > chunk->room)
        std::memmove(items + room, items + chunk->room, n);
    chunk->room = static_cast<uint32_t>(room);
}

// Moves n items of a chunk to places of another one, or of the same.
void List::move(Chunk& to, size_t at, const Chunk& from, size_t first, size_t n) const {
    std::memmove(to.items + at, from.items + first, n * sizeof(PyObject*));
    if (keyed())
        std::memmove(values_of(to) + at, values_of(from) + first, n * sizeof(PyObject*));
}

// Finds out the code of a chunk's last key.
void List::code_last(size_t chunk) {
    ListCode code = list_code(last_key(chunk));

    coded -= kinds[chunk] == kind && kind;
    if (chunks.size() == 1)
        kind = code.kind;
    codes[chunk] = code.code;
    kinds[chunk] = code.kind;
    coded += code.kind == kind && kind;
}

void List::erase_chunk(size_t chunk) {
    auto at = static_cast<ptrdiff_t>(chunk);

    PyMem_Free(chunks[chunk].items);
    coded -= kinds[chunk] == kind && kind;
    chunks.erase(chunks.begin() + at);
    codes.erase(codes.begin() + at);
    kinds.erase(kinds.begin() + at);
    sums.clear();
}

// Makes room for a key at the place, which is in a full chunk or behind all: the upper half of a
// full chunk becomes one by itself. A key that comes last begins a chunk. Throws std::bad_alloc.
void List::split(Place* place) {
    bool last = place->chunk == chunks.size() ||
                (place->chunk + 1 == chunks.size() && place->at == chunks[place->chunk].count);
    size_t chunk = last ? chunks.size() : place->chunk + 1, both = keyed() ? 2 : 1;
    size_t stay = last ? 0 : chunks[place->chunk].count / 2;
    size_t upper = last ? 0 : chunks[place->chunk].count - stay;
    auto at = static_cast<ptrdiff_t>(chunk);

    chunks.reserve(chunks.size() + 1);
    codes.reserve(codes.size() + 1);
    kinds.reserve(kinds.size() + 1);
    Chunk made = {nullptr, 0, static_cast<uint32_t>(upper + (chunks.empty() ? 4 : step))};
    made.items = static_cast<PyObject**>(PyMem_Malloc(made.room * both * sizeof(PyObject*)));
    if (!made.items)
        throw std::bad_alloc();
    made.count = static_cast<uint32_t>(upper);
    if (upper) {
        Chunk& full = chunks[place->chunk];
        move(made, 0, full, stay, upper);
        full.count = static_cast<uint32_t>(stay);
        resize(&full, stay + step);
    }
    chunks.insert(chunks.begin() + at, made);
    codes.insert(codes.begin() + at, upper ? codes[chunk - 1] : 0);
    kinds.insert(kinds.begin() + at, upper ? kinds[chunk - 1] : uint8_t{0});
    coded += upper && kinds[chunk] == kind && kind;
    sums.clear();
    if (upper)
        code_last(chunk - 1);
    if (last)
        *place = {chunk, 0};
    else if (place->at > stay)
        *place = {chunk, place->at - stay};
}

// Adds an item at a place. Throws std::bad_alloc.
void List::insert(Place place, PyObject* key, PyObject* value) {
    assert(!pinned);
    if (place.chunk == chunks.size() && place.chunk)
        place = {place.chunk - 1, chunks.back().count};
    if (chunks.empty() || chunks[place.chunk].count >= most())
        split(&place);
    Chunk& chunk = chunks[place.chunk];
    if (chunk.count == chunk.room)
        resize(&chunk, chunk.room + (chunk.room < step ? chunk.room : step));
    move(chunk, place.at + 1, chunk, place.at, chunk.count - place.at);
    chunk.items[place.at] = Py_NewRef(key);
    if (keyed())
        values_of(chunk)[place.at] = Py_NewRef(value);
    chunk.count++;
    if (place.at + 1 == chunk.count)
        code_last(place.chunk);
    count_at(place.chunk, 1);
}

void List::add(PyObject* key, PyObject* value) {
    writing();
    insert(bisect(key, true), key, value);
}

// Joins a chunk with the next one, if both are small. Returns whether it did.
bool List::join(size_t chunk) {
    if (chunk + 1 >= chunks.size())
        return false;
    Chunk &first = chunks[chunk], &second = chunks[chunk + 1];
    size_t both = first.count + second.count;
    if (both > most() / 2)
        return false;
    try {
        if (first.room < both)
            resize(&first, both);
    } catch (const std::bad_alloc&) {
        return false; // later, perhaps
    }
    move(first, first.count, second, 0, second.count);
    first.count = static_cast<uint32_t>(both);
    erase_chunk(chunk + 1);
    code_last(chunk);
    return true;
}

nb::object List::erase(Place place, nb::object* own_key) {
    assert(!pinned);
    Chunk& chunk = chunks[place.chunk];
    nb::object key = nb::steal(key_at(place)), value;

    if (keyed())
        value = nb::steal(at(place));
    move(chunk, place.at, chunk, place.at + 1, --chunk.count - place.at);
    count_at(place.chunk, -1);
    if (chunk.count == 0) {
        erase_chunk(place.chunk);
        if (chunks.empty())
            kind = 0;
    } else {
        if (chunk.room > 2 * step && chunk.room > 2 * chunk.count)
            resize(&chunk, chunk.count + step);
        if (place.at == chunk.count)
            code_last(place.chunk);
        if (chunk.count < most() / 4 && !join(place.chunk) && place.chunk)
            join(place.chunk - 1);
    }
    if (!keyed())
        return key;
    if (own_key)
        *own_key = std::move(key);
    return value;
}

void List::erase(const std::vector<size_t>& positions, Dropped* gone) {
    writing();
    gone->reserve(gone->size() + positions.size() * 2);
    for (size_t i = positions.size(); i-- > 0;) {
        nb::object key, value = erase(place_of(positions[i]), &key);
        gone->push_back(std::move(value));
        if (keyed())
            gone->push_back(std::move(key));
    }
}

void List::assign(const Refs& keys, const Refs& values) {
    size_t n = keys.size(), both = keyed() ? 2 : 1;
    size_t fill = n < 100'000 ? 72 : n < 1'000'000 ? 192 : 768, parts = (n + fill - 1) / fill;
    ListChunks made;
    std::vector<uint64_t> made_codes(parts);
    std::vector<uint8_t> made_kinds(parts);

    writing();
    made.keyed = keyed();
    made.reserve(parts);
    for (size_t i = 0, size; i < n; i += size) {
        size = std::min(fill, n - i);
        auto* items = static_cast<PyObject**>(PyMem_Malloc(size * both * sizeof(PyObject*)));
        if (!items)
            throw std::bad_alloc();
        made.push_back({items, static_cast<uint32_t>(size), static_cast<uint32_t>(size)});
        for (size_t j = 0; j < size; j++) {
            items[j] = Py_NewRef(keys[i + j]);
            if (keyed())
                items[size + j] = Py_NewRef(values[i + j]);
        }
    }
    ListChunks gone = take(); // dropped when all is in place
    chunks.swap(made);
    codes.swap(made_codes);
    kinds.swap(made_kinds);
    count = n;
    for (size_t c = chunks.size(); c-- > 0;) {
        if (c + 1 == chunks.size())
            kind = list_code(last_key(c)).kind;
        code_last(c);
    }
}

void List::merge(const Refs& keys, const Refs& values) {
    std::vector<size_t> positions; // before which old item each one comes
    size_t n = keys.size(), done = 0;

    positions.reserve(n);
    for (PyObject* key : keys)
        positions.push_back(position_of(bisect(key, true)));
    writing();
    try {
        for (; done < n; done++)
            insert(place_of(positions[done] + done), keys[done], values[done]);
    } catch (...) {
        while (done-- > 0)
            erase(place_of(positions[done] + done));
        throw;
    }
}

int List::traverse(visitproc visit, void* arg) const {
    Py_VISIT(key_fn.ptr());
    for (const Chunk& chunk : chunks)
        for (uint32_t i = 0; i < chunk.count; i++) {
            Py_VISIT(chunk.items[i]);
            if (keyed())
                Py_VISIT(chunk.items[chunk.room + i]);
        }
    return 0;
}

size_t List::memory() const {
    size_t bytes = chunks.capacity() * sizeof(Chunk) + codes.capacity() * sizeof(uint64_t) +
                   kinds.capacity() + sums.capacity() * sizeof(size_t);

    for (const Chunk& chunk : chunks)
        bytes += chunk.room * sizeof(PyObject*) * (keyed() ? 2 : 1);
    return bytes;
}

void List::verify() {
    size_t found = 0, found_coded = 0;
    auto check = [](bool right, const char* what) {
        if (!right)
            raise(PyExc_RuntimeError, what);
    };
    PyObject* before = nullptr;
    uint64_t code = 0;

    check(codes.size() == chunks.size() && kinds.size() == chunks.size(), "an array is too short");
    for (size_t c = 0; c < chunks.size(); c++) {
        const Chunk& chunk = chunks[c];
        check(chunk.count && chunk.count <= chunk.room, "a chunk is empty or overfull");
        for (uint32_t i = 0; i < chunk.count; i++) {
            check(!before || !Order(*this, chunk.items[i]).before(before),
                  "items are out of order");
            before = chunk.items[i];
        }
        ListCode last = list_code(before);
        check(last.kind == kinds[c] && last.code == codes[c], "a chunk has another code");
        found_coded += kind && kinds[c] == kind;
        check(coded != chunks.size() || code <= last.code, "codes are out of order");
        code = last.code;
        check(position_of({c, 0}) == found, "a sum is wrong");
        found += chunk.count;
    }
    check(found == count && found_coded == coded, "a count is wrong");
}

} // namespace lathpy
