"""Statistics over strata: Mantel-Haenszel, Breslow-Day, Gail-Simon; sparse averages (Sato).

In each stratum, `a` hits of `n` people are compared with `c` hits of `m` people; strata are axis 0.
A stratum contains no information about odds, and is ignored, if one side is empty or if all people
have the same outcome.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Marks
from fairaudit.base.frozen import Frozen
from fairaudit.stats.distributions import chi_square_tail, normal_critical, normal_two_sided
from fairaudit.stats.proportions import average_interval

_TOGETHER = 100
"""The number of degrees of freedom that are summed at a time."""

_ENOUGH = 10
_ROUNDING = 1e-9

_TAIL = 0.05
"""Up to this level, a normal quantile is below the quantile of Gail & Simon's mixture."""

_RANK = 1e-10
"""An eigenvalue of the covariance counts as 0 if it is below this share of the largest one."""


class MantelHaenszel(Frozen, eq=False):
    """Joint results of all strata: a test, the common odds ratio, the common difference."""

    statistic: Floats
    p: Floats
    odds_ratio: Floats
    odds_low: Floats
    odds_high: Floats
    difference: Floats
    difference_low: Floats
    difference_high: Floats


def mantel_haenszel(
    a: Floats, n: Floats, c: Floats, m: Floats, alpha: Alpha = 0.05
) -> MantelHaenszel:
    """The Cochran–Mantel–Haenszel test (uncorrected), the common odds ratio and difference.

    Mantel & Haenszel (1959), JNCI 22:719. The odds ratio has the variance of Robins, Breslow &
    Greenland (1986), Biometrics 42:311. The difference has the variance of Sato (1989), Biometrics
    45:1323 (with Greenland & Robins's reply). If all people have the same outcome, the statistic is
    0 and p is 1. An odds ratio of 0 or infinity has the bounds (0, infinity). The results are NaN
    if no stratum has both sides. If the difference has no variance, its bounds are NaN.

    >>> result = mantel_haenszel(*np.array([[81.0, 192], [87, 263], [234, 55], [270, 80]]))
    >>> [round(float(number), 6) for number in (result.statistic, result.p, result.odds_ratio)]
    [2.433856, 0.118741, 1.446847]
    """
    a, n, c, m = _floats(a, n, c, m)
    b, d, whole = n - a, m - c, n + m
    with np.errstate(all="ignore"):
        part = np.where(whole > 0, 1 / whole, np.where(whole == 0, 0.0, np.nan))
        weight = (n * m * part).sum(axis=0)
        concordant, discordant = a * d * part, b * c * part
        gap = (concordant - discordant).sum(axis=0)
        # A stratum of one person has only one side, and so no variance.
        spread = n * m * (a + c) * (b + d) * part * part / np.where(whole == 1, 1.0, whole - 1)
        variance = spread.sum(axis=0)
        statistic = np.where((variance == 0) & (weight > 0), 0.0, gap * gap / variance)
        # The common odds ratio, with the bounds of Robins, Breslow & Greenland for its logarithm.
        same, opposite = (a + d) * part, (b + c) * part
        top, bottom = concordant.sum(axis=0), discordant.sum(axis=0)
        ratio = top / bottom
        of_log = (
            (same * concordant).sum(axis=0) / (2 * top * top)
            + (same * discordant + opposite * concordant).sum(axis=0) / (2 * top * bottom)
            + (opposite * discordant).sum(axis=0) / (2 * bottom * bottom)
        )
        factor = np.exp(normal_critical(alpha) * np.sqrt(of_log))
        everything = (top * bottom == 0) & (top + bottom > 0)
        odds_low = np.where(everything, 0.0, ratio / factor)
        odds_high = np.where(everything, np.inf, ratio * factor)
        difference = gap / weight
        lean = (n * n * c - m * m * a + n * m * (m - n) / 2) * part * part
        cross = (a * d + c * b) * part / 2
        error = np.sqrt(np.maximum(difference * lean.sum(axis=0) + cross.sum(axis=0), 0.0))
        # Without any variance the bounds are unknown: a width of 0 would be wrong.
        reach = normal_critical(alpha) * np.where(error > 0, error, np.nan) / weight
    return MantelHaenszel(
        statistic,
        normal_two_sided(np.sqrt(statistic)),
        ratio,
        odds_low,
        odds_high,
        difference,
        difference - reach,
        difference + reach,
    )


def are_enough(weights: Floats, a: Floats, n: Floats, c: Floats, m: Floats) -> Marks:
    """Marks averages in which each side has the equivalent of ten hits and ten misses, or more.

    With fewer hits or misses, a sum of differences is skewed, and Sato's interval covers the true
    sum too rarely. Hits of unequal weight are converted to a number of equally weighted hits that
    has the same relative variance. One hit with the largest weight is added, because a heavy
    stratum may have no hit yet (Fay & Feuer 1997).
    """
    enough = np.True_
    for hits, size in ((a, n), (n - a, n), (c, m), (m - c, m)):
        with np.errstate(all="ignore"):
            each = np.where((weights > 0) & (size > 0), weights / size, 0.0)
        one = each.max(axis=0)
        total, spread = _sum(each * hits) + one, _sum(np.square(each) * hits) + np.square(one)
        enough = enough & (one > 0) & (np.square(total) >= (_ENOUGH + 1 - _ROUNDING) * spread)
    return np.asarray(enough)


def _floats(*arrays: Floats) -> tuple[Floats, ...]:
    return tuple(np.broadcast_arrays(*(np.asarray(array, dtype=np.float64) for array in arrays)))


def generalized_cmh(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """The generalised test of independence of classes and groups in all strata [S, K, G].

    It returns the statistic (of general association between two nominal variables), its degrees of
    freedom, and its p-value. For 2x2 tables, the statistic equals the statistic of
    `mantel_haenszel`. Classes or groups that cannot be compared in any stratum add no degrees of
    freedom. Landis, Heyman & Koch (1978), Average partial association in three-way contingency
    tables, Int Stat Rev 46:237.

    >>> result = generalized_cmh(np.array([[[81.0, 234], [6, 36]], [[192, 55], [71, 25]]]))
    >>> [round(float(number), 6) for number in result]
    [2.433856, 1.0, 0.118741]
    """
    counts = np.asarray(counts, dtype=np.float64)
    classes, groups = counts.sum(axis=2), counts.sum(axis=1)
    whole = classes.sum(axis=1)
    if np.isnan(whole).any() or not ((groups > 0).sum(axis=1) > 1).any():
        nothing = np.array(np.nan)
        return nothing, nothing, nothing
    kept = whole > 1
    counts, classes, groups, whole = counts[kept], classes[kept], groups[kept], whole[kept]
    # The last class and the last group follow from the others.
    k, g = (np.flatnonzero(margin.any(axis=0))[:-1] for margin in (classes, groups))
    gap = counts - classes[:, :, None] * groups[:, None, :] / whole[:, None, None]
    deviation = gap.sum(axis=0)[np.ix_(k, g)].ravel()
    margin = _margin(classes[:, k], whole)
    groups_covariance = _margin(groups[:, g], whole) / (whole - 1)[:, None, None]
    covariance = np.einsum("sab,scd->acbd", margin, groups_covariance, optimize=True)
    covariance = covariance.reshape(deviation.size, deviation.size)
    # The squared length of the deviation in its standard errors, and the rank of its covariance.
    statistic, df, scale = 0.0, 0.0, np.sqrt(np.diagonal(covariance))
    moves = scale > 0
    if moves.any():
        scale = scale[moves]
        values, vectors = np.linalg.eigh(covariance[np.ix_(moves, moves)] / np.outer(scale, scale))
        free = values > _RANK * values[-1]
        along = (deviation[moves] / scale) @ vectors[:, free]
        statistic, df = float((along * along / values[free]).sum()), float(free.sum())
    return np.array(statistic), np.array(df), chi_square_tail(statistic, max(df, 1))


def _margin(totals: Floats, whole: Floats) -> Floats:
    """The covariance [S, ., .] of a multinomial draw of one person, times `whole`."""
    shares = totals / whole[:, None]
    diagonal = totals[:, :, None] * np.eye(totals.shape[1])
    return np.asarray(diagonal - totals[:, :, None] * shares[:, None, :])


def breslow_day(a: Floats, n: Floats, c: Floats, m: Floats) -> tuple[Floats, Floats, Floats]:
    """The test of whether all strata have one odds ratio: statistic, degrees of freedom, p-value.

    The test uses the Mantel–Haenszel odds ratio, without Tarone's correction. The degrees of
    freedom are the number of informative strata minus 1. The statistic and p are NaN if the common
    odds ratio is 0, infinite or undefined; p is also NaN if fewer than two strata are informative.
    Breslow & Day (1980), Statistical Methods in Cancer Research I, IARC, §4.4.

    >>> result = breslow_day(*np.array([[81.0, 192], [87, 263], [234, 55], [270, 80]]))
    >>> [round(float(number), 4) for number in result]
    [0.9684, 1.0, 0.3251]
    """
    a, n, c, m = _floats(a, n, c, m)
    hits, whole = a + c, n + m
    informs = (n > 0) & (m > 0) & (hits > 0) & (hits < whole)
    unknown = np.isnan(hits + whole).any(axis=0)
    with np.errstate(all="ignore"):
        part = np.where(informs, 1 / whole, 0.0)
        odds = (a * (m - c) * part).sum(axis=0) / ((n - a) * c * part).sum(axis=0)
        odds = np.where((odds > 0) & np.isfinite(odds) & ~unknown, odds, np.nan)
        # The expected first cell: tables with these margins and the common odds ratio.
        rest = whole - n - hits
        middle = rest + odds * (n + hits)
        # The discriminant as a sum of squares, without cancellation.
        root = np.sqrt(np.square(rest + odds * (n - hits)) + 4 * odds * hits * (whole - hits))
        direct = (root - middle) / (2 * (1 - odds))
        expected = np.where(middle >= 0, 2 * odds * n * hits / (middle + root), direct)
        cells = (expected, hits - expected, n - expected, m - hits + expected)
        parts = np.square(a - expected) * sum(1 / cell for cell in cells)
        statistic = np.where(informs, parts, 0.0).sum(axis=0)
        statistic = np.where(np.isnan(odds), np.nan, statistic)
        df = np.maximum(informs.sum(axis=0) - 1.0, 0.0)
        p = np.where(df > 0, chi_square_tail(statistic, np.maximum(df, 1.0)), np.nan)
    return statistic, df, p


def gail_simon(difference: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """The test of qualitative interaction (differences of both signs): statistic and p-value.

    The squared standardised differences above 0 are added up, and so are those below 0. The
    statistic is the smaller sum. A stratum without a difference or without a positive variance is
    ignored. With fewer than two strata, both results are NaN. If all differences have the same
    sign, the statistic is 0 and p is 1. Gail & Simon (1985), Testing for qualitative interactions
    between treatment effects and patient subsets, Biometrics 41:361.

    >>> result = gail_simon(np.array([0.2, -0.3]), np.array([0.01, 0.02]))
    >>> [round(float(number), 6) for number in result]
    [4.0, 0.02275]
    """
    statistic, others = _measure_interaction(difference, variance)
    return statistic, _mixture_tail(statistic, others, len(difference) - 1)


def may_interact(difference: Floats, variance: Floats, alpha: float) -> Marks:
    """Marks the tests whose p-value of `gail_simon` may be below `alpha`, without computing it.

    The null distribution is a mixture of s χ² distributions, with the mean s / 2 and the variance 5
    s / 4. It is skewed to the right, so in the tail its quantiles are above the normal quantiles.
    """
    statistic, others = _measure_interaction(difference, variance)
    if alpha > _TAIL:
        return np.asarray(statistic > 0)
    with np.errstate(invalid="ignore"):
        least = others / 2 + normal_critical(2 * alpha) * np.sqrt(1.25 * others)
        return np.asarray(statistic > least)


def _measure_interaction(difference: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """The smaller of Q+ and Q-, and the number of used strata, minus 1.

    The first value is NaN if fewer than two strata are used.
    """
    above, below, number = _sum_squares(difference, variance)
    return np.where(number > 1, np.minimum(above, below), np.nan), number - 1


def _sum_squares(difference: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
    """The sums of squared standardised differences above and below 0; the number of used strata."""
    difference, variance = _floats(difference, variance)
    with np.errstate(all="ignore"):
        counts = (variance > 0) & ~np.isnan(difference)
        squares = np.where(counts, difference * difference / variance, 0.0)
    above, below = (
        np.where(side, squares, 0.0).sum(axis=0) for side in (difference > 0, difference < 0)
    )
    return above, below, counts.sum(axis=0).astype(np.float64)


def any_negative(difference: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """The test of whether any stratum has a difference below 0: statistic, one-sided p-value.

    The statistic is the sum of the squared standardised differences below 0. Under the null
    hypothesis, the worst case is that all true differences are 0. Then the statistic is distributed
    as a mixture of χ² with binomial weights. A stratum without a difference or without a positive
    variance is ignored; if all strata are ignored, the results are NaN. This is half of the test of
    Gail & Simon (1985), Biometrics 41:361; the weights are in Robertson, Wright & Dykstra (1988),
    Order Restricted Statistical Inference.

    >>> result = any_negative(np.array([0.2, -0.3]), np.array([0.01, 0.02]))
    >>> [round(float(number), 6) for number in result]
    [4.5, 0.043297]
    """
    _, below, number = _sum_squares(difference, variance)
    statistic = np.where(number > 0, below, np.nan)
    return statistic, _mixture_tail(statistic, number, len(difference))


def _mixture_tail(statistic: Floats, count: Floats, most: int) -> Floats:
    """The tail of a mixture of χ² with 0 to `count` degrees of freedom and binomial weights.

    `most` is the largest possible count.
    """
    log_factorials = np.append(0.0, np.cumsum(np.log(np.arange(1, most + 1))))
    whole = np.maximum(count, 0).astype(np.int64)
    p = np.zeros_like(statistic)
    for start in range(1, most + 1, _TOGETHER):
        df = np.arange(start, min(start + _TOGETHER, most + 1)).reshape(-1, *[1] * np.ndim(p))
        rest = whole - df
        ways = log_factorials[whole] - log_factorials[df] - log_factorials[np.maximum(rest, 0)]
        with np.errstate(all="ignore"):
            weight = np.where(rest >= 0, np.exp(ways - whole * np.log(2)), 0.0)
            p = p + (weight * chi_square_tail(statistic, df.astype(np.float64))).sum(axis=0)
    p = np.where(statistic == 0, 1.0, p)
    return np.where(np.isnan(statistic), np.nan, p)


def average_difference(
    weights: Floats, a: Floats, n: Floats, c: Floats, m: Floats, alpha: Alpha = 0.05
) -> tuple[Floats, Floats]:
    """The bounds of the average difference Σ w (a/n - c/m) of shares, for sparse strata.

    `weights` add up to 1 over axis 0. The variance is from Sato (1989), Biometrics 45:1323. It is
    valid even if all strata are small, and unbiased if the difference is the same in all strata.
    Sato's weights are n m / N; here, any weights are allowed. The bounds are the differences whose
    squared distance from the observed difference is z² times the variance. They are NaN if no such
    differences exist.

    >>> low, high = average_difference(np.full((40, 1), 1 / 40), *(
    ...     np.repeat(side, (10, 30), axis=0) for side in np.array([[[1.0], [0]], [[1], [1]],
    ...                                                             [[0], [0]], [[1], [1]]])))
    >>> round(float(low[0]), 4), round(float(high[0]), 4)
    (0.1033, 0.3727)
    """
    a, n, c, m = _floats(a, n, c, m)
    with np.errstate(all="ignore"):
        square = np.square(np.where(weights > 0, weights, 0.0))
        apart = (a * (m - c) + c * (n - a)) / (n * m)
        level = _sum(square * apart * (1 / n + 1 / m) / 2)
        slope = _sum(square * ((1 - 2 * a / n) / n - (1 - 2 * c / m) / m) / 2)
        gap, z = _sum(weights * (a / n - c / m)), np.square(normal_critical(alpha))
        middle = gap + z * slope / 2
        reach = np.sqrt(z * (level + slope * gap + z * slope * slope / 4))
        reach = np.where(level + slope * gap > 0, reach, np.nan)
        return np.maximum(middle - reach, -1.0), np.minimum(middle + reach, 1.0)


def average_ratio(
    weights: Floats, a: Floats, n: Floats, c: Floats, m: Floats, alpha: Alpha = 0.05
) -> tuple[Floats, Floats]:
    """The bounds of the ratio of two averages of shares, Σ w a/n and Σ w c/m, for sparse strata.

    As in `average_difference`, any weights are allowed. The variance is from Greenland & Robins
    (1985), Estimation of a common effect parameter from sparse follow-up data, Biometrics 41:55,
    whose weights are n m / N. The variance is unbiased if the ratio is the same in all strata. The
    bounds are the ratios ρ at which the square of Σ w (a/n - ρ c/m) is z² times the variance of
    this sum (Fieller). The upper bound is infinite if the denominator may be 0.
    """
    a, n, c, m = _floats(a, n, c, m)
    with np.errstate(all="ignore"):
        square = np.square(np.where(weights > 0, weights, 0.0))
        plain, per_ratio = _sum(square * a / n**2), _sum(square * c / m**2)
        joint_term = _sum(square * a * c / (n * m) * (1 / n + 1 / m))
        top, bottom = _sum(weights * a / n), _sum(weights * c / m)
        z = np.square(normal_critical(alpha))
        first, half = bottom**2 - z * per_ratio, top * bottom - z * joint_term / 2
        last = top**2 - z * plain
        root = np.sqrt(np.maximum(half**2 - first * last, 0.0))
        # The roots of a quadratic equation in ρ, in a form without cancellation.
        low = np.where(last <= 0, 0.0, last / (half + root))
        high = np.where(first > 0, (half + root) / first, np.inf)
        known = (top > 0) | (bottom > 0)
        return np.where(known, np.maximum(low, 0.0), np.nan), np.where(known, high, np.nan)


def _sum(terms: Floats) -> Floats:
    """The sum over strata; undefined terms, which have no weight, are ignored."""
    return np.asarray(np.nan_to_num(terms, posinf=0.0, neginf=0.0).sum(axis=0))


def pooled_variance(
    p: Floats, n: Floats, q: Floats, m: Floats, spreads: tuple[Floats, Floats] | None = None
) -> Floats:
    """The variance of `p - q` in each stratum if both groups are one population.

    For shares, the variance is hypergeometric (given the number of hits), as in the
    Cochran–Mantel–Haenszel test: in strata with few people, the variance of separate sides would be
    far too small. For means, `spreads` contains the mean squared deviation of both groups, each
    from its own mean; for shares, it is None. The result is NaN in strata with one person.
    """
    p, n, q, m = _floats(p, n, q, m)
    spread, other_spread = (p * (1 - p), q * (1 - q)) if spreads is None else spreads
    with np.errstate(all="ignore"):
        whole = n + m
        squares = n * spread + m * other_spread + n * m / whole * (p - q) ** 2
        variance = squares / (whole - 1) * (1 / n + 1 / m)
    return np.asarray(np.where(whole > 1, variance, np.nan))


def average_curve_interval(
    curve: Callable[[Floats], Floats], shares: Floats, sizes: Floats, weights: Floats, alpha: Alpha
) -> Ends:
    """The bounds of the average Σ w·f(p) over axis 0 of a function f of independent shares.

    The function is linearised at each share. Where it is curved, the expected value of f(p) is not
    f of the true share, and all strata may be off to the same side. One bound is moved as far.
    """
    counts = weights > 0
    with np.errstate(all="ignore"):
        p = (shares * sizes + 1) / (sizes + 2)
        error = np.sqrt(p * (1 - p) / sizes)
        below, middle, above = (curve(p + step * error) for step in (-1, 0, 1))
        total, bias = (
            np.where(counts, weights * of_share, 0.0).sum(axis=0)
            for of_share in (curve(shares), (below + above) / 2 - middle)
        )
        slopes = np.where(counts, weights * (above - below) / (2 * error), 0.0)
    low, high = average_interval(shares, sizes, slopes, alpha)
    center = np.where(counts, slopes * shares, 0.0).sum(axis=0)
    return total + low - center - np.fmax(bias, 0), total + high - center - np.fmin(bias, 0)
