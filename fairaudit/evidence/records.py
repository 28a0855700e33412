"""Records of evidence: tests (`Tests`, `JointTest`) and the compared groups (`ComparisonPart`).

The module also has the reasons why a value has no interval or no test, such as few people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Annotated, TypeAlias

import numpy as np

from fairaudit.base.arrays import Ends, Floats, Ints, Marks
from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import RARE, Frozen, field, memoize, replace
from fairaudit.cube import Group, GroupTable
from fairaudit.evidence.metric_bounds import (
    Placement,
    find_class_ranges,
    find_crowd_range,
    find_rate_ranges,
)
from fairaudit.metrics import Disparity, Evaluation, GroupMetric, GroupValues, is_over_classes
from fairaudit.metrics.clustered_variance import FEWEST_CLUSTERS
from fairaudit.metrics.differential_fairness import DIFFERENTIAL_FAIRNESS
from fairaudit.metrics.disparities import OverGroups
from fairaudit.metrics.estimate import MASKED_RANGE, Estimate, SecondTest, Significance
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST
from fairaudit.metrics.terms import NO_GROUP, Correction
from fairaudit.stats import multiplicity

FEW_CLUSTERS = f"fewer than {FEWEST_CLUSTERS} effective clusters in a group (n² / Σ n_c²)"
NO_CLUSTER_VARIANCE = "its variance between clusters is not estimated"
NO_WEIGHTED_VARIANCE = "its variance under unequal weights is not estimated"
STRATA_ARE_ESTIMATED = (
    "the mix of strata is an estimate, too, and no interval here takes that into account"
)
MEAN_IS_BIASED = "biased away from parity by chance"
NO_TEST_OVER_GROUPS = "one number over groups has no test; without `aggregate` each group has one"
MASKED_COUNTS = "masked counts hide people of a group, and not by chance"
UNKNOWN_WEIGHT = "everybody has the same outcome, so the weight of the other outcome is unknown"
TOO_LITTLE_VARIATION = "none: too little variation to test"
EXTREME_IS_CHOSEN = (
    "the extreme group is chosen from the same data, and no interval here takes that into account"
)
ONE_GROUP = "a test compares two groups, and this is the value of one group"


class NoInterval(Exception):
    """Raised if a value has no interval; the message is the reason."""


def explain_group_without_interval(values: GroupValues, place: tuple[int, int]) -> str:
    """The reason why the value of a group has no interval."""
    if values.n[place] < values.metric.min_people:
        return f"none: fewer than {values.metric.min_people} people"
    by_clusters = values.method.endswith(CLUSTER_ROBUST)
    if values.ends is not None:
        return f"none: {FEW_CLUSTERS}" if by_clusters else TOO_LITTLE_VARIATION
    return f"none: {NO_CLUSTER_VARIANCE if by_clusters else values.metric.no_interval}"


TestKey: TypeAlias = tuple[object, ...]
"""A key of a test. Two tests of the same counts with the same method have equal keys."""

IsBeyond: TypeAlias = Callable[[Floats], Marks]
"""A function that marks the values of a metric beyond a limit."""

PairFilter: TypeAlias = Callable[[Floats, Floats], Marks]
"""A function that marks the pairs of values whose difference or ratio is beyond a limit."""

SignificanceAt: TypeAlias = Callable[[int, int], Significance | None]
"""A function that returns the test of the value at a stratum and a column; None without a test."""

StratumStatistic: TypeAlias = tuple[str, float, tuple[float, ...]]
"""A test statistic of one stratum: its letter, its value, its degrees of freedom."""


class Statistic(Frozen, eq=False):
    """The test statistic [Z, W] of each value, with its letter and its degrees of freedom."""

    letter: str
    value: Floats
    freedom: tuple[Floats, ...]


class SideTest(Frozen, eq=False):
    """An additional test, whose hypothesis is not about the printed number.

    For example, the hypothesis is that groups are equal in each stratum, but the number is an
    average. If `stays_open`, a check is inconclusive if only the additional test is significant.
    """

    name: str
    hypothesis: str
    p: Floats
    stays_open: bool = False


class Tests(Frozen, eq=False):
    """The p-value and the test of each value of an evaluation, as arrays [Z, W].

    A p-value is NaN without a test, and `why` is the reason. `names` are the names of all tests
    that are used, and `index` is the index of each test in `names`. `key` identifies the
    hypothesis: tests with the same key and the same groups are one test. `joint` is set if the
    tests of a stratum already account for each other: a family counts them as one test, with the
    smallest p-value. If a value is the largest of several candidates, `beyond` computes the p-value
    of the candidates that are beyond a limit.
    """

    p: Floats
    names: tuple[str, ...] = ("",)
    index: Ints | None = None
    key: TestKey = ()
    why: str = ""
    joint: bool = False
    statistic: Statistic | None = None
    beyond: Callable[[IsBeyond], Floats] | None = None
    side_test: SideTest | None = None

    @classmethod
    def none(cls, evaluation: Evaluation, why: str) -> Tests:
        """The record of an evaluation without tests, for the reason `why`."""
        return cls(np.full_like(evaluation.value, np.nan), why=why)

    @property
    def name_index(self) -> Ints:
        """The index of each test in `names`, also if all tests have one name."""
        return np.zeros(self.p.shape, dtype=np.int64) if self.index is None else self.index

    def significance_at(
        self, z: int, w: int, adjusted: float, family: int, correction: str
    ) -> Significance:
        """The test of one value, with its statistic and its additional test, if they exist."""
        letter, value = "", None
        freedom: tuple[float, ...] = ()
        if self.statistic is not None and math.isfinite(self.statistic.value[z, w]):
            letter, value = self.statistic.letter, float(self.statistic.value[z, w])
            freedom = tuple(float(df[z, w]) for df in self.statistic.freedom)
        side, beside = self.side_test, None
        if side is not None and not math.isnan(side.p[z, w]):
            beside = SecondTest(side.name, side.hypothesis, float(side.p[z, w]))
        name = self.names[int(self.name_index[z, w])]
        return Significance(
            name, float(self.p[z, w]), adjusted, family,
            correction, letter, value, freedom, beside,
        )  # fmt: skip

    def correct_strata(self, among: Marks, correction: Correction) -> SignificanceAt:
        """A function that returns the tests of the values in `among`, corrected in each stratum."""
        p = np.where(among, self.p, np.nan)
        adjusted = np.array([correction.adjust(stratum) for stratum in p]).reshape(p.shape)
        families = np.count_nonzero(~np.isnan(p), axis=1).tolist()

        def significance_at(z: int, w: int) -> Significance | None:
            if np.isnan(adjusted[z, w]):
                return None
            corrected = float(adjusted[z, w])
            return self.significance_at(z, w, corrected, families[z], correction.words)

        return significance_at


class JointTest(Frozen):
    """The test of whether all groups of one stratum are equal.

    `beyond` computes the p-value of the pairs of groups that are beyond a limit. The p-value
    includes the joint test of the large groups if their highest and lowest group are such a pair.
    `beyond` is None if the test covers all groups jointly.
    """

    p: float
    name: str
    statistic: StratumStatistic | None = None
    beyond: Callable[[PairFilter], float] | None = None


def stack_strata(
    joint_tests: Sequence[JointTest],
    key: TestKey,
    make_filter: Callable[[IsBeyond], PairFilter] | None = None,
) -> Tests:
    """The joint tests of all strata as arrays [Z, 1]; `make_filter` makes a filter for a limit."""
    names = tuple(dict.fromkeys(test.name for test in joint_tests)) or ("χ²",)

    def beyond(is_beyond: IsBeyond) -> Floats:
        assert make_filter is not None
        pair_filter = make_filter(is_beyond)
        return _column([
            test.p if test.beyond is None else test.beyond(pair_filter) for test in joint_tests
        ])  # fmt: skip

    # Strata whose test has another statistic get NaN.
    known = next((test.statistic for test in joint_tests if test.statistic is not None), None)
    statistic = None
    if known is not None:
        letter, none = known[0], (known[0], float("nan"), (float("nan"),) * len(known[2]))
        found = [test.statistic or none for test in joint_tests]
        rows = [one if one[0] == letter else none for one in found]
        columns = zip(*(freedom for *_, freedom in rows), strict=True)
        values = _column([value for _, value, _ in rows])
        statistic = Statistic(letter, values, tuple(map(_column, columns)))
    return Tests(
        _column([test.p for test in joint_tests]),
        names,
        _column([names.index(test.name) for test in joint_tests]).astype(np.int64),
        key,
        statistic=statistic,
        beyond=None if make_filter is None else beyond,
    )


def take_smallest(tests: Sequence[Tests]) -> Tests:
    """For each value, the test with the smallest p-value, corrected for the number of `tests`."""

    def smallest(p: Sequence[Floats]) -> Floats:
        return np.asarray(multiplicity.sidak(np.fmin.reduce(p), len(tests)))

    decisive = np.argmin([np.nan_to_num(test.p, nan=np.inf) for test in tests], axis=0)
    starts = np.cumsum([0, *(len(test.names) for test in tests[:-1])])
    index = np.stack([start + test.name_index for start, test in zip(starts, tests, strict=True)])
    return Tests(
        smallest([test.p for test in tests]),
        tuple(f"{name}, Šidák over {len(tests)} tests" for test in tests for name in test.names),
        np.take_along_axis(index, decisive[None], axis=0)[0],
        key=tuple(test.key for test in tests),
        why=next((test.why for test in tests if test.why), ""),
        beyond=lambda is_beyond: smallest([
            test.p if test.beyond is None else test.beyond(is_beyond) for test in tests
        ]),
    )  # fmt: skip


def _column(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def find_test_key(values: GroupValues, evaluation: Evaluation) -> TestKey:
    """The key of a test. Shares of the same counts, such as TPR and FNR, have the same key."""
    metric = values.metric
    if values.binomial:
        return (frozenset(getattr(metric, "cells", ())),)
    return metric.id, evaluation.terms.parameters if metric.parameters else None


@declare_subjects(row="group estimate crowd")
class Side(Frozen):
    """One side of a comparison with its value: a group, or pooled people (`rest`, `overall`)."""

    group: Group
    estimate: Estimate = field(name="*estimate")
    crowd: str | None = None


@declare_subjects(row="metric value first second outcome", nobody="of")
class ComparisonPart(Frozen):
    """One of the comparisons that a value is computed from, with its rate or outcome and sides.

    `of` is the model of the comparison, if two models are compared.
    """

    metric: str
    value: float
    first: Side | None = None
    second: Side | None = None
    outcome: str | None = None
    of: Annotated[str | None, RARE] = None

    @property
    def sides(self) -> list[Side]:
        """The sides that exist, the first side first."""
        return [side for side in (self.first, self.second) if side is not None]


@memoize
def build_estimate(values: GroupValues, z: int, g: int, alpha: float) -> Estimate:
    """The value of a group in a stratum, with its counts and interval."""
    place = (z, g)
    low, high = (float(end[place]) for end in values.interval(alpha))
    value, why = float(values.value[place]), ""
    if math.isnan(low) and not math.isnan(value):
        why = explain_group_without_interval(values, place)
    return Estimate(
        value=value,
        n=int(values.n[place]),
        numerator=None if values.over is None else int(values.over[place]),
        denominator=None if values.under is None else int(values.under[place]),
        scale=values.scale,
        weighted=values.weight_sum is not None,
        method="" if why else values.method,
        no_interval=why,
        low=None if math.isnan(low) else low,
        high=None if math.isnan(high) else high,
        error=0.0 if values.error is None else float(values.error[place]),
        borrows=values.pools_variance is not None and bool(values.pools_variance[place]),
    )


def estimate_group(evaluation: Evaluation, values: GroupValues, z: int, g: int) -> Estimate:
    """The value of a group with its interval, or with its possible range if counts are masked."""
    estimate = build_estimate(values, z, g, evaluation.terms.inference.alpha)
    if not evaluation.table.masked:
        return estimate
    is_of_table = evaluation.averaged is None and evaluation.strata is None
    ranges = find_rate_ranges(evaluation.table, values.metric) if is_of_table else []
    return _write_all_ranges(estimate, ranges, z, g)


def _write_all_ranges(estimate: Estimate, ranges: Sequence[Ends], z: int, g: int) -> Estimate:
    estimate = write_masked_range(estimate, ranges[0] if ranges else None, z, g)
    counts = ((int(low[z, g]), int(high[z, g])) for low, high in ranges[1:])
    return replace(estimate, **dict(zip(("numerators", "denominators"), counts, strict=False)))


def write_masked_range(estimate: Estimate, ends: Ends | None, z: int, w: int) -> Estimate:
    """The estimate, in which the range over masked counts replaces the interval.

    A value that masked counts cannot change keeps its interval.
    """
    if math.isnan(estimate.value):
        return estimate
    if ends is None:
        why = f"none: {MASKED_COUNTS}"
        return replace(estimate, low=None, high=None, method="", no_interval=why)
    low, high = (float(end[z, w]) for end in ends)
    if low == high:
        return estimate
    return replace(estimate, low=low, high=high, method=MASKED_RANGE, no_interval="")


def find_parts(evaluation: Evaluation, z: int, w: int) -> tuple[ComparisonPart, ...]:
    """The comparisons that one value is computed from, with both sides.

    For a number over all groups, only the group that is farthest from parity is compared.
    """
    if evaluation.parts:
        parts: list[Sequence[ComparisonPart]] = [
            find_parts(part, z, w) for part in evaluation.parts
        ]
        if evaluation.subtracts:
            if isinstance(evaluation.metric, GroupMetric):
                parts = [
                    [ComparisonPart(part.metric.id, value, _make_side(part, values, z, w))]
                    for part in evaluation.parts
                    if (values := part.group_values)
                    and not math.isnan(value := float(part.value[z, w]))
                ]
            sides = zip(evaluation.parts, parts, strict=True)
            parts = [[replace(part, of=inner.table.of) for part in own] for inner, own in sides]
        elif is_over_classes(evaluation.metric):
            named = zip(evaluation.names, parts, strict=True)
            parts = [[replace(part, outcome=name) for part in own] for name, own in named]
        return tuple(chain.from_iterable(parts))
    if (each := evaluation.by_group) is not None and isinstance(each.metric, Disparity):
        with np.errstate(all="ignore"):
            apart = replace(each.metric, over_groups=OverGroups.MAX).size_of(each.value[z])
        is_known = each.judged[z] & ~np.isnan(apart)
        return find_parts(each, z, int(np.where(is_known, apart, -np.inf).argmax()))
    if evaluation.table_value is not None:
        return _find_outcome_parts(evaluation, z)
    values = evaluation.group_values
    if values is None or not isinstance(evaluation.metric, Disparity):
        return ()
    first, second = int(evaluation.first[z, w]), int(evaluation.second[z, w])
    if evaluation.metric.comparison.sides_of is not None and first != NO_GROUP:
        return (_find_row_part(evaluation, evaluation.metric, (z, w)),)
    # The id in the catalogue, because `values.metric` may be a variant for this data.
    listed = evaluation.metric.parts[0][0]
    return (
        ComparisonPart(
            listed.id if listed.shown else values.metric.id,
            float(evaluation.value[z, w]),
            None if first == NO_GROUP else _make_side(evaluation, values, z, first),
            _find_reference_side(evaluation, z, w, second),
        ),
    )


def _find_row_part(
    evaluation: Evaluation, disparity: Disparity, place: tuple[int, int]
) -> ComparisonPart:
    """The comparison of two groups of people for a metric of single people."""
    values, reference = evaluation.group_values, evaluation.reference_values
    value, second = float(evaluation.value[place]), int(evaluation.second[place])
    if values is None or reference is None or math.isnan(value):
        return ComparisonPart(disparity.id, value)
    assert disparity.comparison.sides_of is not None
    own, other = disparity.comparison.sides_of(values, reference, *place)
    side = Side(evaluation.table.groups[int(evaluation.first[place])], own)
    if other is None:
        return ComparisonPart(disparity.id, value, side)
    crowd = str(evaluation.terms.policy) if second == NO_GROUP else None
    beside = Side(group_at(evaluation.table, second), other, crowd)
    return ComparisonPart(disparity.parts[0][0].id, value, side, beside)


def group_at(table: GroupTable, index: int) -> Group:
    """The group at an index; () for pooled people, whose index is negative."""
    return table.groups[int(index)] if index >= 0 else ()


def _find_reference_side(evaluation: Evaluation, z: int, w: int, second: int) -> Side | None:
    metric, values = evaluation.metric, evaluation.reference_values
    if isinstance(metric, Disparity) and metric.comparison.one_sided:
        return None
    # An average uses the strata of both sides, so the value of a reference differs by group.
    beside_each = values is not None and evaluation.averaged is not None
    if second != NO_GROUP and evaluation.group_values is not None and not beside_each:
        return _make_side(evaluation, evaluation.group_values, z, second)
    if values is None or (second == NO_GROUP and evaluation.terms.reference is None):
        return None
    estimate = build_estimate(values, z, w, evaluation.terms.inference.alpha)
    if evaluation.table.masked:
        ends = find_crowd_range(values.metric, evaluation) if second == NO_GROUP else None
        estimate = write_masked_range(estimate, ends, z, w)
    if second != NO_GROUP:
        return Side(evaluation.table.groups[second], estimate)
    return Side((), estimate, crowd=str(evaluation.terms.policy))


def _make_side(evaluation: Evaluation, values: GroupValues, z: int, g: int) -> Side:
    return Side(evaluation.table.groups[g], estimate_group(evaluation, values, z, g))


def _find_outcome_parts(evaluation: Evaluation, z: int) -> tuple[ComparisonPart, ...]:
    """The groups and the outcome that determine ε; two such parts for a difference of two ε."""
    whole = evaluation.table_value
    assert whole is not None
    parts = []
    is_counted = evaluation.table.squares is None
    for name, table_value in whole.parts or ((evaluation.metric.id, whole),):
        value, y = float(table_value.value[z]), int(table_value.outcome[z])
        if y == NO_GROUP:
            if whole.parts:
                parts.append(ComparisonPart(name, value))
            continue
        sides = []
        for g in (int(table_value.highest_group[z]), int(table_value.lowest_group[z])):
            count = float(table_value.counts[z, y, g])
            total = float(table_value.counts[z, :, g].sum())
            share = Estimate(
                value=count / total if total else math.nan,
                n=int(table_value.n[z, g]),
                numerator=round(count) if is_counted else None,
                denominator=round(total) if is_counted else None,
            )
            if evaluation.table.masked:
                ranges: Sequence[Ends] = ()
                if name == DIFFERENTIAL_FAIRNESS.id:
                    ranges = find_class_ranges(evaluation.table, [y], Placement.ANYWHERE)
                share = _write_all_ranges(share, ranges[: 3 if is_counted else 1], z, g)
            sides.append(Side(evaluation.table.groups[g], share))
        highest, lowest = sides
        parts.append(ComparisonPart(name, value, highest, lowest, table_value.outcomes[y]))
    return tuple(parts)
