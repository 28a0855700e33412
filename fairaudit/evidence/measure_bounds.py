"""The bounds of a measure by the bounds of its rates: comparisons, spreads, folds, ε."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fairaudit.cube import Floats, Marks
from fairaudit.evidence.missing_people import (
    Bounds,
    Placement,
    count_incomplete,
    divided,
    ends_of,
    find_contributions,
    overall_of,
    own_of,
    rest_of,
    summed,
    visitors,
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
from fairaudit.metrics.terms import EXTREME_REFERENCES


def policy_of(evaluation: Evaluation) -> ReferencePolicy | None:
    """Whom groups are compared with; None where there is no reference."""
    if not isinstance(evaluation.metric, Disparity) or not evaluation.metric.to_reference:
        return None
    return (evaluation.parts or (evaluation,))[0].terms.policy


def range_of(evaluation: Evaluation, way: Placement) -> Bounds | str:
    """The bounds of each value, or why there are none."""
    asked = evaluation.metric
    if evaluation.averaged is not None:
        return "rates are averaged over strata"
    if evaluation.strata is not None:
        return "it is adjusted for controls"
    if evaluation.error is not None and np.nan_to_num(evaluation.error).any():
        return "the bins of the score hide some of it"
    if isinstance(asked, Disparity) and asked.mean:
        return "it is a mean over groups"
    if evaluation.parts:
        parts = [range_of(part, way) for part in evaluation.parts]
        ranges = [one for one in parts if not isinstance(one, str)]
        if len(ranges) < len(parts):
            return next(one for one in parts if isinstance(one, str))
        # One outcome less another has a fraction of its own, as a fold never has.
        less = evaluation.fraction is not None
        return _around(_folded(evaluation, ranges, less=less), evaluation.value)
    if isinstance(asked, TableMetric):
        return _whole(asked, evaluation, way)
    return _of_rate(asked, evaluation, way)


def _of_rate(
    asked: GroupMetric | Disparity, evaluation: Evaluation, way: Placement
) -> Bounds | str:
    """The bounds of a rate, or of one comparison of a rate."""
    reading = evaluation.group_values
    own = (
        None
        if reading is None
        else ends_of(reading.metric, own_of(count_incomplete(evaluation.table), way))
    )
    if reading is None or own is None:
        return "it is no rate of people"
    if isinstance(asked, GroupMetric):
        return own
    compare = asked.comparison
    if compare.shape is ComparisonShape.SPREAD:
        return _spread(compare, own, evaluation)
    if compare.contrast is not None:
        return f"no bounds are known for a comparison by {compare.id.replace('_', ' ')}"
    against = _against(evaluation, own, way)

    def corner(group: Floats, reference: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return compare_values(reading.metric, compare, group, reference)

    # Whatever is compared, it moves one way with the group, and the other with the reference.
    return _around((corner(own[0], against[1]), corner(own[1], against[0])), evaluation.value)


def _around(ends: Bounds, value: Floats) -> Bounds:
    """The ends in order; where one is 0/0 there is no value at it, so that of today stands in."""
    one, two = (np.where(np.isnan(end), value, end) for end in ends)
    return np.fmin(one, two), np.fmax(one, two)


def _against(evaluation: Evaluation, own: Bounds, way: Placement) -> Bounds:
    """The reference at its lowest, where the group is at its highest, and the other way round."""
    assert evaluation.group_values is not None
    quantity, crowds = evaluation.group_values.metric, count_incomplete(evaluation.table)
    policy = policy_of(evaluation)
    if policy in EXTREME_REFERENCES:
        return _extreme(own, evaluation.takes_part, highest=policy is ReferencePolicy.HIGHEST)
    if policy is ReferencePolicy.REST:
        found = ends_of(quantity, rest_of(crowds, way))
    elif policy is ReferencePolicy.OVERALL:
        adds = find_contributions(quantity) if isinstance(quantity, Rate) else None
        settled = way is not Placement.ANYWHERE or not (
            crowds.shown.any() or crowds.all_aside.any()
        )
        if adds is not None and adds.fixed and settled:
            # Who is counted is fixed, so everybody is the group and the rest, at opposite ends.
            mine, others = own_of(crowds, way), rest_of(crowds, way)
            low = summed(adds.high, adds.free_high, mine) + summed(adds.low, adds.low, others)
            high = summed(adds.low, adds.low, mine) + summed(adds.high, adds.high, others)
            return divided(low, 0.0), divided(high, 1.0)
        found = ends_of(quantity, overall_of(crowds, way, None))
    elif policy is ReferencePolicy.EVERYBODY:
        found = ends_of(quantity, overall_of(crowds, way, evaluation.table.known_strata))
    else:
        index = np.maximum(evaluation.second, 0)
        low, high = (np.take_along_axis(end, index, axis=1) for end in own)
        return low, high
    assert found is not None
    return found


def _extreme(own: Bounds, takes_part: Marks, *, highest: bool) -> Bounds:
    """The highest (or lowest) of all groups beside each: the others' ends, and the group's own."""
    low, high = own
    if highest:
        return (
            np.maximum(high, _of_others(low, takes_part)),
            np.maximum(low, _of_others(high, takes_part)),
        )
    return (
        np.minimum(high, -_of_others(-low, takes_part)),
        np.minimum(low, -_of_others(-high, takes_part)),
    )


def _of_others(value: Floats, among: Marks) -> Floats:
    """The largest value of all marked groups but the own one, [Z, G]; -∞ without any."""
    marked = np.where(among, value, -np.inf)
    at = marked.argmax(axis=1)[:, None]
    others = np.arange(marked.shape[1]) != at
    second = np.where(others, marked, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    return np.asarray(np.where(others, np.take_along_axis(marked, at, axis=1), second))


def _spread(compare: Comparison, own: Bounds, evaluation: Evaluation) -> Bounds | str:
    """The smallest and the largest distance between groups: one value a stratum."""
    if compare.id not in {"gap", "min_ratio"}:
        return f"no bounds are known for the {compare.id}"
    far, near = _widest(own, evaluation.takes_part), _narrowest(own, evaluation.takes_part)
    with np.errstate(divide="ignore", invalid="ignore"):
        if compare.quotient:
            ends = np.fmin.reduce([low / high for high, low in far]), near[1] / near[0]
            ends = ends[0], np.where(near[1] >= near[0], 1.0, ends[1])
        else:
            ends = (
                np.maximum(near[0] - near[1], 0.0),
                np.fmax.reduce([high - low for high, low in far]),
            )
    return _around((ends[0][:, None], ends[1][:, None]), evaluation.value)


def _widest(own: Bounds, among: Marks) -> list[tuple[Floats, Floats]]:
    """Two candidates [Z] for the farthest ends of two different groups: either may give way."""
    top = np.where(among, own[1], -np.inf)
    bottom = np.where(among, own[0], np.inf)
    high, low = (one[:, None] for one in (top.argmax(axis=1), bottom.argmin(axis=1)))
    columns = np.arange(among.shape[1])
    return [
        (top.max(axis=1), np.where(columns == high, np.inf, bottom).min(axis=1)),
        (np.where(columns == low, -np.inf, top).max(axis=1), bottom.min(axis=1)),
    ]


def _narrowest(own: Bounds, among: Marks) -> tuple[Floats, Floats]:
    """The largest low end and the smallest high end [Z]: groups cannot come closer."""
    return (
        np.where(among, own[0], -np.inf).max(axis=1),
        np.where(among, own[1], np.inf).min(axis=1),
    )


def _folded(evaluation: Evaluation, ranges: Sequence[Bounds], *, less: bool) -> Bounds:
    """The bounds of what several values are folded to."""
    lows, highs = (np.stack([one[at] for one in ranges]) for at in range(2))
    asked = evaluation.metric
    if less:
        return _minus(ranges)
    assert isinstance(asked, Disparity)
    fold = asked.fold
    if fold is REMAINDER:
        return _minus(ranges)
    if fold in {LARGEST_MAGNITUDE, FARTHEST_FROM_1}:
        return lows.min(axis=0), highs.max(axis=0)
    if fold is MEAN_MAGNITUDE:
        apart = np.maximum(np.maximum(lows, -highs), 0.0)
        return apart.mean(axis=0), np.maximum(np.abs(lows), np.abs(highs)).mean(axis=0)
    if fold.rank is not None:
        pick: Callable[..., Any] = np.max if fold.rank(1) > fold.rank(0) else np.min
        return pick(lows, axis=0), pick(highs, axis=0)
    return lows.mean(axis=0), highs.mean(axis=0)


def _minus(ranges: Sequence[Bounds]) -> Bounds:
    one, two = ranges
    with np.errstate(invalid="ignore"):
        low, high = one[0] - two[1], one[1] - two[0]
    # ∞ less ∞ may be anything.
    return np.nan_to_num(low, nan=-np.inf, posinf=np.inf, neginf=-np.inf), np.nan_to_num(
        high, nan=np.inf, posinf=np.inf, neginf=-np.inf
    )


def _whole(asked: TableMetric, evaluation: Evaluation, way: Placement) -> Bounds | str:
    """The bounds of ε, over all outcomes and pairs of groups."""
    table, parameters = evaluation.table, evaluation.terms.parameters
    if asked is not DIFFERENTIAL_FAIRNESS:
        return "it is no comparison of rates"
    smoothing = parameters.per_outcome(len(table.classes))
    if smoothing and table.squares is not None:
        return "it is a smoothed ε of a weighted sample"
    own = table.mass.sum(axis=1) / table.scale
    outside = None if table.ungrouped is None else table.ungrouped.mass.sum(axis=1) / table.scale
    shown, aside, share = visitors(table, own, outside)
    free = shown + aside if way is Placement.ANYWHERE else np.zeros_like(own)
    required = own + share if way is Placement.PROPORTIONAL else own
    known, unknown = required[:, :-1] + smoothing, required[:, -1:]
    all_free, total = free.sum(axis=1, keepdims=True), known.sum(axis=1, keepdims=True) + unknown
    joining = free[:, :-1] + free[:, -1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        upper = np.log((known + unknown + joining) / (total + joining))
        lower = np.log(known / (total + all_free - free[:, :-1]))
        ends = [
            _epsilon_ends((lower[:, y], upper[:, y]), evaluation.takes_part)
            for y in range(len(table.classes))
        ]
    low, high = (np.max([one[at] for one in ends], axis=0, initial=0.0) for at in range(2))
    return _around((low[:, None], high[:, None]), evaluation.value)


def _epsilon_ends(logs: Bounds, among: Marks) -> Bounds:
    """The least and the largest log-ratio of one outcome; 0 where no group may ever have it."""
    with np.errstate(invalid="ignore"):
        wide = np.fmax.reduce([high - low for high, low in _widest(logs, among)])
        largest_low, smallest_high = _narrowest(logs, among)
        least = largest_low - smallest_high
    return np.nan_to_num(least, nan=0.0, posinf=np.inf), np.nan_to_num(wide, nan=0.0, posinf=np.inf)
