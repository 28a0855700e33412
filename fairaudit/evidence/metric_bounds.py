"""The bounds of a measure by the bounds of its rates: comparisons, spreads, folds, ε."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fairaudit.cube import Floats, Marks
from fairaudit.evidence.missing_people import (
    Bounds,
    Placement,
    bound_rate,
    count_incomplete,
    count_visitors,
    divide,
    find_contributions,
    place_in_group,
    place_in_rest,
    place_overall,
    sum_contributions,
)
from fairaudit.metrics import (
    Comparison,
    ComparisonShape,
    Disparity,
    Evaluation,
    GroupMetric,
    Rate,
    ReferencePolicy,
    TableMetric,
)
from fairaudit.metrics.differential_fairness import DIFFERENTIAL_FAIRNESS
from fairaudit.metrics.disparities import (
    FARTHEST_FROM_1,
    LARGEST_MAGNITUDE,
    MEAN_MAGNITUDE,
    REMAINDER,
)
from fairaudit.metrics.evaluation import compare_values
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.terms import EXTREME_REFERENCES


class NoBounds(Exception):
    """A measure has no bounds; the message says why."""


def find_policy(evaluation: Evaluation) -> ReferencePolicy | None:
    """Whom groups are compared with; None where there is no reference."""
    if not isinstance(evaluation.metric, Disparity) or not evaluation.metric.to_reference:
        return None
    return (evaluation.parts or (evaluation,))[0].terms.policy


def find_bounds(evaluation: Evaluation, placement: Placement) -> Bounds:
    """The bounds of each value. Raises `NoBounds`, with the reason, where there are none."""
    metric = evaluation.metric
    if evaluation.averaged is not None:
        raise NoBounds("rates are averaged over strata")
    if evaluation.strata is not None:
        raise NoBounds("it is adjusted for controls")
    if evaluation.error is not None and np.nan_to_num(evaluation.error).any():
        raise NoBounds("the bins of the score hide some of it")
    if isinstance(metric, Disparity) and metric.mean:
        raise NoBounds("it is a mean over groups")
    if evaluation.parts:
        ranges = [find_bounds(part, placement) for part in evaluation.parts]
        # One outcome less another has a fraction of its own, as a fold never has.
        less = evaluation.fraction is not None
        return _order_ends(_fold_bounds(evaluation, ranges, less=less), evaluation.value)
    if isinstance(metric, TableMetric):
        return _bound_epsilon(metric, evaluation, placement)
    return _bound_rate(metric, evaluation, placement)


def _bound_rate(
    metric: GroupMetric | Disparity, evaluation: Evaluation, placement: Placement
) -> Bounds:
    """The bounds of a rate, or of one comparison of a rate."""
    values = evaluation.group_values
    people = place_in_group(count_incomplete(evaluation.table), placement)
    own = None if values is None else bound_rate(values.metric, people)
    if values is None or own is None:
        raise NoBounds("it is no rate of people")
    if isinstance(metric, GroupMetric):
        return own
    comparison = metric.comparison
    if comparison.shape is ComparisonShape.SPREAD:
        return _bound_spread(comparison, own, evaluation)
    if comparison.contrast is not None:
        raise NoBounds(f"no bounds are known for a comparison by {comparison.id.replace('_', ' ')}")
    against = _bound_reference(evaluation, own, placement)

    def corner(group: Floats, reference: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return compare_values(values.metric, comparison, group, reference)

    # Whatever is compared, it moves one way with the group, and the other with the reference.
    return _order_ends((corner(own[0], against[1]), corner(own[1], against[0])), evaluation.value)


def _order_ends(ends: Bounds, value: Floats) -> Bounds:
    """The ends in order; where one is 0/0 there is no value at it, so that of today stands in."""
    first, second = (np.where(np.isnan(end), value, end) for end in ends)
    return np.fmin(first, second), np.fmax(first, second)


def _bound_reference(evaluation: Evaluation, own: Bounds, placement: Placement) -> Bounds:
    """The reference at its lowest, where the group is at its highest, and the other way round."""
    assert evaluation.group_values is not None
    rate, cells = evaluation.group_values.metric, count_incomplete(evaluation.table)
    policy = find_policy(evaluation)
    if policy in EXTREME_REFERENCES:
        return _bound_extreme(own, evaluation.takes_part, highest=policy is ReferencePolicy.HIGHEST)
    if policy is ReferencePolicy.REST:
        bounds = bound_rate(rate, place_in_rest(cells, placement))
    elif policy is ReferencePolicy.OVERALL:
        adds = find_contributions(rate) if isinstance(rate, Rate) else None
        settled = placement is not Placement.ANYWHERE or not (
            cells.shown.any() or cells.all_aside.any()
        )
        if adds is not None and adds.fixed and settled:
            # Who is counted is fixed, so everybody is the group and the rest, at opposite ends.
            own_people, others = place_in_group(cells, placement), place_in_rest(cells, placement)
            low = sum_contributions(adds.high, adds.free_high, own_people) + sum_contributions(
                adds.low, adds.low, others
            )
            high = sum_contributions(adds.low, adds.low, own_people) + sum_contributions(
                adds.high, adds.high, others
            )
            return divide(low, 0.0), divide(high, 1.0)
        bounds = bound_rate(rate, place_overall(cells, placement, None))
    elif policy is ReferencePolicy.EVERYBODY:
        bounds = bound_rate(rate, place_overall(cells, placement, evaluation.table.known_strata))
    else:
        index = np.maximum(evaluation.second, 0)
        low, high = (np.take_along_axis(end, index, axis=1) for end in own)
        return low, high
    assert bounds is not None
    return bounds


def _bound_extreme(own: Bounds, takes_part: Marks, *, highest: bool) -> Bounds:
    """The highest (or lowest) of all groups beside each: the others' ends, and the group's own."""
    low, high = own
    if not highest:
        at_low, at_high = _bound_extreme((-high, -low), takes_part, highest=True)
        return -at_high, -at_low
    return (
        np.maximum(high, _find_largest_other(low, takes_part)),
        np.maximum(low, _find_largest_other(high, takes_part)),
    )


def _find_largest_other(value: Floats, among: Marks) -> Floats:
    """The largest value of all marked groups but the own one, [Z, G]; -∞ without any."""
    marked = np.where(among, value, -np.inf)
    largest = marked.argmax(axis=1)[:, None]
    others = np.arange(marked.shape[1]) != largest
    second = np.where(others, marked, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    return np.asarray(np.where(others, np.take_along_axis(marked, largest, axis=1), second))


def _bound_spread(comparison: Comparison, own: Bounds, evaluation: Evaluation) -> Bounds:
    """The smallest and the largest distance between groups: one value a stratum."""
    if comparison.scale not in {Scale.DIFFERENCE, Scale.RATIO}:
        raise NoBounds(f"no bounds are known for the {comparison.id}")
    far, near = (
        _find_widest(own, evaluation.takes_part),
        _find_narrowest(own, evaluation.takes_part),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        if comparison.scale is Scale.RATIO:
            ends = np.fmin.reduce([low / high for high, low in far]), near[1] / near[0]
            ends = ends[0], np.where(near[1] >= near[0], 1.0, ends[1])
        else:
            ends = (
                np.maximum(near[0] - near[1], 0.0),
                np.fmax.reduce([high - low for high, low in far]),
            )
        ends = tuple(comparison.rescaling.apply(end) for end in ends)
    return _order_ends((ends[0][:, None], ends[1][:, None]), evaluation.value)


def _find_widest(own: Bounds, among: Marks) -> list[tuple[Floats, Floats]]:
    """Two candidates [Z] for the farthest ends of two different groups: either may give way."""
    top = np.where(among, own[1], -np.inf)
    bottom = np.where(among, own[0], np.inf)
    high, low = (index[:, None] for index in (top.argmax(axis=1), bottom.argmin(axis=1)))
    columns = np.arange(among.shape[1])
    return [
        (top.max(axis=1), np.where(columns == high, np.inf, bottom).min(axis=1)),
        (np.where(columns == low, -np.inf, top).max(axis=1), bottom.min(axis=1)),
    ]


def _find_narrowest(own: Bounds, among: Marks) -> tuple[Floats, Floats]:
    """The largest low end and the smallest high end [Z]: groups cannot come closer."""
    return (
        np.where(among, own[0], -np.inf).max(axis=1),
        np.where(among, own[1], np.inf).min(axis=1),
    )


def _fold_bounds(evaluation: Evaluation, ranges: Sequence[Bounds], *, less: bool) -> Bounds:
    """The bounds of what several values are folded to."""
    lows, highs = (np.stack([bounds[end] for bounds in ranges]) for end in range(2))
    metric = evaluation.metric
    if less:
        return _subtract_bounds(ranges)
    assert isinstance(metric, Disparity)
    fold = metric.fold
    if fold is REMAINDER:
        return _subtract_bounds(ranges)
    if fold in {LARGEST_MAGNITUDE, FARTHEST_FROM_1}:
        return lows.min(axis=0), highs.max(axis=0)
    if fold is MEAN_MAGNITUDE:
        apart = np.maximum(np.maximum(lows, -highs), 0.0)
        return apart.mean(axis=0), np.maximum(np.abs(lows), np.abs(highs)).mean(axis=0)
    if fold.rank is not None:
        pick: Callable[..., Any] = np.max if fold.rank(1) > fold.rank(0) else np.min
        return pick(lows, axis=0), pick(highs, axis=0)
    return lows.mean(axis=0), highs.mean(axis=0)


def _subtract_bounds(ranges: Sequence[Bounds]) -> Bounds:
    first, second = ranges
    with np.errstate(invalid="ignore"):
        low, high = first[0] - second[1], first[1] - second[0]
    # ∞ less ∞ may be anything.
    return np.nan_to_num(low, nan=-np.inf, posinf=np.inf, neginf=-np.inf), np.nan_to_num(
        high, nan=np.inf, posinf=np.inf, neginf=-np.inf
    )


def _bound_epsilon(metric: TableMetric, evaluation: Evaluation, placement: Placement) -> Bounds:
    """The bounds of ε, over all outcomes and pairs of groups."""
    table, parameters = evaluation.table, evaluation.terms.parameters
    if metric is not DIFFERENTIAL_FAIRNESS:
        raise NoBounds("it is no comparison of rates")
    smoothing = parameters.per_outcome(len(table.classes))
    if smoothing and table.squares is not None:
        raise NoBounds("it is a smoothed ε of a weighted sample")
    own = table.mass.sum(axis=1) / table.scale
    outside = None if table.ungrouped is None else table.ungrouped.mass.sum(axis=1) / table.scale
    shown, aside, share = count_visitors(table, own, outside)
    free = shown + aside if placement is Placement.ANYWHERE else np.zeros_like(own)
    required = own + share if placement is Placement.PROPORTIONAL else own
    known, unknown = required[:, :-1] + smoothing, required[:, -1:]
    all_free, total = free.sum(axis=1, keepdims=True), known.sum(axis=1, keepdims=True) + unknown
    joining = free[:, :-1] + free[:, -1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        upper = np.log((known + unknown + joining) / (total + joining))
        lower = np.log(known / (total + all_free - free[:, :-1]))
        ends = [
            _bound_log_ratios((lower[:, y], upper[:, y]), evaluation.takes_part)
            for y in range(len(table.classes))
        ]
    low, high = (np.max([bounds[end] for bounds in ends], axis=0, initial=0.0) for end in range(2))
    return _order_ends((low[:, None], high[:, None]), evaluation.value)


def _bound_log_ratios(logs: Bounds, among: Marks) -> Bounds:
    """The least and the largest log-ratio of one outcome; 0 where no group may ever have it."""
    with np.errstate(invalid="ignore"):
        wide = np.fmax.reduce([high - low for high, low in _find_widest(logs, among)])
        largest_low, smallest_high = _find_narrowest(logs, among)
        least = largest_low - smallest_high
    return np.nan_to_num(least, nan=0.0, posinf=np.inf), np.nan_to_num(wide, nan=0.0, posinf=np.inf)
