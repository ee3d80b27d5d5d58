// SPDX-License-Identifier: MIT OR GPL-2.0-only
#include "method.hpp"

#include <cstring>
#include <string>

namespace lathpy {

// The number of the parameter with this name; -1: there is none.
static int parameter_of(const char* text, const char* name) {
    const char* at = std::strchr(text, '(');

    for (int i = -1;; i++) {
        size_t size = std::strcspn(at += i < 0 ? 1 : 2, ",=)");
        if (i >= 0 && std::strlen(name) == size && std::memcmp(at, name, size) == 0)
            return i;
        at += std::strcspn(at, ",)");
        if (*at == ')')
            return -1;
    }
}

void bind_arguments(const char* text, size_t most, size_t required, PyObject* const* args,
                    Py_ssize_t n, PyObject* names, PyObject** bound) {
    const std::string call(text, std::strcspn(text, "("));
    auto given = static_cast<size_t>(n);

    if (given > most)
        raise(PyExc_TypeError, "%s() takes at most %zu arguments (%zu given)", call.c_str(), most,
              given);
    std::copy_n(args, given, bound);
    for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); i++) {
        PyObject* name = PyTuple_GetItem(names, i);
        const char* chars = PyUnicode_AsUTF8AndSize(name, nullptr);
        if (!chars)
            throw nb::python_error();
        int place = parameter_of(text, chars);
        if (place < 0 || bound[place])
            raise(PyExc_TypeError, "%s() got an argument %R %s", call.c_str(), name,
                  place < 0 ? "that it does not have" : "twice");
        bound[place] = args[n + i];
    }
    if (std::count(bound, bound + required, nullptr))
        raise(PyExc_TypeError, "%s() needs %zu arguments", call.c_str(), required);
}

} // namespace lathpy
