/* Counts the records of CSV by the texts of their keys: each text has a code, each combination of
   codes a cell. It trusts the ends of fields that `find_fields` has found in the same block. */
#include "csv.h"

#include "sums.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 1 << 24, NO_CODE = MOST_LEVELS + 1, SUMS_SIZE = 4 * sizeof(uint64_t) };

/* A field as it is meant, without quotes; null where nothing stands there. */
typedef struct {
    const uint8_t *at;
    size_t length;
    bool is_null;
} Field;

bool begin_csv(CsvTable *table, size_t key_count) {
    table->key_count = key_count;
    table->keys = calloc(key_count + 1, sizeof *table->keys);
    table->slot_count = FIRST_SLOTS;
    table->slots = calloc(FIRST_SLOTS, sizeof *table->slots);
    table->codes = calloc(FIRST_SLOTS / 2 * (key_count + 1), sizeof *table->codes);
    table->rows = calloc(FIRST_SLOTS / 2, sizeof *table->rows);
    table->sums = calloc(FIRST_SLOTS / 2, SUMS_SIZE);
    return table->keys && table->slots && table->codes && table->rows && table->sums;
}

void free_csv(CsvTable *table) {
    free(table->keys);
    free(table->slots);
    free(table->codes);
    free(table->rows);
    free(table->sums);
    free(table->texts);
    free(table->ends);
    free(table->scratch);
}

/* Spreads the bits of a number over all of its own. */
static inline uint64_t mix(uint64_t number) {
    number *= 0x9e3779b97f4a7c15u;
    return number ^ number >> 32;
}

/* Up to eight bytes as a number; `at` may be read for eight, which the padding allows. */
static inline uint64_t first_word(const uint8_t *at, size_t length) {
    uint64_t word;
    memcpy(&word, at, 8);
    static const uint8_t ones[16] = {255, 255, 255, 255, 255, 255, 255, 255};
    uint64_t mask;
    memcpy(&mask, ones + 8 - (length < 8 ? length : 8), 8);
    return length < 8 ? word & mask : word;
}

/* A number of all bytes of a text. */
static uint64_t hash_of(const Field *field, uint64_t word) {
    uint64_t hash = mix(word + field->length);
    for (size_t place = 8; place < field->length; place += 8)
        hash = mix(hash ^ first_word(field->at + place, field->length - place));
    return hash;
}

/* Takes up a new text; its code, or NO_CODE where the column has too many. */
static size_t learn(CsvTable *table, LevelTable *key, const Field *field, uint64_t word) {
    if (key->count == MOST_LEVELS || field->length > MOST_TEXT - table->texts_used) return NO_CODE;
    size_t needed = table->texts_used + field->length;
    if (needed > table->texts_size) {
        uint8_t *texts = realloc(table->texts, needed * 2 + 1024);
        if (!texts) return NO_CODE;
        table->texts = texts;
        table->texts_size = needed * 2 + 1024;
    }
    if (field->length) memcpy(table->texts + table->texts_used, field->at, field->length);
    key->texts[++key->count] = (LevelText){word, table->texts_used, field->length};
    table->texts_used = needed;
    return key->count;
}

/* The code of a field of a key; NO_CODE where the column has too many texts. */
static inline size_t code_of(CsvTable *table, LevelTable *key, const Field *field) {
    if (field->is_null) return 0;
    uint64_t word = first_word(field->at, field->length);
    size_t slot = hash_of(field, word) % LEVEL_SLOTS;
    for (size_t code; (code = key->slots[slot]); slot = (slot + 1) % LEVEL_SLOTS) {
        const LevelText *text = &key->texts[code];
        if (text->word == word && text->length == field->length &&
            (field->length <= 8 || !memcmp(table->texts + text->at, field->at, field->length)))
            return code;
    }
    size_t code = learn(table, key, field, word);
    if (code != NO_CODE) key->slots[slot] = (uint16_t)code;
    return code;
}

/* The field between quotes, doubled ones taken once; false without memory. */
static bool unquote(CsvTable *table, Field *field) {
    field->at++;
    field->length -= 2;
    if (!memchr(field->at, '"', field->length)) return true;
    if (field->length + PADDING > table->scratch_size) {
        uint8_t *scratch = realloc(table->scratch, field->length * 2 + PADDING);
        if (!scratch) return false;
        table->scratch = scratch;
        table->scratch_size = field->length * 2 + PADDING;
    }
    size_t length = 0;
    for (size_t place = 0; place < field->length; place++) {
        table->scratch[length++] = field->at[place];
        if (field->at[place] == '"') place++;
    }
    memset(table->scratch + length, 0, 8);
    *field = (Field){table->scratch, length, false};
    return true;
}

/* Twice the room for cells; false without memory. */
static bool grow(CsvTable *table) {
    size_t slot_count = table->slot_count * 2, room = slot_count / 2, width = table->key_count + 1;
    uint16_t *codes = realloc(table->codes, room * width * sizeof *codes);
    if (codes) table->codes = codes;
    uint64_t *rows = realloc(table->rows, room * sizeof *rows);
    if (rows) table->rows = rows;
    uint64_t *sums = realloc(table->sums, room * SUMS_SIZE);
    if (sums) table->sums = sums;
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!codes || !rows || !sums || !slots) {
        free(slots);
        return false;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
    for (size_t cell = 0; cell < table->cell_count; cell++) {
        uint64_t hash = 0;
        for (size_t key = 0; key < table->key_count; key++)
            hash = mix(hash + codes[cell * table->key_count + key]);
        size_t slot = hash & (slot_count - 1);
        while (slots[slot]) slot = (slot + 1) & (slot_count - 1);
        slots[slot] = (uint32_t)cell + 1;
    }
    return true;
}

/* Adds a row to the cell of its codes, whose hash it is given, and tells which that is. The codes
   stand where those of the next new cell belong: so a new cell has them already. */
static inline Status add_row(CsvTable *table, const uint16_t *codes, uint64_t hash, size_t *added) {
    size_t mask = table->slot_count - 1, size = table->key_count * sizeof *codes;
    for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
        size_t cell = table->slots[slot];
        if (cell && !memcmp(table->codes + (cell - 1) * table->key_count, codes, size)) {
            table->rows[cell - 1]++;
            *added = cell - 1;
            return SOUND;
        }
        if (cell) continue;
        if (table->cell_count == MOST_COMBINATIONS) return NOT_SERVED;
        *added = table->cell_count;
        memset(table->sums + 4 * table->cell_count, 0, SUMS_SIZE);
        table->rows[table->cell_count++] = 1;
        table->slots[slot] = (uint32_t)table->cell_count;
        // One more cell must always have room for its codes.
        return table->cell_count + 1 < table->slot_count / 2 || grow(table) ? SOUND : NO_MEMORY;
    }
}

/* A field of a record by the ends of all of them, quotes and all; the record begins at `start`. */
static inline Field field_of(
    const uint8_t *block, const uint32_t *ends, size_t start, size_t column) {
    size_t begin = column ? ends[column - 1] + 1 : start, end = ends[column];
    if (block[end] == '\n' && end > begin && block[end - 1] == '\r') end--;
    return (Field){block + begin, end - begin, end == begin};
}

/* Adds the number of a record to the sums of its cell. */
static inline Status add_number(CsvTable *table, Field field, size_t cell) {
    NumberColumn *column = &table->number;
    uint64_t *sums = table->sums + 4 * cell;
    double number;
    if (!field.is_null && *field.at == '"' && !unquote(table, &field)) return NO_MEMORY;
    if (!read_number(field.at, field.length, column->decimal, &number)) return NOT_SERVED;
    uint64_t fixed[2];
    bool is_served = column->is_weight
                         ? fix_weight(number, fixed, &column->largest, &column->error)
                         : fix_people(number, fixed);
    if (!is_served) return NOT_SERVED;
    add_fixed(sums, fixed);
    return SOUND;
}

/* Puts the code of a record's field behind those it has. */
static inline Status add_code(
    CsvTable *table, size_t number, Field field, uint16_t *codes, uint64_t *hash) {
    if (!field.is_null && *field.at == '"' && !unquote(table, &field)) return NO_MEMORY;
    size_t code = code_of(table, &table->keys[number], &field);
    if (code == NO_CODE) return NOT_SERVED;
    codes[number] = (uint16_t)code;
    *hash = mix(*hash + code);
    return SOUND;
}

/* Counts a record by the ends of its fields; it begins at `start`. */
static inline Status count_record(
    CsvTable *table, const uint8_t *block, const uint32_t *ends, size_t start) {
    uint16_t *codes = table->codes + table->cell_count * table->key_count;
    uint64_t hash = 0;
    size_t cell;
    Status status = SOUND;
    for (size_t number = 0; status == SOUND && number < table->key_count; number++) {
        Field field = field_of(block, ends, start, table->keys[number].column);
        status = add_code(table, number, field, codes, &hash);
    }
    if (status == SOUND) status = add_row(table, codes, hash, &cell);
    if (status != SOUND || !table->number.is_there) return status;
    return add_number(table, field_of(block, ends, start, table->number.column), cell);
}

Status count_block(CsvTable *table, const uint8_t *block, size_t size, uint64_t *lines) {
    Status status = find_fields(table, block, size, lines);
    const uint32_t *ends = table->ends;
    size_t start = 0;
    for (uint64_t line = 0; status == SOUND && line < *lines; line++, ends += table->fields) {
        status = count_record(table, block, ends, start);
        start = (size_t)ends[table->fields - 1] + 1;
    }
    return status;
}
