"""The data table of features: what people of each group have, and who lacks it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairaudit.arrays import Ints
from fairaudit.histogram import Histogram, quantile
from fairaudit.recode import Cubes
from fairaudit.recode.scores import Distribution
from fairaudit.recode.side_cubes import Described
from fairaudit.result import FeatureRow


def features(cubes: Cubes) -> Iterator[FeatureRow]:
    """A row for each feature, of everybody and of each group of each attribute."""
    listed: set[str] = set()
    for described in cubes.described:
        score = cubes.scores.get(described.column)
        if described.column not in listed:
            listed.add(described.column)
            everybody = replace(
                described,
                by=(),
                groups=((),),
                known=np.ones(1, np.bool_),
                missing=described.missing.sum(keepdims=True),
                people=described.people.sum(axis=1, keepdims=True),
            )
            yield from _rows(everybody, score)
        yield from _rows(described, score)


def _rows(described: Described, score: Distribution | None) -> Iterator[FeatureRow]:
    histogram = None
    if score is not None:
        histogram = score.histogram(described.by, (), described.groups, ((),))
    for g, group in enumerate(described.groups):
        people, missing = described.people[:, g], int(described.missing[g])
        n = int(people.sum())
        if not n + missing:
            continue
        row = FeatureRow(
            feature=described.column,
            by=described.by,
            group=group,
            known=bool(described.known[g]),
            n=n,
            missing=missing,
        )
        yield _of_levels(row, described, people) if histogram is None else (
            _of_numbers(row, histogram, g)
        )  # fmt: skip


def _of_levels(row: FeatureRow, described: Described, people: Ints) -> FeatureRow:
    """The row with what tells of levels: how many there are, the commonest, and their entropy."""
    if not row.n:
        return replace(row, levels=0)
    shares = people[people > 0] / row.n
    return replace(
        row,
        levels=len(shares),
        commonest=described.levels[int(people.argmax())],
        entropy=0.0 - float((shares * np.log2(shares)).sum()),
    )


def _of_numbers(row: FeatureRow, histogram: Histogram, g: int) -> FeatureRow:
    """The row with what tells of numbers; the median lies between both of its own."""
    people = histogram.people[0, :, g].sum(axis=0)
    if not people.sum():
        return row
    moments = histogram.moments[0][g] if histogram.moments else None
    mean = None if moments is None else moments.mean
    return replace(
        row,
        mean=None if mean is None else float(mean),
        deviation=None if moments is None else moments.deviation,
        lowest=float(histogram.low[0, g]),
        highest=float(histogram.high[0, g]),
        median=quantile(people, histogram.bins, Fraction(1, 2)),
    )
