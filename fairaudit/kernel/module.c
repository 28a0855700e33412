/* The module `fairaudit._kernel`: what Python calls. Each function is written in the file of its
   format, on bytes that nobody has checked before it. */
#include "kernel.h"

static PyMethodDef methods[] = {
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fairaudit._kernel",
    .m_doc = "Counts the bytes of files, as the Polars route counts their rows.",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__kernel(void) {
    return PyModuleDef_Init(&definition);
}
