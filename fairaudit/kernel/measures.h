/* What rows hold beside their cells: weights or people. */
#ifndef FAIRAUDIT_MEASURES_H
#define FAIRAUDIT_MEASURES_H

#include "columns.h"

/* A measure while it is read: what each entry of its dictionary adds to the four words of a cell,
   and which entries rows have. */
typedef struct {
    Reader reader;
    Measure *measure;
    uint64_t (*words)[4];
    uint8_t *is_used;
} MeasureReader;

Status open_measure(MeasureReader *reader, Measure *measure);
Status add_measure(MeasureReader *reader, const uint32_t *sums, uint64_t *cells, size_t count);
Status close_measure(MeasureReader *reader, Status status);

#endif
