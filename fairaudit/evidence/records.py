"""Tests during computation, as arrays (`Tests`, `SideTest`, `JointTest`), and their keys.

Also the reasons why a value has no interval or no test: few people or clusters, no variation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.frozen import Frozen
from fairaudit.metrics import Evaluation, GroupMetric, GroupValues
from fairaudit.metrics.clustered_variance import FEWEST_CLUSTERS
from fairaudit.metrics.estimate import SecondTest, Significance
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST
from fairaudit.metrics.inference import Correction
from fairaudit.stats import multiplicity

FEW_CLUSTERS = f"fewer than {FEWEST_CLUSTERS} effective clusters in a group (n² / Σ n_c²)"
NO_CLUSTER_VARIANCE = "its variance between clusters is not estimated"
NO_WEIGHTED_VARIANCE = "its variance under unequal weights is not estimated"
STRATA_ARE_ESTIMATED = "how the strata are filled is estimated too"
MEAN_IS_BIASED = "biased away from parity by chance"
NO_TEST_OVER_GROUPS = "one number over groups has no test; without `aggregate` each group has one"
TOO_LITTLE_VARIATION = "none: too little variation to test"
EXTREME_IS_CHOSEN = "the extreme group is chosen from the same data"
ONE_GROUP = "it is a number of one group, and a test needs two"


class NoInterval(Exception):
    """A value has no interval; the message is the reason."""


def explain_one_group(metric: GroupMetric) -> str:
    """Why the value of a single group has no test of disparity."""
    return ONE_GROUP.replace("it", metric.title.lower(), 1)


def explain_group_without_interval(values: GroupValues, place: tuple[int, int]) -> str:
    """Why the value of a group has no interval."""
    if values.n[place] < values.metric.min_people:
        return f"none: fewer than {values.metric.min_people} people"
    by_clusters = values.method.endswith(CLUSTER_ROBUST)
    if values.ends is not None:
        return f"none: {FEW_CLUSTERS}" if by_clusters else TOO_LITTLE_VARIATION
    return f"none: {NO_CLUSTER_VARIANCE if by_clusters else values.metric.no_interval}"


TestKey: TypeAlias = tuple[object, ...]
"""A key of a test: equal for the same counts, compared in the same way."""

IsBeyond: TypeAlias = Callable[[Floats], Marks]
"""A function that marks the values of a metric beyond a limit."""


PairFilter: TypeAlias = Callable[[Floats, Floats], Marks]
"""A function that marks the pairs of values that may decide: those beyond a limit."""

StratumStatistic: TypeAlias = tuple[str, float, tuple[float, ...]]
"""A test statistic: its letter, its value, its degrees of freedom."""


class Statistic(Frozen, eq=False):
    """The statistics before their p-values, [Z, W]: letter, values, degrees of freedom."""

    letter: str
    value: Floats
    freedom: tuple[Floats, ...]


class SideTest(Frozen, eq=False):
    """A test of another hypothesis than the printed number: its name and p-values.

    For example, that groups are equal in each stratum, in addition to an average over strata. If it
    is significant, and the average is beyond a limit without significance, the check `stays_open`.
    """

    name: str
    hypothesis: str
    p: Floats
    stays_open: bool = False


class Tests(Frozen, eq=False):
    """The p-value of each value, [Z, W], and its test; NaN, and the reason `why`, without one.

    `index` is the place in `names` of each test. `key` identifies the hypothesis: tests with the
    same key and groups are the same. `joint` tests already account for each other: a family counts
    them as one test, with the smallest p-value. `beyond` computes p-values of the values beyond a
    limit, if a value is the largest of many.
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
        """No test of any value, and why."""
        return cls(np.full_like(evaluation.value, np.nan), why=why)

    @property
    def name_index(self) -> Ints:
        """The place in the names of each value."""
        return np.zeros(self.p.shape, dtype=np.int64) if self.index is None else self.index

    def p_beyond(self, value: Floats, is_beyond: IsBeyond) -> Floats:
        """The p-values of the candidates beyond a limit; NaN without any."""
        if self.beyond is not None:
            return self.beyond(is_beyond)
        return np.where(is_beyond(value), self.p, np.nan)

    def significance_at(
        self, z: int, w: int, adjusted: float, family: int, correction: str
    ) -> Significance:
        """The test of one value, with its statistic if it has one."""
        letter, value = "", None
        freedom: tuple[float, ...] = ()
        if self.statistic is not None and math.isfinite(self.statistic.value[z, w]):
            letter, value = self.statistic.letter, float(self.statistic.value[z, w])
            freedom = tuple(float(df[z, w]) for df in self.statistic.freedom)
        side, beside = self.side_test, None
        if side is not None and not math.isnan(side.p[z, w]):
            beside = SecondTest(side.name, side.hypothesis, float(side.p[z, w]))
        name = self.names[0 if self.index is None else int(self.index[z, w])]
        return Significance(
            name, float(self.p[z, w]), adjusted, family,
            correction, letter, value, freedom, beside,
        )  # fmt: skip

    def correct_strata(self, among: Marks, correction: Correction) -> CorrectedTests:
        """The tests of the values `among`; those of a stratum are one family."""
        p = np.where(among, self.p, np.nan)
        adjusted = np.array([correction.adjust(stratum) for stratum in p]).reshape(p.shape)
        families = np.count_nonzero(~np.isnan(p), axis=1).tolist()
        return CorrectedTests(self, adjusted, tuple(families), correction.words)


class CorrectedTests(Frozen, eq=False):
    """Tests that are adjusted in each stratum, [Z, W], for the size of its family."""

    tests: Tests
    adjusted: Floats
    families: tuple[int, ...]
    correction: str

    def at(self, z: int, w: int) -> Significance | None:
        """The test of one value; None without a test."""
        adjusted = float(self.adjusted[z, w])
        if math.isnan(adjusted):
            return None
        return self.tests.significance_at(z, w, adjusted, self.families[z], self.correction)


class JointTest(Frozen):
    """The test of one stratum that all groups are equal.

    `beyond` computes the p-value of values beyond a limit, from the pairs of such values; the large
    groups are used if their extremes are such a pair. None if a single joint test covers all
    groups.
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
    """The joint tests of all strata as a column."""
    names = tuple(dict.fromkeys(test.name for test in joint_tests)) or ("χ²",)

    def beyond(is_beyond: IsBeyond) -> Floats:
        assert make_filter is not None
        pair_filter = make_filter(is_beyond)
        return _column([
            test.p if test.beyond is None else test.beyond(pair_filter) for test in joint_tests
        ])  # fmt: skip

    # NaN for strata with another test.
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
    """The smallest p-value of several tests, corrected for their number (Šidák), with its test."""

    def smallest(p: Sequence[Floats]) -> Floats:
        return np.asarray(multiplicity.sidak(np.fmin.reduce(p), len(tests)))

    decisive = np.argmin([np.nan_to_num(test.p, nan=np.inf) for test in tests], axis=0)
    starts = np.cumsum([0, *(len(test.names) for test in tests[:-1])])
    index = np.stack([start + test.name_index for start, test in zip(starts, tests, strict=True)])
    return Tests(
        smallest([test.p for test in tests]),
        tuple(f"{name}, Šidák over {len(tests)}" for test in tests for name in test.names),
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
    """The key of a share: true positive and false negative rates are tested by the same table."""
    metric = values.metric
    if values.binomial:
        return (frozenset(getattr(metric, "cells", ())),)
    return metric.id, evaluation.terms.parameters if metric.parameters else None
