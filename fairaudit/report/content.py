"""What a prose report says, section by section; every format prints the same blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from fairaudit.cube import Line
from fairaudit.report import numbers, sentences
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
)
from fairaudit.result import (
    AuditResult,
    Definition,
    EpsilonReading,
    LatticeEntry,
    RateRow,
    Standing,
    Verdict,
)
from fairaudit.simpson import Reversal
from fairaudit.verdict import Finding, Status

_TONES = {
    Status.PASS: Tone.GOOD,
    Status.WARN: Tone.WARN,
    Status.FAIL: Tone.BAD,
    Status.INCONCLUSIVE: Tone.BAD,
    Status.SKIPPED: Tone.MUTED,
}
_VERDICT_TONES = {
    Verdict.PASS: Tone.GOOD,
    Verdict.FAIL: Tone.BAD,
    Verdict.INCONCLUSIVE: Tone.BAD,
    Verdict.NONE: Tone.MUTED,
}
_WORST_FIRST = (Status.FAIL, Status.INCONCLUSIVE, Status.WARN, Status.SKIPPED, Status.PASS)
_LATTICE_WIDTH = 2
_FEW_ROWS = 12
_LIMITS_OF_A_PASS = (
    "A pass says that these numbers, on these people, did not cross these limits. It does not say "
    "that a decision is fair or lawful: other groups, other measures, people who never applied "
    "and the way labels came about are not in it. A limit such as 0.8 is a convention of US "
    "employment guidance, not a law of nature."
)


def document(result: AuditResult, *, all_rows: bool = False) -> Document:
    """The report of a result; tables longer than a dozen rows are cut unless `all_rows`."""
    most = None if all_rows else _FEW_ROWS
    sections = (
        _verdict(result),
        _provenance(result),
        _ledger(result),
        _lattice(result),
        _rates(result, most),
        _checks(result),
        _reversals(result.reversals),
        _undefined(result, most),
        _definitions(result.definitions),
        _meaning(),
    )
    return tuple(block for section in sections for block in section)


def _verdict(result: AuditResult) -> Iterator[Block]:
    title = result.provenance.title or result.provenance.spec_path
    yield Heading(f"Audit: {title}")
    verdict = result.verdict
    yield Entries([(Cell(sentences.VERDICT[verdict], _VERDICT_TONES[verdict]), _summary(result))])
    open_ones = [
        one for one in _sorted(result.findings) if one.status not in {Status.PASS, Status.SKIPPED}
    ]
    if open_ones:
        yield _findings(open_ones)
    yield from _unlooked(result)
    if result.notices:
        yield Entries([(Cell("notice", Tone.WARN), text) for text in result.notices])
    if result.provenance.context:
        yield Facts(list(result.provenance.context.items()))


def _summary(result: AuditResult) -> str:
    rows = numbers.whole(result.ledger.counted)
    who = f"{rows} rows"
    if result.ledger.people != result.ledger.counted:
        who += f", {numbers.whole(result.ledger.people)} people"
    if not result.findings:
        return f"nothing was judged: the spec sets no limit. {who} counted."
    return f"{tally(result)}. {who} counted."


def tally(result: AuditResult) -> str:
    """How many checks came out how, always in the same words."""
    found = result.tally
    words = {
        Status.PASS: "passed",
        Status.WARN: "warned",
        Status.FAIL: "failed",
        Status.INCONCLUSIVE: "inconclusive",
    }
    parts = [f"{found[status]} {word}" for status, word in words.items()]
    parts.append("0 waived")
    if found[Status.SKIPPED]:
        parts.append(f"{found[Status.SKIPPED]} skipped")
    total = len(result.findings)
    return f"{total} {'check' if total == 1 else 'checks'}: {', '.join(parts)}"


def _unlooked(result: AuditResult) -> Iterator[Block]:
    """The subsets that no limit looked at, and the worst value among them."""
    if not result.findings:
        return
    entries = [(row, entry) for row in result.lattice for entry in row.entries if entry.limited]
    unjudged = [(row, entry) for row, entry in entries if not entry.judged]
    if not unjudged:
        return
    rows = []
    by_title: dict[str, list[tuple[str, LatticeEntry]]] = {}
    for row, entry in unjudged:
        by_title.setdefault(entry.title, []).append((numbers.subset(row.by), entry))
    for title, found in by_title.items():
        names = "; ".join(name for name, _ in found)
        text = f"no limit on {title} looked at {names}"
        known = [(name, one) for name, one in found if not math.isnan(one.departure)]
        if known:
            name, worst = max(known, key=lambda pair: pair[1].departure)
            pair = sentences.witness(worst.first, worst.second, worst.decided_by)
            text += f"; the worst there is {numbers.number(worst.estimate.value)} by {name}: {pair}"
        rows.append((Cell("not looked at", Tone.MUTED), text))
    yield Entries(rows)


def _provenance(result: AuditResult) -> Iterator[Block]:
    made = result.provenance
    yield Heading("Provenance")
    pairs = [
        ("tool", f"fairaudit {made.version}"),
        ("spec", f"{made.spec_path} (sha256 {made.spec_sha256[:12]})"),
    ]
    pairs += [("data", _file(one.path, one.bytes)) for one in made.files[:5]]
    if len(made.files) > 5:  # the first five are named
        pairs.append(("", f"and {len(made.files) - 5} files more"))
    pairs.append(("read by", made.route))
    optional = {
        "filter": made.filter,
        "people per row": made.count and f"the column {made.count}",
        "survey weight": made.weight
        and f"the column {made.weight}; the sampling design is not "
        f"modelled, intervals use the effective sample size; largest rounding of a weight "
        f"{made.weight_error:.1g}",
        "smallest group": made.min_size and f"{made.min_size} people in the denominator",
    }
    pairs += [(name, str(text)) for name, text in optional.items() if text]
    pairs += [("counts", f"sha256 {made.cube_sha256[:12]}"), ("made", made.created)]
    yield Facts(pairs)


def _file(path: str, size: int) -> str:
    return f"{path} ({numbers.whole(size)} bytes)" if size else path


def _ledger(result: AuditResult) -> Iterator[Block]:
    ledger = result.ledger
    yield Heading("Where every row went")
    people = ledger.people != ledger.counted
    rows = [("read", ledger.read, "", ""), ("filtered out", ledger.filtered, "", "")]
    rows.append(("filter undecided", ledger.undecided, "", "a value it needs is missing"))
    rows = [row for row in rows if row[1] or row[0] == "read"]
    rows += [("dropped", one.rows, one.column, one.reason) for one in ledger.dropped]
    rows.append(("counted", ledger.counted, "", _people(ledger.people) if people else ""))
    rows += [("  of these", one.rows, one.column, _aside(one, people)) for one in ledger.set_aside]
    yield Table(
        "",
        ("", "rows", "column", "why"),
        [[Cell(a), Cell(numbers.whole(b)), Cell(c), Cell(d)] for a, b, c, d in rows],
        (False, True, False, False),
    )


def _people(people: int) -> str:
    return f"{numbers.whole(people)} people"


def _aside(line: Line, people: bool) -> str:  # noqa: FBT001  # whether rows are not people
    return f"{line.reason} ({_people(line.people)})" if people else line.reason


def _lattice(result: AuditResult) -> Iterator[Block]:
    titles = list(dict.fromkeys(e.title for row in result.lattice for e in row.entries))
    if not titles:
        return
    yield Heading("Every subset of the protected attributes")
    for start in range(0, len(titles), _LATTICE_WIDTH):
        chosen = titles[start : start + _LATTICE_WIDTH]
        rows = []
        for row in result.lattice:
            found = {entry.title: entry for entry in row.entries}
            rows.append(
                [
                    Cell(numbers.subset(row.by)),
                    Cell(numbers.whole(row.groups)),
                    Cell(numbers.whole(row.smallest)),
                    *(_lattice_cell(found.get(title)) for title in chosen),
                ]
            )
        yield Table(
            "the worst pair of groups stands below each value",
            ("subset", "groups", "smallest", *chosen),
            rows,
            (False, True, True, *(False for _ in chosen)),
        )
    for one in result.epsilons:
        yield Paragraph(_reading_aid(one))


def _reading_aid(one: EpsilonReading) -> str:
    """What ε of the full intersection promises, and what it bounds."""
    head = (
        f"ε by {numbers.subset(one.by)} is {numbers.number(one.epsilon)} ({one.parameters}), "
        f"{one.regime}."
    )
    if math.isinf(one.epsilon):
        return head
    means = (
        f" Two groups' expected utilities differ by a factor of at most "
        f"{numbers.number(one.factor, 2)}, and an outcome changes the odds of belonging to one "
        f"group or another by no more."
    )
    if len(one.by) == 1:
        return head + means
    sharper = (
        f", and on these rows none exceeds {numbers.number(one.epsilon)} itself"
        if one.bounds_subsets
        else ""
    )
    bound = f" Every subset is within {numbers.number(one.twice)}, twice as much (Theorem 3.2)"
    return f"{head}{means}{bound}{sharper}."


def _lattice_cell(entry: LatticeEntry | None) -> Cell:
    if entry is None:
        return Cell("no reference", Tone.MUTED)
    pair = sentences.witness(entry.first, entry.second, entry.decided_by)
    value = numbers.number(entry.estimate.value)
    tone = Tone.MUTED if math.isnan(entry.estimate.value) else Tone.PLAIN
    return Cell(f"{value}\n{pair}" if pair else value, tone)


def _rates(result: AuditResult, most: int | None) -> Iterator[Block]:
    if not result.rates:
        return
    yield Heading("Rates, worst first")
    shares = {(g.of, g.by, g.stratum, g.group): (g.n, g.share) for g in result.groups}
    for (metric, of, by, stratum), run in groupby(
        result.rates, key=lambda row: (row.metric, row.of, row.by, row.stratum)
    ):
        rows = list(run)
        shown = rows if most is None else rows[:most]
        title = next(one.title for one in result.definitions if one.id == metric)
        where = f", {numbers.named_group(stratum)}" if stratum else ""
        yield Table(
            f"{title} of the {of} by {numbers.subset(by)}{where}",
            (numbers.subset(by), "n", "share", "rate", "95 %", "diff.", "ratio", ""),
            [_rate_cells(row, shares.get((of, by, row.stratum, row.group))) for row in shown],
            (False, True, True, True, False, True, True, False),
            more=_more(len(rows) - len(shown)),
        )
    yield Paragraph(
        "diff. and ratio are to the group marked as reference (the declared one, else the "
        "largest); intervals are Wilson's, for each group by itself.",
        Tone.MUTED,
    )


def _rate_cells(row: RateRow, people: tuple[int, float | None] | None) -> list[Cell]:
    n, share = people or (0, None)
    is_reference = row.group == row.reference
    notes = {
        Standing.SMALL: "too small to compare",
        Standing.UNKNOWN: "not compared",
        Standing.ELIGIBLE: "reference" if is_reference else "",
    }
    as_share = row.metric != "error_type_ratio"
    value = row.estimate.value
    compared = not is_reference and row.standing is Standing.ELIGIBLE
    tone = Tone.PLAIN if row.standing is Standing.ELIGIBLE else Tone.MUTED
    difference = numbers.points(row.difference) if as_share else numbers.number(row.difference, 2)
    return [
        Cell(text, tone)
        for text in (
            numbers.group(row.group),
            numbers.whole(n),
            "" if share is None else numbers.percent(share),
            numbers.percent(value) if as_share else numbers.number(value, 2),
            numbers.interval(row.estimate),
            difference if compared else "",
            numbers.number(row.ratio, 3) if compared else "",
            notes[row.standing],
        )
    ]


def _more(count: int) -> str:
    if count <= 0:
        return ""
    return f"and {numbers.whole(count)} groups more: --verbose, or -o report.json, lists them all"


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda one: _WORST_FIRST.index(one.status))


def _checks(result: AuditResult) -> Iterator[Block]:
    yield Heading("Checks")
    if not result.findings:
        yield Paragraph("The spec sets no limit: nothing was judged.")
        return
    yield _findings(_sorted(result.findings))
    left_out = [
        (Cell("not judged", Tone.MUTED), f"{one.check.id}: {sentences.not_evaluated(who)}")
        for one in result.findings
        for who in one.not_evaluated
        if not who.blocks
    ]
    if left_out:
        yield Entries(left_out)


def _findings(findings: Sequence[Finding]) -> Entries:
    rows = []
    for one in findings:
        place = f"  {one.check.place.file}:{one.check.place.line}" if one.check.place else ""
        text = f"{sentences.title(one)}: {sentences.answer(one)}{place}"
        rows.append((Cell(sentences.STATUS[one.status], _TONES[one.status]), text))
    return Entries(rows)


def _reversals(found: Sequence[Reversal]) -> Iterator[Block]:
    yield Heading("Simpson's reversals")
    if not found:
        yield Paragraph("None: no gap turns, hides or vanishes when another column is held fixed.")
    for one in found:
        tone = Tone.WARN if one.kind.reverses else Tone.MUTED
        yield Entries([(Cell(sentences.KIND[one.kind], tone), sentences.reversal(one))])
        if not one.kind.reverses:
            continue
        first, second = one.pair
        yield Table(
            f"{one.rate} of {one.attribute}, given {' and '.join(one.given)}",
            (" × ".join(one.given), first, second, "diff.", "weight"),
            [
                [
                    Cell(numbers.group(stratum.stratum)),
                    Cell(_counted(stratum.first.value, stratum.first.over, stratum.first.under)),
                    Cell(_counted(stratum.second.value, stratum.second.over, stratum.second.under)),
                    Cell(numbers.points(stratum.difference)),
                    Cell(numbers.percent(stratum.weight)),
                ]
                for stratum in one.strata
            ],
            (False, True, True, True, True),
        )
        notes = [f"Mantel–Haenszel odds ratio {numbers.number(one.mantel_haenszel_odds_ratio)}"]
        notes.append(f"{numbers.percent(one.opposite_weight)} of the weight in opposite strata")
        if one.incomplete:
            notes.append(f"{numbers.whole(one.incomplete)} people whose stratum is not known")
        if one.off_support:
            names = ", ".join(numbers.group(stratum) for stratum in one.off_support)
            notes.append(f"only one of the two occurs in {names}")
        notes.append(f"the gap on everybody is {numbers.points(one.crude_everybody)} points")
        yield Paragraph("; ".join(notes) + ".", Tone.MUTED)


def _counted(value: float, over: int, under: int) -> str:
    return f"{numbers.percent(value)} ({numbers.whole(over)}/{numbers.whole(under)})"


def _undefined(result: AuditResult, most: int | None) -> Iterator[Block]:
    reasons = [
        f"{row.estimate.reason}{_within(row.stratum)}"
        for row in result.rates
        if math.isnan(row.estimate.value) and row.estimate.reason
    ]
    reasons += [
        f"{row.title} by {numbers.subset(row.by)}{_within(row.stratum)}: {row.estimate.reason}"
        for row in result.comparisons
        if math.isnan(row.estimate.value)
    ]
    infinite = [
        f"{row.title} by {numbers.subset(row.by)}{_within(row.stratum)}: "
        f"{sentences.witness(row.first, row.second, row.decided_by)}"
        for row in result.comparisons
        if math.isinf(row.estimate.value)
    ]
    reasons, infinite = list(dict.fromkeys(reasons)), list(dict.fromkeys(infinite))
    if not reasons and not infinite:
        return
    yield Heading("Undefined and infinite")
    rows = [(Cell("undefined", Tone.MUTED), text) for text in reasons]
    rows += [(Cell("infinite", Tone.WARN), text) for text in infinite]
    shown = rows if most is None else rows[:most]
    yield Entries(shown)
    if len(rows) > len(shown):
        yield Paragraph(f"and {len(rows) - len(shown)} more (--verbose)", Tone.MUTED)


def _within(stratum: tuple[tuple[str, str], ...]) -> str:
    return f" in {numbers.named_group(stratum)}" if stratum else ""


def _definitions(definitions: Sequence[Definition]) -> Iterator[Block]:
    if not definitions:
        return
    yield Heading("Definitions")
    yield Facts([(one.id, _meaning_of(one)) for one in definitions])


def _meaning_of(one: Definition) -> str:
    return f"{one.means} {one.formula}. {one.caution} Source: {one.source}."


def _meaning() -> Iterator[Block]:
    yield Heading("What a pass does not mean")
    yield Paragraph(_LIMITS_OF_A_PASS)
