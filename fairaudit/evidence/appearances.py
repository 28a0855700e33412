"""Groups where a disparity first appears: in the group, but in none of its parents.

A rate may be the same for women and men, and for each race, and yet be far lower for Black women
(Kearns et al., Preventing Fairness Gerrymandering, 2018, https://arxiv.org/abs/1711.05144). Such a
gap *first appears* at a group of two or more attributes if all of these conditions hold:

- The group differs from all other people, and from the rest of each of its parents in the same
  direction, each time by more than `LEAST_GAP`. The parents are the larger groups that contain the
  group: one for each smaller set of its attributes.
- All these differences are significant: their largest p-value is the p-value of the group, and is
  corrected over all groups that were tested (by the `correction` of the spec, Holm's by default).
- No parent differs from all other people in that direction by more than `LEAST_GAP` with an
  uncorrected p-value below alpha. Without a correction, a parent's gap is rarely overlooked.

The largest p-value of several tests that must all reject is valid without a correction for their
number (Berger, Multiparameter hypothesis testing and acceptance sampling, Technometrics 24:295,
1982). So a group that only has its parent's gap is called a first appearance with a probability of
at most alpha, whether or not the parent's test finds that gap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import Floats, Group, Grouping, Ints, Marks
from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen, Unreadable, field, memoize, replace
from fairaudit.cube import GroupTable, distinct_rows
from fairaudit.evidence.pair_tests import Sample, compare_shares, name_share_test
from fairaudit.evidence.records import build_estimate
from fairaudit.metrics import Better, GroupValues, Rate, evaluate
from fairaudit.metrics.confusion_counts import GroupCounts, count_groups
from fairaudit.metrics.estimate import Estimate, Significance
from fairaudit.metrics.terms import Inference, MetricOptions
from fairaudit.stats.proportions import gap_interval

_CLOSE = 1e-9
"""Differences that are closer to `LEAST_GAP` than this are compared as fractions."""


class _People(Frozen, eq=False):
    """Groups of people [G] in one stratum, with the value of a rate for each group."""

    counts: GroupCounts
    values: GroupValues

    @classmethod
    def of(cls, rate: Rate, counts: GroupCounts) -> _People:
        """The groups, with the rate computed from their counts."""
        return cls(counts, rate.compute(counts))

    @property
    def sample(self) -> Sample:
        return Sample.of(self.values).at(0)

    def at(self, index: Ints | Marks) -> _People:
        """The groups at these indices or marks."""
        return self._recount(self.counts.changed(lambda cell: cell[..., index]))

    def without(self, part: _People) -> _People:
        """The people of each group without the people in `part`, who belong to the group."""
        whole, less = self.counts, part.counts
        squares = whole.squares and less.squares and whole.squares.minus(less.squares)
        people, weighted = whole.people.minus(less.people), whole.weighted.minus(less.weighted)
        return self._recount(replace(whole, people=people, weighted=weighted, squares=squares))

    def others(self) -> _People:
        """All other groups together, for each group."""
        return self._recount(self.counts.together(everywhere=False, others=True))

    def _recount(self, counts: GroupCounts) -> _People:
        rate = self.values.metric
        assert isinstance(rate, Rate)
        return _People.of(rate, counts)


def _mark_wide_gaps(first: _People, second: _People) -> Marks:
    """Marks the pairs of shares that differ by more than `LEAST_GAP`; False for empty groups."""
    gap = np.abs(first.values.value[0] - second.values.value[0])
    with np.errstate(invalid="ignore"):
        exceeding = np.array(gap > float(LEAST_GAP))
        undecided = np.flatnonzero(np.abs(gap - float(LEAST_GAP)) < _CLOSE)
    for index in undecided.tolist():
        pairs = (side.values.ratio_at(0, index) for side in (first, second))
        own, other = (Fraction(*pair) for pair in pairs if pair)
        exceeding[index] = abs(own - other) > LEAST_GAP
    return exceeding


@declare_subjects(row="other difference low high p test")
class ShareGap(Frozen):
    """The difference between the rate of a group and the rate of `other` people, with its test.

    `low` and `high` are Newcombe's bounds, which are not corrected for other differences.
    """

    other: Estimate
    difference: float
    low: float
    high: float
    p: float
    test: str

    @classmethod
    def of(
        cls,
        first: _People,
        second: _People,
        p: float,
        inference: Inference,
        *,
        exact: bool,
    ) -> ShareGap:
        """The gap between two groups (arrays of length 1); `p` is the p-value of their test."""
        low, high = gap_interval(*first.sample[:2], *second.sample[:2], inference.alpha)
        return cls(
            other=build_estimate(second.values, 0, 0, inference.alpha),
            difference=float(first.values.value[0, 0] - second.values.value[0, 0]),
            low=float(low[0]),
            high=float(high[0]),
            p=p,
            test=name_share_test(exact=exact, inference=inference),
        )


LEAST_GAP = Fraction(1, 100)
"""Shares that differ by at most this (one percentage point) have no gap."""


@declare_subjects(row="group estimate apart rest")
class Parent(Frozen):
    """A parent of an appearance: a larger group that contains the group.

    `apart` compares the parent with all other people; `rest` compares the group with all other
    people in the parent.
    """

    group: Group
    estimate: Estimate = field(name="*estimate")
    apart: ShareGap | None = field(name="everybody_else")
    rest: ShareGap


@declare_subjects(
    nobody="metric of of_class group",
    row="estimate apart parents worse_off",
    anybody="significance",
)
class Appearance(Frozen):
    """A group where a gap first appears; its `parents` with few attributes come first.

    `worse_off` says whether the rate is worse for the group; None if neither direction is better.
    `significance` has the largest p-value of all tests of the group.
    """

    metric: str
    of: str
    of_class: str | None = field(name="class")
    group: Group
    estimate: Estimate
    apart: ShareGap = field(name="everybody_else")
    parents: tuple[Parent, ...]
    worse_off: bool | None
    significance: Significance | None

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields contradictions: fewer than two attributes, or fewer than two parents."""
        if len(self.group) < 2:
            yield Unreadable("is of one attribute", "group")
        if len(self.parents) < 2:
            yield Unreadable("are too few", "parents")

    @property
    def concerned(self) -> float:
        """How many outcomes would differ if the group had the rate of all other people."""
        return abs(self.apart.difference) * (self.estimate.n or 0)


class RateInSubsets(Frozen):
    """A rate whose gaps are searched: its table for each subset of attributes, and its terms."""

    rate: Rate
    tables: Mapping[Grouping, GroupTable]
    terms: MetricOptions


class Appearances(Frozen):
    """For each subset of attributes, the appearances, and the tested groups counted by outcome."""

    appearances: Mapping[Grouping, tuple[Appearance, ...]]
    tested: Mapping[Grouping, Mapping[str, int]]


class _SubsetGroups(Frozen, eq=False):
    """The groups [G] of one subset of attributes, each compared with all other people.

    `gap` is the difference of the rates. `wide` marks differences above `LEAST_GAP`. `p` are the
    p-values; `exact` marks the p-values of Fisher's test.
    """

    table: GroupTable
    people: _People
    others: _People
    takes_part: Marks
    gap: Floats
    wide: Marks
    p: Floats
    exact: Marks

    def compare_with_others(self, index: int, inference: Inference) -> ShareGap | None:
        """The gap between a group and all other people; None without other people."""
        if np.isnan(self.p[index]):
            return None
        group, others = (people.at(np.array([index])) for people in (self.people, self.others))
        return ShareGap.of(
            group, others, float(self.p[index]), inference, exact=bool(self.exact[index])
        )


class _TestedGroups(Frozen, eq=False):
    """The tested groups of a subset, as indices [T], with their results.

    `p` is the largest p-value of the tests of each group, or 1 without a wide, significant gap to
    all other people. `is_first` marks the groups whose gap no parent has, and that differ from the
    rest of each parent in the direction of the gap.
    """

    searched: RateInSubsets
    subsets: Mapping[Grouping, _SubsetGroups]
    by: Grouping
    indices: Ints
    p: Floats
    is_first: Marks


def find_appearances(
    families: Mapping[str, Sequence[RateInSubsets]], subsets: Iterable[Grouping]
) -> Appearances:
    """The groups where a gap first appears; the tests of each outcome are one family."""
    appearances: dict[Grouping, list[Appearance]] = {by: [] for by in subsets}
    tested: dict[Grouping, Counter[str]] = {by: Counter() for by in appearances}
    for of, family in families.items():
        judged = [part for rate in family for part in _test_subsets(rate)]
        if not judged:
            continue
        inference = family[0].terms.inference
        p = np.concatenate([groups.p for groups in judged])
        ends = np.cumsum([len(groups.p) for groups in judged])[:-1]
        levels = np.split(inference.correction.adjust(p), ends)
        for groups, adjusted in zip(judged, levels, strict=True):
            tested[groups.by][of] += len(adjusted)
            first = np.flatnonzero((adjusted < inference.alpha) & groups.is_first).tolist()
            appearances[groups.by] += [
                _describe_appearance(groups, index, float(adjusted[index]), len(p))
                for index in first
            ]
    return Appearances({by: rank_appearances(rows) for by, rows in appearances.items()}, tested)


def rank_appearances(appearances: Iterable[Appearance]) -> tuple[Appearance, ...]:
    """The appearances in order: worse-off groups first, then by the number of people concerned."""

    def place(appearance: Appearance) -> tuple[object, ...]:
        return not appearance.worse_off, -appearance.concerned, appearance.metric, appearance.group

    return tuple(sorted(appearances, key=place))


def _test_subsets(searched: RateInSubsets) -> Iterator[_TestedGroups]:
    """Yields the tested groups of each subset of two or more attributes, with p-values.

    A group is not tested if a parent has the same people, or if it contains all people.
    """
    inference = searched.terms.inference
    subsets: dict[Grouping, _SubsetGroups] = {}
    for by, counts in searched.tables.items():
        evaluation = evaluate(searched.rate, counts, searched.terms)
        table = evaluation.table
        if not len(table.strata):
            continue
        # All other people include people with an unknown level.
        everybody = np.ones_like(table.known)
        plain = replace(count_groups(table), known_groups=everybody, scores=None, rows=None)
        people = _People.of(searched.rate, plain)
        others = people.others()
        p, exact = compare_shares(people.sample, others.sample, inference)
        subsets[by] = _SubsetGroups(
            table=table,
            people=people,
            others=others,
            takes_part=evaluation.takes_part[0],
            gap=people.values.value[0] - others.values.value[0],
            wide=_mark_wide_gaps(people, others),
            p=p,
            exact=exact,
        )
    for by, subset in subsets.items():
        parents = _list_parents(by, subsets)
        if not parents:
            continue
        testable = subset.takes_part & ~np.isnan(subset.p)
        for parent in parents:
            index = _find_parents(subset.table, parent.table)
            whole, part = parent.people.values.scaled_n, subset.people.values.scaled_n
            testable &= whole[0, index] > part[0]
        tested = np.flatnonzero(testable)
        # All other groups have a p-value of 1. They count for the correction only.
        wide = tested[subset.wide[tested] & (subset.p[tested] < inference.alpha)]
        p, is_first = np.ones(len(subset.p)), np.zeros(len(subset.p), dtype=np.bool_)
        p[wide], is_first[wide] = subset.p[wide], True
        child, side = subset.people.at(wide), np.sign(subset.gap[wide])
        for parent in parents if len(wide) else ():
            index = _find_parents(subset.table, parent.table)[wide]
            rest = parent.people.at(index).without(child)
            p_rest, _ = compare_shares(child.sample, rest.sample, inference)
            p[wide] = np.maximum(p[wide], p_rest)
            on_its_side = np.sign(child.sample.share - rest.sample.share) == side
            is_first[wide] &= _mark_wide_gaps(child, rest) & on_its_side
            # A parent shows the gap if it differs from all other people in the same direction.
            shows = parent.wide[index] & (parent.p[index] < inference.alpha)
            is_first[wide] &= ~(shows & (np.sign(parent.gap[index]) == side))
        if len(tested):
            yield _TestedGroups(searched, subsets, by, tested, p[tested], is_first[tested])


def _list_parents(by: Grouping, subsets: Mapping[Grouping, _SubsetGroups]) -> list[_SubsetGroups]:
    """The groups of each smaller searched subset of the attributes `by`, small subsets first."""
    sizes = range(1, len(by))
    every = (names for size in sizes for names in combinations(by, size))
    return [subsets[names] for names in every if names in subsets]


@memoize
def _find_parents(table: GroupTable, parents: GroupTable) -> Ints:
    """For each group of a table, the index of its parent in the table `parents`."""
    codes, numbers = _number_levels(table)
    codes_of_parents, numbers_of_parents = _number_levels(parents)
    columns = []
    for column, known in zip(map(table.by.index, parents.by), numbers_of_parents, strict=True):
        renumbered = np.array([known[level] for level in numbers[column]], dtype=np.int32)
        columns.append(renumbered[codes[:, column]])
    _, number = distinct_rows(np.concatenate([codes_of_parents, np.stack(columns, axis=1)]))
    place = np.zeros(number.max(initial=0) + 1, dtype=np.int64)
    place[number[: len(codes_of_parents)]] = np.arange(len(codes_of_parents))
    return place[number[len(codes_of_parents) :]]


@memoize
def _number_levels(table: GroupTable) -> tuple[NDArray[np.int32], list[dict[str, int]]]:
    """The levels of each group as numbers [G, K], and for each column the number of each level."""
    codes = np.empty((len(table.groups), len(table.by)), dtype=np.int32)
    numbers: list[dict[str, int]] = [{} for _ in table.by]
    for column, known in enumerate(numbers):
        levels = (group[column][1] for group in table.groups)
        codes[:, column] = [known.setdefault(level, len(known)) for level in levels]
    return codes, numbers


def _describe_appearance(
    groups: _TestedGroups, index: int, adjusted: float, family: int
) -> Appearance:
    group, terms = int(groups.indices[index]), groups.searched.terms
    subset, inference = groups.subsets[groups.by], terms.inference
    gap = subset.compare_with_others(group, inference)
    assert gap is not None  # groups without others are not tested
    child, parents = subset.people.at(np.array([group])), []
    for parent in _list_parents(groups.by, groups.subsets):
        at = int(_find_parents(subset.table, parent.table)[group])
        rest = parent.people.at(np.array([at])).without(child)
        p, exact = compare_shares(child.sample, rest.sample, inference)
        parents.append(
            Parent(
                group=parent.table.groups[at],
                estimate=build_estimate(parent.people.values, 0, at, inference.alpha),
                apart=parent.compare_with_others(at, inference),
                rest=ShareGap.of(child, rest, float(p[0]), inference, exact=bool(exact[0])),
            )
        )
    favourable = None if terms.of_class is not None else subset.table.favourable
    better = groups.searched.rate.better.given(favourable=favourable)
    is_lower = gap.difference < 0
    tests = sorted({gap.test, *(parent.rest.test for parent in parents)}, reverse=True)
    return Appearance(
        metric=groups.searched.rate.id,
        of=subset.table.of,
        of_class=terms.of_class,
        group=subset.table.groups[group],
        estimate=build_estimate(subset.people.values, 0, group, inference.alpha),
        apart=gap,
        parents=tuple(parents),
        worse_off=None if better is Better.NEITHER else is_lower == (better is Better.HIGHER),
        significance=Significance(
            f"largest p of {1 + len(parents)} tests ({', '.join(tests)})",
            float(groups.p[index]),
            adjusted,
            family,
            inference.correction.words,
        ),
    )
