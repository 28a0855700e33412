"""Selects and runs the significance test of each value.

Two shares have a z test, or Fisher's test if an expected count is below 5 or z is inexact far in
the tail. Several shares have a χ² test, and tests of each pair if some groups are small
(`joint_tests`). Means have Welch's test, ranks have Mann–Whitney's test, and coefficients have
Student's t test. Values that combine several numbers, such as averages over strata, are tested by
their interval: p is the level at which it reaches parity. So the test is about the printed number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fairaudit.base.arrays import Floats, Marks
from fairaudit.base.frozen import memoize, replace
from fairaudit.evidence import clusters_and_pairs as clusters
from fairaudit.evidence import joint_tests
from fairaudit.evidence.joint_tests import run_joint_tests, run_spread_tests, run_table_tests
from fairaudit.evidence.missing_bounds import mark_masked
from fairaudit.evidence.pair_tests import (
    PairMethod,
    PairResult,
    choose_pair_test,
    correct_over_pairs,
    find_pair_method,
    find_smallest_p_to_extreme,
    make_pair_filter,
)
from fairaudit.evidence.records import (
    FEW_CLUSTERS,
    MASKED_COUNTS,
    NO_TEST_OVER_GROUPS,
    ONE_GROUP,
    STRATA_ARE_ESTIMATED,
    IsBeyond,
    PairFilter,
    SideTest,
    Statistic,
    TestKey,
    Tests,
    find_test_key,
    take_smallest,
)
from fairaudit.evidence.value_intervals import find_intervals
from fairaudit.metrics import Disparity, Evaluation, GroupMetric, GroupValues, TableMetric
from fairaudit.metrics.definitions import IS_TEST
from fairaudit.metrics.disparities import MEAN, REMAINDER
from fairaudit.metrics.evaluation_record import compute, counts_for, counts_of_others
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST, OwnTest
from fairaudit.metrics.paired_counts import PairedCounts, count_pairs, list_paired_rates, turn_ratio
from fairaudit.metrics.terms import EXTREME_REFERENCES, INCLUDING_GROUP, Inference, ReferencePolicy
from fairaudit.stats import contingency, distributions, multiplicity

EQUAL_CHANGES = "McNemar over pairs"
"""The name of the test that the rates of all groups change equally between two outcomes."""


@np.errstate(all="ignore")  # undefined is NaN
def run_tests(evaluation: Evaluation) -> Tests:
    """The test of disparity for each value of an evaluation."""
    unknown = clusters.explain_unknown_variance(evaluation)
    if unknown is not None:
        return Tests.none(evaluation, unknown)
    tests = _choose_tests(evaluation)
    masked = mark_masked(evaluation)
    lacking = np.isnan(evaluation.value) | clusters.has_few_clusters(evaluation) | masked
    tests = replace(tests, p=np.where(lacking, np.nan, tests.p))
    if not masked.any():
        return tests
    return replace(tests, why=MASKED_COUNTS, beyond=None, side_test=None)


def _choose_tests(evaluation: Evaluation) -> Tests:
    metric = evaluation.metric
    if evaluation.subtracts:
        # The test of equal values of both outcomes uses the people whose outcomes differ.
        rates, of_ratio = list_paired_rates(evaluation)
        found = [count_pairs(rate, evaluation.table) for rate in rates]
        pairs = [one for one in found if one is not None]
        if not pairs or len(pairs) < len(rates):
            return invert_intervals(evaluation)
        if isinstance(metric, GroupMetric):
            return run_mcnemar(pairs[0], (metric.id, "paired"))
        return _test_equal_changes(pairs, evaluation, of_ratio)
    if isinstance(metric, GroupMetric):
        values = evaluation.group_values
        test = None if values is None or values.own_test is None else values.own_test()
        return Tests.none(evaluation, ONE_GROUP) if test is None else _read_own_test(metric, test)
    if isinstance(metric, Disparity):
        return _choose_disparity_tests(metric, evaluation)
    if metric.p_of is not None:
        p = metric.p_of(evaluation.table, evaluation.terms)
        return _read_own_test(metric, OwnTest(p[:, None]))
    if metric.no_test:
        return Tests.none(evaluation, metric.no_test)
    inverted = metric.independence is None
    return invert_intervals(evaluation) if inverted else run_table_tests(metric, evaluation)


def _read_own_test(metric: GroupMetric | TableMetric, test: OwnTest) -> Tests:
    """The test that a metric defines. If the metric is a test statistic, its title is the name."""
    statistic = None
    if test.statistic is not None:
        statistic = Statistic(test.letter, test.statistic, test.freedom)
    name = metric.title if metric.test == IS_TEST else metric.test
    if isinstance(metric, TableMetric):
        # A slope and a correlation have the same test, so the key is the function that tests them.
        return Tests(test.p, (name,), key=(metric.p_of,), why=metric.no_test, statistic=statistic)
    return Tests(test.p, (name,), key=(metric.id,), statistic=statistic)


def _choose_disparity_tests(disparity: Disparity, evaluation: Evaluation) -> Tests:
    is_remainder = disparity.fold is REMAINDER
    if is_remainder or disparity.over_groups is not None:
        why = STRATA_ARE_ESTIMATED if is_remainder else NO_TEST_OVER_GROUPS
        return Tests.none(evaluation, why)
    if evaluation.parts:
        return _combine_parts(disparity, evaluation)
    values = evaluation.group_values
    if values is None:
        return Tests.none(evaluation, "there is nothing to compare")
    is_averaged = evaluation.averaged is not None
    if is_averaged and clusters.is_clustered(evaluation):
        return joint_tests.run_clustered_average_tests(evaluation, values)
    if values.strata is not None and disparity.comparison.exact_in_strata is not None:
        return joint_tests.run_common_odds_tests(evaluation, values, values.strata)
    if is_averaged or values.strata is not None:
        side_test = joint_tests.run_strata_side_test(evaluation, values)
        return replace(invert_intervals(evaluation), side_test=side_test)
    if disparity.to_reference:
        return _compare_to_reference(disparity, evaluation, values)
    is_tested = values.binomial or values.summary is not None
    return run_spread_tests(evaluation, values) if is_tested else invert_intervals(evaluation)


def _combine_parts(disparity: Disparity, evaluation: Evaluation) -> Tests:
    """The test of a value that is the largest of several parts: the smallest p-value, corrected.

    Differences in a mean may cancel each other, so for a mean this test is only the `side_test`.
    """
    parts, size = [_choose_tests(part) for part in evaluation.parts], disparity.fold.size

    def beyond(is_beyond: IsBeyond) -> Floats:
        def is_size_beyond(values: Floats) -> Marks:
            return is_beyond(size(values))

        p = [
            np.where(is_size_beyond(part.value), tests.p, np.nan)
            if tests.beyond is None
            else tests.beyond(is_size_beyond)
            for tests, part in zip(parts, evaluation.parts, strict=True)
        ]
        return np.asarray(multiplicity.sidak(np.fmin.reduce(p), len(parts)))

    tests = replace(take_smallest(parts), beyond=beyond)
    if disparity.fold is not MEAN or not disparity.to_reference:
        return tests
    used = dict.fromkeys(tests.names[at] for at in tests.name_index.ravel().tolist())
    side_test = SideTest(" or ".join(used), "no difference in either rate", tests.p)
    return replace(invert_intervals(evaluation), side_test=side_test)


def _compare_to_reference(
    disparity: Disparity, evaluation: Evaluation, values: GroupValues
) -> Tests:
    """The tests of each group against its reference; the rest replaces a reference of everybody."""
    policy, reference = evaluation.terms.policy, evaluation.reference_values
    to_extreme = policy in EXTREME_REFERENCES
    if to_extreme and disparity.comparison.contrast is None:
        return _compare_to_extreme(evaluation, values)
    if policy is not None and policy in INCLUDING_GROUP:
        others = counts_of_others(counts_for(values.metric, evaluation.table), policy)
        reference = compute(values.metric, others, evaluation.terms.parameters)
    if reference is None:
        return Tests.none(evaluation, "no group to compare with")
    tests = _compare_two_sides(evaluation, values, reference)
    if not to_extreme:
        return tests
    # A contrast has no values for other pairs, so the side test compares all groups.
    side_test = None
    if values.binomial or values.summary is not None:
        joint = run_joint_tests(evaluation, values)
        p = np.array([test.p for test in joint], dtype=np.float64).reshape(-1, 1)
        p = np.broadcast_to(p, evaluation.value.shape)
        side_test = SideTest(joint[0].name if joint else "", "alike", p, stays_open=True)
    return replace(correct_over_pairs(tests, evaluation), side_test=side_test)


def _compare_to_extreme(evaluation: Evaluation, values: GroupValues) -> Tests:
    """Tests each group against all more extreme groups: the most extreme group may be tiny."""
    among, policy = evaluation.takes_part, evaluation.terms.policy
    if clusters.is_clustered_pair(evaluation) and evaluation.reference_values is not None:
        # For a single pair, the test can use the clusters that both groups share.
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
            find_smallest_p_to_extreme(*stratum, pair_filter, lowest=lowest)
            for stratum in zip(tests, values.value, precision, among, strict=True)
        ]
        return np.stack([p for p, _ in rows]), np.stack([exact for _, exact in rows])

    p, exact = smallest(None)
    method, robust = find_pair_method(values), clusters.is_clustered(evaluation)
    assert method is not None
    # Fisher's test uses effective sizes, which account for the dependence within clusters.
    names = method.names(inference, robust or values.weight_sum is not None)
    names = tuple(f"{name}, {CLUSTER_ROBUST}" for name in names) if robust else names
    return Tests(
        p,
        tuple(f"{name} over pairs" for name in names),
        exact.astype(np.int64),
        key=(*find_test_key(values, evaluation), "to extreme", policy, among.tobytes()),
        joint=True,
        beyond=lambda is_beyond: smallest(make_pair_filter(evaluation, is_beyond))[0],
    )


def _compare_two_sides(evaluation: Evaluation, first: GroupValues, second: GroupValues) -> Tests:
    inference, key = evaluation.terms.inference, find_test_key(first, evaluation)
    if first.fit is not None:
        t, df = first.fit.value / first.fit.error, first.fit.df
        key = ("least squares", first.metric.id, evaluation.terms.parameters)
        p = distributions.t_two_sided(t, df)
        return Tests(p, ("least squares t",), key=key, statistic=Statistic("t", t, (df,)))
    if first.binomial and second.binomial and clusters.is_clustered(evaluation):
        p = clusters.run_pair_z_test(first, second)
        return Tests(p, (f"z, {CLUSTER_ROBUST}",), key=key, why=FEW_CLUSTERS)
    method = find_pair_method(first, second)
    if method is None:
        return invert_intervals(evaluation)
    p, exact, statistic = _run_pair_method(first, second, method, inference)
    if statistic is not None and statistic.letter == "t":
        # t gets the sign of the value, because some values fall if the mean of the group rises.
        ideal = float(evaluation.metric.ideal) if isinstance(evaluation.metric, Disparity) else 0.0
        statistic = replace(statistic, value=np.copysign(statistic.value, evaluation.value - ideal))
    index = None if exact is None else exact.astype(np.int64)
    return Tests(p, method.name(first, inference), index, key, statistic=statistic)


@memoize
def _run_pair_method(
    first: GroupValues, second: GroupValues, method: PairMethod, inference: Inference
) -> PairResult:
    """The result of a test of two sides, cached because a difference and a ratio have one test."""
    return method.run(method.side(first), method.side(second), inference)


def run_mcnemar(pairs: PairedCounts, key: TestKey) -> Tests:
    """McNemar's test for each group: equal numbers of people change in both directions."""
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


def _test_equal_changes(
    rates: Sequence[PairedCounts],
    evaluation: Evaluation,
    of_ratio: Callable[[Floats], Floats] | None,
) -> Tests:
    """The test that rates change equally in all groups, so that gaps do not change: [Z, 1].

    It is the z test of the two groups whose changes differ most, corrected for all pairs and rates
    (Šidák). The variance of a change, or of its logarithm, is McNemar's variance: it uses the
    people who are counted (hits) by only one outcome. Without hits the logarithm would be infinite,
    so an outcome without hits gets one hit.
    """

    def find_gaps(rate: Floats) -> Floats:
        """The gap between any two groups on the scale of the metric, as an array [G, G]."""
        high, low = np.maximum(rate[:, None], rate), np.minimum(rate[:, None], rate)
        if of_ratio is None:
            return high - low
        return low / high if of_ratio is turn_ratio else of_ratio(high / low)

    takes_part = np.logical_and(*(part.takes_part for part in evaluation.parts))
    found: list[tuple[int, Floats, Floats]] = []
    for pairs in rates:
        first, second = pairs.both + pairs.first, pairs.both + pairs.second
        n = first + pairs.second + pairs.neither
        high = low = pairs.difference
        variance = (pairs.first + pairs.second) / n**2
        if of_ratio is not None:
            one_of_none = (np.minimum(first, second) < 1) & (np.maximum(first, second) >= 1)
            one, other = np.maximum(first, one_of_none), np.maximum(second, one_of_none)
            moved = one - first + other - second
            variance = (pairs.first + pairs.second - moved) / (one * other)
            change = np.log(one / other)
            # An infinite increase is never the smaller of two changes, and an infinite decrease is
            # never the larger.
            high = np.where(one_of_none & (first < second), -np.inf, change)
            low = np.where(one_of_none & (first > second), np.inf, change)
        for stratum, row in enumerate(takes_part & (n > 0)):
            spread = variance[stratum, row]
            z = high[stratum, row][:, None] - low[stratum, row]
            z /= np.sqrt(spread[:, None] + spread)
            sides = (find_gaps((side / n)[stratum, row]) for side in (first, second))
            found.append((stratum, np.nan_to_num(z, posinf=0.0), np.subtract(*sides)))

    def smallest(is_beyond: IsBeyond | None = None) -> Floats:
        p = np.full((len(evaluation.value), 1), 1.0 if is_beyond is None else np.nan)
        for stratum, z, change in found:
            decides = np.ones(z.shape, np.bool_) if is_beyond is None else is_beyond(change)
            if decides.any():
                largest = np.array(z.max(where=decides, initial=0.0))
                count = max(len(z) * (len(z) - 1) / 2 * len(rates), 1)
                corrected = multiplicity.sidak(distributions.normal_two_sided(largest), count)
                p[stratum] = np.fmin(p[stratum], corrected)
        return p

    key = ("equal changes", evaluation.metric.id, of_ratio is not None)
    return Tests(smallest(), (EQUAL_CHANGES,), key=key, beyond=smallest)


_MOST_EXTREME = 100
"""With more groups than this, no group is tested against an extreme one: each test needs a search.
"""

_NEAR = 1e-12
_ROUNDING = 2e-16
_FARTHEST = 37.5
"""The largest z that is tried; a larger z has a p-value without full precision."""
_STEPS = 60
_CLOSE = 1e-9


def invert_intervals(evaluation: Evaluation) -> Tests:
    """Tests from intervals: p is the level at which the interval just reaches parity."""
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

    def margin(z: Floats) -> Floats:
        """Distance of parity from the interval at the level of z; negative if parity is inside."""
        alpha = np.asarray(distributions.normal_two_sided(z))
        if isinstance(metric, TableMetric):
            alpha = alpha[:, 0]  # such a metric has one value for each stratum
        if to_extreme:
            # Each group needs its own level, but one call has one level for all groups.
            low, high = np.full_like(z, np.nan), np.full_like(z, np.nan)
            for group in judged:
                ends = find_intervals(evaluation, alpha[:, group : group + 1])
                low[:, group], high[:, group] = ends.low[:, group], ends.high[:, group]
        else:
            ends = find_intervals(evaluation, alpha)
            low, high = ends.low, ends.high
        return np.where(distance > 0, low - ideal, ideal - high)

    # Margins are compared with the distance, which must be finite.
    z = _find_root(margin, np.where(np.isinf(distance), 1.0, np.abs(distance)))
    # If the value is at parity, each interval contains it.
    p = np.where(np.abs(distance) < _NEAR, 1.0, distributions.normal_two_sided(z))
    p = np.where(np.isnan(intervals.low) | np.isnan(intervals.high), np.nan, p)
    # The key names the comparison, because a ratio and a difference have different intervals.
    comparison = metric.comparison.id if isinstance(metric, Disparity) else ""
    terms = evaluation.terms
    average = None if terms.average is None else str(terms.average)
    including = terms.policy if terms.policy in INCLUDING_GROUP else None
    key = (metric.id, comparison, terms.parameters, average, including)
    return Tests(p, ("from the interval",), key=key, joint=to_extreme)


def _find_root(margin: Callable[[Floats], Floats], distance: Floats) -> Floats:
    """The z at which a falling margin (`distance` at z = 0) is 0, found by secants and halving."""
    low, at_low = np.zeros_like(distance), np.array(distance)
    high, at_high = np.full_like(distance, _FARTHEST), np.full_like(distance, np.nan)
    z = np.full_like(distance, 2.0)
    was_outside = np.zeros(distance.shape, dtype=bool)
    settled = ~(distance >= _NEAR)  # parity itself, and undefined values
    for step in range(_STEPS):
        here = margin(z)
        outside = here > 0
        # If the interval is cut off at parity, all larger z have a margin of 0: find the smallest.
        is_root = ~(np.abs(here) >= np.maximum(_NEAR * distance, _ROUNDING))
        settled |= is_root & ((here != 0) | (at_high < 0))
        # If one end stays twice, its margin is halved, so that this end moves (Illinois method).
        stayed = np.where((outside == was_outside) & (step > 0), 0.5, 1.0)
        at_high = np.where(outside, at_high * stayed, here)
        at_low = np.where(outside, here, at_low * stayed)
        was_outside = outside
        low, high = np.where(outside, z, low), np.where(outside, high, z)
        secant = low + (high - low) * at_low / (at_low - at_high)
        # The secant is not used for margins that are 0 or infinite.
        usable = np.isfinite(secant) & (at_high < 0) & (secant > low) & (secant < high)
        middle = np.where(np.isnan(at_high), np.minimum(2 * z, _FARTHEST), (low + high) / 2)
        z = np.where(settled, z, np.where(usable, secant, middle))
        if not (~settled & (high - low > _CLOSE * np.maximum(high, 1.0))).any():
            break
    return z
