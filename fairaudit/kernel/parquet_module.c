/* Functions that Python calls for Parquet: checks of arguments, errors; pages as buffers, columns
   as tuples, counts in an array. */
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "parquet.h"

/* A column as Python gives it: its buffers are held until it has been counted. */
typedef struct {
    Page *pages;
    Py_buffer chunk, table, unpacked, terms, plain_terms, edges;
} Held;

static Bytes bytes_of(const Py_buffer *buffer) {
    static const uint8_t nothing = 0;
    const uint8_t *at = buffer->len ? buffer->buf : &nothing;
    return (Bytes){at, at + buffer->len};
}

static PyObject *header_as_tuple(const PageHeader *header, Py_ssize_t start) {
    PyObject *checksum = header->checksum == NO_CHECKSUM ? Py_NewRef(Py_None)
                                                         : PyLong_FromLongLong(header->checksum);
    return Py_BuildValue(
        "LnLLNLLLLLLLO", (long long)header->kind, start, (long long)header->size,
        (long long)header->unpacked, checksum, (long long)header->values,
        (long long)header->encoding, (long long)header->levels_encoding, (long long)header->nulls,
        (long long)header->rows, (long long)header->levels_size, (long long)header->repeats_size,
        header->is_packed ? Py_True : Py_False);
}

/* The checksum of a page with the place of its bytes, appended to a list; false with an exception. */
static bool append_checksum(PyObject *checksums, const CheckedPage *page, const uint8_t *begin) {
    PyObject *entry = Py_BuildValue(
        "nLL", (Py_ssize_t)(page->start - begin), (long long)page->size, (long long)page->checksum);
    bool is_kept = entry && PyList_Append(checksums, entry) == 0;
    Py_XDECREF(entry);
    return is_kept;
}

/* check_pages(chunk, values, width, repeats, /): the checksums of pages that have one, with the
   places and the sizes of these pages; None where the pages are not sound. */
PyObject *check_pages(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer buffer;
    long long values, width;
    int repeats;
    if (!PyArg_ParseTuple(arguments, "y*LLp", &buffer, &values, &width, &repeats)) return NULL;
    PyObject *checksums = PyList_New(0);
    Bytes bytes = bytes_of(&buffer);
    const uint8_t *begin = bytes.at;
    CheckedPage page;
    bool is_sound = values >= 0 && width >= 0 && width <= INT32_MAX;
    int64_t left = values;
    while (checksums && is_sound && bytes.at < bytes.end) {
        is_sound = check_page(&bytes, values, width, repeats, &page) == SOUND && page.values <= left;
        if (!is_sound) break;
        left -= page.values;
        if (page.checksum != NO_CHECKSUM && !append_checksum(checksums, &page, begin))
            Py_CLEAR(checksums);
    }
    PyBuffer_Release(&buffer);
    if (!checksums || (is_sound && !left)) return checksums;
    Py_DECREF(checksums);
    return Py_NewRef(Py_None);
}

/* A table as its bytes, with the packed bodies, and how many bytes these are unpacked. */
static PyObject *table_as_tuple(Bytes chunk, const PageTable *table) {
    PyObject *packed = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)table->packed);
    if (!packed) return NULL;
    uint8_t *to = (uint8_t *)PyBytes_AsString(packed);
    Py_BEGIN_ALLOW_THREADS;
    copy_packed(chunk, table, to);
    Py_END_ALLOW_THREADS;
    Py_ssize_t size = (Py_ssize_t)(table->count * sizeof *table->places);
    return Py_BuildValue(
        "y#NL", table->places ? (const char *)table->places : "", size, packed,
        (long long)table->unpacked);
}

/* value_pages(chunk, is optional, is packed, /): the table of the pages of values, their packed
   bodies, and how many bytes these are unpacked; None where they are not served. */
PyObject *value_pages(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer buffer;
    int is_optional, is_packed;
    if (!PyArg_ParseTuple(arguments, "y*pp", &buffer, &is_optional, &is_packed)) return NULL;
    Bytes chunk = bytes_of(&buffer);
    PageTerms terms = {is_optional, is_packed};
    PageTable table;
    PyObject *result = NULL;
    Status status;
    Py_BEGIN_ALLOW_THREADS;
    status = find_pages(chunk, &terms, &table);
    Py_END_ALLOW_THREADS;
    if (status == SOUND) result = table_as_tuple(chunk, &table);
    else if (status == NO_MEMORY) PyErr_NoMemory();
    else if (status == NOT_SERVED) result = Py_NewRef(Py_None);
    else PyErr_SetString(PyExc_ValueError, "the pages of a column are damaged");
    free(table.places);
    PyBuffer_Release(&buffer);
    return result;
}

/* first_header(content, /): the header of the page that the bytes begin with. */
PyObject *first_header(PyObject *module, PyObject *content) {
    (void)module;
    Py_buffer buffer;
    if (PyObject_GetBuffer(content, &buffer, PyBUF_SIMPLE) < 0) return NULL;
    Bytes bytes = bytes_of(&buffer);
    const uint8_t *begin = bytes.at;
    PageHeader header;
    PyObject *result = NULL;
    if (read_page_header(&bytes, &header) == SOUND)
        result = header_as_tuple(&header, bytes.at - begin);
    else
        PyErr_SetString(PyExc_ValueError, "the header of a page is damaged");
    PyBuffer_Release(&buffer);
    return result;
}

static void release(Held *held, Py_ssize_t count) {
    for (Py_ssize_t number = 0; number < count; number++) {
        Held *column = &held[number];
        PyBuffer_Release(&column->chunk);
        PyBuffer_Release(&column->table);
        PyBuffer_Release(&column->unpacked);
        PyBuffer_Release(&column->terms);
        PyBuffer_Release(&column->plain_terms);
        PyBuffer_Release(&column->edges);
        PyMem_Free(column->pages);
    }
    PyMem_Free(held);
}

/* The pages of a column, from the bytes of its table, chunk and unpacked bodies. */
static bool read_pages(Held *held, Column *column) {
    Bytes table = bytes_of(&held->table);
    Bytes chunk = bytes_of(&held->chunk), unpacked = bytes_of(&held->unpacked);
    size_t count = (size_t)(table.end - table.at) / sizeof(PagePlace);
    Page *pages = held->pages = PyMem_Calloc(count + 1, sizeof *pages);
    if (!pages) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t number = 0; number < count; number++) {
        PagePlace place;
        memcpy(&place, table.at + number * sizeof place, sizeof place);
        if (!open_place(&place, chunk, unpacked, &pages[number])) {
            PyErr_SetString(PyExc_ValueError, "a page is not in the bytes of its column");
            return false;
        }
    }
    column->pages = pages;
    column->page_count = count;
    return true;
}

static bool are_terms(const Py_buffer *buffer) {
    return buffer->len % (Py_ssize_t)sizeof(uint32_t) == 0 &&
           buffer->len / (Py_ssize_t)sizeof(uint32_t) <= MOST_TERMS;
}

/* A column by its tuple: (chunk, table of pages, unpacked bodies, is optional, terms, null term,
   plain kind, base, plain terms, edges, or None where it is not cut). */
static bool read_column(PyObject *entry, Held *held, Column *column) {
    int is_optional, plain_kind;
    unsigned int null_term;
    long long base;
    if (!PyTuple_Check(entry)) {
        PyErr_SetString(PyExc_TypeError, "a column is a tuple");
        return false;
    }
    if (!PyArg_ParseTuple(
            entry, "y*y*y*py*IiLy*z*", &held->chunk, &held->table, &held->unpacked, &is_optional,
            &held->terms, &null_term, &plain_kind, &base, &held->plain_terms, &held->edges))
        return false;
    if (!are_terms(&held->terms) || !are_terms(&held->plain_terms) || plain_kind < NO_PLAIN ||
        plain_kind > DOUBLE) {
        PyErr_SetString(PyExc_ValueError, "a column has too many terms, or is of no known kind");
        return false;
    }
    *column = (Column){
        .is_optional = is_optional,
        .terms = (const uint32_t *)bytes_of(&held->terms).at,
        .term_count = (size_t)held->terms.len / sizeof(uint32_t),
        .plain_terms = (const uint32_t *)bytes_of(&held->plain_terms).at,
        .plain_count = (size_t)held->plain_terms.len / sizeof(uint32_t),
        .null_term = null_term, .plain_kind = (PlainKind)plain_kind, .base = base,
        .is_cut = held->edges.buf != NULL, .edges = (const double *)bytes_of(&held->edges).at,
        .edge_count = (size_t)held->edges.len / sizeof(double)};
    return read_pages(held, column);
}

/* A measure by its tuple: (column, values, whether of weights). */
static bool read_measure(PyObject *entry, Held *held, Py_buffer *values, Measure *measure) {
    PyObject *column;
    int is_weight;
    if (!PyTuple_Check(entry)) {
        PyErr_SetString(PyExc_TypeError, "a measure is a tuple");
        return false;
    }
    if (!PyArg_ParseTuple(entry, "Oy*p", &column, values, &is_weight)) return false;
    if (!read_column(column, held, &measure->column)) return false;
    if ((size_t)values->len != measure->column.term_count * sizeof(double)) {
        PyErr_SetString(PyExc_ValueError, "a measure has a value for each term");
        return false;
    }
    measure->values = (const double *)bytes_of(values).at;
    measure->is_weight = is_weight;
    return true;
}

/* Counts without the GIL: the largest weight and the largest error of rounding, or None where it
   is not served; the exception where something is damaged. */
static PyObject *count_held(
    const Column *columns, Py_ssize_t count, Measure *measure, uint64_t rows,
    const Py_buffer *cells) {
    Status status;
    size_t cell_count = (size_t)cells->len / sizeof(uint64_t) / (measure ? 4 : 1);
    Py_BEGIN_ALLOW_THREADS;
    status = count_rows(columns, (size_t)count, measure, rows, cells->buf, cell_count);
    Py_END_ALLOW_THREADS;
    if (status == NO_MEMORY) return PyErr_NoMemory();
    if (status == NOT_SERVED) return Py_NewRef(Py_None);
    if (status == SOUND)
        return Py_BuildValue(
            "dd", measure ? measure->largest : 0.0, measure ? measure->error : 0.0);
    PyErr_SetString(PyExc_ValueError, "the values of a page are damaged");
    return NULL;
}

/* count_parquet(columns, measure or None, rows, cells, /): adds the rows of a row group to the
   counts of cells, or with a measure, to their four words. */
PyObject *count_parquet(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *list, *with, *result = NULL;
    long long rows;
    Py_buffer cells, values = {0};
    Measure measure = {0};
    if (!PyArg_ParseTuple(arguments, "O!OLw*", &PyList_Type, &list, &with, &rows, &cells))
        return NULL;
    Py_ssize_t count = PyList_Size(list), read = 0;
    Column columns[MOST_COLUMNS];
    Held *held = PyMem_Calloc((size_t)count + 1, sizeof *held);
    if (!held) {
        PyErr_NoMemory();
    } else if (count > MOST_COLUMNS || rows < 0 || cells.len % (Py_ssize_t)sizeof(uint64_t)) {
        PyErr_SetString(PyExc_ValueError, "these columns and cells cannot be counted");
    } else {
        while (read < count && read_column(PyList_GetItem(list, read), &held[read], &columns[read]))
            read++;
        Measure *measured = with == Py_None ? NULL : &measure;
        bool is_ready = read == count &&
                        (!measured || read_measure(with, &held[count], &values, measured));
        if (is_ready) result = count_held(columns, count, measured, (uint64_t)rows, &cells);
    }
    if (held) release(held, count + 1);
    PyBuffer_Release(&values);
    PyBuffer_Release(&cells);
    return result;
}
