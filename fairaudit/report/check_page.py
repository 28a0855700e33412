"""Pages of `fairaudit show`: list of checks; one, found by number or id, with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairaudit.base import names
from fairaudit.base.errors import UsageError, list_known
from fairaudit.evidence import ComparisonPart
from fairaudit.judge import (
    Backing,
    Breach,
    Check,
    Finding,
    Limit,
    ReversalCheck,
    SubgroupCheck,
    match_ids,
)
from fairaudit.judge.subgroups import SearchedRate, Subgroup
from fairaudit.judge.subgroups.search import ParentGroup
from fairaudit.metrics import Disparity, GroupMetric
from fairaudit.report import (
    asked_comparisons,
    checks,
    explain,
    headlines,
    metric_titles,
    numbers,
    rates,
    reversal_sentences,
    reversals,
    strata,
    worked_formula,
)
from fairaudit.report.blocks import (
    Block,
    Cell,
    Document,
    Entries,
    Facts,
    Heading,
    Paragraph,
    Table,
    Tone,
    inert,
)
from fairaudit.report.diagnostics import Explanation, by_label, diagnose, explanations_of
from fairaudit.report.subgroups import whose_rate
from fairaudit.result import AuditResult, GroupRow, RateRow

_UNWEIGHED = (
    "the rates are averages over strata; their counts and weights are not in the result: an entry "
    "of the same rate with `given` and without `average` lists them"
)


def listing(result: AuditResult) -> Document:
    """The checks of a result by number and id, the worst first."""
    rows = []
    for index, finding in enumerate(checks.by_urgency(result.findings), 1):
        word = checks.status_cell(finding, index)
        text = f"{checks.id_of(finding)}: {_value(finding)} ({headlines.limits(finding)})"
        rows.append((word, text))
    unjudged = asked_comparisons.without_limit(result)
    table = asked_comparisons.overview(unjudged, "entries without a limit", None)
    others = [table] if unjudged else []
    if not rows:
        text = "The spec sets no limit: nothing was judged."
        return inert((Heading("Checks"), Paragraph(text), *others))
    usage = (
        "fairaudit show RESULT.json CHECK opens one: by its number, its id, or a part of its id."
    )
    heading = Heading("Checks, worst first")
    return inert((heading, Entries(rows), Paragraph(usage, Tone.MUTED), *others))


def find(result: AuditResult, text: str) -> Finding:
    """The finding by its number in the listing, or by what `match_ids` takes for its id.

    Raises `UsageError` where there is none, or several.
    """
    ranked = checks.by_urgency(result.findings)
    ids = [finding.check.id for finding in ranked]
    if text not in ids and text.isdecimal() and 1 <= int(text) <= len(ranked):
        return ranked[int(text) - 1]
    matches = match_ids(text, ids)
    if len(matches) > 1:
        listed = ", ".join(map(names.copied, matches))
        what = f"{names.quoted(text)} names {len(matches)} checks"
        raise UsageError(what, list_known(matches, listed))
    return ranked[ids.index(matches[0])]


def document(result: AuditResult, finding: Finding) -> Document:
    """The page of one finding."""
    explanation = explanations_of(result)[finding.check.id]
    sections = (
        _answer(finding, explanation),
        _question(finding),
        _picture(result, finding),
        _numbers(result, finding),
        _evidence(explanation),
        _breaches(finding),
        _groups(result, finding),
        _not_judged(finding),
        _definition(result, finding),
    )
    return inert(tuple(block for section in sections for block in section))


def _value(finding: Finding) -> str:
    estimate, limit = finding.estimate, finding.limit
    if estimate is None:
        return f"{len(finding.reversals)} found" if finding.reversals else "0 found"
    if not isinstance(limit, Limit) or estimate.suppressed:
        return numbers.value_of(estimate)
    digits = metric_titles.decimals_of(finding, 4)
    return numbers.number_beside(estimate.value, limit.bounds, estimate.exact, digits=digits)


def _against(finding: Finding) -> str:
    """The value, and on which side of its limit it is."""
    beyond = headlines.beyond_words(finding)
    return f"{_value(finding)}, {beyond}" if beyond else f"{_value(finding)}, within the limit"


def _answer(finding: Finding, explanation: Explanation) -> Iterator[Block]:
    yield Heading(f"Check: {checks.id_of(finding)}")
    text = f"{checks.title(finding)}: {explanation.headline}"
    yield Entries([(checks.status_cell(finding), text)])


def _question(finding: Finding) -> Iterator[Block]:
    """What the spec asks, and how far the value is from its limit."""
    check = finding.check
    pairs = [("outcome", names.name(check.of))]
    if isinstance(check, Check):
        pairs.append(("by", numbers.subset(check.by)))
        if check.given:
            pairs.append(("given", numbers.subset(check.given)))
        if check.terms.average is not None:
            pairs.append(("averaged", names.line(str(check.terms.average))))
        if check.terms.minimum.size:
            pairs.append(
                ("smallest group", f"{check.terms.minimum.size} people in the denominator")
            )
    pairs.append(("limit", headlines.limits(finding)))
    if distance := _distance(finding):
        pairs.append(("distance", distance))
    if check.place is not None:
        pairs.append(("line of the spec", checks.place(check.place)))
    yield Facts(pairs)


def _picture(result: AuditResult, finding: Finding) -> Iterator[Block]:
    """The rates it compares beside its limit, where there is a picture of them."""
    diagnostics = (row for row in diagnose(result) if row.finding is finding)
    if (figure := next(diagnostics).figure) is not None:
        yield figure


def _distance(finding: Finding) -> str:
    """How far the value is beyond its limit, or from it."""
    limit, estimate = finding.limit, finding.estimate
    if not isinstance(limit, Limit) or estimate is None or estimate.suppressed:
        return ""
    excess = limit.excess(estimate.value)
    if excess != excess:  # noqa: PLR0124  # no number
        return ""
    where = "beyond the limit" if finding.crossed or excess > 0 else "within the limit"
    return f"{numbers.number(abs(excess))} {where}"


def _numbers(result: AuditResult, finding: Finding) -> Iterator[Block]:
    """Both sides, and the formula with their counts in it."""
    check = finding.check
    if isinstance(check, ReversalCheck):
        yield from _reversals(finding)
        return
    yield Heading("The formula, filled in")
    if isinstance(check, SubgroupCheck):
        yield from _subgroup(whose_rate(result, check), finding)
        return
    weighed = worked_formula.weigh(result, finding)
    for part, weighed_strata in weighed:
        yield _weights(part, weighed_strata, check)
    lines = worked_formula.steps(result, finding)
    formula = check.metric.formula
    if not lines:
        yield Paragraph(formula)
        if finding.estimate is not None and finding.estimate.suppressed:
            yield Paragraph("Its numbers are suppressed.", Tone.MUTED)
            return
        yield Paragraph("It takes more numbers than fit a line: see the tables below.", Tone.MUTED)
        return
    rows = [(Cell("formula", Tone.MUTED), formula)]
    rows += [(Cell(str(index), Tone.MUTED), line) for index, line in enumerate(lines, 1)]
    if check.terms.average is not None and not weighed:
        rows.append((Cell("strata", Tone.MUTED), _UNWEIGHED))
    rows.append((Cell("so", Tone.MUTED), _against(finding)))
    yield Entries(rows)


def _weights(part: ComparisonPart, weighed: Sequence[strata.WeighedStratum], check: Check) -> Table:
    first, second = worked_formula.name_sides(part)
    rows = [
        [
            Cell(numbers.group(stratum.stratum)),
            Cell(reversal_sentences.share(stratum.first)),
            Cell(reversal_sentences.share(stratum.second)),
            Cell(numbers.percent(float(stratum.weight))),
        ]
        for stratum in weighed
    ]
    return Table(
        f"{metric_titles.title(part.metric, check.of)} in each stratum, and its weight",
        (numbers.subset(check.given), first, second, "weight"),
        rows,
        (False, True, True, True),
    )


def _subgroup(search: SearchedRate | None, finding: Finding) -> Iterator[Block]:
    """The subgroup that decides beside everybody, and the groups that it is part of."""
    subgroup = finding.subgroup
    if subgroup is None or search is None:
        yield Paragraph(finding.why or numbers.SUPPRESSED)
        return
    line = worked_formula.divergence(subgroup, search)
    yield Entries(
        [
            (Cell("formula", Tone.MUTED), "|rate of the subgroup - rate of everybody|"),
            (Cell("1", Tone.MUTED), str(line)),
            (Cell("so", Tone.MUTED), _against(finding)),
        ]
    )
    parts: list[Subgroup | ParentGroup] = [subgroup, *subgroup.parts]
    rows = [
        [
            Cell(names.describe_group(part.group)),
            Cell(f"{numbers.whole(part.over)}/{numbers.whole(part.under)}"),
            Cell(numbers.percent(part.over / part.under)),
            Cell(numbers.points(part.divergence)),
        ]
        for part in parts
    ]
    header = ("subgroup, and whom it is part of", "count", "rate", "diff. to everybody")
    yield Table("", header, rows, (False, True, True, True))


def _reversals(finding: Finding) -> Iterator[Block]:
    """Every reversal beyond the limit, with its strata."""
    for reversal in finding.reversals:
        entry = reversal_sentences.entry(reversal, Tone.WARN, finding.check.inference)
        yield Entries([entry])
        yield from reversals.proof(reversal, finding.check.inference)


def _evidence(explanation: Explanation) -> Iterator[Block]:
    """All that is told of it: its sides, the interval and the test, what is missing, people."""
    if explanation.facts:
        yield Heading("How sure")
        yield Facts(by_label(explanation.facts))


def _breaches(finding: Finding) -> Iterator[Block]:
    """Everybody who is beyond the limit, not only the worst."""
    if len(finding.crossed) < 2:  # the worst is told above
        return
    limit = finding.limit
    assert isinstance(limit, Limit)
    farthest_first = sorted(finding.crossed, key=lambda breach: -limit.excess(breach.value))
    yield Heading("Everything beyond the limit")
    yield Table(
        "",
        ("group", "stratum", "value", "evidence"),
        [*map(_breach_row, farthest_first)],
        (False, False, True, False),
    )


def _breach_row(breach: Breach) -> list[Cell]:
    groups = (breach.group,) if breach.group else breach.between
    return [
        Cell(" / ".join(map(names.describe_group, groups))),
        Cell(names.describe_group(breach.stratum) if breach.stratum else ""),
        Cell(numbers.number(breach.signed_value)),
        Cell("" if breach.backing is Backing.UNASKED else str(breach.backing).replace("_", " ")),
    ]


def _groups(result: AuditResult, finding: Finding) -> Iterator[Block]:
    """The counts of every group, by stratum where there are strata: rates and outcomes."""
    check = finding.check
    if not isinstance(check, Check):
        return

    def is_of_check(row: RateRow | GroupRow, given: set[str]) -> bool:
        by = set(row.by) == set(check.by)
        return row.of in {check.of, check.against} and by and given == set(check.given)

    classes = {check.terms.of_class}
    if checks.averages_classes(finding):
        classes = {part.outcome for part in finding.parts}
    of_check = [
        row
        for row in result.rates
        if row.metric in _rates(check)
        and row.parameters.get("class") in classes
        and is_of_check(row, {name for name, _ in row.stratum} or {*row.averaged})
    ]
    counts = [row for row in result.groups if is_of_check(row, {name for name, _ in row.stratum})]
    if not of_check and not counts:
        return
    yield Heading("Every group")
    if of_check:
        yield from rates.tables(of_check, result, None)
        yield rates.legend(result)
    if counts:
        known = list(dict.fromkeys(level for row in counts for level in row.counts))
        rows = [
            [
                Cell(names.name(row.of)),
                Cell(numbers.group(row.stratum) if row.stratum else ""),
                Cell(numbers.group(row.group)),
                *(
                    Cell(numbers.whole(row.counts[level]) if level in row.counts else "")
                    for level in known
                ),
                Cell(numbers.whole(row.n)),
            ]
            for row in counts
        ]
        yield Table(
            "people by outcome",
            ("of the", "stratum", numbers.subset(check.by), *map(names.name, known), "n"),
            rows,
            (False, False, False, *(True for _ in known), True),
        )


def _rates(check: Check) -> set[str]:
    if isinstance(check.metric, Disparity):
        return {rate.id for rate, _ in check.metric.parts}
    return {check.metric.id} if isinstance(check.metric, GroupMetric) else set()


def _not_judged(finding: Finding) -> Iterator[Block]:
    """Everybody who was not judged, and why."""
    if not finding.not_evaluated:
        return
    yield Heading("Not judged")
    rows = [
        [
            Cell(names.describe_group(row.group) if row.group else ""),
            Cell(names.describe_group(row.stratum) if row.stratum else ""),
            Cell(names.line(row.reason) + (f" ({row.detail})" if row.detail else "")),
            Cell("yes" if row.blocks else "no"),
        ]
        for row in finding.not_evaluated
    ]
    header = ("group", "stratum", "why", "keeps the check open")
    yield Table("", header, rows, (False, False, False, False))


def _definition(result: AuditResult, finding: Finding) -> Iterator[Block]:
    check = finding.check
    first = check.metric.id if isinstance(check, Check) else check.rate
    ids = {first, *_rates(check)} if isinstance(check, Check) else {first}
    known = [definition for definition in result.definitions if definition.id in ids]
    for definition in sorted(known, key=lambda definition: definition.id != first):
        yield Heading(definition.title)
        yield Paragraph(definition.means)
        yield Facts(explain.facts(definition))
