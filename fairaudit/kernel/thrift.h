/* Thrift's compact protocol: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md */
#ifndef FAIRAUDIT_THRIFT_H
#define FAIRAUDIT_THRIFT_H

#include "parquet.h"

/* The types of fields, and how deep values may stand in others, which is deeper than any need be. */
enum { STOP, TRUE, FALSE, BYTE, I16, I32, I64, FLOAT64, BINARY, LIST, SET, MAP, STRUCT };
enum { DEEPEST = 32 };

bool read_varint(Bytes *bytes, uint64_t *number);
bool read_integer(Bytes *bytes, int64_t *number);
bool read_field(Bytes *bytes, int64_t *field, int *type);
bool skip_bytes(Bytes *bytes, uint64_t count);

#endif
