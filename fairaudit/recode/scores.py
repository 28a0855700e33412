"""The histograms of a score by audited levels, from those by raw ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fairaudit.cube import Group, Ints, KeyColumn
from fairaudit.histogram import TOO_SMALL, Histogram, Moments
from fairaudit.plan import RawCells, RawHistogram, RawScores
from fairaudit.recode.axis import DROP, Axis

_NEGATIVE, _POSITIVE, _NOT_KNOWN = range(3)


def histograms(cells: RawCells, axes: Mapping[int, Axis]) -> tuple[Histogram, ...]:
    """Everybody's histogram, and that of each attribute alone; `axes` by the number of their key.

    A row counts if it has a score and its group is known to the spec; whom another column drops is
    not seen here.
    """
    if cells.scores is None:
        return ()
    first = cells.scores.histograms[0]
    everybody = _histogram(first, cells, axes, cells.scores, together=True)
    each = [_histogram(one, cells, axes, cells.scores) for one in cells.scores.histograms]
    return (everybody, *each)


def _histogram(
    raw: RawHistogram,
    cells: RawCells,
    axes: Mapping[int, Axis],
    scores: RawScores,
    *,
    together: bool = False,
) -> Histogram:
    axis = axes[raw.keys[0]]
    size = 1 if together else len(axis.key.levels)
    groups, labels = _places(raw, raw.codes, cells, axes, together=together)
    stays = groups >= 0
    people = np.zeros((3, size, len(scores.bins.codes)), dtype=np.int64)
    np.add.at(people, (labels[stays], groups[stays], raw.bins[stays]), raw.people[stays])
    groups, _ = _places(raw, raw.cells, cells, axes, together=together)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, groups[groups >= 0], raw.low[groups >= 0])
    np.maximum.at(high, groups[groups >= 0], raw.high[groups >= 0])
    largest = max(abs(float(scores.bins.low[0])), abs(float(scores.bins.high[-1])))
    fits = raw.sums is not None and largest >= TOO_SMALL
    names: tuple[Group, ...] = tuple(((axis.key.name, level),) for level in axis.key.levels)
    known = np.array([code not in axis.key.unknown for code in range(size)], dtype=np.bool_)
    return Histogram(
        by=() if together else (axis.key.name,),
        groups=((),) if together else names,
        known=np.ones(1, dtype=np.bool_) if together else known,
        people=people,
        bins=scores.bins,
        low=low,
        high=high,
        moments=_moments(groups, raw.sums, size) if raw.sums is not None and fits else None,
    )


def _places(
    raw: RawHistogram, codes: Ints, cells: RawCells, axes: Mapping[int, Axis], *, together: bool
) -> tuple[Ints, Ints]:
    """The audited group of each entry (below 0: none), and what its label is."""
    found = [_audited(codes[:, at], key, cells, axes[key]) for at, key in enumerate(raw.keys)]
    groups = np.where(found[0] == DROP, DROP, 0) if together else found[0]
    labels = np.full(len(codes), _NOT_KNOWN)
    if len(found) > 1:
        labels = _labels(found[1], axes[raw.keys[1]].key)
        groups = np.where(found[1] == DROP, DROP, groups)
    return groups, labels


def _audited(codes: Ints, key: int, cells: RawCells, axis: Axis) -> Ints:
    """The audited code of each raw one: what the cells of that raw code have."""
    raw = cells.keys[key].codes
    lookup = np.full(int(max(raw.max(), codes.max(initial=0))) + 2, DROP)
    lookup[raw + 1] = axis.codes
    return np.asarray(lookup[codes + 1])


def _labels(codes: Ints, key: KeyColumn) -> Ints:
    positive = np.isin(codes, list(key.positive or ()))
    known = (codes >= 0) & (key.positive is not None)
    return np.where(positive, _POSITIVE, np.where(known, _NEGATIVE, _NOT_KNOWN))


def _moments(groups: Ints, sums: tuple[list[int], ...], size: int) -> tuple[Moments, ...]:
    found = [Moments(0, 0, 0, 0)] * size
    for g, *more in zip(groups.tolist(), *sums, strict=True):
        if g >= 0:
            found[g] = found[g] + Moments(*more)
    return tuple(found)
