"""Reshapes group tables: no strata, one class, cut at a score."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from fairaudit.base.frozen import memoize, replace
from fairaudit.cube import GroupTable, Marks, Sum
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

    people, clusters = joined(table.people), table.clusters
    if clusters is not None:
        size = max(int(np.prod(clusters.shape[1:])), 1)
        stratum = np.maximum(clusters.place, 0) // size
        is_kept = (clusters.place >= 0) & table.known_strata[stratum]
        place = np.where(is_kept, clusters.place % size, -1)
        clusters = replace(clusters, place=place, shape=(1, *clusters.shape[1:]))
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
        clusters=clusters,
    )


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
    yes, ungrouped = np.array([False, True, False]), table.ungrouped
    if ungrouped is not None:
        # Labels and scores of ungrouped people are not used: they are on either side.
        either = np.zeros((len(ungrouped.people), 3, 3, len(ungrouped.groups)), dtype=np.int64)
        either[:, 2, 2] = ungrouped.people.sum(axis=(1, 2))
        ungrouped = replace(ungrouped, people=either, mass=either)
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
        ungrouped=ungrouped,
    )
