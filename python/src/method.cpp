// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The type Method of lathwork._core: a method of a class that calls a function of nanobind, with
// the attributes by which inspect.signature() and help() describe it. Nanobind's own functions have
// no __text_signature__.
#include "error.hpp"
#include "modules.hpp"

#include <structmember.h>

#include <cstddef>

namespace lathpy {

namespace {

struct Method {
    PyObject head;
    vectorcallfunc call;
    PyObject *function, *name, *doc, *text_signature;
};

PyObject* bound_method; // types.MethodType

PyObject* method_vectorcall(PyObject* self, PyObject* const* args, size_t n, PyObject* names) {
    return PyObject_Vectorcall(reinterpret_cast<Method*>(self)->function, args, n, names);
}

// Method(function, name, doc, text_signature)
PyObject* method_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *function, *name, *doc, *text_signature;

    if (!PyArg_ParseTuple(args, "OUUU", &function, &name, &doc, &text_signature))
        return nullptr;
    auto alloc = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    auto* method = reinterpret_cast<Method*>(alloc(type, 0));
    if (!method)
        return nullptr;
    method->call = method_vectorcall;
    method->function = Py_NewRef(function);
    method->name = Py_NewRef(name);
    method->doc = Py_NewRef(doc);
    method->text_signature = Py_NewRef(text_signature);
#ifdef Py_GIL_DISABLED // as functions: threads that call it count no references of it
    PyObject_GC_UnTrack(&method->head);
    method->head.ob_tid = _Py_UNOWNED_TID;
    method->head.ob_ref_local = _Py_IMMORTAL_REFCNT_LOCAL;
    method->head.ob_ref_shared = 0;
#endif
    return &method->head;
}

PyObject* method_get(PyObject* self, PyObject* object, PyObject*) {
    if (!object || object == Py_None)
        return Py_NewRef(self);
    return PyObject_CallFunctionObjArgs(bound_method, self, object, nullptr);
}

int method_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reinterpret_cast<Method*>(self)->function);
    return 0;
}

int method_clear(PyObject* self) {
    Py_CLEAR(reinterpret_cast<Method*>(self)->function);
    return 0;
}

void method_dealloc(PyObject* self) {
    auto* method = reinterpret_cast<Method*>(self);
    PyTypeObject* type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    method_clear(self);
    Py_XDECREF(method->name);
    Py_XDECREF(method->doc);
    Py_XDECREF(method->text_signature);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Method, call), READONLY, nullptr},
    {"function", T_OBJECT, offsetof(Method, function), READONLY, nullptr},
    {"__name__", T_OBJECT, offsetof(Method, name), READONLY, nullptr},
    {"__doc__", T_OBJECT, offsetof(Method, doc), READONLY, nullptr},
    {"__text_signature__", T_OBJECT, offsetof(Method, text_signature), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot method_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(method_new)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(method_get)},
    {Py_tp_traverse, reinterpret_cast<void*>(method_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(method_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(method_dealloc)},
    {Py_tp_members, method_members},
    {0, nullptr},
};

PyType_Spec method_spec = {"lathwork._core.Method", sizeof(Method), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                               Py_TPFLAGS_METHOD_DESCRIPTOR,
                           method_slots};

} // namespace

void bind_method(nb::module_& module) {
    bound_method = nb::module_::import_("types").attr("MethodType").inc_ref().ptr();
    nb::object type = nb::steal(PyType_FromSpec(&method_spec));
    if (!type.is_valid())
        throw nb::python_error();
    module.attr("Method") = type;
}

} // namespace lathpy
