// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// lathwork._core: what the Python files of the package are built on.
#include "object.hpp"
#include "turn.hpp"

#include <pthread.h>

static void after_fork() {
    lathpy::forks++;
    lathpy::Visit::forget_threads();
}

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
    module.def("_key", lathpy::key_of, nanobind::arg().none());
    module.def("_real_code", lathpy::real_code);
    lathpy::bind_maps(module);
    lathpy::bind_lists(module);
    lathpy::bind_intervals(module);
    lathpy::bind_ranges(module);
    lathpy::bind_space(module);
    lathpy::bind_store(module);
    lathpy::bind_locks(module);
    first = module.inc_ref().ptr();
}
