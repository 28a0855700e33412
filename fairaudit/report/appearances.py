"""Where a gap first appears, in one sentence made of numbers."""

from __future__ import annotations

import math

from fairaudit import names
from fairaudit.evidence.appearances import Appearance, Parent
from fairaudit.report import numbers, sentences


def sentence(one: Appearance, alpha: float) -> str:
    """The group beside everybody else, the groups it is part of, and where the gap appears."""
    of_class = "" if one.of_class is None else f", class {names.name(one.of_class)}"
    beside = one.apart
    ends = f"[{numbers.points(beside.low)}, {numbers.points(beside.high)}]"
    return (
        f"{numbers.named_group(one.group)}: {sentences.title_of(one.metric, one.of)} of the "
        f"{names.name(one.of)}{of_class} {numbers.rate(one.estimate)} against "
        f"{numbers.percent(beside.other.value)} of everybody else, "
        f"{numbers.points(beside.difference)} points {ends}{_adjusted(one, alpha)}; "
        f"{_of_parents(one, alpha)}: the gap first appears where {_meeting(one)} meet"
    )


def briefly(one: Appearance) -> str:
    """Another rate of a group that was told already."""
    shares = (
        f"{numbers.percent(one.estimate.value)} against {numbers.percent(one.apart.other.value)}"
    )
    return f"{sentences.title_of(one.metric, one.of)} of the {names.name(one.of)} ({shares})"


def _of_parents(one: Appearance, alpha: float) -> str:
    """The gaps of the groups it is part of: both of two, of more the one that comes nearest."""
    if len(one.parents) == 2:
        first, second = (_named(parent, alpha) for parent in one.parents)
        return f"the groups it is part of: {first}, {second}"

    def on_its_side(parent: Parent) -> float:
        gap = 0.0 if parent.apart is None else parent.apart.difference
        return math.copysign(gap, gap * one.apart.difference)

    nearest = max(one.parents, key=on_its_side)
    return f"of the {len(one.parents)} groups it is part of the nearest is {_named(nearest, alpha)}"


def _named(one: Parent, alpha: float) -> str:
    """A parent with its rate, and its difference to everybody else with interval and test."""
    said = [numbers.percent(one.estimate.value)]
    if (gap := one.apart) is not None:
        ends = f"[{numbers.points(gap.low)}, {numbers.points(gap.high)}]"
        said.append(f"{numbers.points(gap.difference)} points {ends}")
        said.append(f"p {numbers.probability(gap.p, alpha)}")
    return f"{numbers.named_group(one.group)} ({', '.join(said)})"


def _meeting(one: Appearance) -> str:
    *others, last = (names.name(column) for column, _ in one.group)
    return f"{', '.join(others)} and {last}"


def _adjusted(one: Appearance, alpha: float) -> str:
    found = one.significance
    if found is None:
        return ""
    corrected = "adjusted p" if found.correction != "none" else "p"
    return f" ({corrected} {numbers.probability(found.adjusted, alpha)})"
