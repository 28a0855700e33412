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

/* A page whose header fits what is known of its column: its bytes, how many values, and the checksum
   of those bytes, or `NO_CHECKSUM`. */
typedef struct {
    const uint8_t *start;
    int64_t size, values, checksum;
} CheckedPage;

/* The page that `bytes` stand at, of a column of so many values, whose entries take `width` bytes at
   least, and which `repeats` in a row, or does not. `bytes` then stand behind it. */
Status check_page(Bytes *bytes, int64_t values, int64_t width, bool repeats, CheckedPage *page);

/* Where a page of values stands: its levels in the bytes of its column, its body there, too, or,
   where it `is_packed`, in what all packed bodies of the column are unpacked to. The packed body
   stands in the bytes of the column; nothing is unpacked of an empty one. */
typedef struct {
    int64_t is_second, encoding, values, levels, levels_size;
    int64_t is_packed, body, body_size, packed, packed_size;
} PagePlace;

/* The pages of a column, how many bytes their packed bodies take, and how many unpacked. */
typedef struct {
    PagePlace *places;
    size_t count, room;
    int64_t packed, unpacked;
} PageTable;

/* Whether a column may be null, and whether its pages are packed. */
typedef struct {
    bool is_optional, is_packed;
} PageTerms;

/* Finds the pages of values in the bytes of a column; whoever calls it frees `places`. */
Status find_pages(Bytes chunk, const PageTerms *terms, PageTable *table);

/* Writes all packed bodies, one after the other. */
void copy_packed(Bytes chunk, const PageTable *table, uint8_t *packed);

/* A page by its place; false where the bytes do not reach so far. */
bool open_place(const PagePlace *place, Bytes chunk, Bytes unpacked, Page *page);

/* How PLAIN values are stored: not at all, by bits, or as numbers. */
typedef enum { NO_PLAIN, BITS, INT32, UINT32, INT64, FLOAT, DOUBLE } PlainKind;

/* What each value of a column adds to the number of a row's cell: `terms` by the place in its
   dictionary, `plain_terms` by the distance from `base`, or, where it `is_cut`, by how many of the
   ascending `edges` it has reached, and one more for NaN; `null_term` for none, or `NO_NULLS` where
   none is expected. */
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
   terms are their places; `largest` and `error` are the largest weight and the largest error of
   rounding. A cell then has the four words that `split_fixed` of `sums.h` tells. */
typedef struct {
    Column column;
    const double *values;
    bool is_weight;
    double largest, error;
} Measure;

#define NO_NULLS UINT32_MAX

enum { MOST_CELLS = 1 << 24, MOST_COLUMNS = 64, MOST_TERMS = 1 << 17 };

Status count_rows(
    const Column *columns, size_t column_count, Measure *measure, uint64_t rows, uint64_t *cells,
    size_t cell_count);

#endif
