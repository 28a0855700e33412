/* A fuzzer for where there is no libFuzzer: mutates seeds at random, and counts what it tried.

   driver FOLDER TRIES SEED: the last input is in FOLDER/../last when a sanitizer ends the process. */
#include <dirent.h>
#include <stdio.h>

#include "parquet_target.h"

enum { MOST_SEEDS = 4096, MOST_BYTES = 1 << 16 };

static struct {
    uint8_t *bytes;
    size_t size;
} seeds[MOST_SEEDS];
static uint64_t state;
static uint8_t input[MOST_BYTES];
static size_t input_size;
static const char *last_path;

/* xorshift*, https://doi.org/10.18637/jss.v008.i14 */
static uint64_t draw(uint64_t below) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * 0x2545F4914F6CDD1Dull >> 11) % below;
}

static void mutate(size_t seed_count) {
    static const uint32_t interesting[] = {0, 1, 2, 7, 8, 127, 128, 255, 256, 32767, 65535,
                                           0x7fffffff, 0x80000000, 0xffffffff};
    size_t place = draw(input_size), other = draw(input_size), width = 1 + draw(4);
    switch (draw(8)) {
        case 0:
        case 1: input[place] ^= 1 << draw(8); break;
        case 2: input[place] = (uint8_t)draw(256); break;
        case 3: input[place] += (uint8_t)(draw(9) - 4); break;
        case 4: input_size = 1 + draw(input_size); break;
        case 5:
            if (place + width <= input_size) memcpy(input + place, &interesting[draw(14)], width);
            break;
        case 6:
            if (place + width <= input_size && other + width <= input_size)
                memmove(input + place, input + other, width);
            break;
        default: {
            size_t seed = draw(seed_count), from = draw(seeds[seed].size);
            size_t size = seeds[seed].size - from;
            if (size > input_size - place) size = input_size - place;
            memcpy(input + place, seeds[seed].bytes + from, size);
        }
    }
}

void __asan_on_error(void);
void __asan_on_error(void) {
    FILE *file = fopen(last_path, "wb");
    if (!file) return;
    fwrite(input, 1, input_size, file);
    fclose(file);
}

static size_t read_seeds(const char *folder) {
    DIR *entries = opendir(folder);
    size_t count = 0;
    char path[4096];
    for (struct dirent *entry; entries && (entry = readdir(entries)) && count < MOST_SEEDS;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!file) continue;
        uint8_t *bytes = malloc(MOST_BYTES);
        size_t size = fread(bytes, 1, MOST_BYTES, file);
        fclose(file);
        if (!size) continue;
        seeds[count].bytes = bytes;
        seeds[count++].size = size;
    }
    if (entries) closedir(entries);
    return count;
}

int main(int count, char **words) {
    if (count != 5) return 2;
    size_t seed_count = read_seeds(words[1]);
    uint64_t tries = strtoull(words[2], NULL, 10), counted = 0;
    state = strtoull(words[3], NULL, 10) * 2 + 1;
    last_path = words[4];
    if (!seed_count) return 2;
    for (size_t seed = 0; seed < seed_count; seed++)
        LLVMFuzzerTestOneInput(seeds[seed].bytes, seeds[seed].size);
    for (uint64_t try = 0; try < tries; try++) {
        size_t seed = draw(seed_count);
        input_size = seeds[seed].size;
        memcpy(input, seeds[seed].bytes, input_size);
        for (uint64_t times = 1 + draw(4); times; times--) mutate(seed_count);
        counted += (uint64_t)LLVMFuzzerTestOneInput(input, input_size);
    }
    printf("%llu inputs of %zu seeds, %llu counted\n", (unsigned long long)tries, seed_count,
           (unsigned long long)counted);
    return 0;
}
