"""Prose report: the section on discovered subgroups."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairaudit.base import names
from fairaudit.evidence.pair_tests import FEW_EXPECTED
from fairaudit.judge import SubgroupCheck
from fairaudit.judge.subgroups import SearchedRate, Subgroup, Subgroups
from fairaudit.metrics.terms import Correction, Inference
from fairaudit.report import metric_titles, numbers, pictures
from fairaudit.report.blocks import (
    Block,
    Cell,
    Column,
    Entries,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
    tabulate,
    text_column,
)
from fairaudit.report.pictures import Interval, Intervals, Mark, Rule
from fairaudit.result import AuditResult

_ABOUT = (
    "of all: share of all people in the denominator, including people with an unknown group; "
    "diff.: points above or below the rate of all people, including the subgroup; {p}: z tests the "
    f"subgroup against all others; Fisher's test (F) replaces z {FEW_EXPECTED}; {{corrected}}. "
    "Ordered by the end of the interval that is closest to no difference. Below a subgroup are "
    "the groups with one condition less, with their own differences: a larger group may explain "
    "the subgroup if it differs by as much in the same direction, or if the subgroup does not "
    "differ significantly from the rest of that group. Each interval is for a single subgroup; "
    "subgroups selected for a large difference tend to differ less than they appear to."
)

HEADING = "Subgroups"
"""The title of the section."""


def section(result: AuditResult) -> Iterator[Block]:
    """The results of a search for subgroups; empty if the spec asks for no search."""
    search = result.subgroups
    if search is None:
        return
    yield Heading(HEADING)
    inference = result.provenance.inference
    deepest = min(search.depth, len(search.over))
    up_to = "one condition" if deepest == 1 else f"up to {deepest} conditions"
    rates = "" if len(search.rates) == 1 else f" by {len(search.rates)} rates"
    yield Paragraph(
        f"{numbers.whole(search.looked_at)} subgroups searched{rates}: {up_to} over "
        f"{', '.join(map(names.name, search.over))}, with at least "
        f"{numbers.whole(search.min_size)} people in the denominator."
    )
    for row in search.rates:
        yield Paragraph(_summary(row, search, inference))
        if row.listed:
            text = sentence(row.listed[0], row, inference)
            yield Entries([(Cell("clearest difference", Tone.WARN), text)])
            yield _figure(row)
            yield _table(row, inference)
        elif row.widest is not None:
            text = sentence(row.widest, row, inference)
            yield Entries([(Cell("the widest", Tone.MUTED), text)])
        if (worst := row.unfairest) is not None:
            chance = "" if worst.significant else ", not significant"
            yield Paragraph(
                f"Subgroup unfairness (Kearns) is {numbers.number(worst.unfairness)}, by "
                f"{names.describe_group(worst.group)}: {numbers.percent(worst.under / row.n)} of "
                "all people are in the group and in the denominator of its rate, times "
                f"{numbers.gap(worst.divergence)}{chance}."
            )
    if any(row.listed for row in search.rates):
        correction = f"{numbers.corrected(inference)} for all "
        correction += f"{numbers.whole(search.looked_at)} subgroups searched"
        if inference.correction is Correction.NONE:
            correction = "uncorrected: with this many tests, some p-values are small by chance"
        yield Paragraph(_ABOUT.format(p=_p_of(inference), corrected=correction), Tone.MUTED)


def _p_of(inference: Inference) -> str:
    return "p" if inference.correction is Correction.NONE else "adj. p"


def whose_rate(result: AuditResult, check: SubgroupCheck) -> SearchedRate | None:
    """The search for subgroups by the rate of a check."""
    rates = () if result.subgroups is None else result.subgroups.rates
    return next((row for row in rates if (row.rate, row.of) == (check.rate, check.of)), None)


def _summary(searched: SearchedRate, search: Subgroups, inference: Inference) -> str:
    title = metric_titles.title(searched.rate, searched.of)
    text = f"{title[:1].upper()}{title[1:]}{metric_titles.whose(searched.of)}: all people "
    text += f"{numbers.percent(searched.value, _digits(searched))} ({_counts(searched)}). "
    if not searched.looked_at:
        return f"{text}No subgroup has {numbers.whole(search.min_size)} people in the denominator."
    if searched.too_small:
        text += f"Subgroups that are too small to be searched: {numbers.whole(searched.too_small)} "
        text += "or more. "
    several = f"{numbers.whole(searched.looked_at)} subgroups"
    if not searched.significant:
        level = f"{_p_of(inference)} < {inference.alpha:g}"
        return f"{text}None of {several} diverges significantly ({level})."
    diverge = "diverges" if searched.significant == 1 else "diverge"
    text += f"{numbers.whole(searched.significant)} of {several} {diverge} significantly"
    if searched.explained:
        they_are = "it is" if searched.explained == 1 else "they are"
        explained = f"{numbers.whole(searched.explained)} of these may be explained"
        text += f", {explained} by a group {they_are} part of"
    omitted = searched.significant - searched.explained - len(searched.listed)
    if omitted:
        text += (
            f"; of the others the first {search.top} are listed, {numbers.whole(omitted)} are not"
        )
    return text + "."


def _table(search: SearchedRate, inference: Inference) -> Table:
    def write_p(row: Subgroup) -> str:
        p = numbers.compact_probability(row.adjusted, inference.alpha)
        return f"{p} F" if row.test.startswith("Fisher") else p

    digits = _digits(search)
    columns: tuple[Column[Subgroup], ...] = (
        text_column("subgroup", _with_parts),
        Column("of all", lambda row: numbers.percent(row.share)),
        Column("count", _counts),
        Column("rate", lambda row: numbers.percent(row.value, digits)),
        Column("diff.", lambda row: numbers.points(row.divergence)),
        Column(inference.percent, lambda row: numbers.bounds(row.low, row.high, numbers.per_cent)),
        Column(_p_of(inference), write_p),
    )
    title = metric_titles.title(search.rate, search.of)
    return tabulate(f"{title}: subgroups that no larger group explains", columns, search.listed)


def _digits(search: SearchedRate) -> int:
    """The number of decimals with which the listed rates give the printed differences."""
    return numbers.digits_of_gaps((row.value, search.value) for row in search.listed)


def _with_parts(subgroup: Subgroup) -> str:
    """A subgroup, followed by the larger groups that contain it."""
    parts = [
        f"  {names.people(part.group)} {numbers.points(part.divergence)}" for part in subgroup.parts
    ]
    return "\n".join([names.people(subgroup.group), *parts])


def _figure(search: SearchedRate) -> Figure:
    """A picture of the listed subgroups, the clearest difference first."""
    digits = _digits(search)
    rows = [
        Interval(
            names.people(subgroup.group),
            subgroup.value,
            search.value + subgroup.low,
            search.value + subgroup.high,
            text=f"{numbers.percent(subgroup.value, digits)} "
            f"({numbers.points(subgroup.divergence)})",
        )
        for subgroup in search.listed
    ]
    value = numbers.percent(search.value, digits)
    everybody = Interval("everybody", search.value, mark=Mark.REFERENCE, text=value)
    title = metric_titles.title(search.rate, search.of)
    rules = [Rule(search.value)] if math.isfinite(search.value) else []
    return Figure(
        f"{title.capitalize()}{metric_titles.whose(search.of)}: the most different subgroups",
        Intervals(title, [everybody, *rows[: pictures.MOST_ROWS]], rules, percent=True),
        note=(
            "Diamond and dotted line: all people. In brackets: difference from the rate of all "
            "people, in points; lines: intervals of these differences."
        ),
    )


def sentence(subgroup: Subgroup, searched: SearchedRate, inference: Inference) -> str:
    """A sentence with the numbers of a subgroup and of the larger groups that contain it."""
    ends = numbers.bounds(*subgroup.ends, numbers.per_cent)
    more = "more" if subgroup.divergence >= 0 else "less"
    digits = numbers.digits_of_gaps([(subgroup.value, subgroup.everybody)])
    is_raw = inference.correction is Correction.NONE
    adjusted, uncorrected = ("p", ", uncorrected") if is_raw else ("adjusted p", "")
    text = (
        f"{names.describe_group(subgroup.group)}: "
        f"{metric_titles.title(searched.rate, searched.of)} "
        f"{numbers.percent(subgroup.value, digits)} ({_counts(subgroup)}), "
        f"{numbers.percent(subgroup.share)} of the denominator; "
        f"{numbers.gap(subgroup.divergence)} {more} than everybody "
        f"({numbers.percent(subgroup.everybody, digits)}) {ends}, {adjusted} "
        f"{numbers.probability(subgroup.adjusted, inference.alpha)} ({subgroup.test}{uncorrected})"
    )
    parts = [
        f"{names.describe_group(part.group)} {numbers.points(part.divergence)}"
        for part in subgroup.parts
    ]
    return f"{text}; groups it is part of: {'; '.join(parts)}." if parts else f"{text}."


def _counts(rate: Subgroup | SearchedRate) -> str:
    return f"{numbers.whole(rate.over)}/{numbers.whole(rate.under)}"
