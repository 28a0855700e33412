/* Parquet: types, limits and functions in plain C, without Python: so a fuzzer calls them, too.

   Nothing here trusts a length, a count or a value that stands in the bytes. What it is given by
   its caller, such as where a buffer ends, it trusts. */
#ifndef FAIRAUDIT_PARQUET_H
#define FAIRAUDIT_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What comes of reading: `NOT_SERVED` is sound, as far as is known, and for another reader. */
typedef enum { SOUND, DAMAGED, NOT_SERVED, NO_MEMORY } Status;

/* Bytes that are still to be read. */
typedef struct {
    const uint8_t *at, *end;
} Bytes;

/* Kinds of pages, and the encodings of values that are read here. */
enum { DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 };
enum { PLAIN, PLAIN_DICTIONARY = 2, RLE, RLE_DICTIONARY = 8 };

#define NO_CHECKSUM INT64_MIN

/* The header of a page. Fields that are absent are -1; `is_packed` is of the second version. */
typedef struct {
    int64_t kind, unpacked, size, checksum;
    int64_t values, encoding, levels_encoding;
    int64_t nulls, rows, levels_size, repeats_size;
    bool is_packed;
} PageHeader;

Status read_page_header(Bytes *bytes, PageHeader *header);

/* A page of values, unpacked. `levels` are the definition levels of the second version; in the
   first, they stand at the beginning of `body`. */
typedef struct {
    bool is_second;
    int64_t encoding;
    uint64_t values;
    Bytes levels, body;
} Page;

/* How PLAIN values are stored: not at all, by bits, or as numbers. */
typedef enum { NO_PLAIN, BITS, INT32, UINT32, INT64, FLOAT, DOUBLE } PlainKind;

/* What each value of a column adds to the number of a row's cell: `terms` by the place in its
   dictionary, `plain_terms` by the distance from `base`, or, where it `is_cut`, by how many of the
   ascending `edges` it has reached, and one more for NaN; `null_term` for none. */
typedef struct {
    const Page *pages;
    size_t page_count;
    bool is_optional;
    const uint32_t *terms, *plain_terms;
    size_t term_count, plain_count;
    uint32_t null_term;
    PlainKind plain_kind;
    int64_t base;
    bool is_cut;
    const double *edges;
    size_t edge_count;
} Column;

/* What rows hold beside their cells: weights or people. `values` are those of the dictionary, whose
   terms are their places. Each cell has the four `sums` of `sums.h`; `largest` and `error` are the
   largest weight and the largest error of rounding. */
typedef struct {
    Column column;
    const double *values;
    bool is_weight;
    uint64_t *sums;
    double largest, error;
} Measure;

enum { MOST_CELLS = 1 << 24, MOST_COLUMNS = 64, MOST_TERMS = 1 << 17 };

Status count_rows(
    const Column *columns, size_t column_count, Measure *measure, uint64_t rows, uint64_t *cells,
    size_t cell_count);

#endif
