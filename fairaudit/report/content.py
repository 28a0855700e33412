"""What a prose report says, section by section; every prose format prints these blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fairaudit import names
from fairaudit.estimate import State
from fairaudit.ledger import LedgerLine, PublishedLine
from fairaudit.metrics import describe_rule
from fairaudit.report import (
    disparities,
    figures,
    lattice,
    numbers,
    reversals,
    scores,
    sentences,
    subgroups,
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
from fairaudit.result import (
    AuditResult,
    DataFile,
    Definition,
    LatticeEntry,
    Provenance,
    Verdict,
)
from fairaudit.verdict import Finding, Status
from fairaudit.waivers import WaiverState

TONES = {
    Status.PASS: Tone.GOOD,
    Status.WARN: Tone.WARN,
    Status.FAIL: Tone.BAD,
    Status.INCONCLUSIVE: Tone.BAD,
    Status.SKIPPED: Tone.MUTED,
    Status.WAIVED: Tone.WARN,
}
VERDICT_TONES = {
    Verdict.PASS: Tone.GOOD,
    Verdict.FAIL: Tone.BAD,
    Verdict.INCONCLUSIVE: Tone.BAD,
    Verdict.NONE: Tone.MUTED,
}
_WORST_FIRST = tuple(reversed(Status))
_FEW_ROWS = 12
_LIMITS_OF_A_PASS = (
    "A pass says that these numbers, on these people, did not cross these limits. It does not say "
    "that a decision is fair or lawful: other groups, other measures, people who never applied "
    "and the way labels came about are not in it. A limit such as 0.8 is a convention of US "
    "employment guidance, not a law of nature."
)


def document(result: AuditResult, *, all_rows: bool = False, data: str | None = None) -> Document:
    """The report of a result; tables longer than a dozen rows are cut unless `all_rows`.

    `data` is what was audited in place of the spec's own: the title says so.
    """
    most = None if all_rows else _FEW_ROWS
    sections = (
        _verdict(result, most, data),
        _provenance(result),
        _ledger(result),
        lattice.section(result, most),
        disparities.conditional(result, most),
        disparities.rates(result, most),
        scores.section(result, most),
        _checks(result),
        _waivers(result),
        reversals.section(result, is_short=not all_rows),
        subgroups.section(result),
        _undefined(result, most),
        _definitions(result.definitions),
        _meaning(),
    )
    return inert(tuple(block for section in sections for block in section))


def _verdict(result: AuditResult, most: int | None, data: str | None) -> Iterator[Block]:
    made = result.provenance
    title = names.line(made.title) or names.copied(made.spec_path)
    of = "" if data is None else f", {names.copied(Path(data).name)}"
    yield Heading(f"Audit: {title}{of}")
    verdict = result.verdict
    yield Entries([(Cell(sentences.VERDICT[verdict], VERDICT_TONES[verdict]), _summary(result))])
    open_ones = [one for one in by_urgency(result.findings) if _is_open(one)]
    if open_ones:
        yield _findings(open_ones, is_first=True)
    if result.earlier is not None:
        one = result.earlier
        path = names.copied(one.path) if one.path else "a document"
        text = f"{path}, made {one.created} ({sentences.age(one)}), tolerance {one.tolerance}"
        yield Entries([(Cell("baseline", Tone.MUTED), text)])
    yield from _unlooked(result, most)
    if result.notices:
        yield Entries(
            [(Cell("notice", Tone.WARN), text) for text in map(names.line, result.notices)]
        )
    if result.provenance.context:
        context = result.provenance.context.items()
        yield Facts([(names.name(key), names.line(text)) for key, text in context])


def _is_open(one: Finding) -> bool:
    """Whether a finding is told on the first page: no plain pass."""
    turns = one.missing is not None and one.missing.turns
    return turns or one.not_cleared or one.status not in {Status.PASS, Status.SKIPPED}


def _summary(result: AuditResult) -> str:
    rows = numbers.whole(result.ledger.counted)
    who = f"{rows} rows"
    if result.ledger.people != result.ledger.counted:
        who += f", {numbers.whole(result.ledger.people)} people"
    if not result.findings:
        return f"nothing was judged: the spec sets no limit. {who} counted."
    waived = result.verdict is Verdict.PASS and any(one.waived for one in result.findings)
    return f"{'passed with waivers: ' if waived else ''}{sentences.outcome(result)}. {who} counted."


def _unlooked(result: AuditResult, most: int | None) -> Iterator[Block]:
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
        subsets = "; ".join(name for name, _ in found[:most])
        if most is not None and len(found) > most:
            subsets += f"; and {numbers.whole(len(found) - most)} more"
        text = f"no limit on {title} covers {subsets}"
        known = [(name, one) for name, one in found if not math.isnan(one.departure)]
        if known:
            name, worst = max(known, key=lambda pair: pair[1].departure)
            pair = sentences.witness(worst.first, worst.second, worst.decided_by)
            hidden = any(one.estimate.suppressed for _, one in found)
            there = "the worst that is told is" if hidden else "the worst there is"
            text += f"; {there} {numbers.number(worst.estimate.value)} by {name}: {pair}"
        rows.append((Cell("not covered", Tone.MUTED), text))
    yield Entries(rows)


def _provenance(result: AuditResult) -> Iterator[Block]:
    made = result.provenance
    yield Heading("Provenance")
    pairs = [
        ("tool", f"fairaudit {made.version}"),
        ("spec", f"{_path(made.spec_path)} (sha256 {made.spec_sha256[:12]})"),
    ]
    pairs += [("data", _file(one)) for one in made.files[:5]]
    if len(made.files) > 5:  # the first five are named
        pairs.append(("", f"and {len(made.files) - 5} files more"))
    pairs.append(("read by", made.route))
    optional = {
        "filter": made.filter and names.line(made.filter),
        "people per row": made.count and f"the column {names.name(made.count)}",
        "survey weight": made.weight
        and f"the column {names.name(made.weight)}; the sampling design is not "
        f"modelled, intervals use the effective sample size; largest rounding of a weight "
        f"{made.weight_error:.1g}",
        "clusters": made.cluster
        and f"{numbers.whole(made.clusters or 0)}, by the column {names.name(made.cluster)}; "
        "intervals and tests named cluster-robust have the variance between clusters, the others "
        "none",
        "smallest group": "; ".join(_smallest(made)),
        "suppressed": made.suppress_below
        and f"counts of fewer than {made.suppress_below} people, and what would tell them; "
        "zeros are shown of groups that are told",
    }
    pairs += [(name, str(text)) for name, text in optional.items() if text]
    counts = numbers.SUPPRESSED if made.cube_sha256 is None else f"sha256 {made.cube_sha256[:12]}"
    pairs += [("counts", counts), ("made", made.created)]
    yield Facts(pairs)


def _smallest(made: Provenance) -> Iterator[str]:
    """What a group must reach to be compared."""
    if made.minimum.size:
        yield f"{made.minimum.size} people in the denominator"
    if made.minimum.events:
        yield f"{made.minimum.events} people of every outcome expected at everybody's rate"
    if made.exclude_below is not None:
        yield f"excluded {names.line(describe_rule(made.exclude_below))}"


def _file(one: DataFile) -> str:
    if not one.bytes:
        return _path(one.path)
    lines = "" if one.lines is None else f", {numbers.whole(one.lines)} lines"
    return f"{_path(one.path)} ({numbers.whole(one.bytes)} bytes{lines})"


def _path(text: str) -> str:
    return names.copied(text)


def _ledger(result: AuditResult) -> Iterator[Block]:
    ledger = result.ledger
    yield Heading("Where every row went")
    people = ledger.people != ledger.counted
    rows = [("read", ledger.read, "", ""), ("filtered out", ledger.filtered, "", "")]
    rows.append(("filter undecided", ledger.undecided, "", "a value it needs is missing"))
    rows = [row for row in rows if row[1] != 0 or row[0] == "read"]
    rows += [("dropped", one.rows, names.name(one.column), one.reason) for one in ledger.dropped]
    rows.append(("counted", ledger.counted, "", _people(ledger.people) if people else ""))
    rows += [
        ("  of these", one.rows, names.name(one.column), _aside(one, people))
        for one in ledger.set_aside
    ]
    yield Table(
        "",
        ("", "rows", "column", "why"),
        [[Cell(a), Cell(numbers.whole(b)), Cell(c), Cell(d)] for a, b, c, d in rows],
        (False, True, False, False),
    )
    yield from figures.people(result)


def _people(people: int | None) -> str:
    return f"{numbers.whole(people)} people"


def _aside(line: LedgerLine | PublishedLine, people: bool) -> str:  # noqa: FBT001  # whether rows are not people
    return f"{line.reason} ({_people(line.people)})" if people else line.reason


def by_urgency(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, the worst status first, as they stand in the spec otherwise."""
    return sorted(findings, key=lambda one: _WORST_FIRST.index(one.status))


def _checks(result: AuditResult) -> Iterator[Block]:
    yield Heading("Checks")
    if not result.findings:
        yield Paragraph("The spec sets no limit: nothing was judged.")
        return
    yield _findings(by_urgency(result.findings), is_first=False)
    yield from _practice(result)
    left_out = [
        (Cell("not judged", Tone.MUTED), text)
        for one in result.findings
        for text in sentences.not_judged(one)
    ]
    if left_out:
        yield Entries(left_out)


def _practice(result: AuditResult) -> Iterator[Block]:
    """Each gap in people, and what a pass on few people may have missed."""
    rows = [
        (Cell("in people", Tone.MUTED), f"{sentences.id_of(one)}: {text}")
        for one in result.findings
        for text in sentences.in_practice(one)
    ]
    rows += [
        (Cell("few people", Tone.MUTED), f"{sentences.id_of(one)}: {text}")
        for one in result.findings
        if (text := sentences.thin(one)) is not None
    ]
    if rows:
        yield Entries(rows)


def _findings(findings: Sequence[Finding], *, is_first: bool) -> Entries:
    """A statement for each; what the first page tells in full is not told twice."""
    rows = []
    for one in findings:
        place = f", {sentences.place(one.check.place)}" if one.check.place else ""
        is_told = not is_first and _is_open(one)
        told = "told in full at the top" if is_told else sentences.answer(one)
        text = f"{sentences.title(one)}: {told} ({sentences.id_of(one)}{place})"
        rows.append((Cell(sentences.STATUS[one.status], TONES[one.status]), text))
    return Entries(rows, is_titled=True)


def _waivers(result: AuditResult) -> Iterator[Block]:
    """Every waiver with its state: one that is applied, one that nothing needs, one too old."""
    if not result.waivers:
        return
    yield Heading("Waivers")
    tones = {WaiverState.APPLIED: Tone.WARN, WaiverState.EXPIRED: Tone.BAD}
    rows = []
    for told in result.waivers:
        one = told.waiver
        whose = numbers.named_group(one.group) if one.group else "all of it"
        place = f" ({sentences.place(one.place)})" if one.place else ""
        check = names.copied(one.check)
        text = (
            f"{check} for {whose} until {one.expires}, approved by {names.line(one.approved_by)}: "
        )
        text += names.line(one.reason) + (f"; {told.why}" if told.why else "")
        word = str(told.state).replace("_", " ")
        rows.append((Cell(word, tones.get(told.state, Tone.MUTED)), f"{text}{place}"))
    yield Entries(rows)


def _undefined(result: AuditResult, most: int | None) -> Iterator[Block]:
    reasons = [
        f"{row.estimate.reason}{_within(row.stratum)}"
        for row in result.rates
        if row.estimate.state is State.UNDEFINED and row.estimate.reason
    ]
    reasons += [
        f"{row.title} by {numbers.subset(row.by)}{_within(row.stratum)}: {row.estimate.reason}"
        for row in result.comparisons
        if row.estimate.state is State.UNDEFINED
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
    yield Facts([(one.title, _meaning_of(one)) for one in definitions])


def _meaning_of(one: Definition) -> str:
    return f"{one.means} {one.formula}. {one.caution} Source: {one.source}."


def _meaning() -> Iterator[Block]:
    yield Heading("What a pass does not mean")
    yield Paragraph(_LIMITS_OF_A_PASS)
