"""How the score is distributed over the groups: its size, spread and ranking in each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

import numpy as np

from fairaudit.counts import Median
from fairaudit.histogram import Histogram, auc, quantile
from fairaudit.result import ScoreRow

_HALF = Fraction(1, 2)


def scores(
    column: str, histograms: Iterable[Histogram], medians: Mapping[str, Median]
) -> Iterator[ScoreRow]:
    """A row for everybody, and for each group of each attribute.

    Everybody's median is exact where it is among `medians`, of as many people.
    """
    exact = medians.get(column)
    for one in histograms:
        for g, group in enumerate(one.groups):
            by_label = one.people[0, :, g]
            people = by_label.sum(axis=0)
            n = int(people.sum())
            if not n:
                continue
            used = np.flatnonzero(people)
            moments = one.moments[0][g] if one.moments else None
            mean = None if moments is None else moments.mean
            ranking = auc(by_label[1, used], by_label[0, used], one.bins.single[used])
            median = quantile(people, one.bins, _HALF)
            if not one.by and exact is not None and exact.people == n:
                median = exact.value, exact.value
            yield ScoreRow(
                column=column,
                by=one.by,
                group=group,
                known=bool(one.known[g]),
                n=n,
                mean=None if mean is None else float(mean),
                deviation=None if moments is None else moments.deviation,
                lowest=float(one.low[0, g]),
                highest=float(one.high[0, g]),
                median=median,
                auc=None if ranking is None else ranking[0],
                auc_error=None if ranking is None else ranking[1],
            )
