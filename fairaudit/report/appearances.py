"""Where a gap first appears: the end of the section on the lattice, a sentence each group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fairaudit import names
from fairaudit.cube import Group
from fairaudit.evidence.appearances import LEAST_GAP, Appearance, Parent, rank_appearances
from fairaudit.metrics.terms import Correction
from fairaudit.report import metric_titles, numbers
from fairaudit.report.blocks import Block, Cell, Entries, Paragraph, Tone
from fairaudit.result import AuditResult

_MOST_GROUPS = 3
"""So many groups where a gap first appears are told in full."""


def section(result: AuditResult, most: int | None) -> Iterator[Block]:
    """The groups where a gap first appears, a sentence each, and what is meant by that."""
    found = rank_appearances(one for row in result.lattice for one in row.appears)
    tests = _tests(result)
    by_group: dict[Group, list[Appearance]] = {}
    for one in found:
        by_group.setdefault(one.group, []).append(one)
    shown = list(by_group.values())[: None if most is None else _MOST_GROUPS]
    alpha = result.provenance.inference.alpha
    if shown:
        yield Entries([(Cell("first appears", Tone.WARN), _told(some, alpha)) for some in shown])
    if left := len(by_group) - len(shown):
        groups = "group" if left == 1 else "groups"
        text = f"and {numbers.whole(left)} more {groups}: --verbose, or -o report.json"
        yield Paragraph(text, Tone.MUTED)
    if found or tests:
        yield Paragraph(_meaning(result, tests, is_found=bool(found)), Tone.MUTED)
    if any(row.tested is None for row in result.lattice):
        yield Paragraph(
            "Where a gap first appears is told only of groups whose counts, and those of the "
            "groups they are part of, may all be told.",
            Tone.MUTED,
        )


def _told(several: Sequence[Appearance], alpha: float) -> str:
    """A group by the rate that concerns the most people, and by the others in brief."""
    first, *others = several
    text = sentence(first, alpha)
    return text + ("; also by " if others else "") + " and ".join(map(_briefly, others))


def _tests(result: AuditResult) -> dict[str, int]:
    """How many groups were tested by outcome; nothing where that is not told."""
    found: dict[str, int] = {}
    for row in result.lattice:
        for of, number in (row.tested or {}).items():
            found[of] = found.get(of, 0) + number
    return {of: number for of, number in found.items() if number}


def _meaning(result: AuditResult, tests: dict[str, int], *, is_found: bool) -> str:
    """What it takes for a gap to first appear, and among how many tests."""
    inference = result.provenance.inference
    families = " and ".join(
        f"{numbers.whole(n)} tests of the {names.name(of)}" for of, n in tests.items()
    )
    over = f" over {families}" if families else ""
    is_raw = inference.correction is Correction.NONE
    corrected = f"uncorrected{over}" if is_raw else f"by {inference.correction.words}{over}"
    if not is_found:
        return (
            "No gap was found to appear first where attributes meet: of no group of two or more "
            "attributes could these numbers tell that it differs from everybody else in a way that "
            f"no group it is part of does ({corrected})."
        )
    return (
        "A gap first appears at a group of two or more attributes that differs from everybody "
        "else, and from the rest of each group it is part of, always by more than "
        f"{100 * float(LEAST_GAP):g} point and significantly (the largest p, {corrected}), while "
        "no group it is part of differs so from everybody else by more than that with p < "
        f"{inference.alpha:g} (uncorrected). Such a group may have a gap all the same: its "
        "interval says how large a one."
    )


def sentence(one: Appearance, alpha: float) -> str:
    """The group beside everybody else, the groups it is part of, and where the gap appears."""
    of_class = "" if one.of_class is None else f", class {names.name(one.of_class)}"
    beside = one.apart
    ends = f"[{numbers.points(beside.low)}, {numbers.points(beside.high)}]"
    return (
        f"{numbers.named_group(one.group)}: {metric_titles.title(one.metric, one.of)} of the "
        f"{names.name(one.of)}{of_class} {numbers.rate(one.estimate)} against "
        f"{numbers.percent(beside.other.value)} of everybody else, "
        f"{numbers.points(beside.difference)} points {ends}{_adjusted(one, alpha)}; "
        f"{_of_parents(one, alpha)}: the gap first appears where {_meeting(one)} meet"
    )


def _briefly(one: Appearance) -> str:
    """Another rate of a group that was told already."""
    shares = (
        f"{numbers.percent(one.estimate.value)} against {numbers.percent(one.apart.other.value)}"
    )
    return f"{metric_titles.title(one.metric, one.of)} of the {names.name(one.of)} ({shares})"


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
