/* CSV: types, limits and functions in plain C, without Python: so a fuzzer calls them, too.

   Nothing here trusts the bytes of a block; where it ends, and that 64 more bytes may be read
   behind its end, it is told by its caller. */
#ifndef FAIRAUDIT_CSV_H
#define FAIRAUDIT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parquet.h"

enum { PADDING = 64 };

/* So many texts a column may have, and combinations of them a table; `FIRST_SLOTS` are those of a new
   table. A fuzzer has fewer, so that it reaches them. */
#ifndef MOST_LEVELS
enum { MOST_LEVELS = 4095, LEVEL_SLOTS = 16384, MOST_COMBINATIONS = 1 << 20, FIRST_SLOTS = 1 << 12 };
#endif

/* A text of a column: its first eight bytes, and where all of them stand among the texts. */
typedef struct {
    uint64_t word;
    size_t at, length;
} LevelText;

/* The texts of one column; code 0 is an empty field without quotes, which readers take for null. */
typedef struct {
    size_t column, count;
    LevelText texts[MOST_LEVELS + 1];
    uint16_t slots[LEVEL_SLOTS];
} LevelTable;

/* The column of weights or of people, if there is one, and the sign of its decimals. */
typedef struct {
    bool is_there, is_weight;
    size_t column;
    uint8_t decimal;
    double largest, error;
} NumberColumn;

/* What one thread has counted: combinations of codes, `key_count` each, and of each the rows, and the
   `sums` of `sums.h` if there is a column of numbers. */
typedef struct {
    uint8_t separator;
    size_t fields, key_count;
    LevelTable *keys;
    uint8_t *texts;
    size_t texts_used, texts_size;
    uint16_t *codes;
    NumberColumn number;
    uint64_t *rows, *sums;
    uint32_t *slots;
    size_t cell_count, slot_count;
    uint32_t *ends; // of the fields of a block
    size_t ends_size;
    uint8_t *scratch;
    size_t scratch_size;
    bool is_scalar, is_busy;
} CsvTable;

bool begin_csv(CsvTable *table, size_t key_count);
void free_csv(CsvTable *table);

/* Counts a block of whole lines, at least one; NOT_SERVED if one is blank, ill-formed or not UTF-8, or
   if the table has no room. */
Status count_block(CsvTable *table, const uint8_t *block, size_t size, uint64_t *lines);

/* Whether a text is digits, at most with decimals and an exponent, and the double that is nearest. */
bool read_number(const uint8_t *at, size_t length, uint8_t decimal, double *number);

/* The ends of fields in `table->ends`; the same by either instruction set. */
Status find_fields(CsvTable *table, const uint8_t *block, size_t size, uint64_t *lines);

#endif
