// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The index of a Map, and its items.
//
//   integer, real   lathwork/index.h, from codes (code.hpp) to words
//   text, bytes     lathwork/bytes.h, of records: a word and the bytes of the key
//
// A word is a value: an object, or an integer of 62 bits in place. Keys are not kept as objects.
#pragma once

#include "held.hpp"
#include "memory.hpp"

#include <lathwork/bytes.h>

#include <atomic>
#include <cstring>
#include <new>
#include <string_view>

namespace lathpy {

inline bool is_text(Kind kind) { return kind == Kind::text || kind == Kind::bytes; }

// The int, float, str or bytes that a key compares as, or none. May run code of its class.
inline nb::object plain_of(PyObject* key) {
    PyTypeObject* type = Py_TYPE(key);

    if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type ||
        type == &PyBytes_Type)
        return nb::borrow(key);
    return bounds("plain")(nb::handle(key));
}

// The kind of a map whose first key this is.
inline Kind kind_of(PyObject* plain) {
    return PyLong_Check(plain)      ? Kind::integer
           : PyFloat_Check(plain)   ? Kind::real
           : PyUnicode_Check(plain) ? Kind::text
           : PyBytes_Check(plain)   ? Kind::bytes
                                    : Kind::none;
}

// A key of Python's as a map of a kind has it.
struct MapKey {
    // same: a key of the map may be equal to it. between: none is, `code` is the least above it, or
    // with `past` there is none. none: it has no place in the order.
    enum Fit { same, between, none } fit = none;
    Kind kind;
    uint64_t code = 0;
    bool past = false;
    std::string_view bytes;
    nb::object held; // what has the bytes

    MapKey(Kind kind, PyObject* key);
};

inline MapKey::MapKey(Kind kind, PyObject* key) : kind(kind) {
    Py_ssize_t size;
    char* data;

    if (fast_code(kind, key, &code)) {
        fit = same;
        return;
    }
    held = plain_of(key);
    PyObject* plain = held.ptr();
    if (PyUnicode_Check(plain) && kind == Kind::text) {
        const char* form = PyUnicode_AsUTF8AndSize(plain, &size);
        if (!form) { // lone surrogates, or no memory
            PyErr_Clear();
            held = checked(PyUnicode_AsEncodedString(plain, "utf-8", "surrogatepass"));
            checked(PyBytes_AsStringAndSize(held.ptr(), &data, &size));
            form = data;
        }
        bytes = {form, static_cast<size_t>(size)};
        fit = same;
    } else if (PyBytes_Check(plain) && kind == Kind::bytes) {
        checked(PyBytes_AsStringAndSize(plain, &data, &size));
        bytes = {data, static_cast<size_t>(size)};
        fit = same;
    } else if ((PyLong_Check(plain) || PyFloat_Check(plain)) && !is_text(kind)) {
        // Numbers of both types have a place in the order of either.
        nb::object next = bounds("place")(kind == Kind::real, held);
        past = next.is_none();
        fit = past || !nb::object(next[1]).is_none() ? between : none; // none: NaN
        if (!past && fit == between && fast_code(kind, nb::object(next[0]).ptr(), &code))
            fit = nb::cast<bool>(next[1]) ? same : between;
    }
}

// ---- the index ----

// A key of a text or of bytes, and its value.
struct Record {
    std::atomic<Word> value;
    uint32_t size;
    char data[];

    std::string_view key() const { return {data, size}; }
    static Record* make(std::string_view bytes) {
        if (bytes.size() > LATH_BYTES_SIZE_MAX)
            raise(PyExc_ValueError, "a key is too long");
        void* block = PyMem_Malloc(sizeof(Record) + bytes.size());
        if (!block)
            throw std::bad_alloc();
        auto* record = new (block) Record{no_value, static_cast<uint32_t>(bytes.size())};
        std::memcpy(record->data, bytes.data(), bytes.size());
        return record;
    }
    // For lath_bytes: where the key is.
    static void key_at(void*, uint64_t value, lath_bytes_key* key) {
        const auto* record = reinterpret_cast<const Record*>(value);
        key->data = record->data;
        key->size = record->size;
    }
};

// An item as it was found.
struct Cell {
    uint64_t code = 0;
    Word word = 0;
    Record* record = nullptr;

    static Cell of(uint64_t value) {
        auto* record = reinterpret_cast<Record*>(value);
        return {0, record->value.load(std::memory_order_acquire), record};
    }
    lath_bytes_key key() const { return {record->data, record->size, 0}; }
};

// Items to be added. It owns their references and records.
struct Items : Pinned {
    Kind kind = Kind::none;
    std::vector<lath_item> items; // the key of a text or of bytes is the address of its record

    ~Items() {
        for (size_t i = 0; i < items.size(); i++) {
            Cell gone = cell(i);
            PyMem_Free(gone.record);
            if (is_object(gone.word))
                Py_DECREF(object_of(gone.word));
        }
    }
    Cell cell(size_t at) const {
        return is_text(kind) ? Cell::of(items[at].key)
                             : Cell{items[at].key, items[at].value, nullptr};
    }
    void gather(PyObject* key, PyObject* value);
};

// Throws for a key of another kind.
inline void Items::gather(PyObject* key, PyObject* value) {
    if (kind == Kind::none)
        kind = kind_of(plain_of(key).ptr());
    MapKey made(kind, key);
    if (made.fit == MapKey::same) {
        items.reserve(items.size() + 1 > items.capacity() ? 2 * items.size() + 1 : 0);
        if (is_text(kind)) {
            Record* record = Record::make(made.bytes);
            record->value = pack(value);
            items.push_back({reinterpret_cast<uint64_t>(record), 1, 0});
        } else {
            items.push_back({made.code, 1, pack(value)});
        }
        return;
    }
    if (PyFloat_Check(made.held.ptr()) && std::isnan(PyFloat_AsDouble(made.held.ptr())))
        raise(PyExc_ValueError, "NaN has no place in an order");
    const char* kinds = kind == Kind::integer ? "int"
                        : kind == Kind::real  ? "float"
                        : kind == Kind::text  ? "str"
                        : kind == Kind::bytes ? "bytes"
                                              : "int, float, str or bytes";
    if (made.fit == MapKey::between && PyLong_Check(made.held.ptr()))
        raise(PyExc_OverflowError, "%R is beyond the keys of the map", key);
    raise(PyExc_TypeError, "%R cannot be a key: those of the map are %s", key, kinds);
}

struct Index : Pinned {
    explicit Index(Kind kind) : kind(kind) {
        lath_config config = index_config();
        lath_bytes_records records = {Record::key_at, nullptr, 0};

        config.flags = LATH_RANKS;
        if (is_text(kind)) {
            must(LATH_CORE(lath_bytes_init(&texts, &records, &config)), "lath_bytes_init");
        } else {
            config.layout = LATH_POINTS;
            must(LATH_CORE(lath_index_init(&numbers, &config)), "lath_index_init");
        }
    }
    ~Index() {
        if (is_text(kind))
            lath_bytes_fini(
                &texts, [](void*, uint64_t record) { PyMem_Free(reinterpret_cast<void*>(record)); },
                nullptr);
        else
            lath_index_fini(&numbers, nullptr, nullptr);
    }

    // The item with this key. Returns whether it is there.
    bool get(const MapKey& key, Cell* cell) {
        uint64_t value;
        if (key.kind != kind || key.fit != MapKey::same)
            return false;
        cell->code = key.code;
        if (!is_text(kind))
            return lath_index_get(&numbers, key.code, &cell->word);
        lath_bytes_key bytes = {key.bytes.data(), key.bytes.size(), 0};
        if (!lath_bytes_get(&texts, &bytes, &value))
            return false;
        *cell = Cell::of(value);
        return true;
    }
    // How many keys are before this one, which has a place; right: not behind it.
    uint64_t rank(const MapKey& key, bool right) {
        Cell cell;
        if (is_text(kind)) {
            lath_bytes_key bytes = {key.bytes.data(), key.bytes.size(), 0};
            return static_cast<uint64_t>(
                lath_bytes_rank(&texts, &bytes, right ? LATH_BYTES_BEHIND : 0));
        }
        return static_cast<uint64_t>(lath_index_rank(&numbers, key.code)) +
               (right && get(key, &cell));
    }
    Cell select(uint64_t rank) {
        uint64_t value;
        lath_item item;
        if (is_text(kind)) {
            must(LATH_CORE(lath_bytes_select(&texts, rank, &value)), "lath_bytes_select");
            return Cell::of(value);
        }
        must(LATH_CORE(lath_index_select(&numbers, rank, &item)), "lath_index_select");
        return {item.key, item.value, nullptr};
    }
    void erase(const Cell& cell) {
        if (!cell.record)
            return void(lath_index_erase_item(&numbers, cell.code, nullptr));
        lath_bytes_key key = cell.key();
        lath_bytes_erase(&texts, &key, nullptr);
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

inline size_t Index::scan(const Cell* from, bool backward, Cell* cells, size_t n) {
    uint64_t values[64];
    lath_item items[64];

    if (is_text(kind)) {
        lath_bytes_key key = from ? from->key() : lath_bytes_key{};
        unsigned flags = (backward ? LATH_BYTES_BACK : 0) | (from ? LATH_BYTES_BEHIND : 0);
        n = lath_bytes_scan(&texts, from ? &key : nullptr, flags, values, n);
        for (size_t i = 0; i < n; i++)
            cells[i] = Cell::of(values[i]);
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

} // namespace lathpy
