/* Rows counted by the codes that Parquet stores: each column adds a term to the number of a row's
   cell, so that texts are never made of them. A block of rows stays in the cache from the bits of
   the first column to the counts. https://parquet.apache.org/docs/file-format/data-pages/encodings/ */
#include <stdlib.h>
#include <string.h>

#include "runs.h"
#include "sums.h"

enum { BLOCK = 4096, LANES = 4, MOST_CELLS_IN_LANES = 1 << 14 };

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

/* Bytes with their length before them, cut from those that follow. */
static bool take_measured(Bytes *from, Bytes *part) {
    if (from->end - from->at < 4) return false;
    uint64_t size = load(from->at, 4);
    from->at += 4;
    if (size > (uint64_t)(from->end - from->at)) return false;
    *part = (Bytes){from->at, from->at + size};
    from->at += size;
    return true;
}

static bool is_by_dictionary(const Page *page) {
    return page->encoding == PLAIN_DICTIONARY || page->encoding == RLE_DICTIONARY;
}

/* The definition levels of the page; `body` then stands at its values. One run of ones that
   covers the page, as writers store a page without nulls, needs no look at each row. */
static Status open_levels(Reader *reader, Bytes *body) {
    Bytes levels = reader->page->levels;
    reader->has_levels = false;
    if (!reader->column->is_optional) return SOUND;
    if (!reader->page->is_second && !take_measured(body, &levels)) return DAMAGED;
    reader->levels = (Runs){.bytes = levels, .width = 1};
    if (!open_run(&reader->levels)) return DAMAGED;
    const Runs *first = &reader->levels;
    bool is_full = !first->is_packed && first->value == 1 && first->left >= reader->left;
    reader->has_levels = !is_full;
    return SOUND;
}

/* The values of the page, as runs or plain. */
static Status open_values(Reader *reader, Bytes body) {
    const Column *column = reader->column;
    if (is_by_dictionary(reader->page) && column->plain_kind != BITS) {
        // Where all are null there may be nothing, not even a width.
        unsigned width = body.at == body.end ? 0 : *body.at++;
        if (width > 32) return DAMAGED;
        reader->values = (Runs){.bytes = body, .width = width};
        return SOUND;
    }
    if (column->plain_kind == BITS && reader->page->encoding == RLE) {
        Bytes runs = {body.at, body.at};
        if (body.at != body.end && !take_measured(&body, &runs)) return DAMAGED;
        reader->values = (Runs){.bytes = runs, .width = 1};
        return SOUND;
    }
    if (reader->page->encoding != PLAIN || column->plain_kind == NO_PLAIN) return NOT_SERVED;
    reader->plain = body;
    if (column->plain_kind == BITS) {
        // The bits of all values are one run, without a header.
        uint64_t values = (uint64_t)(body.end - body.at) * 8;
        Bytes none = {body.end, body.end};
        reader->values = (Runs){none, 1, true, values, 0, body.at, 0};
    }
    return SOUND;
}

static Status open_page(Reader *reader) {
    if (reader->next_page == reader->column->page_count) return DAMAGED;
    reader->page = &reader->column->pages[reader->next_page++];
    reader->left = reader->page->values;
    Bytes body = reader->page->body;
    if (!reader->left) return SOUND;
    Status status = open_levels(reader, &body);
    return status == SOUND ? open_values(reader, body) : status;
}

static size_t plain_size(const Column *column) {
    return column->plain_kind == INT64 || column->plain_kind == DOUBLE ? 8 : 4;
}

/* A plain integer, by two's complement. */
static uint64_t integer_at(const Column *column, const uint8_t *at) {
    uint64_t number = load(at, plain_size(column));
    bool is_negative = column->plain_kind == INT32 && number >> 31;
    return is_negative ? number | ~(uint64_t)0 << 32 : number;
}

/* A plain number as a double, as NumPy makes one of it. */
static double number_at(const Column *column, const uint8_t *at) {
    uint64_t bits = integer_at(column, at);
    if (column->plain_kind == DOUBLE) {
        double number;
        memcpy(&number, &bits, sizeof number);
        return number;
    }
    if (column->plain_kind == FLOAT) {
        uint32_t half = (uint32_t)bits;
        float number;
        memcpy(&number, &half, sizeof number);
        return (double)number;
    }
    int64_t whole;
    memcpy(&whole, &bits, sizeof whole);
    return (double)whole;
}

/* How many of the ascending edges a number has passed; one more than there are for NaN. */
static size_t interval_of(const Column *column, double number) {
    size_t passed = 0;
    if (number != number) return column->edge_count + 1;
    for (size_t edge = 0; edge < column->edge_count; edge++) passed += number >= column->edges[edge];
    return passed;
}

/* Adds the terms of the next plain numbers. An integer that lies beyond the known ones is for
   another reader: how far they reach was only told by statistics. */
static Status add_plain(Reader *reader, uint32_t *sums, size_t count) {
    const Column *column = reader->column;
    size_t size = plain_size(column);
    Bytes *plain = &reader->plain;
    if ((uint64_t)(plain->end - plain->at) / size < count) return DAMAGED;
    for (size_t row = 0; row < count; row++, plain->at += size) {
        uint64_t place = column->is_cut ? interval_of(column, number_at(column, plain->at))
                                        : integer_at(column, plain->at) - (uint64_t)column->base;
        if (place >= column->plain_count) return NOT_SERVED;
        sums[row] += column->plain_terms[place];
    }
    return SOUND;
}

/* Whether all rows of a block have a cell: where a term is missing its bit is set in the sum. */
static bool are_cells(const uint32_t *sums, size_t count) {
    uint32_t any = 0;
    for (size_t row = 0; row < count; row++) any |= sums[row];
    return any < NO_TERM;
}

/* Adds the terms of the next values that are no nulls. */
static Status add_present(Reader *reader, uint32_t *sums, size_t count) {
    bool is_plain = reader->page->encoding == PLAIN && reader->column->plain_kind != BITS;
    if (is_plain) return add_plain(reader, sums, count);
    return add_values(&reader->values, &reader->look_up, sums, count) ? SOUND : DAMAGED;
}

/* Adds the terms of rows of which some are null: those of values are first added by themselves. */
static Status add_optional(Reader *reader, uint32_t *sums, size_t count) {
    uint8_t levels[BLOCK];
    uint32_t present[BLOCK] = {0};
    if (!read_levels(&reader->levels, levels, count)) return DAMAGED;
    size_t values = 0;
    for (size_t row = 0; row < count; row++) values += levels[row];
    Status status = add_present(reader, present, values);
    if (status != SOUND) return status;
    uint32_t null_term = reader->column->null_term;
    for (size_t row = 0, value = 0; row < count; row++) {
        // Read before it is known to be needed: there is an entry for each row.
        uint32_t term = present[value < BLOCK ? value : BLOCK - 1];
        sums[row] += levels[row] ? term : null_term;
        value += levels[row];
    }
    return SOUND;
}

/* Adds the terms of a column to the next rows, at most a block of them. */
static Status add_column(Reader *reader, uint32_t *sums, size_t count) {
    while (count) {
        if (!reader->left) {
            Status status = open_page(reader);
            if (status != SOUND) return status;
            continue;
        }
        size_t part = reader->left < count ? (size_t)reader->left : count;
        Status status = reader->has_levels ? add_optional(reader, sums, part)
                                           : add_present(reader, sums, part);
        if (status != SOUND) return status;
        reader->left -= part;
        sums += part;
        count -= part;
    }
    return SOUND;
}

/* The numbers of the next rows of a page, of which none may be null. */
static Status read_page_numbers(Reader *reader, const double *values, double *numbers, size_t count) {
    uint8_t levels[BLOCK];
    uint32_t places[BLOCK] = {0};
    if (reader->has_levels) {
        if (!read_levels(&reader->levels, levels, count)) return DAMAGED;
        if (memchr(levels, 0, count)) return NOT_SERVED;
    }
    if (is_by_dictionary(reader->page)) {
        if (!add_values(&reader->values, &reader->look_up, places, count)) return DAMAGED;
        for (size_t row = 0; row < count; row++) {
            if (places[row] >= reader->column->term_count) return DAMAGED;
            numbers[row] = values[places[row]];
        }
        return SOUND;
    }
    size_t size = plain_size(reader->column);
    Bytes *plain = &reader->plain;
    if ((uint64_t)(plain->end - plain->at) / size < count) return DAMAGED;
    for (size_t row = 0; row < count; row++, plain->at += size)
        numbers[row] = number_at(reader->column, plain->at);
    return SOUND;
}

/* The numbers of the next rows, at most a block of them. */
static Status read_numbers(Reader *reader, const double *values, double *numbers, size_t count) {
    while (count) {
        if (!reader->left) {
            Status status = open_page(reader);
            if (status != SOUND) return status;
            continue;
        }
        size_t part = reader->left < count ? (size_t)reader->left : count;
        Status status = read_page_numbers(reader, values, numbers, part);
        if (status != SOUND) return status;
        reader->left -= part;
        numbers += part;
        count -= part;
    }
    return SOUND;
}

/* Adds what a block of rows holds beside their cells. */
static Status add_measure(Reader *reader, Measure *measure, const uint32_t *cells, size_t count) {
    double numbers[BLOCK];
    Status status = read_numbers(reader, measure->values, numbers, count);
    bool is_served = status == SOUND;
    for (size_t row = 0; is_served && row < count; row++) {
        uint64_t *sums = measure->sums + (size_t)4 * cells[row];
        is_served = measure->is_weight
                        ? add_weight(sums, numbers[row], &measure->largest, &measure->error)
                        : add_people(sums, numbers[row]);
    }
    return status != SOUND || is_served ? status : NOT_SERVED;
}

/* Counts a block in several tables in turn, so that a count just written is not read at once. */
static void count_in_lanes(const uint32_t *sums, size_t count, uint32_t *lanes, size_t cell_count) {
    uint32_t *second = lanes + cell_count, *third = second + cell_count;
    uint32_t *fourth = third + cell_count;
    size_t row = 0;
    for (; row + LANES <= count; row += LANES) {
        lanes[sums[row]]++;
        second[sums[row + 1]]++;
        third[sums[row + 2]]++;
        fourth[sums[row + 3]]++;
    }
    for (; row < count; row++) lanes[sums[row]]++;
}

/* The sums of the next rows, at most a block of them: the cells that they are counted in. */
static Status add_columns(Reader *readers, size_t reader_count, uint32_t *sums, size_t count) {
    memset(sums, 0, BLOCK * sizeof *sums);
    for (size_t number = 0; number < reader_count; number++) {
        Status status = add_column(&readers[number], sums, count);
        if (status != SOUND) return status;
    }
    return are_cells(sums, count) ? SOUND : DAMAGED;
}

/* Counts all rows, block by block. A few cells are counted in small tables first. */
static Status count_blocks(
    Reader *readers, size_t reader_count, Measure *measure, uint64_t rows, uint64_t *cells,
    size_t cell_count) {
    uint32_t sums[BLOCK];
    bool has_lanes = cell_count <= MOST_CELLS_IN_LANES;
    uint32_t *lanes = has_lanes ? calloc(LANES * cell_count, sizeof *lanes) : NULL;
    if (has_lanes && !lanes) return NO_MEMORY;
    Status status = SOUND;
    for (uint64_t left = rows; left && status == SOUND;) {
        size_t count = left < BLOCK ? (size_t)left : BLOCK;
        status = add_columns(readers, reader_count, sums, count);
        if (status == SOUND && has_lanes) count_in_lanes(sums, count, lanes, cell_count);
        for (size_t row = 0; status == SOUND && !has_lanes && row < count; row++)
            cells[sums[row]]++;
        // The reader of the measure stands behind those of the keys.
        if (status == SOUND && measure)
            status = add_measure(&readers[reader_count], measure, sums, count);
        left -= count;
    }
    for (size_t lane = 0; has_lanes && lane < LANES; lane++)
        for (size_t cell = 0; cell < cell_count; cell++)
            cells[cell] += lanes[lane * cell_count + cell];
    free(lanes);
    return status;
}

/* The largest term of a column; more than any sum may be where it has too many, or cannot be. */
static uint64_t largest_term(const Column *column) {
    uint32_t largest = column->is_optional ? column->null_term : 0;
    bool is_whole = !column->is_cut || column->plain_count == column->edge_count + 2;
    if (column->term_count > MOST_TERMS || !is_whole) return UINT32_MAX;
    for (size_t place = 0; place < column->term_count; place++)
        if (column->terms[place] > largest) largest = column->terms[place];
    for (size_t place = 0; place < column->plain_count; place++)
        if (column->plain_terms[place] > largest) largest = column->plain_terms[place];
    return largest;
}

/* Whether the terms of the columns can only add up to cells that there are. */
static bool fit_cells(const Column *columns, size_t column_count, size_t cell_count) {
    uint64_t largest_sum = 0;
    if (column_count > MOST_COLUMNS || !cell_count || cell_count > MOST_CELLS) return false;
    for (size_t number = 0; number < column_count; number++)
        largest_sum += largest_term(&columns[number]);
    return largest_sum < cell_count;
}

/* A column from its first page on, with its terms in a table that any index of its width fits. */
static Status open_reader(Reader *reader, const Column *column) {
    *reader = (Reader){.column = column};
    bool is_bits = column->plain_kind == BITS;
    const uint32_t *terms = is_bits ? column->plain_terms : column->terms;
    size_t count = is_bits ? column->plain_count : column->term_count;
    unsigned bits = 1;
    while (((size_t)1 << bits) < count) bits++;
    reader->look_up = (LookUp){malloc(((size_t)1 << bits) * sizeof *terms), count, bits};
    if (!reader->look_up.terms) return NO_MEMORY;
    for (size_t place = 0; place < (size_t)1 << bits; place++)
        reader->look_up.terms[place] = place < count ? terms[place] : (uint32_t)NO_TERM;
    return SOUND;
}

/* Whether the pages of a column hold as many rows as are counted. */
static bool has_rows(const Column *column, uint64_t rows) {
    uint64_t values = 0;
    for (size_t number = 0; number < column->page_count; number++) {
        if (column->pages[number].values > rows) return false;
        values += column->pages[number].values;
    }
    return values == rows;
}

/* Counts rows by the pages of their columns, of which each has all rows: adds to the counts in
   `cells`, and to the sums of the measure where there is one (else NULL). All of them are worth
   nothing unless the pages are sound. At most 2^31 rows at once. */
Status count_rows(
    const Column *columns, size_t column_count, Measure *measure, uint64_t rows, uint64_t *cells,
    size_t cell_count) {
    size_t reader_count = column_count + (measure ? 1 : 0);
    if (rows > INT32_MAX || !fit_cells(columns, column_count, cell_count)) return NOT_SERVED;
    if (measure && largest_term(&measure->column) > measure->column.term_count) return NOT_SERVED;
    Reader *readers = calloc(reader_count ? reader_count : 1, sizeof *readers);
    if (!readers) return NO_MEMORY;
    Status status = SOUND;
    for (size_t number = 0; number < reader_count && status == SOUND; number++) {
        const Column *column = number < column_count ? &columns[number] : &measure->column;
        status = has_rows(column, rows) ? open_reader(&readers[number], column) : DAMAGED;
    }
    if (status == SOUND)
        status = count_blocks(readers, column_count, measure, rows, cells, cell_count);
    for (size_t number = 0; number < reader_count; number++) free(readers[number].look_up.terms);
    free(readers);
    return status;
}
