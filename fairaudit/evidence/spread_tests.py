"""Tests of all groups at once: of spreads, of means over groups, and of measures of whole tables.

Every stratum has one joint test (`joint_tests`); here they become the tests of an evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fairaudit.arrays import Floats, Marks
from fairaudit.evidence import clusters
from fairaudit.evidence.interval_tests import invert_intervals
from fairaudit.evidence.joint_tests import (
    JointTest,
    StratumStatistic,
    compare_classes,
    compare_means,
)
from fairaudit.evidence.tests import (
    IsBeyond,
    PairFilter,
    Statistic,
    TestKey,
    Tests,
    find_test_key,
    make_pair_filter,
)
from fairaudit.metrics import Disparity, Evaluation, GroupValues, Requirement, TableMetric
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST
from fairaudit.stats import distributions, multiplicity


def run_spread_tests(evaluation: Evaluation, values: GroupValues) -> Tests:
    """The tests that all groups that take part are alike."""
    disparity = evaluation.metric
    assert isinstance(disparity, Disparity)
    if values.clustered is not None:
        return _run_clustered_tests(evaluation, values)
    if not values.binomial and values.deviation is None:
        why = "no test of a mean over groups"
        return Tests.none(evaluation, why) if disparity.mean else invert_intervals(evaluation)
    joint_tests = run_joint_tests(evaluation, values, weighted=values.weight_sum is not None)
    return _stack_spread_tests(evaluation, values, joint_tests)


def run_joint_tests(
    evaluation: Evaluation, values: GroupValues, *, weighted: bool
) -> list[JointTest]:
    """The test of every stratum that its groups are alike; of shares or of means."""
    among, inference = evaluation.takes_part, evaluation.terms.inference
    if not values.binomial:
        return [compare_means(values, z, groups, inference) for z, groups in enumerate(among)]
    effective_n = np.nan_to_num(values.effective_n)
    hits = np.nan_to_num(values.value) * effective_n
    return [
        compare_classes(counts, groups, inference, weighted=weighted)
        for counts, groups in zip(np.stack([effective_n - hits, hits], axis=1), among, strict=True)
    ]


def _run_clustered_tests(evaluation: Evaluation, values: GroupValues) -> Tests:
    """The same of shares in clusters: z of two groups, of more the sizes that serve every pair."""
    robust = clusters.adjust_for_pairs(values, evaluation.takes_part)
    joint_tests = run_joint_tests(evaluation, robust, weighted=True)
    tests = _stack_spread_tests(evaluation, values, joint_tests)
    is_pair = clusters.has_two_groups(evaluation)
    pair_p = clusters.run_pair_z_test(*clusters.find_spread_pair(evaluation, values))[:, :1]
    beyond = tests.beyond

    def beyond_or_pair(is_beyond: IsBeyond) -> Floats:
        assert beyond is not None
        return np.where(is_pair, pair_p, beyond(is_beyond))

    return replace(
        tests,
        p=np.where(is_pair, pair_p, tests.p),
        names=(f"z, {CLUSTER_ROBUST}", *(f"{name}, {CLUSTER_ROBUST}" for name in tests.names)),
        index=np.where(is_pair, 0, tests.name_index + 1),
        why=clusters.FEW_CLUSTERS,
        statistic=None,
        beyond=None if beyond is None else beyond_or_pair,
    )


def _stack_spread_tests(
    evaluation: Evaluation, values: GroupValues, joint_tests: Sequence[JointTest]
) -> Tests:
    """The joint tests of a spread; those of a mean over groups know of no pair beyond a limit."""
    is_mean = isinstance(evaluation.metric, Disparity) and evaluation.metric.mean
    pair_filter = None if is_mean else lambda is_beyond: make_pair_filter(evaluation, is_beyond)
    return _stack_strata(joint_tests, find_test_key(values, evaluation), pair_filter)


def _stack_strata(
    joint_tests: Sequence[JointTest],
    key: TestKey,
    make_filter: Callable[[IsBeyond], PairFilter] | None = None,
) -> Tests:
    """The joint tests of all strata as a column."""
    names = tuple(dict.fromkeys(test.name for test in joint_tests)) or ("χ²",)

    def beyond(is_beyond: IsBeyond) -> Floats:
        assert make_filter is not None
        pair_filter = make_filter(is_beyond)
        return _column([
            test.p if test.beyond is None else test.beyond(pair_filter) for test in joint_tests
        ])  # fmt: skip

    return Tests(
        _column([test.p for test in joint_tests]),
        names,
        _column([names.index(test.name) for test in joint_tests]).astype(np.int64),
        key,
        statistic=_stack_statistics([test.statistic for test in joint_tests]),
        beyond=None if make_filter is None else beyond,
    )


def _column(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def _stack_statistics(statistics: Sequence[StratumStatistic | None]) -> Statistic | None:
    """Those of all strata as columns; NaN where a stratum has another test."""
    known = next((statistic for statistic in statistics if statistic is not None), None)
    if known is None:
        return None
    letter, _, freedom = known
    none = (letter, float("nan"), (float("nan"),) * len(freedom))
    rows = [
        none if statistic is None or statistic[0] != letter else statistic
        for statistic in statistics
    ]
    columns = zip(*(freedom for *_, freedom in rows), strict=True)
    return Statistic(letter, _column([value for _, value, _ in rows]), tuple(map(_column, columns)))


def run_table_tests(metric: TableMetric, evaluation: Evaluation) -> Tests:
    """The tests that outcomes are independent of groups; of some measures another one."""
    if metric.standard_normal:
        p = np.asarray(distributions.normal_two_sided(evaluation.value))
        return Tests(p, (metric.title,), key=(metric.id,))
    if metric.independence is None:
        return invert_intervals(evaluation)
    terms, table = evaluation.terms, evaluation.table
    by_classes = table.clusters is not None and Requirement.CLASSES in metric.requirements
    gap = clusters.evaluate_rate_gap(evaluation) if by_classes else None
    if gap is not None and gap.group_values is not None:
        return replace(_run_clustered_tests(gap, gap.group_values), beyond=None)
    tests = [
        _run_independence_tests(metric, evaluation, counts)
        for counts in metric.independence(table, terms.minimum, terms.parameters)
    ]
    if len(tests) > 1:
        return _take_smallest(tests)
    cells = metric.cells if len(table.classes) == 2 and not metric.information else frozenset()
    return replace(tests[0], key=(cells,)) if cells else tests[0]


def _run_independence_tests(metric: TableMetric, evaluation: Evaluation, counts: Floats) -> Tests:
    """The tests of one table [Z, K, G]."""
    table = evaluation.table
    limited = _find_limited_shares(metric, evaluation, counts)
    joint_tests = [
        compare_classes(
            counts[z],
            groups,
            evaluation.terms.inference,
            weighted=table.squares is not None or table.clusters is not None,
            information=metric.information,
            limited=None if limited is None else limited[z],
        )
        for z, groups in enumerate(evaluation.takes_part)
    ]
    key = (metric.independence, metric.information)
    return _stack_strata(joint_tests, key, None if limited is None else _filter_log_ratios)


def _take_smallest(tests: Sequence[Tests]) -> Tests:
    """Of several tables the smallest p-value, for so many (Šidák)."""

    def correct(p: list[Floats]) -> Floats:
        return np.asarray(multiplicity.sidak(np.fmin.reduce(p), len(tests)))

    return Tests(
        correct([test.p for test in tests]),
        (f"{tests[0].names[0]}, Šidák over {len(tests)}",),
        key=tests[0].key,
        beyond=lambda is_beyond: correct([
            test.p if test.beyond is None else test.beyond(is_beyond) for test in tests
        ]),
    )  # fmt: skip


def _find_limited_shares(
    metric: TableMetric, evaluation: Evaluation, counts: Floats
) -> Floats | None:
    """The probabilities [Z, K, G] whose log-ratios a limit on ε is held against; else None."""
    if not metric.of_log_ratios:
        return None
    alpha = evaluation.terms.parameters.per_outcome(counts.shape[1])
    smoothed = counts + alpha
    return np.asarray(smoothed / smoothed.sum(axis=1, keepdims=True))


def _filter_log_ratios(is_beyond: IsBeyond) -> PairFilter:
    """Which pairs of probabilities are so far apart."""

    def is_pair_beyond(high: Floats, low: Floats) -> Marks:
        with np.errstate(divide="ignore", invalid="ignore"):
            return is_beyond(np.log(high) - np.log(low))

    return is_pair_beyond
