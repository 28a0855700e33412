/* Declares the functions that Python calls, for `module.c`, from the files beside it. */
#ifndef FAIRAUDIT_KERNEL_H
#define FAIRAUDIT_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *check_pages(PyObject *module, PyObject *arguments);
PyObject *value_pages(PyObject *module, PyObject *arguments);
PyObject *first_header(PyObject *module, PyObject *content);
PyObject *thrift_struct(PyObject *module, PyObject *content);
PyObject *count_parquet(PyObject *module, PyObject *arguments);
PyObject *csv_table(PyObject *module, PyObject *arguments);
PyObject *count_csv(PyObject *module, PyObject *arguments);
PyObject *csv_counts(PyObject *module, PyObject *capsule);

#endif
