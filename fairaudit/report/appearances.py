"""Where a gap first appears, in one sentence made of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.evidence.appearances import Appearance, Parent
from fairaudit.report import numbers, sentences


def sentence(one: Appearance, alpha: float) -> str:
    """The group beside everybody else, the groups it is part of, and where the gap appears."""
    of_class = "" if one.of_class is None else f", class {one.of_class}"
    beside = one.apart
    ends = f"[{numbers.points(beside.low)}, {numbers.points(beside.high)}]"
    return (
        f"{numbers.named_group(one.group)}: {sentences.title_of(one.metric)} of the {one.of}"
        f"{of_class} {numbers.rate(one.estimate)} against {numbers.percent(beside.other.value)} "
        f"of everybody else, {numbers.points(beside.difference)} points {ends}; "
        f"{_silent(one.parents)}: the gap first appears where {_meeting(one)} meet"
        f"{_adjusted(one, alpha)}"
    )


def briefly(one: Appearance) -> str:
    """Another rate of a group that was told already."""
    shares = (
        f"{numbers.percent(one.estimate.value)} against {numbers.percent(one.apart.other.value)}"
    )
    return f"{sentences.title_of(one.metric)} of the {one.of} ({shares})"


def _silent(parents: Sequence[Parent]) -> str:
    """The groups that do not show it: both of two, of more the one that comes nearest."""
    if len(parents) == 2:
        first, second = map(_named, parents)
        return f"neither {first} nor {second} shows it"
    widest = max(parents, key=_difference)
    return (
        f"none of the {len(parents)} groups it is part of shows it, the widest gap of theirs is "
        f"that of {_named(widest)}"
    )


def _named(one: Parent) -> str:
    gap = "" if one.apart is None else f", {numbers.points(one.apart.difference)}"
    return f"{numbers.named_group(one.group)} ({numbers.percent(one.estimate.value)}{gap})"


def _difference(one: Parent) -> float:
    return 0.0 if one.apart is None else abs(one.apart.difference)


def _meeting(one: Appearance) -> str:
    *names, last = (name for name, _ in one.group)
    return f"{', '.join(names)} and {last}"


def _adjusted(one: Appearance, alpha: float) -> str:
    found = one.significance
    if found is None:
        return ""
    corrected = "adjusted p" if found.correction != "none" else "p"
    return f" ({corrected} {numbers.probability(found.adjusted, alpha)})"
