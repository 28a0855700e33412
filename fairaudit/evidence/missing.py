"""What missing values could do to a value: the worst and the best case, whatever they were.

Every person has an outcome and a group, known or not. A completion gives all of them one; bounds
hold for every completion. Whoever has no known group may belong to any group that what is known of
them allows, or to none of those compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from itertools import product
from typing import Any, Protocol, TypeAlias

import numpy as np

from fairaudit.cube import UNKNOWN, Floats, Group, GroupTable, Ints, Marks
from fairaudit.metrics import (
    NOBODY,
    Comparison,
    Evaluation,
    Mean,
    Measure,
    Need,
    Policy,
    Quantity,
    Rate,
    Shape,
    Whole,
)
from fairaudit.metrics.epsilon import DIFFERENTIAL_FAIRNESS
from fairaudit.metrics.measures import FARTHEST_FROM_1, LARGEST_MAGNITUDE, MEAN_MAGNITUDE, REMAINDER
from fairaudit.metrics.reading import values_compared
from fairaudit.once import once

_NEAR = 1e-9
"""Bounds are floats: what is no farther from a limit does not cross it."""

_POSITIVE, _NEGATIVE, _UNKNOWN = range(3)
_ALL = np.ones((3, 3), dtype=np.bool_)

Range: TypeAlias = tuple[Floats, Floats]
"""The lowest and the highest value, each [Z, W]."""


class _Way(Enum):
    """Where people of no known group go: nowhere, to groups by their sizes, or anywhere."""

    APART = "apart"
    PROPORTIONAL = "proportional"
    ANYWHERE = "anywhere"


class _Limit(Protocol):
    """What a value may reach, as the verdict has it."""

    @property
    def below(self) -> Decimal | None: ...

    @property
    def above(self) -> Decimal | None: ...


@dataclass(frozen=True, slots=True)
class Swayed:
    """A value that is within a limit, and might not be: of which group, in which stratum."""

    group: Group
    stratum: Group
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MissingBounds:
    """What a value could be if nothing were missing.

    `low` and `high` hold wherever people of no known group belong; the `apart` bounds leave them
    where they are counted now, the `proportional` ones spread them over the groups by size. All are
    None where the measure has no such bounds, and `reason` says why. `missing_outcome` are the
    people whose outcome or label is not known and matters, `missing_group` those of no known group
    who could matter. `turns`: the verdict could be another one; `others` are values that might be
    beyond a limit though they are not.
    """

    missing_outcome: int
    missing_group: int
    low: float | None = None
    high: float | None = None
    apart_low: float | None = None
    apart_high: float | None = None
    proportional_low: float | None = None
    proportional_high: float | None = None
    turns: bool = False
    others: tuple[Swayed, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class BoundsOfAll:
    """The bounds of every value of an evaluation, for each way: arrays [Z, W]; or why none."""

    evaluation: Evaluation
    ranges: dict[_Way, Range]
    reason: str | None = None

    def at(self, z: int, w: int) -> MissingBounds:
        """The bounds of one value; of the verdict they say nothing yet."""
        outcome, group = _people(self.evaluation, z, w)
        if not self.ranges:
            return MissingBounds(outcome, group, reason=self.reason)
        low, high = self._ends(_Way.ANYWHERE, z, w)
        apart, proportional = self._ends(_Way.APART, z, w), self._ends(_Way.PROPORTIONAL, z, w)
        return MissingBounds(outcome, group, low, high, *apart, *proportional)

    def _ends(self, way: _Way, z: int, w: int) -> tuple[float, float]:
        low, high = self.ranges[way]
        return float(low[z, w]), float(high[z, w])


def missing_bounds(evaluation: Evaluation) -> BoundsOfAll | None:
    """The bounds of each value if every missing outcome and group were known; None if all are.

    Manski's worst case: every missing outcome is against the group, or for it. For a rate over all
    people that is s / (n + m) and (s + m) / (n + m), with s of n selected and m not known.
    """
    if not _is_missing(evaluation):
        return None
    found = {way: _range(evaluation, way) for way in _Way}
    reasons = [one for one in found.values() if isinstance(one, str)]
    ranges = {way: one for way, one in found.items() if not isinstance(one, str)}
    return BoundsOfAll(evaluation, {} if reasons else ranges, *reasons[:1])


def missing_at(
    evaluation: Evaluation, z: int, w: int, fail: _Limit | None, warn: _Limit | None
) -> MissingBounds | None:
    """The bounds of the value that decides, and whether a verdict by these limits could turn."""
    found = missing_bounds(evaluation)
    if found is None:
        return None
    one = found.at(z, w)
    if not found.ranges:
        return one if one.missing_outcome or one.missing_group else None
    entries = _entries(evaluation)
    low, high = (end[entries] for end in found.ranges[_Way.ANYWHERE])
    value = evaluation.value[entries]
    swayed = np.zeros(len(value), dtype=np.bool_)
    worst = best = now = 0
    for rank, limit in ((1, warn), (2, fail)):
        if limit is not None:
            may, must = _may_cross(low, high, limit), _must_cross(low, high, limit)
            beyond = _crosses(value, limit)
            swayed |= may & ~beyond
            worst, best, now = (
                rank if marks.any() else before
                for marks, before in ((may, worst), (must, best), (beyond, now))
            )
    table, places = evaluation.table, np.argwhere(entries)
    others = tuple(
        Swayed(() if evaluation.spread else table.groups[g], table.strata[y], float(a), float(b))
        for (y, g), a, b in zip(
            places[swayed].tolist(), low[swayed], high[swayed], strict=True
        )
        if (y, g) != (z, w)
    )  # fmt: skip
    turns = worst != now or best != now
    if not (turns or others or one.missing_outcome or one.missing_group):
        return None
    return replace(one, turns=turns, others=others)


def could_turn(bounds: MissingBounds, limit: _Limit) -> bool:
    """Whether a value between the bounds may lie on either side of a limit."""
    if bounds.low is None or bounds.high is None:
        return False
    low, high = np.array([bounds.low]), np.array([bounds.high])
    return bool(_may_cross(low, high, limit)[0] and not _must_cross(low, high, limit)[0])


def _crosses(value: Floats, limit: _Limit) -> Marks:
    beyond = np.zeros(value.shape, dtype=np.bool_)
    if limit.below is not None:
        beyond |= value < float(limit.below) - _NEAR
    if limit.above is not None:
        beyond |= value > float(limit.above) + _NEAR
    return beyond


def _may_cross(low: Floats, high: Floats, limit: _Limit) -> Marks:
    return _crosses(low, limit) | _crosses(high, limit)


def _must_cross(low: Floats, high: Floats, limit: _Limit) -> Marks:
    """Whether no value between both is within the limit."""
    must = np.zeros(low.shape, dtype=np.bool_)
    if limit.below is not None:
        must |= high < float(limit.below) - _NEAR
    if limit.above is not None:
        must |= low > float(limit.above) + _NEAR
    return must


def _entries(evaluation: Evaluation) -> Marks:
    """The values that answer, [Z, W]; the highest group too, which may turn out not to be it."""
    judged = evaluation.judged
    if not evaluation.spread and _policy(evaluation) in {Policy.HIGHEST, Policy.LOWEST}:
        judged = judged | evaluation.takes_part
    known = evaluation.table.known_strata[:, None]
    return np.asarray(judged & known & ~np.isnan(evaluation.value))


def _policy(evaluation: Evaluation) -> Policy | None:
    if not isinstance(evaluation.asked, Measure) or not evaluation.asked.to_reference:
        return None
    reference = (evaluation.parts or (evaluation,))[0].terms.reference
    return None if reference is None else reference.policy


# The people: cells [Z, label, outcome, G], each axis positive, negative, not known.


@dataclass(frozen=True, slots=True)
class _Crowds:
    """The mass of a table by what is known of label and outcome, [Z, 3, 3, G].

    `own` are those of each column of the table; `shown` and `aside` those of no known group who may
    belong to it, counted in the rest or not; `share` of both those that its size gives it.
    """

    own: Floats
    shown: Floats
    aside: Floats
    share: Floats
    all_aside: Floats


@once
def _crowds(table: GroupTable) -> _Crowds:
    own = _nine(table, table.mass) / table.scale
    outside = None if table.aside is None else _nine(table, table.aside.mass) / table.scale
    shown, aside, share = _visitors(table, own, outside)
    nobody = np.zeros((*own.shape[:3], 1))
    everybody = nobody if outside is None else outside.sum(axis=3, keepdims=True)
    return _Crowds(own, shown, aside, share, everybody)


def _nine(table: GroupTable, joint: Ints) -> Floats:
    """The cells [Z, Y, P, G] by what is known of both, [Z, 3, 3, G]."""
    label = _kinds(table.positive_label, len(table.labels), joint.shape[1])
    outcome = _kinds(table.positive, len(table.classes), joint.shape[2])
    found = np.einsum("zypg,ya,pb->zabg", joint.astype(np.float64), label, outcome)
    return np.asarray(found)


def _kinds(positive: Marks | None, known: int, size: int) -> Floats:
    """Which slot of an axis is positive, negative or not known: [slots, 3]."""
    slots = np.arange(size)
    is_known = (slots < known) & (positive is not None)
    plus = np.zeros(size, dtype=np.bool_) if positive is None else positive
    kind = np.where(~is_known, _UNKNOWN, np.where(plus, _POSITIVE, _NEGATIVE))
    return np.asarray(kind[:, None] == np.arange(3), dtype=np.float64)


def _visitors(
    table: GroupTable, own: Floats, outside: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Those of no known group who may belong to each group: shown, aside, and its share of both.

    Arrays [Z, ..., G]. Who lacks one value of several may only be in groups with the others.
    """
    shown, aside, share = np.zeros_like(own), np.zeros_like(own), np.zeros_like(own)
    unknown = np.flatnonzero(~table.known)
    sources: list[tuple[Floats, list[Group], Floats]] = []
    if len(unknown):
        sources.append((own[..., unknown], [table.groups[g] for g in unknown.tolist()], shown))
    if outside is not None and table.aside is not None:
        sources.append((outside, list(table.aside.groups), aside))
    size = np.where(table.known, table.n, 0).astype(np.float64)
    for cells, groups, sums in sources:
        patterns = [tuple(level != UNKNOWN for _, level in group) for group in groups]
        for pattern in sorted(set(patterns)):
            columns = [at for at, one in enumerate(patterns) if one == pattern]
            keys: dict[Group, int] = {}
            target = _keyed(table.groups, pattern, keys)
            source = _keyed([groups[at] for at in columns], pattern, keys)
            found = _by_key(cells[..., columns], source, len(keys))[..., target]
            total = _by_key(size, target, len(keys))[..., target]
            with np.errstate(divide="ignore", invalid="ignore"):
                part = np.where(total > 0, size / total, 0.0)
            np.add(sums, np.where(table.known, found, 0.0), out=sums)
            share += found * part.reshape(len(part), *([1] * (own.ndim - 2)), -1)
    return shown, aside, share


def _keyed(groups: Sequence[Group], pattern: tuple[bool, ...], keys: dict[Group, int]) -> Ints:
    """A number for each group, equal for those with the same levels where the pattern looks."""
    found = [
        keys.setdefault(
            tuple(pair for pair, told in zip(group, pattern, strict=True) if told), len(keys)
        )
        for group in groups
    ]
    return np.array(found, dtype=np.int64)


def _by_key(cells: Floats, keys: Ints, size: int) -> Floats:
    """The sums of the last axis by key."""
    total = np.zeros((size, *cells.shape[:-1]))
    np.add.at(total, keys, np.moveaxis(cells, -1, 0))
    return np.moveaxis(total, 0, -1)


# Completions of a rate: what each kind of person adds to numerator and denominator.


@dataclass(frozen=True, slots=True)
class _Adds:
    """What a person of each kind adds to a rate at its lowest and highest: [2 over/under, 3, 3].

    The `free` ones may also stay out. `open` marks the kinds whose part is not settled, `matters`
    those that may take part at all; `fixed`: who is counted does not hang on what is not known.
    """

    low: Floats
    high: Floats
    free_low: Floats
    free_high: Floats
    open: Marks
    matters: Marks
    fixed: bool


def _adds(rate: Rate) -> _Adds | None:
    """None for a rate whose denominator is everybody's."""
    if rate.cells & {"all_selected", "all_rejected"}:
        return None
    low, high, free_low, free_high = (np.zeros((2, 3, 3)) for _ in range(4))
    undecided, matters = (np.zeros((3, 3), dtype=np.bool_) for _ in range(2))
    fixed = True
    for y, p in product(range(3), repeat=2):
        options = {
            _added(rate, label, outcome)
            for label in ((y,) if y != _UNKNOWN else (_POSITIVE, _NEGATIVE))
            for outcome in ((p,) if p != _UNKNOWN else (_POSITIVE, _NEGATIVE))
        }
        low[:, y, p], high[:, y, p] = min(options, key=_pull), max(options, key=_pull)
        either = options | {(0, 0)}
        free_low[:, y, p], free_high[:, y, p] = min(either, key=_pull), max(either, key=_pull)
        undecided[y, p], matters[y, p] = len(options) > 1, options != {(0, 0)}
        fixed = fixed and len({under for _, under in options}) == 1
    return _Adds(low, high, free_low, free_high, undecided, matters, fixed)


def _added(rate: Rate, label: int, outcome: int) -> tuple[int, int]:
    """How often somebody of that label and outcome stands in numerator and denominator."""
    is_true = label == outcome
    cell = ("t" if is_true else "f") + ("p" if outcome == _POSITIVE else "n")
    cells = (
        cell,
        "selected" if outcome == _POSITIVE else "rejected",
        "positives" if label == _POSITIVE else "negatives",
    )
    return sum(map(rate.over.count, cells)), sum(map(rate.under.count, cells))


def _pull(added: tuple[int, int]) -> int:
    """Which way a person moves a rate: those who stand above only, above and below, or below."""
    over, under = added
    if over:
        return 2 + (not under)
    return int(not under)


def _summed(adds: Floats, free: Floats, crowd: tuple[Floats, Floats]) -> Floats:
    """Numerator and denominator [2, Z, G] of those who are in it, and of those who may be."""
    required, optional = crowd
    found = np.zeros((2, len(required), required.shape[-1]))
    # Term by term: the order of a sum must not hang on the machine.
    for y, p in product(range(3), repeat=2):
        found += adds[:, y, p, None, None] * required[:, y, p]
        found += free[:, y, p, None, None] * optional[:, y, p]
    return found


def _divided(sums: Floats, empty: float) -> Floats:
    """The rate; without anybody in the denominator whatever it can be at most, or at least."""
    over, under = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where((under == 0) & (over == 0), empty, over / under))


def _ends(quantity: Quantity, crowd: tuple[Floats, Floats]) -> Range | None:
    """The lowest and the highest value of a rate of some people, [Z, G]; None if not known."""
    if isinstance(quantity, Mean):
        found = [_ends(part, crowd) for part in quantity.parts]
        ends = [one for one in found if one is not None]
        if len(ends) < len(found):
            return None
        low, high = (np.mean([one[at] for one in ends], axis=0) for at in range(2))
        return low, high
    adds = _adds(quantity) if isinstance(quantity, Rate) else None
    if adds is None:
        return None
    top = float("inf") if quantity.bounds[1] is None else quantity.bounds[1]
    return (
        _divided(_summed(adds.low, adds.free_low, crowd), 0.0),
        _divided(_summed(adds.high, adds.free_high, crowd), top),
    )


def _own(crowds: _Crowds, way: _Way) -> tuple[Floats, Floats]:
    """Who is in each group, and who may be."""
    match way:
        case _Way.APART:
            return crowds.own, np.zeros_like(crowds.own)
        case _Way.PROPORTIONAL:
            return crowds.own + crowds.share, np.zeros_like(crowds.own)
        case _Way.ANYWHERE:
            return crowds.own, crowds.shown + crowds.aside


def _rest(crowds: _Crowds, way: _Way) -> tuple[Floats, Floats]:
    """Who is in the rest beside each group, and who may be."""
    own, total = crowds.own, crowds.own.sum(axis=3, keepdims=True)
    match way:
        case _Way.APART:
            return total - own, np.zeros_like(own)
        case _Way.PROPORTIONAL:
            return total + crowds.all_aside - own - crowds.share, np.zeros_like(own)
        case _Way.ANYWHERE:
            return total - own - crowds.shown, crowds.shown + crowds.all_aside


def _overall(crowds: _Crowds, way: _Way, strata: Marks | None) -> tuple[Floats, Floats]:
    """Who is in the whole stratum, and who may be; of all the strata that are named, if any."""
    total, aside = crowds.own.sum(axis=3, keepdims=True), crowds.all_aside
    if strata is not None:
        total, aside = (one[strata].sum(axis=0, keepdims=True) for one in (total, aside))
    total, aside = (np.broadcast_to(one, crowds.own.shape) for one in (total, aside))
    nobody = np.zeros_like(crowds.own)
    match way:
        case _Way.APART:
            return total, nobody
        case _Way.PROPORTIONAL:
            return total + aside, nobody
        case _Way.ANYWHERE:
            return total, aside


# The bounds of a measure, by those of its rates.


def _range(evaluation: Evaluation, way: _Way) -> Range | str:
    """The bounds of each value, or why there are none."""
    asked = evaluation.asked
    if evaluation.averaged is not None or evaluation.strata is not None:
        return "rates are averaged over strata"
    if evaluation.error is not None and np.nan_to_num(evaluation.error).any():
        return "the bins of the score hide some of it"
    if isinstance(asked, Measure) and asked.mean:
        return "it is a mean over groups"
    if evaluation.parts:
        parts = [_range(part, way) for part in evaluation.parts]
        ranges = [one for one in parts if not isinstance(one, str)]
        if len(ranges) < len(parts):
            return next(one for one in parts if isinstance(one, str))
        # One outcome less another has a fraction of its own, as a fold never has.
        less = evaluation.fraction is not None
        return _around(_folded(evaluation, ranges, less=less), evaluation.value)
    if isinstance(asked, Whole):
        return _whole(asked, evaluation, way)
    return _of_rate(asked, evaluation, way)


def _of_rate(asked: Quantity | Measure, evaluation: Evaluation, way: _Way) -> Range | str:
    """The bounds of a rate, or of one comparison of a rate."""
    reading = evaluation.reading
    own = None if reading is None else _ends(reading.quantity, _own(_crowds(evaluation.table), way))
    if reading is None or own is None:
        return "it is no rate of people"
    if isinstance(asked, Quantity):
        return own
    compare = asked.comparison
    if compare.shape is Shape.SPREAD:
        return _spread(compare, own, evaluation)
    if compare.contrast is not None:
        return f"no bounds are known for a comparison by {compare.id.replace('_', ' ')}"
    against = _against(evaluation, own, way)

    def corner(group: Floats, reference: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return values_compared(reading.quantity, compare, group, reference)

    # Whatever is compared, it moves one way with the group, and the other with the reference.
    return _around((corner(own[0], against[1]), corner(own[1], against[0])), evaluation.value)


def _around(ends: Range, value: Floats) -> Range:
    """The ends in order; where one is 0/0 there is no value at it, so that of today stands in."""
    one, two = (np.where(np.isnan(end), value, end) for end in ends)
    return np.fmin(one, two), np.fmax(one, two)


def _against(evaluation: Evaluation, own: Range, way: _Way) -> Range:
    """The reference at its lowest, where the group is at its highest, and the other way round."""
    assert evaluation.reading is not None
    quantity, crowds = evaluation.reading.quantity, _crowds(evaluation.table)
    policy = _policy(evaluation)
    if policy in {Policy.HIGHEST, Policy.LOWEST}:
        return _extreme(own, evaluation.takes_part, highest=policy is Policy.HIGHEST)
    if policy is Policy.REST:
        found = _ends(quantity, _rest(crowds, way))
    elif policy is Policy.OVERALL:
        adds = _adds(quantity) if isinstance(quantity, Rate) else None
        settled = way is not _Way.ANYWHERE or not (crowds.shown.any() or crowds.all_aside.any())
        if adds is not None and adds.fixed and settled:
            # Who is counted is fixed, so everybody is the group and the rest, at opposite ends.
            mine, others = _own(crowds, way), _rest(crowds, way)
            low = _summed(adds.high, adds.free_high, mine) + _summed(adds.low, adds.low, others)
            high = _summed(adds.low, adds.low, mine) + _summed(adds.high, adds.high, others)
            return _divided(low, 0.0), _divided(high, 1.0)
        found = _ends(quantity, _overall(crowds, way, None))
    elif policy is Policy.EVERYBODY:
        found = _ends(quantity, _overall(crowds, way, evaluation.table.known_strata))
    else:
        index = np.maximum(evaluation.second, 0)
        low, high = (np.take_along_axis(end, index, axis=1) for end in own)
        return low, high
    assert found is not None
    return found


def _extreme(own: Range, takes_part: Marks, *, highest: bool) -> Range:
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


def _spread(compare: Comparison, own: Range, evaluation: Evaluation) -> Range | str:
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


def _widest(own: Range, among: Marks) -> list[tuple[Floats, Floats]]:
    """Two candidates [Z] for the farthest ends of two different groups: either may give way."""
    top = np.where(among, own[1], -np.inf)
    bottom = np.where(among, own[0], np.inf)
    high, low = (one[:, None] for one in (top.argmax(axis=1), bottom.argmin(axis=1)))
    columns = np.arange(among.shape[1])
    return [
        (top.max(axis=1), np.where(columns == high, np.inf, bottom).min(axis=1)),
        (np.where(columns == low, -np.inf, top).max(axis=1), bottom.min(axis=1)),
    ]


def _narrowest(own: Range, among: Marks) -> tuple[Floats, Floats]:
    """The largest low end and the smallest high end [Z]: groups cannot come closer."""
    return (
        np.where(among, own[0], -np.inf).max(axis=1),
        np.where(among, own[1], np.inf).min(axis=1),
    )


def _folded(evaluation: Evaluation, ranges: Sequence[Range], *, less: bool) -> Range:
    """The bounds of what several values are folded to."""
    lows, highs = (np.stack([one[at] for one in ranges]) for at in range(2))
    asked = evaluation.asked
    if less:
        return _minus(ranges)
    assert isinstance(asked, Measure)
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


def _minus(ranges: Sequence[Range]) -> Range:
    one, two = ranges
    with np.errstate(invalid="ignore"):
        low, high = one[0] - two[1], one[1] - two[0]
    # ∞ less ∞ may be anything.
    return np.nan_to_num(low, nan=-np.inf, posinf=np.inf, neginf=-np.inf), np.nan_to_num(
        high, nan=np.inf, posinf=np.inf, neginf=-np.inf
    )


def _whole(asked: Whole, evaluation: Evaluation, way: _Way) -> Range | str:
    """The bounds of ε, over all outcomes and pairs of groups."""
    table, parameters = evaluation.table, evaluation.terms.parameters
    if asked is not DIFFERENTIAL_FAIRNESS:
        return "it is no comparison of rates"
    smoothing = parameters.per_outcome(len(table.classes))
    if smoothing and table.squares is not None:
        return "it is a smoothed ε of a weighted sample"
    own = table.mass.sum(axis=1) / table.scale
    outside = None if table.aside is None else table.aside.mass.sum(axis=1) / table.scale
    shown, aside, share = _visitors(table, own, outside)
    free = shown + aside if way is _Way.ANYWHERE else np.zeros_like(own)
    required = own + share if way is _Way.PROPORTIONAL else own
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


def _epsilon_ends(logs: Range, among: Marks) -> Range:
    """The least and the largest log-ratio of one outcome; 0 where no group may ever have it."""
    with np.errstate(invalid="ignore"):
        wide = np.fmax.reduce([high - low for high, low in _widest(logs, among)])
        largest_low, smallest_high = _narrowest(logs, among)
        least = largest_low - smallest_high
    return np.nan_to_num(least, nan=0.0, posinf=np.inf), np.nan_to_num(wide, nan=0.0, posinf=np.inf)


# Who is missing.


def _is_missing(evaluation: Evaluation) -> bool:
    """Whether anybody is whose outcome matters, or whose group is not known."""
    table = evaluation.strata or evaluation.table
    if table.aside is not None or (~table.known & (table.n.sum(axis=0) > 0)).any():
        return True
    return bool(_lacking(evaluation)[:, table.known].any())


def _people(evaluation: Evaluation, z: int, w: int) -> tuple[int, int]:
    """The people behind one value whose outcome is not known, and those of no known group."""
    table = evaluation.strata or evaluation.table
    strata = slice(z, z + 1)
    if evaluation.strata is not None or _policy(evaluation) is Policy.EVERYBODY:
        strata = slice(None)
    matters = np.any([one.matters for one in _kinds_of(evaluation)] or [_ALL], axis=0)
    columns = _compared(evaluation, z, w)
    about = [table.groups[g] for g in np.flatnonzero(columns).tolist()]
    group = 0
    for groups, people in _of_no_group(table):
        could = _who_may_be(groups, about)
        group += int(_nine(table, people)[strata][..., could].sum(axis=(0, 3))[matters].sum())
    return int(_lacking(evaluation)[strata][:, columns].sum()), group


def _of_no_group(table: GroupTable) -> list[tuple[list[Group], Ints]]:
    """Those of no known group, shown or set aside: what is known of them, and their people."""
    at = np.flatnonzero(~table.known)
    found = [([table.groups[g] for g in at.tolist()], np.asarray(table.people[..., at]))]
    if table.aside is not None:
        found.append((list(table.aside.groups), table.aside.people))
    return found


def _who_may_be(unknown: Sequence[Group], groups: Sequence[Group]) -> Marks:
    """Which of those with no known group may belong to one of some groups."""
    found = np.zeros(len(unknown), dtype=np.bool_)
    patterns = [tuple(level != UNKNOWN for _, level in one) for one in unknown]
    for pattern in set(patterns):
        keys: dict[Group, int] = {}
        allowed = len(groups) and _keyed(groups, pattern, keys).max()
        columns = [at for at, one in enumerate(patterns) if one == pattern]
        theirs = _keyed([unknown[at] for at in columns], pattern, keys)
        found[columns] = (theirs <= allowed) & bool(groups)
    return found


def _compared(evaluation: Evaluation, z: int, w: int) -> Marks:
    """The groups behind one value, [G]; beside a crowd all that are known."""
    asked, table = evaluation.asked, evaluation.table
    policy = _policy(evaluation)
    crowds = {Policy.REST, Policy.OVERALL, Policy.EVERYBODY}
    if policy in crowds:
        return table.known
    if evaluation.spread or policy in {Policy.HIGHEST, Policy.LOWEST}:
        return np.asarray(evaluation.takes_part[z])
    chosen = np.zeros(len(table.groups), dtype=np.bool_)
    chosen[w] = True
    second = int(evaluation.second[z, w])
    if second != NOBODY and not isinstance(asked, Quantity):
        chosen[second] = True
    return chosen


def _lacking(evaluation: Evaluation) -> Ints:
    """The people of each group whose outcome is not known and matters, [Z, G]."""
    table = evaluation.strata or evaluation.table
    kinds = _kinds_of(evaluation)
    if kinds:
        undecided = np.any([one.open for one in kinds], axis=0)
        return np.asarray(_nine(table, table.people)[:, undecided].sum(axis=1), dtype=np.int64)
    needs = evaluation.asked.needs
    if needs & {Need.NUMBER, Need.SCORE, Need.NUMERIC_LABEL}:
        return _without_number(table)
    unknown = np.zeros(table.people.shape[1:3], dtype=np.bool_)
    unknown[:, -1] = bool(table.classes)
    unknown[-1] |= Need.LABEL in needs
    return np.asarray(table.people[:, unknown].sum(axis=1))


def _without_number(table: GroupTable) -> Ints:
    """The people of each group who lack one of the numbers that are added up, or the score."""
    found = [one.n.sum(axis=(1, 2)) for one in table.amounts.values()]
    if table.histogram is not None:
        found.append(table.histogram.people.sum(axis=(1, 3)))
    return np.asarray(table.n - np.min(found, axis=0)) if found else np.zeros_like(table.n)


def _kinds_of(evaluation: Evaluation) -> list[_Adds]:
    """What each kind of person adds to the rates behind an evaluation; none without rates."""
    asked = evaluation.asked
    if isinstance(asked, Whole):
        return []
    if evaluation.reading is not None and not evaluation.parts:
        quantities: Sequence[Quantity] = [evaluation.reading.quantity]
    elif isinstance(asked, Measure):
        quantities = [quantity for quantity, _ in asked.parts]
    else:
        quantities = [asked]
    rates = [
        rate for one in quantities for rate in (one.parts if isinstance(one, Mean) else (one,))
    ]
    found = [_adds(one) if isinstance(one, Rate) else None for one in rates]
    return [one for one in found if one is not None]
