/* Parses numbers in the fields of CSV. Other ways to write one, with a sign or with blanks, are for
   a reader that takes its time: so nothing is taken here that it would refuse. */
#include "csv.h"

#include <stdlib.h>

enum { MOST_DIGITS = 15, MOST_POWER = 22, MOST_LENGTH = 48 };

/* The parts of a number: its digits as a whole number where they are few, and the power of ten. */
typedef struct {
    uint64_t digits;
    size_t digit_count;
    int power;
} Parts;

/* Takes the digits from a place on, at least one; where they end, or 0 where there is none. */
static size_t take_digits(const uint8_t *at, size_t place, size_t length, Parts *parts) {
    size_t start = place;
    for (; place < length && at[place] >= '0' && at[place] <= '9'; place++) {
        parts->digits = parts->digits * 10 + (at[place] - '0'); // of too many digits it is not used
        parts->digit_count += parts->digits != 0;
    }
    return place == start ? 0 : place;
}

/* Takes an exponent behind its sign e; false where it is none, or beyond all doubles. */
static bool take_exponent(const uint8_t *at, size_t place, size_t length, int *power) {
    bool is_negative = place < length && at[place] == '-';
    if (place < length && (at[place] == '-' || at[place] == '+')) place++;
    Parts exponent = {0};
    size_t end = take_digits(at, place, length, &exponent);
    if (!end || end != length || exponent.digit_count > 3) return false;
    *power += is_negative ? -(int)exponent.digits : (int)exponent.digits;
    return true;
}

/* The same number by the reader of C, which is right to the last bit in any place; false where its
   locale has another sign for decimals. */
static bool read_slowly(const uint8_t *at, size_t length, uint8_t decimal, double *number) {
    char text[MOST_LENGTH + 1];
    for (size_t place = 0; place < length; place++)
        text[place] = at[place] == decimal ? '.' : (char)at[place];
    text[length] = 0;
    char *end;
    *number = strtod(text, &end);
    return end == text + length;
}

bool read_number(const uint8_t *at, size_t length, uint8_t decimal, double *number) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    Parts parts = {0};
    if (length > MOST_LENGTH) return false;
    size_t place = take_digits(at, 0, length, &parts);
    if (!place) return false;
    if (place < length && at[place] == decimal) {
        size_t end = take_digits(at, place + 1, length, &parts);
        if (!end) return false;
        parts.power = -(int)(end - place - 1);
        place = end;
    }
    bool has_exponent = place < length && (at[place] == 'e' || at[place] == 'E');
    if (has_exponent ? !take_exponent(at, place + 1, length, &parts.power) : place != length)
        return false;
    // Both are doubles without rounding, so one operation rounds once: Clinger (1990), How to Read
    // Floating Point Numbers Accurately, PLDI.
    if (parts.digit_count > MOST_DIGITS || parts.power < -MOST_POWER || parts.power > MOST_POWER)
        return read_slowly(at, length, decimal, number);
    *number = parts.power < 0 ? (double)parts.digits / powers[-parts.power]
                              : (double)parts.digits * powers[parts.power];
    return true;
}
