"""Intervals and tests of shares in clusters (`cluster:`), if their variance is known.

A share has an effective sample size because of its clusters, as under survey weights. Two shares of
the same clusters are correlated: the interval and the test of a pair use the correlation. For
several pairs only negative correlations are used, which make differences less certain.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Ints, Marks
from fairaudit.base.frozen import replace
from fairaudit.evidence.records import NO_CLUSTER_VARIANCE, NoInterval
from fairaudit.metrics import (
    NO_PARAMETERS,
    Comparison,
    Disparity,
    Evaluation,
    GroupMetric,
    GroupValues,
    Mean,
    Rate,
    build_disparity,
    evaluate,
)
from fairaudit.metrics.comparisons import GAP
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST
from fairaudit.metrics.pair_intervals import Interval, Scale, arcsine
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.stats import contingency, distributions, multiplicity, proportions

Pair: TypeAlias = tuple[GroupValues, GroupValues]


def is_clustered(evaluation: Evaluation) -> bool:
    """Whether the rows of an evaluation come in clusters."""
    return any(
        table is not None and table.clusters is not None
        for table in (evaluation.table, evaluation.strata)
    )


def is_clustered_pair(evaluation: Evaluation) -> bool:
    """Whether rows come in clusters, and only two groups are compared."""
    return is_clustered(evaluation) and bool((evaluation.takes_part.sum(axis=1) == 2).all())


def explain_unknown_variance(evaluation: Evaluation) -> str | None:
    """Why the variance of a value between clusters is unknown; None if it is known."""
    if not is_clustered(evaluation):
        return None
    metric = evaluation.metric
    has_variances = evaluation.averaged is None or all(
        values is not None and values.by_clusters is not None
        for values in (evaluation.group_values, evaluation.reference_values)
    )
    if evaluation.subtracts or not has_variances:
        return NO_CLUSTER_VARIANCE
    if isinstance(metric, GroupMetric):
        return None if isinstance(metric, Rate | Mean) else NO_CLUSTER_VARIANCE
    if not isinstance(metric, Disparity):
        return None if metric.varies_by_cluster else NO_CLUSTER_VARIANCE
    known = all(
        isinstance(quantity, Rate) and comparison.scale is not None
        for quantity, comparison in metric.parts
    )
    return (
        None if known and metric.over_groups is None and not metric.fitted else NO_CLUSTER_VARIANCE
    )


def has_few_clusters(evaluation: Evaluation) -> Marks:
    """Whether a group of a spread has too few clusters, [Z, 1].

    For other values, the effective size of each share is undefined then.
    """
    few = np.zeros((len(evaluation.value), 1), dtype=np.bool_)
    for leaf in evaluation.leaves:
        if leaf.spread and leaf.group_values is not None:
            lacking = (
                leaf.takes_part
                & np.isnan(leaf.group_values.effective_n)
                & (leaf.group_values.n > 0)
            )
            few |= lacking.any(axis=1, keepdims=True)
    return few


def find_pair_interval(comparison: Comparison, pair: Pair, alpha: Alpha) -> Interval:
    """The interval of two compared shares, with the correlation over their clusters."""
    first, second = pair
    r = _find_correlation(first, second)
    if r is None or first.ends is None or second.ends is None:
        raise NoInterval(NO_CLUSTER_VARIANCE)
    first_ends, second_ends = first.ends(alpha), second.ends(alpha)
    sides = (first.value, first_ends, second.value, second_ends)
    shares = (first.value, first.effective_n, second.value, second.effective_n)
    is_of_shares = first.binomial and second.binomial
    match comparison.scale:
        case Scale.DIFFERENCE:
            name = "Newcombe" if is_of_shares else "MOVER"
            interval = _name_interval(proportions.mover_difference(*sides, r), name)
        case Scale.RATIO if first.odds is not None and second.odds is not None:
            odds = (first.odds, first.effective_n, second.odds, second.effective_n)
            interval = _name_interval(proportions.woolf(*odds, alpha, r), "Woolf, Gart's ½")
        case Scale.RATIO:
            interval = _name_interval(proportions.mover_ratio(*sides, r), "MOVER")
            if is_of_shares and not r.all():  # shared clusters: MOVER with the correlation
                both = zip(proportions.koopman(*shares, alpha), interval[:2], strict=True)
                low, high = (np.where(r == 0, *ends) for ends in both)
                interval = _name_interval((low, high), "MOVER" if r.any() else "Koopman")
        case Scale.ODDS if is_of_shares:
            interval = _name_interval(proportions.woolf(*shares, alpha, r), "Woolf, Gart's ½")
        case Scale.ARCSINE:
            scaled = [
                (arcsine(value), (arcsine(ends[0]), arcsine(ends[1])))
                for value, ends in ((first.value, first_ends), (second.value, second_ends))
            ]
            interval = _name_interval(
                proportions.mover_difference(*scaled[0], *scaled[1], r), "MOVER"
            )
        case _:
            raise NoInterval(NO_CLUSTER_VARIANCE)
    return comparison.rescale(interval)


def _find_correlation(first: GroupValues, second: GroupValues) -> Floats | None:
    """The correlation of two shares, or of two averages; None if clusters do not determine it."""
    if first.by_clusters is not None and second.by_clusters is not None:
        return first.by_clusters.with_other
    if first.clustered is not None and second.clustered is not None:
        return first.clustered.correlation(second.clustered)
    return None


def _name_interval(ends: Ends, name: str) -> Interval:
    return Interval(*ends, f"{name}, {CLUSTER_ROBUST}")


def run_pair_z_test(first: GroupValues, second: GroupValues) -> Floats:
    """The p-values of equal shares: z, with the effective sizes and the correlation of both."""
    r = _find_correlation(first, second)
    if r is None:
        return np.full_like(first.value, np.nan)
    shares = (first.value, first.effective_n, second.value, second.effective_n)
    return distributions.normal_two_sided(contingency.find_z(*shares, r=r))


def adjust_for_pairs(values: GroupValues, among: Marks) -> GroupValues:
    """The values with effective sizes for which each pair of groups may be treated as independent.

    var(p - q) is at most (1 - r) times the variance of independent shares, for a correlation r
    below 0.
    """
    if values.clustered is None:
        return values
    size = values.effective_n / (1 - values.clustered.least_correlation(among))
    return _with_size(values, values.value, size)


def _with_size(values: GroupValues, value: Floats, size: Floats) -> GroupValues:
    """Values of shares in clusters, with other sizes, and so with other intervals."""
    return replace(
        values,
        value=value,
        effective_n=size,
        ends=lambda alpha: proportions.share_interval(value, size, alpha),
        estimates={},
        intervals={},
    )


def find_spread_pair(evaluation: Evaluation, values: GroupValues) -> Pair:
    """The two groups of a spread for each column, if it has two groups: the pair is fixed then."""
    high, low = (_repeat_group(values, index) for index in (evaluation.first, evaluation.second))
    measure = evaluation.metric
    is_ratio = isinstance(measure, Disparity) and measure.comparison.scale is Scale.RATIO
    return (low, high) if is_ratio else (high, low)


def evaluate_rate_gap(evaluation: Evaluation) -> Evaluation | None:
    """The selection gap behind ε and total variation of two classes: all are 0 for equal groups.

    None for more classes, and for classes without a positive in the spec.
    """
    table = evaluation.table
    if table.positive is None or len(table.classes) != 2 or int(table.positive.sum()) != 1:
        return None
    terms = replace(evaluation.terms, reference=None, parameters=NO_PARAMETERS)
    gap = evaluate(build_disparity(SELECTION_RATE, GAP), table, terms)
    values = gap.group_values
    same = values is not None and (table.clusters is None or values.clustered is not None)
    return gap if same and (gap.takes_part == evaluation.takes_part).all() else None


def find_epsilon_interval(gap: Evaluation, alpha: Alpha) -> Interval | None:
    """The interval of ε of two classes in two groups, with the clusters they share: [Z, 1]."""
    assert gap.group_values is not None
    first, second = find_spread_pair(gap, gap.group_values)
    if first.clustered is None or second.clustered is None:
        return None
    r = first.clustered.correlation(second.clustered)
    level = np.broadcast_to(multiplicity.sidak_level(alpha, np.array(2.0)), (len(r),))[:, None]
    assert first.ends is not None
    assert second.ends is not None
    highs, lows = first.ends(level), second.ends(level)
    of_hits = proportions.mover_ratio(first.value, highs, second.value, lows, r)
    spared = [(1 - values.value, (1 - high, 1 - low)) for values, (low, high) in
              ((second, lows), (first, highs))]  # fmt: skip
    of_misses = proportions.mover_ratio(*spared[0], *spared[1], r)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (
            np.log(np.maximum(end_of_hits, end_of_misses)[:, :1])
            for end_of_hits, end_of_misses in zip(of_hits, of_misses, strict=True)
        )
    return Interval(np.maximum(low, 0.0), high, f"MOVER, {CLUSTER_ROBUST}")


def _repeat_group(values: GroupValues, index: Ints) -> GroupValues:
    assert values.clustered is not None
    share, size = values.clustered.at(np.maximum(index, 0)), values.effective_n
    size = np.broadcast_to(np.take_along_axis(size, np.maximum(index, 0), axis=1), size.shape)
    return replace(_with_size(values, share.value, size), clustered=share)


def has_two_groups(evaluation: Evaluation) -> Marks:
    """Whether a spread has only two groups, [Z, 1]."""
    return np.asarray(evaluation.takes_part.sum(axis=1, keepdims=True) == 2)
