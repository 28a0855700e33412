/* Columns of pages while they are read, and the terms that their values add to the sums of rows.
   https://parquet.apache.org/docs/file-format/data-pages/encodings/ */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

/* A column from its first page on, with its terms in a table that any index of its width fits. */
Status open_reader(Reader *reader, const Column *column) {
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

bool is_by_dictionary(const Page *page) {
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

Status open_page(Reader *reader) {
    if (reader->next_page == reader->column->page_count) return DAMAGED;
    reader->page = &reader->column->pages[reader->next_page++];
    reader->left = reader->page->values;
    Bytes body = reader->page->body;
    if (!reader->left) return SOUND;
    Status status = open_levels(reader, &body);
    return status == SOUND ? open_values(reader, body) : status;
}

Status take_rows(Reader *reader, size_t most, size_t *count) {
    while (!reader->left) {
        Status status = open_page(reader);
        if (status != SOUND) return status;
    }
    *count = reader->left < most ? (size_t)reader->left : most;
    reader->left -= *count;
    return SOUND;
}

size_t plain_size(const Column *column) {
    return column->plain_kind == INT64 || column->plain_kind == DOUBLE ? 8 : 4;
}

/* A plain integer, by two's complement. */
static uint64_t integer_at(const Column *column, const uint8_t *at) {
    uint64_t number = load(at, plain_size(column));
    bool is_negative = column->plain_kind == INT32 && number >> 31;
    return is_negative ? number | ~(uint64_t)0 << 32 : number;
}

/* A plain number as a double, as NumPy makes one of it. */
double number_at(const Column *column, const uint8_t *at) {
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
    if (values < count && reader->column->null_term == NO_NULLS) return NOT_SERVED;
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
Status add_column(Reader *reader, uint32_t *sums, size_t count) {
    while (count) {
        size_t part;
        Status status = take_rows(reader, count, &part);
        if (status != SOUND) return status;
        status = reader->has_levels ? add_optional(reader, sums, part)
                                    : add_present(reader, sums, part);
        if (status != SOUND) return status;
        sums += part;
        count -= part;
    }
    return SOUND;
}
