"""Reshapes group tables: no strata, one class, cut at a score."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.base.memoize import memoize
from fairaudit.cube import ClusteredTable, GroupTable, Marks, Sum, Ungrouped
from fairaudit.metrics.confusion_counts import Cell


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

    A bin with values on both sides of the threshold is above it in the first table, and below it
    in the second; without such a bin both tables are the same.
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
