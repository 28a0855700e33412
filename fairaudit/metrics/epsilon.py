"""ε computed: largest log-ratio, its interval, credible region Θ; default pseudo-count.

Foulds & Pan, An Intersectional Definition of Fairness, arXiv:1807.08362. ε is taken over every
outcome and every pair of groups, so it is the largest spread of ln P(y | group) over outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.errors import InvalidArgument
from fairaudit.cube import Floats, Ints, Marks
from fairaudit.metrics.eligibility import are_comparable, find_extreme, find_extremes
from fairaudit.metrics.table_metrics import TableValue
from fairaudit.metrics.terms import Parameters
from fairaudit.stats import multiplicity, proportions

JEFFREYS = 0.5
_ROUNDING = 1e-13
"""A smaller ε is rounding of shares that are equal."""


def epsilon(table: ArrayLike, smoothing: float = 0.0) -> float:
    """ε of a plain table, groups in rows and outcomes in columns: probabilities or counts.

    `smoothing` is added to each outcome (Eq. 7). Empty groups and outcomes without people are
    ignored. With fewer than two groups ε is undefined (NaN). Raises `UsageError`, which is a
    `ValueError` here, for any other table.

    >>> round(epsilon([[0.3085, 0.6915], [0.9332, 0.0668]]), 3)
    2.337
    """
    what = (
        "epsilon needs a table of groups by outcomes without negative entries, and a "
        "smoothing that is not negative"
    )
    try:
        counts, smoothing = np.asarray(table, dtype=np.float64), float(smoothing)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(what, "such as [[30, 70], [40, 60]]") from error
    sound = np.isfinite(counts).all() and (counts >= 0).all() and 0 <= smoothing < np.inf
    if counts.ndim != 2 or not sound:
        raise InvalidArgument(what, "such as [[30, 70], [40, 60]]")
    n = counts.sum(axis=1)
    values = compute_epsilon(
        counts.T[None], n[None], n[None] > 0, smoothing, [str(y) for y in range(counts.shape[1])]
    )
    return float(values.value[0])


def compute_epsilon(
    counts: Floats,
    n: Ints | Floats,
    takes_part: Marks,
    smoothing: Floats | float,
    classes: Sequence[str],
) -> TableValue:
    """The largest spread over outcomes of ln P(y | group); counts are [Z, Y, G], n is [Z, G].

    `smoothing` is added to the counts: one number, or [Z, Y, 1].
    """
    weights = counts + smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(weights / weights.sum(axis=1, keepdims=True))
    strata, _, _ = counts.shape
    enough = are_comparable(takes_part, counts.sum(axis=1))
    best = np.full(strata, np.nan)
    outcome, high, low = (np.full(strata, -1, dtype=np.int64) for _ in range(3))
    strata_index = np.arange(strata)
    for y in range(len(classes)):
        top, bottom = find_extremes(logs[:, y], takes_part, n)
        # An outcome that no group has (a probability of 0 everywhere) is not in the range.
        occurs = enough & np.isfinite(logs[strata_index, y, top])
        with np.errstate(invalid="ignore"):
            spread = logs[strata_index, y, top] - logs[strata_index, y, bottom]
        spread = np.where(spread < _ROUNDING, 0.0, spread)
        better = occurs & (np.isnan(best) | (spread > best))
        best[better], outcome[better] = spread[better], y
        high[better], low[better] = top[better], bottom[better]
    return TableValue(
        best, outcome, high, low, takes_part, n.astype(np.int64), counts, tuple(classes)
    )


def find_overall_shares(counts: Floats | Ints, takes_part: Marks) -> Floats:
    """The shares of the outcomes in all groups that take part, [Z, Y, 1], of counts [Z, Y, G]."""
    overall = np.where(takes_part[:, None], counts, 0).sum(axis=2, keepdims=True, dtype=np.float64)
    return np.asarray(overall / np.maximum(overall.sum(axis=1, keepdims=True), 1e-300))


def credible_ends(counts: Floats, prior: float, groups: Ints, alpha: float) -> Ends:
    """The ends of Θ, the box that holds all groups' outcome probabilities with 1 - `alpha`.

    `counts` are [Z, Y, G]. The posteriors of the `groups` [Z] are independent, so each interval
    holds with (1 - alpha)^(1 / groups). Within a group the marginals of a Dirichlet depend on each
    other: with more than two outcomes the tails are added (Bonferroni), for any dependence.
    """
    from scipy.special import betaincinv  # noqa: PLC0415  # only who asks for it pays

    classes = counts.shape[1]
    a = counts + prior
    b = a.sum(axis=1, keepdims=True) - a
    tail = 1 - (1 - alpha) ** (1 / np.maximum(groups, 1))[:, None, None]
    if classes != 2:
        tail = tail / classes
        return betaincinv(a, b, tail / 2), betaincinv(a, b, 1 - tail / 2)
    # The second outcome's ends are what the first one's leave.
    lower, upper = (betaincinv(a[:, :1], b[:, :1], p) for p in (tail / 2, 1 - tail / 2))
    return np.append(lower, 1 - upper, axis=1), np.append(upper, 1 - lower, axis=1)


def candidate_pairs(upper: Floats, lower: Floats, among: Marks) -> list[tuple[Ints, Ints]]:
    """Two candidates for the widest pair of different groups, for each of the strata.

    If the same group has the highest and the lowest end, one of them is from another group.
    """
    n = np.zeros_like(upper)
    top = find_extreme(upper, among, n, highest=True)
    bottom = find_extreme(lower, among, n, highest=False)
    return [
        (top, find_extreme(lower, among, n, highest=False, apart_from=top)),
        (find_extreme(upper, among, n, highest=True, apart_from=bottom), bottom),
    ]


def widest_log_ratios(low: Floats, high: Floats, among: Marks) -> tuple[float, float]:
    """The ends of the largest log-ratio over outcomes and pairs, of ends [Y, G] that all hold.

    The lower end is the largest distance of a group's lower end above the upper end of another
    group, and at least 0.
    """
    widest = least = 0.0
    for lower, upper in zip(low, high, strict=True):
        least = max(least, float(lower[among].max() - upper[among].min()))
        for top, bottom in candidate_pairs(upper[None], lower[None], among[None]):
            widest = max(widest, float(upper[top[0]] - lower[bottom[0]]))
    return least, widest


def interval_of_epsilon(
    epsilon_value: TableValue, alpha: Alpha, parts: int, parameters: Parameters
) -> Ends:
    """The ends of an ε, [Z]: of the log-ratios of all pairs and outcomes together.

    The intervals of several `parts` hold together. Pseudo-counts shrink every share, and the ends
    of a smoothed ε use the shrunken ends of the shares.
    """
    sizes = epsilon_value.counts.sum(axis=1)
    assert epsilon_value.overall is not None
    smoothing = parameters.pseudo_counts(epsilon_value.overall)
    with np.errstate(invalid="ignore"):
        shares = epsilon_value.counts / sizes[:, None]
    result = np.full((2, len(sizes)), np.nan)
    classes = epsilon_value.counts.shape[1]
    for z, among in enumerate(epsilon_value.takes_part):
        count = max(parts * multiplicity.count_pairs(int(among.sum())) * classes, 1)
        level = float(np.broadcast_to(alpha, len(sizes))[z])
        pair_level = float(multiplicity.sidak_level(level, count))
        single_pair = bool(among.sum() == 2 and parts == 1 and classes <= 2)
        # The ratio of an outcome without people is unknown.
        if smoothing.any():
            total = sizes[z] + smoothing[z].sum()
            ends = [
                multiplicity.smallest_smoothed_ratio(
                    share, sizes[z], among, pair_level, (pseudo / total, sizes[z] / total)
                )
                for share, pseudo in zip(shares[z], smoothing[z], strict=True)
            ]
        else:
            bounds = proportions.tail_bounds(shares[z], sizes[z], pair_level)
            ends = multiplicity.smallest_ratios(
                shares[z], sizes[z], among, pair_level, bounds, alone=single_pair
            )
        if among.any() and ends:
            # ε is the log of the largest ratio, which is the inverse of the smallest.
            with np.errstate(divide="ignore"):
                lows, highs = (-np.log(np.array(side)) for side in zip(*ends, strict=True))
            result[0, z], result[1, z] = max(0.0, highs.max()), lows.max()
    return result[0], result[1]
