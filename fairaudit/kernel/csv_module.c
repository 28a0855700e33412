/* Functions that Python calls for CSV: checks of arguments, errors. They trust their own tables
   alone, which no one else can make. */
#include "csv.h"
#include "kernel.h"

#include <stdlib.h>

#define TABLE_NAME "fairaudit.csv_table"

/* Frees a table that nobody holds any more. */
static void free_table(PyObject *capsule) {
    CsvTable *table = PyCapsule_GetPointer(capsule, TABLE_NAME);
    if (!table) return;
    free_csv(table);
    free(table);
}

/* Whether a table has its column of numbers: none, or (column, sign of decimals, is_weight). */
static bool read_number_column(PyObject *terms, size_t fields, NumberColumn *column) {
    if (!PyTuple_Size(terms)) return true;
    Py_ssize_t place;
    int is_weight;
    if (!PyArg_ParseTuple(terms, "nbp", &place, &column->decimal, &is_weight)) return false;
    if (place < 0 || (size_t)place >= fields) {
        PyErr_SetString(PyExc_ValueError, "no such column");
        return false;
    }
    column->is_there = true;
    column->is_weight = is_weight;
    column->column = (size_t)place;
    return true;
}

/* csv_table(separator, fields, columns, number, is_scalar, /): an empty table of counts by columns. */
PyObject *csv_table(PyObject *module, PyObject *arguments) {
    (void)module;
    unsigned char separator;
    Py_ssize_t fields;
    PyObject *columns, *number;
    int is_scalar;
    if (!PyArg_ParseTuple(arguments, "bnO!O!p", &separator, &fields, &PyTuple_Type, &columns,
                          &PyTuple_Type, &number, &is_scalar))
        return NULL;
    Py_ssize_t count = PyTuple_Size(columns);
    if (separator >= 0x80 || separator == '"' || separator == '\n' || separator == '\r' ||
        fields < 1 || count > 64) {
        PyErr_SetString(PyExc_ValueError, "such records cannot be counted");
        return NULL;
    }
    CsvTable *table = calloc(1, sizeof *table);
    PyObject *capsule = NULL;
    if (!table || !begin_csv(table, (size_t)count)) {
        PyErr_NoMemory();
    } else {
        table->separator = separator;
        table->fields = (size_t)fields;
        table->is_scalar = is_scalar;
        for (Py_ssize_t place = 0; place < count; place++) {
            Py_ssize_t column = PyLong_AsSsize_t(PyTuple_GetItem(columns, place));
            if (column < 0 || column >= fields) {
                if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "no such column");
                break;
            }
            table->keys[place].column = (size_t)column;
        }
        bool is_sound = !PyErr_Occurred() && read_number_column(number, table->fields, &table->number);
        if (is_sound) capsule = PyCapsule_New(table, TABLE_NAME, free_table);
    }
    if (!capsule && table) {
        free_csv(table);
        free(table);
    }
    return capsule;
}

/* count_csv(table, buffer, end, /): how many records were added; None if they are not served. */
PyObject *count_csv(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *capsule;
    Py_buffer buffer;
    Py_ssize_t end;
    if (!PyArg_ParseTuple(arguments, "Oy*n", &capsule, &buffer, &end)) return NULL;
    CsvTable *table = PyCapsule_GetPointer(capsule, TABLE_NAME);
    bool is_ready = false;
    if (table && (end < 0 || end > buffer.len - PADDING))
        PyErr_SetString(PyExc_ValueError, "the buffer has no room to spare");
    else if (table && table->is_busy)
        PyErr_SetString(PyExc_ValueError, "the table is in use");
    else
        is_ready = table != NULL;
    Status status = NOT_SERVED;
    uint64_t lines = 0;
    if (is_ready) {
        table->is_busy = true;
        Py_BEGIN_ALLOW_THREADS;
        status = count_block(table, buffer.buf, (size_t)end, &lines);
        Py_END_ALLOW_THREADS;
        table->is_busy = false;
    }
    PyBuffer_Release(&buffer);
    if (!is_ready) return NULL;
    if (status == NO_MEMORY) return PyErr_NoMemory();
    if (status != SOUND) return Py_NewRef(Py_None);
    return PyLong_FromUnsignedLongLong(lines);
}

/* The texts of a key by their codes, as bytes; the first is None. */
static PyObject *level_list(const CsvTable *table, const LevelTable *key) {
    PyObject *list = PyList_New((Py_ssize_t)key->count + 1);
    if (!list) return NULL;
    PyList_SetItem(list, 0, Py_NewRef(Py_None));
    for (size_t code = 1; code <= key->count; code++) {
        const LevelText *text = &key->texts[code];
        const char *at = text->length ? (const char *)table->texts + text->at : "";
        PyObject *bytes = PyBytes_FromStringAndSize(at, (Py_ssize_t)text->length);
        if (!bytes || PyList_SetItem(list, (Py_ssize_t)code, bytes) < 0) {
            Py_DecRef(list);
            return NULL;
        }
    }
    return list;
}

/* csv_counts(table, /): the texts of each key, the codes of cells as uint16, their rows as int64 and
   their sums as uint64, four each; the largest weight and the largest error of rounding. */
PyObject *csv_counts(PyObject *module, PyObject *capsule) {
    (void)module;
    CsvTable *table = PyCapsule_GetPointer(capsule, TABLE_NAME);
    if (!table) return NULL;
    if (table->is_busy) {
        PyErr_SetString(PyExc_ValueError, "the table is in use");
        return NULL;
    }
    PyObject *lists = PyList_New((Py_ssize_t)table->key_count);
    if (!lists) return NULL;
    for (size_t number = 0; number < table->key_count; number++) {
        PyObject *list = level_list(table, &table->keys[number]);
        if (!list || PyList_SetItem(lists, (Py_ssize_t)number, list) < 0) {
            Py_DecRef(lists);
            return NULL;
        }
    }
    size_t codes_size = table->cell_count * table->key_count * sizeof *table->codes;
    size_t rows_size = table->cell_count * sizeof *table->rows;
    return Py_BuildValue("Ny#y#y#dd", lists, (const char *)table->codes, (Py_ssize_t)codes_size,
                         (const char *)table->rows, (Py_ssize_t)rows_size, (const char *)table->sums,
                         (Py_ssize_t)rows_size * 4, table->number.largest, table->number.error);
}
