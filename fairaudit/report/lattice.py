"""Prose report: subsets of attributes (the lattice) in tables and pictures; where gaps appear."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from fairaudit.base import names
from fairaudit.cube import Group
from fairaudit.evidence.appearances import LEAST_GAP, Appearance, Parent, rank_appearances
from fairaudit.judge import Finding
from fairaudit.metrics.differential_fairness import DIFFERENTIAL_FAIRNESS
from fairaudit.report import checks, metric_titles, numbers
from fairaudit.report.blocks import (
    Block,
    Cell,
    Column,
    Entries,
    Heading,
    Paragraph,
    Table,
    Tone,
    tabulate,
    text_column,
)
from fairaudit.report.pictures import Node
from fairaudit.report.remarks import describe_set_aside
from fairaudit.result import AuditResult
from fairaudit.result.rows import EpsilonReading, LatticeEntry, LatticeRow

_VALUES_BESIDE = 2
_NUMBERS_BESIDE = 5
"""The number of measures that fit into 80 characters: with a worst pair, and without."""

_FOLDED, _MOST_ROWS = 31, 16
"""If there are more subsets than five attributes have, a short report has this many."""


def section(result: AuditResult, most: int | None) -> Iterator[Block]:
    """The table of all subsets, the other measures, how to read ε, and where gaps first appear.

    If `most` is None, every measure also has its worst pairs.
    """
    every = result.lattice
    titles = list(dict.fromkeys(entry.title for row in every for entry in row.entries))
    if not titles:
        return
    yield Heading("Every combination of the protected columns")
    epsilon = next(iter(_epsilons(every)), None)
    lead = next((title for title in titles if title != epsilon), titles[0])
    others = [title for title in titles if title not in {lead, epsilon}]
    beside = [] if epsilon is None or epsilon == lead else [epsilon]
    if len(others) + len(beside) < _VALUES_BESIDE:
        beside, others = [*others, *beside], []
    rows = every if most is None else _worst(every, lead)
    yield _main(rows, lead, beside)
    if omitted := len(every) - len(rows):
        text = (
            "Shown: each attribute, all attributes together, and the other subsets farthest from "
            f"parity by {lead}; {numbers.whole(omitted)} more: --verbose or -o report.json lists "
            "them."
        )
        yield Paragraph(text, Tone.MUTED)
    # The meaning of the columns of the table.
    legend = (
        "smallest: the number of people in the smallest group; worst pair: the two groups farthest "
        f"apart by {lead}, with their numbers of people"
    )
    entries = [entry for row in rows for entry in row.entries if entry.title == lead]
    comparison = checks.comparison_of(entries[0]) if entries else None
    if comparison is not None and comparison.is_ratio:
        legend += ", the numerator first"
    if any(set(entry.first) & set(entry.second) for entry in entries):
        legend += "; the levels before a colon are common to both"
    if any(row.appears for row in rows):
        legend += "; gaps: the number of groups where a gap first appears, named below"
    if len(titles) > 1 and most is not None:
        legend += "; the worst pairs of the other measures: --verbose, or -o report.json"
    yield Paragraph(f"{legend}.", Tone.MUTED)
    if most is None:
        further = [(title, row) for title in titles if title != lead for row in rows]
        if further:
            caption = "other measures, each with its worst pair of groups"
            yield tabulate(caption, _FURTHER, further)
    else:
        subset: Column[LatticeRow] = text_column("subset", lambda row: numbers.subset(row.by))
        columns = [text_column(title, partial(_value, title)) for title in others]
        for at in range(0, len(columns), _NUMBERS_BESIDE):
            few = columns[at : at + _NUMBERS_BESIDE]
            yield tabulate("other measures", (subset, *few), rows, slim=True)
    for reading in result.epsilons:
        yield Paragraph(_reading_aid(reading))
    yield from _appearing(result, most)


def _worst(rows: Sequence[LatticeRow], lead: str) -> list[LatticeRow]:
    """Each single attribute, all attributes together, and the worst other subsets, in order."""
    if len(rows) <= _FOLDED:
        return [*rows]
    alone = [row for row in rows if len(row.by) == 1]
    ends = [*alone, max(rows, key=lambda row: len(row.by))]
    others = [row for row in rows if row not in ends]
    departures = {
        row.by: entry.departure
        for row in others
        if (entry := _entry(lead, row)) and not math.isnan(entry.departure)
    }
    others.sort(key=lambda row: -departures.get(row.by, -math.inf))
    return [row for row in rows if row in [*ends, *others[: max(_MOST_ROWS - len(ends), 3)]]]


def _epsilons(rows: Sequence[LatticeRow]) -> list[str]:
    """The titles of all measures of differential fairness, in order."""
    wanted = DIFFERENTIAL_FAIRNESS.id
    entries = (entry for row in rows for entry in row.entries)
    return [*dict.fromkeys(entry.title for entry in entries if entry.metric == wanted)]


def _main(rows: Sequence[LatticeRow], lead: str, beside: Sequence[str]) -> Table:
    """A row for each subset: groups, measures, worst pair of the first measure, and new gaps."""
    chosen = (lead, *beside)
    # If there is a single ε, the sentence below the table says how it is smoothed.
    alone = _epsilons(rows) if len(_epsilons(rows)) == 1 else []
    heads = [DIFFERENTIAL_FAIRNESS.short if title in alone else title for title in chosen]
    columns: list[Column[LatticeRow]] = [
        text_column("subset", lambda row: numbers.subset(row.by)),
        Column("groups", lambda row: numbers.whole(row.groups)),
        Column("smallest", lambda row: numbers.whole(row.smallest)),
        *(
            text_column(head, partial(_value, title))
            for head, title in zip(heads, chosen, strict=True)
        ),
        text_column("worst pair", lambda row: _pair(_entry(lead, row))),
    ]
    if any(row.appears for row in rows):

        def gaps(row: LatticeRow) -> Cell:
            groups = len({appearance.group for appearance in row.appears})
            return Cell(numbers.whole(groups) if groups else "", Tone.WARN)

        columns.append(Column("gaps", gaps))
    return tabulate("", columns, rows, slim=True)


def _entry(title: str, row: LatticeRow) -> LatticeEntry | None:
    """The entry of a measure in one subset; None if the subset does not have it."""
    return {entry.title: entry for entry in row.entries}.get(title)


def _value(title: str, row: LatticeRow) -> Cell:
    entry = _entry(title, row)
    if entry is None:
        return Cell("not compared", Tone.MUTED)
    tone = Tone.MUTED if math.isnan(entry.estimate.value) else Tone.PLAIN
    return Cell(numbers.value_of(entry.estimate), tone)


def _pair(entry: LatticeEntry | None) -> str:
    """The worst pair with its numbers of people: `Black: male (1,847) / female (1,337)`."""
    if entry is None or not (entry.first or entry.second):
        return ""
    shared = set(entry.first) & set(entry.second)
    deciding = [
        part for part in entry.parts
        if entry.decided_by is None or entry.decided_by in {part.metric, part.outcome}
    ]  # fmt: skip
    sizes = {
        side.group: side.estimate.n
        for part in deciding
        for side in part.sides
        if side.crowd is None
    }
    sides = []
    for group in checks.pair_of(entry):
        if group:
            own = tuple(pair for pair in group if pair not in shared)
            n = sizes.get(group)
            sides.append(numbers.group(own) + ("" if n is None else f" ({numbers.whole(n)})"))
    shared_pairs = tuple(pair for pair in entry.first if pair in shared)
    text = (f"{numbers.group(shared_pairs)}: " if shared_pairs else "") + " / ".join(sides)
    return f"{text} ({metric_titles.short_name(entry.decided_by)})" if entry.decided_by else text


_FURTHER: tuple[Column[tuple[str, LatticeRow]], ...] = (
    text_column("measure", lambda pair: pair[0]),
    text_column("subset", lambda pair: numbers.subset(pair[1].by)),
    text_column("value", lambda pair: _value(*pair)),
    text_column("worst pair", lambda pair: _pair(_entry(*pair))),
)


def _reading_aid(epsilon: EpsilonReading) -> str:
    """ε for groups by all attributes, the interval of ε, how to read ε, and what ε bounds."""
    ends = ""
    if epsilon.low is not None and epsilon.high is not None:
        ends = f" {numbers.bounds(epsilon.low, epsilon.high)}"
    head = (
        f"ε by {numbers.subset(epsilon.by)} is {numbers.number(epsilon.epsilon)}{ends}"
        f"{numbers.unsmoothed(epsilon.unsmoothed)} "
        f"({epsilon.parameters}); {epsilon.regime}."
    )
    if math.isinf(epsilon.epsilon):
        return head
    means = (
        " If the benefit of a person depends on the outcome alone and is never negative, the mean "
        "benefits of two groups differ by a factor of at most e^ε = "
        f"{numbers.number(epsilon.factor, 2)} (Foulds & Pan, equation 5). This is not a guarantee "
        "within strata: among people with one value of another column, groups can differ more."
    )
    text = f"{head}{means}"
    if len(epsilon.by) == 1:
        return text
    if not epsilon.bounds_subsets:
        return (
            f"{text} For groups by fewer columns, ε can be more than twice as large (more than "
            f"{numbers.number(epsilon.twice)}): {epsilon.unbounded}, so Theorem 3.2 does not apply."
        )
    return (
        f"{text} For groups by fewer columns, ε is at most twice as large (Theorem 3.2), "
        f"{numbers.number(epsilon.twice)}; in this data it is at most "
        f"{numbers.number(epsilon.epsilon)}."
    )


def strip(result: AuditResult, finding: Finding | None) -> tuple[str, list[Node]]:
    """The title of the measure of a check (else the first measure), and its value by subset."""
    entries = [entry for row in result.lattice for entry in row.entries]
    if len(result.lattice) < 2 or not entries:
        return "", []
    of_check = [
        entry.title
        for entry in entries
        if finding is not None
        and (entry.metric, entry.of) == (finding.check.metric_id, finding.check.of)
    ]
    title = next(iter(of_check), entries[0].title)
    entry_of = {row.by: _entry(title, row) for row in _worst(result.lattice, title)}
    departures = [entry.departure for entry in entry_of.values() if entry is not None]
    top = max(filter(math.isfinite, departures), default=0.0)
    nodes = []
    for by, entry in entry_of.items():
        text, shade = "not compared", None
        if entry is not None:
            text = numbers.value_of(entry.estimate, 3) + (" (checked)" if entry.judged else "")
            # The shade is the share of the largest finite departure; for an infinite one it is 1.
            if not (entry.estimate.suppressed or math.isnan(entry.departure)):
                share = max(entry.departure / top, 0.0) if top > 0 else 0.0
                shade = 1.0 if math.isinf(entry.departure) else share
        nodes.append(Node(numbers.subset(by), text, shade))
    return title, nodes


_MOST_GROUPS = 3
"""The number of groups with a full sentence on where a gap first appears."""


def _appearing(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A sentence for each group where a gap first appears, and what "first" means."""
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
            text = sentence(first, alpha) + (". The gap also appears in " if others else "")
            text += " and ".join(
                f"{_rate(other)} ({numbers.percent(other.estimate.value)} against "
                f"{numbers.percent(other.apart.other.value)})"
                for other in others
            )
            rows.append((Cell("first appears", Tone.WARN), text))
        yield Entries(rows)
    if omitted := len(by_group) - len(shown):
        text = f"and {numbers.counted(omitted, 'more group')}: --verbose or -o report.json"
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
    """The conditions under which a gap first appears, and the number of tests."""
    inference = result.provenance.inference
    families = " and ".join(
        f"{numbers.whole(n)} tests{metric_titles.whose(of)}" for of, n in tests.items()
    )
    tests_of = f" for {families}" if families else ""
    corrected, least = numbers.corrected(inference) + tests_of, f"{100 * float(LEAST_GAP):g} point"
    if not is_found:
        meeting = [(row, entry) for row in result.lattice for entry in row.entries if row.by[1:]]
        return (
            f"No gap of more than {least} appears only in a combination. Each group by two or more "
            f"columns{describe_set_aside(meeting)} was compared with all other people (p < "
            f"{inference.alpha:g}, {corrected}). Where it differs, a larger group that contains it "
            "differs, too. A combination may still have a wider gap than the larger group."
        )
    return (
        "A gap first appears in a group by two or more columns if two conditions are met. First, "
        f"the group differs by more than {least} from all other people, and in the same direction "
        "from the rest of each larger group that contains it. All these differences are "
        f"significant (their largest p is {corrected}). Second, none of these larger groups has "
        "such a gap: a difference from all other people in that direction, of more than "
        f"{least} and with p < {inference.alpha:g} (uncorrected). They may still have a gap: see "
        "their intervals."
    )


def sentence(appearance: Appearance, alpha: float) -> str:
    """A sentence on a group compared with everybody else, its larger groups, and the new gap."""
    of_class = "" if appearance.of_class is None else f", class {names.name(appearance.of_class)},"
    beside = appearance.apart
    ends = numbers.bounds(beside.low, beside.high, numbers.points)
    p, test = "", appearance.significance
    if test is not None:
        corrected = "adjusted p" if test.correction != "none" else "p"
        p = f", {corrected} {numbers.probability(test.adjusted, alpha)}"
    digits = numbers.digits_of_gaps([(appearance.estimate.value, beside.other.value)])
    if len(appearance.parents) == 2:
        first, second = (_parent(parent, alpha, digits) for parent in appearance.parents)
        parents = f"The larger groups do not show this gap: {first}, {second}"
    else:

        def on_its_side(parent: Parent) -> float:
            gap = 0.0 if parent.apart is None else parent.apart.difference
            return math.copysign(gap, gap * beside.difference)

        nearest = _parent(max(appearance.parents, key=on_its_side), alpha, digits)
        count = len(appearance.parents)
        parents = f"The {count} larger groups do not show this gap; the nearest is {nearest}"
    return (
        f"{names.describe_group(appearance.group)}: {_rate(appearance)}{of_class} is "
        f"{numbers.percent(appearance.estimate.value, digits)} "
        f"({numbers.counts(appearance.estimate)}), against "
        f"{numbers.percent(beside.other.value, digits)} of everybody else "
        f"({numbers.points(beside.difference)} points {ends}{p}). {parents}"
    )


def _rate(appearance: Appearance) -> str:
    title = metric_titles.title(appearance.metric, appearance.of)
    return f"{title}{metric_titles.whose(appearance.of)}"


def _parent(parent: Parent, alpha: float, digits: int) -> str:
    """A larger group: its rate, its difference to everybody else, and the interval and test."""
    words = [numbers.percent(parent.estimate.value, digits)]
    if (gap := parent.apart) is not None:
        ends = numbers.bounds(gap.low, gap.high, numbers.points)
        words.append(f"{numbers.points(gap.difference)} points {ends}")
        words.append(f"p {numbers.probability(gap.p, alpha)}")
    return f"{names.describe_group(parent.group)} ({', '.join(words)})"
