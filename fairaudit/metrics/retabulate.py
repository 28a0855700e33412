"""Reshapes group tables: no strata, one class, cut at a score; people counted by two outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from fairaudit.arrays import Alpha, Ends
from fairaudit.cube import ClusteredTable, Floats, GroupTable, Ints, Marks, Sum, Ungrouped
from fairaudit.frozen import Frozen, replace
from fairaudit.memoize import memoize
from fairaudit.metrics.confusion_counts import Cell, count_groups, mark_cells
from fairaudit.metrics.formulas import Rate
from fairaudit.metrics.group_metrics import GroupMetric, count_effective
from fairaudit.stats import proportions


@memoize
def one_against_rest(table: GroupTable) -> dict[str, GroupTable]:
    """The table by class, of the outcome or of the label: that class positive, all others not."""
    labels, size = table.people.shape[1:3]
    return {
        name: replace(
            table,
            positive=_marked(table.classes, name, size),
            positive_label=_marked(table.labels, name, labels) if table.labels else None,
        )
        for name in dict.fromkeys([*table.classes, *table.labels])
    }


def _marked(names: Sequence[str], name: str, size: int) -> Marks:
    """Which slots hold that name; the slots behind the names are of those not known."""
    return np.array(
        [entry == name for entry in names] + [False] * (size - len(names)), dtype=np.bool_
    )


@memoize
def collapse_strata(table: GroupTable) -> GroupTable:
    """The same people without strata; those whose stratum is not known are left out."""

    def joined(cells: Cell) -> Cell:
        return cells[table.known_strata].sum(axis=0, keepdims=True)

    people = joined(table.people)
    return replace(
        table,
        given=(),
        strata=((),),
        people=people,
        mass=people if table.mass is table.people else joined(table.mass),
        squares=None if table.squares is None else joined(table.squares),
        known_strata=np.ones(1, dtype=np.bool_),
        amounts={
            name: amount.transform(joined, lambda sums: Sum(joined(sums.values), sums.scale))
            for name, amount in table.amounts.items()
        },
        histogram=table.histogram
        and replace(table.histogram, strata=((),), people=joined(table.histogram.people)),
        clusters=table.clusters and _without_strata(table.clusters, table.known_strata),
    )


def _without_strata(clusters: ClusteredTable, known: Marks) -> ClusteredTable:
    _, *cells = clusters.shape
    size = max(int(np.prod(cells)), 1)
    z = np.where(clusters.place < 0, 0, clusters.place // size)
    there = (clusters.place >= 0) & known[z]
    place = np.where(there, clusters.place % size, -1)
    return replace(clusters, place=place, shape=(1, cells[0], cells[1], cells[2]))


def cut_at(table: GroupTable, threshold: Decimal) -> tuple[GroupTable, GroupTable]:
    """The table whose positive class is a score of at least the threshold.

    A bin that holds values on both sides is above it in the first table, and below it in the
    second; where there is none, both are the same.
    """
    histogram = table.histogram
    if histogram is None:
        raise ValueError("a threshold without a histogram")
    above, below = histogram.bins.high >= float(threshold), histogram.bins.low >= float(threshold)
    first = _cut(table, above)
    return first, first if np.array_equal(above, below) else _cut(table, below)


def _cut(table: GroupTable, is_above: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> GroupTable:
    assert table.histogram is not None
    counts = table.histogram.people
    people = np.zeros((len(counts), 3, 3, counts.shape[2]), dtype=np.int64)
    people[:, :, 0] = counts[..., ~is_above].sum(axis=-1)
    people[:, :, 1] = counts[..., is_above].sum(axis=-1)
    yes = np.array([False, True, False])
    return replace(
        table,
        labels=("negative", "positive"),
        classes=("below", "at or above"),
        positive_label=None if table.positive_label is None else yes,
        positive=yes,
        people=people,
        mass=people,
        scale=1,
        squares=None,
        clusters=None,
        amounts={},
        histogram=None,
        ungrouped=None if table.ungrouped is None else _open(table.ungrouped),
    )


def _open(ungrouped: Ungrouped) -> Ungrouped:
    """The same people, of whom neither label nor score is used: either side of the threshold."""
    people = np.zeros((len(ungrouped.people), 3, 3, len(ungrouped.groups)), dtype=np.int64)
    people[:, 2, 2] = ungrouped.people.sum(axis=(1, 2))
    return replace(ungrouped, people=people, mass=people)


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
