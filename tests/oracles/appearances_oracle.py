"""Where a gap first appears, worked out over rows in plain Python with the tests of scipy.

Written from the definition in docs/decisions/evidence.md: nothing here comes from the program.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from scipy import stats
from stats_oracle import fisher, is_counted
from weights_oracle import effective_size

Person = Mapping[str, Any]
"""Levels by attribute (None: not known), `y` (1 or 0), and a weight `w`."""
Group = tuple[tuple[str, str], ...]
Crowd = Sequence[Person]

ALPHA = 0.05
LEAST = Fraction(1, 100)


@dataclass(frozen=True)
class Found:
    """One group that was tested: its tests, and whether its parents are silent."""

    group: Group
    p: float
    adjusted: float
    appears: bool


def share(crowd: Crowd) -> Fraction:
    return Fraction(sum(one["y"] * one["w"] for one in crowd), sum(one["w"] for one in crowd))


def effective(crowd: Crowd) -> float:
    return effective_size((bool(one["y"]), float(one["w"])) for one in crowd)


def p_value(one: Crowd, other: Crowd, *, weighted: bool) -> float:
    """The z test of two shares; Fisher's where few are expected or z is off far out."""
    n, m = effective(one), effective(other)
    a, c = float(share(one)) * n, float(share(other)) * m
    pooled = (a + c) / (n + m)
    if is_counted(*(x if weighted else round(x) for x in (a, n, c, m))):
        # Effective hits and misses are rounded, each to whole people.
        sides = ((round(x), round(x) + round(size - x)) for x, size in ((a, n), (c, m)))
        (x, size), (y, rest) = sides
        return fisher(min(x, size), size, min(y, rest), rest)[1]
    if share(one) == share(other):
        return 1.0
    deviation = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    return float(2 * stats.norm.sf(abs(a / n - c / m) / deviation))


def is_in(one: Person, group: Group) -> bool:
    return all(one[name] == level for name, level in group)


def groups_of(people: Crowd, names: Sequence[str]) -> Iterator[Group]:
    levels = [sorted({one[name] for one in people if one[name] is not None}) for name in names]
    for chosen in itertools.product(*levels):
        group = tuple(zip(names, chosen, strict=True))
        if any(is_in(one, group) for one in people):
            yield group


def parents_of(group: Group) -> Iterator[Group]:
    for size in range(1, len(group)):
        yield from itertools.combinations(group, size)


def wide(one: Crowd, other: Crowd) -> bool:
    return abs(share(one) - share(other)) > LEAST


def oracle(people: Crowd, names: Sequence[str], *, weighted: bool = False) -> list[Found]:
    """Every group of two or more attributes that is tested."""
    tested: list[tuple[Group, float, bool]] = []
    for size in range(2, len(names) + 1):
        for chosen in itertools.combinations(names, size):
            for group in groups_of(people, chosen):
                found = _one(people, group, weighted=weighted)
                if found is not None:
                    tested.append((group, *found))
    order = sorted(range(len(tested)), key=lambda at: tested[at][1])
    adjusted, worst = [0.0] * len(tested), 0.0
    for rank, at in enumerate(order):
        worst = max(worst, min(1.0, (len(tested) - rank) * tested[at][1]))
        adjusted[at] = worst
    return [
        Found(group, p, corrected, silent and corrected < ALPHA)
        for (group, p, silent), corrected in zip(tested, adjusted, strict=True)
    ]


def _one(people: Crowd, group: Group, *, weighted: bool) -> tuple[float, bool] | None:
    """The largest p of a group's tests, and whether no parent shows its gap; None if untested."""
    mine = [one for one in people if is_in(one, group)]
    others = [one for one in people if not is_in(one, group)]
    if not others:
        return None
    gap = share(mine) - share(others)
    largest, silent = p_value(mine, others, weighted=weighted), wide(mine, others)
    for parent in parents_of(group):
        inside = [one for one in people if is_in(one, parent)]
        outside = [one for one in people if not is_in(one, parent)]
        rest = [one for one in inside if not is_in(one, group)]
        if not rest:
            return None
        largest = max(largest, p_value(mine, rest, weighted=weighted))
        same = (share(mine) - share(rest)) * gap > 0
        silent = silent and same and wide(mine, rest)
        if outside:
            p = p_value(inside, outside, weighted=weighted)
            theirs = (share(inside) - share(outside)) * gap > 0
            silent = silent and not (theirs and wide(inside, outside) and p < ALPHA)
    return largest, silent
