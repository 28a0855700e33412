/* One input of the fuzzer: lines of CSV in two blocks, counted by both instruction sets. Both must
   say what a slow reader of one byte after the other says, of numbers too: those of the first field.

   It is built with few levels and cells, so that a small input reaches every limit. */
#include "csv.h"
#include "sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target.h"

enum { MOST_KEYS = 3, MOST_FIELDS = 4, MOST_INPUT = 1 << 16 };

uint64_t counted_inputs;
const uint8_t known_signs[] = "\",;\n\n\r\t \0ax.e-059\xc3\xa4\xe2\x82\xac\xed\xa0\xf0\x9f\x98\x80\xff";
const size_t known_sign_count = sizeof known_signs - 1;

/* What lines hold: whether all are records, how many, the sum of the hashes of their keys, and those of
   their numbers. */
typedef struct {
    bool is_sound;
    uint64_t lines, sum;
    unsigned __int128 numbers[2];
} Seen;

static const uint64_t EMPTY = 0xcbf29ce484222325u, MISSING = 0x9e3779b97f4a7c15u;

/* By Fowler, Noll and Vo. */
static uint64_t hashed(uint64_t hash, uint8_t sign) { return (hash ^ sign) * 0x100000001b3u; }

/* One number of those of all keys, in their order. */
static uint64_t joined(const uint64_t *hashes, size_t count) {
    uint64_t sum = 0;
    for (size_t place = 0; place < count; place++) sum = (sum + hashes[place]) * 0xff51afd7ed558ccdu;
    return sum;
}

/* Whether bytes are UTF-8, by the number that each sign of them stands for. */
static bool is_text(const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        uint32_t sign = *at++;
        if (sign < 0x80) continue;
        size_t more = sign >= 0xf8 ? 9 : sign >= 0xf0 ? 3 : sign >= 0xe0 ? 2 : sign >= 0xc0 ? 1 : 9;
        if (more == 9 || (size_t)(end - at) < more) return false;
        sign &= 0x3fu >> more;
        for (size_t place = 0; place < more; place++, at++) {
            if (*at >> 6 != 2) return false;
            sign = sign << 6 | (*at & 0x3f);
        }
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (sign < least[more] || sign > 0x10ffff || (sign >= 0xd800 && sign < 0xe000)) return false;
    }
    return true;
}

/* Adds the number of a text that ends with a zero; false where it is none that is served. */
static bool add_slowly(const NumberColumn *column, char *text, size_t size, Seen *seen) {
    if (!size || size > 48 || strspn(text, "0123456789.,eE+-") != size) return false;
    size_t whole = strspn(text, "0123456789"), at = whole;
    if (text[at] == column->decimal) {
        text[at++] = '.';
        size_t part = strspn(text + at, "0123456789");
        if (!part) return false;
        at += part;
    }
    if (text[at] == 'e' || text[at] == 'E') {
        at += 1 + (text[at + 1] == '+' || text[at + 1] == '-');
        size_t zeros = strspn(text + at, "0"), power = strspn(text + at, "0123456789");
        if (!power || power - zeros > 3) return false;
        at += power;
    }
    if (!whole || at != size) return false;
    double number = 0;
    if (sscanf(text, "%lf", &number) != 1) return false;
    if (!column->is_weight) {
        if (number > LARGEST_COUNT || (double)(uint64_t)number != number) return false;
        seen->numbers[0] += (uint64_t)number;
        return true;
    }
    if (number >= LARGEST_WEIGHT) return false;
    uint64_t root = (uint64_t)__builtin_nearbyint(number * ROOT_SCALE);
    seen->numbers[0] += (uint64_t)__builtin_nearbyint(number * WEIGHT_SCALE);
    seen->numbers[1] += root * root;
    return true;
}

/* Reads lines as RFC 4180 says, byte after byte. Keys are the last fields, backwards. */
static Seen read_slowly(const uint8_t *bytes, size_t size, const CsvTable *table, size_t keys) {
    uint8_t separator = table->separator;
    size_t fields = table->fields, text_size = 0;
    char text[64] = {0};
    enum { START, IN_PLAIN, IN_QUOTES, BEHIND_QUOTE } state = START;
    Seen seen = {.is_sound = size && bytes[size - 1] == '\n' && is_text(bytes, bytes + size)};
    uint64_t hashes[MOST_FIELDS] = {0}, hash = EMPTY;
    size_t field = 0, line_size = 0;
    for (size_t at = 0; seen.is_sound && at < size; at++, line_size++) {
        uint8_t sign = bytes[at];
        if (state != IN_QUOTES && sign == '\r' && line_size && bytes[at + 1] == '\n') {
            sign = bytes[++at];
        } else if (sign == '\r' || (sign == '\n' && (!line_size || state == IN_QUOTES))) {
            seen.is_sound = false;
            break;
        }
        if (state == BEHIND_QUOTE && sign == '"') text_size = sizeof text; // no number holds one
        else if (sign != '"' && sign != '\n' && (sign != separator || state == IN_QUOTES)) {
            if (text_size < sizeof text - 1) text[text_size] = (char)sign;
            text_size++;
        }
        if (state == IN_QUOTES) {
            if (sign == '"') state = BEHIND_QUOTE;
            else hash = hashed(hash, sign);
        } else if (sign == separator || sign == '\n') {
            if (field < fields) hashes[fields - 1 - field] = state == START ? MISSING : hash;
            if (!field && table->number.is_there && !add_slowly(&table->number, text, text_size, &seen))
                seen.is_sound = false;
            memset(text, 0, sizeof text);
            text_size = 0;
            field++;
            hash = EMPTY;
            state = START;
        } else if (sign == '"' && state != IN_PLAIN) {
            if (state == BEHIND_QUOTE) hash = hashed(hash, sign);
            state = IN_QUOTES;
        } else if (sign == '"' || state == BEHIND_QUOTE) {
            seen.is_sound = false;
        } else {
            hash = hashed(hash, sign);
            state = IN_PLAIN;
        }
        if (sign == '\n') {
            seen.is_sound = seen.is_sound && field == fields;
            seen.lines++;
            seen.sum += joined(hashes, keys);
            field = 0;
            line_size = (size_t)-1;
        }
    }
    return seen;
}

/* The same sum, of what a table holds. */
static Seen read_table(const CsvTable *table) {
    Seen seen = {.is_sound = true};
    for (size_t cell = 0; cell < table->cell_count; cell++) {
        uint64_t hashes[MOST_KEYS] = {0};
        for (size_t key = 0; key < table->key_count; key++) {
            size_t code = table->codes[cell * table->key_count + key];
            const LevelText *text = &table->keys[key].texts[code];
            hashes[key] = code ? EMPTY : MISSING;
            for (size_t place = 0; code && place < text->length; place++)
                hashes[key] = hashed(hashes[key], table->texts[text->at + place]);
        }
        seen.sum += table->rows[cell] * joined(hashes, table->key_count);
        seen.lines += table->rows[cell];
        const uint64_t *sums = table->sums + 4 * cell;
        for (size_t place = 0; place < 2; place++)
            seen.numbers[place] += (unsigned __int128)sums[2 * place + 1] << 64 | sums[2 * place];
    }
    return seen;
}

/* Whether a table has no room for another level or cell, so that it may decline what is sound. */
static bool is_full(const CsvTable *table) {
    bool is_full = table->cell_count == MOST_COMBINATIONS;
    for (size_t key = 0; key < table->key_count; key++)
        is_full = is_full || table->keys[key].count == MOST_LEVELS;
    return is_full;
}

/* Counts a block in memory of just its size and padding: so a read beyond it is seen. */
static Status count_alone(CsvTable *table, const uint8_t *bytes, size_t size, uint64_t *lines) {
    uint8_t *block = malloc(size + PADDING);
    memcpy(block, bytes, size);
    memset(block + size, '"', PADDING);
    Status status = count_block(table, block, size, lines);
    free(block);
    return status;
}

/* Counts two blocks, and aborts where the table and the slow reader differ. */
static bool compare(
    const uint8_t *bytes, size_t size, size_t middle, CsvTable table, size_t keys, const Seen *seen) {
    if (!begin_csv(&table, keys)) abort();
    for (size_t key = 0; key < keys; key++) table.keys[key].column = table.fields - 1 - key;
    uint64_t lines = 0, more = 0;
    Status status = SOUND;
    if (middle) status = count_alone(&table, bytes, middle, &lines);
    if (status == SOUND) status = count_alone(&table, bytes + middle, size - middle, &more);
    Seen counted = read_table(&table);
    if (status != SOUND && (status != NOT_SERVED || (seen->is_sound && !is_full(&table)))) abort();
    if (status == SOUND && (!seen->is_sound || lines + more != seen->lines ||
                            counted.lines != seen->lines || counted.sum != seen->sum ||
                            counted.numbers[0] != seen->numbers[0] ||
                            counted.numbers[1] != seen->numbers[1]))
        abort();
    free_csv(&table);
    return status == SOUND;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char separators[] = ",;\t ";
    if (size < 3 || size > MOST_INPUT) return 0;
    CsvTable table = {.separator = (uint8_t)separators[data[0] >> 2 & 3], .fields = 1 + (data[0] & 3)};
    size_t keys = table.fields < MOST_KEYS ? table.fields : MOST_KEYS, middle = data[1];
    if (data[0] & 16) keys = 0; // lines alone are counted then
    table.number = (NumberColumn){.is_there = (data[0] & 32) && keys, .is_weight = data[0] & 64,
                                  .decimal = data[0] & 128 ? ',' : '.'};
    data += 2;
    size -= 2;
    if (middle >= size) middle = 0;
    while (middle && data[middle - 1] != '\n') middle--;
    Seen seen = read_slowly(data, size, &table, keys);
    bool is_counted = compare(data, size, middle, table, keys, &seen);
    table.is_scalar = true;
    if (compare(data, size, middle, table, keys, &seen) != is_counted) abort();
    counted_inputs += is_counted;
    return 0;
}
