"""Missing values: how people of unknown group are placed, and the bounds of metrics.

Cells [Z, 3, 3, G] are counts by label and outcome: positive, negative, or unknown. The bounds of
comparisons, of combinations of rates and of ε are derived from bounds of rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import compress, product
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Ends
from fairaudit.base.frozen import Frozen, memoize
from fairaudit.cube import Floats, Group, GroupTable, Ints, Marks
from fairaudit.metrics import Disparity, Evaluation, GroupMetric, Mean, Rate, TableMetric
from fairaudit.metrics.association import TOTAL_VARIATION, list_class_sets
from fairaudit.metrics.completions import find_pattern
from fairaudit.metrics.differential_fairness import DIFFERENTIAL_FAIRNESS
from fairaudit.metrics.disparities import (
    MAX,
    MEAN_MAGNITUDE,
    MEAN_RATIO,
    MIN,
    REMAINDER,
    PartCombination,
    find_ratio_up_to_1,
)
from fairaudit.metrics.evaluation_record import compare_values, find_policy
from fairaudit.metrics.terms import ReferencePolicy

_POSITIVE, _NEGATIVE, _UNKNOWN = range(3)
_ROUNDING = 1e-12


class NoBounds(Exception):
    """A metric has no bounds; the message is the reason."""


class Placement(Enum):
    """How people of unknown group count: in any group, in none, or in proportion to group size."""

    ANYWHERE = "anywhere"
    APART = "apart"
    PROPORTIONAL = "proportional"


class People(NamedTuple):
    """The people [Z, ..., G] on one side of a comparison; `possible` people may be absent."""

    certain: Floats
    possible: Floats


class IncompleteCells(Frozen):
    """The people [Z, ..., G] of a table by known values; with weights, their scaled weights.

    The last axis contains the groups of the table, called columns. `own` are the people of each
    column, and `total` [Z, ..., 1] are the people of all known groups. `visitors` are the people of
    unknown group who may belong to a column, and `share` is the part of them that the column gets
    in proportion to its size. `unknown` [Z, ..., 1] are all people of unknown group. `settled` are
    the visitors who cannot belong to another column, and so not to the rest of the column.
    """

    own: Floats
    total: Floats
    visitors: Floats
    share: Floats
    unknown: Floats
    settled: Floats

    def place(self, placement: Placement) -> tuple[People, People, People]:
        """The people in each group, in its rest (all other groups), and in the stratum."""
        own, total, nobody = self.own, self.total, np.zeros_like(self.own)
        # A column of an unknown group has no rest, because it is not compared.
        rest = np.maximum(total - own, 0.0)
        match placement:
            case Placement.ANYWHERE:
                return (
                    People(own, self.visitors),
                    People(rest, self.unknown - self.settled),
                    People(total, self.unknown),
                )
            case Placement.APART:
                group = own
            case Placement.PROPORTIONAL:
                total = total + self.unknown
                group, rest = own + self.share, total - own - self.share
                # Rounding of the shares can leave a small remainder without people.
                rest = np.where(rest > _ROUNDING * total, rest, 0.0)
        return People(group, nobody), People(rest, nobody), People(total, nobody[..., :1])


@memoize
def count_incomplete(table: GroupTable) -> IncompleteCells:
    """The people of a table by known and unknown label and outcome."""
    outside = [count_by_knowledge(table, people.mass) for people in table.outsiders]
    return add_visitors(table, count_by_knowledge(table, table.mass), outside)


def count_by_knowledge(table: GroupTable, joint: Ints) -> Floats:
    """Counts [Z, Y, P, G] by label and outcome, added up by positive, negative and unknown."""
    label = _classify_slots(table.positive_label, len(table.labels), joint.shape[1])
    outcome = _classify_slots(table.positive, len(table.classes), joint.shape[2])
    cells = np.einsum("zypg,ya,pb->zabg", joint.astype(np.float64), label, outcome)
    return np.asarray(cells)


def _classify_slots(positive: Marks | None, known: int, size: int) -> Floats:
    """Marks places of an axis as positive, negative or unknown: an array [places, 3] of 0 and 1."""
    slots = np.arange(size)
    is_known = (slots < known) & (positive is not None)
    plus = np.zeros(size, dtype=np.bool_) if positive is None else positive
    kind = np.where(~is_known, _UNKNOWN, np.where(plus, _POSITIVE, _NEGATIVE))
    return np.asarray(kind[:, None] == np.arange(3), dtype=np.float64)


def add_visitors(table: GroupTable, own: Floats, outside: Sequence[Floats]) -> IncompleteCells:
    """The people [Z, ..., G] of each group, and the people of unknown group who may belong to it.

    `outside` are the people of unknown group who are not in the table. If only some of the
    attributes of a person are unknown, the person can only belong to groups with the known levels.
    """
    visitors_of, share, settled = (np.zeros_like(own) for _ in range(3))
    shown = np.flatnonzero(~table.known)
    sources = [(own[..., shown], [table.groups[g] for g in shown.tolist()])]
    sources += zip(outside, (list(people.groups) for people in table.outsiders), strict=True)
    size = np.where(table.known, table.n, 0).astype(np.float64)
    for cells, groups in sources:
        patterns = list(map(find_pattern, groups))
        for pattern in sorted(set(patterns)):
            columns = [g for g, other in enumerate(patterns) if other == pattern]
            keys: dict[Group, int] = {}
            target = _number_groups(table.groups, pattern, keys)
            source = _number_groups([groups[g] for g in columns], pattern, keys)
            visitors = _sum_by_key(cells[..., columns], source, len(keys))[..., target]
            total = _sum_by_key(size, target, len(keys))[..., target]
            with np.errstate(divide="ignore", invalid="ignore"):
                part = np.where(total > 0, size / total, 0.0)
            visitors_of += np.where(table.known, visitors, 0.0)
            settled += np.where(table.known, visitors, 0.0) if all(pattern) else 0.0
            share += visitors * part.reshape(len(part), *([1] * (own.ndim - 2)), -1)
    total = own[..., table.known].sum(axis=-1, keepdims=True)
    unknown = sum(cells.sum(axis=-1, keepdims=True) for cells, _ in sources)
    return IncompleteCells(own, total, visitors_of, share, np.asarray(unknown), settled)


def _number_groups(
    groups: Sequence[Group], pattern: tuple[bool, ...], keys: dict[Group, int]
) -> Ints:
    """A number for each group, equal for groups with equal levels at `pattern`; extends `keys`."""
    numbers = [keys.setdefault(tuple(compress(group, pattern)), len(keys)) for group in groups]
    return np.array(numbers, dtype=np.int64)


def _sum_by_key(cells: Floats, keys: Ints, size: int) -> Floats:
    total = np.zeros((size, *cells.shape[:-1]))
    np.add.at(total, keys, np.moveaxis(cells, -1, 0))
    return np.moveaxis(total, 0, -1)


class Contributions(Frozen):
    """The contribution of each kind of person to a rate, by known label and outcome [3, 3].

    `certain` is what a person adds to the numerator and to the denominator, for the lowest and the
    highest rate, as an array [lowest or highest, numerator or denominator, 3, 3]. `possible` is the
    same for people who may also be absent. `under` is the smallest and the largest addition to the
    denominator, as an array [2, 3, 3]. `open` marks the kinds whose contribution is uncertain;
    `matters` marks the kinds that may contribute.
    """

    certain: Floats
    possible: Floats
    under: Floats
    open: Marks
    matters: Marks

    def sum(self, people: People) -> Floats:
        """The numerators and denominators [lowest or highest, numerator or denominator, Z, G]."""
        sums = np.zeros((2, 2, len(people.certain), people.certain.shape[-1]))
        # A loop fixes the order of the additions, which must not depend on the machine.
        for y, p in np.argwhere(self.matters).tolist():
            sums += self.certain[..., y, p, None, None] * people.certain[:, y, p]
            sums += self.possible[..., y, p, None, None] * people.possible[:, y, p]
        return sums


def find_contributions(rate: GroupMetric) -> Contributions | None:
    """The contributions to a rate; None for other metrics and for rates that count everybody."""
    if not isinstance(rate, Rate) or rate.cells & {"all_selected", "all_rejected"}:
        return None
    certain, possible = np.zeros((2, 2, 2, 3, 3))
    undecided, matters = np.zeros((2, 3, 3), dtype=np.bool_)
    ends = np.zeros((2, 3, 3))

    def add_person(label: int, outcome: int) -> tuple[int, int]:
        """How often the numerator and the denominator count a person of this label and outcome."""
        is_selected, is_true = outcome == _POSITIVE, label == outcome
        cells = (
            ("t" if is_true else "f") + ("p" if is_selected else "n"),
            "selected" if is_selected else "rejected",
            "positives" if label == _POSITIVE else "negatives",
        )
        return sum(map(rate.over.count, cells)), sum(map(rate.under.count, cells))

    for y, p in product(range(3), repeat=2):
        options = {
            add_person(label, outcome)
            for label in ((y,) if y != _UNKNOWN else (_POSITIVE, _NEGATIVE))
            for outcome in ((p,) if p != _UNKNOWN else (_POSITIVE, _NEGATIVE))
        }
        for adds, choices in ((certain, options), (possible, options | {(0, 0)})):
            adds[:, :, y, p] = min(choices, key=_rank_effect), max(choices, key=_rank_effect)
        undecided[y, p], matters[y, p] = len(options) > 1, options != {(0, 0)}
        unders = {under for _, under in options}
        ends[:, y, p] = min(unders), max(unders)
    return Contributions(certain, possible, ends, undecided, matters)


def _rank_effect(added: tuple[int, int]) -> int:
    """The effect of a person on a rate as a number; a larger number means a higher rate."""
    over, under = added
    if over:
        return 2 + (not under)
    return int(not under)


def divide(sums: Floats, empty: float) -> Floats:
    """Numerators divided by denominators; `empty` if both are 0."""
    over, under = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where((under == 0) & (over == 0), empty, over / under))


def bound_rate(metric: GroupMetric, people: People) -> Ends:
    """The lowest and highest value [Z, G] of a rate or mean of rates; may raise `NoBounds`."""
    if isinstance(metric, Mean):
        low, high = np.mean([bound_rate(part, people) for part in metric.parts], axis=0)
        return low, high
    adds = find_contributions(metric)
    if adds is None:
        raise NoBounds("the value is not a rate of people")
    low, high = adds.sum(people)
    _, most = metric.bounds
    return divide(low, 0.0), divide(high, np.inf if most is None else float(most))


@memoize
def find_rate_ranges(table: GroupTable, metric: GroupMetric) -> list[Ends]:
    """The ranges of a rate, of its numerator and of its denominator, in each group of a table.

    Means and rates of weighted people have only the first range; other metrics have no range.
    """
    people, _, _ = count_incomplete(table).place(Placement.ANYWHERE)
    try:
        rate = bound_rate(metric, people)
    except NoBounds:
        return []
    adds = find_contributions(metric)
    if adds is None or table.squares is not None:
        return [rate]
    (least, _), (most, _) = adds.sum(people)
    every = people.certain, people.certain + people.possible
    low, high = (np.einsum("zypg,yp->zg", *side) for side in zip(every, adds.under, strict=True))
    return [rate, (least, most), (low, high)]


@memoize
@np.errstate(all="ignore")  # undefined is NaN
def find_bounds(evaluation: Evaluation, placement: Placement) -> Ends:
    """The bounds of each value. Raises `NoBounds` with the reason if the metric has no bounds."""
    metric = evaluation.metric
    if evaluation.averaged is not None:
        raise NoBounds("the rates are averaged over strata")
    if evaluation.strata is not None:
        raise NoBounds("the value is adjusted for controls")
    if evaluation.table.moving:
        raise NoBounds("missing numbers could move the quantiles that cut the column")
    if evaluation.error is not None and np.nan_to_num(evaluation.error).any():
        raise NoBounds("scores are known only as ranges (bins)")
    if isinstance(metric, Disparity) and metric.over_groups is not None:
        raise NoBounds("the value combines all groups")
    if evaluation.parts:
        parts = [find_bounds(part, placement) for part in evaluation.parts]
        lows, highs = (np.stack([ends[side] for ends in parts]) for side in (0, 1))
        fold = metric.fold if isinstance(metric, Disparity) else REMAINDER
        ends = bound_fold(REMAINDER if evaluation.subtracts else fold, lows, highs)
    elif isinstance(metric, TableMetric):
        ends = _bound_classes(metric, evaluation, placement)
    else:
        ends = _bound_comparison(metric, evaluation, placement)
    # The value replaces an undefined bound (0/0).
    first, second = (np.where(np.isnan(end), evaluation.value, end) for end in ends)
    return np.fmin(first, second), np.fmax(first, second)


def _bound_comparison(
    metric: GroupMetric | Disparity, evaluation: Evaluation, placement: Placement
) -> Ends:
    values = evaluation.group_values
    if values is None:
        raise NoBounds("the value is not a rate of people")
    sides = count_incomplete(evaluation.table).place(placement)
    own = bound_rate(values.metric, sides[0])
    if isinstance(metric, GroupMetric):
        return own
    comparison, takes_part = metric.comparison, evaluation.takes_part
    if comparison.is_max_min:
        if comparison.scale is None:
            raise NoBounds(f"no method exists for the {comparison.id}")
        low, high = _bound_spread(own, takes_part, is_ratio=comparison.is_ratio)
        apply = comparison.rescaling.apply
        return apply(low)[:, None], apply(high)[:, None]
    if comparison.contrast is not None:
        raise NoBounds(f"no method exists for a comparison by {comparison.id.replace('_', ' ')}")
    # A comparison is at a bound if the group and the reference are at opposite bounds.
    policy, (group, rest, _) = find_policy(evaluation), sides
    match policy:
        case ReferencePolicy.HIGHEST | ReferencePolicy.LOWEST:
            is_highest = policy is ReferencePolicy.HIGHEST
            reference = _bound_extreme(own, takes_part, highest=is_highest)
        case ReferencePolicy.REST | ReferencePolicy.EVERYBODY | ReferencePolicy.OVERALL:
            reference = _bound_crowd(values.metric, evaluation, sides)
            adds = find_contributions(values.metric)
            is_fixed = adds is not None and (adds.under[0] == adds.under[1]).all()
            is_fixed = is_fixed and policy is ReferencePolicy.OVERALL
            if adds is not None and is_fixed and not rest.possible.any():
                # The denominator is known. If the group is at one bound, everybody consists of the
                # group at this bound and of the rest at the other bound.
                low, high = adds.sum(group)[::-1] + adds.sum(rest)
                reference = divide(low, 0.0), divide(high, 1.0)
        case _:
            index = np.maximum(evaluation.second, 0)
            low, high = (np.take_along_axis(end, index, axis=1) for end in own)
            reference = low, high
    # All comparisons are monotonic, and the directions of group and reference are opposite.
    return (
        compare_values(values.metric, comparison, own[0], reference[1]),
        compare_values(values.metric, comparison, own[1], reference[0]),
    )


def _bound_crowd(metric: GroupMetric, evaluation: Evaluation, sides: Sequence[People]) -> Ends:
    """The bounds of the rate of the people of a pooled reference, for each group."""
    _, crowd, everybody = sides
    if (policy := find_policy(evaluation)) is ReferencePolicy.OVERALL:
        crowd = everybody
    elif policy is ReferencePolicy.EVERYBODY:
        strata = evaluation.table.known_strata
        crowd = People(*(mass[strata].sum(axis=0, keepdims=True) for mass in everybody))
    low, high = bound_rate(metric, crowd)
    shape = evaluation.takes_part.shape
    return np.broadcast_to(low, shape), np.broadcast_to(high, shape)


def find_crowd_range(metric: GroupMetric, evaluation: Evaluation) -> Ends | None:
    """The range of the rate of a pooled reference, for each group; None without bounds."""
    if evaluation.averaged is not None or evaluation.strata is not None:
        return None
    try:
        sides = count_incomplete(evaluation.table).place(Placement.ANYWHERE)
        return _bound_crowd(metric, evaluation, sides)
    except NoBounds:
        return None


def _bound_extreme(own: Ends, takes_part: Marks, *, highest: bool) -> Ends:
    """The extreme rate with a group at its high and all others at their low bound, and reversed."""
    low, high = own
    if not highest:
        at_low, at_high = _bound_extreme((-high, -low), takes_part, highest=True)
        return -at_high, -at_low
    return (
        np.maximum(high, _find_largest_other(low, takes_part)),
        np.maximum(low, _find_largest_other(high, takes_part)),
    )


def _find_largest_other(value: Floats, among: Marks) -> Floats:
    """The largest value among all other marked groups, for each group [Z, G]; -∞ without others."""
    marked = np.where(among, value, -np.inf)
    largest = marked.argmax(axis=1)[:, None]
    others = np.arange(marked.shape[1]) != largest
    second = np.where(others, marked, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    return np.asarray(np.where(others, np.take_along_axis(marked, largest, axis=1), second))


def _bound_spread(own: Ends, among: Marks, *, is_ratio: bool = False) -> Ends:
    """The smallest and the largest possible gap [Z] between the highest and the lowest group.

    If `is_ratio`, both results are ratios of the lowest to the highest group.
    """
    low_bottom, low_top = (np.where(among, own[0], fill) for fill in (np.inf, -np.inf))
    high_bottom, high_top = (np.where(among, own[1], fill) for fill in (np.inf, -np.inf))
    # The gap is smallest between the largest lower bound and the smallest upper bound.
    highest, lowest = low_top.max(axis=1), high_bottom.min(axis=1)
    # The gap is largest between the bounds of two different groups: there are two candidates.
    top, bottom = high_top.argmax(axis=1)[:, None], low_bottom.argmin(axis=1)[:, None]
    columns = np.arange(among.shape[1])
    widest = (
        (high_top.max(axis=1), np.where(columns == top, np.inf, low_bottom).min(axis=1)),
        (np.where(columns == bottom, -np.inf, high_top).max(axis=1), low_bottom.min(axis=1)),
    )
    if is_ratio:
        least = np.fmin.reduce([low / high for high, low in widest])
        return least, np.where(lowest >= highest, 1.0, lowest / highest)
    gaps = [high - low for high, low in widest]
    return np.maximum(highest - lowest, 0.0), np.fmax.reduce(gaps)


def bound_fold(fold: PartCombination, lows: Floats, highs: Floats) -> Ends:
    """The bounds of a combination of parts, from the bounds of each part (the first axis)."""
    if fold is REMAINDER:
        low, high = lows[0] - highs[1], highs[0] - lows[1]
        # The difference of two infinite bounds may be any number.
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


@np.errstate(all="ignore")  # undefined is NaN
def find_class_ranges(
    table: GroupTable, chosen: Sequence[int], placement: Placement, smoothing: float = 0.0
) -> tuple[Ends, Ends, Ends]:
    """The ranges [Z, G] of the share of the `chosen` classes, its numerator and its denominator."""
    own = table.mass.sum(axis=1) / table.scale
    outside = [people.mass.sum(axis=1) / table.scale for people in table.outsiders]
    (required, free), _, _ = add_visitors(table, own, outside).place(placement)
    known, unknown = required[:, :-1] + smoothing, required[:, -1]
    all_free, total = free.sum(axis=1), known.sum(axis=1) + unknown
    certain, visitors = (part[:, chosen].sum(axis=1) for part in (known, free))
    joining = visitors + free[:, -1]
    most = certain + unknown + joining
    share = certain / (total + all_free - visitors), most / (total + joining)
    return share, (certain, most), (total, total + all_free)


def _bound_classes(metric: TableMetric, evaluation: Evaluation, placement: Placement) -> Ends:
    """The bounds of ε (the largest gap of a class) or total variation (of a set of classes)."""
    table, parameters = evaluation.table, evaluation.terms.parameters
    is_epsilon, outcomes = metric is DIFFERENTIAL_FAIRNESS, len(table.classes)
    if not is_epsilon and metric is not TOTAL_VARIATION:
        raise NoBounds("the value is not a comparison of rates")
    smoothing = parameters.per_outcome(outcomes)
    if smoothing and (table.squares is not None or parameters.towards is not None):
        raise NoBounds("ε is smoothed, and either the sample is weighted or `towards` is set")
    sets = [[y] for y in range(outcomes)] if is_epsilon else list_class_sets(outcomes)
    gaps = []
    for chosen in (chosen for chosen in sets if len(chosen) < outcomes or is_epsilon):
        lower, upper = find_class_ranges(table, chosen, placement, smoothing)[0]
        ends = (np.log(lower), np.log(upper)) if is_epsilon else (lower, upper)
        gaps.append(_bound_spread(ends, evaluation.takes_part))
    # A class without people in any group has no gap.
    low, high = (np.nan_to_num(end, posinf=np.inf) for end in zip(*gaps, strict=True))
    return low.max(axis=0, initial=0.0)[:, None], high.max(axis=0, initial=0.0)[:, None]
