/* A fuzzer for where there is no libFuzzer: mutates seeds at random, and counts what it tried.

   driver FOLDER TRIES SECONDS SEED LAST: ends after so many tries or seconds; where the target or a
   sanitizer ends the process, the input that did is in the file LAST. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "target.h"

enum { MOST_SEEDS = 4096, MOST_BYTES = 1 << 16, MOST_BRED = 1 << 10 };

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
    switch (draw(11)) {
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
        case 7: input[place] = known_signs[draw(known_sign_count)]; break;
        case 8:
            if (input_size == MOST_BYTES) break;
            memmove(input + place + 1, input + place, input_size++ - place);
            input[place] = known_signs[draw(known_sign_count)];
            break;
        case 9:
            if (input_size > 1) memmove(input + place, input + place + 1, --input_size - place);
            break;
        default: {
            size_t seed = draw(seed_count), from = draw(seeds[seed].size);
            size_t size = seeds[seed].size - from;
            if (size > input_size - place) size = input_size - place;
            memcpy(input + place, seeds[seed].bytes + from, size);
        }
    }
}

/* Keeps the input that is the last. */
static void keep_input(void) {
    FILE *file = fopen(last_path, "wb");
    if (!file) return;
    fwrite(input, 1, input_size, file);
    fclose(file);
}

void __asan_on_error(void);
void __asan_on_error(void) { keep_input(); }

/* By this the target says that something is wrong. */
static void on_abort(int number) {
    (void)number;
    keep_input();
}

static bool add_seed(size_t place, const uint8_t *bytes, size_t size) {
    free(seeds[place].bytes);
    seeds[place].bytes = malloc(size);
    seeds[place].size = size;
    if (seeds[place].bytes) memcpy(seeds[place].bytes, bytes, size);
    return seeds[place].bytes;
}

static size_t read_seeds(const char *folder) {
    DIR *entries = opendir(folder);
    size_t count = 0;
    char path[4096];
    for (struct dirent *entry; entries && (entry = readdir(entries)) && count < MOST_SEEDS;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!file) continue;
        input_size = fread(input, 1, MOST_BYTES, file);
        fclose(file);
        if (input_size && add_seed(count, input, input_size)) count++;
    }
    if (entries) closedir(entries);
    return count;
}

/* One try; what is still sound may be begun with again, in the place of none of the first seeds. */
static size_t try_once(size_t first_count, size_t seed_count) {
    size_t seed = draw(seed_count);
    uint64_t before = counted_inputs;
    input_size = seeds[seed].size;
    memcpy(input, seeds[seed].bytes, input_size);
    for (uint64_t times = 1 + draw(4); times; times--) mutate(seed_count);
    LLVMFuzzerTestOneInput(input, input_size);
    if (counted_inputs == before || input_size > MOST_BRED || draw(4)) return seed_count;
    size_t place = first_count + draw(MOST_SEEDS);
    if (place >= MOST_SEEDS) return seed_count;
    if (place >= seed_count) place = seed_count++;
    return add_seed(place, input, input_size) ? seed_count : 0;
}

int main(int count, char **words) {
    if (count != 6) return 2;
    size_t first_count = read_seeds(words[1]), seed_count = first_count;
    uint64_t tries = strtoull(words[2], NULL, 10), tried = 0;
    time_t stop = time(NULL) + (time_t)strtoull(words[3], NULL, 10);
    state = strtoull(words[4], NULL, 10) * 2 + 1;
    last_path = words[5];
    signal(SIGABRT, on_abort);
    for (size_t seed = 0; seed < seed_count; seed++)
        LLVMFuzzerTestOneInput(seeds[seed].bytes, seeds[seed].size);
    for (; seed_count && tried < tries && (tried % 1024 || time(NULL) < stop); tried++)
        seed_count = try_once(first_count, seed_count);
    printf("%llu inputs from %zu seeds, %llu counted\n", (unsigned long long)tried, first_count,
           (unsigned long long)counted_inputs);
    return seed_count ? 0 : 2;
}
