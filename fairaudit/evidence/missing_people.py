"""Who is missing, and what each kind of person may add to a rate once everything is known.

Cells are [Z, 3, 3, G]: label and outcome, each positive, negative, not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from typing import TypeAlias

import numpy as np

from fairaudit.cube import UNKNOWN, Floats, Group, GroupTable, Ints, Marks
from fairaudit.memoize import memoize
from fairaudit.metrics import GroupMetric, Mean, Rate

_POSITIVE, _NEGATIVE, _UNKNOWN = range(3)
_ROUNDING = 1e-12

Bounds: TypeAlias = tuple[Floats, Floats]
"""The lowest and the highest value, arrays of one shape."""


class Placement(Enum):
    """Where people of no known group go: nowhere, to groups by their sizes, or anywhere."""

    APART = "apart"
    PROPORTIONAL = "proportional"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, slots=True)
class IncompleteCells:
    """The mass of a table (under weights: times its scale) by what is known, [Z, 3, 3, G].

    `own` are those of each column of the table; `shown` and `aside` those of no known group who may
    belong to it, counted in the rest or not; `share` of both those that its size gives it.
    """

    own: Floats
    shown: Floats
    aside: Floats
    share: Floats
    all_aside: Floats


@memoize
def count_incomplete(table: GroupTable) -> IncompleteCells:
    """The people of a table by what is known of them; computed once."""
    own = count_by_knowledge(table, table.mass)
    outside = None if table.ungrouped is None else count_by_knowledge(table, table.ungrouped.mass)
    shown, aside, share = count_visitors(table, own, outside)
    nobody = np.zeros((*own.shape[:3], 1))
    everybody = nobody if outside is None else outside.sum(axis=3, keepdims=True)
    return IncompleteCells(own, shown, aside, share, everybody)


def count_by_knowledge(table: GroupTable, joint: Ints) -> Floats:
    """The cells [Z, Y, P, G] by what is known of both, [Z, 3, 3, G]."""
    label = _classify_slots(table.positive_label, len(table.labels), joint.shape[1])
    outcome = _classify_slots(table.positive, len(table.classes), joint.shape[2])
    cells = np.einsum("zypg,ya,pb->zabg", joint.astype(np.float64), label, outcome)
    return np.asarray(cells)


def _classify_slots(positive: Marks | None, known: int, size: int) -> Floats:
    """Which slot of an axis is positive, negative or not known: [slots, 3]."""
    slots = np.arange(size)
    is_known = (slots < known) & (positive is not None)
    plus = np.zeros(size, dtype=np.bool_) if positive is None else positive
    kind = np.where(~is_known, _UNKNOWN, np.where(plus, _POSITIVE, _NEGATIVE))
    return np.asarray(kind[:, None] == np.arange(3), dtype=np.float64)


def count_visitors(
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
    if outside is not None and table.ungrouped is not None:
        sources.append((outside, list(table.ungrouped.groups), aside))
    size = np.where(table.known, table.n, 0).astype(np.float64)
    for cells, groups, sums in sources:
        patterns = [tuple(level != UNKNOWN for _, level in group) for group in groups]
        for pattern in sorted(set(patterns)):
            columns = [g for g, other in enumerate(patterns) if other == pattern]
            keys: dict[Group, int] = {}
            target = _number_groups(table.groups, pattern, keys)
            source = _number_groups([groups[g] for g in columns], pattern, keys)
            visitors = _sum_by_key(cells[..., columns], source, len(keys))[..., target]
            total = _sum_by_key(size, target, len(keys))[..., target]
            with np.errstate(divide="ignore", invalid="ignore"):
                part = np.where(total > 0, size / total, 0.0)
            np.add(sums, np.where(table.known, visitors, 0.0), out=sums)
            share += visitors * part.reshape(len(part), *([1] * (own.ndim - 2)), -1)
    return shown, aside, share


def _number_groups(
    groups: Sequence[Group], pattern: tuple[bool, ...], keys: dict[Group, int]
) -> Ints:
    """A number for each group, equal for those with the same levels where the pattern looks."""
    numbers = [
        keys.setdefault(
            tuple(pair for pair, known in zip(group, pattern, strict=True) if known), len(keys)
        )
        for group in groups
    ]
    return np.array(numbers, dtype=np.int64)


def _sum_by_key(cells: Floats, keys: Ints, size: int) -> Floats:
    """The sums of the last axis by key."""
    total = np.zeros((size, *cells.shape[:-1]))
    np.add.at(total, keys, np.moveaxis(cells, -1, 0))
    return np.moveaxis(total, 0, -1)


@dataclass(frozen=True, slots=True)
class Contributions:
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


def find_contributions(rate: Rate) -> Contributions | None:
    """None for a rate whose denominator is everybody's."""
    if rate.cells & {"all_selected", "all_rejected"}:
        return None
    low, high, free_low, free_high = (np.zeros((2, 3, 3)) for _ in range(4))
    undecided, matters = (np.zeros((3, 3), dtype=np.bool_) for _ in range(2))
    fixed = True
    for y, p in product(range(3), repeat=2):
        options = {
            _add_person(rate, label, outcome)
            for label in ((y,) if y != _UNKNOWN else (_POSITIVE, _NEGATIVE))
            for outcome in ((p,) if p != _UNKNOWN else (_POSITIVE, _NEGATIVE))
        }
        low[:, y, p], high[:, y, p] = min(options, key=_rank_effect), max(options, key=_rank_effect)
        either = options | {(0, 0)}
        free_low[:, y, p] = min(either, key=_rank_effect)
        free_high[:, y, p] = max(either, key=_rank_effect)
        undecided[y, p], matters[y, p] = len(options) > 1, options != {(0, 0)}
        fixed = fixed and len({under for _, under in options}) == 1
    return Contributions(low, high, free_low, free_high, undecided, matters, fixed)


def _add_person(rate: Rate, label: int, outcome: int) -> tuple[int, int]:
    """How often somebody of that label and outcome stands in numerator and denominator."""
    is_true = label == outcome
    cell = ("t" if is_true else "f") + ("p" if outcome == _POSITIVE else "n")
    cells = (
        cell,
        "selected" if outcome == _POSITIVE else "rejected",
        "positives" if label == _POSITIVE else "negatives",
    )
    return sum(map(rate.over.count, cells)), sum(map(rate.under.count, cells))


def _rank_effect(added: tuple[int, int]) -> int:
    """Which way a person moves a rate: those who stand above only, above and below, or below."""
    over, under = added
    if over:
        return 2 + (not under)
    return int(not under)


def sum_contributions(adds: Floats, free: Floats, people: tuple[Floats, Floats]) -> Floats:
    """Numerator and denominator [2, Z, G] of those who are in it, and of those who may be."""
    required, optional = people
    sums = np.zeros((2, len(required), required.shape[-1]))
    # Term by term: the order of a sum must not hang on the machine.
    for y, p in product(range(3), repeat=2):
        sums += adds[:, y, p, None, None] * required[:, y, p]
        sums += free[:, y, p, None, None] * optional[:, y, p]
    return sums


def divide(sums: Floats, empty: float) -> Floats:
    """The rate; without anybody in the denominator whatever it can be at most, or at least."""
    over, under = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where((under == 0) & (over == 0), empty, over / under))


def bound_rate(rate: GroupMetric, people: tuple[Floats, Floats]) -> Bounds | None:
    """The lowest and the highest value of a rate of some people, [Z, G]; None if not known."""
    if isinstance(rate, Mean):
        parts = [bound_rate(part, people) for part in rate.parts]
        ends = [bounds for bounds in parts if bounds is not None]
        if len(ends) < len(parts):
            return None
        low, high = (np.mean([bounds[end] for bounds in ends], axis=0) for end in range(2))
        return low, high
    adds = find_contributions(rate) if isinstance(rate, Rate) else None
    if adds is None:
        return None
    top = float("inf") if rate.bounds[1] is None else rate.bounds[1]
    return (
        divide(sum_contributions(adds.low, adds.free_low, people), 0.0),
        divide(sum_contributions(adds.high, adds.free_high, people), top),
    )


def place_in_group(cells: IncompleteCells, placement: Placement) -> tuple[Floats, Floats]:
    """Who is in each group, and who may be."""
    match placement:
        case Placement.APART:
            return cells.own, np.zeros_like(cells.own)
        case Placement.PROPORTIONAL:
            return cells.own + cells.share, np.zeros_like(cells.own)
        case Placement.ANYWHERE:
            return cells.own, cells.shown + cells.aside


def place_in_rest(cells: IncompleteCells, placement: Placement) -> tuple[Floats, Floats]:
    """Who is in the rest beside each group, and who may be."""
    own, total = cells.own, cells.own.sum(axis=3, keepdims=True)
    match placement:
        case Placement.APART:
            return total - own, np.zeros_like(own)
        case Placement.PROPORTIONAL:
            everybody = total + cells.all_aside
            rest = everybody - own - cells.share
            # Shares are fractions: a remainder by rounding is nobody.
            return np.where(rest > _ROUNDING * everybody, rest, 0.0), np.zeros_like(own)
        case Placement.ANYWHERE:
            return total - own - cells.shown, cells.shown + cells.all_aside


def place_overall(
    cells: IncompleteCells, placement: Placement, strata: Marks | None
) -> tuple[Floats, Floats]:
    """Who is in the whole stratum, and who may be; of all the strata that are named, if any."""
    total, aside = cells.own.sum(axis=3, keepdims=True), cells.all_aside
    if strata is not None:
        total, aside = (mass[strata].sum(axis=0, keepdims=True) for mass in (total, aside))
    total, aside = (np.broadcast_to(mass, cells.own.shape) for mass in (total, aside))
    nobody = np.zeros_like(cells.own)
    match placement:
        case Placement.APART:
            return total, nobody
        case Placement.PROPORTIONAL:
            return total + aside, nobody
        case Placement.ANYWHERE:
            return total, aside


def find_possible_members(unknown: Sequence[Group], groups: Sequence[Group]) -> Marks:
    """Which of those with no known group may belong to one of some groups."""
    possible = np.zeros(len(unknown), dtype=np.bool_)
    patterns = [tuple(level != UNKNOWN for _, level in group) for group in unknown]
    for pattern in set(patterns):
        keys: dict[Group, int] = {}
        allowed = len(groups) and _number_groups(groups, pattern, keys).max()
        columns = [g for g, other in enumerate(patterns) if other == pattern]
        numbers = _number_groups([unknown[column] for column in columns], pattern, keys)
        possible[columns] = (numbers <= allowed) & bool(groups)
    return possible
