/* Runs of one value, or of packed bits. https://parquet.apache.org/docs/file-format/data-pages/encodings/ */
#include "runs.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(SCALAR_ONLY)
#define HAS_AVX2 1
#include <immintrin.h>
#endif

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

/* The header of a run, of at most nine groups of seven bits. */
static INLINE bool read_header(Bytes *bytes, uint64_t *header) {
    *header = 0;
    for (unsigned shift = 0; shift <= 56; shift += 7) {
        if (bytes->at == bytes->end) return false;
        uint8_t byte = *bytes->at++;
        *header |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

/* The run that begins at `bytes`, which may have no value; false where there is none. A run of bits
   is cut where the bytes end; whoever needs more of it then finds no further run. */
static INLINE bool open_next(Runs *runs) {
    Bytes *bytes = &runs->bytes;
    uint64_t header;
    if (!read_header(bytes, &header)) return false;
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

bool open_run(Runs *runs) {
    return open_next(runs);
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

/* Adds the terms of the next packed values of the open run, which has as many. Most of them lie in
   eight bytes that are there. */
static void add_packed(Runs *runs, const LookUp *look_up, uint32_t *sums, size_t count) {
    const uint8_t *bits = runs->bits, *end = runs->bytes.end;
    uint64_t bit = runs->bit, width = runs->width, mask = ((uint64_t)1 << width) - 1;
    uint64_t room = (uint64_t)(end - bits), stop = room >= 8 ? (room - 7) * 8 : 0;
    size_t row = 0;
    for (; row < count && bit < stop; row++, bit += width) {
        uint64_t index = load_word(bits + (bit >> 3)) >> (bit & 7) & mask;
        sums[row] += term_of(look_up, (uint32_t)index);
    }
    for (runs->bit = bit; row < count; row++, runs->bit += width)
        sums[row] += term_of(look_up, packed_value(runs, end));
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

static inline void store_word(uint8_t *at, uint64_t word) {
    for (unsigned place = 0; place < 8; place++) at[place] = (uint8_t)(word >> (8 * place));
}

/* Two fields that stand in each `from` bits of a word, side by side, moved `to` bits apart. */
static inline uint64_t part(uint64_t word, unsigned width, uint64_t repeat, unsigned apart) {
    uint64_t mask = (((uint64_t)1 << width) - 1) * repeat;
    return (word & mask) | ((word & mask << width) << (apart - width));
}

/* Eight packed values, the lowest first, as a byte each: halves of them, then quarters, move apart. */
static INLINE uint64_t spread(uint64_t word, unsigned width) {
    if (width == 8) return word;
    word = part(word, 4 * width, 1, 32);
    word = part(word, 2 * width, 0x0000000100000001u, 16);
    return part(word, width, 0x0001000100010001u, 8);
}

/* The next packed values of the open run as bytes. `width` is a constant to whoever calls it. Eight
   of them, from any bit on, lie in eight bytes: of a whole byte each, they begin at a byte. */
static INLINE void unpack_groups(const Runs *runs, unsigned width, uint8_t *codes, size_t count) {
    const uint8_t *at = runs->bits + (runs->bit >> 3), *end = runs->bytes.end;
    unsigned shift = runs->bit & 7;
    for (size_t row = 0; row < count; row += 8, at += width) {
        size_t room = (size_t)(end - at);
        uint64_t word = (room >= 8 ? load_word(at) : load(at, room)) >> shift;
        store_word(codes + row, spread(word, width));
    }
}

static void unpack_packed(Runs *runs, uint8_t *codes, size_t count) {
    switch (runs->width) {
        case 0: memset(codes, 0, count); break;
        case 1: unpack_groups(runs, 1, codes, count); break;
        case 2: unpack_groups(runs, 2, codes, count); break;
        case 3: unpack_groups(runs, 3, codes, count); break;
        case 4: unpack_groups(runs, 4, codes, count); break;
        case 5: unpack_groups(runs, 5, codes, count); break;
        case 6: unpack_groups(runs, 6, codes, count); break;
        case 7: unpack_groups(runs, 7, codes, count); break;
        default: unpack_groups(runs, 8, codes, count);
    }
    runs->bit += (uint64_t)count * runs->width;
}

/* The value of the open run as bytes. */
static INLINE void repeat_value(const Runs *runs, uint8_t *codes, size_t count) {
    uint64_t word = runs->value * 0x0101010101010101u;
    for (size_t row = 0; row < count; row += 32)
        for (unsigned group = 0; group < 4; group++) store_word(codes + row + 8 * group, word);
}

/* The next values, whose packed runs `unpack` reads. */
static INLINE bool unpack_runs(
    Runs *runs, uint8_t *codes, size_t count, void (*unpack)(Runs *, uint8_t *, size_t)) {
    while (count) {
        while (!runs->left)
            if (!open_next(runs)) return false;
        size_t part = runs->left < count ? (size_t)runs->left : count;
        if (runs->is_packed) unpack(runs, codes, part);
        else repeat_value(runs, codes, part);
        runs->left -= part;
        codes += part;
        count -= part;
    }
    return true;
}

#if HAS_AVX2
/* Sixteen values of a width: the two bytes in which each lies, and what moves it to their top. */
#define EACH(OF, W)                                                                                \
    OF(W, 0), OF(W, 1), OF(W, 2), OF(W, 3), OF(W, 4), OF(W, 5), OF(W, 6), OF(W, 7), OF(W, 8),      \
        OF(W, 9), OF(W, 10), OF(W, 11), OF(W, 12), OF(W, 13), OF(W, 14), OF(W, 15)
#define PLACE(W, NUMBER) (W) * (NUMBER) / 8, (W) * (NUMBER) / 8 + 1
#define FACTOR(W, NUMBER) 1 << (16 - (W) - (W) * (NUMBER) % 8)

static const uint8_t places[][32] = {
    {0}, {EACH(PLACE, 1)}, {EACH(PLACE, 2)}, {EACH(PLACE, 3)}, {EACH(PLACE, 4)},
    {EACH(PLACE, 5)}, {EACH(PLACE, 6)}, {EACH(PLACE, 7)}, {EACH(PLACE, 8)}};
static const uint16_t factors[][16] = {
    {0}, {EACH(FACTOR, 1)}, {EACH(FACTOR, 2)}, {EACH(FACTOR, 3)}, {EACH(FACTOR, 4)},
    {EACH(FACTOR, 5)}, {EACH(FACTOR, 6)}, {EACH(FACTOR, 7)}, {EACH(FACTOR, 8)}};

/* The same by 32 at a time; what begins within a byte, or lies at the end, is read by eight. */
__attribute__((target("avx2"))) static inline void unpack_packed_avx2(
    Runs *runs, uint8_t *codes, size_t count) {
    unsigned width = runs->width <= 8 ? runs->width : 8;
    size_t row = 0;
    if (runs->bit & 7) {
        size_t begun = 8 - (runs->bit / width & 7);
        row = begun < count ? begun : count;
        unpack_packed(runs, codes, row);
    }
    const uint8_t *at = runs->bits + (runs->bit >> 3), *begin = at, *end = runs->bytes.end;
    __m256i place = _mm256_loadu_si256((const __m256i *)places[width]);
    __m256i factor = _mm256_loadu_si256((const __m256i *)factors[width]);
    __m128i shift = _mm_cvtsi32_si128((int)(16 - width));
    for (; row < count && (size_t)(end - at) >= 2 * width + 16; row += 32, at += 4 * width) {
        __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)at));
        __m256i high =
            _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(at + 2 * width)));
        low = _mm256_mullo_epi16(_mm256_shuffle_epi8(low, place), factor);
        high = _mm256_mullo_epi16(_mm256_shuffle_epi8(high, place), factor);
        low = _mm256_packus_epi16(_mm256_srl_epi16(low, shift), _mm256_srl_epi16(high, shift));
        _mm256_storeu_si256((__m256i *)(codes + row), _mm256_permute4x64_epi64(low, 0xd8));
    }
    runs->bit += (uint64_t)(at - begin) * 8;
    if (row < count) unpack_packed(runs, codes + row, count - row);
    else runs->bit -= (uint64_t)(row - count) * width;
}

__attribute__((target("avx2"))) static bool unpack_avx2(Runs *runs, uint8_t *codes, size_t count) {
    return unpack_runs(runs, codes, count, unpack_packed_avx2);
}
#endif

/* The next values, of at most eight bits, as bytes; false where there are fewer. Up to `SPARE_CODES`
   more are written, and mean nothing. */
bool unpack_codes(Runs *runs, uint8_t *codes, size_t count) {
#if HAS_AVX2
    if (__builtin_cpu_supports("avx2")) return unpack_avx2(runs, codes, count);
#endif
    return unpack_runs(runs, codes, count, unpack_packed);
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
