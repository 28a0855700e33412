/* Runs of one value, or of packed bits. https://parquet.apache.org/docs/file-format/data-pages/encodings/ */
#include "runs.h"

#include <string.h>

#ifdef _MSC_VER
#define INLINE __forceinline
#else
#define INLINE inline __attribute__((always_inline))
#endif

/* A number of `size` bytes, at most 8, the lowest first. */
uint64_t load(const uint8_t *at, size_t size) {
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
bool open_run(Runs *runs) {
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
bool add_values(Runs *runs, const LookUp *look_up, uint32_t *sums, size_t count) {
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
bool read_levels(Runs *runs, uint8_t *levels, size_t count) {
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
