"""Chooses and runs the significance test of each evaluated value.

Two shares: a z test, or Fisher's exact one where a count below 5 is expected. Several: chi-square,
and every pair where some are few (`joint_tests`). Means: Welch. Ranks: Mann–Whitney. Coefficients:
Student's t. What is made of several numbers, as an average over strata is, is tested by inverting
its interval: p where parity leaves it, so that the test is about the printed number.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairaudit.base.arrays import Floats, Marks
from fairaudit.base.frozen import replace
from fairaudit.base.memoize import memoize
from fairaudit.evidence import averages
from fairaudit.evidence import clustered_inference as clusters
from fairaudit.evidence.joint_tests import run_joint_tests, run_spread_tests, run_table_tests
from fairaudit.evidence.pair_tests import (
    Sample,
    choose_pair_test,
    compare_shares,
    correct_over_pairs,
    make_pair_filter,
    name_share_test,
    smallest_p_to_extreme,
)
from fairaudit.evidence.records import (
    FEW_CLUSTERS,
    STRATA_ARE_ESTIMATED,
    IsBeyond,
    PairFilter,
    SideTest,
    Statistic,
    TestKey,
    Tests,
    explain_one_group,
    find_test_key,
)
from fairaudit.evidence.value_intervals import find_intervals, pair_outcomes
from fairaudit.metrics import (
    Disparity,
    Evaluation,
    GroupMetric,
    GroupValues,
    PairedCounts,
    ReferencePolicy,
    TableMetric,
)
from fairaudit.metrics.comparisons import GAP
from fairaudit.metrics.definitions import IS_TEST
from fairaudit.metrics.disparities import ComparisonShape
from fairaudit.metrics.evaluation_record import compute, counts_for, counts_of_others
from fairaudit.metrics.folds import MEAN, REMAINDER
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST, OwnTest
from fairaudit.metrics.inference import Inference, TTest
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.terms import EXTREME_REFERENCES, INCLUDING_GROUP
from fairaudit.stats import contingency, distributions, means, multiplicity, ranks
from fairaudit.stats.proportions import wilson_reach


def run_tests(evaluation: Evaluation) -> Tests:
    """The test of no disparity for every value of an evaluation."""
    unknown = clusters.explain_unknown_variance(evaluation)
    if unknown is not None:
        return Tests.none(evaluation, unknown)
    with np.errstate(invalid="ignore", divide="ignore"):
        tests = _choose_tests(evaluation)
    lacking = np.isnan(evaluation.value) | clusters.has_few_clusters(evaluation)
    return replace(tests, p=np.where(lacking, np.nan, tests.p))


def _choose_tests(evaluation: Evaluation) -> Tests:
    metric = evaluation.metric
    if evaluation.subtracts:
        outcomes = pair_outcomes(evaluation)
        if outcomes is not None and isinstance(metric, GroupMetric):
            return run_mcnemar(outcomes, (metric.id, "paired"))
        if outcomes is not None and isinstance(metric, Disparity) and metric.comparison is GAP:
            return _test_equal_changes(outcomes, evaluation)
        return invert_intervals(evaluation)
    if isinstance(metric, GroupMetric):
        values = evaluation.group_values
        if values is not None and values.own_test is not None:
            return _read_own_test(metric, values.own_test())
        return Tests.none(evaluation, explain_one_group(metric))
    if isinstance(metric, TableMetric):
        return _choose_table_tests(metric, evaluation)
    return _choose_disparity_tests(metric, evaluation)


def _choose_table_tests(metric: TableMetric, evaluation: Evaluation) -> Tests:
    if metric.p_of is not None:
        terms = evaluation.terms
        p = metric.p_of(evaluation.table, terms.minimum, terms.parameters)
        return _read_own_test(metric, OwnTest(p[:, None]))
    if metric.no_test:
        return Tests.none(evaluation, metric.no_test)
    if metric.independence is None:
        return invert_intervals(evaluation)
    return run_table_tests(metric, evaluation)


def _read_own_test(metric: GroupMetric | TableMetric, test: OwnTest) -> Tests:
    """The test that a metric has of its own; of a value that is a test statistic by its title."""
    statistic = None
    if test.statistic is not None:
        statistic = Statistic(test.letter, test.statistic, test.freedom)
    name = metric.title if metric.test == IS_TEST else metric.test
    return Tests(test.p, (name,), key=(metric.id,), statistic=statistic)


def _choose_disparity_tests(disparity: Disparity, evaluation: Evaluation) -> Tests:
    if disparity.fold is REMAINDER:
        return Tests.none(evaluation, STRATA_ARE_ESTIMATED)
    if evaluation.parts:
        may_cancel = disparity.fold is MEAN and disparity.to_reference
        return _test_mean_of_parts(evaluation) if may_cancel else _combine_parts(evaluation)
    values = evaluation.group_values
    if values is None:
        return Tests.none(evaluation, "there is nothing to compare")
    if evaluation.averaged is not None or values.strata is not None:
        return _test_over_strata(disparity, evaluation, values)
    if disparity.over_groups is None and disparity.comparison.shape is not ComparisonShape.SPREAD:
        return _compare_to_reference(disparity, evaluation, values)
    if values.binomial or values.deviation is not None:
        return run_spread_tests(evaluation, values)
    if disparity.over_groups is not None:
        return Tests.none(evaluation, "no test of one number over groups")
    return invert_intervals(evaluation)


def _test_over_strata(disparity: Disparity, evaluation: Evaluation, values: GroupValues) -> Tests:
    if evaluation.averaged is not None and clusters.is_clustered(evaluation):
        return averages.run_clustered_average_tests(evaluation, values)
    if values.strata is not None and disparity.comparison.exact_in_strata is not None:
        return averages.run_common_odds_tests(evaluation, values, values.strata)
    side_test = averages.run_strata_side_test(evaluation, values)
    return replace(invert_intervals(evaluation), side_test=side_test)


def _test_mean_of_parts(evaluation: Evaluation) -> Tests:
    """The test of a mean of two differences: they may cancel, so it is not that of both."""
    both = _combine_parts(evaluation)
    side_test = SideTest(both.names[0], "no difference in either rate", both.p)
    return replace(invert_intervals(evaluation), side_test=side_test)


def _combine_parts(evaluation: Evaluation) -> Tests:
    """The test of a value as far from parity as one of several rates: their smallest p-value."""
    parts = [_choose_tests(part) for part in evaluation.parts]
    metric = evaluation.metric
    size = metric.fold.size if isinstance(metric, Disparity) else abs

    def beyond(is_beyond: IsBeyond) -> Floats:
        p = [
            tests.p_beyond(part.value, lambda values: is_beyond(size(values)))
            for tests, part in zip(parts, evaluation.parts, strict=True)
        ]
        return np.asarray(multiplicity.sidak(np.fmin.reduce(p), len(parts)))

    is_mean = isinstance(metric, Disparity) and metric.over_groups is not None
    names = max((part.names for part in parts), key=len)
    return Tests(
        np.asarray(multiplicity.sidak(np.min([part.p for part in parts], axis=0), len(parts))),
        tuple(f"{name}, Šidák over {len(parts)}" for name in names),
        np.max([part.name_index for part in parts], axis=0),
        key=tuple(part.key for part in parts),
        why=next((part.why for part in parts if part.why), ""),
        beyond=None if is_mean else beyond,
    )


def _compare_to_reference(
    disparity: Disparity, evaluation: Evaluation, values: GroupValues
) -> Tests:
    """Each group against its reference; against everybody means against the rest."""
    policy, reference = evaluation.terms.policy, evaluation.reference_values
    to_extreme = policy in EXTREME_REFERENCES
    if to_extreme and disparity.comparison.contrast is None:
        return _compare_to_extreme(evaluation, values)
    if policy is not None and policy in INCLUDING_GROUP:
        others = counts_of_others(counts_for(values.metric, evaluation.table), policy)
        reference = compute(values.metric, others, evaluation.terms.parameters)
    if reference is None:
        return Tests.none(evaluation, "there is no other side")
    tests = _compare_two_sides(evaluation, values, reference)
    if not to_extreme:
        return tests
    # Of no other pair the value is known, so that all groups together must do.
    side_test = _test_all_groups(evaluation, values)
    return replace(correct_over_pairs(tests, evaluation), side_test=side_test)


def _test_all_groups(evaluation: Evaluation, values: GroupValues) -> SideTest | None:
    """Whether all groups are alike, beside a comparison with an extreme one."""
    if not values.binomial and values.deviation is None:
        return None
    tests = run_joint_tests(evaluation, values, weighted=values.weight_sum is not None)
    p = np.array([test.p for test in tests], dtype=np.float64).reshape(-1, 1)
    p = np.broadcast_to(p, evaluation.value.shape)
    return SideTest(tests[0].name if tests else "", "alike", p, stays_open=True)


def _compare_to_extreme(evaluation: Evaluation, values: GroupValues) -> Tests:
    """Each group against all that lie farther out: the extreme one may be a handful of people."""
    among, policy = evaluation.takes_part, evaluation.terms.policy
    if clusters.is_clustered_pair(evaluation) and evaluation.reference_values is not None:
        # Of two groups the pair is known, and with it what its clusters have in common.
        return _compare_two_sides(evaluation, values, evaluation.reference_values)
    values = clusters.adjust_for_pairs(values, among)
    inference = evaluation.terms.inference
    chosen = [choose_pair_test(values, z, inference) for z in range(len(values.value))]
    tests = [test for test in chosen if test is not None]
    if len(tests) < len(chosen):
        return invert_intervals(evaluation)
    precision = values.effective_n
    if not values.binomial and values.deviation is not None:
        precision = np.nan_to_num(values.effective_n**2 / values.deviation)

    def smallest(pair_filter: PairFilter | None) -> tuple[Floats, Marks]:
        lowest = policy is ReferencePolicy.LOWEST
        rows = [
            smallest_p_to_extreme(*stratum, pair_filter, lowest=lowest)
            for stratum in zip(tests, values.value, precision, among, strict=True)
        ]
        return np.stack([p for p, _ in rows]), np.stack([exact for _, exact in rows])

    p, exact = smallest(None)
    if not values.binomial:
        names = _compare_two_sides(evaluation, values, values).names
    elif clusters.is_clustered(evaluation):
        # Of few expected it is exact, at the sizes by which clusters may be taken as independent.
        of_few = name_share_test(exact=True, inference=inference, weighted=True)
        names = (f"z, {CLUSTER_ROBUST}", f"{of_few}, {CLUSTER_ROBUST}")
    else:
        names = _name_share_tests(values, inference)
    return Tests(
        p,
        tuple(f"{name} over pairs" for name in names),
        exact.astype(np.int64),
        key=(*find_test_key(values, evaluation), "to extreme", policy, among.tobytes()),
        joint=True,
        beyond=lambda is_beyond: smallest(make_pair_filter(evaluation, is_beyond))[0],
    )


def _compare_two_sides(evaluation: Evaluation, first: GroupValues, second: GroupValues) -> Tests:
    """The test of two sides, by what is known of both."""
    inference, key = evaluation.terms.inference, find_test_key(first, evaluation)
    if first.fit is not None:
        t, df = first.fit.value / first.fit.error, first.fit.df
        key = ("least squares", first.metric.id, evaluation.terms.parameters)
        p = distributions.t_two_sided(t, df)
        return Tests(p, ("least squares t",), key=key, statistic=Statistic("t", t, (df,)))
    if first.binomial and second.binomial:
        if clusters.is_clustered(evaluation):
            p = clusters.run_pair_z_test(first, second)
            return Tests(p, (f"z, {CLUSTER_ROBUST}",), key=key, why=FEW_CLUSTERS)
        return _compare_two_shares(evaluation, first, second)
    if first.summary and second.summary:
        sides = first.summary, second.summary
        if inference.t is TTest.WELCH:
            name, (t, df, p) = "Welch", means.welch(*sides, moderated=True).test()
        else:
            name, (t, df, p) = "Student", means.student(*sides).test()
        return Tests(p, (name,), key=key, statistic=Statistic("t", t, (df,)))
    if first.scores is not None and second.scores is not None:
        *_, p = ranks.mann_whitney(first.scores, second.scores)
        return Tests(p, ("Mann–Whitney",), key=key)
    if first.shares is not None and second.shares is not None:
        counts = (
            first.shares * first.effective_n[:, None],
            second.shares * second.effective_n[:, None],
        )
        value, df, p = contingency.g_test(np.stack(counts, axis=-1).swapaxes(1, 2))
        return Tests(p, ("G",), key=key, statistic=Statistic("G", value, (df,)))
    return invert_intervals(evaluation)


def _compare_two_shares(evaluation: Evaluation, first: GroupValues, second: GroupValues) -> Tests:
    """z, or Fisher's test where few are expected."""
    inference = evaluation.terms.inference
    p, exact, z = _compare_shares(first, second, inference)
    statistic = Statistic("χ²", np.where(exact, np.nan, z * z), (np.ones_like(z),))
    names, key = _name_share_tests(first, inference), find_test_key(first, evaluation)
    return Tests(p, names, exact.astype(np.int64), key, statistic=statistic)


@memoize
def _compare_shares(
    first: GroupValues, second: GroupValues, inference: Inference
) -> tuple[Floats, Marks, Floats]:
    """The p-values, which are exact, and the pooled z: a difference and a ratio have the same."""
    samples = Sample.of(first), Sample.of(second)
    shares = [number for sample in samples for number in (sample.share, sample.size)]
    z = contingency.find_z(*shares, yates=inference.yates)
    return *compare_shares(*samples, inference), z


def _name_share_tests(values: GroupValues, inference: Inference) -> tuple[str, ...]:
    """What the test of two shares is called, and where it is exact."""
    weighted = values.weight_sum is not None
    return tuple(
        name_share_test(exact=exact, inference=inference, weighted=weighted)
        for exact in (False, True)
    )


def run_mcnemar(pairs: PairedCounts, key: TestKey) -> Tests:
    """McNemar's test that as many change one way as the other, of every group."""
    if pairs.weighted:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (pairs.first - pairs.second) / np.sqrt(pairs.first + pairs.second)
        p = np.asarray(distributions.normal_two_sided(np.nan_to_num(z)))
        return Tests(p, ("McNemar",), key=key)
    counts = (np.rint(count).astype(np.int64) for count in (pairs.first, pairs.second))
    value, p, exact = contingency.mcnemar(*counts)
    statistic = Statistic("χ²", np.where(exact, np.nan, value), (np.ones_like(value),))
    names = ("McNemar", "McNemar, exact")
    return Tests(p, names, exact.astype(np.int64), key, statistic=statistic)


def _test_equal_changes(pairs: PairedCounts, evaluation: Evaluation) -> Tests:
    """Whether the rate changes alike in all groups, so that no gap between them changes: [Z, 1].

    By z of the two groups whose changes differ most, over all pairs of them (Šidák). Each change
    has McNemar's variance, that of the people who are counted by one outcome alone.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        n = pairs.both + pairs.first + pairs.second + pairs.neither
        change, variance = pairs.difference, (pairs.first + pairs.second) / n**2
    among = evaluation.parts[0].takes_part & evaluation.parts[1].takes_part & (n > 0)
    p = np.ones((len(n), 1))
    for z, row in enumerate(among):
        groups = np.flatnonzero(row)
        gaps = change[z, groups, None] - change[z, groups]
        spreads = np.sqrt(variance[z, groups, None] + variance[z, groups])
        largest = np.nan_to_num(np.abs(gaps) / spreads).max(initial=0.0)
        found = distributions.normal_two_sided(np.array(largest))
        p[z] = multiplicity.sidak(found, max(multiplicity.count_pairs(len(groups)), 1))
    return Tests(p, ("McNemar over pairs",), key=("equal changes", evaluation.metric.id))


_MOST_EXTREME = 100
"""Of more groups none is tested against an extreme one: each needs a search of its own."""

_NEAR = 1e-12
_ROUNDING = 2e-16
_FARTHEST = 37.5
"""Its p is the smallest that has all its digits."""
_STEPS = 60
_CLOSE = 1e-9


def invert_intervals(evaluation: Evaluation) -> Tests:
    """The level at which parity leaves the interval, on the scale of z."""
    metric = evaluation.metric
    ideal = 0.0 if isinstance(metric, GroupMetric) or evaluation.subtracts else float(metric.ideal)
    intervals = find_intervals(evaluation)
    if not intervals.method:
        return Tests.none(evaluation, intervals.why.removeprefix("none: "))
    to_extreme = evaluation.terms.policy in EXTREME_REFERENCES
    judged = np.flatnonzero(evaluation.judged.any(axis=0)).tolist() if to_extreme else []
    if len(judged) > _MOST_EXTREME:
        return Tests.none(evaluation, f"no test of over {_MOST_EXTREME} groups to an extreme one")
    distance = evaluation.value - ideal
    find_margin = _find_share_margin(evaluation, distance)

    def margin(z: Floats) -> Floats:
        """How far parity lies outside the interval of that z; negative inside."""
        alpha = np.asarray(distributions.normal_two_sided(z))
        if isinstance(metric, TableMetric):
            alpha = alpha[:, 0]  # one a stratum, as there is one value
        if to_extreme:
            # All hold together, at one level in a stratum: each group has a level of its own.
            low, high = np.full_like(z, np.nan), np.full_like(z, np.nan)
            for group in judged:
                ends = find_intervals(evaluation, alpha[:, group : group + 1])
                low[:, group], high[:, group] = ends.low[:, group], ends.high[:, group]
        else:
            ends = find_intervals(evaluation, alpha)
            low, high = ends.low, ends.high
        return np.where(distance > 0, low - ideal, ideal - high)

    z = _find_root(find_margin or margin, np.abs(distance))
    # Where parity is the value itself no interval is without it.
    p = np.where(np.abs(distance) < _NEAR, 1.0, distributions.normal_two_sided(z))
    p = np.where(np.isnan(intervals.low) | np.isnan(intervals.high), np.nan, p)
    # A ratio's interval is not that of a difference.
    comparison = metric.comparison.id if isinstance(metric, Disparity) else ""
    terms = evaluation.terms
    average = None if terms.average is None else str(terms.average)
    key = (metric.id, comparison, terms.parameters, average)
    return Tests(p, ("its interval",), key=key, joint=to_extreme)


def _find_share_margin(
    evaluation: Evaluation, distance: Floats
) -> Callable[[Floats], Floats] | None:
    """The same margin of a mean of differences of shares, at a tenth of the time.

    Each side adds the square of its distance to Wilson's bound on the side of parity. None where
    the interval is another one.
    """
    disparity, parts, terms = evaluation.metric, evaluation.parts, evaluation.terms
    if not parts or evaluation.subtracts or not isinstance(disparity, Disparity):
        return None
    if disparity.fold is not MEAN:
        return None
    is_difference = all(
        comparison.scale is Scale.DIFFERENCE and comparison.is_plain
        for _, comparison in disparity.parts
    )
    pairs = [(part.group_values, part.reference_values) for part in parts]
    sides = [side for pair in pairs for side in pair if side is not None and side.binomial]
    if not is_difference or len(sides) < 2 * len(parts):
        return None
    of_other_kind = terms.policy in EXTREME_REFERENCES or terms.policy in INCLUDING_GROUP
    if of_other_kind or clusters.is_clustered(evaluation) or any(part.averaged for part in parts):
        return None
    is_above = np.stack([distance > 0, distance <= 0] * len(parts))
    share, size = (
        np.stack(arrays) for arrays in zip(*(side.sample for side in sides), strict=True)
    )
    share = np.where(is_above, share, 1 - share)

    def margin(z: Floats) -> Floats:
        reach = wilson_reach(share, size, z)
        return np.asarray(np.abs(distance) - np.sqrt(np.square(reach).sum(axis=0)) / len(parts))

    return margin


def _find_root(margin: Callable[[Floats], Floats], distance: Floats) -> Floats:
    """The z at which the margin, `distance` at 0 and falling, is 0: by secants and halving."""
    low, at_low = np.zeros_like(distance), np.array(distance)
    high, at_high = np.full_like(distance, _FARTHEST), np.full_like(distance, np.nan)
    z = np.full_like(distance, 2.0)
    was_outside = np.zeros(distance.shape, dtype=bool)
    settled = ~(distance >= _NEAR)  # parity itself, and what is undefined
    for step in range(_STEPS):
        here = margin(z)
        outside = here > 0
        # Ends that are cut off at parity are 0 from there on, and never below.
        is_root = ~(np.abs(here) >= np.maximum(_NEAR * distance, _ROUNDING))
        settled |= is_root & ((here != 0) | (at_high < 0))
        # An end that stays a second time counts half, so that it moves, too (Illinois).
        stayed = np.where((outside == was_outside) & (step > 0), 0.5, 1.0)
        at_high = np.where(outside, at_high * stayed, here)
        at_low = np.where(outside, here, at_low * stayed)
        was_outside = outside
        low, high = np.where(outside, z, low), np.where(outside, high, z)
        secant = low + (high - low) * at_low / (at_low - at_high)
        # Ends that are cut off at parity, or infinite, tell no slope.
        usable = np.isfinite(secant) & (at_high < 0) & (secant > low) & (secant < high)
        middle = np.where(np.isnan(at_high), np.minimum(2 * z, _FARTHEST), (low + high) / 2)
        z = np.where(settled, z, np.where(usable, secant, middle))
        if not (~settled & (high - low > _CLOSE * np.maximum(high, 1.0))).any():
            break
    return z
