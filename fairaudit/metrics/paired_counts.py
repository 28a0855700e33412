"""Paired counts: people of a rate by two outcomes, for McNemar; intervals of the difference."""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.frozen import Frozen
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.confusion_counts import count_groups, mark_cells
from fairaudit.metrics.formulas import Rate
from fairaudit.metrics.group_metrics import GroupMetric, count_effective
from fairaudit.stats import proportions

_CELLS = {
    frozenset({"selected", "rejected"}),
    frozenset({"tp", "fn"}),
    frozenset({"fp", "tn"}),
    frozenset({"tp", "fp", "fn", "tn"}),
}
"""Denominators that do not depend on what is predicted: the same people for both outcomes."""

_SELECTED = frozenset({"selected", "tp", "fp"})
"""Cells of people who are selected."""


class PairedCounts(Frozen, eq=False):
    """The people of a rate's denominator by both outcomes, [Z, G]; under weights as many as say so.

    `first` are hits of the first outcome alone, `second` of the other alone.
    """

    both: Floats
    first: Floats
    second: Floats
    neither: Floats
    weighted: bool

    def map(self, index: Ints | None) -> PairedCounts:
        """The group that `index` [Z, 1] names, aligned with each; all others where it is None."""

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


def count_pairs(metric: GroupMetric, table: GroupTable) -> PairedCounts | None:
    """The people of a rate by both outcomes of a table; None where the rate is of other people."""
    if table.pairs is None or table.positive is None or not isinstance(metric, Rate):
        return None
    if not metric.is_proportion or frozenset(metric.under) not in _CELLS:
        return None
    classes = len(table.classes)
    mass = table.pairs.mass[:, :, :classes]
    hits, counted = _hits(metric, table)
    sides = (table.positive[:classes], table.pairs.positive)
    by_sign = np.zeros((*mass.shape[:2], 2, 2, mass.shape[-1]))
    for i in (0, 1):
        for j in (0, 1):
            cells_of_signs = mass[:, :, sides[0] == bool(i)][:, :, :, sides[1] == bool(j)]
            by_sign[:, :, i, j] = cells_of_signs.sum(axis=(2, 3))
    by_sign = by_sign[:, counted]

    def total(*, first: bool, second: bool) -> Floats:
        of_first, of_second = (hits if wanted else ~hits for wanted in (first, second))
        marks = (of_first[:, :, None] & of_second[:, None, :])[counted]
        return np.asarray((by_sign * marks[None, ..., None]).sum(axis=(1, 2, 3)))

    cells = [
        total(first=a, second=b)
        for a, b in ((True, True), (True, False), (False, True), (False, False))
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        people_per_weight = count_effective(count_groups(table), metric.under) / np.sum(
            cells, axis=0
        )
    weighted = table.squares is not None
    if weighted:
        cells = [cell * np.nan_to_num(people_per_weight) for cell in cells]
    both, first, second, neither = cells
    return PairedCounts(both, first, second, neither, weighted)


def _hits(rate: Rate, table: GroupTable) -> tuple[Marks, Marks]:
    """What counts as a hit, [Y, 2 (not selected, selected)], and which labels count, [Y]."""
    labels_of = {name: labels for name, (labels, _) in mark_cells(table).items()}
    hits = np.zeros((table.people.shape[1], 2), np.bool_)
    for name in rate.over:
        hits[labels_of[name], int(name in _SELECTED)] = True
    return hits, np.logical_or.reduce([labels_of[name] for name in rate.under])
