// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Shapes: the bytes of tuples, dates and UUIDs, whose order is that of the keys as far as they go.
#include "code.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace lathpy {

namespace {

// The symbols of a shape. A shape begins with `tuple` or a later symbol, so it is never equal to a
// kind that has a name.
enum Symbol : uint64_t {
    number = 1,
    text,
    bytes,
    nothing,
    end,
    other,
    tuple = 8,
    moment,
    day,
    duration,
    identity
};

// An attribute that is an int; without bytes: one that must be None.
struct Field {
    const char* name;
    unsigned bytes;
    uint64_t bias;
    PyObject* key = nullptr;
};

// A class of the standard library that orders its objects by these attributes.
struct Record {
    const char *module, *name;
    Symbol symbol;
    std::array<Field, 8> fields;
    PyObject* type = nullptr;
};

Record records[] = {
    {"datetime",
     "datetime",
     moment,
     {{{"tzinfo", 0, 0},
       {"year", 2, 0},
       {"month", 1, 0},
       {"day", 1, 0},
       {"hour", 1, 0},
       {"minute", 1, 0},
       {"second", 1, 0},
       {"microsecond", 3, 0}}}},
    {"datetime", "date", day, {{{"year", 2, 0}, {"month", 1, 0}, {"day", 1, 0}}}},
    {"datetime",
     "timedelta",
     duration,
     {{{"days", 4, 1 << 30}, {"seconds", 3, 0}, {"microseconds", 3, 0}}}},
    {"uuid", "UUID", identity, {{{"int", 16, 0}}}},
};

// The class of an object, or NULL. The first call imports the modules.
const Record* record_of(PyObject* object) {
    for (Record& record : records) {
        for (Field& field : record.fields)
            if (field.name && !field.key && !(field.key = PyUnicode_InternFromString(field.name)))
                throw nb::python_error();
        if (!record.type)
            record.type =
                nb::object(nb::module_::import_(record.module).attr(record.name)).release().ptr();
        if (reinterpret_cast<PyObject*>(Py_TYPE(object)) == record.type)
            return &record;
    }
    return nullptr;
}

// Writes the shape and the bytes of a key. When it is called again for a key that has a shape, it
// runs no other code and makes no object that the collector tracks.
class Writer {
public:
    explicit Writer(KeyView& view) : view(view) {}

    // Writes an object. Returns false if what is behind it is to be compared only.
    bool write(PyObject* object);

private:
    bool put(Symbol symbol) {
        if (shift == 64)
            return false;
        view.shape |= symbol << shift;
        shift += 4;
        return symbol != other;
    }
    void append(const char* data, size_t size) {
        size_t used = std::min(size, full ? 0 : sizeof(view.data) - view.size);
        std::memcpy(view.data + view.size, data, used);
        view.size += used;
        full = used < size;
    }
    void append_number(uint64_t value, unsigned size) {
        char data[8];
        value = __builtin_bswap64(value << (64 - 8 * size));
        std::memcpy(data, &value, sizeof(data));
        append(data, size);
    }
    // A text ends with two zeros; its own zero is followed by a one.
    bool write_text(Symbol symbol, const char* text, Py_ssize_t size) {
        const char* stop = text + size;
        while (const void* zero = std::memchr(text, 0, static_cast<size_t>(stop - text))) {
            append(text, static_cast<size_t>(static_cast<const char*>(zero) - text));
            append("\0\1", 2);
            text = static_cast<const char*>(zero) + 1;
        }
        append(text, static_cast<size_t>(stop - text));
        append("\0", 2);
        return put(symbol);
    }
    bool write_number(PyObject* object);
    bool write_record(const Record& record, PyObject* object);

    KeyView& view;
    unsigned shift = 0;
    bool full = false; // what follows has no bytes
};

// The nearest double. From 2^53 on it stands for several numbers: then no bytes follow it.
bool Writer::write_number(PyObject* object) {
    constexpr double whole = 9007199254740992.0, most = 9223372036854775808.0;
    int over = 0;
    double value = PyFloat_Check(object)
                       ? PyFloat_AsDouble(object)
                       : static_cast<double>(PyLong_AsLongLongAndOverflow(object, &over));

    if (std::isnan(value))
        return put(other);
    value = over ? over * most : std::clamp(value, -most, most);
    append_number(real_code(value), 8);
    full = full || std::fabs(value) >= whole;
    return put(number);
}

bool Writer::write_record(const Record& record, PyObject* object) {
    for (const Field& field : record.fields) {
        if (!field.name)
            break;
        nb::object value = nb::steal(PyObject_GetAttr(object, field.key));
        if (!value.is_valid())
            throw nb::python_error();
        if (field.bytes == 0 && value.is_none())
            continue;
        if (field.bytes == 0 || !PyLong_Check(value.ptr()))
            return put(other);
        if (field.bytes > 8) {
            nb::object upper = nb::steal(PyNumber_Rshift(value.ptr(), nb::int_(64).ptr()));
            if (!upper.is_valid())
                throw nb::python_error();
            append_number(PyLong_AsUnsignedLongLongMask(upper.ptr()), field.bytes - 8);
        }
        append_number(PyLong_AsUnsignedLongLongMask(value.ptr()) + field.bias,
                      std::min(field.bytes, 8u));
    }
    return put(record.symbol);
}

bool Writer::write(PyObject* object) {
    Py_ssize_t size;
    char* data;

    if (shift == 64)
        return false;
    if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object))
        return write_number(object);
    if (object == Py_None)
        return put(nothing);
    if (PyUnicode_CheckExact(object)) {
        const char* form = utf8_of(object, &size);
        return form ? write_text(text, form, size) : put(other);
    }
    if (PyBytes_CheckExact(object)) {
        if (PyBytes_AsStringAndSize(object, &data, &size))
            throw nb::python_error();
        return write_text(bytes, data, size);
    }
    if (PyTuple_Check(object) && comparison_of(Py_TYPE(object)) == comparison_of(&PyTuple_Type)) {
        bool top = shift == 0;
        put(tuple);
        size = PyTuple_Size(object);
        for (Py_ssize_t i = 0; i < size; i++)
            if (!write(PyTuple_GetItem(object, i)))
                return false;
        return top || put(end);
    }
    const Record* record = record_of(object);
    return record ? write_record(*record, object) : put(other);
}

} // namespace

void KeyView::write_shape() {
    Writer(*this).write(key);
    if (shape < tuple || shape == (tuple | other << 4)) // all of it is to be compared
        shape = 0;
}

bool shapes_agree(uint64_t a, uint64_t b) {
    uint64_t both = std::min(std::bit_width(a), std::bit_width(b));
    uint64_t mask = ~0ull >> (64 - (both + 3) / 4 * 4);

    return !((a ^ b) & mask);
}

} // namespace lathpy
