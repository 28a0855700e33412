"""Tests of contingency tables: z, Fisher, χ², G, McNemar, permutations.

Each share has a size: the number of people in its denominator. If a share is undefined (NaN), the
p-value is NaN, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.stats.distributions import chi_square_tail, normal_two_sided
from fairaudit.stats.proportions import is_known

LEAST_EXPECTED = 5
"""If a cell has a smaller expected count, an exact test or a permutation test replaces the z test.
"""

DRAWS = 9999
"""The number of random tables that a permutation test draws. Without a bound, p is at least 1 /
(DRAWS + 1).
"""

LEAST_P = 1e-307
"""The smallest p-value that is returned: p is never 0."""

MOST_DEALT = 10**9
"""A table of this number of people or more is not permuted: NumPy cannot draw such tables."""

_TIE = 1e-7
"""Two tables count as equally likely if their probabilities differ by at most this share, as in R.
"""

_ROUNDING = 1e-12
"""A drawn statistic counts as equal to the observed statistic if it is lower by at most this share.
"""

_PROBABILITIES = 2**18
"""The maximum number of table probabilities that are in memory at once."""

_DRAWN = 2**20
"""The maximum number of counts drawn at once (8 MB). A statistic computes arrays of the same size.
"""

_MOST_COUNTED = 20_000
"""The maximum number of partial tables that are counted. If there are more, tables are drawn."""

_BOUNDED = 2**17
"""A bound of p is computed if the number of groups times the number of hits is at most this."""

_EXACT_BELOW = 25
"""With fewer discordant pairs than this, McNemar's test uses an exact p-value."""

FAR = 2.24
"""The z with a two-sided p of .025. At a smaller z, the errors of the two tails cancel each other.
"""

_FARTHEST = 8.0
"""The z whose p is 1e-15. This p is smaller than any level in use."""

_OFF = math.log(1.1)
"""The largest accepted relative error of a normal p-value: a tenth, as a logarithm."""

_WIDE, _WIDER = 14, 60
"""Tables farther from the mean than `_WIDE` deviations plus `_WIDER` counts are ignored."""


def find_z(
    p: Floats,
    n: Floats,
    q: Floats,
    m: Floats,
    *,
    pooled: bool = True,
    yates: bool = False,
    r: Floats | float = 0.0,
) -> Floats:
    """The z statistic of the difference `p - q` of two shares with the sizes `n` and `m`.

    If `pooled`, the variance assumes that both shares are equal. Otherwise, it is the sum of the
    variances of both sides, or the pooled variance if that sum is 0. With `yates`, the difference
    is moved towards 0 by half a person on each side, but not beyond 0; Yates (1934), JRSS Suppl
    1:217, corrects χ² for continuity in this way. If no one or everyone has the outcome on both
    sides, z is 0. Fleiss, Levin & Paik (2003), Statistical Methods for Rates and Proportions, 3rd
    ed., §3.2. The pooled variance uses `r`, the correlation of the shares. For matched pairs, the
    test with `r` equals McNemar's test up to terms of order 1 / n.

    >>> z = find_z(np.array(0.3), np.array(40.0), np.array(0.6), np.array(80.0))
    >>> round(float(z), 6), round(float(normal_two_sided(z)), 8)
    (-3.098387, 0.00194577)
    """
    with np.errstate(all="ignore"):
        share = (np.multiply(p, n) + np.multiply(q, m)) / np.add(n, m)
        common = 2 * r / np.sqrt(np.multiply(n, m))
        variance = share * (1 - share) * (np.divide(1, n) + np.divide(1, m) - common)
        if not pooled:
            own = p * np.subtract(1, p) / n + q * np.subtract(1, q) / m
            variance = np.where(own > 0, own, variance)
        gap = np.subtract(p, q)
        if yates:
            step = (np.divide(1, n) + np.divide(1, m)) / 2
            gap = np.sign(gap) * np.maximum(np.abs(gap) - step, 0.0)
        z = np.where(gap == 0, 0.0, gap / np.sqrt(variance))
    return np.where(is_known(p, n, q, m), z, np.nan)


def find_far_roots(p: Floats, n: Floats, q: Floats, m: Floats, z: Floats) -> Floats:
    """The saddle-point z of tables for which the p-value of `z` is wrong by more than a tenth.

    Such tables are far in the tail of a rare share or of a small sample. For all other tables, the
    result is NaN. The error is relative to the p-value, because significance levels can be very
    small, too. The saddle-point z is a modified root of G that is close to normal even far in the
    tail: Barndorff-Nielsen (1986), Biometrika 73:307, and Davison (1988), JRSS B 50:445, for tables
    with given margins.

    >>> sides = [np.array(x) for x in (20 / 500, 500.0, 900 / 90_000, 90_000.0)]
    >>> z = find_z(*sides)
    >>> round(float(z), 4), round(float(find_far_roots(*sides, z)), 4)
    (6.6689, 5.1037)
    """
    roots = np.full(np.shape(z), np.nan)
    near = np.abs(z) > FAR - 0.5
    p, n, q, m, z = (np.broadcast_to(x, near.shape)[near] for x in (p, n, q, m, np.abs(z)))
    with np.errstate(all="ignore"):
        share = (p * n + q * m) / (n + m)
        root = np.sqrt(2 * (n * _diverge(p, share) + m * _diverge(q, share)))
        spread = p * (1 - p) * n * q * (1 - q) * m / (share * (1 - share) * (n + m))
        wald = np.abs(np.log(p / (1 - p)) - np.log(q / (1 - q))) * np.sqrt(spread)
        # The correction exists only for tables in which no cell is 0.
        root = np.where(spread > 0, root + np.log(wald / root) / root, root)
        # By Mills' ratio, the tail above z is about the density at z, divided by z.
        off = np.abs((np.square(root) - np.square(z)) / 2 + np.log(root / z)) > _OFF
        far = off & (np.maximum(root, z) > FAR) & (np.minimum(root, z) < _FARTHEST)
    roots[near] = np.where(far, root, np.nan)
    return roots


def _diverge(share: Floats, other: Floats) -> Floats:
    """The Kullback–Leibler divergence of two shares, in nats."""
    sides = ((share, other), (1 - share, 1 - other))
    return np.asarray(sum(np.where(x > 0, x * np.log(x / y), 0.0) for x, y in sides))


def smallest_expected(p: Floats, n: Floats, q: Floats, m: Floats) -> Floats:
    """The smallest expected count of the four cells if both proportions are equal.

    If this count is below 5, the exact test is used. Cochran (1954), Biometrics 10:417.

    >>> float(smallest_expected(np.array(0.1), np.array(10.0), np.array(0.3), np.array(10.0)))
    2.0
    """
    with np.errstate(all="ignore"):
        x, y = np.multiply(p, n), np.multiply(q, m)
        fewer = np.minimum(x + y, np.subtract(n, x) + np.subtract(m, y))
        return np.where(is_known(p, n, q, m), fewer * np.minimum(n, m) / np.add(n, m), np.nan)


def fisher(a: Ints, n: Ints, c: Ints, m: Ints) -> Floats:
    """The two-sided p-value of Fisher's exact test: `a` hits of `n` people against `c` of `m`.

    The p-value is the probability of all tables with the same margins that are at most as likely as
    the observed table; probabilities within 1e-7 count as equal. Fisher (1935), The logic of
    inductive inference, JRSS 98:39.

    >>> float(fisher(np.array(12), np.array(40), np.array(48), np.array(80))).__round__(8)
    0.00340922
    """
    less, tied = _exact(a, n, c, m)
    # The sum of all probabilities may exceed 1 in the last digit.
    return np.minimum(less + tied, 1.0)


def fisher_mid_p(a: Ints, n: Ints, c: Ints, m: Ints) -> Floats:
    """The mid-p-value of Fisher's test: tables that are as likely as the observed one count half.

    The mid-p-value is 1 if no other table has the same margins: all people are hits, or all are
    misses. Lancaster (1961), Significance tests in discrete distributions, JASA 56:223.

    >>> float(fisher_mid_p(np.array(1), np.array(10), np.array(3), np.array(10))).__round__(6)
    0.334365
    """
    less, tied = _exact(a, n, c, m)
    hits, people = np.add(a, c), np.add(n, m)
    return np.where((hits == 0) | (hits == people), less + tied, less + tied / 2)


def _exact(a: Ints, n: Ints, c: Ints, m: Ints) -> tuple[Floats, Floats]:
    """The probabilities of all tables less likely than the observed table, and of all as likely."""
    arrays = np.broadcast_arrays(*(np.asarray(array, dtype=np.int64) for array in (a, n, c, m)))
    a, n, c, m = (array.ravel() for array in arrays)
    probabilities = np.full((2, a.size), np.nan)
    # The smallest and the largest number of hits of tables that are likely enough to matter.
    hits, people = a + c, np.maximum((n + m).astype(np.float64), 1.0)
    mean = n * (hits / people)
    deviation = np.sqrt(mean * (1 - hits / people) * (m / people))
    reach = 1.25 * np.abs(a - mean) + _WIDE * deviation + _WIDER
    least = np.maximum(np.maximum(hits - m, 0), np.floor(mean - reach)).astype(np.int64)
    most = np.minimum(np.minimum(n, hits), np.ceil(mean + reach)).astype(np.int64)
    # Floats round counts above 2^53, so the range is extended to the observed table.
    least, most = np.minimum(least, a), np.maximum(most, a)
    length = most - least + 1
    order = np.argsort(length, kind="stable")
    order = order[(n[order] > 0) & (m[order] > 0)]
    start = 0
    while start < order.size:
        # A block contains tables of similar lengths, so it needs little padding.
        limit = 16 + 2 * int(length[order[start]])
        stop = start + max(_PROBABILITIES // limit, 1)
        stop = start + int(np.searchsorted(length[order[start:stop]], limit, side="right"))
        stop = max(stop, start + 1)
        block = order[start:stop]
        # Each probability is computed from the previous probability and the ratio of the two. The
        # logarithms of the ratios are added up, because differences of logarithms of large
        # factorials would lose digits.
        first, total, longest = least[block, None], hits[block, None], int(length[block[-1]])
        k = first + np.arange(longest - 1)
        # As floats, because products of counts may exceed 64 bits.
        above = (total - k).astype(np.float64) * (n[block, None] - k)
        below = (k + 1).astype(np.float64) * (m[block, None] - total + k + 1)
        inside = above > 0
        with np.errstate(all="ignore"):
            logs = np.log(np.where(inside, above, 1) / np.where(inside, below, 1))
        likely = np.zeros((block.size, longest))
        np.cumsum(np.where(inside, logs, -np.inf), axis=1, out=likely[:, 1:])
        seen = np.take_along_axis(likely, a[block, None] - first, axis=1)
        chance = np.exp(likely - likely.max(axis=1, keepdims=True))
        is_tied = np.abs(likely - seen) <= _TIE
        is_less = ~is_tied & (likely < seen)
        chances = (np.where(marks, chance, 0.0).sum(axis=1) for marks in (is_less, is_tied))
        probabilities[:, block] = np.stack([*chances]) / chance.sum(axis=1)
        start = stop
    less, tied = probabilities.reshape(2, *arrays[0].shape)
    return less, tied


def chi_square(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Pearson's χ² of tables [..., K, G], its degrees of freedom, and its p-value.

    Rows and columns of zeros are ignored. Without degrees of freedom, the results are 0, 0 and 1.
    There is no continuity correction (`find_z` has one for two by two tables). Pearson (1900), On
    the criterion that a given system of deviations..., Phil Mag 50:157.

    >>> result = chi_square(np.array([[250.0, 270, 240, 260], [750, 730, 760, 740]]))
    >>> [round(float(number), 6) for number in result]
    [2.631925, 3.0, 0.45192]
    """
    return _test_independence(counts, lambda n, expected: np.square(n - expected) / expected)


def g_test(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """The likelihood ratio G of tables [..., K, G], its degrees of freedom, and its p-value.

    G is 2n times the mutual information in nats. Zeros are treated as in `chi_square`. Wilks
    (1938), The large-sample distribution of the likelihood ratio, Ann Math Stat 9:60.

    >>> [round(float(number), 6) for number in g_test(np.array([[12.0, 48], [28, 32]]))]
    [9.804312, 1.0, 0.001741]
    """
    return _test_independence(
        counts, lambda n, expected: np.where(n == 0, 0.0, 2 * n * np.log(n / expected))
    )


def _test_independence(
    counts: Floats, compare: Callable[[Floats, Floats], Floats]
) -> tuple[Floats, Floats, Floats]:
    """The sum over cells of `compare(count, expected)`, its degrees of freedom, and its p-value."""
    counts = np.asarray(counts, dtype=np.float64)
    expected = expected_counts(counts)
    rows, columns = (
        np.maximum((counts.sum(axis=axis) != 0).sum(axis=-1) - 1, 0) for axis in (-1, -2)
    )
    df = np.asarray(rows * columns, dtype=np.float64)
    with np.errstate(all="ignore"):
        cells = np.where(expected == 0, 0.0, compare(counts, expected))
    statistic = np.maximum(cells.sum(axis=(-2, -1)), 0.0)
    statistic = np.where((df == 0) & ~np.isnan(statistic), 0.0, statistic)
    return statistic, df, chi_square_tail(statistic, np.where(df > 0, df, 1.0))


def expected_counts(counts: Floats) -> Floats:
    """The expected counts of tables [..., K, G], from their margins; 0 for an empty margin."""
    rows, columns = counts.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
    with np.errstate(all="ignore"):
        expected = rows * columns / counts.sum(axis=(-2, -1), keepdims=True)
    return np.where((rows == 0) | (columns == 0), 0.0, expected)


_THROWS = range(_EXACT_BELOW)
_AT_MOST = np.cumsum([[math.comb(n, k) / 2**n for k in _THROWS] for n in _THROWS], axis=1)
"""The probability of at most k heads (columns) in n throws (rows), without rounding.

SciPy is not used, because its import takes longer than most audits.
"""


def mcnemar(b: Ints, c: Ints) -> tuple[Floats, Floats, Marks]:
    """McNemar's χ², its p-value, and whether p is exact, from the counts of discordant pairs.

    With fewer than 25 discordant pairs, p is the exact two-sided binomial p-value. Otherwise, p is
    computed from χ², without continuity correction. Without discordant pairs, χ² is 0 and p is 1.
    McNemar (1947), Psychometrika 12:153.

    >>> statistic, p, exact = mcnemar(np.array([12, 30]), np.array([2, 10]))
    >>> [round(float(number), 6) for number in (*statistic, *p)], exact.tolist()
    ([7.142857, 10.0, 0.012939, 0.001565], [True, False])
    """
    b, c = np.broadcast_arrays(b, c)
    pairs = b + c
    exact = pairs < _EXACT_BELOW
    with np.errstate(all="ignore"):
        gap = np.subtract(b, c, dtype=np.float64)
        statistic = np.where(pairs == 0, 0.0, gap * gap / pairs)
    few = np.where(exact, pairs, 0)
    binomial = np.minimum(2 * _AT_MOST[few, np.minimum(np.minimum(b, c), few)], 1.0)
    return statistic, np.where(exact, binomial, normal_two_sided(np.sqrt(statistic))), exact


def permutation_test(
    counts: Ints, statistic: Callable[[Floats], Floats], draws: int = DRAWS, seed: int = 0
) -> float:
    """The p-value of a `statistic` for a table [K, G] of people by class and group.

    The null hypothesis is that all groups are equal. The function `statistic` takes tables [D, K,
    G] and returns one number for each table. The number is larger if groups differ more. Each draw
    permutes all people among the groups, whose sizes stay the same. The p-value is (b + 1) / (draws
    + 1), where b is the number of draws that reach the observed statistic, so p is never 0. It is
    NaN if the observed statistic is NaN. A table must have fewer than 10⁹ people; otherwise, NumPy
    raises ValueError or does not end. Phipson & Smyth (2010), Permutation p-values should never be
    zero, doi:10.2202/1544-6115.1585.

    >>> def gap(tables):
    ...     shares = tables[:, 0] / tables.sum(axis=1)
    ...     return shares.max(axis=1) - shares.min(axis=1)
    >>> permutation_test(np.array([[12, 48], [28, 32]]), gap) < 0.01
    True
    """
    counts = np.asarray(counts, dtype=np.int64)
    with np.errstate(all="ignore"):
        observed = float(statistic(counts[None].astype(np.float64))[0])
        if np.isnan(observed):
            return float("nan")
        least = observed - _ROUNDING * max(abs(observed), 1)
        # A draw with an undefined statistic counts as reaching the observed statistic.
        reached = sum(
            int((~(statistic(tables.astype(np.float64)) < least)).sum())
            for tables in _dealt(counts, draws, seed)
        )
    return (reached + 1) / (draws + 1)


def permute_chi_square(counts: Ints) -> float:
    """The p-value of χ² of a table [2, G], among all tables with the same margins.

    If there are few such tables, the p-value is exact: group by group, tables with the same sum of
    x² / n (x of n people are hits) are counted together. If there are many, random tables are
    drawn. If no drawn table reaches the observed χ², p is also limited by a bound. If the total of
    hits were not fixed, the hits of the groups would be independent binomial numbers. So p is at
    most the probability without a fixed total, divided by the probability of the observed total.

    >>> round(permute_chi_square(np.array([[7, 1, 1], [1, 6, 3]])), 4)
    0.0079
    """
    counts = counts[np.argsort(counts.sum(axis=1), kind="stable")]
    hits, people = counts[0].tolist(), counts.sum(axis=0).tolist()
    common, whole = math.lcm(*people), sum(hits)
    ways = {(0, 0): 1}
    for n in people:
        most = min(n, whole)
        if len(ways) * (most + 1) > _MOST_COUNTED:
            break
        longer: dict[tuple[int, int], int] = {}
        for (had, size), number in ways.items():
            for x in range(min(most, whole - had) + 1):
                key = (had + x, size + x * x * (common // n))
                longer[key] = longer.get(key, 0) + number * math.comb(n, x)
        ways = longer
    else:
        least = sum(x * x * (common // n) for x, n in zip(hits, people, strict=True))
        reached = (n for (had, size), n in ways.items() if had == whole and size >= least)
        return sum(reached) / math.comb(sum(people), whole)
    p = permutation_test(counts, lambda tables: chi_square(tables)[0])
    return min(p, _bound_chi_square(counts)) if p <= 1 / (DRAWS + 1) else p


def _bound_chi_square(counts: Ints) -> float:
    """Chernoff's bound of the p-value of χ² for a table [2, G]; 1 for a huge table."""
    from scipy.special import logsumexp
    from scipy.stats import binom

    n, hits = counts.sum(axis=0)[:, None].astype(np.float64), float(counts[0].sum())
    if min(n.max(), hits) * n.size > _BOUNDED:
        return 1.0
    x, share, people = np.arange(min(n.max(), hits) + 1), hits / n.sum(), n.sum()
    size = np.square(x - n * share) / (n * share * (1 - share))
    chance = binom.logpmf(x, n, share)
    observed = float(chi_square(counts.astype(np.float64))[0])
    exponents = [
        float(logsumexp(chance + slope * size, axis=1).sum()) - slope * observed
        for slope in np.geomspace(0.01, 100, 100).tolist()
    ]
    bound = min(exponents) - float(binom.logpmf(hits, people, share))
    return max(math.exp(min(bound, 0.0)), LEAST_P)


def permute_widest_gap(tables: Sequence[Ints], least: float) -> float:
    """The p-value of `least`, the widest gap between shares of groups in several tables [2, G].

    The null hypothesis is that all groups are equal. Each draw permutes the people of every table
    among the groups and takes the widest gap of all tables. p is computed as in `permutation_test`;
    it is NaN if a table has 10⁹ people or more. If no draw has such a wide gap, p is also limited
    by a bound: the probability that the share of a group differs from the share of its table by
    half the gap.

    >>> tables = [np.array([[12, 48], [28, 32]]), np.array([[5, 5], [5, 5]])]
    >>> round(permute_widest_gap(tables, 0.3), 2)
    0.19
    """
    if any(counts.sum() >= MOST_DEALT for counts in tables):
        return math.nan
    widest = np.zeros(DRAWS)
    for seed, counts in enumerate(tables):
        of_group = counts.sum(axis=0)
        gaps = [np.ptp(drawn[:, 0] / of_group, axis=1) for drawn in _dealt(counts, DRAWS, seed)]
        widest = np.maximum(widest, np.concatenate(gaps))
    reached = np.count_nonzero(widest >= least - _ROUNDING)
    p = float((reached + 1) / (DRAWS + 1))
    return p if reached else min(p, sum(_bound_distance(counts, least / 2) for counts in tables))


def _bound_distance(counts: Ints, reach: float) -> float:
    """A bound of the probability that a group's share is `reach` away from the overall share."""
    from scipy.stats import hypergeom

    n, (hits, _) = counts.sum(axis=0), counts.sum(axis=1)
    ends = (n * (hits / n.sum() + side * reach) for side in (1, -1))
    high, low = np.ceil(next(ends) - _ROUNDING), np.floor(next(ends) + _ROUNDING)
    chances = hypergeom.sf(high - 1, n.sum(), hits, n) + hypergeom.cdf(low, n.sum(), hits, n)
    return max(float(chances.sum()), LEAST_P)


def _dealt(counts: Ints, draws: int, seed: int) -> Iterator[Ints]:
    """Yields blocks of random tables [D, K, G] that have the margins of `counts`."""
    of_class, of_group = counts.sum(axis=1), counts.sum(axis=0)
    generator = np.random.default_rng(seed)
    block = max(_DRAWN // max(counts.size, 1), 1)
    sizes = [min(block, draws - start) for start in range(0, draws, block)]
    if len(of_class) == 2:
        for size in sizes:
            drawn = generator.multivariate_hypergeometric(
                of_group, int(of_class[0]), size=size, method="marginals"
            )
            yield np.stack([drawn, of_group - drawn], axis=1)
        return
    from scipy.stats import random_table  # slow to import, and not needed for two classes

    tables = random_table(of_class, of_group)
    for size in sizes:
        yield tables.rvs(size, random_state=generator)


def moment_test(counts: Ints) -> float:
    """The p-value of χ² of a sparse table [K, G], from its moments over tables with these margins.

    p is computed from a scaled χ² distribution with the same mean and variance as the statistic.
    The test is for many groups: with few groups and a rare class, χ² has only a few values. p is at
    least 1 / (DRAWS + 1), because two moments do not describe the far tail. Rows and columns
    without people are ignored; p is 1 if the table cannot vary. Haldane (1940), Biometrika 31:346;
    Dawson (1954), A simplified expression for the variance of the χ²-function on a contingency
    table, Biometrika 41:280.
    """
    whole = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(np.float64)
    n, (rows, columns) = whole.sum(), whole.shape
    if min(rows, columns) < 2 or n < 4:
        return 1.0
    of_row, of_column = whole.sum(axis=1), whole.sum(axis=0)
    expected = np.outer(of_row, of_column) / n
    observed = (np.square(whole - expected) / expected).sum()

    def terms(margin: Floats) -> tuple[float, float]:
        k = len(margin)
        spread = ((n / margin).sum() - k * k) / (n - 2)
        return (k - 1) * (n - k) / (n - 1), float(spread)

    (first, uneven), (second, other) = terms(of_row), terms(of_column)
    mean = n / (n - 1) * (rows - 1) * (columns - 1)
    variance = (
        2 * n / (n - 3) * (first - uneven) * (second - other) + n * n / (n - 1) * uneven * other
    )
    if variance <= 0:
        return 1.0
    scale = variance / (2 * mean)
    return max(float(chi_square_tail(observed / scale, mean / scale)), 1 / (DRAWS + 1))
