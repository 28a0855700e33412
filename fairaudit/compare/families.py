"""The tests of changes as families, and the order in which changes are told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from fairaudit.compare.records import (
    Change,
    CheckChange,
    Direction,
    PeopleChange,
    RateChange,
    Scale,
)
from fairaudit.estimate import Significance
from fairaudit.metrics.terms import Inference

_Rank: TypeAlias = tuple[int, float, float]
_WAYS = (
    Direction.WORSE,
    Direction.BETTER,
    Direction.HIGHER,
    Direction.LOWER,
    Direction.UNKNOWN,
    Direction.SAME,
)


def correct_checks(rows: Iterable[CheckChange], inference: Inference) -> tuple[CheckChange, ...]:
    """The checks with their p-values corrected: those that got worse first, then better ones.

    The changes of all groups of all checks are one family.
    """
    found = [*rows]
    tests = iter(_family([one.significance for row in found for one in row.tested], inference))
    found = [_with_tests(one, [next(tests) for _ in one.tested]) for one in found]

    def rank(one: CheckChange) -> tuple[int, _Rank]:
        worse, better = one.is_worse(inference.alpha), one.is_better(inference.alpha)
        first = min(_rank(change, inference.alpha) for change in one.tested)
        return (0 if worse else 1 if better else 2), first

    return tuple(sorted(found, key=rank))


def _with_tests(one: CheckChange, tests: Sequence[Significance | None]) -> CheckChange:
    """The check with the corrected tests of its groups, those that changed most surely first."""
    if not one.groups:
        return replace(one, change=replace(one.change, significance=tests[0]))
    groups = [
        replace(group, change=replace(group.change, significance=test))
        for group, test in zip(one.groups, tests, strict=True)
    ]
    worst = next((each.change for each in groups if each.decided and each.decides), one.change)
    ordered = sorted(groups, key=lambda each: (_place(each.change), -_size(each.change)))
    return replace(one, change=worst, groups=tuple(ordered))


def _place(change: Change) -> float:
    return 1.0 if change.significance is None else change.significance.adjusted


def correct_rates(rows: Iterable[RateChange], inference: Inference) -> tuple[RateChange, ...]:
    """The rates with their p-values corrected, what got worse beyond chance first."""
    found = [*rows]
    tests = _family([one.change.significance for one in found], inference)
    found = [
        replace(one, change=replace(one.change, significance=test))
        for one, test in zip(found, tests, strict=True)
    ]
    return tuple(sorted(found, key=lambda one: _rank(one.change, inference.alpha)))


def correct_people(rows: Iterable[PeopleChange], inference: Inference) -> tuple[PeopleChange, ...]:
    """The groupings in their order, with their p-values corrected."""
    found = [*rows]
    tests = _family([one.significance for one in found], inference)
    return tuple(replace(one, significance=test) for one, test in zip(found, tests, strict=True))


def _family(
    tests: Sequence[Significance | None], inference: Inference
) -> list[Significance | None]:
    """The same tests, each adjusted for all that there are."""
    p = np.array([math.nan if one is None else one.p for one in tests], dtype=np.float64)
    adjusted = inference.correction.adjust(p)
    count = int(np.count_nonzero(~np.isnan(p)))
    return [
        one
        and replace(one, adjusted=float(level), family=count, correction=inference.correction.words)
        for one, level in zip(tests, adjusted, strict=True)
    ]


def _rank(change: Change, alpha: float) -> _Rank:
    """Significant ones first, worse before better; then by p, then by size."""
    is_sure = change.is_significant(alpha)
    p = 1.0 if change.significance is None else change.significance.p
    untested = 1 if change.significance is None else 0
    place = _WAYS.index(change.way) if is_sure else len(_WAYS) + untested
    return place, p, -_size(change)


def _size(change: Change) -> float:
    """How far a number moved; nothing where it cannot be told."""
    if math.isnan(change.value):
        return -1.0
    if change.scale is Scale.RATIO:
        return abs(math.log(change.value)) if change.value > 0 else math.inf
    return abs(change.value)
