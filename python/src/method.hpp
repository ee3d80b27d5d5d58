// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Methods of types, as rows of a table. The text of a row is what CPython makes __text_signature__
// and __doc__ of, as "pop($self, key, default=None)\n--\n\nRemove ...", and by which the arguments
// of a call are known: their order, their names, and which of them may be missing.
#pragma once

#include "object.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <type_traits>
#include <utility>

namespace lathpy {

template <size_t n>
struct Text {
    char chars[n];
    consteval Text(const char (&text)[n]) { std::copy_n(text, n, chars); }
    // How often a character is before the end of the parameters.
    consteval size_t count(char wanted) const {
        return static_cast<size_t>(std::count(chars, std::find(chars, chars + n, ')'), wanted));
    }
    consteval auto name() const {
        std::array<char, n> made = {};
        std::copy(chars, std::find(chars, chars + n, '('), made.begin());
        return made;
    }
};

// Puts the arguments of a call in the places of the `most` parameters that a text has; NULL: not
// given. Throws TypeError for others, and if one of the first `required` is missing.
void bind_arguments(const char* text, size_t most, size_t required, PyObject* const* args,
                    Py_ssize_t n, PyObject* names, PyObject** bound);

// What a call that returns an object throws becomes Python's exception.
template <class Body>
PyObject* returning(Body body) noexcept {
    return guarded(static_cast<PyObject*>(nullptr), body);
}

template <class Call>
PyObject* object_of_result(Call call) {
    using Result = decltype(call());

    if constexpr (std::is_void_v<Result>) {
        call();
        return Py_NewRef(Py_None);
    } else if constexpr (std::is_same_v<Result, PyObject*>) {
        return call();
    } else {
        return nb::cast(call()).release().ptr();
    }
}

// A row whose body is called with the C++ object of a class of nanobind's, the lock of which is
// held, and the arguments; or with `self`, not locked, and the arguments.
template <Text text, auto body, class Class>
class Method {
    static constexpr size_t most = text.count(','), required = most - text.count('=');
    static constexpr auto name = text.name();

    template <class Self, size_t... i>
    static PyObject* run(Self&& self, PyObject** given, std::index_sequence<i...>) {
        return object_of_result([&] { return std::invoke(body, self, given[i]...); });
    }

    static PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
        return returning([&] {
            PyObject* given[most + 1] = {};
            if (!names && static_cast<size_t>(n) >= required && static_cast<size_t>(n) <= most)
                std::copy_n(args, n, given);
            else
                bind_arguments(text.chars, most, required, args, n, names, given);
            constexpr std::make_index_sequence<most> all;
            if constexpr (std::is_void_v<Class>) {
                return run(self, given, all);
            } else {
                auto& object = self_of<Class>(self);
                Locked lock(self);
                return run(object, given, all);
            }
        });
    }

public:
    static PyMethodDef row() {
        return {name.data(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                METH_FASTCALL | METH_KEYWORDS, text.chars};
    }
};

template <Text text, auto body, class Class = void>
PyMethodDef method() {
    return Method<text, body, Class>::row();
}

} // namespace lathpy
