"""The section on the lattice: every subset in one table, and where a gap first appears."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fairaudit import names
from fairaudit.cube import Group
from fairaudit.evidence.appearances import LEAST_GAP, Appearance, rank_appearances
from fairaudit.metrics.differential_fairness import DIFFERENTIAL_FAIRNESS
from fairaudit.metrics.terms import Correction
from fairaudit.report import appearances, figures, numbers, sentences
from fairaudit.report.blocks import Block, Cell, Entries, Heading, Paragraph, Table, Tone
from fairaudit.result import AuditResult, EpsilonReading, LatticeEntry, LatticeRow

_VALUES_BESIDE = 2
_NUMBERS_BESIDE = 5
_PAIRS_BESIDE = 2
"""So many measures beside each other fit 80 columns: with one pair, alone, each with its pair."""

_FOLDED, _MOST_ROWS = 31, 16
"""Of more subsets than five attributes have, a short report has so many."""
_MOST_GROUPS = 3
"""So many groups where a gap first appears are told in full."""


def section(result: AuditResult, most: int | None) -> Iterator[Block]:
    """The table of all subsets, the other measures, how to read ε, and what first appears.

    With `most` None every measure also has its own worst pairs.
    """
    every = result.lattice
    titles = list(dict.fromkeys(entry.title for row in every for entry in row.entries))
    if not titles:
        return
    yield Heading("Every subset of the protected attributes")
    yield from figures.lattice(result)
    epsilon = _epsilon(every)
    lead = next((title for title in titles if title != epsilon), titles[0])
    others = [title for title in titles if title not in {lead, epsilon}]
    beside = [] if epsilon is None or epsilon == lead else [epsilon]
    if len(others) + len(beside) < _VALUES_BESIDE:
        beside, others = [*others, *beside], []
    rows = every if most is None else _worst(every, lead)
    yield _main(rows, lead, beside)
    if left := len(every) - len(rows):
        text = (
            "Each attribute, all together, and of the others those where "
            f"{lead} is farthest from parity; {numbers.whole(left)} more: --verbose, or "
            "-o report.json, lists them all."
        )
        yield Paragraph(text, Tone.MUTED)
    yield Paragraph(_legend(rows, lead, is_more=len(titles) > 1 and most is not None), Tone.MUTED)
    if most is None:
        yield from _pairs(rows, [title for title in titles if title != lead])
    else:
        yield from _values(rows, others)
    for one in result.epsilons:
        yield Paragraph(_reading_aid(one))
    yield from _appearances(result, most)


def _worst(rows: Sequence[LatticeRow], lead: str) -> list[LatticeRow]:
    """Of many subsets each attribute alone, all together, and the worst between, in their order."""
    if len(rows) <= _FOLDED:
        return [*rows]
    alone = [row for row in rows if len(row.by) == 1]
    ends = [*alone, max(rows, key=lambda row: len(row.by))]
    others = [row for row in rows if row not in ends]
    others.sort(key=lambda row: -_departure(row, lead))
    return [row for row in rows if row in [*ends, *others[: max(_MOST_ROWS - len(ends), 3)]]]


def _departure(row: LatticeRow, title: str) -> float:
    """How far a measure is from parity in a subset; nowhere where it does not exist."""
    found = [one.departure for one in row.entries if one.title == title]
    return found[0] if found and not math.isnan(found[0]) else -math.inf


def _epsilon(rows: Sequence[LatticeRow]) -> str | None:
    """The title of the first differential fairness there is."""
    return next(iter(_epsilons(rows)), None)


def _epsilons(rows: Sequence[LatticeRow]) -> dict[str, None]:
    """The titles of all of them, in their order."""
    wanted = DIFFERENTIAL_FAIRNESS.id
    entries = (one for row in rows for one in row.entries)
    return {one.title: None for one in entries if one.metric == wanted}


def _main(rows: Sequence[LatticeRow], lead: str, beside: Sequence[str]) -> Table:
    """One row a subset: its groups, the worst pair of the first measure, others, what appears."""
    chosen = (lead, *beside)
    # How ε is smoothed, where there is but one, the sentence below the table says.
    alone = len(_epsilons(rows)) == 1
    heads = [
        DIFFERENTIAL_FAIRNESS.short if alone and title == _epsilon(rows) else title
        for title in chosen
    ]
    marks = _has_marks(rows)
    table = []
    for row in rows:
        found = {entry.title: entry for entry in row.entries}
        cells = [Cell(numbers.subset(row.by)), Cell(numbers.whole(row.groups))]
        cells += [Cell(numbers.whole(row.smallest)), *_chosen(row, chosen)]
        cells.append(Cell(_pair(found.get(lead))))
        if marks:
            groups = len({one.group for one in row.appears})
            cells.append(Cell(numbers.whole(groups) if groups else "", Tone.WARN))
        table.append(cells)
    return Table(
        "",
        ("subset", "groups", "fewest", *heads, "worst pair", *(["gaps"] if marks else [])),
        table,
        (False, True, True, *(False for _ in chosen), False, *([True] if marks else [])),
        slim=True,
    )


def _has_marks(rows: Sequence[LatticeRow]) -> bool:
    return any(row.appears for row in rows)


def _legend(rows: Sequence[LatticeRow], lead: str, *, is_more: bool) -> str:
    """What the columns of the table mean."""
    text = (
        "fewest: people in the smallest group; worst pair: the two groups that are farthest "
        f"apart by {lead}, each with its people"
    )
    found = [one for row in rows for one in row.entries if one.title == lead]
    if any(set(one.first) & set(one.second) for one in found):
        text += ", and before a colon the levels they share"
    if _has_marks(rows):
        text += "; gaps: how many groups a gap first appears in, named below"
    if is_more:
        text += "; the worst pairs of the other measures: --verbose, or -o report.json"
    return text + "."


def _value(entry: LatticeEntry | None) -> Cell:
    if entry is None:
        return Cell("not compared", Tone.MUTED)
    tone = Tone.MUTED if math.isnan(entry.estimate.value) else Tone.PLAIN
    return Cell(numbers.value_of(entry.estimate), tone)


def _pair(entry: LatticeEntry | None) -> str:
    """The worst pair with its sizes: `Black: male (1,847) / female (1,337)`."""
    if entry is None or not (entry.first or entry.second):
        return ""
    shared = set(entry.first) & set(entry.second)
    sizes = _sizes(entry)
    sides = []
    for group in (entry.first, entry.second):
        if group:
            own = tuple(pair for pair in group if pair not in shared)
            n = sizes.get(group)
            sides.append(numbers.group(own) + ("" if n is None else f" ({numbers.whole(n)})"))
    both = tuple(pair for pair in entry.first if pair in shared)
    text = (f"{numbers.group(both)}: " if both else "") + " / ".join(sides)
    return f"{text} ({sentences.short_of(entry.decided_by)})" if entry.decided_by else text


def _sizes(entry: LatticeEntry) -> dict[Group, int]:
    """The people behind either side of a worst pair, by group."""
    deciding = [
        part for part in entry.parts
        if entry.decided_by is None or entry.decided_by in {part.metric, part.outcome}
    ]  # fmt: skip
    return {
        side.group: side.estimate.n
        for part in deciding
        for side in (part.first, part.second)
        if side is not None and side.crowd is None and side.estimate.n is not None
    }


def _values(rows: Sequence[LatticeRow], titles: Sequence[str]) -> Iterator[Block]:
    """The other measures by their numbers alone."""
    for start in range(0, len(titles), _NUMBERS_BESIDE):
        chosen = titles[start : start + _NUMBERS_BESIDE]
        yield Table(
            "other measures",
            ("subset", *chosen),
            [[Cell(numbers.subset(row.by)), *_chosen(row, chosen)] for row in rows],
            (False, *(False for _ in chosen)),
            slim=True,
        )


def _chosen(row: LatticeRow, titles: Sequence[str]) -> Iterator[Cell]:
    found = {entry.title: entry for entry in row.entries}
    yield from (_value(found.get(title)) for title in titles)


def _pairs(rows: Sequence[LatticeRow], titles: Sequence[str]) -> Iterator[Block]:
    """The other measures, the worst pair below each value."""
    for start in range(0, len(titles), _PAIRS_BESIDE):
        chosen = titles[start : start + _PAIRS_BESIDE]
        table = []
        for row in rows:
            found = {entry.title: entry for entry in row.entries}
            cells = []
            for title in chosen:
                value, pair = _value(found.get(title)), _pair(found.get(title))
                cells.append(Cell(f"{value.text}\n{pair}" if pair else value.text, value.tone))
            table.append([Cell(numbers.subset(row.by)), *cells])
        yield Table(
            "other measures, each with its worst pair of groups",
            ("subset", *chosen),
            table,
            (False, *(False for _ in chosen)),
        )


def _reading_aid(one: EpsilonReading) -> str:
    """ε of the full intersection with its interval, a scale, and what it bounds."""
    ends = ""
    if one.low is not None and one.high is not None:
        ends = f" [{numbers.number(one.low)}, {numbers.number(one.high)}]"
    head = (
        f"ε by {numbers.subset(one.by)} is {numbers.number(one.epsilon)}{ends} "
        f"({one.parameters}); {one.regime}."
    )
    if math.isinf(one.epsilon):
        return head
    means = (
        " In these numbers, for every non-negative utility of the outcome alone (equation 5), two "
        f"groups' expected utilities differ by a factor of at most {numbers.number(one.factor, 2)}."
        " This is no guarantee within strata: among people alike in another column the groups may "
        "lie farther apart."
    )
    return f"{head}{means}{_of_subsets(one)}"


def _of_subsets(one: EpsilonReading) -> str:
    """What ε of all attributes bounds; where it bounds nothing, why."""
    if len(one.by) == 1:
        return ""
    if not one.bounds_subsets:
        return f" It bounds no subset's ε (Theorem 3.2 does not apply): {one.unbounded}."
    epsilon, twice = numbers.number(one.epsilon), numbers.number(one.twice)
    return (
        f" Every subset is within {twice}, twice as much (Theorem 3.2), and on these rows none "
        f"exceeds {epsilon} itself."
    )


def _appearances(result: AuditResult, most: int | None) -> Iterator[Block]:
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
    text = appearances.sentence(first, alpha)
    return text + ("; also by " if others else "") + " and ".join(map(appearances.briefly, others))


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
