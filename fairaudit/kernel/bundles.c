/* Columns of few values each, whose codes stand side by side: one look at a table for all of them. */
#include "bundles.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CODE_BITS = 8 };

/* How many bits the codes of a column take, if all of its pages are runs of few bits; else 0. A null
   has a code behind those of the values. */
unsigned code_bits(const Reader *reader) {
    unsigned bits = reader->look_up.bits;
    bool has_nulls = false;
    Reader probe = *reader;
    while (probe.next_page < probe.column->page_count) {
        // What is wrong with a page is told when it is read.
        if (open_page(&probe) != SOUND) return 0;
        if (!probe.left) continue;
        bool is_plain = probe.page->encoding == PLAIN && probe.column->plain_kind != BITS;
        if (is_plain || probe.values.width > bits) return 0;
        has_nulls = has_nulls || probe.has_levels;
    }
    bits += has_nulls ? 1 : 0;
    return bits <= MOST_CODE_BITS ? bits : 0;
}

void add_to_bundle(Bundle *bundle, Reader *reader, unsigned bits) {
    bundle->columns[bundle->column_count].reader = reader;
    bundle->columns[bundle->column_count].bits = bits;
    bundle->column_count++;
    bundle->bits += bits;
}

/* The term of a code of a column. */
static uint32_t term_of_code(const Reader *reader, size_t code) {
    size_t null_code = (size_t)1 << reader->look_up.bits;
    if (code < null_code) return reader->look_up.terms[code];
    uint32_t null_term = reader->column->null_term;
    return code == null_code && null_term != NO_NULLS ? null_term : (uint32_t)NO_TERM;
}

/* Adds up the terms of each code. */
Status open_bundle(Bundle *bundle) {
    uint32_t *terms = bundle->terms = malloc(((size_t)1 << bundle->bits) * sizeof *terms);
    if (!terms) return NO_MEMORY;
    size_t count = 1;
    terms[0] = 0;
    for (size_t number = 0; number < bundle->column_count; number++) {
        size_t codes = (size_t)1 << bundle->columns[number].bits;
        // From the last on, so that no sum is written over before it has been read.
        for (size_t place = count; place-- > 0;) {
            uint32_t sum = terms[place];
            for (size_t code = 0; code < codes; code++)
                terms[place * codes + code] = sum + term_of_code(bundle->columns[number].reader, code);
        }
        count *= codes;
    }
    return SOUND;
}

/* The codes of rows of which some are null. */
static Status unpack_optional(Reader *reader, uint8_t *codes, size_t count) {
    uint8_t levels[BLOCK], present[BLOCK + SPARE_CODES] = {0};
    if (!read_levels(&reader->levels, levels, count)) return DAMAGED;
    size_t values = 0;
    for (size_t row = 0; row < count; row++) values += levels[row];
    if (values < count && reader->column->null_term == NO_NULLS) return NOT_SERVED;
    if (!unpack_codes(&reader->values, present, values)) return DAMAGED;
    uint8_t null_code = (uint8_t)(1u << reader->look_up.bits);
    for (size_t row = 0, value = 0; row < count; row++) {
        uint8_t code = present[value]; // read before it is known to be needed
        codes[row] = levels[row] ? code : null_code;
        value += levels[row];
    }
    return SOUND;
}

/* The codes of the next rows of a column; up to `SPARE_CODES` more bytes are written. */
static Status read_codes(Reader *reader, uint8_t *codes, size_t count) {
    while (count) {
        size_t part;
        Status status = take_rows(reader, count, &part);
        if (status != SOUND) return status;
        if (reader->has_levels) status = unpack_optional(reader, codes, part);
        else if (!unpack_codes(&reader->values, codes, part)) status = DAMAGED;
        if (status != SOUND) return status;
        codes += part;
        count -= part;
    }
    return SOUND;
}

/* The codes of the next rows, at most a block of them. */
Status read_bundle(Bundle *bundle, uint16_t *codes, size_t count) {
    uint8_t bytes[BLOCK + SPARE_CODES];
    memset(codes, 0, count * sizeof *codes);
    for (size_t number = 0; number < bundle->column_count; number++) {
        uint32_t radix = (uint32_t)1 << bundle->columns[number].bits;
        Status status = read_codes(bundle->columns[number].reader, bytes, count);
        if (status != SOUND) return status;
        for (size_t row = 0; row < count; row++)
            codes[row] = (uint16_t)(codes[row] * radix + bytes[row]);
    }
    return SOUND;
}
