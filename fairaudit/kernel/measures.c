/* Weights or people that rows add to the sums of their cells. What an entry of a dictionary adds is
   worked out once. */
#include "measures.h"

#include <stdlib.h>
#include <string.h>

#include "sums.h"

/* What a row of a number adds to the words of its cell; false where it is another reader's. */
static bool split_number(Measure *measure, double number, uint64_t *words) {
    uint64_t fixed[2] = {0};
    bool is_served = measure->is_weight
                         ? fix_weight(number, fixed, &measure->largest, &measure->error)
                         : fix_people(number, fixed);
    split_fixed(fixed, words);
    return is_served;
}

/* The entries of the dictionary, of which some may be nobody's: so none is refused, and the largest
   is not known, before rows have been read. */
Status open_measure(MeasureReader *reader, Measure *measure) {
    const Column *column = &measure->column;
    Measure unused = *measure;
    *reader = (MeasureReader){.measure = measure};
    Status status = open_reader(&reader->reader, column);
    reader->words = calloc(column->term_count + 1, sizeof *reader->words);
    reader->is_used = calloc(column->term_count + 1, 1);
    if (status != SOUND || !reader->words || !reader->is_used) return NO_MEMORY;
    for (size_t place = 0; place < column->term_count; place++)
        split_number(&unused, measure->values[place], reader->words[place]);
    return SOUND;
}

/* Adds words to those of a cell: all are read before any is written, so two are added at once. */
static inline void add_words(uint64_t *cell, const uint64_t *words) {
    uint64_t first = cell[0] + words[0], second = cell[1] + words[1];
    uint64_t third = cell[2] + words[2], fourth = cell[3] + words[3];
    cell[0] = first;
    cell[1] = second;
    cell[2] = third;
    cell[3] = fourth;
}

/* Adds rows, whose cells are `sums`, with the next numbers of a page by their places in the
   dictionary. */
static Status add_places(MeasureReader *reader, const uint32_t *sums, uint64_t *cells, size_t count) {
    uint32_t places[BLOCK] = {0}, any = 0;
    uint64_t(*words)[4] = reader->words;
    uint8_t *is_used = reader->is_used;
    if (!add_values(&reader->reader.values, &reader->reader.look_up, places, count)) return DAMAGED;
    for (size_t row = 0; row < count; row++) any |= places[row];
    if (any >= NO_TERM) return DAMAGED;
    for (size_t row = 0; row < count; row++) {
        is_used[places[row]] = 1;
        add_words(cells + (size_t)4 * sums[row], words[places[row]]);
    }
    return SOUND;
}

/* Adds the next numbers of a page that are stored as they are. */
static Status add_plain_numbers(MeasureReader *reader, const uint32_t *sums, uint64_t *cells, size_t count) {
    const Column *column = reader->reader.column;
    Measure *measure = reader->measure;
    size_t size = plain_size(column);
    Bytes *plain = &reader->reader.plain;
    if ((uint64_t)(plain->end - plain->at) / size < count) return DAMAGED;
    for (size_t row = 0; row < count; row++, plain->at += size) {
        uint64_t words[4];
        if (!split_number(measure, number_at(column, plain->at), words)) return NOT_SERVED;
        add_words(cells + (size_t)4 * sums[row], words);
    }
    return SOUND;
}

/* Adds the next numbers of a page, of which none may be null. */
static Status add_numbers(MeasureReader *reader, const uint32_t *sums, uint64_t *cells, size_t count) {
    uint8_t levels[BLOCK];
    if (reader->reader.has_levels) {
        if (!read_levels(&reader->reader.levels, levels, count)) return DAMAGED;
        if (memchr(levels, 0, count)) return NOT_SERVED;
    }
    return is_by_dictionary(reader->reader.page) ? add_places(reader, sums, cells, count)
                                                 : add_plain_numbers(reader, sums, cells, count);
}

/* Adds the next rows, at most a block of them, to their cells, with what they hold beside. */
Status add_measure(MeasureReader *reader, const uint32_t *sums, uint64_t *cells, size_t count) {
    while (count) {
        size_t part;
        Status status = take_rows(&reader->reader, count, &part);
        if (status == SOUND) status = add_numbers(reader, sums, cells, part);
        if (status != SOUND) return status;
        sums += part;
        count -= part;
    }
    return SOUND;
}

/* Holds the entries that rows have against what is served; frees what was opened. */
Status close_measure(MeasureReader *reader, Status status) {
    Measure *measure = reader->measure;
    for (size_t place = 0; status == SOUND && place < measure->column.term_count; place++) {
        uint64_t words[4];
        bool is_served =
            !reader->is_used[place] || split_number(measure, measure->values[place], words);
        if (!is_served) status = NOT_SERVED;
    }
    free(reader->reader.look_up.terms);
    free(reader->words);
    free(reader->is_used);
    return status;
}
