"""All tables that a table with few missing values could be, and the range of a metric over them.

A completion gives each person of unknown outcome or label one of the known classes, and each person
of unknown group a possible group, or a group that is not compared. People with the same known
values are exchangeable, so only their numbers are completed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations_with_replacement, compress, product
from typing import TypeAlias

import numpy as np

from fairaudit.base.arrays import Ends, Floats
from fairaudit.base.frozen import memoize, replace
from fairaudit.cube import NO_COUNTERPART, UNKNOWN, ExcludedGroups, Group, GroupTable, Ints, Marks
from fairaudit.cube.keys import ExcludeBelow
from fairaudit.metrics.definitions import Requirement
from fairaudit.metrics.disparities import Disparity
from fairaudit.metrics.evaluate import evaluate
from fairaudit.metrics.evaluation_record import Evaluation, find_policy
from fairaudit.metrics.terms import EXTREME_REFERENCES

_MOST, _MOST_CELLS = 200, 2_000_000
"""Maximum number of completions of a table, and of the cells of all completions together."""

_COUNTED = {Requirement.PREDICTION, Requirement.CLASSES, Requirement.LABEL}
"""The requirements of metrics that need nothing but the numbers of people in a table."""

_People: TypeAlias = tuple[int, list[tuple[int, ...]]]
"""A number of people with the same known values, and the cells of a table where they may be."""


@memoize
def find_range(evaluation: Evaluation) -> Ends | None:
    """The lowest and highest value over all completions, [Z, W]; None if they are not calculated.

    There must be few completions, with defined values, and with the same groups and reference.
    """
    metric, table = evaluation.metric, evaluation.strata or evaluation.table
    values = [leaf.group_values for leaf in evaluation.leaves]
    needs = metric.requirements.union(*(one.metric.requirements for one in values if one))
    needs_label, error = Requirement.LABEL in needs, evaluation.error
    sides = [(table.classes, table.positive)] * bool(table.classes)
    sides += [(table.labels, table.positive_label)] * needs_label
    obstacles = [
        not needs <= _COUNTED,
        evaluation.subtracts or (isinstance(metric, Disparity) and metric.per_class is not None),
        any(one is not None for one in (table.squares, table.possible, table.excluded)),
        table.masked or table.moving > 0 or not table.known_strata.all(),
        error is not None and bool(np.nan_to_num(error).any()),
        # If all outcomes or labels are on one side, the other side would also be possible.
        any(len(names) < 2 for names, _ in sides),
        any(marks is not None and marks.sum() in {0, len(names)} for names, marks in sides),
    ]
    if any(obstacles):
        return None
    certain, uncertain = _divide(table, needs_label=needs_label)
    ways = math.prod(math.comb(n + len(cells) - 1, n) for n, cells in uncertain)
    if max(ways, len(uncertain)) > _MOST or ways * certain.size > _MOST_CELLS:
        return None
    terms = replace(evaluation.terms, at=None, of_class=None)  # the table is already cut
    width, groups, ends = evaluation.value.shape[1], len(table.groups), list[Floats]()
    # The completed tables have an additional group that is not compared.
    elsewhere = (("", "another group"),)
    excluded = ExcludedGroups(ExcludeBelow(Fraction(0), ""), {elsewhere: 0}, 0)
    wide = replace(table.with_empty((elsewhere,)), excluded=excluded, ungrouped=None)
    for chosen in product(*(combinations_with_replacement(cells, n) for n, cells in uncertain)):
        people = certain.copy()
        for cell in chain(*chosen):
            people[cell] += 1
        completed = replace(wide, people=people, mass=people)
        found = evaluate(metric, completed, terms)
        ends.append(found.value[:, :width])
        is_same = (found.takes_part[:, :groups] == evaluation.takes_part).all()
        if not evaluation.spread and find_policy(evaluation) not in EXTREME_REFERENCES:
            is_same &= (found.second[:, :width] == evaluation.second).all()
        if not is_same or (np.isnan(ends[-1]) & ~np.isnan(evaluation.value)).any():
            return None
    return np.fmin.reduce(ends), np.fmax.reduce(ends)


def _divide(table: GroupTable, *, needs_label: bool) -> tuple[Ints, list[_People]]:
    """The people with a known cell, and all other people; the last group is not compared."""
    people, names, groups = table.people, table.groups, len(table.groups)
    if table.ungrouped is not None:
        people = np.concatenate([people, table.ungrouped.people], axis=3)
        names += table.ungrouped.groups
    known = np.flatnonzero(table.known).tolist()
    is_known = np.array([all(find_pattern(name)) for name in names])
    is_known[:groups] |= table.known
    is_open = np.broadcast_to(~is_known, people.shape).copy()
    is_open[:, :, -1] |= bool(table.classes)
    is_open[:, -1] |= needs_label
    uncertain, (_, labels, outcomes, _) = list[_People](), people.shape
    of_label = {labels - 1: range(labels - 1)} if needs_label else {}
    of_outcome = {outcomes - 1: range(outcomes - 1)} if table.classes else {}
    for z, y, p, g in np.argwhere(is_open & (people > 0))[: _MOST + 1].tolist():
        joined = [g]
        if not is_known[g]:
            joined = [h for h in known if find_possible_members([names[g]], [names[h]])[0]]
            joined.append(groups)
        cells = product([z], of_label.get(y, [y]), of_outcome.get(p, [p]), joined)
        uncertain.append((int(people[z, y, p, g]), [*cells]))
    certain = np.where(is_open, 0, people)[..., :groups]
    return np.pad(certain, [(0, 0)] * 3 + [(0, 1)]), uncertain


def find_possible_members(unknown: Sequence[Group], groups: Sequence[Group]) -> Marks:
    """Marks the groups with `unknown` levels whose people may belong to one of `groups`."""
    patterns = list(map(find_pattern, unknown))
    allowed = {p: {tuple(compress(group, p)) for group in groups} for p in set(patterns)}
    possible = [
        tuple(compress(group, pattern)) in allowed[pattern]
        for group, pattern in zip(unknown, patterns, strict=True)
    ]
    return np.array(possible, dtype=np.bool_)


def find_pattern(group: Group) -> tuple[bool, ...]:
    """Whether each level of a group is known."""
    return tuple(level not in {UNKNOWN, NO_COUNTERPART} for _, level in group)
