/* Thrift for Python: a struct as a dictionary of its fields by their numbers. */
#include "kernel.h"
#include "thrift.h"

static PyObject *read_struct(Bytes *bytes, int depth);
static PyObject *read_list(Bytes *bytes, int depth);

static PyObject *read_binary(Bytes *bytes, uint64_t size) {
    const uint8_t *start = bytes->at;
    if (!skip_bytes(bytes, size)) return NULL;
    return PyBytes_FromStringAndSize((const char *)start, (Py_ssize_t)size);
}

/* A value of any type but a truth, which a field alone has; NULL where there is none, or it is for
   the reader in Python. */
static PyObject *read_value(Bytes *bytes, int type, int depth) {
    uint64_t size;
    int64_t number;
    if (depth > DEEPEST) return NULL;
    switch (type) {
        case I16:
        case I32:
        case I64: return read_integer(bytes, &number) ? PyLong_FromLongLong(number) : NULL;
        case FLOAT64: return read_binary(bytes, 8);
        case BINARY: return read_varint(bytes, &size) ? read_binary(bytes, size) : NULL;
        case LIST:
        case SET: return read_list(bytes, depth);
        case STRUCT: return read_struct(bytes, depth);
        default: return NULL;
    }
}

/* The elements of a list, each at least a byte long, so that no count can lead beyond the bytes. */
static PyObject *read_list(Bytes *bytes, int depth) {
    if (bytes->at == bytes->end) return NULL;
    uint64_t count = *bytes->at >> 4;
    int type = *bytes->at++ & 15;
    if (count == 15 && !read_varint(bytes, &count)) return NULL;
    PyObject *list = PyList_New(0);
    for (; list && count; count--) {
        PyObject *value = read_value(bytes, type, depth + 1);
        if (!value || PyList_Append(list, value) < 0) Py_CLEAR(list);
        Py_XDECREF(value);
    }
    return list;
}

/* Keeps a value by the number of its field; false where there is none. */
static bool keep_value(PyObject *fields, int64_t field, PyObject *value) {
    PyObject *number = PyLong_FromLongLong(field);
    bool is_kept = number && value && PyDict_SetItem(fields, number, value) == 0;
    Py_XDECREF(number);
    Py_XDECREF(value);
    return is_kept;
}

static PyObject *read_struct(Bytes *bytes, int depth) {
    int64_t field = 0;
    PyObject *fields = PyDict_New();
    for (int type; fields;) {
        bool is_read = read_field(bytes, &field, &type);
        if (is_read && type == STOP) break;
        bool is_truth = type == TRUE || type == FALSE;
        PyObject *value = NULL;
        if (is_read) value = is_truth ? PyBool_FromLong(type == TRUE) : read_value(bytes, type, depth + 1);
        if (!keep_value(fields, field, value)) Py_CLEAR(fields);
    }
    return fields;
}

/* thrift_struct(content, /): the struct that the bytes begin with; None where they hold what is for
   the reader in Python, or nothing sound. */
PyObject *thrift_struct(PyObject *module, PyObject *content) {
    (void)module;
    Py_buffer buffer;
    if (PyObject_GetBuffer(content, &buffer, PyBUF_SIMPLE) < 0) return NULL;
    const uint8_t *begin = buffer.buf;
    Bytes bytes = {begin, begin + buffer.len};
    PyObject *fields = buffer.len ? read_struct(&bytes, 0) : NULL;
    PyBuffer_Release(&buffer);
    if (fields || PyErr_Occurred()) return fields;
    return Py_NewRef(Py_None);
}
