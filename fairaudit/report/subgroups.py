"""The section on subgroups: those that diverge from everybody, and how many were looked at."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairaudit import names
from fairaudit.metrics.terms import Correction, Inference
from fairaudit.report import metric_titles, numbers, pictures
from fairaudit.report.blocks import Block, Cell, Entries, Figure, Heading, Paragraph, Table, Tone
from fairaudit.report.pictures import Interval, Intervals, Mark, Rule
from fairaudit.result import AuditResult
from fairaudit.subgroups import SearchedRate, Subgroup, Subgroups
from fairaudit.verdict import SubgroupCheck

_ABOUT = (
    "of all: of everybody in the denominator, those whose group is not known included; diff.: "
    "points more or less than everybody, the subgroup itself included; {p}: of the test against "
    "all others (z, or F by Fisher's where a count below 5 is expected), {corrected}. "
    "Ordered by the interval's end that is nearest to no difference. Below a subgroup stand the "
    "groups of one condition less, with their own differences: one that diverges the same way "
    "explains it where it does so by as much, or where the subgroup does not differ significantly "
    "from the rest of it. The intervals are each subgroup's by itself; what was picked for "
    "standing out lies nearer to everybody than it looks."
)


def section(result: AuditResult) -> Iterator[Block]:
    """What a search for subgroups found; nothing where none was asked."""
    search = result.subgroups
    if search is None:
        return
    yield Heading("Subgroups")
    inference = result.provenance.inference
    yield Paragraph(_looked_at(search))
    for one in search.rates:
        yield Paragraph(_summary(one, search))
        if one.listed:
            text = sentence(one.listed[0], one, inference)
            yield Entries([(Cell("stands out most", Tone.WARN), text)])
            yield from _figure(one)
            level = f"{float(100 * inference.confidence):g} %"
            yield _table(one, level, inference)
        elif one.widest is not None:
            text = sentence(one.widest, one, inference)
            yield Entries([(Cell("the widest", Tone.MUTED), text)])
        if one.unfairest is not None:
            yield Paragraph(_unfairness(one, one.unfairest))
    if any(one.listed for one in search.rates):
        yield Paragraph(_about(search, inference), Tone.MUTED)


def _about(search: Subgroups, inference: Inference) -> str:
    """How to read the table, with the correction that the spec chose."""
    how = "uncorrected: among so many tests some p are small by chance"
    if inference.correction is not Correction.NONE:
        looked_at = numbers.whole(search.looked_at)
        how = f"corrected by {inference.correction.words} over all {looked_at} subgroups looked at"
    return _ABOUT.format(p=_p_of(inference), corrected=how)


def _p_of(inference: Inference) -> str:
    return "p" if inference.correction is Correction.NONE else "adj. p"


def whose_rate(result: AuditResult, check: SubgroupCheck) -> SearchedRate | None:
    """What the search found of the rate that a check is about."""
    rates = () if result.subgroups is None else result.subgroups.rates
    return next((one for one in rates if (one.rate, one.of) == (check.rate, check.of)), None)


def _looked_at(search: Subgroups) -> str:
    deepest = min(search.depth, len(search.over))
    up_to = "one condition" if deepest == 1 else f"up to {deepest} conditions"
    rates = "" if len(search.rates) == 1 else f" by {len(search.rates)} rates"
    return (
        f"{numbers.whole(search.looked_at)} subgroups looked at{rates}: {up_to} over "
        f"{', '.join(map(names.name, search.over))}, with at least "
        f"{numbers.whole(search.min_size)} people in the denominator."
    )


def _summary(one: SearchedRate, search: Subgroups) -> str:
    title = metric_titles.title(one.rate, one.of)
    counts = f"{numbers.whole(one.over)}/{numbers.whole(one.under)}"
    text = f"{title[:1].upper()}{title[1:]} of the {names.name(one.of)}: everybody "
    text += f"{numbers.percent(one.value)} ({counts}). "
    if not one.looked_at:
        return text + "No subgroup but everybody has that many people."
    several = f"{numbers.whole(one.looked_at)} subgroups"
    if not one.significant:
        return f"{text}None of {several} diverges significantly."
    diverge = "diverges" if one.significant == 1 else "diverge"
    text += f"{numbers.whole(one.significant)} of {several} {diverge} significantly"
    if one.explained:
        are, they_are = ("is", "it is") if one.explained == 1 else ("are", "they are")
        explained = f"{numbers.whole(one.explained)} of these {are} explained"
        text += f", {explained} by a group {they_are} in"
    left = one.significant - one.explained - len(one.listed)
    if left:
        text += f"; of the others the first {search.top} are listed, {numbers.whole(left)} are not"
    return text + "."


def _table(one: SearchedRate, level: str, inference: Inference) -> Table:
    return Table(
        f"{metric_titles.title(one.rate, one.of)}: whom no larger group explains",
        ("subgroup", "of all", "count", "rate", "diff.", level, _p_of(inference)),
        [_cells(each, inference.alpha) for each in one.listed],
        (False, True, True, True, True, True, True),
    )


def _cells(one: Subgroup, alpha: float) -> list[Cell]:
    parts = [
        f"  {numbers.group(part.group)} {numbers.points(part.divergence)}" for part in one.parts
    ]
    p = numbers.probability(one.adjusted, alpha).removeprefix("= ").replace(" ", "")
    return [
        Cell("\n".join([numbers.group(one.group), *parts])),
        Cell(numbers.percent(one.share)),
        Cell(f"{numbers.whole(one.over)}/{numbers.whole(one.under)}"),
        Cell(numbers.percent(one.value)),
        Cell(numbers.points(one.divergence)),
        Cell(f"[{100 * one.low:.1f}, {100 * one.high:.1f}]"),
        Cell(f"{p} F" if one.test.startswith("Fisher") else p),
    ]


def _unfairness(one: SearchedRate, worst: Subgroup) -> str:
    """Kearns' measure: the largest product of a subgroup's share and its divergence."""
    chance = "" if worst.significant else ", not significant"
    return (
        f"Subgroup unfairness (Kearns) is {numbers.number(worst.unfairness)}, by "
        f"{numbers.named_group(worst.group)}: {numbers.percent(worst.under / one.n)} of the people "
        f"times {100 * abs(worst.divergence):.1f} points{chance}."
    )


def _figure(one: SearchedRate) -> Iterator[Figure]:
    """A picture of those listed, whoever stands out most first."""
    if not one.listed:
        return
    rows = [
        Interval(
            numbers.group(each.group),
            each.value,
            one.value + each.low,
            one.value + each.high,
            text=f"{numbers.percent(each.value)} ({numbers.points(each.divergence)})",
        )
        for each in one.listed
    ]
    everybody = Interval(
        "everybody", one.value, mark=Mark.REFERENCE, text=numbers.percent(one.value)
    )
    first = one.listed[0]
    title = metric_titles.title(one.rate, one.of)
    rules = [Rule(one.value)] if math.isfinite(one.value) else []
    yield Figure(
        f"{title.capitalize()} of the {one.of}: the subgroups that stand out",
        f"{numbers.whole(len(rows))} subgroups beside everybody's {numbers.percent(one.value)}; "
        f"first {numbers.group(first.group)} with {numbers.percent(first.value)}.",
        Intervals(
            title,
            [everybody, *pictures.first_rows(rows, pictures.MOST_ROWS - 1)],
            rules,
            percent=True,
        ),
        note="Diamond and dotted line: everybody. In brackets: points from everybody's rate; "
        "lines: the intervals of these.",
    )


def sentence(one: Subgroup, searched: SearchedRate, inference: Inference) -> str:
    """A subgroup in one sentence of numbers, with the groups it is part of."""
    low, high = (f"{100 * end:.1f}" for end in one.ends)
    more = "more" if one.divergence >= 0 else "less"
    is_raw = inference.correction is Correction.NONE
    adjusted, uncorrected = ("p", ", uncorrected") if is_raw else ("adjusted p", "")
    text = (
        f"{numbers.named_group(one.group)}: {metric_titles.title(searched.rate, searched.of)} "
        f"{rate(one)}, "
        f"{numbers.percent(one.share)} of those it is taken over; "
        f"{100 * abs(one.divergence):.1f} points {more} than everybody "
        f"({numbers.percent(one.everybody)}) [{low}, {high}], {adjusted} "
        f"{numbers.probability(one.adjusted, inference.alpha)} ({one.test}{uncorrected})"
    )
    parts = [
        f"{numbers.named_group(part.group)} {numbers.points(part.divergence)}" for part in one.parts
    ]
    return f"{text}; its parts: {'; '.join(parts)}." if parts else f"{text}."


def rate(one: Subgroup) -> str:
    """The rate of a subgroup with its counts."""
    counts = f"{numbers.whole(one.over)}/{numbers.whole(one.under)}"
    return f"{numbers.percent(one.value)} ({counts})"
