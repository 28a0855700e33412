/* A column while it is read, page by page. */
#ifndef FAIRAUDIT_COLUMNS_H
#define FAIRAUDIT_COLUMNS_H

#include "runs.h"

/* So many rows are counted at once: they stay in the cache from their bits to their counts. */
enum { BLOCK = 4096 };

/* A column while it is read: its open page, of which `left` rows are to come. */
typedef struct {
    const Column *column;
    LookUp look_up;
    size_t next_page;
    uint64_t left;
    bool has_levels;
    Runs levels, values;
    const Page *page;
    Bytes plain;
} Reader;

Status open_reader(Reader *reader, const Column *column);
Status open_page(Reader *reader);
/* How many of the next rows lie in one page: from 1 to `most`. The caller reads them. */
Status take_rows(Reader *reader, size_t most, size_t *count);
Status add_column(Reader *reader, uint32_t *sums, size_t count);

bool is_by_dictionary(const Page *page);
size_t plain_size(const Column *column);
double number_at(const Column *column, const uint8_t *at);

#endif
