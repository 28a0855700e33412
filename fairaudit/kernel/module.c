/* The module `fairaudit._kernel`: what Python calls. Each function is written in the file of its
   format, on bytes that nobody has checked before it. */
#include "kernel.h"

static PyMethodDef methods[] = {
    {"check_pages", check_pages, METH_VARARGS,
     "The checksums of the pages of a column, with places and sizes; None where they are not sound."},
    {"value_pages", value_pages, METH_VARARGS,
     "The table of the pages of a column, their packed bodies, and their size unpacked."},
    {"first_header", first_header, METH_O, "The header of the page that the bytes begin with."},
    {"thrift_struct", thrift_struct, METH_O,
     "The struct that the bytes begin with, by the numbers of its fields; None where it cannot tell."},
    {"count_parquet", count_parquet, METH_VARARGS,
     "Adds the rows of a row group to the counts of cells; whether it is served."},
    {"csv_table", csv_table, METH_VARARGS, "An empty table of counts of records by columns."},
    {"count_csv", count_csv, METH_VARARGS,
     "Adds a block of lines to a table: how many records, or None where it is not served."},
    {"csv_counts", csv_counts, METH_O, "The levels of a table's keys, its cells and their rows."},
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
