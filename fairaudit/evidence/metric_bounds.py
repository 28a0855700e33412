"""Missing values: bounds of comparisons, folds and ε from those of rates, or why there are none."""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Ends
from fairaudit.cube import Floats, Marks
from fairaudit.evidence.missing_people import (
    NoBounds,
    People,
    Placement,
    add_visitors,
    bound_rate,
    count_incomplete,
    divide,
    find_contributions,
)
from fairaudit.metrics import (
    Comparison,
    Disparity,
    Evaluation,
    GroupMetric,
    ReferencePolicy,
    TableMetric,
)
from fairaudit.metrics.differential_fairness import DIFFERENTIAL_FAIRNESS
from fairaudit.metrics.evaluation_record import compare_values
from fairaudit.metrics.folds import (
    MAX,
    MEAN_MAGNITUDE,
    MEAN_RATIO,
    MIN,
    REMAINDER,
    Fold,
    find_ratio_up_to_1,
)
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.terms import EXTREME_REFERENCES


def find_policy(evaluation: Evaluation) -> ReferencePolicy | None:
    """Whom groups are compared with; None where there is no reference."""
    if not isinstance(evaluation.metric, Disparity) or not evaluation.metric.to_reference:
        return None
    return (evaluation.parts or (evaluation,))[0].terms.policy


def find_bounds(evaluation: Evaluation, placement: Placement) -> Ends:
    """The bounds of each value. Raises `NoBounds`, with the reason, where there are none."""
    metric = evaluation.metric
    if evaluation.averaged is not None:
        raise NoBounds("rates are averaged over strata")
    if evaluation.strata is not None:
        raise NoBounds("it is adjusted for controls")
    if evaluation.error is not None and np.nan_to_num(evaluation.error).any():
        raise NoBounds("the bins of the score hide some of it")
    if isinstance(metric, Disparity) and metric.over_groups is not None:
        raise NoBounds("it is one number over groups")
    if evaluation.parts:
        parts = [find_bounds(part, placement) for part in evaluation.parts]
        lows, highs = (np.stack([ends[side] for ends in parts]) for side in (0, 1))
        fold = metric.fold if isinstance(metric, Disparity) else REMAINDER
        ends = bound_fold(REMAINDER if evaluation.subtracts else fold, lows, highs)
    elif isinstance(metric, TableMetric):
        ends = _bound_epsilon(metric, evaluation, placement)
    else:
        ends = _bound_comparison(metric, evaluation, placement)
    return _order_ends(ends, evaluation.value)


def _bound_comparison(
    metric: GroupMetric | Disparity, evaluation: Evaluation, placement: Placement
) -> Ends:
    """The bounds of a rate, or of one comparison of a rate."""
    values = evaluation.group_values
    if values is None:
        raise NoBounds("it is no rate of people")
    sides = count_incomplete(evaluation.table).place(placement)
    own = bound_rate(values.metric, sides[0])
    if isinstance(metric, GroupMetric):
        return own
    comparison = metric.comparison
    if comparison.is_spread:
        return _bound_spread(comparison, own, evaluation.takes_part)
    if comparison.contrast is not None:
        raise NoBounds(f"no bounds are known for a comparison by {comparison.id.replace('_', ' ')}")
    reference = _bound_reference(values.metric, own, evaluation, sides)
    # Whatever is compared, it moves one way with the group, and the other with the reference.
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            compare_values(values.metric, comparison, own[0], reference[1]),
            compare_values(values.metric, comparison, own[1], reference[0]),
        )


def _order_ends(ends: Ends, value: Floats) -> Ends:
    """The ends in order; where one is 0/0 there is no value at it, so that of today stands in."""
    first, second = (np.where(np.isnan(end), value, end) for end in ends)
    return np.fmin(first, second), np.fmax(first, second)


def _bound_reference(
    rate: GroupMetric, own: Ends, evaluation: Evaluation, sides: tuple[People, People, People]
) -> Ends:
    """The reference at its lowest, where the group is at its highest, and the other way round."""
    policy = find_policy(evaluation)
    if policy in EXTREME_REFERENCES:
        return _bound_extreme(own, evaluation.takes_part, highest=policy is ReferencePolicy.HIGHEST)
    group, rest, everybody = sides
    match policy:
        case ReferencePolicy.REST:
            return bound_rate(rate, rest)
        case ReferencePolicy.EVERYBODY:
            strata = evaluation.table.known_strata
            masses = (mass[strata].sum(axis=0, keepdims=True) for mass in everybody)
            return bound_rate(rate, People(*masses))
        case ReferencePolicy.OVERALL:
            adds = find_contributions(rate)
            if adds is None or not adds.fixed or rest.possible.any():
                return bound_rate(rate, everybody)
            # Who is counted is fixed, so everybody is the group and the rest, at opposite ends.
            low, high = adds.sum(group)[::-1] + adds.sum(rest)
            return divide(low, 0.0), divide(high, 1.0)
        case _:
            index = np.maximum(evaluation.second, 0)
            low, high = (np.take_along_axis(end, index, axis=1) for end in own)
            return low, high


def _bound_extreme(own: Ends, takes_part: Marks, *, highest: bool) -> Ends:
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


def _bound_spread(comparison: Comparison, own: Ends, among: Marks) -> Ends:
    """The smallest and the largest distance between groups, [Z, 1]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        match comparison.scale:
            case Scale.DIFFERENCE:
                ends = _bound_gap(own, among)
            case Scale.RATIO:
                highest, lowest = _find_narrowest(own, among)
                ends = (
                    np.fmin.reduce([low / high for high, low in _find_widest(own, among)]),
                    np.where(lowest >= highest, 1.0, lowest / highest),
                )
            case _:
                raise NoBounds(f"no bounds are known for the {comparison.id}")
        low, high = (comparison.rescaling.apply(end)[:, None] for end in ends)
    return low, high


def _bound_gap(own: Ends, among: Marks) -> Ends:
    """The smallest and the largest gap between the highest group and the lowest, [Z]."""
    highest, lowest = _find_narrowest(own, among)
    gaps = [high - low for high, low in _find_widest(own, among)]
    return np.maximum(highest - lowest, 0.0), np.fmax.reduce(gaps)


def _find_widest(own: Ends, among: Marks) -> list[tuple[Floats, Floats]]:
    """Two candidates [Z] for the farthest ends of two different groups: either may give way."""
    top = np.where(among, own[1], -np.inf)
    bottom = np.where(among, own[0], np.inf)
    high, low = (index[:, None] for index in (top.argmax(axis=1), bottom.argmin(axis=1)))
    columns = np.arange(among.shape[1])
    return [
        (top.max(axis=1), np.where(columns == high, np.inf, bottom).min(axis=1)),
        (np.where(columns == low, -np.inf, top).max(axis=1), bottom.min(axis=1)),
    ]


def _find_narrowest(own: Ends, among: Marks) -> tuple[Floats, Floats]:
    """The largest low end and the smallest high end [Z]: groups cannot come closer."""
    return (
        np.where(among, own[0], -np.inf).max(axis=1),
        np.where(among, own[1], np.inf).min(axis=1),
    )


def bound_fold(fold: Fold, lows: Floats, highs: Floats) -> Ends:
    """The ends of what parts are folded to, by the ends of each part along the first axis."""
    if fold is REMAINDER:
        with np.errstate(invalid="ignore"):
            low, high = lows[0] - highs[1], highs[0] - lows[1]
        # ∞ less ∞ may be anything.
        return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    if fold in {MAX, MIN}:
        pick = np.max if fold is MAX else np.min
        return np.asarray(pick(lows, axis=0)), np.asarray(pick(highs, axis=0))
    if fold.rank is not None:
        return lows.min(axis=0), highs.max(axis=0)
    if fold is MEAN_MAGNITUDE:
        least = np.maximum(np.maximum(lows, -highs), 0.0)
        lows, highs = least, np.maximum(np.abs(lows), np.abs(highs))
    if fold is MEAN_RATIO:
        ends = find_ratio_up_to_1(lows), find_ratio_up_to_1(highs)
        has_parity = (lows <= 1) & (highs >= 1)
        lows, highs = np.minimum(*ends), np.where(has_parity, 1.0, np.maximum(*ends))
    return lows.mean(axis=0), highs.mean(axis=0)


def _bound_epsilon(metric: TableMetric, evaluation: Evaluation, placement: Placement) -> Ends:
    """The bounds of ε, over all outcomes and pairs of groups."""
    table, parameters = evaluation.table, evaluation.terms.parameters
    if metric is not DIFFERENTIAL_FAIRNESS:
        raise NoBounds("it is no comparison of rates")
    smoothing = parameters.per_outcome(len(table.classes))
    if smoothing and table.squares is not None:
        raise NoBounds("it is a smoothed ε of a weighted sample")
    own = table.mass.sum(axis=1) / table.scale
    outside = None if table.ungrouped is None else table.ungrouped.mass.sum(axis=1) / table.scale
    (required, free), _, _ = add_visitors(table, own, outside).place(placement)
    known, unknown = required[:, :-1] + smoothing, required[:, -1:]
    all_free, total = free.sum(axis=1, keepdims=True), known.sum(axis=1, keepdims=True) + unknown
    joining = free[:, :-1] + free[:, -1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        upper = np.log((known + unknown + joining) / (total + joining))
        lower = np.log(known / (total + all_free - free[:, :-1]))
        gaps = [
            _bound_gap((lower[:, y], upper[:, y]), evaluation.takes_part)
            for y in range(len(table.classes))
        ]
    # Where no group may ever have an outcome there is no gap in it.
    low, high = (np.nan_to_num(end, posinf=np.inf) for end in zip(*gaps, strict=True))
    return low.max(axis=0, initial=0.0)[:, None], high.max(axis=0, initial=0.0)[:, None]
