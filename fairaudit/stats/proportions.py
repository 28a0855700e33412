"""Intervals and tests of proportions: of one, of two, of pairs, and of whole tables.

Shares come with the sizes they were seen in; under survey weights the size is the effective one, so
it need not be a whole number. A share that is NaN or was seen in nobody has no interval and no
p-value: they are NaN.
"""

from __future__ import annotations

import numpy as np

from fairaudit.arrays import Floats, Ints, Marks
from fairaudit.stats import mover
from fairaudit.stats.mover import Bounds
from fairaudit.stats.normal import critical, two_sided

_FEW = 2 / 3
"""Of z²: with fewer hits or misses far tails are counted, not approximated."""

_TIE = 1e-7
"""Tables are equally likely when their probabilities differ by less, relatively; as in R."""

EXPECTED = 5
"""Where a smaller count is expected in a cell, a test that counts tables takes the place of z."""

_CELLS = 2**18
"""So many probabilities of tables are kept at once."""

_EXACT_BELOW = 25
"""With fewer discordant pairs McNemar's test is exact."""

_CLOSE = 1e-9
"""After so small a secant step the next one is below the last digit."""

_NEAR = 1e-3
"""A secant of two points so near each other has the slope that the curve has there."""

_SECANTS = 12
_HALVINGS = 64
"""Steps until the bounds of a ratio stand; almost all do after half of the secants."""


def wilson(share: Floats, size: Floats, alpha: float | Floats = 0.05) -> Bounds:
    """The score interval of a binomial proportion: `share` seen in samples of `size`.

    Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA
    22:209, doi:10.1080/01621459.1927.10502953; without continuity correction. An undefined share
    (NaN) has no interval (NaN). The bounds lie in [0, 1] and contain the share.

    >>> low, high = wilson(np.array([12 / 40]), np.array([40.0]))
    >>> round(float(low[0]), 6), round(float(high[0]), 6)
    (0.180748, 0.4543)
    """
    share = np.asarray(share, dtype=np.float64)
    z = critical(alpha)
    square = np.square(z)
    with np.errstate(all="ignore"):
        size = np.where(np.greater(size, 0), size, np.nan)
        middle = share + square / (2 * size)
        spread = share * (1 - share) / size + square / (4 * size**2)
        reach = z * np.sqrt(spread)
        shrink = 1 + square / size
        low = np.minimum(np.maximum((middle - reach) / shrink, 0.0), share)
        high = np.maximum(np.minimum((middle + reach) / shrink, 1.0), share)
        # What never misses is everything.
        known, always = ~np.isnan(share * size), np.isinf(z)
    return np.where(known & always, 0.0, low), np.where(known & always, 1.0, high)


def clopper_pearson(share: Floats, size: Floats, alpha: float | Floats = 0.05) -> Bounds:
    """The exact interval of a binomial proportion: it covers at least as often as it says.

    Clopper & Pearson (1934), The use of confidence or fiducial limits illustrated in the case of
    the binomial, Biometrika 26:404. NaN as in `wilson`.

    >>> low, high = clopper_pearson(np.array(0.1), np.array(10.0))
    >>> round(float(low), 6), round(float(high), 6)
    (0.002529, 0.445016)
    """
    from scipy.special import betainccinv, betaincinv

    with np.errstate(all="ignore"):
        size = np.where(np.greater(size, 0), size, np.nan)
        hits = np.asarray(share * size, dtype=np.float64)
        misses, tail = size - hits, np.divide(alpha, 2)
        low = betaincinv(np.maximum(hits, 1e-300), misses + 1, tail)
        high = betainccinv(hits + 1, np.maximum(misses, 1e-300), tail)
        # So far out that an end cannot be computed, it is the farthest there is.
        low = np.where((hits <= 0) | np.isnan(low), 0.0, np.minimum(low, share))
        high = np.where((misses <= 0) | np.isnan(high), 1.0, np.maximum(high, share))
        known = ~np.isnan(hits)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def far_out(share: Floats, size: Floats, alpha: float | Floats) -> tuple[Floats, Floats, Marks]:
    """The bounds of a proportion that serve at a small alpha, and where few hits or misses rule.

    Far out in the tail score bounds are too close where hits or misses are few: there they are
    Clopper & Pearson's. Few are less than two thirds of z², the least that at this alpha says
    anything of the other side.
    """
    low, high = wilson(share, size, alpha)
    with np.errstate(all="ignore"):
        hits = np.asarray(share * size)
        fewer = np.minimum(hits, size - hits)
        few = np.asarray(fewer < _FEW * np.square(critical(alpha)))
    few = np.broadcast_to(few, low.shape)
    if few.any():
        p, n, a = np.broadcast_arrays(share, size, alpha)
        exact = clopper_pearson(p[few], n[few], a[few])
        low, high = np.array(low), np.array(high)
        low[few], high[few] = exact
    return low, high, few


def newcombe(p: Floats, n: Floats, q: Floats, m: Floats, alpha: float | Floats = 0.05) -> Bounds:
    """The bounds of the difference `p - q` of independent proportions seen in `n` and `m`.

    Newcombe (1998), Interval estimation for the difference between independent proportions, Stat
    Med 17:873, method 10: the hybrid of two Wilson intervals, without continuity correction.

    >>> low, high = newcombe(np.array(0.3), np.array(40.0), np.array(0.6), np.array(80.0))
    >>> round(float(low), 6), round(float(high), 6)
    (-0.455876, -0.110768)
    """
    return mover.difference(p, wilson(p, n, alpha), q, wilson(q, m, alpha))


def koopman(p: Floats, n: Floats, q: Floats, m: Floats, alpha: float | Floats = 0.05) -> Bounds:
    """The bounds of the ratio `p / q` of independent proportions by the χ² score test.

    Koopman (1984), Confidence intervals for the ratio of two binomial proportions, Biometrics
    40:513. Where p is 0 the lower bound is 0, where q is 0 the upper one is infinite; both are 0:
    (0, infinity).

    >>> low, high = koopman(np.array(0.3), np.array(40.0), np.array(0.6), np.array(80.0))
    >>> round(float(low), 6), round(float(high), 6)
    (0.293345, 0.793865)
    """
    z = critical(alpha)
    with np.errstate(all="ignore"):
        low = 1 / _koopman_high(q, m, p, n, z)
        high = _koopman_high(p, n, q, m, z)
        plain = np.where(_known(p, n, q, m), np.divide(p, q), np.nan)
        return np.fmin(low, plain), np.fmax(high, plain)


def _koopman_high(p: Floats, n: Floats, q: Floats, m: Floats, z: float | Floats) -> Floats:
    """The ratio above p / q at which the score statistic is -z."""
    p, n, q, m, z = (
        np.asarray(one, dtype=np.float64) for one in np.broadcast_arrays(p, n, q, m, z)
    )
    high = np.where(_known(p, n, q, m), np.inf, np.nan)
    solved = np.isfinite(z) & (q > 0) & (high > 0)
    if solved.any():
        high[solved] = np.exp(_root(*(one[solved] for one in (p, n, q, m, z))))
    return high


def _root(p: Floats, n: Floats, q: Floats, m: Floats, z: Floats) -> Floats:
    """The logarithm of the upper bound, by secants that halving rescues; all arrays of one axis."""
    data = np.stack([p, n, q, m, z])
    alpha = two_sided(z)
    _, start = mover.ratio(p, wilson(p, n, alpha), q, wilson(q, m, alpha))
    start = np.log(np.where(np.isfinite(start) & (start > 0), start, 1.0))
    root = np.full_like(p, np.nan)
    left = np.arange(p.size)
    before, now = start + 0.05, start
    was, value = _excess(before, data), _excess(now, data)
    for _ in range(_SECANTS):
        gap = now - before
        step = -value * gap / (value - was)
        step = np.clip(np.where(np.isfinite(step), step, 0.0), -2.0, 2.0)
        before, was, now = now, value, now + step
        value = _excess(now, data)
        # Across the kink where both shares are 1 a far secant is steep, and its step small.
        done = (np.abs(step) < _CLOSE) & (np.abs(gap) < _NEAR)
        root[left[done]] = now[done]
        if done.all():
            return root
        left, data = left[~done], data[:, ~done]
        before, was, now, value = before[~done], was[~done], now[~done], value[~done]
    low, high = np.full(left.size, -745.0), np.full(left.size, 709.0)
    estimate = np.log(data[0] / data[2])
    low = np.maximum(low, estimate)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        under = _excess(middle, data) > 0
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    root[left] = (low + high) / 2
    return root


def _excess(log_ratio: Floats, data: Floats) -> Floats:
    """How far the score statistic at a ratio lies above -z; it falls as the ratio grows."""
    p, n, q, m, z = data
    ratio = np.exp(log_ratio)
    x, y = p * n, q * m
    one, other = ratio * (n + y), x + m
    # b² - 4ac of the restricted estimate, with nothing left that cancels.
    root = np.sqrt(np.square(one - other) + 4 * ratio * (n - x) * (m - y))
    under = np.minimum(2 * (x + y) / (one + other + root), 1.0)
    over = np.minimum(ratio * under, 1.0)
    variance = over * (1 - over) / n + ratio * ratio * under * (1 - under) / m
    return np.asarray((p - ratio * q) / np.sqrt(variance) + z)


def katz(p: Floats, n: Floats, q: Floats, m: Floats, alpha: float | Floats = 0.05) -> Bounds:
    """The bounds of the ratio `p / q` by the logarithm; (0, infinity) where either share is 0.

    Where both are 1 the formula leaves it no width; `koopman` does. Katz, Baptista, Azen & Pike
    (1978), Obtaining confidence intervals for the risk ratio in cohort studies, Biometrics 34:469.

    >>> low, high = katz(np.array(0.3), np.array(40.0), np.array(0.6), np.array(80.0))
    >>> round(float(low), 4), round(float(high), 4)
    (0.3014, 0.8294)
    """
    with np.errstate(all="ignore"):
        reach = critical(alpha) * np.sqrt(
            np.subtract(1, p) / np.multiply(p, n) + np.subtract(1, q) / np.multiply(q, m)
        )
        plain = np.divide(p, q)
        low, high = plain * np.exp(-reach), plain * np.exp(reach)
    return _or_everything(low, high, np.multiply(p, q) == 0, _known(p, n, q, m))


def _or_everything(low: Floats, high: Floats, everything: Marks, known: Marks) -> Bounds:
    """Bounds that are (0, infinity) where marked, NaN where nothing is known."""
    return (
        np.where(known, np.where(everything, 0.0, low), np.nan),
        np.where(known, np.where(everything, np.inf, high), np.nan),
    )


def _known(p: Floats, n: Floats, q: Floats, m: Floats) -> Marks:
    """Which pairs have a share on both sides, each seen in somebody."""
    sizes = np.greater(n, 0) & np.greater(m, 0)
    return np.asarray(sizes & ~np.isnan(p) & ~np.isnan(q))


def woolf(p: Floats, n: Floats, q: Floats, m: Floats, alpha: float | Floats = 0.05) -> Bounds:
    """The bounds of the odds ratio of `p` to `q` by the logit, with ½ added to each cell.

    Woolf (1955), On estimating the relation between blood group and disease, Ann Hum Genet 19:251;
    Gart (1966), Alternative analyses of contingency tables, JRSS B 28:164. They are centred on the
    adjusted estimate, and widened to the plain odds ratio where that lies outside.

    >>> low, high = woolf(np.array(0.3), np.array(40.0), np.array(0.6), np.array(80.0))
    >>> round(float(low), 6), round(float(high), 6)
    (0.132101, 0.653896)
    """
    with np.errstate(all="ignore"):
        a, c = np.multiply(p, n), np.multiply(q, m)
        b, d = n - a, m - c
        middle = np.log((a + 0.5) * (d + 0.5) / ((b + 0.5) * (c + 0.5)))
        error = np.sqrt(1 / (a + 0.5) + 1 / (b + 0.5) + 1 / (c + 0.5) + 1 / (d + 0.5))
        reach = critical(alpha) * error
        plain = a * d / (b * c)
        low, high = np.fmin(np.exp(middle - reach), plain), np.fmax(np.exp(middle + reach), plain)
    known = _known(p, n, q, m)
    return _or_everything(low, high, ~known, known)


def z_test(
    p: Floats, n: Floats, q: Floats, m: Floats, *, pooled: bool = True, yates: bool = False
) -> tuple[Floats, Floats]:
    """The z of `p - q` and its two-sided p-value.

    With the pooled variance, as the test of equal proportions has it; or with the variance of each
    side. `yates` draws the difference in by half a person on either side, as Yates (1934), JRSS
    Suppl 1:217, corrects χ² for continuity; never beyond 0. Where nobody or everybody has the
    outcome on both sides: z 0, p 1. Fleiss, Levin & Paik (2003), Statistical Methods for Rates and
    Proportions, 3rd ed., §3.2.

    >>> z, p = z_test(np.array(0.3), np.array(40.0), np.array(0.6), np.array(80.0))
    >>> round(float(z), 6), round(float(p), 8)
    (-3.098387, 0.00194577)
    """
    with np.errstate(all="ignore"):
        if pooled:
            share = (np.multiply(p, n) + np.multiply(q, m)) / np.add(n, m)
            variance = share * (1 - share) * (np.divide(1, n) + np.divide(1, m))
        else:
            variance = p * np.subtract(1, p) / n + q * np.subtract(1, q) / m
        gap = np.subtract(p, q)
        if yates:
            step = (np.divide(1, n) + np.divide(1, m)) / 2
            gap = np.sign(gap) * np.maximum(np.abs(gap) - step, 0.0)
        z = np.where(gap == 0, 0.0, gap / np.sqrt(variance))
    z = np.where(_known(p, n, q, m), z, np.nan)
    return z, two_sided(z)


def smallest_expected(p: Floats, n: Floats, q: Floats, m: Floats) -> Floats:
    """The smallest count that is expected in the four cells if both proportions are equal.

    Where it is below 5 the exact test is asked. Cochran (1954), Biometrics 10:417.

    >>> float(smallest_expected(np.array(0.1), np.array(10.0), np.array(0.3), np.array(10.0)))
    2.0
    """
    with np.errstate(all="ignore"):
        x, y = np.multiply(p, n), np.multiply(q, m)
        fewer = np.minimum(x + y, np.subtract(n, x) + np.subtract(m, y))
        return np.where(_known(p, n, q, m), fewer * np.minimum(n, m) / np.add(n, m), np.nan)


def fisher(a: Ints, n: Ints, c: Ints, m: Ints) -> Floats:
    """The p-value of Fisher's exact test of `a` of `n` against `c` of `m`, two-sided.

    The probability of all tables of these margins that are no more likely than the observed one;
    ties within 1e-7. Fisher (1935), The logic of inductive inference, JRSS 98:39.

    >>> float(fisher(np.array(12), np.array(40), np.array(48), np.array(80))).__round__(8)
    0.00340922
    """
    less, tied = _exact(a, n, c, m)
    # A sum of all probabilities may pass 1 in its last digit.
    return np.minimum(less + tied, 1.0)


def fisher_mid_p(a: Ints, n: Ints, c: Ints, m: Ints) -> Floats:
    """The mid-p-value of Fisher's test: tables as likely as the observed one count half.

    Lancaster (1961), Significance tests in discrete distributions, JASA 56:223.

    >>> float(fisher_mid_p(np.array(1), np.array(10), np.array(3), np.array(10))).__round__(6)
    0.334365
    """
    less, tied = _exact(a, n, c, m)
    return less + tied / 2


def _exact(a: Ints, n: Ints, c: Ints, m: Ints) -> tuple[Floats, Floats]:
    """The probabilities of the tables less likely than the observed one, and as likely."""
    arrays = np.broadcast_arrays(*(np.asarray(one, dtype=np.int64) for one in (a, n, c, m)))
    a, n, c, m = (one.ravel() for one in arrays)
    found = np.full((2, a.size), np.nan)
    least = np.maximum(a + c - m, 0)
    length = np.minimum(n, a + c) - least + 1
    order = np.argsort(length, kind="stable")
    order = order[(n[order] > 0) & (m[order] > 0)]
    start = 0
    while start < order.size:
        # Supports of like lengths together, so that little of a block is padding.
        limit = 16 + 2 * int(length[order[start]])
        stop = start + max(_CELLS // limit, 1)
        stop = start + int(np.searchsorted(length[order[start:stop]], limit, side="right"))
        stop = max(stop, start + 1)
        mine = order[start:stop]
        found[:, mine] = _tails(a[mine], n[mine], c[mine], m[mine], int(length[mine[-1]]))
        start = stop
    less, tied = found.reshape(2, *arrays[0].shape)
    return less, tied


def _tails(a: Ints, n: Ints, c: Ints, m: Ints, longest: int) -> tuple[Floats, Floats]:
    """What `_exact` gives, for tables on one axis with supports up to the longest.

    Each probability comes from the one before it by the ratio of the two: sums of logarithms of
    ratios keep digits that differences of logarithms of large factorials lose.
    """
    both = (a + c)[:, None]
    least = np.maximum(both - m[:, None], 0)
    k = least + np.arange(longest - 1)
    above = (both - k) * (n[:, None] - k)
    below = (k + 1) * (m[:, None] - both + k + 1)
    inside = above > 0
    with np.errstate(all="ignore"):
        logs = np.log(np.where(inside, above, 1) / np.where(inside, below, 1))
    likely = np.zeros((a.size, longest))
    np.cumsum(np.where(inside, logs, -np.inf), axis=1, out=likely[:, 1:])
    seen = np.take_along_axis(likely, a[:, None] - least, axis=1)
    chance = np.exp(likely - likely.max(axis=1, keepdims=True))
    tied = np.abs(likely - seen) <= _TIE
    less = ~tied & (likely < seen)
    whole = chance.sum(axis=1)
    return (
        np.where(less, chance, 0.0).sum(axis=1) / whole,
        np.where(tied, chance, 0.0).sum(axis=1) / whole,
    )


def chi_square(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Pearson's χ² of tables [..., K, G], its degrees of freedom, and its p-value.

    Rows and columns of zeros do not count. Where no freedom is left: 0, 0, 1. Pearson (1900), On
    the criterion that a given system of deviations..., Phil Mag 50:157; no continuity correction,
    which is for two by two (`z_test`).

    >>> found = chi_square(np.array([[250.0, 270, 240, 260], [750, 730, 760, 740]]))
    >>> [round(float(one), 6) for one in found]
    [2.631925, 3.0, 0.45192]
    """
    counts = np.asarray(counts, dtype=np.float64)
    expected, df = _expected(counts)
    with np.errstate(all="ignore"):
        parts = np.square(counts - expected) / expected
    return _chi_square(np.where(expected == 0, 0.0, parts).sum(axis=(-2, -1)), df)


def g_test(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """The likelihood-ratio statistic G of tables [..., K, G], its freedom, and its p-value.

    It is 2n times the mutual information in nats. Zeros as in `chi_square`. Wilks (1938), The
    large-sample distribution of the likelihood ratio, Ann Math Stat 9:60.

    >>> [round(float(one), 6) for one in g_test(np.array([[12.0, 48], [28, 32]]))]
    [9.804312, 1.0, 0.001741]
    """
    counts = np.asarray(counts, dtype=np.float64)
    expected, df = _expected(counts)
    with np.errstate(all="ignore"):
        parts = np.where(counts == 0, 0.0, counts * np.log(counts / expected))
    return _chi_square(np.maximum(2 * parts.sum(axis=(-2, -1)), 0.0), df)


def _expected(counts: Floats) -> tuple[Floats, Floats]:
    """What margins alone would put into each cell, and how many cells they leave free."""
    rows, columns = counts.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
    with np.errstate(all="ignore"):
        expected = rows * columns / counts.sum(axis=(-2, -1), keepdims=True)
    free = [np.maximum((one != 0).sum(axis=(-2, -1)) - 1, 0) for one in (rows, columns)]
    expected = np.where((rows == 0) | (columns == 0), 0.0, expected)
    return expected, np.asarray(free[0] * free[1], dtype=np.float64)


def _chi_square(statistic: Floats, df: Floats) -> tuple[Floats, Floats, Floats]:
    """A statistic with its freedom and upper tail; 0 and 1 where there is no freedom."""
    from scipy.special import gammaincc

    statistic = np.where((df == 0) & ~np.isnan(statistic), 0.0, statistic)
    p = gammaincc(np.where(df > 0, df, 1.0) / 2, statistic / 2)
    return statistic, df, np.asarray(p, dtype=np.float64)


def mcnemar(b: Ints, c: Ints) -> tuple[Floats, Floats, Marks]:
    """McNemar's χ², its p-value, and whether that is exact, from the two discordant counts.

    Below 25 discordant pairs the p-value is the binomial's, two-sided; otherwise the statistic's,
    without continuity correction. No discordant pair: 0 and 1. McNemar (1947), Psychometrika
    12:153.

    >>> statistic, p, exact = mcnemar(np.array([12, 30]), np.array([2, 10]))
    >>> [round(float(one), 6) for one in (*statistic, *p)], exact.tolist()
    ([7.142857, 10.0, 0.012939, 0.001565], [True, False])
    """
    from scipy.special import bdtr

    b, c = np.broadcast_arrays(b, c)
    pairs = b + c
    exact = pairs < _EXACT_BELOW
    with np.errstate(all="ignore"):
        gap = np.subtract(b, c, dtype=np.float64)
        statistic = np.where(pairs == 0, 0.0, gap * gap / pairs)
    few = np.where(exact, pairs, 0)
    binomial = np.minimum(2 * bdtr(np.minimum(np.minimum(b, c), few).astype(float), few, 0.5), 1.0)
    return statistic, np.where(exact, binomial, two_sided(np.sqrt(statistic))), exact


def paired_difference(
    a: Floats, b: Floats, c: Floats, d: Floats, alpha: float | Floats = 0.05
) -> Bounds:
    """The bounds of (a + b)/n - (a + c)/n = (b - c)/n, two proportions of the same n pairs.

    `a` pairs have both, `b` only the first, `c` only the second, `d` neither. Newcombe (1998),
    Improved confidence intervals for the difference between binomial proportions based on paired
    data, Stat Med 17:2635, method 10: Wilson intervals, less what the correlation explains.

    >>> low, high = paired_difference(*np.array([36.0, 12.0, 2.0, 0.0]))
    >>> round(float(low), 4), round(float(high), 4)
    (0.0569, 0.3404)
    """
    a, b, c, d = (np.asarray(one, dtype=np.float64) for one in (a, b, c, d))
    with np.errstate(all="ignore"):
        n = a + b + c + d
        first, second = (a + b) / n, (a + c) / n
        low, high = wilson(first, n, alpha)
        other_low, other_high = wilson(second, n, alpha)
        cross = a * d - b * c
        # The paper's correction: a positive correlation is taken to be a little weaker.
        cross = np.where(cross > 0, np.maximum(cross - n / 2, 0.0), cross)
        margins = np.sqrt((a + b) * (c + d)) * np.sqrt((a + c) * (b + d))
        phi = np.where(margins == 0, 0.0, cross / margins)
        gap = (b - c) / n
        return (
            gap - _correlated(first - low, other_high - second, phi),
            gap + _correlated(high - first, second - other_low, phi),
        )


def _correlated(one: Floats, other: Floats, phi: Floats) -> Floats:
    """The error of a difference of two errors that are correlated."""
    return np.asarray(np.sqrt(np.maximum(one * one - 2 * phi * one * other + other * other, 0.0)))
