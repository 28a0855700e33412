"""Tests of the difference of two groups, and of all pairs: z, Fisher, t, Mann–Whitney.

Two shares are tested by z, or by Fisher's test if expected counts are small or z is inexact far in
the tail. Groups of few people often have extreme shares by chance. They must not decide alone that
groups differ, and they must not hide differences between other groups. So for a maximum over pairs,
each pair is tested separately, and the smallest p-value is corrected for the number of pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.frozen import Frozen, replace
from fairaudit.evidence.records import IsBeyond, PairFilter, Statistic, Tests
from fairaudit.metrics import Disparity, Evaluation, GroupValues
from fairaudit.metrics.evaluation_record import compare_values
from fairaudit.metrics.group_metrics import ValueKind
from fairaudit.metrics.terms import FisherTest, Inference, TTest, ZTest
from fairaudit.stats import contingency, means, multiplicity, score_statistics
from fairaudit.stats.contingency import LEAST_EXPECTED
from fairaudit.stats.distributions import normal_two_sided

PairTest: TypeAlias = Callable[[Ints, Ints], tuple[Floats, Marks]]
"""A function that tests pairs of groups, given as two arrays of indices.

It returns the p-values, and marks the exact p-values. For each first group, only its smallest
p-value is used; its other p-values may be NaN.
"""

LARGE_GROUP = 10
"""The minimum size of a group for which Welch's F is reliable."""

FEW_EXPECTED = (
    f"if an expected count is below {LEAST_EXPECTED}, or if the p-value of z is below .025 "
    "and differs by more than 10 % from that of a more exact formula"
)
FEW_GROUPS = (
    f"for all groups together. If a group has an expected count below {LEAST_EXPECTED}, every pair "
    "is tested as well (z or Fisher, mid-p)."
)

_TEST_ALL_PAIRS = 64
"""With more groups than this, only the pairs that may differ most are tested."""

_NEAR = 0.25
"""Pairs whose root of G is at most this far below the largest may have the smallest exact p."""


def make_pair_filter(evaluation: Evaluation, is_beyond: IsBeyond) -> PairFilter:
    """A filter that marks the pairs of values whose disparity is beyond a limit."""
    disparity = evaluation.metric
    assert isinstance(disparity, Disparity)
    metric, comparison = disparity.parts[0]
    turned = comparison.is_max_min and not comparison.highest_first

    def is_pair_beyond(first: Floats, second: Floats) -> Marks:
        pair = (second, first) if turned else (first, second)
        with np.errstate(divide="ignore", invalid="ignore"):
            return is_beyond(compare_values(metric, comparison, *pair))

    return is_pair_beyond


def correct_over_pairs(tests: Tests, evaluation: Evaluation) -> Tests:
    """Corrects p-values for the number of pairs, because the data decide which group is extreme."""
    groups = np.maximum(evaluation.takes_part.sum(axis=1, keepdims=True), 2)
    if (groups == 2).all():
        return tests
    p = multiplicity.tukey_kramer(tests.p, groups)
    names = tuple(f"{name} over pairs" for name in tests.names)
    key = (*tests.key, "pairs", evaluation.takes_part.tobytes())
    return replace(tests, p=p, names=names, key=key, joint=True, statistic=None)


class Sample(NamedTuple):
    """Shares with their sample sizes, and with counts unless there are weights or clusters."""

    share: Floats
    size: Floats
    over: Ints | None
    under: Ints | None

    @classmethod
    def of(cls, values: GroupValues) -> Sample:
        """The shares [Z, G] of group values."""
        if values.weight_sum is not None or values.clustered is not None:
            return cls(values.value, values.effective_n, None, None)
        return cls(values.value, values.effective_n, values.over, values.under)

    @classmethod
    def of_counts(cls, over: Ints, under: Ints) -> Sample:
        """Shares from counts of people; NaN for empty groups."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(over / under, under.astype(np.float64), over, under)

    def round_counts(self) -> tuple[Ints, Ints]:
        """The numbers of positives and of people; without counts, rounded effective numbers.

        If both outcomes round to 0, the group counts as one person with the more frequent outcome.
        """
        if self.over is not None and self.under is not None:
            return self.over, self.under
        share, size = np.nan_to_num(self.share), np.nan_to_num(self.size)
        hits, misses = (np.rint(part * size).astype(np.int64) for part in (share, 1 - share))
        nobody = hits + misses == 0
        return np.where(nobody, np.rint(share), hits), np.where(nobody, 1, hits + misses)

    def at(self, index: int | Ints) -> Sample:
        """The samples at an index of the first axis."""
        over = None if self.over is None else self.over[index]
        under = None if self.under is None else self.under[index]
        return Sample(self.share[index], self.size[index], over, under)


def compare_shares(
    first: Sample, second: Sample, inference: Inference, owner: Ints | None = None
) -> tuple[Floats, Marks]:
    """The p-values of tests of whether two shares are equal, and marks of Fisher's tests.

    The arrays of both samples are broadcast. Fisher's test replaces z if an expected count is below
    5, or if the p-value of z is off by a tenth far in the tail. With survey weights, Fisher's test
    uses rounded effective numbers of people, which is an approximation. `owner` is the number of
    the group that each pair belongs to. With `owner`, only the smallest p-value of each group is
    needed, and other p-values may be NaN.
    """
    shares = (first.share, first.size, second.share, second.size)
    z = contingency.find_z(*shares, pooled=inference.z is ZTest.POOLED, yates=inference.yates)
    a, n, c, m = counts = np.broadcast_arrays(*first.round_counts(), *second.round_counts())
    # Integers are used because an expected count of 5 could be less than 5 in floats.
    fewer = np.minimum(a + c, n + m - a - c).astype(np.float64)
    exact = (fewer * np.minimum(n, m) < float(LEAST_EXPECTED) * (n + m)) & ~np.isnan(z)
    # With Yates' correction, z would seem inexact in the tail, so this z has no correction.
    tail = contingency.find_z(*shares) if inference.yates else z
    roots = contingency.find_far_roots(*shares, np.where(exact, np.nan, tail))
    far = ~np.isnan(roots)
    if owner is None:
        p = normal_two_sided(z)
    else:
        p, marks = np.full(z.shape, np.nan), _mark_farthest(np.where(exact | far, np.nan, z), owner)
        p[marks], far = normal_two_sided(z[marks]), far & _mark_farthest(roots, owner, _NEAR)
    exact = exact | far
    if exact.any():
        p = np.array(p)
        mid = inference.fisher is FisherTest.MID_P
        fisher = contingency.fisher_mid_p if mid else contingency.fisher
        p[exact] = fisher(*(count[exact] for count in counts))
    return p, exact


def _mark_farthest(z: Floats, owner: Ints, near: float = 0.0) -> Marks:
    """Marks the z of each owner that is farthest from 0, and other z at most `near` closer to 0."""
    size = np.nan_to_num(np.abs(z), nan=-1.0)
    farthest = np.zeros(int(owner.max(initial=0)) + 1)
    np.maximum.at(farthest, owner, size)
    return np.asarray(size >= farthest[owner] - near)


def name_share_test(*, exact: bool, inference: Inference, weighted: bool = False) -> str:
    """The name of a test of two shares."""
    if not exact:
        variance = ", unpooled" if inference.z is ZTest.UNPOOLED else ""
        return f"z{variance}{', Yates' if inference.yates else ''}"
    name = "Fisher, mid-p" if inference.fisher is FisherTest.MID_P else "Fisher"
    return f"{name}, effective counts" if weighted else name


class Counts(NamedTuple):
    """Counts by value or by class, as an array [Z, K, G]."""

    counts: Floats | Ints


AnySide: TypeAlias = Sample | means.Summary | Counts


class PairResult(NamedTuple):
    """The p-values and statistics of tests [Z, W]; `exact` is the number of each test's name."""

    p: Floats
    exact: Marks | Ints | None = None
    statistic: Statistic | None = None


class PairMethod(Frozen, eq=False):
    """A test of two sides of a comparison: its input, its computation, and its names.

    `side` returns the input of one side, or None if the test does not apply to its values. `run`
    computes the test. `names` returns the names of the tests, in the order of the numbers in
    `PairResult.exact`. `in_general` names the test for any data, and `of_all` names the test of all
    groups.
    """

    side: Callable[[GroupValues], AnySide | None]
    run: Callable[..., PairResult]
    names: Callable[[Inference, bool], tuple[str, ...]]
    in_general: str
    of_all: str

    def name(self, values: GroupValues, inference: Inference) -> tuple[str, ...]:
        """The names of the tests of these values, with or without survey weights."""
        return self.names(inference, values.weight_sum is not None)


def _compare_samples(first: Sample, second: Sample, inference: Inference) -> PairResult:
    p, exact = compare_shares(first, second, inference)
    shares = (first.share, first.size, second.share, second.size)
    z = contingency.find_z(*shares, pooled=inference.z is ZTest.POOLED, yates=inference.yates)
    return PairResult(p, exact, Statistic("χ²", np.where(exact, np.nan, z * z), (np.ones_like(z),)))


def _compare_means(first: means.Summary, second: means.Summary, inference: Inference) -> PairResult:
    is_welch = inference.t is TTest.WELCH
    found = means.welch(first, second, moderated=True) if is_welch else means.student(first, second)
    t, df, p = found.test()
    return PairResult(p, None, Statistic("t", t, (df,)))


def _compare_classes(first: Counts, second: Counts, inference: Inference) -> PairResult:
    """The G test; if counts are small, Fisher's test for two classes, permutations for more."""
    tables = np.stack([first.counts, second.counts], axis=-1).swapaxes(1, 2).astype(np.float64)
    value, df, p = contingency.g_test(tables)
    expected = contingency.expected_counts(tables)
    is_few = ((expected > 0) & (expected < LEAST_EXPECTED)).any(axis=(-2, -1)) & (df > 0)
    is_few &= tables.sum(axis=(-2, -1)) < contingency.MOST_DEALT
    for at in map(tuple, np.argwhere(is_few)):
        occurs = tables[at].sum(axis=1) > 0
        counts = np.rint(tables[at][occurs]).astype(np.int64)
        if len(counts) > 2:
            p[at] = contingency.permutation_test(counts, lambda dealt: contingency.g_test(dealt)[0])
        else:
            one, two = (
                Sample.of_counts(counts[:1, g], counts[:, g].sum(keepdims=True)) for g in (0, 1)
            )
            p[at] = compare_shares(one, two, inference)[0].item()
    place = np.where(is_few, np.where(df > 1, 2, 1), 0)
    return PairResult(p, place, Statistic("G", np.where(is_few, np.nan, value), (df,)))


PAIR_METHODS = {
    ValueKind.SHARE: PairMethod(
        lambda values: Sample.of(values) if values.binomial else None,
        _compare_samples,
        lambda inference, weighted: tuple(
            name_share_test(exact=exact, inference=inference, weighted=weighted)
            for exact in (False, True)
        ),
        f"z. Fisher (mid-p) is used instead {FEW_EXPECTED}.",
        f"χ² (G if p is very small) {FEW_GROUPS}",
    ),
    ValueKind.MEAN: PairMethod(
        lambda values: values.summary,
        _compare_means,
        lambda inference, _: ("Welch" if inference.t is TTest.WELCH else "Student",),
        "Welch (Student on request)",
        f"Welch's F for all groups together. If a group has fewer than {LARGE_GROUP} people, every "
        "pair is tested as well (Welch).",
    ),
    ValueKind.RANKS: PairMethod(
        lambda values: None if values.scores is None else Counts(values.scores),
        lambda first, second, _: PairResult(
            score_statistics.mann_whitney(first.counts, second.counts)[2]
        ),
        lambda _, __: ("Mann–Whitney",),
        "Mann–Whitney",
        "Mann–Whitney",
    ),
    ValueKind.CLASSES: PairMethod(
        lambda values: (
            None if values.shares is None else Counts(values.shares * values.effective_n[:, None])
        ),
        _compare_classes,
        lambda inference, weighted: (
            "G",
            name_share_test(exact=True, inference=inference, weighted=weighted),
            "permutations",
        ),
        f"G. If an expected count is below {LEAST_EXPECTED}: Fisher (mid-p) for two classes, "
        "permutations for more.",
        "G (χ² if p is very small)",
    ),
}
"""All tests of two sides. The first that applies is used; otherwise, intervals are inverted."""


def find_pair_method(first: GroupValues, second: GroupValues | None = None) -> PairMethod | None:
    """The test that applies to two sides; None if only intervals are available."""
    sides = (first,) if second is None else (first, second)
    fitting = (
        method
        for method in PAIR_METHODS.values()
        if all(method.side(values) is not None for values in sides)
    )
    return next(fitting, None)


def choose_pair_test(values: GroupValues, z: int, inference: Inference) -> PairTest | None:
    """The test of two groups in one stratum; None if only intervals are available."""
    if values.binomial:
        return make_share_test(Sample.of(values).at(z), inference)
    method = find_pair_method(values)
    if method is None:
        return None
    side: Any = method.side(values)

    def test(i: Ints, j: Ints) -> tuple[Floats, Marks]:
        first, second = (side._make(part[z : z + 1, ..., k] for part in side) for k in (i, j))
        p = method.run(first, second, inference).p[0]
        return p, np.zeros(p.shape, dtype=np.bool_)

    return test


def make_share_test(sample: Sample, inference: Inference) -> PairTest:
    """The test of pairs of groups in one sample of shares [G]."""
    return lambda i, j: compare_shares(sample.at(i), sample.at(j), inference, owner=i)


def find_smallest_p_of_pairs(
    test: PairTest,
    value: Floats,
    precision: Floats,
    among: Marks,
    pair_filter: PairFilter | None = None,
) -> float:
    """The smallest p-value over all pairs of groups, corrected for the number of pairs.

    If there are many groups, only the pairs that may differ most are tested. `pair_filter` marks
    the pairs that count, by their higher and lower value. The result is NaN if no pair counts.
    `precision` [G] is larger for groups that are known more precisely.
    """
    groups = np.flatnonzero(among)
    values = value[groups]
    if len(groups) <= _TEST_ALL_PAIRS:
        i, j = np.triu_indices(len(groups), 1)
        turned = values[i] < values[j]
        i, j = np.where(turned, j, i), np.where(turned, i, j)
    else:
        sides = (multiplicity.undominated(way * values, precision[groups]) for way in (1, -1))
        i, j = (grid.ravel() for grid in np.meshgrid(*sides, indexing="ij"))
        kept = (i != j) & (values[i] >= values[j])
        i, j = i[kept], j[kept]
    high, low = groups[i], groups[j]
    if pair_filter is not None:
        marks = pair_filter(value[high], value[low])
        high, low = high[marks], low[marks]
    if not len(high):
        return float("nan")
    p = np.fmin.reduce(test(high, low)[0])
    return float(multiplicity.tukey_kramer(p, len(groups)))


def find_smallest_p_to_extreme(
    test: PairTest,
    value: Floats,
    precision: Floats,
    among: Marks,
    pair_filter: PairFilter | None = None,
    *,
    lowest: bool,
) -> tuple[Floats, Marks]:
    """For each group [G], its smallest p-value against more extreme groups, and whether p is exact.

    The p-values are corrected for all pairs. `pair_filter` marks the pairs that count.
    """
    groups, corrected = np.flatnonzero(among), np.full(len(value), np.nan)
    is_exact = np.zeros(len(value), dtype=np.bool_)
    if len(groups) < 2:
        return corrected, is_exact
    sign = -1 if lowest else 1
    rivals = groups
    if len(groups) > _TEST_ALL_PAIRS:
        rivals = groups[multiplicity.undominated(sign * value[groups], precision[groups])]
    own, other = (grid.ravel() for grid in np.meshgrid(groups, rivals, indexing="ij"))
    farther = (sign * (value[other] - value[own]) >= 0) & (own != other)
    if pair_filter is not None:
        farther &= pair_filter(value[own], value[other])
    own, other = own[farther], other[farther]
    smallest = np.full(len(value), np.inf)
    p, exact = test(own, other)
    np.minimum.at(smallest, own, np.nan_to_num(p, nan=np.inf))
    is_exact[own[exact & (p == smallest[own])]] = True
    known = np.isfinite(smallest)
    corrected[known] = multiplicity.tukey_kramer(smallest[known], len(groups))
    return corrected, is_exact
