"""Prose report (entry point): sections in order; checks, waivers, scores, features, assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from fairaudit.base import names
from fairaudit.cube import Group
from fairaudit.judge import Finding, Status
from fairaudit.judge.waivers import WaiverState
from fairaudit.metrics.estimate import State
from fairaudit.metrics.rates import (
    BASE_RATE,
    FALSE_POSITIVE_RATE,
    SELECTION_RATE,
    TRUE_POSITIVE_RATE,
)
from fairaudit.report import (
    asked_comparisons,
    checks,
    finding_facts,
    lattice,
    metric_titles,
    numbers,
    pictures,
    provenance,
    rates,
    reversals,
    subgroups,
)
from fairaudit.report.blocks import (
    FEW_ROWS,
    Block,
    Cell,
    Column,
    Document,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Tone,
    tabulate,
    text_column,
)
from fairaudit.report.diagnostics import Diagnostic, diagnose_by_id
from fairaudit.report.pictures import Line, Lines, Point
from fairaudit.report.remarks import describe_worst
from fairaudit.result import AuditResult
from fairaudit.result.rows import Curve, FeatureRow, LatticeEntry, LatticeRow, ScoreRow

_LIMITS_OF_A_PASS = (
    "A pass means that these numbers, for these people, did not cross these limits. It does not "
    "mean that a decision is fair or lawful: it does not cover other groups, other measures, "
    "people who never applied, or how the labels were made. A limit such as 0.8 is a convention "
    "of US employment guidance."
)

_IMBALANCED = 0.05
"""Classes are imbalanced if the share of positives or of negatives is less than this."""

_MANY = 20
"""Of this many comparisons, one is outside its 95 % interval by chance, on average."""

_ALIKE = "Where the lines of two groups are close, equal scores mean equal shares of positives."
_HIGHER = "A group whose line is farther to the right has higher scores."


def document(result: AuditResult, *, all_rows: bool = False, data: str | None = None) -> Document:
    """The report of a result; tables longer than a dozen rows are cut unless `all_rows`.

    `data` is the data that was audited instead of the data in the spec; the title names it.
    """
    most = None if all_rows else FEW_ROWS
    diagnostics = diagnose_by_id(result)
    definitions = [
        (row.title, f"{row.means} {row.formula}. {row.caution} Source: {row.source}.")
        for row in result.definitions
    ]
    sections = (
        _judged(result, diagnostics, most, data),
        lattice.section(result, most),
        asked_comparisons.section(result, most),
        rates.section(result, most),
        rates.strata(result, most),
        scores(result, most),
        subgroups.section(result),
        reversals.section(result, is_short=not all_rows),
        provenance.ledger(result),
        features(result, most),
        _undefined(result, most),
        (Heading("Definitions", is_record=True), Facts(definitions)) if definitions else (),
        presumed(result),
        (Heading("Meaning of a pass", is_record=True), Paragraph(_LIMITS_OF_A_PASS)),
        provenance.profiles(result),
        provenance.provenance(result),
    )
    return tuple(block for section in sections for block in section)


def _judged(
    result: AuditResult, diagnostics: Mapping[str, Diagnostic], most: int | None, data: str | None
) -> Iterator[Block]:
    """The verdict and all findings except plain passes, then plain passes and all waivers."""
    headline = checks.audit_headline(result, data)
    yield Heading(f"Audit: {headline.title}")
    yield headline.block
    if opened := [finding for finding in checks.by_urgency(result.findings) if _is_open(finding)]:
        yield state_findings(opened, diagnostics)
    if result.earlier is not None:
        text = finding_facts.baseline_origin(result.earlier, result.earlier.created)
        yield Entries([(Cell("baseline", Tone.MUTED), text)])
    yield from _unlooked(result, most)
    if result.notices:
        yield Entries(
            [(Cell("notice", Tone.WARN), text) for text in map(names.line, result.notices)]
        )
    if result.provenance.context:
        context = result.provenance.context.items()
        yield Facts([(names.name(key), names.line(text)) for key, text in context])
    if result.findings:
        yield Heading("Checks")
        if passed := [finding for finding in result.findings if not _is_open(finding)]:
            yield state_findings(passed, diagnostics)
        else:
            doubt = " without doubt" if result.tally[Status.PASS] else ""
            yield Paragraph(f"No check passed{doubt}: see the top of this report.", Tone.MUTED)
    if result.waivers:
        yield Heading("Waivers")
        tones = {WaiverState.APPLIED: Tone.WARN, WaiverState.EXPIRED: Tone.BAD}
        rows = []
        for outcome in result.waivers:
            waiver = outcome.waiver
            group = names.describe_group(waiver.group) if waiver.group else "the whole check"
            place = f" ({checks.place(waiver.place)})" if waiver.place else ""
            text = f"{names.copied(waiver.check)} for {group} {finding_facts.terms(waiver)}"
            text += f"; {outcome.why}" if outcome.why else ""
            word = str(outcome.state).replace("_", " ")
            rows.append((Cell(word, tones.get(outcome.state, Tone.MUTED)), f"{text}{place}"))
        yield Entries(rows)


def _is_open(finding: Finding) -> bool:
    """Whether a finding is on the first page: every finding except a plain pass."""
    return finding.is_in_doubt or finding.status not in {Status.PASS, Status.SKIPPED}


def _unlooked(result: AuditResult, most: int | None) -> Iterator[Block]:
    """For each measure with a limit, the subsets without the limit, and their worst value."""
    if not result.findings:
        return
    rows = []
    by_title: dict[str, list[tuple[LatticeRow, LatticeEntry]]] = {}
    for row in result.lattice:
        for entry in row.entries:
            if entry.limited and not entry.judged:
                by_title.setdefault(entry.title, []).append((row, entry))
    for entries_of_subsets in by_title.values():
        subsets = [numbers.subset(row.by) for row, _ in entries_of_subsets]
        listed = numbers.first_few(subsets, most or len(subsets))
        text = f"{metric_titles.entry(entries_of_subsets[0][1])} by {listed}"
        known = [pair for pair in entries_of_subsets if not math.isnan(pair[1].departure)]
        if worst := describe_worst(known, entries_of_subsets, "value"):
            text += f". T{worst.removeprefix('t')}"
        rows.append((Cell("no limit", Tone.MUTED), text))
    if rows:
        yield Entries(rows)


def state_findings(findings: Sequence[Finding], diagnostics: Mapping[str, Diagnostic]) -> Entries:
    """A statement for each finding: its headline, and the labelled lines below it."""
    rows = []
    for finding in findings:
        place = f", {checks.place(finding.check.place)}" if finding.check.place else ""
        diagnostic = diagnostics[finding.check.id]
        about = f"check: {names.copied(finding.check.id)}{place}"
        lines = [f"{checks.title(finding)}: {diagnostic.headline}", *diagnostic.labelled()]
        rows.append((checks.status_cell(finding), "\n".join([*lines, about])))
    return Entries(rows, is_titled=True)


def _undefined(result: AuditResult, most: int | None) -> Iterator[Block]:
    reasons = [
        f"{row.estimate.reason}{numbers.in_stratum(row.stratum)}"
        for row in result.rates
        if row.estimate.state is State.UNDEFINED and row.estimate.reason
    ]
    named = [
        (f"{row.title} by {numbers.subset(row.by)}{numbers.in_stratum(row.stratum)}", row)
        for row in result.comparisons
    ]
    reasons += [
        f"{name}: {row.estimate.reason}"
        for name, row in named
        if row.estimate.state is State.UNDEFINED
    ]
    infinite = [
        f"{name}: {checks.worst_pair(row)}" for name, row in named if math.isinf(row.estimate.value)
    ]
    rows = [(Cell("undefined", Tone.MUTED), text) for text in dict.fromkeys(reasons)]
    rows += [(Cell("infinite", Tone.WARN), text) for text in dict.fromkeys(infinite)]
    if not rows:
        return
    yield Heading("Undefined and infinite")
    shown = rows[:most]
    yield Entries(shown)
    if len(rows) > len(shown):
        yield Paragraph(f"and {len(rows) - len(shown)} more (--verbose)", Tone.MUTED)


def presumed(result: AuditResult) -> Iterator[Block]:
    """The assumptions of the measures that apply to this result."""
    texts = ((word, text_of(result)) for word, text_of in REMARKS.items())
    rows = [(Cell(word, Tone.MUTED), text) for word, text in texts if text]
    if rows:
        yield Heading("What these measures assume", is_record=True)
        yield Entries(rows)


def _imbalance(result: AuditResult) -> str:
    """A text on each outcome that has a very small share of positives or of negatives."""
    everybody = {
        (row.metric, row.of): row.estimate
        for row in result.rates
        if not (row.by or row.stratum or row.parameters) and row.estimate.state is State.DEFINED
    }
    rarer: dict[str, float] = {}
    for (metric, of), rate in everybody.items():
        words, share = "is positive by the label", rate.value
        if metric == SELECTION_RATE.id and not metric_titles.heading(metric, of, ""):
            words = f"is selected by {names.name(of)}"
        elif metric == TRUE_POSITIVE_RATE.id and (FALSE_POSITIVE_RATE.id, of) in everybody:
            positives = rate.denominator or 0
            people = positives + (everybody[FALSE_POSITIVE_RATE.id, of].denominator or 0)
            if not people:
                continue
            share = positives / people
        elif metric not in {SELECTION_RATE.id, BASE_RATE.id}:
            continue
        side = words if share <= 1 - share else words.replace("is ", "is not ", 1)
        rarer.setdefault(f"everybody {side}", min(share, 1 - share))
    texts = [
        f"{numbers.percent(share)} of {words}"
        for words, share in rarer.items()
        if 0 < share < _IMBALANCED
    ]
    if not texts:
        return ""
    return (
        f"{numbers.first_few(texts, separator='; ')}. A rate in a small group then depends on a "
        "handful of people, ratios of small rates are unstable, and a model that always predicts "
        "the common class has a high accuracy: read counts and intervals, and balanced_accuracy or "
        "average_precision in addition to accuracy."
    )


def _validity(result: AuditResult) -> str:
    if any("label" in definition.needs for definition in result.definitions):
        return (
            "measures of errors assume that the label is correct. If the label records who was "
            "caught or hired in the past, parity with the label repeats these decisions. "
            "No number here can show whether the label measures what it should measure: somebody "
            "must judge this."
        )
    if any(definition.family == "independence" for definition in result.definitions):
        return (
            "parity of decisions does not consider who is qualified. To ask for it, you must "
            "believe that the data is wrong about the world, or that the world is unjust. "
            "Otherwise a difference can be justified, and equal rates can result from careless "
            "decisions."
        )
    return ""


def _harms(result: AuditResult) -> str:
    families = {definition.family for definition in result.definitions}
    kinds = []
    if families & {"independence", "conditional"}:
        kinds.append("who gets what (allocation)")
    if families & {"separation", "sufficiency", "accuracy"}:
        kinds.append("who is affected by errors (allocation and quality of service)")
    if not kinds:
        return ""
    return (
        f"these measures show {' and '.join(kinds)}. No rate shows stereotypes, demeaning words, "
        "or people who are missing from the data (representation)."
    )


def _multiplicity(result: AuditResult) -> str:
    count = len(result.comparisons)
    if count < _MANY:
        return ""
    return (
        f"{numbers.whole(count)} numbers in this report compare groups. By chance alone, some "
        "of them are far from parity. P-values of checks are corrected for the number of "
        "checks, and stars in a table are corrected for the tests of that table. Intervals of "
        "single groups are not corrected."
    )


REMARKS = {
    "kinds of harm": _harms,
    "construct validity": _validity,
    "class imbalance": _imbalance,
    "multiplicity": _multiplicity,
}
"""The caveats of a report: a word, and a function that returns a text if the caveat applies.

docs/method.md has a section with the name of each caveat.
"""


def scores(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A table for everybody and for each attribute."""
    for column, run in groupby(result.scores, key=lambda row: row.column):
        name = names.name(column)
        yield Heading("Score" if name.lower() == "score" else f"Score: {name}")
        curves = [curve for curve in result.curves if curve.column == column]
        # Four pictures for each attribute, with a line for each group.
        for by, of_grouping in groupby(curves, key=lambda curve: curve.by):
            known = [curve for curve in of_grouping if curve.known and not curve.suppressed]
            if not by or not known:
                continue
            largest = sorted(
                known, key=lambda curve: sum(bucket.n for bucket in curve.calibration), reverse=True
            )[: pictures.MOST_LINES]
            shown = [curve for curve in known if curve in largest]
            omitted = pictures.not_shown(len(known) - len(shown), "groups", "the smaller ones")
            yield from _of_attribute(result, column, numbers.subset(by), shown, omitted)
        for by, rows_of_grouping in groupby(run, key=lambda row: row.by):
            caption = f"By {numbers.subset(by)}" if by else "Everybody with a score"
            yield tabulate(
                caption,
                _SCORES,
                [*rows_of_grouping],
                most=most,
                more=lambda n: f"{n} more rows: --verbose shows them" if n else "",
            )
        yield Paragraph(
            "AUC: of two people of the group, one with a positive and one with a negative label, "
            "the probability that the first has the higher score (equal scores count half); ±: the "
            "largest error from binning. A median printed as two numbers is between them.",
            Tone.MUTED,
        )


def _name(group: Group, *, known: bool) -> Cell:
    return Cell(names.describe_group(group), Tone.PLAIN if known else Tone.MUTED)


def _number(value: float | None) -> str:
    return "" if value is None else numbers.number(value)


def _extreme(row: ScoreRow, value: float | None) -> str:
    return numbers.SUPPRESSED if value is None and not row.suppressed else _number(value)


def _range(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    low, high = map(numbers.number, ends)
    return low if low == high else f"{low} to {high}"


def _auc(row: ScoreRow) -> str:
    if row.auc is None:
        return "" if row.suppressed else "undefined"
    error = f" {numbers.doubt(row.auc_error)}" if row.auc_error else ""
    return f"{numbers.number(row.auc)}{error}"


_SCORES: tuple[Column[ScoreRow], ...] = (
    text_column("", lambda row: _name(row.group, known=row.known and not row.suppressed)),
    Column("people", lambda row: numbers.whole(row.n)),
    Column("mean", lambda row: _number(row.mean)),
    Column("s. d.", lambda row: _number(row.deviation)),
    Column("lowest", lambda row: _extreme(row, row.lowest)),
    Column("median", lambda row: _range(row.median)),
    Column("highest", lambda row: _extreme(row, row.highest)),
    Column("AUC", _auc),
)


def _of_attribute(
    result: AuditResult, column: str, by: str, shown: Sequence[Curve], omitted: str
) -> Iterator[Figure]:
    """The pictures of a score by the groups of one attribute, except pictures without points."""
    curves = [(numbers.group(curve.group), curve) for curve in shown]
    areas = {row.group: row.auc for row in result.scores if row.column == column}
    calibration, spread, roc, alarms, misses = (list[Line]() for _ in range(5))
    for name, curve in curves:
        buckets, total = curve.calibration, sum(bucket.n for bucket in curve.calibration)
        points = [Point(b.mean_score, b.share, b.low, b.high) for b in buckets]
        calibration.append(Line(name, points))
        spread.append(Line(name, [Point(b.mean_score, b.n / total) for b in buckets if total]))
        rates = [
            (row.at, row.false_positive_rate, row.true_positive_rate) for row in curve.thresholds
        ]
        points = [Point(x, y) for _, x, y in reversed(rates) if x is not None and y is not None]
        area = areas.get(curve.group)
        text = "" if area is None else f"AUC {numbers.number(area)}"
        roc.append(Line(name, [Point(0.0, 0.0), *points] if points else [], text))
        alarms.append(Line(name, [Point(at, rate) for at, rate, _ in rates if rate is not None]))
        misses.append(Line(name, [Point(at, 1 - hit) for at, _, hit in rates if hit is not None]))
    # Only probabilities are comparable with shares, so other scores have no grey line.
    is_share = all(0 <= float(point.x) <= 1 for line in calibration for point in line.points)
    line_note = "On the grey line, the score equals the share of positives. " * is_share
    ends = ("false positive rate", "true positive rate")
    for title, picture, note in (
        (
            f"Calibration of {column}",
            Lines(
                *(f"mean {column}", "share of positives", calibration),
                diagonal=is_share,
                percent=True,
            ),
            f"{line_note}{result.provenance.inference.percent} intervals. {_ALIKE}",
        ),
        (
            f"Distribution of {column}",
            Lines(f"mean {column}", "share of the group", spread, percent=True),
            f"People with a known label, in equal parts of the score. {_HIGHER}",
        ),
        (
            f"ROC of {column}",
            Lines(*ends, roc, diagonal=True, percent=True, percent_across=True),
            "On the grey line, the score has no skill.",
        ),
        *(
            (
                f"{name} by threshold on {column},",
                Lines(f"threshold on {column}", name, lines, percent=True, domain=(-0.02, 1.02)),
                "The rate if all people with a score at or above the threshold are selected.",
            )
            for name, lines in (("False positive rate", alarms), ("False negative rate", misses))
        ),
    ):
        if any(line.points for line in picture.lines):
            yield Figure(f"{title} by {by}", picture, f"{note}{omitted}")


def features(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A table for each feature: everybody, and each group of each attribute."""
    if not result.features:
        return
    yield Heading("Features by group")
    for feature, run in groupby(result.features, key=lambda row: row.feature):
        rows = list(run)
        own = _OF_NUMBERS if all(row.levels is None for row in rows) else _OF_LEVELS
        yield tabulate(names.name(feature), (*_FEATURES, *own), rows, most=most)
    yield Paragraph(
        "missing: people without a value, and their share; a median printed as two numbers is "
        "between them; entropy: in bits, 0 if all people have the same level. The table "
        "includes people who are left out because of another column.",
        Tone.MUTED,
    )


_FEATURES: tuple[Column[FeatureRow], ...] = (
    text_column("", lambda row: _name(row.group, known=row.known)),
    Column("people", lambda row: numbers.whole(row.n)),
    Column(
        "missing",
        lambda row: (
            f"{numbers.whole(row.missing)} ({numbers.percent(row.missing / (row.n + row.missing))})"
            if row.missing
            else "0"
        ),
    ),
)
_OF_NUMBERS: tuple[Column[FeatureRow], ...] = (
    Column("mean", lambda row: _number(row.mean)),
    Column("median", lambda row: _range(row.median)),
    Column("s. d.", lambda row: _number(row.deviation)),
    Column("lowest", lambda row: _number(row.lowest)),
    Column("highest", lambda row: _number(row.highest)),
)
_OF_LEVELS: tuple[Column[FeatureRow], ...] = (
    Column("levels", lambda row: numbers.whole(row.levels)),
    text_column(
        "commonest", lambda row: "" if row.commonest is None else names.name(row.commonest)
    ),
    Column("entropy", lambda row: _number(row.entropy)),
)
