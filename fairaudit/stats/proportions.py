"""Intervals of shares, and of their differences, ratios and odds ratios; MOVER.

Each share has a size: the number of people in its denominator. Under survey weights, the size is
the effective size, so it may be fractional. If a share is NaN or has size 0, its interval is NaN.

MOVER (method of variance estimates recovery) combines the intervals of two estimates. The intervals
may be asymmetric: the error of an estimate on a side is the distance of the estimate from the bound
on that side. `r` is the correlation of the estimates, for example of the shares of two groups with
members in the same clusters. Without `r`, the estimates are independent. Zou & Donner (2008),
Construction of confidence limits about effect measures, Stat Med 27:1693, doi:10.1002/sim.3095.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Marks, map_blocks, unique_columns
from fairaudit.stats.distributions import MOST_HITS, invert_tails, normal_critical

Sample: TypeAlias = tuple[Floats, Floats]
"""Shares, and their sizes."""

_ALIKE = 1e-6
"""A difference that is below this share of its terms has lost six digits."""


def mover_difference(
    first: Floats, first_ends: Ends, second: Floats, second_ends: Ends, r: Floats | None = None
) -> Ends:
    """The bounds of `first - second`, for arrays that broadcast.

    Zou & Donner (2008), doi:10.1002/sim.3095. With Wilson intervals, this is Newcombe's method
    (1998); with `r`, it is his method 8 for matched pairs, Stat Med 17:2635.

    >>> ends = mover_difference(np.array(3.0), (np.array(0.0), np.array(6.0)),
    ...                   np.array(2.0), (np.array(-2.0), np.array(5.0)))
    >>> [round(float(end), 6) for end in ends]
    [-3.242641, 6.0]
    """
    (low, high), (other_low, other_high) = first_ends, second_ends
    with np.errstate(all="ignore"):
        value = np.subtract(first, second)
        below = combine_errors(np.subtract(first, low), np.subtract(other_high, second), r)
        above = combine_errors(np.subtract(high, first), np.subtract(second, other_low), r)
        return value - below, value + above


def combine_errors(first: Floats, second: Floats, r: Floats | None) -> Floats:
    """The error of a difference, from the errors of both sides and their correlation `r`."""
    if r is None:
        return np.hypot(first, second)
    squares = first * first - 2 * r * first * second + second * second
    is_open = np.isinf(first) | np.isinf(second)
    return np.asarray(np.where(is_open, np.inf, np.sqrt(np.maximum(squares, 0.0))))


def mover_ratio(
    first: Floats, first_ends: Ends, second: Floats, second_ends: Ends, r: Floats | None = None
) -> Ends:
    """The bounds of `first / second` for values of at least 0, for arrays that broadcast.

    The upper bound is infinite if `second` may be 0. The lower bound is 0 if `first` may be 0. If a
    value or a bound is infinite (for example, the odds of a share of 1), the result is a ratio of
    two bounds. Donner & Zou (2012), Closed-form confidence intervals for functions of the normal
    mean and standard deviation, Stat Methods Med Res 21:347, doi:10.1177/0962280210383082.

    >>> ends = mover_ratio(np.array(4.0), (np.array(3.0), np.array(6.0)),
    ...              np.array(2.0), (np.array(1.0), np.array(3.0)))
    >>> [round(float(end), 6) for end in ends]
    [1.2137, 4.430501]
    """
    (low, high), (other_low, other_high) = first_ends, second_ends
    is_open = np.isinf(first) | np.isinf(second)
    with np.errstate(all="ignore"):
        farthest = np.divide(low, other_high), np.divide(high, other_low)
    lower = mover_lower_ratio(first, low, second, other_high, r)
    upper = mover_upper_ratio(first, high, second, other_low, r)
    return (
        np.where(is_open | np.isinf(other_high), farthest[0], lower),
        np.where(is_open | np.isinf(high), farthest[1], upper),
    )


def mover_odds_ratio(
    first: tuple[Floats, Floats], ends: Ends, second: tuple[Floats, Floats], other_ends: Ends,
    r: Floats | None = None,
) -> Ends:  # fmt: skip
    """The bounds of the odds ratio of two shares, by MOVER on their log odds.

    `first` and `second` are pairs of a share and its size. To keep the log odds finite, ½ is added
    to each count (Gart 1966, Alternative analyses of contingency tables, JRSS B 28:164). The bounds
    are widened if they do not contain the odds ratio of the original counts.

    >>> sides = (np.array(0.3), np.array(40.0)), (np.array(0.6), np.array(80.0))
    >>> ends = mover_odds_ratio(sides[0], wilson(*sides[0]), sides[1], wilson(*sides[1]))
    >>> [round(float(end), 6) for end in ends]
    [0.129356, 0.638924]
    """
    with np.errstate(all="ignore"):
        (middle, reach), (other_middle, other_reach) = (
            (
                np.log((share * size + 0.5) / ((1 - share) * size + 0.5)),
                (np.log(low / (1 - low)), np.log(high / (1 - high))),
            )
            for (share, size), (low, high) in ((first, ends), (second, other_ends))
        )
        bounds = mover_difference(middle, reach, other_middle, other_reach, r)
        plain = first[0] * (1 - second[0]) / ((1 - first[0]) * second[0])
        plain = np.where(np.isnan(plain), np.exp(middle - other_middle), plain)
        return np.minimum(np.exp(bounds[0]), plain), np.maximum(np.exp(bounds[1]), plain)


def mover_lower_ratio(
    first: Floats, low: Floats, second: Floats, other_high: Floats, r: Floats | None = None
) -> Floats:
    """The lower bound of `first / second`."""
    with np.errstate(all="ignore"):
        middle, root = _middle_and_root(first, low, second, other_high, r)
        # The lower bound of the paper, multiplied by its conjugate to avoid a division by zero.
        squares = low * (2 * first - low)
        bottom = np.where(squares == 0, 0.0, squares / (middle + root))
    return np.where(np.isnan(middle), np.nan, bottom)


def mover_upper_ratio(
    first: Floats, high: Floats, second: Floats, other_low: Floats, r: Floats | None = None
) -> Floats:
    """The upper bound of `first / second`."""
    with np.errstate(all="ignore"):
        middle, root = _middle_and_root(first, high, second, other_low, r)
        squares = other_low * (2 * second - other_low)
        top = np.where(squares == 0, np.inf, (middle + root) / squares)
    return np.where(np.isnan(middle) | np.isnan(high), np.nan, top)


def _middle_and_root(
    first: Floats, bound: Floats, second: Floats, end: Floats, r: Floats | None
) -> tuple[Floats, Floats]:
    """The middle and the root in the formula of a bound of `first / second`.

    `bound` is the bound of `first`, and `end` is the bound of `second`. If the argument of the root
    is a difference of two similar numbers, it is calculated as a sum instead.
    """
    product = np.multiply(first, second)
    reach = np.abs(np.subtract(first, bound))
    squares = end * (np.multiply(2, second) - end)
    most = np.square(np.multiply(first, np.subtract(end, second)))
    least = most + np.square(reach) * squares
    own = bound * (np.multiply(2, first) - bound)
    alike = (squares < 0) & (own >= 0) & (least < _ALIKE * most)
    if np.any(alike):
        least = np.where(alike, np.square(product) - own * squares, least)
    if r is not None:
        shift = r * reach * np.abs(np.subtract(end, second))
        product, least = product - shift, least + shift * (shift - 2 * product)
    return product, np.asarray(np.sqrt(np.maximum(least, 0.0)))


def mover_total(values: Floats, ends: Ends, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """The sum Σ w·v over axis 0 and its bounds, with fixed weights.

    `weights` has all axes of `values`, or only the leading axes. Values with weight 0 are ignored,
    even if they are undefined; if all weights are 0, the sum is NaN. A negative weight swaps the
    bounds. Zou, Huang & Zhang (2009), doi:10.1016/j.csda.2008.09.033.

    >>> ends = np.array([0.0, -2.0]), np.array([6.0, 5.0])
    >>> result = mover_total(np.array([3.0, 2.0]), ends, np.array([1.0, -1.0]))
    >>> [round(float(number), 6) for number in result]
    [1.0, -3.242641, 6.0]
    """
    missing = max(np.ndim(values) - np.ndim(weights), 0)
    weights = np.reshape(weights, np.shape(weights) + (1,) * missing)
    with np.errstate(all="ignore"):
        counts = weights != 0
        value = np.where(counts, weights * values, 0.0)
        first_end, second_end = (np.where(counts, weights * end, 0.0) for end in ends)
        low = np.where(weights < 0, second_end, first_end)
        high = np.where(weights < 0, first_end, second_end)
        sums = np.where(counts.any(axis=0), value.sum(axis=0), np.nan)
        return (
            sums,
            sums - np.sqrt(np.square(value - low).sum(axis=0)),
            sums + np.sqrt(np.square(high - value).sum(axis=0)),
        )


def average_interval(shares: Floats, sizes: Floats, weights: Floats, alpha: Alpha = 0.05) -> Ends:
    """The bounds of the average Σ w·p of independent shares over axis 0, with fixed weights.

    Before MOVER is used, all shares with few hits are joined to one share, and all shares with few
    misses to another share. Otherwise, the interval would be too narrow if events are rare in many
    strata: its coverage is .87 if some of 50 strata have one hit each. Values with weight 0 are
    ignored.

    >>> shares, weights = np.array([0.05, 0.0, 0.05, 0.3]), np.array([0.1, 0.1, 0.1, 0.7])
    >>> low, high = average_interval(shares, np.array([20.0, 20, 20, 400]), weights)
    >>> round(float(low), 6), round(float(high), 6)
    (0.188758, 0.260868)
    """
    counts = weights > 0
    p, n = np.where(counts, shares, 0.0), np.where(counts, sizes, 1.0)
    w, total = np.where(counts, weights, 0.0), np.where(counts, weights * shares, 0.0).sum(axis=0)
    down, up = _reach_down(p, n, w, alpha), _reach_down(1 - p, n, w, alpha)
    return total - down, total + up


def _reach_down(p: Floats, n: Floats, w: Floats, alpha: Alpha) -> Floats:
    """The distance of the lower bound of an average from the average.

    Strata with few hits become one share; other strata with few misses become one share of misses.
    A share of weighted hits has the bounds of Fay & Feuer (1997), Confidence intervals for directly
    standardized rates: a method based on the gamma distribution, Stat Med 16:791, but with the beta
    distribution. The size of this share follows from the variance of the observed hits. For the
    upper bound, one hit is added in the stratum where a hit has the largest weight.
    """
    limit = 5 * far_hits(alpha) - _ROUNDING
    rare = p * n < limit
    common = ~rare & ((1 - p) * n < limit)
    with np.errstate(all="ignore"):
        own = np.where(rare | common, 0.0, w * (p - share_interval(p, n, alpha)[0]))
        squares = [np.square(own).sum(axis=0)]
        for few, q, is_upper in ((rare, p, False), (common, 1 - p, True)):
            v = np.where(few, w, 0.0)
            one = (v / n).max(axis=0) * is_upper
            hits, spread = (v * q).sum(axis=0), (v * v * q / n).sum(axis=0)
            size = (hits + one) / (spread + one * one)
            whole = v.sum(axis=0)
            seen = ((hits + one) * size - is_upper) / (whole * size)
            find = clopper_pearson if is_upper else share_interval
            bound = whole * find(seen, whole * size, alpha)[is_upper]
            squares.append(np.where(hits + one > 0, np.square(bound - hits), 0.0))
    return np.asarray(np.sqrt(sum(squares)))


_LEAST_HITS = 13
_SPLITS = 6
_USUAL = 1.959963984540054
_ROUNDING = 1e-9
"""Shares with fewer than `_LEAST_HITS` hits or misses have exact bounds at 95 %."""

_TINY = 1e-300
"""SciPy returns the smallest float in place of a bound below this."""

_CLOSE = 1e-9
"""After a secant step smaller than this, the next step would change no digit."""

_NEAR = 1e-3
"""If two points are at most this far apart, their secant has the slope of the curve."""

_SECANTS = 12
_HALVINGS = 64
"""The maximum numbers of secants and of halvings to find a bound of a ratio."""


def wilson(share: Floats, size: Floats, alpha: Alpha = 0.05) -> Ends:
    """The score interval of a binomial proportion: `share` in samples of `size`.

    The interval of an undefined share is NaN. The bounds are within [0, 1] and contain the share.
    There is no continuity correction. Wilson (1927), Probable inference, the law of succession, and
    statistical inference, JASA 22:209, doi:10.1080/01621459.1927.10502953.

    >>> low, high = wilson(np.array([12 / 40]), np.array([40.0]))
    >>> round(float(low[0]), 6), round(float(high[0]), 6)
    (0.180748, 0.4543)
    """
    share = np.asarray(share, dtype=np.float64)
    z = normal_critical(alpha)
    square = np.square(z)
    with np.errstate(all="ignore"):
        size = np.where(np.greater(size, 0), size, np.nan)
        middle = share + square / (2 * size)
        spread = share * (1 - share) / size + square / (4 * size**2)
        reach = z * np.sqrt(spread)
        shrink = 1 + square / size
        low = np.minimum(np.maximum((middle - reach) / shrink, 0.0), share)
        high = np.maximum(np.minimum((middle + reach) / shrink, 1.0), share)
        always = np.isinf(z)
        if not np.any(always):
            return low, high
        # An alpha of 0 gives the whole range.
        everything = ~np.isnan(share * size) & always
    return np.where(everything, 0.0, low), np.where(everything, 1.0, high)


def _wilson_reach(share: Floats, size: Floats, z: Floats) -> Floats:
    """The distance of the lower bound of Wilson's interval at `z` from the share."""
    half = z / (2 * size)
    spread = np.sqrt(share * (1 - share) / size + np.square(half))
    return z * (spread - (1 - 2 * share) * half) / (1 + 2 * z * half)


SHARE_INTERVAL = "Wilson, exact if counts are small"
GAP_INTERVAL = "Newcombe, exact if counts are small"
RATIO_INTERVAL = "Koopman, exact if counts are small"
ODDS_RATIO_INTERVAL = "MOVER of log odds"
"""The names of the intervals of shares, and of their differences, ratios and odds ratios."""


def far_hits(alpha: Alpha, *, over_pairs: bool = False) -> float | Floats:
    """The number of hits or misses below which `split_tails` extends bounds; 2.6 at 95 %.

    This number is a fifth of the threshold of `mark_few`. With `over_pairs`, the number is only ⅔
    z², because bounds over pairs already allow for the most extreme pair.
    """
    z = normal_critical(alpha)
    if over_pairs:
        return 2 / 3 * np.square(z)
    return _LEAST_HITS / 5 * np.maximum(z / _USUAL, 1.0) ** 5


def mark_few(
    share: Floats, size: Floats, alpha: Alpha = 0.05, *, over_pairs: bool = False
) -> Marks:
    """Marks shares with few hits or misses, whose score interval is too narrow.

    The threshold is 13 hits or misses at 95 %; for an alpha below .05, it grows with z⁵. For 36
    people and a rate of .0975, a score interval covers the rate with a probability of .919. With 13
    or more hits and misses, the probability is at least .930 for every rate and number of people,
    also for 2 to 1,000 simultaneous intervals. With `over_pairs`, the threshold is at least ⅔ z².
    """
    far = far_hits(alpha, over_pairs=over_pairs) * (1 if over_pairs else 5)
    with np.errstate(all="ignore"):
        least = np.maximum(_LEAST_HITS, far) - _ROUNDING
        return np.asarray(np.minimum(share, 1 - share) * size < least)


def share_interval(
    share: Floats, size: Floats, alpha: Alpha = 0.05, *, over_pairs: bool = False
) -> Ends:
    """The interval of a share of people: Wilson's, or Clopper & Pearson's with few hits or misses.

    MOVER uses this interval for comparisons. `over_pairs` has the same meaning as in `mark_few`.

    >>> low, high = share_interval(np.array([0.3, 0.1]), np.array([80.0, 10.0]))
    >>> low.round(6).tolist(), high.round(6).tolist()
    ([0.210646, 0.002529], [0.407682, 0.445016])
    """
    low, high = wilson(share, size, alpha)
    few = np.broadcast_to(mark_few(share, size, alpha, over_pairs=over_pairs), low.shape)
    if not few.any():
        return low, high
    p, n, a = (array[few] for array in np.broadcast_arrays(share, size, alpha, low)[:3])
    low, high = np.array(low), np.array(high)
    low[few], high[few] = clopper_pearson(p, n, a)
    return low, high


def clopper_pearson(share: Floats, size: Floats, alpha: Alpha = 0.05) -> Ends:
    """The exact interval of a binomial proportion; its coverage is at least 1 - alpha.

    It is NaN in the same cases as the interval of `wilson`. Clopper & Pearson (1934), The use of
    confidence or fiducial limits illustrated in the case of the binomial, Biometrika 26:404.

    >>> low, high = clopper_pearson(np.array(0.1), np.array(10.0))
    >>> round(float(low), 6), round(float(high), 6)
    (0.002529, 0.445016)
    """
    share, size, alpha = np.broadcast_arrays(share, size, alpha)
    with np.errstate(all="ignore"):
        size = np.where(np.greater(size, 0) & np.isfinite(size), size, np.nan)
        hits = np.asarray(share * size, dtype=np.float64)
        misses, tail = size - hits, np.divide(alpha, 2)
        # Without hits or without misses, one end is a root of the tail.
        root = np.log(tail) / size
        low = np.where((hits <= 0) | (tail <= 0), 0.0, np.exp(root))
        high = np.where((misses <= 0) | (tail <= 0), 1.0, -np.expm1(root))
        low, high = (np.where(np.isnan(hits), np.nan, end) for end in (low, high))
        mixed = (hits > 0) & (misses > 0) & (tail > 0)
        few = mixed & (np.minimum(hits, misses) <= MOST_HITS)
        if few.any():
            counts, place = unique_columns(hits[few], misses[few], tail[few])
            ends = map_blocks(invert_tails, *counts, width=MOST_HITS)
            low[few], high[few] = ends[:, place]
        many = mixed & ~few
        if many.any():
            from scipy.special import betainccinv, betaincinv

            hits, misses, tail = hits[many], misses[many], tail[many]
            least, most = betaincinv(hits, misses + 1, tail), betainccinv(hits + 1, misses, tail)
            # An end that is too close to 0 or 1 to be computed is 0 or 1.
            low[many] = np.where(least > _TINY, least, 0.0)
            high[many] = np.where(np.isnan(most), 1.0, most)
        least, most = np.minimum(low, share), np.maximum(high, share)
    return np.where(mixed, least, low), np.where(mixed, most, high)


def gap_interval(
    p: Floats, n: Floats, q: Floats, m: Floats, alpha: Alpha = 0.05, r: Floats | None = None
) -> Ends:
    """The bounds of the difference `p - q` of shares of `n` and `m` people, with correlation `r`.

    The interval is a hybrid of two Wilson intervals without continuity correction: Newcombe (1998),
    Interval estimation for the difference between independent proportions, Stat Med 17:873, method
    10. If hits or misses are few, the interval is a hybrid of exact intervals, and `extend_gap`
    extends it.

    >>> low, high = gap_interval(np.array(0.3), np.array(80.0), np.array(0.6), np.array(160.0))
    >>> round(float(low), 6), round(float(high), 6)
    (-0.415197, -0.16739)
    """
    ends = share_interval(p, n, alpha), share_interval(q, m, alpha)
    gap = mover_difference(p, ends[0], q, ends[1], r)
    return extend_gap(gap, [((p, n), 1), ((q, m), -1)], alpha)


def extend_gap(gap: Ends, shares: Sequence[tuple[Sample, float | Floats]], alpha: Alpha) -> Ends:
    """The bounds of a sum of weighted shares, extended by `split_tails`.

    The bounds are extended only if a share has few hits or misses (up to 2 at 95 %). With more hits
    and misses, MOVER's bounds are wider than those of `split_tails`.
    """
    given = [array for sample, weight in shares for array in (*sample, weight)]
    *arrays, level, low, high = np.broadcast_arrays(*given, alpha, *gap)
    few = np.zeros(low.shape, dtype=np.bool_)
    for share, size in zip(arrays[::3], arrays[1::3], strict=True):
        few |= np.minimum(share, 1 - share) * size < far_hits(alpha)
    if not few.any():
        return gap
    parts = [
        weight[few] * split_tails(share[few], size[few], level[few])
        for share, size, weight in zip(*(arrays[at::3] for at in range(3)), strict=True)
    ]
    low, high = np.array(low), np.array(high)
    low[few] = np.fmin(low[few], join_tails([ends.min(axis=0) for ends in parts]))
    high[few] = np.fmax(high[few], -join_tails([-ends.max(axis=0) for ends in parts]))
    return low, high


def split_tails(share: Floats, size: Floats, alpha: Alpha) -> Floats:
    """The bounds of shares with tails of (α/2)^(i/6), as an array [low or high, i = 0 to 5, ...].

    The tail probabilities of two independent shares are multiplied, so α/2 can be split between the
    shares in several ways. The bound of a comparison is the farthest bound of all splits. With few
    hits, the distance of a bound does not grow in proportion to z, as MOVER assumes: simultaneous
    intervals of 100 groups have a coverage of .83. At i = 0, the bound is the share itself.
    """
    share, size, tail = np.broadcast_arrays(share, size, np.divide(alpha, 2))
    tails = [np.minimum(2 * tail ** (i / _SPLITS), 1.0) for i in range(1, _SPLITS)]
    ends = [share_interval(share, size, tail) for tail in tails]
    return np.array([[share, *side] for side in zip(*ends, strict=True)])


def split_pair(first: Sample, second: Sample, alpha: Alpha) -> tuple[Floats, Floats]:
    """The bounds of two shares, each [low or high, i, ...], for tails whose product is α/2."""
    return split_tails(*first, alpha)[:, 1:], split_tails(*second, alpha)[:, :0:-1]


def join_tails(parts: Sequence[Floats]) -> Floats:
    """The smallest sum of one bound from each part [i, ...], for tails whose product is α/2."""
    least = parts[0]
    for part in parts[1:]:
        least = np.stack([
            np.min([least[i] + part[k - i] for i in range(k + 1)
                    if i < len(least) and k - i < len(part)], axis=0)
            for k in range(_SPLITS + 1)
        ])  # fmt: skip
    return np.asarray(least[-1])


def ratio_interval(p: Floats, n: Floats, q: Floats, m: Floats, alpha: Alpha = 0.05) -> Ends:
    """The bounds of the ratio `p / q`: Koopman's, or MOVER's if a side has few hits or misses.

    `split_tails` extends MOVER's bounds. Without this extension, their coverage is .82 if a side is
    one person with a hit.

    >>> sides = (np.array([0.3, 0.1]), np.array([80.0, 10.0]), np.array(0.6), np.array(160.0))
    >>> [end.round(6).tolist() for end in ratio_interval(*sides)]
    [[0.344206, 0.004213], [0.699805, 0.74977]]
    """
    few = mark_few(p, n, alpha) | mark_few(q, m, alpha)
    if few.all():
        ends = mover_ratio(p, share_interval(p, n, alpha), q, share_interval(q, m, alpha))
        with np.errstate(all="ignore"):
            own, other = split_pair((p, n), (q, m), alpha)
            low, high = (own[0] / other[1]).min(axis=0), (own[1] / other[0]).max(axis=0)
        return np.fmin(ends[0], low), np.fmax(ends[1], high)
    ends = koopman(p, n, q, m, alpha)
    if not few.any():
        return ends
    p, n, q, m, a = (side[few] for side in np.broadcast_arrays(p, n, q, m, alpha, ends[0])[:5])
    low, high = map(np.array, ends)
    low[few], high[few] = ratio_interval(p, n, q, m, a)
    return low, high


def koopman(p: Floats, n: Floats, q: Floats, m: Floats, alpha: Alpha = 0.05) -> Ends:
    """The bounds of the ratio `p / q` of independent proportions by the χ² score test.

    The lower bound is 0 if p is 0. The upper bound is infinite if q is 0. If both are 0, the
    bounds are 0 and infinity. Koopman (1984), Confidence intervals for the ratio of two binomial
    proportions, Biometrics 40:513.

    >>> low, high = koopman(np.array(0.3), np.array(40.0), np.array(0.6), np.array(80.0))
    >>> round(float(low), 6), round(float(high), 6)
    (0.293345, 0.793865)
    """
    return koopman_low(p, n, q, m, alpha), koopman_high(p, n, q, m, alpha)


def koopman_low(p: Floats, n: Floats, q: Floats, m: Floats, alpha: Alpha = 0.05) -> Floats:
    """Koopman's lower bound of the ratio `p / q`."""
    with np.errstate(divide="ignore"):
        return 1 / koopman_high(q, m, p, n, alpha)


def koopman_high(p: Floats, n: Floats, q: Floats, m: Floats, alpha: Alpha = 0.05) -> Floats:
    """Koopman's upper bound of the ratio `p / q`: the ratio at which the score statistic is -z."""
    z, known = normal_critical(alpha), is_known(p, n, q, m)
    solved = known & np.isfinite(z) & np.greater(q, 0)
    zeros = np.zeros(solved.shape)
    high = np.asarray(np.where(known, np.inf, np.nan) + zeros)
    with np.errstate(all="ignore"):
        if solved.any():
            arrays = ((zeros + array)[solved] for array in (p, n, q, m, z))
            high[solved] = np.exp(map_blocks(_root, *arrays, width=4))
        return np.fmax(high, np.where(known, np.divide(p, q), np.nan))


def _root(p: Floats, n: Floats, q: Floats, m: Floats, z: Floats) -> Floats:
    """The logarithm of the upper bound, found by secants, or by halving if secants fail."""
    x, y = p * n, q * m
    data = np.stack([p, n, q, m, z, n + y, x + m, n - x, m - y, 2 * (x + y)])
    start = mover_upper_ratio(p, p + _wilson_reach(1 - p, n, z), q, q - _wilson_reach(q, m, z))
    start = np.log(np.where(np.isfinite(start) & (start > 0), start, 1.0))
    root = np.full_like(p, np.nan)
    open_pairs = np.arange(p.size)
    before, now = start + 0.05, start
    was, value = _excess(before, data), _excess(now, data)
    for _ in range(_SECANTS):
        gap = now - before
        step = -value * gap / (value - was)
        step[~np.isfinite(step)] = 0.0
        step = np.minimum(np.maximum(step, -2.0), 2.0)
        before, was, now = now, value, now + step
        # The curve has a kink where both shares are 1: a small step ends the search only between
        # near points.
        done = (np.abs(step) < _CLOSE) & (np.abs(gap) < _NEAR)
        if done.any():
            root[open_pairs[done]] = now[done]
            left = ~done
            open_pairs, data = open_pairs[left], data[:, left]
            before, was, now = before[left], was[left], now[left]
            if not open_pairs.size:
                return root
        value = _excess(now, data)
    low, high = np.maximum(np.log(data[0] / data[2]), -745.0), np.full(open_pairs.size, 709.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        under = _excess(middle, data) > 0
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    root[open_pairs] = (low + high) / 2
    return root


def _excess(log_ratio: Floats, data: Floats) -> Floats:
    """The score statistic at a ratio, plus z: this sum falls as the ratio grows, to 0 at the bound.

    `data` contains p, n, q, m and z of each pair, and the terms that `_root` computes from them.
    """
    p, n, q, m, z, reached, second, missed, other_missed, hits = data
    ratio = np.exp(log_ratio)
    first = ratio * reached
    # b² - 4ac of the restricted estimate, as a sum without cancellation.
    root = np.sqrt(np.square(first - second) + 4 * ratio * missed * other_missed)
    under = np.minimum(hits / (first + second + root), 1.0)
    over = np.minimum(ratio * under, 1.0)
    variance = over * (1 - over) / n + ratio * ratio * under * (1 - under) / m
    return np.asarray((p - ratio * q) / np.sqrt(variance) + z)


def katz(p: Floats, n: Floats, q: Floats, m: Floats, alpha: Alpha = 0.05) -> Ends:
    """The bounds of the ratio `p / q` on the log scale; (0, infinity) if either share is 0.

    If both shares are 1, the interval has no width, but the interval of `koopman` has one. Katz,
    Baptista, Azen & Pike (1978), Obtaining confidence intervals for the risk ratio in cohort
    studies, Biometrics 34:469.

    >>> low, high = katz(np.array(0.3), np.array(40.0), np.array(0.6), np.array(80.0))
    >>> round(float(low), 4), round(float(high), 4)
    (0.3014, 0.8294)
    """
    with np.errstate(all="ignore"):
        reach = normal_critical(alpha) * np.sqrt(
            np.subtract(1, p) / np.multiply(p, n) + np.subtract(1, q) / np.multiply(q, m)
        )
        plain = np.divide(p, q)
        low, high = plain * np.exp(-reach), plain * np.exp(reach)
        nobody = np.multiply(p, q) == 0
    known = is_known(p, n, q, m)
    low, high = np.where(nobody, 0.0, low), np.where(nobody, np.inf, high)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def is_known(p: Floats, n: Floats, q: Floats, m: Floats) -> Marks:
    """Marks pairs in which both shares are known and both sizes are above 0."""
    sizes = np.greater(n, 0) & np.greater(m, 0)
    return np.asarray(sizes & ~np.isnan(p) & ~np.isnan(q))
