"""`aggregate:` of a spec: departures of all groups as one number, computed on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.cube import Floats, Ints
from fairaudit.metrics.disparities import Disparity
from fairaudit.metrics.evaluation_record import (
    Evaluation,
)
from fairaudit.metrics.folds import OverGroups
from fairaudit.metrics.terms import NO_GROUP


def _combine(over: OverGroups, apart: Floats, n: Floats, *, is_ratio: bool) -> Floats:
    """One number of departures [Z, G], NaN where nobody is; of the logarithms of ratios."""
    nobody = np.isnan(apart) & (n == 0)
    match over:
        case OverGroups.MEAN:
            return np.asarray(np.where(nobody, 0.0, n * apart).sum(axis=1) / n.sum(axis=1))
        case OverGroups.SUM:
            total = np.where(nobody, 0.0, apart).sum(axis=1)
            return np.where(nobody.all(axis=1), np.nan, total)
        case OverGroups.MIN if not is_ratio:
            least = np.where(nobody, np.inf, apart).min(axis=1)
            return np.where(nobody.all(axis=1), np.nan, least)
        case _:
            most = np.where(nobody, -np.inf, apart).max(axis=1)
            sign = -1 if over is OverGroups.MIN else 1
            return np.where(nobody.all(axis=1), np.nan, sign * most)


def _combine_exactly(
    over: OverGroups,
    pairs: Sequence[tuple[int, Fraction]],
    ideal: Fraction,
    *,
    is_ratio: bool,
) -> Fraction | None:
    """One exact number of departures with their people; None where logarithms leave no fraction."""
    if is_ratio:
        if over in {OverGroups.MEAN, OverGroups.SUM} or any(value <= 0 for _, value in pairs):
            return None
        farthest = max(max(value, 1 / value) for _, value in pairs if value)
        return farthest if over is OverGroups.MAX else 1 / farthest
    apart = [abs(value - ideal) for _, value in pairs]
    match over:
        case OverGroups.MEAN:
            weighed = sum((m * abs(v - ideal) for m, v in pairs), Fraction(0))
            return weighed / sum(m for m, _ in pairs)
        case OverGroups.SUM:
            return sum(apart, Fraction(0))
        case OverGroups.MAX:
            return max(apart)
        case OverGroups.MIN:
            return min(apart)


def aggregate_groups(metric: Disparity, over: OverGroups, by_group: Evaluation) -> Evaluation:
    """One number of the departures from parity of the groups that are judged.

    Those of ratios are taken on the log scale, either side alike.
    """
    values, judged = by_group.value, by_group.judged
    n = np.where(judged, _people(by_group), 0)
    is_ratio = metric.comparison.quotient
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(values) if is_ratio else values - float(metric.ideal))
        combined = _combine(over, np.where(n > 0, apart, np.nan), n, is_ratio=is_ratio)
        value = np.exp(combined) if is_ratio else combined
    undefined = (judged & np.isnan(values)).any(axis=1)
    value = np.where(undefined, np.nan, value)[:, None]

    def exact_at(z: int, _: int) -> Fraction | None:
        pairs = [(int(n[z, g]), by_group.exact(z, g)) for g in np.flatnonzero(judged[z]).tolist()]
        exact = [(people, value) for people, value in pairs if value is not None]
        if len(exact) < len(pairs) or not sum(people for people, _ in pairs):
            return None
        return _combine_exactly(over, exact, Fraction(metric.ideal), is_ratio=is_ratio)

    nobody = np.full(value.shape, NO_GROUP)
    return replace(
        by_group,
        metric=metric,
        value=value,
        first=nobody,
        second=nobody,
        judged=np.ones(value.shape, dtype=np.bool_),
        parts=(),
        averaged_parts=by_group.parts,
        names=(),
        attained=None,
        error=None,
        exact_at=exact_at,
    )


def _people(evaluation: Evaluation) -> Ints:
    """People in the denominators behind each value; of several parts the fewest."""
    part_values = [part.group_values for part in evaluation.parts or (evaluation,)]
    return np.asarray(np.min([values.n for values in part_values if values is not None], axis=0))
