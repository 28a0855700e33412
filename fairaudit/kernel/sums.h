/* Weights (fixed point, largest weight) or people that rows add to the sums of their cell: a weight
   and its square, or people by halves of 32 bits. A sum has 128 bits, the lower half first. */
#ifndef FAIRAUDIT_SUMS_H
#define FAIRAUDIT_SUMS_H

#include <stdbool.h>
#include <stdint.h>

enum { ROW_BIT = 36 };

#define WEIGHT_SCALE 1e9
#define ROOT_SCALE 1e6
#define LARGEST_WEIGHT 2147.0
#define LARGEST_COUNT 9007199254740991.0

/* The nearest whole number, the even one of two, below 2^51: as every double of that size is. */
static inline double nearest(double number) {
    const double whole = 6755399441055744.0; /* 1.5 * 2^52 */
    return (number + whole) - whole;
}

/* A sum of 128 bits. */
static inline void add_long(uint64_t *sum, uint64_t number) {
    sum[0] += number;
    sum[1] += sum[0] < number;
}

/* A weight in fixed point, and its square in a coarser one; `largest` and `error` are the largest
   weight so far, and the largest error of rounding. False where it is another reader's. */
static inline bool fix_weight(double weight, uint64_t *fixed, double *largest, double *error) {
    // Below the bound the square fits 63 bits. NaN is not within either.
    if (!(weight >= 0 && weight < LARGEST_WEIGHT)) return false;
    double scaled = weight * WEIGHT_SCALE, whole = nearest(scaled), apart = scaled - whole;
    uint64_t root = (uint64_t)nearest(weight * ROOT_SCALE);
    fixed[0] = (uint64_t)whole;
    fixed[1] = root * root;
    if (apart < 0) apart = -apart;
    if (apart > *error) *error = apart;
    if (weight > *largest) *largest = weight;
    return true;
}

/* People, a whole number that doubles tell apart; false where it is none. */
static inline bool fix_people(double people, uint64_t *fixed) {
    if (!(people >= 0 && people <= LARGEST_COUNT)) return false;
    uint64_t whole = (uint64_t)people;
    fixed[0] = whole & UINT32_MAX;
    fixed[1] = whole >> 32;
    return (double)whole == people;
}

/* Adds what was fixed to the sums of a cell. */
static inline void add_fixed(uint64_t *sums, const uint64_t *fixed) {
    add_long(sums, fixed[0]);
    add_long(sums + 2, fixed[1]);
}

/* A row and what was fixed of it, in four words that add up without a carry: the row stands above
   the upper half of the first number, which has 9 bits. So 2^27 rows fit. */
static inline void split_fixed(const uint64_t *fixed, uint64_t *words) {
    words[0] = fixed[0] & UINT32_MAX;
    words[1] = fixed[0] >> 32 | (uint64_t)1 << ROW_BIT;
    words[2] = fixed[1] & UINT32_MAX;
    words[3] = fixed[1] >> 32;
}

#endif
