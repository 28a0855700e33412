"""A score cut at any threshold, from its histogram: many thresholds cost one scan."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from fairaudit.cube import GroupTable, Ungrouped


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
