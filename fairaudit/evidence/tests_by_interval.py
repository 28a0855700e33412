"""Tests by inverting an interval: p where parity leaves it; most groups beside an extreme.

So a number without a test of its own, such as an average over strata, has an interval and a test
that are both about the printed number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairaudit.base.arrays import Floats
from fairaudit.evidence.clustered_inference import is_clustered
from fairaudit.evidence.records import TestKey, Tests
from fairaudit.evidence.value_intervals import find_intervals
from fairaudit.metrics import Disparity, Evaluation, GroupMetric, TableMetric
from fairaudit.metrics.folds import MEAN
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.terms import EXTREME_REFERENCES, INCLUDING_GROUP
from fairaudit.stats import distributions
from fairaudit.stats.proportions import wilson_reach

_MOST_EXTREME = 100
"""Of more groups none is tested against an extreme one: each needs a search of its own."""

_NEAR = 1e-12
_ROUNDING = 2e-16
_FARTHEST = 37.5
"""Its p is the smallest that has all its digits."""
_STEPS = 60
_CLOSE = 1e-9


def invert_intervals(evaluation: Evaluation) -> Tests:
    """The level at which parity leaves the interval, on the scale of z."""
    metric = evaluation.metric
    ideal = 0.0 if isinstance(metric, GroupMetric) or evaluation.subtracts else float(metric.ideal)
    intervals = find_intervals(evaluation)
    if not intervals.method:
        return Tests.none(evaluation, intervals.why.removeprefix("none: "))
    to_extreme = evaluation.terms.policy in EXTREME_REFERENCES
    judged = np.flatnonzero(evaluation.judged.any(axis=0)).tolist() if to_extreme else []
    if len(judged) > _MOST_EXTREME:
        return Tests.none(evaluation, f"no test of over {_MOST_EXTREME} groups to an extreme one")
    distance = evaluation.value - ideal
    find_margin = _find_share_margin(evaluation, distance)

    def margin(z: Floats) -> Floats:
        """How far parity lies outside the interval of that z; negative inside."""
        alpha = _shape_alpha(evaluation, np.asarray(distributions.normal_two_sided(z)))
        if to_extreme:
            # All hold together, at one level in a stratum: each group has a level of its own.
            low, high = np.full_like(z, np.nan), np.full_like(z, np.nan)
            for group in judged:
                ends = find_intervals(evaluation, alpha[:, group : group + 1])
                low[:, group], high[:, group] = ends.low[:, group], ends.high[:, group]
        else:
            ends = find_intervals(evaluation, alpha)
            low, high = ends.low, ends.high
        return np.where(distance > 0, low - ideal, ideal - high)

    z = _find_root(find_margin or margin, np.abs(distance))
    # Where parity is the value itself no interval is without it.
    p = np.where(np.abs(distance) < _NEAR, 1.0, distributions.normal_two_sided(z))
    p = np.where(np.isnan(intervals.low) | np.isnan(intervals.high), np.nan, p)
    return Tests(p, ("its interval",), key=_find_interval_key(evaluation), joint=to_extreme)


def _find_share_margin(
    evaluation: Evaluation, distance: Floats
) -> Callable[[Floats], Floats] | None:
    """The same margin of a mean of differences of shares, at a tenth of the time.

    Each side adds the square of its distance to Wilson's bound on the side of parity. None where
    the interval is another one.
    """
    disparity, parts, terms = evaluation.metric, evaluation.parts, evaluation.terms
    if not parts or evaluation.subtracts or not isinstance(disparity, Disparity):
        return None
    if disparity.fold is not MEAN:
        return None
    is_difference = all(
        comparison.scale is Scale.DIFFERENCE and comparison.is_plain
        for _, comparison in disparity.parts
    )
    pairs = [(part.group_values, part.reference_values) for part in parts]
    sides = [side for pair in pairs for side in pair if side is not None and side.binomial]
    if not is_difference or len(sides) < 2 * len(parts):
        return None
    of_other_kind = terms.policy in EXTREME_REFERENCES or terms.policy in INCLUDING_GROUP
    if of_other_kind or is_clustered(evaluation) or any(part.averaged for part in parts):
        return None
    is_above = np.stack([distance > 0, distance <= 0] * len(parts))
    share, size = (
        np.stack(arrays) for arrays in zip(*(side.sample for side in sides), strict=True)
    )
    share = np.where(is_above, share, 1 - share)

    def margin(z: Floats) -> Floats:
        reach = wilson_reach(share, size, z)
        return np.asarray(np.abs(distance) - np.sqrt(np.square(reach).sum(axis=0)) / len(parts))

    return margin


def _find_root(margin: Callable[[Floats], Floats], distance: Floats) -> Floats:
    """The z at which the margin, `distance` at 0 and falling, is 0: by secants and halving."""
    low, at_low = np.zeros_like(distance), np.array(distance)
    high, at_high = np.full_like(distance, _FARTHEST), np.full_like(distance, np.nan)
    z = np.full_like(distance, 2.0)
    was_outside = np.zeros(distance.shape, dtype=bool)
    settled = ~(distance >= _NEAR)  # parity itself, and what is undefined
    for step in range(_STEPS):
        here = margin(z)
        outside = here > 0
        # Ends that are cut off at parity are 0 from there on, and never below.
        is_root = ~(np.abs(here) >= np.maximum(_NEAR * distance, _ROUNDING))
        settled |= is_root & ((here != 0) | (at_high < 0))
        # An end that stays a second time counts half, so that it moves, too (Illinois).
        stayed = np.where((outside == was_outside) & (step > 0), 0.5, 1.0)
        at_high = np.where(outside, at_high * stayed, here)
        at_low = np.where(outside, here, at_low * stayed)
        was_outside = outside
        low, high = np.where(outside, z, low), np.where(outside, high, z)
        secant = low + (high - low) * at_low / (at_low - at_high)
        # Ends that are cut off at parity, or infinite, tell no slope.
        usable = np.isfinite(secant) & (at_high < 0) & (secant > low) & (secant < high)
        middle = np.where(np.isnan(at_high), np.minimum(2 * z, _FARTHEST), (low + high) / 2)
        z = np.where(settled, z, np.where(usable, secant, middle))
        if not (~settled & (high - low > _CLOSE * np.maximum(high, 1.0))).any():
            break
    return z


def _find_interval_key(evaluation: Evaluation) -> TestKey:
    """What makes an interval another one: a ratio's is not that of a difference."""
    metric, terms = evaluation.metric, evaluation.terms
    comparison = metric.comparison.id if isinstance(metric, Disparity) else ""
    average = None if terms.average is None else str(terms.average)
    return metric.id, comparison, terms.parameters, average


def _shape_alpha(evaluation: Evaluation, alpha: Any) -> Any:  # noqa: ANN401  # an array, or a column of it
    """The α of each value, as the interval takes it: one a stratum where the value is one."""
    return alpha[:, 0] if isinstance(evaluation.metric, TableMetric) else alpha
