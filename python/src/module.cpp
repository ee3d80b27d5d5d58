// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork._core: what the Python files of the package are built on.
#include "error.hpp"
#include "modules.hpp"
#include "turn.hpp"
#include "visit.hpp"

#include <pthread.h>

static void after_fork() {
    lathpy::forks++;
    lathpy::Visit::forget_threads();
}

// The module is made by this function of nanobind, which has the name below: another one is before
// it.
#define PyInit__core init_in_main_interpreter

NB_MODULE(_core, module) {
    static PyObject* first; // types can be registered once: a second import gets those of the first

    if (first) {
        for (auto [name, member] : nanobind::borrow<nanobind::dict>(PyModule_GetDict(first)))
            if (!nanobind::cast<bool>(name.attr("startswith")("__")))
                module.attr(name) = member;
        return;
    }
    if (pthread_atfork(nullptr, nullptr, after_fork))
        throw std::bad_alloc();
    nanobind::set_leak_warnings(false); // at exit globals may still hold containers
    lathpy::bind_errors(module);
    lathpy::bind_method(module);
    lathpy::bind_maps(module);
    lathpy::bind_lists(module);
    lathpy::bind_intervals(module);
    lathpy::bind_ranges(module);
    lathpy::bind_space(module);
    lathpy::bind_store(module);
    lathpy::bind_locks(module);
    first = module.inc_ref().ptr();
}

#undef PyInit__core

// nanobind keeps one registry of types per process. A second interpreter would register its own in
// the place of those of the first one, whose objects then have no known type. Returns false, with
// an ImportError, in such an interpreter.
static bool in_main_interpreter() {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0)
        return true;
    PyErr_SetString(PyExc_ImportError, "lathwork can be imported in the main interpreter only, not "
                                       "in a sub-interpreter of the process");
    return false;
}

static int (*exec_in_main_interpreter)(PyObject*);

static int exec_module(PyObject* module) {
    return in_main_interpreter() ? exec_in_main_interpreter(module) : -1;
}

// From Python 3.13 on the main interpreter calls this function, whichever one imports the module,
// and the importing one executes the module. So both are guarded.
extern "C" NB_EXPORT PyObject* PyInit__core(void) {
    if (!in_main_interpreter())
        return nullptr;
    PyObject* made = init_in_main_interpreter();
    auto* def = reinterpret_cast<PyModuleDef*>(made);
    for (PyModuleDef_Slot* slot = made ? def->m_slots : nullptr; slot && slot->slot; slot++)
        if (slot->slot == Py_mod_exec && slot->value != reinterpret_cast<void*>(exec_module)) {
            exec_in_main_interpreter = reinterpret_cast<int (*)(PyObject*)>(slot->value);
            slot->value = reinterpret_cast<void*>(exec_module);
        }
    return made;
}
