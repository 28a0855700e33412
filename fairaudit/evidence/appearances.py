"""Where a disparity first appears: groups that differ while no group they are part of does.

A rate may be the same for women and men, and for each race, and yet be far lower for Black women
(Kearns et al., Preventing Fairness Gerrymandering, 2018, https://arxiv.org/abs/1711.05144). Such a
gap *first appears* at a group of two or more attributes where all of this holds:

- the group differs from everybody else, and in the same direction from the rest of each of its
  parents, each time by more than `LEAST_GAP`; its parents are the groups it is part of, by every
  smaller set of its attributes;
- all these differences are significant: the largest of their p-values stands for the group, and is
  corrected over all groups that were tested (by a spec's `correction`, Holm's if it names none);
- no parent differs from everybody else in that direction by more than `LEAST_GAP` with a p-value
  below alpha, by itself. Uncorrected, so that a parent's gap is rather seen than overlooked.

The largest p-value of several tests that must all reject is valid without a correction for their
number (Berger, Multiparameter hypothesis testing and acceptance sampling, Technometrics 24:295,
1982). So a group that only has its parent's gap is called a first appearance no more often than
alpha, whether or not the parent's own test finds that gap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from fairaudit.arrays import Floats, Group, Grouping, Ints, Marks
from fairaudit.cube import GroupTable, distinct_rows
from fairaudit.disclosure import declare_subjects
from fairaudit.estimate import Estimate, Significance
from fairaudit.evidence.pooled_groups import PooledGroups, ShareGap, differ, exceeds
from fairaudit.members import Member
from fairaudit.metrics import Better, Rate, Terms, evaluate
from fairaudit.metrics.counts import count_groups
from fairaudit.metrics.terms import Inference

LEAST_GAP = Fraction(1, 100)
"""Shares that differ by no more, one point, show no gap."""


@declare_subjects(row="group estimate apart rest")
@dataclass(frozen=True, slots=True)
class Parent:
    """A group that the appearance is part of: beside everybody else, and its rest beside it."""

    group: Group
    estimate: Annotated[Estimate, Member(flat=True, without="significance")]
    apart: Annotated[ShareGap | None, Member("everybody_else")]
    rest: ShareGap


@declare_subjects(
    nobody="metric of of_class group",
    row="estimate apart parents worse_off",
    anybody="significance",
)
@dataclass(frozen=True, slots=True)
class Appearance:
    """A group where a gap first appears, with the groups it is part of, the smallest sets first.

    `worse_off` says whether the rate is the worse for the group by its difference, None where
    neither way is better. `p` of its significance is the largest of all its tests; a published
    report may tell none.
    """

    metric: str
    of: str
    of_class: Annotated[str | None, Member("class")]
    group: Group
    estimate: Annotated[Estimate, Member(flat=True, without="significance")]
    apart: Annotated[ShareGap, Member("everybody_else")]
    parents: tuple[Parent, ...]
    worse_off: bool | None
    significance: Significance | None

    @property
    def concerned(self) -> float:
        """How many people would fare otherwise at everybody else's rate."""
        return abs(self.apart.difference) * (self.estimate.n or 0)


@dataclass(frozen=True, slots=True)
class RateInSubsets:
    """A rate to look at in every subset: its tables by subset, and on what terms it is asked."""

    rate: Rate
    tables: Mapping[Grouping, GroupTable]
    terms: Terms


@dataclass(frozen=True, slots=True)
class Appearances:
    """What was found in each subset, the worst first, and how many groups were tested."""

    found: Mapping[Grouping, tuple[Appearance, ...]]
    tested: Mapping[Grouping, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Subset:
    """The groups of one subset [G]: codes of their levels [G, K], and each beside everybody else.

    `gap` is their difference, `wide` where it exceeds `LEAST_GAP`, `p` its test, `exact` by Fisher.
    """

    table: GroupTable
    codes: NDArray[np.int32]
    crowds: PooledGroups
    others: PooledGroups
    takes_part: Marks
    gap: Floats
    wide: Marks
    p: Floats
    exact: Marks

    def apart(self, at: int, inference: Inference) -> ShareGap | None:
        """One group beside everybody else; None where there is nobody else."""
        if np.isnan(self.p[at]):
            return None
        one, other = (each.at(np.array([at])) for each in (self.crowds, self.others))
        return ShareGap.of(one, other, float(self.p[at]), inference, exact=bool(self.exact[at]))


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """The groups of a subset that were tested, as indices [T], and what came of it.

    `p` is the largest of their tests, 1 where the first of them did not reject; `silent` says that
    no parent shows the gap, and that the rest of each differs in its direction.
    """

    sought: RateInSubsets
    subsets: Mapping[Grouping, _Subset]
    by: Grouping
    at: Ints
    p: Floats
    silent: Marks


def find_appearances(family: Sequence[RateInSubsets]) -> Appearances:
    """The groups where a gap first appears; all that are tested are one family."""
    judged = [one for sought in family for one in _judge(sought, _subsets(sought))]
    tested = Counter({by: 0 for one in family for by in one.tables})
    found: dict[Grouping, list[Appearance]] = {}
    if judged:
        inference = family[0].terms.inference
        p = np.concatenate([one.p for one in judged])
        adjusted, start = inference.correction.adjust(p), 0
        for one in judged:
            mine = adjusted[start : start + len(one.at)]
            start += len(one.at)
            tested[one.by] += len(one.at)
            first = np.flatnonzero((mine < inference.alpha) & one.silent).tolist()
            some = [_appearance(one, index, float(mine[index]), len(p)) for index in first]
            found.setdefault(one.by, []).extend(some)
    return Appearances({by: rank_appearances(some) for by, some in found.items()}, tested)


def rank_appearances(several: Iterable[Appearance]) -> tuple[Appearance, ...]:
    """Appearances: those who are worse off first, then by how many people it concerns."""

    def place(one: Appearance) -> tuple[object, ...]:
        return not one.worse_off, -one.concerned, one.metric, one.group

    return tuple(sorted(several, key=place))


def _subsets(sought: RateInSubsets) -> dict[Grouping, _Subset]:
    """Every subset in which anybody is known, with each group beside everybody else."""
    numbers: dict[str, dict[str, int]] = {}
    found = {}
    for by, each in sought.tables.items():
        evaluation = evaluate(sought.rate, each, sought.terms)
        table = evaluation.table
        if not len(table.strata):
            continue
        crowds = PooledGroups.of(sought.rate, count_groups(table))
        others = crowds.others()
        p, exact = differ(crowds, others, sought.terms.inference)
        found[by] = _Subset(
            table=table,
            codes=_codes(table, numbers),
            crowds=crowds,
            others=others,
            takes_part=evaluation.takes_part[0],
            gap=crowds.value - others.value,
            wide=exceeds(crowds, others, LEAST_GAP),
            p=p,
            exact=exact,
        )
    return found


def _codes(table: GroupTable, numbers: dict[str, dict[str, int]]) -> NDArray[np.int32]:
    """A number for each level, the same in every table, [G, K]."""
    columns = []
    for at, name in enumerate(table.by):
        known = numbers.setdefault(name, {})
        columns.append([known.setdefault(group[at][1], len(known)) for group in table.groups])
    return np.array(columns, dtype=np.int32).T.reshape(len(table.groups), len(table.by))


def _judge(sought: RateInSubsets, subsets: Mapping[Grouping, _Subset]) -> Iterator[_Judged]:
    """The groups of each subset of two or more attributes that can be tested, with p-values.

    A group that is all of one of its parents, or of everybody, is that parent: it is not tested.
    """
    inference = sought.terms.inference
    for by, one in subsets.items():
        parents = _parents_of(by, subsets)
        if not parents:
            continue
        can = one.takes_part & ~np.isnan(one.p)
        everybody = np.arange(len(one.p))
        for names in parents:
            index = _places(one, by, everybody, (names, subsets[names]))
            can &= subsets[names].crowds.under[index] > one.crowds.under
        at = np.flatnonzero(can)
        # Of the others only their number matters: none of them can come before these.
        open_ = at[one.wide[at] & (one.p[at] < inference.alpha)]
        p, silent = np.ones(len(one.p)), np.zeros(len(one.p), dtype=np.bool_)
        p[open_], silent[open_] = one.p[open_], True
        child, side = one.crowds.at(open_), np.sign(one.gap[open_])
        for names in parents if len(open_) else ():
            parent = subsets[names]
            index = _places(one, by, open_, (names, parent))
            rest = parent.crowds.at(index).without(child)
            found, _ = differ(child, rest, inference)
            p[open_] = np.maximum(p[open_], found)
            on_its_side = np.sign(child.value - rest.value) == side
            silent[open_] &= exceeds(child, rest, LEAST_GAP) & on_its_side
            silent[open_] &= ~_shows(parent, index, side, inference.alpha)
        if len(at):
            yield _Judged(sought, subsets, by, at, p[at], silent[at])


def _parents_of(by: Grouping, subsets: Mapping[Grouping, _Subset]) -> list[Grouping]:
    """The non-empty proper subsets of a grouping, small ones first."""
    sizes = range(1, len(by))
    return [names for size in sizes for names in combinations(by, size) if names in subsets]


def _places(one: _Subset, by: Grouping, at: Ints, other: tuple[Grouping, _Subset]) -> Ints:
    """The index of the parent of each of the groups `at`, by some of their attributes."""
    names, parent = other
    own = one.codes[at][:, [by.index(name) for name in names]]
    _, number = distinct_rows(np.concatenate([parent.codes, own]))
    place = np.zeros(number.max(initial=0) + 1, dtype=np.int64)
    place[number[: len(parent.codes)]] = np.arange(len(parent.codes))
    return place[number[len(parent.codes) :]]


def _shows(parent: _Subset, index: Ints, side: Floats, alpha: float) -> Marks:
    """Whether parents differ from everybody else on that side, by a test of their own."""
    wide, p = parent.wide[index], parent.p[index]
    return np.asarray(wide & (p < alpha) & (np.sign(parent.gap[index]) == side))


def _appearance(one: _Judged, index: int, adjusted: float, family: int) -> Appearance:
    """What was found of one group that was tested."""
    at, terms, subset = int(one.at[index]), one.sought.terms, one.subsets[one.by]
    inference = terms.inference
    beside = subset.apart(at, inference)
    assert beside is not None  # nobody is tested without
    parents = tuple(
        _parent(subset, at, one.by, (names, one.subsets[names]), inference)
        for names in _parents_of(one.by, one.subsets)
    )
    tests = sorted({beside.test, *(each.rest.test for each in parents)}, reverse=True)
    return Appearance(
        metric=one.sought.rate.id,
        of=subset.table.of,
        of_class=terms.of_class,
        group=subset.table.groups[at],
        estimate=subset.crowds.estimate(at, inference.alpha),
        apart=beside,
        parents=parents,
        worse_off=_is_worse(
            one.sought.rate,
            beside.difference,
            favourable=None if terms.of_class is not None else subset.table.favourable,
        ),
        significance=Significance(
            f"largest p of {1 + len(parents)} tests ({', '.join(tests)})",
            float(one.p[index]),
            adjusted,
            family,
            inference.correction.words,
        ),
    )


def _is_worse(rate: Rate, difference: float, *, favourable: bool | None) -> bool | None:
    """Whether a rate that differs so is the worse for the group; None where neither way is."""
    better = rate.better.given(favourable=favourable)
    return None if better is Better.NEITHER else (difference < 0) == (better is Better.HIGHER)


def _parent(
    one: _Subset, at: int, by: Grouping, other: tuple[Grouping, _Subset], inference: Inference
) -> Parent:
    """A group that one group is part of: beside everybody else, and its rest beside that group."""
    _, parent = other
    own = np.array([at])
    index = int(_places(one, by, own, other)[0])
    child = one.crowds.at(own)
    rest = parent.crowds.at(np.array([index])).without(child)
    p, exact = differ(child, rest, inference)
    return Parent(
        group=parent.table.groups[index],
        estimate=parent.crowds.estimate(index, inference.alpha),
        apart=parent.apart(index, inference),
        rest=ShareGap.of(child, rest, float(p[0]), inference, exact=bool(exact[0])),
    )
