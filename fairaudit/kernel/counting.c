/* Rows counted by the codes that Parquet stores: each column adds a term to the number of a row's
   cell, so that texts are never made of them. A block of rows stays in the cache from the bits of
   the first column to the counts. https://parquet.apache.org/docs/file-format/data-pages/encodings/ */
#include <stdlib.h>
#include <string.h>

#include "parquet.h"

#ifdef _MSC_VER
#define INLINE __forceinline
#else
#define INLINE inline __attribute__((always_inline))
#endif

enum { BLOCK = 4096, LANES = 4, MOST_CELLS_IN_LANES = 1 << 14 };

/* What no sum of sound terms reaches, and no sum of columns carries beyond 32 bits. */
enum { NO_TERM = MOST_CELLS };

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

/* A number of `size` bytes, at most 8, the lowest first. */
static uint64_t load(const uint8_t *at, size_t size) {
    uint64_t number = 0;
    for (size_t place = 0; place < size; place++) number |= (uint64_t)at[place] << (8 * place);
    return number;
}

/* Eight bytes, which compilers read at once. */
static inline uint64_t load_word(const uint8_t *at) {
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
           (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
           (uint64_t)at[7] << 56;
}

/* The run that begins at `bytes`, which may have no value; false where there is none. A run of bits
   is cut where the bytes end; whoever needs more of it then finds no further run. */
static bool open_run(Runs *runs) {
    Bytes *bytes = &runs->bytes;
    uint64_t header = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (bytes->at == bytes->end || shift > 56) return false;
        header |= (uint64_t)(*bytes->at & 127) << shift;
        if (*bytes->at++ < 128) break;
    }
    uint64_t room = (uint64_t)(bytes->end - bytes->at);
    runs->is_packed = header & 1;
    if (!runs->is_packed) {
        size_t size = (runs->width + 7) / 8;
        if (size > room) return false;
        runs->value = (uint32_t)load(bytes->at, size);
        if (runs->width < 32 && runs->value >> runs->width) return false;
        bytes->at += size;
        runs->left = header >> 1;
        return true;
    }
    // At most 2^62 groups; each of them takes `width` bytes, of which the last may lack some.
    uint64_t groups = header >> 1;
    if (runs->width && groups > room / runs->width) {
        if (groups > room / runs->width + 1) return false;
        runs->left = room * 8 / runs->width;
        runs->bits = bytes->at;
        bytes->at = bytes->end;
    } else {
        if (!runs->width && groups > UINT32_MAX) return false;
        runs->left = groups * 8;
        runs->bits = bytes->at;
        bytes->at += groups * runs->width;
    }
    runs->bit = 0;
    return true;
}

/* The packed value at `bit`, whose bytes lie before `end`. */
static inline uint32_t packed_value(const Runs *runs, const uint8_t *end) {
    const uint8_t *at = runs->bits + (runs->bit >> 3);
    uint64_t room = (uint64_t)(end - at);
    uint64_t word = (room >= 8 ? load_word(at) : load(at, room)) >> (runs->bit & 7);
    return (uint32_t)(word & (((uint64_t)1 << runs->width) - 1));
}

/* The term of an index that may be wider than the look-up. */
static inline uint32_t term_of(const LookUp *look_up, uint32_t index) {
    return index < look_up->count ? look_up->terms[index] : (uint32_t)NO_TERM;
}

/* Groups of eight packed values. `width` is a constant to whoever calls it, so this is unrolled;
   the eight bytes from each group on are there, and the look-up has an entry for any value. */
static INLINE void add_groups(
    const uint8_t *at, size_t groups, unsigned width, const uint32_t *terms, uint32_t *sums) {
    uint64_t mask = ((uint64_t)1 << width) - 1;
    for (; groups; groups--, at += width, sums += 8) {
        uint64_t word = load_word(at);
        for (unsigned place = 0; place < 8; place++)
            sums[place] += terms[word >> (place * width) & mask];
    }
}

/* Adds the terms of as many whole groups as can be read by words; returns how many values. */
static size_t add_packed_groups(
    Runs *runs, const uint8_t *end, const LookUp *look_up, uint32_t *sums, size_t count) {
    if (runs->bit & 7 || runs->width > 8 || runs->width > look_up->bits || !runs->width) return 0;
    const uint8_t *at = runs->bits + (runs->bit >> 3);
    size_t room = (size_t)(end - at);
    if (room < 8) return 0;
    size_t groups = (room - 8) / runs->width + 1;
    if (groups > count / 8) groups = count / 8;
    switch (runs->width) {
        case 1: add_groups(at, groups, 1, look_up->terms, sums); break;
        case 2: add_groups(at, groups, 2, look_up->terms, sums); break;
        case 3: add_groups(at, groups, 3, look_up->terms, sums); break;
        case 4: add_groups(at, groups, 4, look_up->terms, sums); break;
        case 5: add_groups(at, groups, 5, look_up->terms, sums); break;
        case 6: add_groups(at, groups, 6, look_up->terms, sums); break;
        case 7: add_groups(at, groups, 7, look_up->terms, sums); break;
        default: add_groups(at, groups, 8, look_up->terms, sums);
    }
    runs->bit += (uint64_t)groups * 8 * runs->width;
    return groups * 8;
}

/* Adds the terms of the next packed values of the open run, which has as many. */
static void add_packed(Runs *runs, const LookUp *look_up, uint32_t *sums, size_t count) {
    const uint8_t *end = runs->bytes.end;
    for (size_t row = 0; row < count;) {
        size_t added = add_packed_groups(runs, end, look_up, sums + row, count - row);
        row += added;
        // What is left of a group that was begun, and groups that no word can hold.
        for (size_t place = 0; row < count && (place < 8 || !added); place++, row++) {
            sums[row] += term_of(look_up, packed_value(runs, end));
            runs->bit += runs->width;
            if (!(runs->bit & 7) && runs->width <= 8) {
                row++;
                break;
            }
        }
    }
}

/* Adds the terms of the next values; false where there are fewer. */
static bool add_values(Runs *runs, const LookUp *look_up, uint32_t *sums, size_t count) {
    while (count) {
        while (!runs->left)
            if (!open_run(runs)) return false;
        size_t part = runs->left < count ? (size_t)runs->left : count;
        if (runs->is_packed) {
            add_packed(runs, look_up, sums, part);
        } else {
            uint32_t term = term_of(look_up, runs->value);
            for (size_t row = 0; row < part; row++) sums[row] += term;
        }
        runs->left -= part;
        sums += part;
        count -= part;
    }
    return true;
}

/* The next definition levels, 1 where there is a value; false where there are fewer. */
static bool read_levels(Runs *runs, uint8_t *levels, size_t count) {
    while (count) {
        while (!runs->left)
            if (!open_run(runs)) return false;
        size_t part = runs->left < count ? (size_t)runs->left : count;
        if (runs->is_packed) {
            for (size_t row = 0; row < part; row++, runs->bit++)
                levels[row] = runs->bits[runs->bit >> 3] >> (runs->bit & 7) & 1;
        } else {
            memset(levels, (int)runs->value, part);
        }
        runs->left -= part;
        levels += part;
        count -= part;
    }
    return true;
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

/* Adds the terms of the next plain integers. One that lies beyond the known ones is for another
   reader: how far they reach was only told by statistics. */
static Status add_integers(Reader *reader, uint32_t *sums, size_t count) {
    const Column *column = reader->column;
    size_t size = column->plain_kind == INT64 ? 8 : 4;
    Bytes *plain = &reader->plain;
    if ((uint64_t)(plain->end - plain->at) / size < count) return DAMAGED;
    for (size_t row = 0; row < count; row++, plain->at += size) {
        uint64_t number = load(plain->at, size);
        if (column->plain_kind == INT32 && number >> 31) number |= ~(uint64_t)0 << 32;
        uint64_t distance = number - (uint64_t)column->base;
        if (distance >= column->plain_count) return NOT_SERVED;
        sums[row] += column->plain_terms[distance];
    }
    return SOUND;
}

/* Adds the terms of the next values that are no nulls. */
static Status add_present(Reader *reader, uint32_t *sums, size_t count) {
    bool is_integer = reader->page->encoding == PLAIN && reader->column->plain_kind != BITS;
    if (is_integer) return add_integers(reader, sums, count);
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

/* Whether all rows of a block have a cell: where a term is missing its bit is set in the sum. */
static bool are_cells(const uint32_t *sums, size_t count) {
    uint32_t any = 0;
    for (size_t row = 0; row < count; row++) any |= sums[row];
    return any < NO_TERM;
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
    Reader *readers, size_t reader_count, uint64_t rows, uint64_t *cells, size_t cell_count) {
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
        left -= count;
    }
    for (size_t lane = 0; has_lanes && lane < LANES; lane++)
        for (size_t cell = 0; cell < cell_count; cell++)
            cells[cell] += lanes[lane * cell_count + cell];
    free(lanes);
    return status;
}

/* Whether the terms of the columns can only add up to cells that there are. */
static bool fit_cells(const Column *columns, size_t column_count, size_t cell_count) {
    uint64_t largest_sum = 0;
    if (column_count > MOST_COLUMNS || !cell_count || cell_count > MOST_CELLS) return false;
    for (size_t number = 0; number < column_count; number++) {
        const Column *column = &columns[number];
        uint32_t largest = column->is_optional ? column->null_term : 0;
        if (column->term_count > MOST_TERMS) return false;
        for (size_t place = 0; place < column->term_count; place++)
            if (column->terms[place] > largest) largest = column->terms[place];
        for (size_t place = 0; place < column->plain_count; place++)
            if (column->plain_terms[place] > largest) largest = column->plain_terms[place];
        largest_sum += largest;
    }
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
   `cells`, which are worth nothing unless the pages are sound. At most 2^31 rows at once. */
Status count_rows(
    const Column *columns, size_t column_count, uint64_t rows, uint64_t *cells, size_t cell_count) {
    if (rows > INT32_MAX || !fit_cells(columns, column_count, cell_count)) return NOT_SERVED;
    for (size_t number = 0; number < column_count; number++)
        if (!has_rows(&columns[number], rows)) return DAMAGED;
    Reader *readers = calloc(column_count ? column_count : 1, sizeof *readers);
    if (!readers) return NO_MEMORY;
    Status status = SOUND;
    for (size_t number = 0; number < column_count && status == SOUND; number++)
        status = open_reader(&readers[number], &columns[number]);
    if (status == SOUND) status = count_blocks(readers, column_count, rows, cells, cell_count);
    for (size_t number = 0; number < column_count; number++) free(readers[number].look_up.terms);
    free(readers);
    return status;
}
