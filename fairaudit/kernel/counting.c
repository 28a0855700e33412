/* Rows counted by the codes that Parquet stores: each column adds a term to the number of a row's
   cell, so that texts are never made of them. A block of rows stays in the cache from the bits of
   the first column to the counts. */
#include <stdlib.h>
#include <string.h>

#include "bundles.h"
#include "measures.h"

enum { LANES = 4, MOST_CELLS_IN_LANES = 1 << 14 };

/* What rows are counted by: columns in bundles, other columns, and where there is one, a measure.
   Without one, small tables are counted in `lanes` first, by codes where one bundle tells the cell. */
typedef struct {
    Reader *readers, *others[MOST_COLUMNS];
    size_t reader_count, other_count, bundle_count, lane_size;
    Bundle bundles[MOST_COLUMNS];
    bool counts_codes;
    uint32_t *lanes;
    MeasureReader measure;
} Counter;

/* Whether all rows of a block have a cell: where a term is missing its bit is set in the sum. */
static bool are_cells(const uint32_t *sums, size_t count) {
    uint32_t any = 0;
    for (size_t row = 0; row < count; row++) any |= sums[row];
    return any < NO_TERM;
}

/* Counts a block in several tables in turn, so that a count just written is not read at once. */
static void count_sums(const uint32_t *sums, size_t count, uint32_t *lanes, size_t size) {
    uint32_t *second = lanes + size, *third = second + size, *fourth = third + size;
    size_t row = 0;
    for (; row + LANES <= count; row += LANES) {
        lanes[sums[row]]++;
        second[sums[row + 1]]++;
        third[sums[row + 2]]++;
        fourth[sums[row + 3]]++;
    }
    for (; row < count; row++) lanes[sums[row]]++;
}

/* The same by codes. */
static void count_codes(const uint16_t *codes, size_t count, uint32_t *lanes, size_t size) {
    uint32_t *second = lanes + size, *third = second + size, *fourth = third + size;
    size_t row = 0;
    for (; row + LANES <= count; row += LANES) {
        lanes[codes[row]]++;
        second[codes[row + 1]]++;
        third[codes[row + 2]]++;
        fourth[codes[row + 3]]++;
    }
    for (; row < count; row++) lanes[codes[row]]++;
}

/* The sums of the next rows, at most a block of them: the cells that they are counted in. */
static Status add_columns(Counter *counter, uint32_t *sums, size_t count) {
    uint16_t codes[BLOCK];
    memset(sums, 0, count * sizeof *sums);
    for (size_t number = 0; number < counter->bundle_count; number++) {
        const uint32_t *terms = counter->bundles[number].terms;
        Status status = read_bundle(&counter->bundles[number], codes, count);
        if (status != SOUND) return status;
        for (size_t row = 0; row < count; row++) sums[row] += terms[codes[row]];
    }
    for (size_t number = 0; number < counter->other_count; number++) {
        Status status = add_column(counter->others[number], sums, count);
        if (status != SOUND) return status;
    }
    return are_cells(sums, count) ? SOUND : DAMAGED;
}

/* Counts the next rows, at most a block of them, by the codes of the only bundle. */
static Status count_block_of_codes(Counter *counter, size_t count) {
    uint16_t codes[BLOCK];
    Status status = read_bundle(counter->bundles, codes, count);
    if (status == SOUND) count_codes(codes, count, counter->lanes, counter->lane_size);
    return status;
}

/* Counts the next rows, at most a block of them, by their cells. */
static Status count_block(Counter *counter, uint64_t *cells, size_t count) {
    uint32_t sums[BLOCK];
    Status status = add_columns(counter, sums, count);
    if (status != SOUND) return status;
    if (counter->measure.measure) return add_measure(&counter->measure, sums, cells, count);
    if (counter->lanes) count_sums(sums, count, counter->lanes, counter->lane_size);
    for (size_t row = 0; !counter->lanes && row < count; row++) cells[sums[row]]++;
    return SOUND;
}

/* Adds what was counted in lanes; a code that has no cell is none of sound pages. */
static Status add_lanes(const Counter *counter, uint64_t *cells) {
    const uint32_t *terms = counter->counts_codes ? counter->bundles[0].terms : NULL;
    size_t size = counter->lane_size;
    for (size_t place = 0; place < size; place++) {
        uint64_t rows = 0;
        for (size_t lane = 0; lane < LANES; lane++) rows += counter->lanes[lane * size + place];
        size_t cell = terms ? terms[place] : place;
        if (rows && cell >= NO_TERM) return DAMAGED;
        if (rows) cells[cell] += rows;
    }
    return SOUND;
}

/* Counts all rows, block by block. */
static Status count_blocks(Counter *counter, uint64_t rows, uint64_t *cells) {
    Status status = SOUND;
    for (uint64_t left = rows; left && status == SOUND;) {
        size_t count = left < BLOCK ? (size_t)left : BLOCK;
        status = counter->counts_codes ? count_block_of_codes(counter, count)
                                       : count_block(counter, cells, count);
        left -= count;
    }
    return status == SOUND && counter->lanes ? add_lanes(counter, cells) : status;
}

/* The largest term of a column; more than any sum may be where it has too many, or cannot be. */
static uint64_t largest_term(const Column *column) {
    bool has_nulls = column->is_optional && column->null_term != NO_NULLS;
    uint32_t largest = has_nulls ? column->null_term : 0;
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

/* Whether the pages of a column hold as many rows as are counted. */
static bool has_rows(const Column *column, uint64_t rows) {
    uint64_t values = 0;
    for (size_t number = 0; number < column->page_count; number++) {
        if (column->pages[number].values > rows) return false;
        values += column->pages[number].values;
    }
    return values == rows;
}

/* A column where it is counted: in a bundle that has room, or by itself. */
static void place_reader(Counter *counter, Reader *reader) {
    unsigned bits = code_bits(reader);
    if (!bits) {
        counter->others[counter->other_count++] = reader;
        return;
    }
    Bundle *last = counter->bundle_count ? &counter->bundles[counter->bundle_count - 1] : NULL;
    if (!last || last->bits + bits > BUNDLE_BITS) last = &counter->bundles[counter->bundle_count++];
    add_to_bundle(last, reader, bits);
}

/* Opens all columns, and makes the tables that they are counted by. */
static Status open_counter(
    Counter *counter, const Column *columns, size_t column_count, Measure *measure, uint64_t rows,
    size_t cell_count) {
    counter->readers = calloc(column_count + 1, sizeof *counter->readers);
    if (!counter->readers) return NO_MEMORY;
    for (; counter->reader_count < column_count; counter->reader_count++) {
        const Column *column = &columns[counter->reader_count];
        Reader *reader = &counter->readers[counter->reader_count];
        if (!has_rows(column, rows)) return DAMAGED;
        if (open_reader(reader, column) != SOUND) return NO_MEMORY;
        place_reader(counter, reader);
    }
    for (size_t number = 0; number < counter->bundle_count; number++)
        if (open_bundle(&counter->bundles[number]) != SOUND) return NO_MEMORY;
    if (measure)
        return has_rows(&measure->column, rows) ? open_measure(&counter->measure, measure) : DAMAGED;
    counter->counts_codes = counter->bundle_count == 1 && !counter->other_count;
    counter->lane_size = counter->counts_codes ? (size_t)1 << counter->bundles[0].bits : cell_count;
    if (counter->lane_size <= MOST_CELLS_IN_LANES) {
        counter->lanes = calloc(LANES * counter->lane_size, sizeof *counter->lanes);
        if (!counter->lanes) return NO_MEMORY;
    }
    return SOUND;
}

/* Frees what was opened; the status of all. */
static Status close_counter(Counter *counter, Status status) {
    if (counter->measure.measure) status = close_measure(&counter->measure, status);
    for (size_t number = 0; number < counter->bundle_count; number++)
        free(counter->bundles[number].terms);
    for (size_t number = 0; counter->readers && number <= counter->reader_count; number++)
        free(counter->readers[number].look_up.terms);
    free(counter->lanes);
    free(counter->readers);
    free(counter);
    return status;
}

/* Counts rows by the pages of their columns, of which each has all rows: adds to the counts in
   `cells`, or where there is a measure (else NULL), to their four words. All of them are worth
   nothing unless the pages are sound. At most 2^31 rows at once. */
Status count_rows(
    const Column *columns, size_t column_count, Measure *measure, uint64_t rows, uint64_t *cells,
    size_t cell_count) {
    if (rows > INT32_MAX || !fit_cells(columns, column_count, cell_count)) return NOT_SERVED;
    if (measure && largest_term(&measure->column) > measure->column.term_count) return NOT_SERVED;
    Counter *counter = calloc(1, sizeof *counter);
    if (!counter) return NO_MEMORY;
    Status status = open_counter(counter, columns, column_count, measure, rows, cell_count);
    if (status == SOUND) status = count_blocks(counter, rows, cells);
    return close_counter(counter, status);
}
