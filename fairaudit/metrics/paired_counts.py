"""Two outcomes of the same people, such as two models: who is a hit in both, in one, in neither."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit.arrays import Alpha, Ends
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.counts import count_groups
from fairaudit.metrics.group_metrics import GroupMetric, Rate, count_effective
from fairaudit.stats import proportions

_CELLS = {
    frozenset({"selected", "rejected"}),
    frozenset({"tp", "fn"}),
    frozenset({"fp", "tn"}),
    frozenset({"tp", "fp", "fn", "tn"}),
}
"""Denominators that do not depend on what is predicted: the same people for both outcomes."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedCounts:
    """The people of a rate's denominator by both outcomes, [Z, G]; under weights as many as say so.

    `first` are hits of the first outcome alone, `second` of the other alone.
    """

    both: Floats
    first: Floats
    second: Floats
    neither: Floats
    weighted: bool

    def map(self, index: Ints | None) -> PairedCounts:
        """The group that `index` [Z, 1] names beside each group; all others where it is None."""

        def change(cell: Floats) -> Floats:
            if index is None:
                return np.asarray(cell.sum(axis=1, keepdims=True) - cell)
            return np.broadcast_to(np.take_along_axis(cell, index, axis=1), cell.shape)

        cells = (self.both, self.first, self.second, self.neither)
        both, first, second, neither = map(change, cells)
        return PairedCounts(both, first, second, neither, self.weighted)

    @property
    def difference(self) -> Floats:
        """The rate by the first outcome minus that by the second."""
        n = self.both + self.first + self.second + self.neither
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.first - self.second) / n)

    def ends(self, alpha: Alpha) -> Ends:
        """The interval of the difference, of paired proportions (Newcombe 1998, method 10)."""
        cells = (self.both, self.first, self.second, self.neither)
        return proportions.paired_difference(*cells, alpha)


def count_pairs(quantity: GroupMetric, table: GroupTable) -> PairedCounts | None:
    """The people of a rate by both outcomes of a table; None where the rate is of other people."""
    if table.pairs is None or table.positive is None or not isinstance(quantity, Rate):
        return None
    if not quantity.proportion or frozenset(quantity.under) not in _CELLS:
        return None
    classes = len(table.classes)
    mass = table.pairs.mass[:, :, :classes]
    hits, counted = _hits(quantity, table)
    sides = (table.positive[:classes], table.pairs.positive)
    by_sign = np.zeros((*mass.shape[:2], 2, 2, mass.shape[-1]))
    for one in (0, 1):
        for two in (0, 1):
            picked = mass[:, :, sides[0] == bool(one)][:, :, :, sides[1] == bool(two)]
            by_sign[:, :, one, two] = picked.sum(axis=(2, 3))
    by_sign = by_sign[:, counted]

    def total(*, first: bool, second: bool) -> Floats:
        one, two = (hits if wanted else ~hits for wanted in (first, second))
        which = (one[:, :, None] & two[:, None, :])[counted]
        return np.asarray((by_sign * which[None, ..., None]).sum(axis=(1, 2, 3)))

    cells = [
        total(first=a, second=b)
        for a, b in ((True, True), (True, False), (False, True), (False, False))
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        each = count_effective(count_groups(table), quantity.under) / np.sum(cells, axis=0)
    weighted = table.squares is not None
    if weighted:
        cells = [cell * np.nan_to_num(each) for cell in cells]
    both, first, second, neither = cells
    return PairedCounts(both, first, second, neither, weighted)


def _hits(rate: Rate, table: GroupTable) -> tuple[Marks, Marks]:
    """What counts as a hit, [Y, 2 (not selected, selected)], and which labels count, [Y]."""
    labels = table.people.shape[1]
    positive = np.zeros(labels, np.bool_) if table.positive_label is None else table.positive_label
    negative = (np.arange(labels) < len(table.labels)) & ~positive
    cells = {
        "selected": (np.ones(labels, np.bool_), 1),
        "rejected": (np.ones(labels, np.bool_), 0),
        "tp": (positive, 1),
        "fn": (positive, 0),
        "fp": (negative, 1),
        "tn": (negative, 0),
    }
    hits, counted = np.zeros((labels, 2), np.bool_), np.zeros(labels, np.bool_)
    for name in rate.under:
        counted |= cells[name][0]
    for name in rate.over:
        marks, side = cells[name]
        hits[marks, side] = True
    return hits, counted
