/* Columns of few values each, whose codes stand side by side in one code of a row. */
#ifndef FAIRAUDIT_BUNDLES_H
#define FAIRAUDIT_BUNDLES_H

#include "columns.h"

enum { BUNDLE_BITS = 12 };

/* Columns whose codes take at most so many bits together, at least one each: the first is the
   highest. Each code has the sum of their terms. */
typedef struct {
    struct {
        Reader *reader;
        unsigned bits;
    } columns[BUNDLE_BITS];
    size_t column_count;
    unsigned bits;
    uint32_t *terms;
} Bundle;

unsigned code_bits(const Reader *reader);
void add_to_bundle(Bundle *bundle, Reader *reader, unsigned bits);
Status open_bundle(Bundle *bundle);
Status read_bundle(Bundle *bundle, uint16_t *codes, size_t count);

#endif
