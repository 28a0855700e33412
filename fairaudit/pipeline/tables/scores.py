"""Rows of scores and features; curves of scores; local rates of numeric attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.frozen import replace
from fairaudit.counting.counts import Median
from fairaudit.cube.histogram import Histogram, auc, quantile
from fairaudit.metrics.confusion_counts import ScoreCounts
from fairaudit.metrics.scores import calibration_bins
from fairaudit.pipeline.recode import Cubes
from fairaudit.pipeline.recode.scores import Distribution
from fairaudit.pipeline.recode.side_cubes import Described
from fairaudit.result import (
    Calibration,
    Curve,
    FeatureRow,
    LocalRate,
    LocalRates,
    ScoreRow,
    Threshold,
)
from fairaudit.stats import pooling, proportions

_HALF = Fraction(1, 2)
_PLACES = 41
_TAIL = 0.01
"""A local curve leaves out this share of the people at either end, where few are near."""


def scores(
    column: str, histograms: Iterable[Histogram], medians: Mapping[str, Median]
) -> Iterator[ScoreRow]:
    """A row for all people, and for each group of each attribute.

    The median of all people is exact if `medians` has it for the same number of people.
    """
    exact = medians.get(column)
    for histogram in histograms:
        for g, group in enumerate(histogram.groups):
            by_label = histogram.people[0, :, g]
            people = by_label.sum(axis=0)
            n = int(people.sum())
            if not n:
                continue
            used = np.flatnonzero(people)
            ranking = auc(by_label[1, used], by_label[0, used], histogram.bins.single[used])
            numbers = _describe(histogram, g)
            if not histogram.by and exact is not None and exact.people == n:
                numbers["median"] = exact.value, exact.value
            yield ScoreRow(
                column=column,
                by=histogram.by,
                group=group,
                known=bool(histogram.known[g]),
                n=n,
                **numbers,
                auc=None if ranking is None else ranking[0],
                auc_error=None if ranking is None else ranking[1],
            )


_THRESHOLDS = 20
"""The number of thresholds of a curve, at equal shares of people: enough for a picture."""


def curves(column: str, histograms: Iterable[Histogram], alpha: float) -> Iterator[Curve]:
    """The curves of all people and of each group of each attribute that has labels.

    The confidence of intervals is 1 - `alpha`.
    """
    thresholds: Ints | None = None
    for histogram in histograms:
        scores = ScoreCounts(
            histogram.people, histogram.bins.low, histogram.bins.high, histogram.everybody
        )
        number = calibration_bins(scores)
        if thresholds is None:
            # The bins at which each next twentieth of all people begins, in ascending order.
            everybody = histogram.everybody
            reached = np.cumsum(everybody) - everybody
            steps = reached * _THRESHOLDS // max(int(everybody.sum()), 1)
            _, first = np.unique(np.where(everybody > 0, steps, -1), return_index=True)
            thresholds = np.asarray(first[everybody[first] > 0])
        for g, group in enumerate(histogram.groups):
            by_label = histogram.people[0, :, g]
            if by_label[:2].any():
                yield Curve(
                    column=column,
                    by=histogram.by,
                    group=group,
                    known=bool(histogram.known[g]),
                    calibration=tuple(_calibration(scores, number, by_label, alpha)),
                    thresholds=tuple(_error_rates(scores, thresholds, by_label)),
                )


def _calibration(
    scores: ScoreCounts, number: Ints, by_label: Ints, alpha: float
) -> Iterator[Calibration]:
    """A point for each bin in [0, 1] that has people with a known label."""
    negative, positive = by_label[0], by_label[1]
    middle: Floats = (scores.low + scores.high) / 2
    for bin_number in np.unique(number[number >= 0]).tolist():
        inside = number == bin_number
        people = (positive + negative)[inside]
        n, hits = int(people.sum()), int(positive[inside].sum())
        if n:
            low, high = proportions.share_interval(np.array(hits / n), np.array(float(n)), alpha)
            yield Calibration(
                lowest=float(scores.low[inside][people > 0].min()),
                highest=float(scores.high[inside][people > 0].max()),
                n=n,
                mean_score=float((people * middle[inside]).sum() / n),
                share=hits / n,
                low=float(low),
                high=float(high),
            )


def _error_rates(scores: ScoreCounts, thresholds: Ints, by_label: Ints) -> Iterator[Threshold]:
    """The selected share at each threshold, of all people and by label."""
    totals = [int(side.sum()) for side in by_label]
    for threshold in thresholds.tolist():
        above = [int(side[threshold:].sum()) for side in by_label]
        negative, positive = (
            above[side] / totals[side] if totals[side] else None for side in (0, 1)
        )
        yield Threshold(
            at=float(scores.low[threshold]),
            selected=sum(above) / sum(totals),
            true_positive_rate=positive,
            false_positive_rate=negative,
        )


def local_rates(cubes: Cubes, alpha: float) -> Iterator[LocalRates]:
    """A curve for each numeric attribute whose slope a metric uses, and each outcome."""
    for counted in cubes.attributes:
        at, hits, people = counted.at, counted.hits, counted.people
        width = pooling.bandwidth(at, people)
        if not np.isfinite(width):
            continue
        reached = np.cumsum(people) / people.sum()
        first, last = at[np.searchsorted(reached, [_TAIL, 1 - _TAIL])].tolist()
        places = np.linspace(first, last, _PLACES)
        found = pooling.smooth(places, at, hits, people, width, alpha)
        points = zip(places.tolist(), *(part.tolist() for part in found), strict=True)
        yield LocalRates(
            attribute=counted.attribute,
            of=counted.of,
            bandwidth=width,
            points=tuple(LocalRate(*point) for point in points if np.isfinite(point[1])),
        )


def features(cubes: Cubes) -> Iterator[FeatureRow]:
    """A row for each feature, of all people and of each group of each attribute."""
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
            yield from _feature_rows(everybody, score)
        yield from _feature_rows(described, score)


def _feature_rows(described: Described, score: Distribution | None) -> Iterator[FeatureRow]:
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
        if histogram is not None:
            has_numbers = histogram.people[0, :, g].any()
            yield replace(row, **_describe(histogram, g)) if has_numbers else row
        elif not n:
            yield replace(row, levels=0)
        else:
            shares = people[people > 0] / n
            yield replace(
                row,
                levels=len(shares),
                commonest=described.levels[int(people.argmax())],
                entropy=0.0 - float((shares * np.log2(shares)).sum()),
            )


def _describe(histogram: Histogram, g: int) -> dict[str, Any]:
    """Summary numbers of a group; the median is between two bounds."""
    moments = histogram.moments[0][g] if histogram.moments else None
    mean = None if moments is None else moments.mean
    people = histogram.people[0, :, g].sum(axis=0)
    return {
        "mean": None if mean is None else float(mean),
        "deviation": None if moments is None else moments.deviation,
        "lowest": float(histogram.low[0, g]),
        "highest": float(histogram.high[0, g]),
        "median": quantile(people, histogram.bins, _HALF),
    }
