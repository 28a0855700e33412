"""All tables that a table with few missing values could be, and the range of a metric over them.

A completion gives each person of unknown outcome or label one of the two classes. It gives a person
of unknown group one of the possible groups, a further group that is not compared, or no place in
the data. People with the same known values are exchangeable, so only their numbers are completed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import TypeAlias

import numpy as np

from fairaudit.base.arrays import Ends
from fairaudit.base.frozen import replace
from fairaudit.cube import ExcludedGroups, Group, GroupTable, Marks
from fairaudit.cube.keys import ExcludeBelow
from fairaudit.metrics.definitions import Requirement
from fairaudit.metrics.disparities import Disparity
from fairaudit.metrics.evaluate import evaluate
from fairaudit.metrics.evaluation_record import Evaluation, find_policy
from fairaudit.metrics.terms import EXTREME_REFERENCES

_MOST = 200
"""Maximum number of completions of a table."""

_MOST_CELLS = 2_000_000
"""Maximum number of cells of all completions of a table together."""

_CLASSES = 2

_Cell: TypeAlias = tuple[int, int, int, int]
_MayJoin: TypeAlias = Callable[[Sequence[Group], Sequence[Group]], Marks]
_Kind: TypeAlias = tuple[_Cell, list[_Cell], int]

_ELSEWHERE = (("", "another group"),)


def find_range(
    evaluation: Evaluation,
    may_join: _MayJoin | None,
) -> Ends | None:
    """The lowest and highest value over all completions, [Z, W]; None if they are not calculated.

    `may_join` marks people who may belong to some groups; None leaves people of unknown group out.
    All values must be defined, with the same groups and reference.
    """
    metric, table = evaluation.metric, evaluation.strata or evaluation.table
    terms, requirements = replace(evaluation.terms, at=None), {*metric.requirements}
    for leaf in evaluation.leaves:
        requirements |= leaf.group_values.metric.requirements if leaf.group_values else set()
    is_complex = terms.of_class is not None or not requirements <= {
        Requirement.PREDICTION, Requirement.CLASSES, Requirement.LABEL,
    }  # fmt: skip
    if isinstance(metric, Disparity):
        is_complex |= metric.per_class is not None or len(metric.averages) > 1
    held = (table.squares, table.pairs, table.clusters, table.rows, table.draws, table.excluded)
    is_complex |= table.masked or table.possible is not None or any(x is not None for x in held)
    unknown = table.people[~table.known_strata].any()
    unknown |= table.ungrouped is not None and table.ungrouped.people[~table.known_strata].any()
    if is_complex or unknown or evaluation.subtracts:
        return None
    kinds = list(_list_kinds(table, may_join, needs_label=Requirement.LABEL in requirements))
    ways = math.prod(math.comb(n + len(options) - 1, n) for _, options, n in kinds)
    # A class that does not occur would also be possible.
    sides = [(table.classes, table.positive)] if table.classes else []
    if Requirement.LABEL in requirements:
        sides.append((table.labels, table.positive_label))
    if ways > min(_MOST, _MOST_CELLS // table.people.size) or any(
        len(names) != _CLASSES or (positive is not None and positive.sum() != 1)
        for names, positive in sides
    ):
        return None
    low, high = evaluation.value, evaluation.value
    width, groups = low.shape[1], len(table.groups)
    for completed in _complete(table, kinds):
        found = evaluate(metric, completed, terms)
        value = found.value[:, :width]
        is_same = (found.takes_part[:, :groups] == evaluation.takes_part).all()
        if not evaluation.spread and find_policy(evaluation) not in EXTREME_REFERENCES:
            is_same &= (found.second[:, :width] == evaluation.second).all()
        if not is_same or (np.isnan(value) & ~np.isnan(evaluation.value)).any():
            return None
        low, high = np.fmin(low, value), np.fmax(high, value)
    return low, high


def _list_kinds(
    table: GroupTable, may_join: _MayJoin | None, *, needs_label: bool
) -> Iterator[_Kind]:
    """The people with unknown values: their cell, the cells that they may be in, their number."""
    people, outsider, elsewhere = table.people, table.ungrouped, len(table.groups)
    names = table.groups
    if outsider is not None:
        people = np.concatenate([people, outsider.people], axis=3)
        names += outsider.groups
    nowhere, known = elsewhere + 1, np.flatnonzero(table.known).tolist()
    last_label, last = people.shape[1] - 1, people.shape[2] - 1
    for z, y, p, g in np.argwhere(people).tolist():
        if g in known:
            groups = [g]
        elif may_join is None:
            groups = [g if g < elsewhere else nowhere]
        else:
            joined = [h for h in known if may_join([names[g]], [names[h]])[0]]
            groups = [*joined, elsewhere, nowhere]
        labels = range(last_label) if needs_label and y == last_label else (y,)
        outcomes = range(last) if p == last else (p,)
        options = list(product((z,), labels, outcomes, groups))
        if len(options) > 1:
            yield (z, y, p, g), options, int(people[z, y, p, g])


def _complete(table: GroupTable, kinds: Sequence[_Kind]) -> Iterator[GroupTable]:
    """The completed tables, with a further group that is not compared."""
    wide = table.with_empty((_ELSEWHERE,))
    nobody = ExcludedGroups(ExcludeBelow(Fraction(0), ""), {_ELSEWHERE: 0}, 0)
    for chosen in product(*(combinations_with_replacement(cells, n) for _, cells, n in kinds)):
        people = wide.people.copy()
        for ((z, y, p, g), _, n), cells in zip(kinds, chosen, strict=True):
            if g < len(table.groups):
                people[z, y, p, g] -= n
            for cell in cells:
                if cell[3] <= len(table.groups):
                    people[cell] += 1
        yield replace(wide, people=people, mass=people, excluded=nobody, ungrouped=None)
