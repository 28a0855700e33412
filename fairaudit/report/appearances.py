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
        f"{numbers.named_group(one.group)}: {sentences.title_of(one.metric)} of the "
        f"{names.name(one.of)}{of_class} {numbers.rate(one.estimate)} against "
        f"{numbers.percent(beside.other.value)} of everybody else, "
        f"{numbers.points(beside.difference)} points {ends}; {_silent(one, alpha)}: "
        f"the gap first appears where {_meeting(one)} meet{_adjusted(one, alpha)}"
    )


def briefly(one: Appearance) -> str:
    """Another rate of a group that was told already."""
    shares = (
        f"{numbers.percent(one.estimate.value)} against {numbers.percent(one.apart.other.value)}"
    )
    return f"{sentences.title_of(one.metric)} of the {names.name(one.of)} ({shares})"


def _silent(one: Appearance, alpha: float) -> str:
    """The groups that do not show it: both of two, of more the one that comes nearest."""
    if len(one.parents) == 2:
        first, second = (_named(parent, alpha) for parent in one.parents)
        return f"neither {first} nor {second} shows it"

    def on_its_side(parent: Parent) -> float:
        gap = 0.0 if parent.apart is None else parent.apart.difference
        return math.copysign(gap, gap * one.apart.difference)

    nearest = max(one.parents, key=on_its_side)
    whom = f"none of the {len(one.parents)} groups it is part of"
    return f"{whom} shows it, nearest {_named(nearest, alpha)}"


def _named(one: Parent, alpha: float) -> str:
    """A parent with its rate, and how far and how surely that differs from everybody else's."""
    said = [numbers.percent(one.estimate.value)]
    if one.apart is not None:
        said.append(numbers.points(one.apart.difference))
        said.append(f"p {numbers.probability(one.apart.p, alpha)}")
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
