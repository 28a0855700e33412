/* Mutates small CSV inputs and counts them by both instruction sets, which must agree; built with
   ASan and UBSan. Arguments: executions, seed, files to begin with. */
#include "csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 400, MOST_SEEDS = 4096 };

static uint64_t state;

/* A random number below `limit`, by xorshift. */
static size_t below(size_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 11) % limit;
}

/* Changes, inserts, removes or doubles some bytes. */
static size_t mutate(uint8_t *bytes, size_t size) {
    static const char signs[] = "\",\n\r;\0ax\xc3\xa4\xe2\x82\xac\xff";
    for (size_t times = 1 + below(4); times; times--) {
        size_t at = size ? below(size) : 0, kind = below(4);
        uint8_t sign = below(4) ? (uint8_t)signs[below(sizeof signs - 1)] : (uint8_t)below(256);
        if (kind == 0 && size) {
            bytes[at] = sign;
        } else if (kind == 1 && size < MOST_BYTES) {
            memmove(bytes + at + 1, bytes + at, size - at);
            bytes[at] = sign;
            size++;
        } else if (kind == 2 && size > 1) {
            memmove(bytes + at, bytes + at + 1, size - at - 1);
            size--;
        } else if (kind == 3 && size > 1) {
            size_t length = 1 + below(size - at < 70 ? size - at : 70);
            if (size + length > MOST_BYTES) continue;
            memmove(bytes + at + length, bytes + at, size - at);
            size += length;
        }
    }
    return size;
}

/* A block of its own size with just its padding, so that a read beyond it is seen. */
static Status counted(CsvTable *table, const uint8_t *bytes, size_t size, bool is_scalar, size_t fields) {
    *table = (CsvTable){.separator = ',', .fields = fields, .is_scalar = is_scalar};
    size_t keys = fields < 3 ? fields : 3;
    if (!begin_csv(table, keys)) abort();
    for (size_t key = 0; key < keys; key++) table->keys[key].column = fields - 1 - key;
    uint8_t *block = malloc(size + PADDING);
    memcpy(block, bytes, size);
    memset(block + size, '"', PADDING);
    uint64_t lines = 0;
    Status status = count_block(table, block, size, &lines);
    uint64_t rows = 0;
    for (size_t cell = 0; cell < table->cell_count; cell++) rows += table->rows[cell];
    if (status == SOUND && rows != lines) abort();
    free(block);
    return status;
}

/* Aborts where the two ways differ. */
static bool compare(const uint8_t *bytes, size_t size, size_t fields) {
    CsvTable tables[2];
    Status first = counted(&tables[0], bytes, size, true, fields);
    Status second = counted(&tables[1], bytes, size, false, fields);
    size_t cells = tables[0].cell_count, width = tables[0].key_count;
    bool is_same = first == second && cells == tables[1].cell_count &&
                   !memcmp(tables[0].codes, tables[1].codes, cells * width * sizeof(uint16_t)) &&
                   !memcmp(tables[0].rows, tables[1].rows, cells * sizeof(uint64_t));
    if (!is_same) {
        fwrite(bytes, 1, size, stderr);
        abort();
    }
    free_csv(&tables[0]);
    free_csv(&tables[1]);
    return first == SOUND;
}

int main(int count, char **arguments) {
    static uint8_t seeds[MOST_SEEDS][MOST_BYTES], bytes[MOST_BYTES + 1];
    static size_t sizes[MOST_SEEDS], fields[MOST_SEEDS];
    size_t seed_count = 0, sound = 0, executions = (size_t)atoll(arguments[1]);
    state = (uint64_t)atoll(arguments[2]) * 0x9e3779b97f4a7c15u | 1;
    for (int place = 3; place < count && seed_count < MOST_SEEDS; place++) {
        FILE *file = fopen(arguments[place], "rb");
        if (!file) continue;
        size_t size = fread(seeds[seed_count], 1, MOST_BYTES, file), head = 0;
        fclose(file);
        fields[seed_count] = 1;
        for (; head < size && seeds[seed_count][head] != '\n'; head++)
            fields[seed_count] += seeds[seed_count][head] == ',';
        while (size && seeds[seed_count][size - 1] != '\n') size--;
        if (size) sizes[seed_count++] = size;
    }
    if (!seed_count) return 2;
    for (size_t run = 0; run < executions; run++) {
        size_t seed = below(seed_count), size = sizes[seed];
        memcpy(bytes, seeds[seed], size);
        size = mutate(bytes, size);
        if (size && below(8)) bytes[size - 1] = '\n';
        if (compare(bytes, size, fields[seed])) {
            sound++;
            // What is still sound may be begun with again.
            size_t place = below(MOST_SEEDS);
            if (place > seed_count && seed_count < MOST_SEEDS && size <= MOST_BYTES) place = seed_count++;
            if (place < seed_count) {
                memcpy(seeds[place], bytes, size);
                sizes[place] = size;
                fields[place] = fields[seed];
            }
        }
    }
    printf("%zu executions by both ways, %zu of sound input\n", executions, sound);
    return 0;
}
