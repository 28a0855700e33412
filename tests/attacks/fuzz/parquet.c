/* One input of the fuzzer: the pages of a chunk, or columns of pages to count. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parquet.h"
#include "target.h"

uint64_t counted_inputs;
const uint8_t known_signs[] = {0, 1, 127, 128, 255};
const size_t known_sign_count = sizeof known_signs;

/* Input that is still to be taken; what is not there is zero. */
typedef struct {
    const uint8_t *at;
    size_t left;
} Input;

static uint64_t take(Input *input, size_t size) {
    uint64_t number = 0;
    for (size_t place = 0; place < size && input->left; place++, input->at++, input->left--)
        number |= (uint64_t)*input->at << (8 * place);
    return number;
}

/* Bytes in memory of exactly their size, so that a sanitizer sees what is read beyond them. */
static Bytes take_bytes(Input *input, size_t size) {
    if (size > input->left) size = input->left;
    uint8_t *copy = malloc(size);
    if (size) memcpy(copy, input->at, size);
    input->at += size;
    input->left -= size;
    return (Bytes){copy, copy + size};
}

/* The terms of a table, at most 32 of them: each column has a radix of its own. */
static uint32_t *make_terms(size_t count, uint32_t stride) {
    uint32_t *terms = malloc(count * sizeof *terms + 1);
    for (size_t place = 0; place < count; place++) terms[place] = (uint32_t)(place % 32 + 1) * stride;
    return terms;
}

/* The places of a dictionary, as those of a measure are its terms. */
static uint32_t *make_places(size_t count) {
    uint32_t *terms = malloc(count * sizeof *terms + 1);
    for (size_t place = 0; place < count; place++) terms[place] = (uint32_t)place;
    return terms;
}

/* The pages of a chunk, as far as they are sound. */
static void walk_pages(Input *input) {
    uint64_t flags = take(input, 1);
    Bytes all = take_bytes(input, input->left), bytes = all;
    CheckedPage checked;
    while (bytes.at < bytes.end && check_page(&bytes, 400, 4, flags >> 2 & 1, &checked) == SOUND)
        if (checked.start < all.at || checked.size > all.end - checked.start) abort();
    if (bytes.at > bytes.end) abort();
    PageTerms terms = {flags & 1, flags >> 1 & 1};
    PageTable table;
    Status status = find_pages(all, &terms, &table);
    if (status == SOUND) {
        uint8_t *packed = malloc((size_t)table.packed + 1);
        copy_packed(all, &table, packed);
        Bytes unpacked = {all.at, all.at};
        for (size_t number = 0; number < table.count; number++) {
            Page page;
            bool is_there = open_place(&table.places[number], all, unpacked, &page);
            if (is_there && (page.body.at > page.body.end || page.levels.at > page.levels.end)) abort();
            if (!is_there && !table.places[number].is_packed) abort();
        }
        free(packed);
    }
    free(table.places);
    free((void *)all.at);
}

static void count_columns(Input *input) {
    enum { COLUMNS = 3, PAGES = 4, CELLS = 40000, EDGES = 16 };
    Column columns[COLUMNS + 1] = {{0}};
    Page pages[COLUMNS + 1][PAGES] = {{{0}}};
    static uint64_t cells[4 * CELLS];
    static const double edges[EDGES] = {-1, 0, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    size_t key_count = take(input, 1) % (COLUMNS + 1), cell_count = 1;
    size_t measure_kind = take(input, 1) % 3, column_count = key_count + (measure_kind ? 1 : 0);
    uint64_t rows = take(input, 2);
    for (size_t number = 0; number < column_count; number++) {
        Column *column = &columns[number];
        uint64_t flags = take(input, 1);
        column->is_optional = flags & 1;
        column->null_term = flags & 2 ? NO_NULLS : 0;
        column->term_count = take(input, 1) % 256;
        column->plain_count = take(input, 1) % 256;
        column->plain_kind = take(input, 1) % (DOUBLE + 1);
        column->base = (int8_t)take(input, 1);
        column->page_count = take(input, 1) % (PAGES + 1);
        size_t cut = take(input, 1) % EDGES;
        column->is_cut = cut > 0;
        column->edge_count = cut ? cut - 1 : 0;
        column->edges = edges;
        column->pages = pages[number];
        if (number == key_count) {
            column->terms = make_places(column->term_count);
            column->plain_count = column->is_cut = 0;
            break;
        }
        column->terms = make_terms(column->term_count, (uint32_t)cell_count);
        column->plain_terms = make_terms(column->plain_count, (uint32_t)cell_count);
        cell_count *= 34;
    }
    for (size_t number = 0; number < column_count; number++) {
        for (size_t place = 0; place < columns[number].page_count; place++) {
            Page *page = &pages[number][place];
            page->is_second = take(input, 1) & 1;
            page->encoding = (int64_t)take(input, 1);
            page->values = take(input, 2);
            size_t levels = take(input, 2), body = take(input, 2);
            page->levels = take_bytes(input, levels);
            page->body = take_bytes(input, body);
        }
    }
    if (key_count == COLUMNS) cell_count += 34;
    memset(cells, 0, 4 * cell_count * sizeof *cells);
    size_t value_count = columns[key_count].term_count;
    double *values = malloc(value_count * sizeof *values + 1);
    for (size_t place = 0; place < value_count; place++) values[place] = (double)place * 0.75;
    Measure measure = {.column = columns[key_count], .values = values,
                       .is_weight = measure_kind == 1};
    Status status = count_rows(
        columns, key_count, measure_kind ? &measure : NULL, rows, cells, cell_count);
    free(values);
    uint64_t counted = 0;
    for (size_t cell = 0; cell < cell_count; cell++)
        counted += measure_kind ? cells[4 * cell + 1] >> 36 : cells[cell];
    if (status == SOUND && counted != rows) abort();
    for (size_t number = 0; number < column_count; number++) {
        free((void *)columns[number].terms);
        free((void *)columns[number].plain_terms);
        for (size_t place = 0; place < columns[number].page_count; place++) {
            free((void *)pages[number][place].levels.at);
            free((void *)pages[number][place].body.at);
        }
    }
    counted_inputs += status == SOUND;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input input = {data, size};
    if (take(&input, 1) & 1) count_columns(&input);
    else walk_pages(&input);
    return 0;
}
