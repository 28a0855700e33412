/* Weights (fixed point, largest weight) or people that rows add to the sums of their cell. A cell
   has four words: two sums of 128 bits, the lower half first. */
#ifndef FAIRAUDIT_SUMS_H
#define FAIRAUDIT_SUMS_H

#include <stdbool.h>
#include <stdint.h>

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

/* Adds a weight in fixed point, and its square in a coarser one; `largest` and `error` are the largest
   weight so far, and the largest error of rounding. False where it is another reader's. */
static inline bool add_weight(uint64_t *sums, double weight, double *largest, double *error) {
    // Below the bound the square fits 64 bits. NaN is not within either.
    if (!(weight >= 0 && weight < LARGEST_WEIGHT)) return false;
    double scaled = weight * WEIGHT_SCALE, whole = nearest(scaled), apart = scaled - whole;
    uint64_t root = (uint64_t)nearest(weight * ROOT_SCALE);
    add_long(sums, (uint64_t)whole);
    add_long(sums + 2, root * root);
    if (apart < 0) apart = -apart;
    if (apart > *error) *error = apart;
    if (weight > *largest) *largest = weight;
    return true;
}

/* Adds people, a whole number that doubles tell apart; false where it is none. */
static inline bool add_people(uint64_t *sums, double people) {
    if (!(people >= 0 && people <= LARGEST_COUNT)) return false;
    uint64_t whole = (uint64_t)people;
    if ((double)whole != people) return false;
    add_long(sums, whole);
    return true;
}

#endif
