"""The oracle of the statistics: each number from its definition, in plain Python, slowly.

Nothing here knows an array or a closed form of the package. Score intervals are found by bisection
on the test they invert, exact tests by adding up fractions over every table, U statistics by
walking over all pairs of people. `printed` compares a number with one that somebody published.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from statistics import NormalDist, fmean

from scipy.stats import beta

Bounds = tuple[float, float]
Table = tuple[int, int, int, int]
"""Of one stratum: a of n against c of m."""


def printed(value: float, text: str) -> bool:
    """Whether a number rounds to what was printed: within one half of its last digit."""
    if text in {"inf", "-inf"}:
        return value == float(text)
    mantissa, _, exponent = text.lower().partition("e")
    digits = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return abs(value - float(text)) <= 0.5000001 * 10.0**-digits


def quantile(alpha: float) -> float:
    """The z that a standard normal exceeds in size with probability alpha."""
    return -NormalDist().inv_cdf(alpha / 2)


def crossing(below: Callable[[float], bool], low: float, high: float) -> float:
    """The point where a condition that holds at `low` stops to hold, by bisection."""
    for _ in range(200):
        middle = (low + high) / 2
        if below(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2


# One and two proportions ---------------------------------------------------------------------


def wilson(x: float, n: float, alpha: float) -> Bounds:
    """All shares that a score test of x of n does not reject."""
    z, p = quantile(alpha), x / n

    def rejects(share: float) -> bool:
        return (p - share) ** 2 * n > z * z * share * (1 - share)

    low = crossing(rejects, 0.0, p) if x > 0 else 0.0
    high = crossing(lambda share: not rejects(share), p, 1.0) if x < n else 1.0
    return low, high


def newcombe(x: float, n: float, y: float, m: float, alpha: float) -> Bounds:
    """Newcombe (1998) Stat Med 17:873, method 10, from two intervals of Wilson's."""
    (l1, u1), (l2, u2), p, q = wilson(x, n, alpha), wilson(y, m, alpha), x / n, y / m
    return p - q - math.hypot(p - l1, u2 - q), p - q + math.hypot(u1 - p, q - l2)


def koopman_statistic(ratio: float, x: float, n: float, y: float, m: float) -> float:
    """Koopman (1984) eq. 2: Pearson's statistic at the likeliest shares with a given ratio."""
    b = ratio * (n + y) + x + m
    q = 2 * (x + y) / (b + math.sqrt(b * b - 4 * ratio * (n + m) * (x + y)))
    return surplus(x, n, min(ratio * q, 1.0)) + surplus(y, m, min(q, 1.0))


def surplus(x: float, n: float, share: float) -> float:
    """Pearson's part of one sample; 0/0 is what a certain outcome adds where all have it."""
    square = (x - n * share) ** 2
    return square / (n * share * (1 - share)) if share < 1 else math.inf if x < n else 0.0


def koopman(x: float, n: float, y: float, m: float, alpha: float) -> Bounds:
    """All ratios that Koopman's chi-square test does not reject, by bisection on the logarithm."""
    if x == y == 0:
        return 0.0, math.inf
    limit = quantile(alpha) ** 2

    def rejects(log: float) -> bool:
        return koopman_statistic(math.exp(log), x, n, y, m) > limit

    middle = math.log(((x or 0.001) / n) / ((y or 0.001) / m))
    low = math.exp(crossing(rejects, -25.0, middle)) if x > 0 else 0.0
    high = math.exp(crossing(lambda log: not rejects(log), middle, 25.0)) if y > 0 else math.inf
    return low, high


def limit_of(alpha: float, *, over_pairs: bool = False) -> tuple[float, float]:
    """Fewer hits are few, and fewer errors are far: 13 and 2.6 at .05, more if z is larger, as z⁵.

    In bounds over all pairs two thirds of z² are far, and 13 few, or as many as are far.
    """
    z = quantile(alpha)
    if over_pairs:
        return max(13, 2 / 3 * z**2), 2 / 3 * z**2
    few = 13 * max(1, (z / quantile(0.05)) ** 5)
    return few, few / 5


def is_few(x: float, n: float, alpha: float, *, over_pairs: bool = False) -> bool:
    """Few hits or misses."""
    return min(x, n - x) < limit_of(alpha, over_pairs=over_pairs)[0] - 1e-9


def share_bounds(x: float, n: float, alpha: float, *, over_pairs: bool = False) -> Bounds:
    """Wilson's; of few hits or misses Clopper & Pearson's, quantiles of Beta distributions."""
    if not is_few(x, n, alpha, over_pairs=over_pairs):
        return wilson(x, n, alpha)
    low = float(beta.ppf(alpha / 2, x, n - x + 1)) if x else 0.0
    return low, float(beta.isf(alpha / 2, x + 1, n - x)) if x < n else 1.0


def gap_bounds(
    x: float, n: float, y: float, m: float, alpha: float, *, over_pairs: bool = False
) -> Bounds:
    """MOVER (Zou & Donner 2008) of the interval of each share: Newcombe's if none has few.

    It is wider by `joint_tails` if a share has few hits or misses; of bounds over pairs, an end is
    if there are few of those that keep the difference from reaching farther.
    """
    (l1, u1), (l2, u2) = (
        share_bounds(*one, alpha, over_pairs=over_pairs) for one in ((x, n), (y, m))
    )
    p, q = x / n, y / m
    low, high = p - q - math.hypot(p - l1, u2 - q), p - q + math.hypot(u1 - p, q - l2)
    far = limit_of(alpha, over_pairs=over_pairs)[1]
    of_low, of_high = min(x, m - y), min(n - x, y)
    if not over_pairs:
        of_low = of_high = min(of_low, of_high)
    tails = joint_tails(x, n, y, m, alpha) if min(of_low, of_high) < far else []
    return (
        min([low, *(one[0] - other[1] for one, other in tails if of_low < far)]),
        max([high, *(one[1] - other[0] for one, other in tails if of_high < far)]),
    )


def joint_tails(
    x: float, n: float, y: float, m: float, alpha: float
) -> list[tuple[Bounds, Bounds]]:
    """The intervals of both shares at tails with a product of α/2."""
    shares = [(alpha / 2) ** (i / 6) for i in range(1, 6)]
    return [
        (share_bounds(x, n, min(2 * a, 1.0)), share_bounds(y, m, min(2 * b, 1.0)))
        for a, b in zip(shares, shares[::-1], strict=True)
    ]


def ratio_bounds(x: float, n: float, y: float, m: float, alpha: float) -> Bounds:
    """Koopman's; of few hits or misses of either side MOVER's of both shares, and `joint_tails`."""
    if is_few(x, n, alpha) or is_few(y, m, alpha):
        low, high = quotient(x / n, share_bounds(x, n, alpha), y / m, share_bounds(y, m, alpha))
        tails = joint_tails(x, n, y, m, alpha)
        return (
            min([low, *(one[0] / other[1] for one, other in tails)]),
            max([high, *(one[1] / other[0] if other[0] else math.inf for one, other in tails)]),
        )
    return koopman(x, n, y, m, alpha)


def odds_ratio_bounds(x: float, n: float, y: float, m: float, alpha: float) -> Bounds:
    """MOVER of log odds from the interval of each share, the middles with Gart's one half."""

    def logit(share: float) -> float:
        if share in {0, 1}:
            return math.inf if share else -math.inf
        return math.log(share / (1 - share))

    p, q = (math.log((a + 0.5) / (size - a + 0.5)) for a, size in ((x, n), (y, m)))
    (l1, u1), (l2, u2) = (map(logit, share_bounds(*one, alpha)) for one in ((x, n), (y, m)))
    plain = x * (m - y) / ((n - x) * y) if (n - x) * y else math.inf if x * (m - y) else None
    low = math.exp(p - q - math.hypot(p - l1, u2 - q))
    high = math.exp(min(p - q + math.hypot(u1 - p, q - l2), 700.0))
    high = math.inf if math.inf in {u1, -l2} else high
    return (low, high) if plain is None else (min(low, plain), max(high, plain))


def quotient(p: float, ends: Bounds, q: float, others: Bounds) -> Bounds:
    """Donner & Zou (2012): the two ratios at which MOVER's interval of a difference touches 0.

    If an estimate or its upper bound is infinite, the farthest bounds are divided.
    """
    (l1, u1), (l2, u2) = ends, others

    def inside(end: float, other: float) -> float:
        return math.sqrt(max((p * q) ** 2 - end * (2 * p - end) * other * (2 * q - other), 0.0))

    is_open = math.isinf(p) or math.isinf(q)
    if is_open or math.isinf(u2):
        low = l1 / u2
    else:
        low = l1 and l1 * (2 * p - l1) / (p * q + inside(l1, u2))
    if l2 == 0:
        return low, math.inf
    if is_open or math.isinf(u1):
        return low, u1 / l2
    return low, (p * q + inside(u1, l2)) / (l2 * (2 * q - l2))


def katz(x: float, n: float, y: float, m: float, alpha: float) -> Bounds:
    """Katz et al. (1978): the logarithm of the ratio as if it were normal."""
    reach = quantile(alpha) * math.sqrt(1 / x - 1 / n + 1 / y - 1 / m)
    ratio = (x / n) / (y / m)
    return ratio * math.exp(-reach), ratio * math.exp(reach)


def paired(
    a: float, b: float, c: float, d: float, alpha: float,
    interval: Callable[[float, float, float], Bounds] = wilson,
) -> Bounds:  # fmt: skip
    """Newcombe (1998) Stat Med 17:2635, method 10: the correlation is corrected for continuity."""
    n = a + b + c + d
    p, q = (a + b) / n, (a + c) / n
    (l1, u1), (l2, u2) = interval(a + b, n, alpha), interval(a + c, n, alpha)
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    cross = a * d - b * c
    cross = max(cross - n / 2, 0.0) if cross > 0 else cross
    phi = cross / math.sqrt(margins) if margins > 0 else 0.0

    def reach(one: float, other: float) -> float:
        return math.sqrt(max(one * one - 2 * phi * one * other + other * other, 0.0))

    return p - q - reach(p - l1, u2 - q), p - q + reach(q - l2, u1 - p)


# Exact tests ---------------------------------------------------------------------------------


def hypergeometric(a: int, n: int, c: int, m: int) -> tuple[dict[int, Fraction], Fraction]:
    """The probabilities of all tables with the same margins, and of the one observed."""
    chosen, everybody = a + c, math.comb(n + m, n)
    tables = {
        k: Fraction(math.comb(chosen, k) * math.comb(n + m - chosen, n - k), everybody)
        for k in range(max(0, chosen - m), min(n, chosen) + 1)
    }
    return tables, tables[a]


def fisher(a: int, n: int, c: int, m: int) -> tuple[float, float]:
    """Fisher's two-sided p and its mid-p: all tables that are no likelier than the observed.

    A table that is the only one of its margins has p = 1.
    """
    tables, observed = hypergeometric(a, n, c, m)
    if len(tables) == 1:
        return 1.0, 1.0
    whole = sum(p for p in tables.values() if p <= observed)
    tied = sum(p for p in tables.values() if p == observed)
    return float(whole), float(whole - Fraction(tied) / 2)


def is_counted(a: float, n: float, c: float, m: float) -> bool:
    """Whether tables are counted: few are expected, or z is off by a tenth far out in its tail."""
    hits, people = a + c, n + m
    if Fraction(min(hits, people - hits)) * Fraction(min(n, m)) < 5 * Fraction(people):
        return True
    if math.isclose(a * m, c * n, rel_tol=1e-12):
        return False
    pooled = hits / people
    z = abs(a / n - c / m) / math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return is_far_off(z, root_of_tail(a, n, c, m))


def is_far_off(z: float, root: float) -> bool:
    """Whether the tails beyond two z differ by a tenth, by Mills' ratio, and p is below .025."""
    off = abs((root * root - z * z) / 2 + math.log(root / z)) > math.log(1.1)
    return off and max(root, z) > 2.24 and min(root, z) < 8


def root_of_tail(a: float, n: float, c: float, m: float) -> float:
    """The modified root of G of Barndorff-Nielsen (1986), by logarithms of counts."""
    hits, people = a + c, n + m
    margins = ((a, n, hits), (n - a, n, people - hits), (c, m, hits), (m - c, m, people - hits))
    g = 2 * sum(x * math.log(x * people / (row * column)) for x, row, column in margins if x)
    root, (a, b, c, d) = math.sqrt(g), tuple(x for x, *_ in margins)
    if a * b * c * d == 0:
        return root
    spread = a * b / n * (c * d / m) / (hits * (people - hits) / people)
    return root + math.log(abs(math.log(a * d / (b * c))) * math.sqrt(spread) / root) / root


def sign_test(b: int, c: int) -> float:
    """The exact two-sided p of McNemar's test: twice the smaller binomial tail."""
    tail = sum(math.comb(b + c, k) for k in range(min(b, c) + 1))
    return min(1.0, float(Fraction(2 * tail, 2 ** (b + c))))


def reshuffled(chosen: int, sizes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Every way to spread the chosen people over groups, with its probability."""
    everybody = math.comb(sum(sizes), chosen)
    for spread in product(*(range(size + 1) for size in sizes)):
        if sum(spread) == chosen:
            ways = math.prod(math.comb(size, k) for size, k in zip(sizes, spread, strict=True))
            yield spread, Fraction(ways, everybody)


def permutation(
    selected: Sequence[int], sizes: Sequence[int], statistic: Callable[[Sequence[int]], float]
) -> float:
    """The exact p of a permutation test with both margins fixed."""
    least = statistic(selected) - 1e-12
    spreads = reshuffled(sum(selected), sizes)
    return float(sum(p for spread, p in spreads if statistic(spread) >= least))


def pearson(rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Pearson's and the likelihood-ratio statistic of a table without empty margins."""
    total = sum(map(sum, rows))
    columns = [sum(column) for column in zip(*rows, strict=True)]
    square = ratio = 0.0
    for row in rows:
        for count, column in zip(row, columns, strict=True):
            expected = sum(row) * column / total
            square += (count - expected) ** 2 / expected
            ratio += 2 * count * math.log(count / expected) if count else 0.0
    return square, ratio


# Ranks ---------------------------------------------------------------------------------------


def people(histogram: Sequence[int]) -> list[int]:
    """One score for each person of a histogram."""
    return [score for score, count in enumerate(histogram) for _ in range(count)]


def wins(one: float, other: float) -> float:
    """1, a half or 0: who scored higher."""
    return (one > other) + (one == other) / 2


def sample_variance(values: Sequence[float]) -> float:
    """The variance with divisor n-1."""
    mean = fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def delong(upper: Sequence[int], lower: Sequence[int]) -> float:
    """DeLong, DeLong & Clarke-Pearson (1988) eq. 5, from the placements of every person."""
    high, low = people(upper), people(lower)
    of_high = [fmean(wins(x, y) for y in low) for x in high]
    of_low = [fmean(wins(x, y) for x in high) for y in low]
    return sample_variance(of_high) / len(high) + sample_variance(of_low) / len(low)


def mann_whitney(one: Sequence[int], two: Sequence[int]) -> tuple[float, float]:
    """P(one > two) + P(=)/2 and z, with the variance under ties of Lehmann (1975)."""
    high, low = people(one), people(two)
    n, m = len(high), len(low)
    share = fmean(wins(x, y) for x in high for y in low)
    everybody = n + m
    ties = sum(t**3 - t for t in Counter(high + low).values())
    variance = n * m / 12 * (everybody + 1 - ties / (everybody * (everybody - 1)))
    return share, (share - 0.5) * n * m / math.sqrt(variance)


# Strata --------------------------------------------------------------------------------------


def cochran_mantel_haenszel(strata: Sequence[Table]) -> float:
    """The square of the summed surplus over its hypergeometric variance."""
    surplus = variance = 0.0
    for a, n, c, m in strata:
        t, s = n + m, a + c
        if t > 1:
            surplus += a - n * s / t
            variance += n * m * s * (t - s) / (t * t * (t - 1))
    return surplus**2 / variance


def common_odds_ratio(strata: Sequence[Table]) -> tuple[float, float]:
    """Mantel and Haenszel's odds ratio, and the variance of its log.

    Robins, Breslow & Greenland (1986) Biometrics 42:311, their estimator U.
    """
    r = s = pr = psqr = qs = 0.0
    for a, n, c, m in strata:
        b, d, t = n - a, m - c, n + m
        p, q = (a + d) / t, (b + c) / t
        up, down = a * d / t, b * c / t
        r, s = r + up, s + down
        pr, psqr, qs = pr + p * up, psqr + p * down + q * up, qs + q * down
    return r / s, pr / (2 * r * r) + psqr / (2 * r * s) + qs / (2 * s * s)


def common_difference(strata: Sequence[Table]) -> tuple[float, float]:
    """Mantel and Haenszel's risk difference and Sato's variance of it.

    As SAS prints the formulas: PROC FREQ, Common Risk Difference (Sato 1989 Biometrics 45:1323).
    """
    weight = sum(n * m / (n + m) for _, n, _, m in strata)
    difference = sum((a * m - c * n) / (n + m) for a, n, c, m in strata) / weight
    p = sum((n * n * c - m * m * a + n * m * (m - n) / 2) / (n + m) ** 2 for a, n, c, m in strata)
    q = sum((a * (m - c) + c * (n - a)) / (2 * (n + m)) for a, n, c, m in strata)
    return difference, (difference * p + q) / weight**2


def breslow_day(strata: Sequence[Table]) -> float:
    """Breslow & Day (1980) eq. 4.30: tables fitted to the common odds ratio by bisection."""
    ratio, _ = common_odds_ratio(strata)
    statistic = 0.0
    for a, n, c, m in strata:
        s = a + c
        least, most = max(0, s - m), min(n, s)
        if least == most:
            continue

        def too_few(e: float, n: int = n, m: int = m, s: int = s) -> bool:
            return e * (m - s + e) < ratio * (n - e) * (s - e)

        e = crossing(too_few, least, most)
        statistic += (a - e) ** 2 * (1 / e + 1 / (n - e) + 1 / (s - e) + 1 / (m - s + e))
    return statistic
