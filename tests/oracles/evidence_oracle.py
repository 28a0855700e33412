"""The oracle of the evidence: intervals over all pairs, tests and corrections, the slow way.

Written from the definitions alone. Where the package prunes pairs, here every ordered pair is
asked; where it solves an equation, here it is bisected; where it counts the tests of a family, the
caller counts them by hand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats
from stats_oracle import (
    Bounds,
    fisher,
    gap_bounds,
    is_counted,
    is_far_off,
    is_few,
    koopman,
    quantile,
    quotient,
    ratio_bounds,
    root_of_tail,
    share_bounds,
)

Rate = tuple[int, int]
"""How many of how many."""
Floats = npt.NDArray[np.float64]
PAIRS_TO_BISECT = 100
"""More pairs than these are bisected together as arrays."""


def share_of_alpha(alpha: float, comparisons: int) -> float:
    """Sidak (1967): the level of each of so many comparisons."""
    return float(1 - (1 - alpha) ** (1 / comparisons))


# Over all ordered pairs ----------------------------------------------------------------------


def differences(rates: Sequence[Rate], alpha: float) -> list[tuple[Bounds, Bounds]]:
    """The interval of every ordered difference, by MOVER; and with the farther ends of few errors.

    The farther ends are of the side on which a difference may be largest.
    """
    found = []
    for (x, n), (y, m) in permutations(rates, 2):
        (l1, u1), (l2, u2) = (
            share_bounds(*one, alpha, over_pairs=True) for one in ((x, n), (y, m))
        )
        p, q = x / n, y / m
        plain = p - q - math.hypot(p - l1, u2 - q), p - q + math.hypot(u1 - p, q - l2)
        found.append((plain, gap_bounds(x, n, y, m, alpha, over_pairs=True)))
    return found


def ratios(rates: Sequence[Rate], alpha: float) -> list[Bounds]:
    """The interval of every ordered ratio: Koopman's, or of the ends where any rate has few."""
    if not any(is_few(*rate, alpha, over_pairs=True) for rate in rates):
        return koopmans(rates, alpha)
    sides = [(x / n, share_bounds(x, n, alpha, over_pairs=True)) for x, n in rates]
    return [quotient(*one, *two) for one, two in permutations(sides, 2)]


def koopmans(rates: Sequence[Rate], alpha: float) -> list[Bounds]:
    """The interval of every ordered ratio."""
    pairs = list(permutations(rates, 2))
    if len(pairs) <= PAIRS_TO_BISECT:
        return [koopman(x, n, y, m, alpha) for (x, n), (y, m) in pairs]
    x, n, y, m = np.array([(*one, *two) for one, two in pairs], dtype=float).T
    low, high = koopman_arrays(x, n, y, m, alpha)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def koopman_arrays(
    x: Floats, n: Floats, y: Floats, m: Floats, alpha: float
) -> tuple[Floats, Floats]:
    """Koopman's bounds of many pairs, by bisection on the logarithm of the ratio."""
    limit = quantile(alpha) ** 2

    def statistic(log: Floats) -> Floats:
        ratio = np.exp(log)
        b = ratio * (n + y) + x + m
        under = b + np.sqrt(np.maximum(b * b - 4 * ratio * (n + m) * (x + y), 0))
        q = np.where(x + y > 0, 2 * (x + y) / under, 0)
        total = np.zeros_like(log)
        for over, size, share in ((x, n, np.minimum(ratio * q, 1)), (y, m, np.minimum(q, 1))):
            variance = size * share * (1 - share)
            square = (over - size * share) ** 2
            with np.errstate(divide="ignore", invalid="ignore"):
                total += np.where(variance > 0, square / variance, np.where(over < size, np.inf, 0))
        return total

    middle = np.log(np.where(x > 0, x, 0.001) / n) - np.log(np.where(y > 0, y, 0.001) / m)
    ends = []
    for outer in (-25.0, 25.0):
        inside, outside = middle.copy(), np.full_like(middle, outer)
        for _ in range(60):
            log = (inside + outside) / 2
            rejected = statistic(log) > limit
            inside, outside = np.where(rejected, inside, log), np.where(rejected, log, outside)
        ends.append(np.exp((inside + outside) / 2))
    return np.where(x > 0, ends[0], 0.0), np.where(y > 0, ends[1], np.inf)


def gap(rates: Sequence[Rate], alpha: float, together: int = 1) -> Bounds:
    """[max(0, max L), max U] of all differences; `together`: so many rates share the level."""
    k = len(rates)
    level = share_of_alpha(alpha, together * k * (k - 1) // 2)
    each = differences(rates, level)
    return max(0.0, *(low for (low, _), _ in each)), max(high for _, (_, high) in each)


def min_ratio(rates: Sequence[Rate], alpha: float, together: int = 1) -> Bounds:
    """[min L, min(1, min U)] of all ratios."""
    k = len(rates)
    level = share_of_alpha(alpha, together * k * (k - 1) // 2)
    each = ratios(rates, level)
    return min(low for low, _ in each), min(1.0, *(high for _, high in each))


def epsilon(table: Sequence[Sequence[int]], alpha: float) -> Bounds:
    """[max(0, max L), max U] of all log-ratios of a table: a row for each group."""
    k, outcomes = len(table), len(table[0])
    level = share_of_alpha(alpha, k * (k - 1) // 2 * outcomes)
    low, high = 0.0, 0.0
    for y in range(outcomes):
        rates = [(row[y], sum(row)) for row in table]
        for least, most in ratios(rates, level):
            low, high = max(low, logarithm(least)), max(high, logarithm(most))
    return low, high


def logarithm(value: float) -> float:
    """Of 0 and of infinity too."""
    return -math.inf if value == 0 else math.inf if math.isinf(value) else math.log(value)


def both_gaps(one: Sequence[Rate], two: Sequence[Rate], alpha: float) -> Bounds:
    """Equalized odds: the larger of two gaps, both at a level for k(k-1) comparisons."""
    first, second = gap(one, alpha, 2), gap(two, alpha, 2)
    return max(first[0], second[0]), max(first[1], second[1])


def both_ratios(one: Sequence[Rate], two: Sequence[Rate], alpha: float) -> Bounds:
    """Equalized odds: the smaller of two least ratios."""
    first, second = min_ratio(one, alpha, 2), min_ratio(two, alpha, 2)
    return min(first[0], second[0]), min(first[1], second[1])


def to_highest_ratio(rates: Sequence[Rate], g: int, alpha: float) -> Bounds:
    """[min L, min(1, min U)] of the ratios of one group to every other."""
    each = _ratios_to_others(rates, g, alpha)
    return min(low for low, _ in each), min(1.0, *(high for _, high in each))


def to_highest_difference(rates: Sequence[Rate], g: int, alpha: float) -> Bounds:
    """[min L, min(0, min U)] of the differences of one group to every other."""
    each = _differences_to_others(rates, g, alpha)
    return min(low for _, (low, _) in each), min(0.0, *(high for (_, high), _ in each))


def to_lowest_ratio(rates: Sequence[Rate], g: int, alpha: float) -> Bounds:
    """The mirror of `highest`: [max(1, max L), max U]."""
    each = _ratios_to_others(rates, g, alpha)
    return max(1.0, *(low for low, _ in each)), max(high for _, high in each)


def to_lowest_difference(rates: Sequence[Rate], g: int, alpha: float) -> Bounds:
    """The mirror of `highest`: [max(0, max L), max U]."""
    each = _differences_to_others(rates, g, alpha)
    return max(0.0, *(low for (low, _), _ in each)), max(high for _, (_, high) in each)


def _ratios_to_others(rates: Sequence[Rate], g: int, alpha: float) -> list[Bounds]:
    k = len(rates)
    level = share_of_alpha(alpha, k * (k - 1) // 2)
    found = zip(permutations(range(k), 2), ratios(rates, level), strict=True)
    return [each for (one, _), each in found if one == g]


def _differences_to_others(
    rates: Sequence[Rate], g: int, alpha: float
) -> list[tuple[Bounds, Bounds]]:
    k = len(rates)
    level = share_of_alpha(alpha, k * (k - 1) // 2)
    found = zip(permutations(range(k), 2), differences(rates, level), strict=True)
    return [each for (one, _), each in found if one == g]


def to_overall(rates: Sequence[Rate], g: int, alpha: float) -> tuple[Bounds, Bounds]:
    """Difference and ratio to everybody, from those of the group to the rest."""
    (x, n), total, chosen = rates[g], sum(n for _, n in rates), sum(x for x, _ in rates)
    w = n / total
    low, high = gap_bounds(x, n, chosen - x, total - n, alpha)

    def mapped(ratio: float) -> float:
        return 1 / w if math.isinf(ratio) else ratio / (w * ratio + 1 - w)

    least, most = ratio_bounds(x, n, chosen - x, total - n, alpha)
    return ((1 - w) * low, (1 - w) * high), (mapped(least), mapped(most))


# Tests ---------------------------------------------------------------------------------------


def least_expected(rates: Sequence[Rate]) -> float:
    """The smallest count of selected or rejected to expect without a disparity."""
    chosen, people = sum(x for x, _ in rates), sum(n for _, n in rates)
    return float(min(Fraction(n * min(chosen, people - chosen), people) for _, n in rates))


def least_expected_of(one: Rate, rates: Sequence[Rate]) -> float:
    """The smaller count of selected or rejected to expect of one of them."""
    chosen, people = sum(x for x, _ in rates), sum(n for _, n in rates)
    return float(Fraction(one[1] * min(chosen, people - chosen), people))


def two_groups(one: Rate, two: Rate) -> tuple[str, float]:
    """Fisher's test by mid-p where few are expected or z is off far out, or else z."""
    if is_counted(*one, *two):
        return "Fisher, mid-p", fisher(*one, *two)[1]
    return "z", two_sided((one[0] / one[1] - two[0] / two[1]) / pooled_error(one, two))


def pooled_error(one: tuple[float, float], two: tuple[float, float]) -> float:
    """The standard error of a difference where both have the same rate."""
    (x, n), (y, m) = one, two
    p = (x + y) / (n + m)
    return math.sqrt(p * (1 - p) * (1 / n + 1 / m))


def unpooled_error(one: Rate, two: Rate) -> float:
    """The standard error of a difference of two rates."""
    return math.sqrt(sum(x / n * (1 - x / n) / n for x, n in (one, two)))


def two_sided(z: float) -> float:
    """The probability of at least so large a z."""
    return float(2 * stats.norm.sf(abs(z)))


def chi_square(rates: Sequence[Rate]) -> float:
    """Pearson's test of k rates, without correction."""
    table = [[x, n - x] for x, n in rates]
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def over_pairs(p: float, groups: int) -> float:
    """The p of the clearest of all pairs: Tukey's range as scipy has it, or Bonferroni far out."""
    width = float(np.sqrt(2) * stats.norm.isf(p / 2))
    bonferroni = min(p * groups * (groups - 1) / 2, 1.0)
    return min(bonferroni, float(stats.studentized_range.sf(width, groups, np.inf)) or bonferroni)


def clearest_pair(rates: Sequence[Rate]) -> float:
    """The p of the clearest pair of rates, for as many as there are."""
    pairs = combinations(rates, 2)
    return over_pairs(min(two_groups(one, two)[1] for one, two in pairs), len(rates))


def beside_pairs(joint: float, by_pairs: float) -> float:
    """Nine tenths of α for a joint test, one tenth for the pairs."""
    return min(joint / 0.9, by_pairs / 0.1, 1.0)


def sidak(*values: float) -> float:
    """The p of the smallest of several."""
    return 1 - (1 - min(values)) ** len(values)


def generalised_cochran_mantel_haenszel(strata: Sequence[Sequence[Rate]]) -> float:
    """The p of general association of k groups over strata (Agresti 2013, eq. 8.18)."""
    k = len(strata[0])
    surplus, variance = np.zeros(k - 1), np.zeros((k - 1, k - 1))
    for rates in strata:
        n = np.array([size for _, size in rates], dtype=float)
        x = np.array([over for over, _ in rates], dtype=float)
        total, chosen = n.sum(), x.sum()
        if total < 2:
            continue
        surplus += (x - n * chosen / total)[:-1]
        factor = chosen * (total - chosen) / (total * total * (total - 1))
        variance += factor * (np.diag(n) * total - np.outer(n, n))[:-1, :-1]
    statistic = surplus @ np.linalg.solve(variance, surplus)
    return float(stats.chi2.sf(statistic, k - 1))


def holm(values: Sequence[float]) -> list[float]:
    """Holm (1979): the smallest times m, the next times m-1, never smaller than one before."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found, largest = [0.0] * len(values), 0.0
    for rank, at in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - rank) * values[at]))
        found[at] = largest
    return found


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Benjamini & Hochberg (1995): p times m over its rank, never larger than one after."""
    order = sorted(range(len(values)), key=values.__getitem__, reverse=True)
    found, least = [0.0] * len(values), 1.0
    for back, at in enumerate(order):
        least = min(least, values[at] * len(values) / (len(values) - back))
        found[at] = least
    return found


# What a gap is in people ---------------------------------------------------------------------


def people_to_limit(group: Rate, reference: Rate, limit: Fraction) -> int:
    """The fewest additional selections after which the ratio is not below the limit."""
    (x, n), (y, m) = group, reference
    for more in range(n - x + 1):
        if Fraction(x + more, n) >= limit * Fraction(y, m):
            return more
    raise AssertionError("a limit up to 1 can be reached")


def turns_round(group: Rate, reference: Rate) -> bool:
    """Whether one selection moved from the reference to the group makes the ratio exceed 1."""
    (x, n), (y, m) = group, reference
    return y > 0 and x < n and Fraction(x + 1, n) > Fraction(y - 1, m)


def detectable(n: int, m: int, rate: float, level: float, freedom: int = 1) -> Bounds:
    """The smallest gaps below and above a reference rate that power .8 finds (Cohen's h).

    By χ² over several groups with so many degrees of freedom; by one person of each side more where
    Fisher's test is in use.
    """
    more = float(stats.norm.ppf(0.8))
    effect = float(stats.norm.isf(level / 2)) + more
    if freedom > 1:
        critical = stats.chi2.isf(level, freedom)
        effect = math.sqrt(
            optimize.brentq(lambda x: stats.ncx2.sf(critical, freedom, x) - 0.8, 1e-6, 300)
        )
    ends, start = [], math.asin(math.sqrt(rate))
    unit, step = math.sqrt(1 / n + 1 / m) / 2, 1 / n + 1 / m
    for way in (-1, 1):
        shift, counted = effect - more, False
        for _ in range(60 if effect - more > 2.24 else 0):
            just = math.sin(min(max(start + way * unit * shift, 0), math.pi / 2)) ** 2
            score = abs(just - rate) / pooled_error((just * n, n), (rate * m, m))
            root = root_of_tail(just * n, n, rate * m, m)
            counted = is_far_off(score, root)
            if counted:
                score = root if freedom == 1 else min(score, root)
            shift *= (effect - more) / score
        angle = start + way * unit * (max(shift, effect - more) + more)
        if not 0 <= angle <= math.pi / 2:
            ends.append(math.nan)
            continue
        found = math.sin(angle) ** 2
        pooled = (found * n + rate * m) / (n + m)
        few = min(pooled, 1 - pooled) * min(n, m) < 5
        ends.append(found - rate + (freedom == 1 and (few or counted)) * way * step / 2)
    return ends[0], ends[1]
