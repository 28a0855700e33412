"""Averages over strata on arrays: the weights of each rule (`uniform`, …); clustered variance.

Weights count the people in the denominator of the rate (for a false positive rate: people with a
negative label). The two sides are a group and its reference. Only strata where both sides have
people have weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Marks
from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Group, GroupTable
from fairaudit.metrics.clustered_variance import (
    AveragedShare,
    ClusteredShare,
    PooledClusters,
    find_exchangeable_size,
    has_few_clusters,
    read_entries,
    read_sample_strata,
)
from fairaudit.metrics.confusion_counts import GroupCounts
from fairaudit.metrics.eligibility import mark_comparable_strata
from fairaudit.metrics.formulas import Rate
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST, GroupValues, count_effective_of_share
from fairaudit.metrics.terms import Average, Weights
from fairaudit.stats import proportions
from fairaudit.stats.sample_sizes import small_sample_factor


class StratifiedAverages(Frozen, eq=False):
    """The averages [1, G] of a group and its reference, and the weights [Z, G] of the strata.

    `support` [Z, G] marks the strata where both sides have people. `left_out` [Z, G] is the share
    of the weight that each unsupported stratum would have. `off_support` [1, G] is the share of
    people (of both sides) who are in unsupported strata.
    """

    first: Floats
    second: Floats
    first_weights: Floats
    second_weights: Floats
    left_out: Floats
    support: Marks
    off_support: Floats


def average_strata(
    average: Average,
    table: GroupTable,
    values: tuple[Floats, Floats],
    people: tuple[Floats, Floats],
    comparable: Marks,
    everyone: tuple[Floats, Floats] | None = None,
) -> StratifiedAverages:
    """The averages of the values [Z, G] of both sides; `people` [Z, G] are the denominators.

    Only strata that `comparable` [Z] marks are compared. Some weights count people with any label:
    `everyone` contains these people, for both sides. If `everyone` is None, `people` is used.
    """
    (first_values, second_values), (n, m) = values, people
    known = table.known_strata[:, None]
    weights = _raw_weights(average, table.strata, people, everyone or people)
    first, second = (weight * known for weight in weights)
    support = (
        (n > 0) & (m > 0) & ~np.isnan(first_values) & ~np.isnan(second_values) & comparable[:, None]
    )
    both_sides = (n + m) * known
    off = (both_sides * ~support).sum(axis=0, keepdims=True) / both_sides.sum(axis=0)
    left_out = np.where(support, 0.0, first / first.sum(axis=0))
    first, second = first * support, second * support
    if average.weights is Weights.MIDDLE:
        # The people of a stratum are divided by the people of all supported strata.
        supported = (n * support, m * support)
        first = sum(side / side.sum(axis=0) for side in supported) / 2
        second = first
    first, second = first / first.sum(axis=0), second / second.sum(axis=0)
    return StratifiedAverages(
        _weighed(first, first_values),
        _weighed(second, second_values),
        first,
        second,
        np.nan_to_num(left_out),
        support,
        np.nan_to_num(off),
    )


def average_exactly(
    average: Average,
    strata: tuple[Group, ...],
    values: Sequence[tuple[Fraction | None, Fraction | None]],
    people: Sequence[tuple[int, int]],
    known: Sequence[bool],
    everyone: Sequence[tuple[int, int]] | None = None,
) -> tuple[Fraction, Fraction] | None:
    """The averages of a group and its reference as fractions; None if they share no stratum."""
    counted = [
        z for z in range(len(values)) if known[z] and all(people[z]) and None not in values[z]
    ]

    def sides(pairs: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
        """The numbers of both sides in the counted strata, as two arrays [Z, 1] of fractions."""
        column = np.array([[*map(Fraction, pairs[z])] for z in counted], dtype=object)
        return column[:, :1], column[:, 1:]

    if not counted:
        return None
    (n, m), rates = sides(people), sides(values)
    in_strata, everybody = [strata[z] for z in counted], sides(everyone or people)
    weights = _raw_weights(average, in_strata, (n, m), everybody)
    if average.weights is Weights.MIDDLE:
        weights = (n / n.sum() + m / m.sum(),) * 2
    totals = [weight.sum() for weight in weights]
    if not all(totals):
        return None
    first, second = (
        (weight * rate).sum() / total
        for weight, rate, total in zip(weights, rates, totals, strict=True)
    )
    return first, second


def _raw_weights(
    average: Average, strata: Sequence[Group], people: tuple[Any, Any], everyone: tuple[Any, Any]
) -> tuple[Any, Any]:
    """The weights [Z, G] of both sides before division by their sum, as floats or fractions."""
    n, m = people
    if average.weights is Weights.OWN:
        return n, m
    if average.weights is Weights.LEVELS:
        levels = np.array(average.of_strata(strata), dtype=n.dtype)
        return (np.broadcast_to(levels[:, None], n.shape),) * 2
    by_rule = {
        Weights.UNIFORM: np.ones_like(n),
        Weights.GROUP: n,
        Weights.REFERENCE: m,
        Weights.GROUP_PEOPLE: everyone[0],
        Weights.REFERENCE_PEOPLE: everyone[1],
        Weights.OVERLAP: n * m / np.where(n + m > 0, n + m, 1),
    }
    return (by_rule.get(average.weights, n + m),) * 2


def _weighed(weights: Floats, values: Floats) -> Floats:
    """Σ weight · value, [1, G]; a stratum with weight 0 is ignored, even if its value is NaN."""
    total = np.where(weights > 0, weights * values, 0.0).sum(axis=0, keepdims=True)
    return np.where(np.isnan(weights.sum(axis=0, keepdims=True)), np.nan, total)


def values_of_average(
    values: GroupValues, averages: StratifiedAverages, *, second: bool = False
) -> GroupValues:
    """The averages [1, G] of the first or `second` side as group values.

    Intervals treat the weights as fixed: only the values in the strata vary.
    """
    value, weights = averages.first, averages.first_weights
    if second:
        value, weights = averages.second, averages.second_weights
    n = np.asarray((values.n * averages.support * (weights != 0)).sum(axis=0, keepdims=True))
    # A cluster may be in several strata; the rates of these strata are then correlated.
    by_clusters = values.method.endswith(CLUSTER_ROBUST)

    def average_ends(alpha: Alpha) -> Ends:
        assert values.ends is not None
        weighs = np.where(weights > 0, weights, 0.0)
        if values.means:
            # A mean of two shares of all strata is an average of shares, too.
            shares, sizes = np.concatenate(values.means, axis=1)
            each = np.concatenate([weighs / len(values.means)] * len(values.means))
            low, high = proportions.average_interval(shares, sizes, each, alpha)
        elif values.average_ends is not None:
            low, high = values.average_ends(weighs, alpha)
        else:
            ends = values.ends(alpha)
            _, low, high = proportions.mover_total(values.value, ends, weighs)
            if values.metric.bias:  # errors with the same sign do not cancel each other
                reach = [weighs * abs(end - values.value) for end in ends]
                part = np.minimum(values.metric.bias / np.sqrt(values.effective_n), 1.0)
                down, up = (np.nansum(side * part, axis=0) for side in reach)
                least, most = (np.nansum(side, axis=0) for side in reach)
                low, high = np.fmax(low - down, value - least), np.fmin(high + up, value + most)
        return np.where(np.isnan(value), np.nan, low), np.where(np.isnan(value), np.nan, high)

    return GroupValues(
        values.metric,
        value,
        n,
        n.astype(np.float64),
        strata=replace(values, value=np.where(averages.support, values.value, np.nan)),
        ends=None if by_clusters or values.ends is None else average_ends,
        method=CLUSTER_ROBUST if by_clusters else "MOVER",
    )


def settled_strata(counts: GroupCounts) -> Marks:
    """Marks strata, [Z, G], in which the disparity of a group is 0 for every possible decision.

    The disparity is the share of the group among rejected people minus its share among selected
    people. It is 1 - 1 for a group that is alone in the stratum, and 0 - 0 for an absent group. If
    no one is rejected or no one is selected, the disparity is undefined.
    """
    mass = counts.weighted
    known = (mass.all_rejected > 0) & (mass.all_selected > 0)
    alone = (mass.rejected == mass.all_rejected) & (mass.selected == mass.all_selected)
    return np.asarray(known & (alone | (mass.rejected + mass.selected == 0)))


def exclude_lone_strata(
    averages: StratifiedAverages, table: GroupTable, people: Floats
) -> StratifiedAverages:
    """Adds the people of strata with only one group to `off_support`.

    A stratum with only one group has weight, but its people cannot differ from another group. If
    all strata have only one group, the averages are NaN: otherwise, a check would pass for groups
    that were never compared.
    """
    known, compared = table.known_strata[:, None], mark_comparable_strata(table)[:, None]
    people_there = people * known
    counted = averages.support & compared
    off = (people_there * ~counted).sum(axis=0, keepdims=True) / people_there.sum(axis=0)
    none = ~counted.any(axis=0, keepdims=True)
    return replace(
        averages,
        first=np.where(none, np.nan, averages.first),
        second=np.where(none, np.nan, averages.second),
        support=averages.support & ~none,
        off_support=np.nan_to_num(off),
    )


def vary_with_clusters(
    both_values: tuple[GroupValues, GroupValues],
    both_counts: tuple[GroupCounts, GroupCounts],
    in_strata: tuple[GroupValues, GroupValues],
    averages: StratifiedAverages,
) -> tuple[GroupValues, GroupValues]:
    """Adds the variance between clusters to both averages if the metric is a share of people."""
    metric = in_strata[0].metric
    first, second = (counts.clusters for counts in both_counts)
    if first is None or second is None or not isinstance(metric, Rate) or not metric.of_group:
        return both_values
    weights = (averages.first_weights, averages.second_weights)
    sides = [
        Side(
            clusters,
            values.value,
            values.weighted_n,
            weight,
            count_effective_of_share(counts, metric.over, metric.under),
        )
        for clusters, values, weight, counts in zip(
            (first, second), in_strata, weights, both_counts, strict=True
        )
    ]
    shares = average_clustered_shares(metric.over, metric.under, (sides[0], sides[1]))
    first_average, second_average = (
        replace(
            values,
            effective_n=share.effective_n,
            by_clusters=share,
            ends=partial(proportions.share_interval, values.value, share.effective_n),
            method=f"{proportions.SHARE_INTERVAL}, {CLUSTER_ROBUST}",
        )
        for values, share in zip(both_values, shares, strict=True)
    )
    return first_average, second_average


class Side(Frozen, eq=False):
    """One side of a comparison in strata: its clusters, and arrays [Z, G].

    The arrays are the share (`value`), the mass of its denominator (`weighted_n`), the weight of
    the stratum, and the effective size of the share if clusters are ignored.
    """

    clusters: PooledClusters
    value: Floats
    weighted_n: Floats
    weight: Floats
    effective_n: Floats


def average_clustered_shares(
    over: Sequence[str], under: Sequence[str], sides: tuple[Side, Side]
) -> tuple[AveragedShare, AveragedShare]:
    """The effective size of both averages and their correlation, from totals of clusters.

    The residual of a cluster is the weighted sum of its residuals in all strata. The effective size
    of a side with a single cluster in a stratum is NaN, because its variance is unknown.
    """
    from scipy import sparse  # noqa: PLC0415  # SciPy is only needed for clusters

    table = sides[0].clusters.table
    entries, (strata, _, _, groups) = read_entries(table), table.shape
    known, cluster = np.unique(entries.cluster, return_inverse=True)
    join = sparse.csr_matrix((np.ones(len(cluster)), (cluster, np.arange(len(cluster)))))
    fold = sparse.vstack([sparse.identity(groups)] * strata)

    def total(by_row: Any, factors: Floats) -> Any:  # noqa: ANN401  # a sparse matrix
        return (join @ by_row @ sparse.diags(factors.reshape(-1)) @ fold).tocsr()

    of_sample = read_sample_strata(table.clusters, known)
    residuals, shares, known_variance, sizes_of_rows = [], [], [], []
    for side in sides:
        clusters, counted = side.clusters, side.weight > 0
        share = ClusteredShare(
            clusters, clusters.slots(over), clusters.slots(under), side.value, *[side.value] * 2
        )
        trials = clusters.sum_by_row(share.under)
        people, squared = (
            np.asarray(sums.sum(axis=0)).reshape(strata, groups)
            for sums in (trials, trials.power(2))
        )
        in_stratum = people**2 / squared
        several = counted & (in_stratum != 1)
        weight = np.where(counted, side.weight / side.weighted_n, 0.0)
        few = np.where(several, np.sqrt(in_stratum / (in_stratum - 1)), 0.0)
        residuals.append(total(share.residuals, weight * few))
        shares.append(total(trials, weight))
        alike = clusters.sum_by_row(share.over), trials, side.value, side.effective_n
        of_pairs = find_exchangeable_size(*alike) if of_sample.members is None else np.nan
        sizes_of_rows.append(np.fmin(side.effective_n, of_pairs))
        known_variance.append(np.where((counted & ~several).any(axis=0), np.nan, 1.0))
    squares = [
        of_sample.sum_products(residual, residual) * factor
        for residual, factor in zip(residuals, known_variance, strict=True)
    ]
    sizes, common = [], of_sample.sum_products(residuals[0], residuals[1])
    r = np.clip(np.nan_to_num(common / np.sqrt(squares[0] * squares[1])), -1.0, 1.0)
    for side, own, by_cluster, n in zip(sides, squares, shares, sizes_of_rows, strict=True):
        value = np.where(side.weight > 0, side.weight * side.value, 0.0).sum(axis=0)
        spread = value * (1 - value)
        of_rows = side.weight**2 * side.value * (1 - side.value) / n
        variance = np.maximum(own, np.where(side.weight > 0, of_rows, 0.0).sum(axis=0))
        r = np.where(r > 0, r * np.sqrt(own / variance), r)
        clusters = np.asarray(by_cluster.sum(axis=0)) ** 2 / by_cluster.power(2).sum(axis=0)
        df = of_sample.degrees_of_freedom(by_cluster)
        size = np.where(spread > 0, spread / variance, np.asarray(clusters).reshape(-1))
        size = size * small_sample_factor(df)
        sizes.append(np.where(has_few_clusters(df + 1), np.nan, size)[None])
    r = np.nan_to_num(r)[None]
    return AveragedShare(sizes[0], r), AveragedShare(sizes[1], r)
