"""Evidence for averages over strata: sparse strata, intervals, and Mantel–Haenszel tests.

In many strata of few people, such as matched sets, the interval of a single stratum is very wide,
and the sum of these intervals is far too wide on one side. With many strata, variances that add up
over all strata are used instead.
"""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Alpha, Floats, Marks
from fairaudit.base.frozen import replace
from fairaudit.evidence import clustered_inference as clusters
from fairaudit.evidence.joint_tests import compare_means
from fairaudit.evidence.pair_tests import correct_over_pairs
from fairaudit.evidence.records import (
    FEW_CLUSTERS,
    NO_CLUSTER_VARIANCE,
    NO_WEIGHTED_VARIANCE,
    SideTest,
    Statistic,
    Tests,
    find_test_key,
)
from fairaudit.metrics import (
    NO_GROUP,
    Comparison,
    ComparisonShape,
    Disparity,
    Evaluation,
    GroupMetric,
    GroupValues,
    ReferencePolicy,
)
from fairaudit.metrics.evaluation_record import (
    compute,
    counts_for,
    counts_of_others,
    reference_counts,
)
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST
from fairaudit.metrics.pair_intervals import Interval, Scale, weigh_alike
from fairaudit.metrics.terms import EXTREME_REFERENCES, INCLUDING_GROUP
from fairaudit.stats import multiplicity
from fairaudit.stats import strata as stratified

_FEW = 20
"""A stratum is sparse if a side has fewer people."""

_MANY = 10
"""The number of strata of equal weight from which their sum is approximately normal."""

_MOST_STANDARDIZED = 300
"""Averages of more groups are not tested: the variances of all pairs would be needed."""

_ALIKE_IN_STRATA = "equal in every stratum"


def find_sparse_interval(
    evaluation: Evaluation, comparison: Comparison, alpha: Alpha
) -> Interval | None:
    """The interval of an average with many sparse strata to a reference; NaN for others."""
    table, averaged = evaluation.strata, evaluation.averaged
    if table is None or averaged is None or table.squares is not None:
        return None
    of_gap = comparison.scale is Scale.DIFFERENCE
    known = of_gap or comparison.scale is Scale.RATIO
    if evaluation.terms.policy in EXTREME_REFERENCES or not known:
        return None
    values, reference = evaluation.group_values, evaluation.terms.reference
    if values is None or reference is None:
        return None
    own = compute(values.metric, counts_for(values.metric, table), evaluation.terms.parameters)
    sides = own, _compute_reference(evaluation, values.metric, reference.policy)
    if not all(side.binomial for side in sides):
        return None
    weights = averaged.first_weights
    if not np.array_equal(weights, averaged.second_weights, equal_nan=True):
        return None
    n, m = (np.where(averaged.support, side.effective_n, 0.0) for side in sides)
    # Most of the weight is in sparse strata, of which there are many.
    mix = np.nan_to_num(weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        is_many = mix.sum(axis=0) ** 2 / np.square(mix).sum(axis=0) >= _MANY
    few = np.where(np.minimum(n, m) < _FEW, mix, 0.0).sum(axis=0)
    is_sparse = np.asarray(is_many & (few > mix.sum(axis=0) / 2))
    if not is_sparse.any():
        return None
    a, c = (np.nan_to_num(side.value) * size for side, size in zip(sides, (n, m), strict=True))
    find_ends = stratified.average_difference if of_gap else stratified.average_ratio
    low, high = (
        np.atleast_2d(np.where(is_sparse, end, np.nan))
        for end in find_ends(weights, a, n, c, m, alpha)
    )
    interval = Interval(low, high, f"{'Sato' if of_gap else 'Greenland–Robins'}, for sparse strata")
    return comparison.rescale(interval)


def _compute_reference(
    evaluation: Evaluation, metric: GroupMetric, policy: ReferencePolicy
) -> GroupValues:
    """The values of each group's reference in all strata, if the reference is not a group."""
    table, index = evaluation.strata, None
    assert table is not None
    if (evaluation.second != NO_GROUP).any():
        index = np.broadcast_to(evaluation.second.max(), (len(table.strata), 1))
        policy = ReferencePolicy.LEVEL
    others = reference_counts(counts_for(metric, table), policy, index)
    return compute(metric, others, evaluation.terms.parameters)


def run_clustered_average_tests(evaluation: Evaluation, values: GroupValues) -> Tests:
    """The z tests of averages over strata with a known variance between clusters."""
    reference, terms = evaluation.reference_values, evaluation.terms
    if reference is None or terms.policy in INCLUDING_GROUP:
        return Tests.none(evaluation, NO_CLUSTER_VARIANCE)
    p = clusters.run_pair_z_test(values, reference)
    average = None if terms.average is None else str(terms.average)
    key = (*find_test_key(values, evaluation), "averages", average)
    return Tests(p, (f"z, {CLUSTER_ROBUST}",), key=key, why=FEW_CLUSTERS)


def run_common_odds_tests(
    evaluation: Evaluation, values: GroupValues, in_strata: GroupValues
) -> Tests:
    """Cochran–Mantel–Haenszel tests of a common odds ratio of the strata."""
    policy, table = evaluation.terms.policy, evaluation.strata
    reference = evaluation.reference_values
    others = None if reference is None else reference.strata
    if policy in INCLUDING_GROUP and table is not None:
        counts = counts_of_others(counts_for(values.metric, table), ReferencePolicy.OVERALL)
        others = compute(values.metric, counts, evaluation.terms.parameters)
    if others is None:
        return Tests.none(evaluation, "no group to compare with")
    if not weigh_alike(in_strata, others):
        return Tests.none(evaluation, NO_WEIGHTED_VARIANCE)
    joined = stratified.mantel_haenszel(*in_strata.trials, *others.trials)
    value = np.asarray(joined.statistic)[None]
    tests = Tests(
        joined.p[None],
        ("Cochran–Mantel–Haenszel",),
        key=(*find_test_key(in_strata, evaluation), "common odds ratio"),
        statistic=Statistic("χ²", value, (np.ones_like(value),)),
    )
    if policy not in EXTREME_REFERENCES:
        return tests
    side_test = run_strata_side_test(evaluation, values)
    return replace(correct_over_pairs(tests, evaluation), side_test=side_test)


def run_strata_side_test(evaluation: Evaluation, values: GroupValues) -> SideTest | None:
    """The test that groups are equal in each stratum, in addition to the test of an average."""
    table, policy, disparity = evaluation.strata, evaluation.terms.policy, evaluation.metric
    assert isinstance(disparity, Disparity)
    if table is None:
        return None
    in_strata = compute(
        values.metric, counts_for(values.metric, table), evaluation.terms.parameters
    )
    strata = table.known_strata
    if not values.metric.is_proportion:
        if in_strata.deviation is None:
            return None
        # Equality of means in each stratum: the smallest p-value of all strata (Šidák).
        known = (in_strata.effective_n > 0) & ~np.isnan(in_strata.value)
        present, inference = evaluation.takes_part[0] & known, evaluation.terms.inference
        each = np.array([
            compare_means(in_strata, z, present[z], inference).p if present[z].sum() > 1 else np.nan
            for z in np.flatnonzero(strata).tolist()
        ])  # fmt: skip
        tested = max(int((~np.isnan(each)).sum()), 1)
        smallest = multiplicity.sidak(np.fmin.reduce(each, initial=1.0), tested)
        p = np.full(evaluation.value.shape, smallest)
        return SideTest("Welch in every stratum, Šidák", _ALIKE_IN_STRATA, p, stays_open=True)
    if disparity.comparison.shape is ComparisonShape.SPREAD or policy in EXTREME_REFERENCES:
        among = evaluation.takes_part[0]
        if among.sum() > _MOST_STANDARDIZED:
            return None
        hits, people = (counts[:, among] for counts in _count_hits(in_strata, strata))
        *_, joint = stratified.generalized_cmh(np.stack([hits, people - hits], axis=1))
        p = np.full_like(evaluation.value, float(joint))
    else:
        is_pooled = evaluation.terms.policy in {ReferencePolicy.REST, ReferencePolicy.OVERALL}
        if not is_pooled and (evaluation.second.max(axis=1) == NO_GROUP).any():
            return None
        others = _compute_reference(evaluation, values.metric, ReferencePolicy.REST)
        sides = (*_count_hits(in_strata, strata), *_count_hits(others, strata))
        p = stratified.mantel_haenszel(*sides).p[None]
    return SideTest("Cochran–Mantel–Haenszel", _ALIKE_IN_STRATA, p, stays_open=True)


def _count_hits(values: GroupValues, strata: Marks) -> tuple[Floats, Floats]:
    """Hits and people of some strata; 0 without a share."""
    people = np.where(np.isnan(values.value), 0.0, values.effective_n)[strata]
    return np.nan_to_num(values.value)[strata] * people, people
