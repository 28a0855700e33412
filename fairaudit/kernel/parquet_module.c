/* Functions that Python calls for Parquet: checks of arguments, errors; pages as buffers, columns
   as tuples, counts in an array. */
#include "kernel.h"
#include "parquet.h"

/* A column as Python gives it: its buffers are held until it has been counted. */
typedef struct {
    Page *pages;
    Py_buffer *buffers, terms, plain_terms, edges;
    Py_ssize_t buffer_count;
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

/* Appends the header that `bytes` stand at, and moves on to the next; false with an exception. */
static bool append_header(PyObject *headers, Bytes *bytes, const uint8_t *begin) {
    PageHeader header;
    if (read_page_header(bytes, &header) != SOUND || header.size > bytes->end - bytes->at) {
        PyErr_SetString(PyExc_ValueError, "the header of a page is damaged");
        return false;
    }
    PyObject *entry = header_as_tuple(&header, bytes->at - begin);
    bool is_kept = entry && PyList_Append(headers, entry) == 0;
    Py_XDECREF(entry);
    bytes->at += header.size;
    return is_kept;
}

/* page_headers(chunk, /): the headers of all pages in the bytes of a column. */
PyObject *page_headers(PyObject *module, PyObject *chunk) {
    (void)module;
    Py_buffer buffer;
    if (PyObject_GetBuffer(chunk, &buffer, PyBUF_SIMPLE) < 0) return NULL;
    PyObject *headers = PyList_New(0);
    Bytes bytes = bytes_of(&buffer);
    const uint8_t *begin = bytes.at;
    while (headers && bytes.at < bytes.end)
        if (!append_header(headers, &bytes, begin)) Py_CLEAR(headers);
    PyBuffer_Release(&buffer);
    return headers;
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
        for (Py_ssize_t place = 0; place < column->buffer_count; place++)
            PyBuffer_Release(&column->buffers[place]);
        PyBuffer_Release(&column->terms);
        PyBuffer_Release(&column->plain_terms);
        PyBuffer_Release(&column->edges);
        PyMem_Free(column->buffers);
        PyMem_Free(column->pages);
    }
    PyMem_Free(held);
}

/* A page by its tuple: (is of the second version, encoding, values, levels, body). */
static bool read_page_tuple(PyObject *entry, Held *held, Page *page) {
    int is_second;
    long long encoding, values;
    Py_buffer *levels = &held->buffers[held->buffer_count], *body = levels + 1;
    if (!PyTuple_Check(entry)) {
        PyErr_SetString(PyExc_TypeError, "a page is a tuple");
        return false;
    }
    if (!PyArg_ParseTuple(entry, "pLLy*y*", &is_second, &encoding, &values, levels, body))
        return false;
    held->buffer_count += 2;
    if (values < 0) {
        PyErr_SetString(PyExc_ValueError, "a page has a number of values");
        return false;
    }
    *page = (Page){is_second, encoding, (uint64_t)values, bytes_of(levels), bytes_of(body)};
    return true;
}

static bool are_terms(const Py_buffer *buffer) {
    return buffer->len % (Py_ssize_t)sizeof(uint32_t) == 0 &&
           buffer->len / (Py_ssize_t)sizeof(uint32_t) <= MOST_TERMS;
}

/* A column by its tuple: (pages, is optional, terms, null term, plain kind, base, plain terms,
   edges, or None where it is not cut). */
static bool read_column(PyObject *entry, Held *held, Column *column) {
    PyObject *pages;
    int is_optional, plain_kind;
    unsigned int null_term;
    long long base;
    if (!PyTuple_Check(entry)) {
        PyErr_SetString(PyExc_TypeError, "a column is a tuple");
        return false;
    }
    if (!PyArg_ParseTuple(
            entry, "O!py*IiLy*z*", &PyList_Type, &pages, &is_optional, &held->terms, &null_term,
            &plain_kind, &base, &held->plain_terms, &held->edges))
        return false;
    Py_ssize_t count = PyList_Size(pages);
    held->pages = PyMem_Calloc((size_t)count + 1, sizeof *held->pages);
    held->buffers = PyMem_Calloc((size_t)count * 2 + 2, sizeof *held->buffers);
    if (!held->pages || !held->buffers) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t place = 0; place < count; place++)
        if (!read_page_tuple(PyList_GetItem(pages, place), held, &held->pages[place])) return false;
    if (!are_terms(&held->terms) || !are_terms(&held->plain_terms) || plain_kind < NO_PLAIN ||
        plain_kind > DOUBLE) {
        PyErr_SetString(PyExc_ValueError, "a column has too many terms, or is of no known kind");
        return false;
    }
    *column = (Column){
        .pages = held->pages, .page_count = (size_t)count, .is_optional = is_optional,
        .terms = (const uint32_t *)bytes_of(&held->terms).at,
        .term_count = (size_t)held->terms.len / sizeof(uint32_t),
        .plain_terms = (const uint32_t *)bytes_of(&held->plain_terms).at,
        .plain_count = (size_t)held->plain_terms.len / sizeof(uint32_t),
        .null_term = null_term, .plain_kind = (PlainKind)plain_kind, .base = base,
        .is_cut = held->edges.buf != NULL, .edges = (const double *)bytes_of(&held->edges).at,
        .edge_count = (size_t)held->edges.len / sizeof(double)};
    return true;
}

/* A measure by its tuple: (column, values, whether of weights, sums). */
static bool read_measure(PyObject *entry, Held *held, Py_buffer *values, Py_buffer *sums,
                         Measure *measure, size_t cell_count) {
    PyObject *column;
    int is_weight;
    if (!PyTuple_Check(entry)) {
        PyErr_SetString(PyExc_TypeError, "a measure is a tuple");
        return false;
    }
    if (!PyArg_ParseTuple(entry, "Oy*pw*", &column, values, &is_weight, sums)) return false;
    if (!read_column(column, held, &measure->column)) return false;
    if ((size_t)values->len != measure->column.term_count * sizeof(double) ||
        (size_t)sums->len != cell_count * 4 * sizeof(uint64_t)) {
        PyErr_SetString(PyExc_ValueError, "a measure has a value for each term, and four sums a cell");
        return false;
    }
    measure->values = (const double *)bytes_of(values).at;
    measure->is_weight = is_weight;
    measure->sums = sums->buf;
    return true;
}

/* Counts without the GIL: the largest weight and the largest error of rounding, or None where it
   is not served; the exception where something is damaged. */
static PyObject *count_held(
    const Column *columns, Py_ssize_t count, Measure *measure, uint64_t rows,
    const Py_buffer *cells) {
    Status status;
    Py_BEGIN_ALLOW_THREADS;
    status = count_rows(
        columns, (size_t)count, measure, rows, cells->buf, (size_t)cells->len / sizeof(uint64_t));
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
   counts of cells. */
PyObject *count_parquet(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *list, *with, *result = NULL;
    long long rows;
    Py_buffer cells, values = {0}, sums = {0};
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
        size_t cell_count = (size_t)cells.len / sizeof(uint64_t);
        while (read < count && read_column(PyList_GetItem(list, read), &held[read], &columns[read]))
            read++;
        bool is_ready = read == count && (with == Py_None || read_measure(with, &held[count], &values, &sums, &measure, cell_count));
        Measure *measured = with == Py_None ? NULL : &measure;
        if (is_ready) result = count_held(columns, count, measured, (uint64_t)rows, &cells);
    }
    if (held) release(held, count + 1);
    PyBuffer_Release(&values);
    PyBuffer_Release(&sums);
    PyBuffer_Release(&cells);
    return result;
}
