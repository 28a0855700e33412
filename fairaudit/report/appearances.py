"""Prose report: where a gap first appears, a sentence for each group."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from fairaudit.base import names
from fairaudit.cube import Group
from fairaudit.evidence.appearances import LEAST_GAP, Appearance, Parent, rank_appearances
from fairaudit.report import metric_titles, numbers
from fairaudit.report.blocks import Block, Cell, Entries, Paragraph, Tone
from fairaudit.result import AuditResult

_MOST_GROUPS = 3
"""So many groups where a gap first appears are told in full."""


def section(result: AuditResult, most: int | None) -> Iterator[Block]:
    """The groups where a gap first appears, a sentence each, and what is meant by that."""
    appearances = rank_appearances(
        appearance for row in result.lattice for appearance in row.appears
    )
    tests = Counter[str]()
    for row in result.lattice:
        tests.update({of: number for of, number in (row.tested or {}).items() if number})
    by_group: dict[Group, list[Appearance]] = {}
    for appearance in appearances:
        by_group.setdefault(appearance.group, []).append(appearance)
    shown = list(by_group.values())[: None if most is None else _MOST_GROUPS]
    alpha = result.provenance.inference.alpha
    if shown:
        rows = []
        for first, *others in shown:
            text = sentence(first, alpha) + ("; also by " if others else "")
            text += " and ".join(
                f"{_rate(other)} ({numbers.percent(other.estimate.value)} against "
                f"{numbers.percent(other.apart.other.value)})"
                for other in others
            )
            rows.append((Cell("first appears", Tone.WARN), text))
        yield Entries(rows)
    if omitted := len(by_group) - len(shown):
        text = f"and {numbers.counted(omitted, 'more group')}: --verbose, or -o report.json"
        yield Paragraph(text, Tone.MUTED)
    if appearances or tests:
        yield Paragraph(_meaning(result, tests, is_found=bool(appearances)), Tone.MUTED)
    if any(row.tested is None for row in result.lattice):
        yield Paragraph(
            "Where a gap first appears is shown only for groups whose counts, and those of the "
            "groups they are part of, may all be published.",
            Tone.MUTED,
        )


def _meaning(result: AuditResult, tests: Mapping[str, int], *, is_found: bool) -> str:
    """What it takes for a gap to first appear, and among how many tests."""
    inference = result.provenance.inference
    families = " and ".join(
        f"{numbers.whole(n)} tests of the {names.name(of)}" for of, n in tests.items()
    )
    over = f" over {families}" if families else ""
    corrected, least = numbers.corrected(inference) + over, f"{100 * float(LEAST_GAP):g} point"
    if not is_found:
        return (
            f"No gap of more than {least} is established only where attributes meet: no group of "
            f"two or more attributes differs significantly (p < {inference.alpha:g}) from "
            f"everybody else in a way that no group it is part of does ({corrected}). A gap there "
            "may be wide all the same, and seen in part by one of them."
        )
    return (
        "A gap first appears at a group of two or more attributes if it differs from everybody "
        f"else, and from the rest of each group it is part of, by more than {least} and "
        f"significantly (the largest p, {corrected}), while "
        "no group it is part of differs from everybody else by more than that with p < "
        f"{inference.alpha:g} (uncorrected). Those larger groups may have a gap all the same: see "
        "their intervals."
    )


def sentence(appearance: Appearance, alpha: float) -> str:
    """The group beside everybody else, the groups it is part of, and where the gap appears."""
    of_class = "" if appearance.of_class is None else f", class {names.name(appearance.of_class)}"
    beside = appearance.apart
    ends = f"[{numbers.points(beside.low)}, {numbers.points(beside.high)}]"
    *others, last = (names.name(column) for column, _ in appearance.group)
    return (
        f"{names.describe_group(appearance.group)}: {_rate(appearance)}{of_class} "
        f"{numbers.rate(appearance.estimate)} against "
        f"{numbers.percent(beside.other.value)} of everybody else, "
        f"{numbers.points(beside.difference)} points {ends}{_adjusted(appearance, alpha)}; "
        f"{_of_parents(appearance, alpha)}: the gap first appears where "
        f"{', '.join(others)} and {last} meet"
    )


def _rate(appearance: Appearance) -> str:
    title = metric_titles.title(appearance.metric, appearance.of)
    return f"{title} of the {names.name(appearance.of)}"


def _of_parents(appearance: Appearance, alpha: float) -> str:
    """The gaps of the groups it is part of: both of two, of more the one that comes nearest."""
    if len(appearance.parents) == 2:
        first, second = (_named(parent, alpha) for parent in appearance.parents)
        return f"the groups it is part of: {first}, {second}"

    def on_its_side(parent: Parent) -> float:
        gap = 0.0 if parent.apart is None else parent.apart.difference
        return math.copysign(gap, gap * appearance.apart.difference)

    nearest = max(appearance.parents, key=on_its_side)
    count = len(appearance.parents)
    return f"of the {count} groups it is part of the nearest is {_named(nearest, alpha)}"


def _named(parent: Parent, alpha: float) -> str:
    """A parent with its rate, and its difference to everybody else with interval and test."""
    words = [numbers.percent(parent.estimate.value)]
    if (gap := parent.apart) is not None:
        ends = f"[{numbers.points(gap.low)}, {numbers.points(gap.high)}]"
        words.append(f"{numbers.points(gap.difference)} points {ends}")
        words.append(f"p {numbers.probability(gap.p, alpha)}")
    return f"{names.describe_group(parent.group)} ({', '.join(words)})"


def _adjusted(appearance: Appearance, alpha: float) -> str:
    test = appearance.significance
    if test is None:
        return ""
    corrected = "adjusted p" if test.correction != "none" else "p"
    return f" ({corrected} {numbers.probability(test.adjusted, alpha)})"
