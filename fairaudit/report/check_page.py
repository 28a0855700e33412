"""Pages of `fairaudit show`: list of checks; one, found by number or id, with its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fairaudit.base import names
from fairaudit.base.errors import UsageError, list_known
from fairaudit.judge import (
    Breach,
    Check,
    EvidenceStatus,
    Finding,
    Limit,
    NotEvaluated,
    ReversalCheck,
    SubgroupCheck,
    match_ids,
)
from fairaudit.judge.subgroups import ParentGroup, Subgroup
from fairaudit.metrics import Disparity, GroupMetric
from fairaudit.report import (
    asked_comparisons,
    checks,
    content,
    explain,
    headlines,
    metric_titles,
    numbers,
    rates,
    reversals,
    worked_formula,
)
from fairaudit.report.blocks import (
    Block,
    Cell,
    Column,
    Document,
    Entries,
    Facts,
    Heading,
    Paragraph,
    Tone,
    inert,
    tabulate,
    text_column,
)
from fairaudit.report.diagnostics import diagnose_by_id
from fairaudit.result import AuditResult, GroupRow, RateRow

_OF_SUBGROUP = "|rate of the subgroup - rate of everybody|"
_OF_STRATA = (
    "the rates are averages over strata. The counts of the strata are below if an entry has the "
    "same rate with `given` and without `average`"
)


def listing(result: AuditResult) -> Document:
    """The checks of a result by number and id, the worst first."""
    rows = []
    for index, finding in enumerate(checks.by_urgency(result.findings), 1):
        word = checks.status_cell(finding, index)
        text = f"{names.copied(finding.check.id)}: {_value(finding)} ({headlines.limits(finding)})"
        rows.append((word, text))
    unjudged = asked_comparisons.without_limit(result)
    table = asked_comparisons.overview(unjudged, "entries without a limit", None)
    others = [table] if unjudged else []
    if not rows:
        text = "The spec sets no limits: rates are reported without a verdict."
        return inert((Heading("Checks"), Paragraph(text), *others))
    usage = (
        "fairaudit show RESULT.json CHECK explains one check. CHECK is its number, its id, or a "
        "part of its id."
    )
    heading = Heading("Checks, worst first")
    return inert((heading, Entries(rows), Paragraph(usage, Tone.MUTED), *others))


def find(result: AuditResult, text: str) -> Finding:
    """The finding with this number in the listing, or with an id that `match_ids` accepts.

    Raises `UsageError` for no finding, or several.
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
    """The page of one finding: as the full report states it, its formula, and its groups."""
    diagnostics = diagnose_by_id(result)
    figure = diagnostics[finding.check.id].figure
    blocks = [
        Heading(f"Check: {names.copied(finding.check.id)}"),
        content.state_findings([finding], diagnostics),
        *([] if figure is None else [figure]),
        *_numbers(result, finding),
    ]
    if len(finding.crossed) > 1:
        # Everybody who is over the limit, not only the worst.
        limit = finding.limit
        assert isinstance(limit, Limit)
        farthest_first = sorted(finding.crossed, key=lambda breach: -limit.excess(breach.value))
        blocks += [Heading("All values over the limit"), tabulate("", _BREACHES, farthest_first)]
    blocks += _groups(result, finding)
    if finding.not_evaluated:
        blocks += [Heading("Not judged"), tabulate("", _NOT_JUDGED, finding.not_evaluated)]
    check = finding.check
    first = check.metric.id if isinstance(check, Check) else check.rate
    ids = {first, *_rates(check)} if isinstance(check, Check) else {first}
    known = [definition for definition in result.definitions if definition.id in ids]
    for definition in sorted(known, key=lambda definition: definition.id != first):
        blocks += [Heading(definition.title), Paragraph(definition.means)]
        blocks.append(Facts(explain.facts(definition)))
    return inert(tuple(blocks))


def _value(finding: Finding) -> str:
    estimate, limit = finding.estimate, finding.limit
    if estimate is None:
        return f"{len(finding.reversals)} found" if finding.reversals else "0 found"
    if not isinstance(limit, Limit) or estimate.suppressed:
        return numbers.value_of(estimate)
    digits = metric_titles.decimals_of(finding, 4)
    return numbers.number_beside(estimate.value, limit.bounds, estimate.exact, digits=digits)


def _numbers(result: AuditResult, finding: Finding) -> Iterator[Block]:
    """Both sides, and the formula with their counts in it; of reversals those beyond the limit."""
    check = finding.check
    if isinstance(check, ReversalCheck):
        for reversal in finding.reversals:
            yield Entries([reversals.entry(reversal, Tone.WARN, check.inference)])
            yield from reversals.proof(reversal, check.inference)
        return
    yield Heading("The formula with its numbers")
    lines = worked_formula.steps(result, finding)
    if not lines and isinstance(check, SubgroupCheck):
        yield Paragraph(finding.why or numbers.SUPPRESSED)
        return
    formula = _OF_SUBGROUP if isinstance(check, SubgroupCheck) else check.metric.formula
    if not lines:
        yield Paragraph(formula)
        if finding.estimate is not None and finding.estimate.suppressed:
            yield Paragraph("The numbers are suppressed.", Tone.MUTED)
            return
        yield Paragraph(
            "The formula has too many numbers for a line: see the tables below.", Tone.MUTED
        )
        return
    rows = [("formula", formula), *((str(index), line) for index, line in enumerate(lines, 1))]
    if isinstance(check, Check) and check.terms.average is not None:
        rows.append(("strata", _OF_STRATA))
    beyond = headlines.beyond_words(finding) or "within the limit"
    rows.append(("so", f"{_value(finding)}, {beyond}"))
    yield Entries([(Cell(word, Tone.MUTED), text) for word, text in rows])
    if finding.subgroup is not None:
        parts: list[Subgroup | ParentGroup] = [finding.subgroup, *finding.subgroup.parts]
        yield tabulate("", _PARTS, parts)


_PARTS: tuple[Column[Subgroup | ParentGroup], ...] = (
    text_column(
        "subgroup, and larger groups that contain it", lambda part: names.describe_group(part.group)
    ),
    Column("count", lambda part: f"{numbers.whole(part.over)}/{numbers.whole(part.under)}"),
    Column("rate", lambda part: numbers.percent(part.over / part.under)),
    Column("diff. to everybody", lambda part: numbers.points(part.divergence)),
)


_BREACHES: tuple[Column[Breach], ...] = (
    text_column(
        "group",
        lambda row: " / ".join(
            map(names.describe_group, (row.group,) if row.group else row.between)
        ),
    ),
    text_column("stratum", lambda row: numbers.group_in((), row.stratum)),
    Column("value", lambda row: numbers.number(row.signed_value)),
    text_column(
        "evidence",
        lambda row: (
            "" if row.backing is EvidenceStatus.UNASKED else str(row.backing).replace("_", " ")
        ),
    ),
)


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
        columns: tuple[Column[GroupRow], ...] = (
            text_column("of the", lambda row: names.name(row.of)),
            text_column("stratum", lambda row: numbers.group(row.stratum) if row.stratum else ""),
            text_column(numbers.subset(check.by), lambda row: numbers.group(row.group)),
            *(Column(names.name(level), partial(_count, level)) for level in known),
            Column("n", lambda row: numbers.whole(row.n)),
        )
        yield tabulate("people by outcome", columns, counts)


def _count(level: str, row: GroupRow) -> str:
    return numbers.whole(row.counts[level]) if level in row.counts else ""


def _rates(check: Check) -> set[str]:
    if isinstance(check.metric, Disparity):
        return {rate.id for rate, _ in check.metric.parts}
    return {check.metric.id} if isinstance(check.metric, GroupMetric) else set()


_NOT_JUDGED: tuple[Column[NotEvaluated], ...] = (
    text_column("group", lambda row: numbers.group_in(row.group, ())),
    text_column("stratum", lambda row: numbers.group_in((), row.stratum)),
    text_column(
        "why", lambda row: names.line(row.reason) + (f" ({row.detail})" * bool(row.detail))
    ),
    text_column("reason for no verdict", lambda row: "yes" if row.blocks else "no"),
)
