/* Integers stored as runs, as Parquet stores indices and levels, and what each adds to a sum. */
#ifndef FAIRAUDIT_RUNS_H
#define FAIRAUDIT_RUNS_H

#include "parquet.h"

/* What no sum of sound terms reaches, and no sum of columns carries beyond 32 bits. */
enum { NO_TERM = MOST_CELLS };

/* Codes are written 32 at a time. */
enum { SPARE_CODES = 31 };

/* The terms of a dictionary, filled up to a power of two: an index of `bits` bits has an entry. */
typedef struct {
    uint32_t *terms;
    size_t count;
    unsigned bits;
} LookUp;

/* Integers stored as runs of one value or of packed bits; `left` are those of the open run. */
typedef struct {
    Bytes bytes;
    unsigned width;
    bool is_packed;
    uint64_t left;
    uint32_t value;
    const uint8_t *bits;
    uint64_t bit;
} Runs;

uint64_t load(const uint8_t *at, size_t size);
bool open_run(Runs *runs);
bool add_values(Runs *runs, const LookUp *look_up, uint32_t *sums, size_t count);
bool unpack_codes(Runs *runs, uint8_t *codes, size_t count);
bool read_levels(Runs *runs, uint8_t *levels, size_t count);

#endif
