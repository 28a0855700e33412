/* Where the fields of a block of lines end, and whether each line is a record of RFC 4180.

   Each line end, separator and quote becomes a bit of a word of 64. What lies between quotes is
   the running parity of theirs, as in Langdale & Lemire (2019), Parsing Gigabytes of JSON per
   Second, VLDB Journal 28:941. */
#include "csv.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(SCALAR_ONLY)
#define HAS_AVX2 1
#include <immintrin.h>
#endif

enum { SPARE_ENDS = 8 };

/* One bit for each of 64 bytes, the first the lowest. */
typedef struct {
    uint64_t ends, returns, quotes, separators, high;
} Marks;

/* What the word before leaves to the next: each is 0 or 1, `inside` all bits or none. `high` and
   `fault` collect, and `lines` counts, what all words had. */
typedef struct {
    uint64_t inside, bound, closing, line_end, carriage_return, high;
    uint64_t fault, lines;
} Carried;

/* Eight bytes as a number, the first the lowest. It trusts that they can be read. */
static uint64_t load_eight(const uint8_t *at) {
    uint64_t word = 0;
    for (unsigned place = 0; place < 8; place++) word |= (uint64_t)at[place] << (8 * place);
    return word;
}

/* The top bits of eight bytes as eight bits. */
static uint64_t gather(uint64_t tops) {
    return ((tops & 0x8080808080808080u) >> 7) * 0x0102040810204080u >> 56;
}

/* Which of eight bytes equal a sign. */
static uint64_t equal_eight(uint64_t word, uint8_t sign) {
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu, other = word ^ (sign * 0x0101010101010101u);
    return gather(~(((other & low) + low) | other));
}

/* The marks of 64 bytes, eight at a time. */
static Marks scalar_marks(const uint8_t *at, uint8_t separator) {
    Marks marks = {0};
    for (unsigned place = 0; place < 64; place += 8) {
        uint64_t word = load_eight(at + place);
        marks.ends |= equal_eight(word, '\n') << place;
        marks.returns |= equal_eight(word, '\r') << place;
        marks.quotes |= equal_eight(word, '"') << place;
        marks.separators |= equal_eight(word, separator) << place;
        marks.high |= gather(word) << place;
    }
    return marks;
}

/* The place of the lowest bit of a word that has one. */
static unsigned lowest_bit(uint64_t word) {
#if defined(__GNUC__)
    return (unsigned)__builtin_ctzll(word);
#else
    unsigned place = 0;
    for (; !(word & 1); word >>= 1) place++;
    return place;
#endif
}

/* How many bits a word has. */
static inline unsigned count_bits(uint64_t word) {
#if defined(__GNUC__)
    return (unsigned)__builtin_popcountll(word);
#else
    unsigned count = 0;
    for (; word; word &= word - 1) count++;
    return count;
#endif
}

/* At each bit, the parity of all bits up to it. */
static uint64_t parities(uint64_t bits) {
    for (unsigned step = 1; step < 64; step <<= 1) bits ^= bits << step;
    return bits;
}

/* Holds the marks of 64 bytes against the grammar; faults are collected, and told by the caller.
   Returns where fields end. */
static inline uint64_t check_marks(const Marks *marks, Carried *carried) {
    uint64_t inside = carried->inside, quotes = marks->quotes, ends = marks->ends;
    if (quotes) inside ^= parities(quotes);
    uint64_t opening = quotes & inside, closing = quotes & ~inside;
    uint64_t separators = marks->separators & ~inside;
    uint64_t bounds = ends | separators | marks->returns;
    uint64_t line_starts = ends << 1 | carried->line_end;
    uint64_t field_starts = (bounds | closing) << 1 | carried->bound;
    uint64_t behind_closing = closing << 1 | carried->closing;
    uint64_t behind_return = marks->returns << 1 | carried->carriage_return;
    carried->fault |= (ends & inside) | ((ends | marks->returns) & line_starts) |
                      (behind_return & ~ends) | (opening & ~field_starts) |
                      (behind_closing & ~(bounds | opening));
    carried->bound = (bounds | closing) >> 63;
    carried->closing = closing >> 63;
    carried->line_end = ends >> 63;
    carried->carriage_return = marks->returns >> 63;
    carried->inside = 0 - (inside >> 63);
    carried->lines += count_bits(ends);
    carried->high |= marks->high;
    return separators | ends;
}

/* Writes down the places of bits. It trusts that there is room for all of them. */
static inline size_t write_ends(uint32_t *ends, size_t count, uint64_t bits, size_t base) {
    for (; bits; bits &= bits - 1) ends[count++] = (uint32_t)(base + lowest_bit(bits));
    return count;
}

/* Marks below the end of the block. */
static Marks marks_below(Marks marks, size_t size) {
    uint64_t below = size >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << size) - 1;
    return (Marks){marks.ends & below, marks.returns & below, marks.quotes & below,
                   marks.separators & below, marks.high & below};
}

/* The scan of a block by one way to make marks; its twin below differs in that alone. The block
   ends with a line end, so what is carried beyond its last byte asks nothing more. */
static size_t scan_scalar(CsvTable *table, const uint8_t *block, size_t size, Carried *carried) {
    size_t count = 0;
    for (size_t at = 0; at < size; at += 64) {
        Marks marks = marks_below(scalar_marks(block + at, table->separator), size - at);
        count = write_ends(table->ends, count, check_marks(&marks, carried), at);
        if (carried->fault) break;
    }
    return count;
}

#if HAS_AVX2
/* Which of 64 bytes equal a sign. */
__attribute__((target("avx2"))) static inline uint64_t equal_marks(__m256i low, __m256i high, __m256i sign) {
    uint32_t first = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, sign));
    uint32_t second = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, sign));
    return (uint64_t)second << 32 | first;
}

/* The same, eight at a time: one branch where most words have no more. Behind the last that counts it
   writes up to seven more, for which `SPARE_ENDS` leaves room. */
__attribute__((target("bmi,popcnt"))) static inline size_t write_eights(
    uint32_t *ends, size_t count, uint64_t bits, size_t base) {
    size_t stop = count + count_bits(bits);
    for (; count < stop; count += 8) {
        for (size_t place = 0; place < 8; place++) {
            ends[count + place] = (uint32_t)(base + _tzcnt_u64(bits));
            bits &= bits - 1;
        }
    }
    return stop;
}

__attribute__((target("avx2,bmi,popcnt"))) static size_t scan_avx2(
    CsvTable *table, const uint8_t *block, size_t size, Carried *carried) {
    const __m256i end = _mm256_set1_epi8('\n'), carriage_return = _mm256_set1_epi8('\r');
    const __m256i quote = _mm256_set1_epi8('"'), separator = _mm256_set1_epi8((char)table->separator);
    size_t count = 0;
    for (size_t at = 0; at < size; at += 64) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(block + at));
        __m256i high = _mm256_loadu_si256((const __m256i *)(block + at + 32));
        uint64_t tops = (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32 |
                        (uint32_t)_mm256_movemask_epi8(low);
        Marks marks = {equal_marks(low, high, end), equal_marks(low, high, carriage_return),
                       equal_marks(low, high, quote), equal_marks(low, high, separator), tops};
        if (size - at < 64) marks = marks_below(marks, size - at);
        count = write_eights(table->ends, count, check_marks(&marks, carried), at);
        if (carried->fault) break;
    }
    return count;
}
#endif

/* How many bytes the sign at `at` takes in well-formed UTF-8, at least two; 0 where it is none. */
static size_t utf8_length(const uint8_t *at, size_t left) {
    uint8_t first = at[0];
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || left < length) return 0;
    uint8_t lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < lowest || at[1] > highest) return 0;
    for (size_t place = 2; place < length; place++)
        if ((at[place] & 0xc0) != 0x80) return 0;
    return length;
}

/* Whether a block is UTF-8. */
static bool is_utf8(const uint8_t *block, size_t size) {
    for (size_t at = 0; at < size;) {
        uint64_t word;
        if (size - at >= 8 && (memcpy(&word, block + at, 8), !(word & 0x8080808080808080u))) {
            at += 8;
        } else if (block[at] < 0x80) {
            at++;
        } else {
            size_t length = utf8_length(block + at, size - at);
            if (!length) return false;
            at += length;
        }
    }
    return true;
}

/* Whether every line has all its fields: every so many ends are a line's, and no others. */
static bool are_records(const CsvTable *table, const uint8_t *block, size_t count, uint64_t lines) {
    size_t fields = table->fields;
    if (count % fields || count / fields != lines) return false;
    for (size_t last = fields - 1; last < count; last += fields)
        if (block[table->ends[last]] != '\n') return false;
    return true;
}

Status find_fields(CsvTable *table, const uint8_t *block, size_t size, uint64_t *lines) {
    if (!size || size > UINT32_MAX - PADDING || block[size - 1] != '\n') return NOT_SERVED;
    if (size > table->ends_size) {
        uint32_t *ends = realloc(table->ends, (size + SPARE_ENDS) * sizeof *ends);
        if (!ends) return NO_MEMORY;
        table->ends = ends;
        table->ends_size = size;
    }
    Carried carried = {.bound = 1, .line_end = 1};
    size_t count = 0;
#if HAS_AVX2
    bool has_all = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                   __builtin_cpu_supports("popcnt");
    if (has_all && !table->is_scalar)
        count = scan_avx2(table, block, size, &carried);
    else
#endif
        count = scan_scalar(table, block, size, &carried);
    if (carried.fault || (carried.high && !is_utf8(block, size))) return NOT_SERVED;
    *lines = carried.lines;
    return are_records(table, block, count, carried.lines) ? SOUND : NOT_SERVED;
}
