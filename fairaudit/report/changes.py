"""The report of `fairaudit compare`: order of sections; those on checks, reversals, notices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairaudit.base import names
from fairaudit.evidence import UNPAIRED
from fairaudit.judge import AnyCheck, Check
from fairaudit.metrics.terms import Correction
from fairaudit.report import checks, finding_facts, metric_titles, numbers, rate_changes
from fairaudit.report.blocks import (
    FEW_ROWS,
    Block,
    Cell,
    Document,
    Entries,
    Facts,
    Heading,
    Paragraph,
    Tone,
)
from fairaudit.report.reversals import KIND_WORDS
from fairaudit.tools.compare.measuring import find_middle, find_parity
from fairaudit.tools.compare.records import (
    Change,
    Changes,
    CheckChange,
    ComparedResult,
    Direction,
    GroupChange,
    ReversalChange,
    Sampling,
    Scale,
)

_FEW_REVERSALS = 5
_FEW_GROUPS = 4
_SAMPLING = {
    Sampling.INDEPENDENT: (
        "treated as different people: each change is tested as a difference of "
        "two independent samples"
    ),
    Sampling.SAME_PEOPLE: (
        "the same in both results, so changes are not tested: a worse value is "
        f"worse for these people. Intervals are {UNPAIRED}: a report does not record whose outcome "
        "changed. For a paired test of rates, declare both models in one spec (`columns.models`). "
        "If the people differ, use --different-people"
    ),
    Sampling.PAIRED: (
        "the same, counted by both models: a worse check is worse for these people; "
        "a rate is tested with the people whose outcome changes (McNemar)"
    ),
}


def document(changes: Changes, *, all_rows: bool = False) -> Document:
    """The report; tables longer than a dozen rows are cut unless `all_rows`."""
    most = None if all_rows else FEW_ROWS
    notices = [(Cell("only after", Tone.WARN), text) for text in changes.new_notices]
    notices += [(Cell("only before", Tone.MUTED), text) for text in changes.gone_notices]
    sections = (
        _verdict(changes),
        _checks(changes),
        rate_changes.section(changes, most),
        rate_changes.people(changes, most),
        _reversals(changes, is_short=not all_rows),
        (Heading("Notices"), Entries(notices)) if notices else (),
        _meaning(changes),
    )
    return tuple(block for section in sections for block in section)


def _verdict(changes: Changes) -> Iterator[Block]:
    before, after = changes.before, changes.after
    # The names of both: their models or titles, or their data if these are equal.
    called = [
        names.name(compared.of) if compared.of else _named(compared) for compared in (before, after)
    ]
    heading = " → ".join(called)
    if called[0] == called[1]:
        data = [
            names.copied(Path(compared.provenance.files[0].path).name)
            if compared.provenance.files
            else ""
            for compared in (before, after)
        ]
        heading = f"{called[0]}, {data[0]} → {data[1]}" if data[0] != data[1] else called[0]
    yield Heading(f"Comparison: {heading}")
    word = " → ".join(checks.verdict_word(compared.verdict) for compared in (before, after))
    tone = Tone.BAD if changes.worse else Tone.GOOD if changes.better else Tone.PLAIN
    yield Entries([(Cell(word, tone), summary(changes))])
    moved = [change for change in changes.checks if _is_shown_first(change)]
    if moved:
        yield _entries(moved, changes.alpha)
    yield Facts(
        [
            ("before", _origin(before)),
            ("after", _origin(after)),
            ("people", _SAMPLING[changes.sampling]),
        ]
    )
    if changes.conditions:
        yield Entries([(Cell("differs", Tone.WARN), text) for text in changes.conditions])


def summary(changes: Changes) -> str:
    """How many checks and rates got worse or better, in one sentence."""
    worse, better = len(changes.worse), len(changes.better)
    checks = numbers.counted(len(changes.checks), "check")
    text = f"{checks} in both: {worse} worse, {better} better"
    untested = sum(not (change.is_tested or change.is_certain) for change in changes.checks)
    text += f", {untested} not tested" if untested else ""
    hidden = len(changes.hidden)
    text += f", {hidden} failing with hidden values" if hidden else ""
    unjudged = len(changes.unjudged)
    text += f", {unjudged} with people who were judged before and are not now" if unjudged else ""
    alone = len(changes.only_before) + len(changes.only_after) + len(changes.otherwise)
    text += f"; {alone} not compared" if alone else ""
    counts = changes.rate_counts
    down, up = counts["worse"], counts["better"]
    other = counts["significant"] - down - up
    rates = numbers.counted(len(changes.rates), "rate")
    text += f"; {rates} of groups: "
    if not any(row.change.significance for row in changes.rates):
        return f"{text}none tested"
    text += f"{down} significantly worse and {up} better"
    return text + (f", {other} changed without a better direction" if other else "")


def _named(compared: ComparedResult) -> str:
    """The title of an audit, or else its spec."""
    return names.line(compared.provenance.title) or names.copied(compared.provenance.spec_path)


def _origin(compared: ComparedResult) -> str:
    provenance = compared.provenance
    files = numbers.first_few([names.copied(file.path) for file in provenance.files], 2)
    of = f"{names.name(compared.of)} in " if compared.of else ""
    rows = f"{numbers.whole(provenance.rows)} rows, created {provenance.created}"
    return f"{of}{_named(compared)}: {files}, {rows}"


def _checks(changes: Changes) -> Iterator[Block]:
    rest = [change for change in changes.checks if not _is_shown_first(change)]
    rows = [*_entries(rest, changes.alpha).rows]
    for other in changes.otherwise:
        statuses = f"{other.before.status.upper()} → {other.after.status.upper()}"
        text = f"{other.after.check.id}: {statuses}; {other.why} changed"
        rows.append((Cell("defined differently", Tone.MUTED), text))
    for findings, when in ((changes.only_before, "before"), (changes.only_after, "after")):
        rows += [
            (Cell(f"only {when}", Tone.MUTED), f"{finding.check.id}: {finding.status.upper()}")
            for finding in findings
        ]
    if rows:
        others = len(rest) < len(changes.checks)
        yield Heading("The other checks" if others else "Checks")
        yield Entries(rows)


def _is_shown_first(check: CheckChange) -> bool:
    """Whether a check is better or worse, changed significantly, or judges fewer people."""
    is_moved = check.is_significant or check.is_worse or check.is_better
    return is_moved or bool(check.unjudged) or check.leaves_out_more


def _entries(rows: Sequence[CheckChange], alpha: float) -> Entries:
    return Entries([(_word(change), _check(change, alpha)) for change in rows], is_titled=True)


def _word(check: CheckChange) -> Cell:
    """What became of a check in one word."""
    if check.is_worse:
        return Cell("WORSE", Tone.BAD)
    if check.is_better:
        return Cell("BETTER", Tone.GOOD)
    if check.is_significant or (check.is_certain and check.change.way is not Direction.SAME):
        return Cell("CHANGED", Tone.WARN)
    if not check.unjudged and all(change.way is Direction.SAME for change in check.tested):
        return Cell("SAME", Tone.MUTED)
    return Cell("UNSURE" if check.is_tested else "UNTESTED", Tone.MUTED)


def _check(check: CheckChange, alpha: float) -> str:
    """A check in one sentence: its statuses, its values, the change with its test."""
    then, now = check.before, check.after
    status = f"{then.status.upper()} → {now.status.upper()}"
    text = f"{checks.title(now)}: {status}"
    change = check.change
    pairs = [checks.worst_pair(finding) for finding in (then, now)]
    values = [numbers.value_of(estimate) for estimate in (change.before, change.after)]
    is_other = all(pairs) and pairs[0] != pairs[1]
    if is_other and not now.spread:
        # The change between different groups belongs to no group: name both.
        text += f", worst {values[0]} by {pairs[0]} before, {values[1]} by {pairs[1]} now"
    else:
        if then.estimate is not None or now.estimate is not None:
            text += f", {' → '.join(values)}"
        words = changed(change, alpha, check.check)
        text += f"; {words}" if words else ""
        if is_other:
            text += f"; decided by {pairs[0]} before, by {pairs[1]} now"
    # The groups to list, each with its earlier value: the worst, and significant changes.
    told = [
        row
        for row in check.groups
        if not (row.decided and row.decides)
        and (row.decided or row.decides or row.change.significant)
    ]
    told.sort(key=lambda row: not (row.decided or row.decides))
    text += "".join(f"; {_group(row, alpha, check.check)}" for row in told[:_FEW_GROUPS])
    if (omitted := len(told) - _FEW_GROUPS) > 0:
        text += f"; and {omitted} more changed significantly"
    if check.newly_beyond:
        text += f"; newly over its limit: {finding_facts.breaches(check.newly_beyond)}"
    if check.unjudged:
        unjudged = [*map(names.describe_group, check.unjudged)]
        text += f"; no longer judged: {numbers.first_few(unjudged, _FEW_GROUPS, '; ')}"
    if check.leaves_out_more:
        shares = (f"{float(share):.1%}" for share in check.shares_left_out)
        text += f"; people left out: {' → '.join(shares)}"
    if check.recast:
        text += "; its columns, people or tests are defined differently"
    return f"{text} ({now.check.id})"


def _group(row: GroupChange, alpha: float, check: AnyCheck) -> str:
    """A group in both results: `sex=F 0.5000 → 0.3790: -0.1210 [...], worse: p = .0001`."""
    named = names.describe_group(row.group) if row.group else "all groups"
    where = numbers.in_stratum(row.stratum)
    change = row.change
    values = " → ".join(numbers.value_of(estimate) for estimate in (change.before, change.after))
    words = changed(change, alpha, check)
    return f"{named}{where} {values}" + (f": {words}" if words else "")


def changed(change: Change, alpha: float, check: AnyCheck) -> str:
    """A change of a check in half a sentence: how far, between what, how surely."""
    if math.isnan(change.value):
        return change.why
    turned = ""
    if change.turned and isinstance(check, Check):
        # The measure of a change to the other side of parity, and the reason.
        place = "the middle of its limit" if find_parity(check) is None else "parity"
        middle = find_middle(check)
        why = f"it crossed {middle:g}" if middle else "its sign changed"
        turned = f" in its distance from {place}, because {why}"
    if change.way is Direction.SAME:
        return f"no change{turned}"
    is_ratio = change.scale is Scale.RATIO
    text = numbers.number(change.value) if is_ratio else f"{change.value:+.4f}"
    text = f"by a factor of {text}" if is_ratio else text
    if change.low is not None and change.high is not None:
        text += f" {numbers.bounds(change.low, change.high)}"
        text += f" {UNPAIRED}" if change.method == UNPAIRED else ""
    return f"{text}{turned}, {_surely(change, alpha)}"


def _surely(change: Change, alpha: float) -> str:
    """How strong the evidence of a change is."""
    way = str(change.way)
    test = change.significance
    if test is None:
        # The top of the report says once that the people are the same.
        return f"{way}; {change.why}" if change.why and not change.certain else way
    p = f"p {numbers.probability(test.p, alpha)} ({test.test}"
    if test.family > 1:
        p += f"; {numbers.family(test, alpha)}"
    if change.significant:
        return f"{way}: {p})"
    return f"{way}, not significant: {p})"


def _reversals(changes: Changes, *, is_short: bool) -> Iterator[Block]:
    changed_reversals = changes.reversals
    if not changed_reversals:
        return
    yield Heading("Changed reversals")
    shown = changed_reversals[:_FEW_REVERSALS] if is_short else changed_reversals
    yield Entries([_reversal(change) for change in shown])
    if omitted := changed_reversals[len(shown) :]:
        sure = sum(change.significant for change in omitted)
        yield Paragraph(
            f"and {numbers.whole(len(omitted))} more ({numbers.whole(sure) if sure else 'none'} "
            "significant): --verbose or -o changes.json lists them",
            Tone.MUTED,
        )


def _reversal(change: ReversalChange) -> tuple[Cell, str]:
    """What became of a reversal in one word, and whose it is."""
    word, tone = "other", Tone.WARN
    if change.before is None:
        word, tone = ("only after", Tone.MUTED) if change.unknown else ("new", Tone.WARN)
    elif change.unknown or change.after is None:
        word, tone = "only before" if change.unknown else "gone", Tone.MUTED
    kinds = [KIND_WORDS[kind] for kind in (change.before, change.after) if kind is not None]
    pair = " against ".join(map(names.name, change.pair))
    chance = "" if change.significant else ", not significant"
    rate = f"{metric_titles.title(change.rate)} of the {change.of}"
    where = f"{rate} by {names.name(change.attribute)}, {pair}"
    when = "before" if change.before is None else "after"
    unknown = f"; {when}, {change.unknown}" if change.unknown else ""
    text = f"{where}, given {numbers.subset(change.given)}: {' → '.join(kinds)}{chance}{unknown}"
    return Cell(word, tone), text


def _meaning(changes: Changes) -> Iterator[Block]:
    if changes.sampling is Sampling.SAME_PEOPLE:
        return  # the first lines say so
    yield Heading("How changes are tested")
    is_raw = changes.inference.correction is Correction.NONE
    corrected = f"{'' if is_raw else 'corrected '}{numbers.corrected(changes.inference)}"
    level = changes.inference.percent
    tests = (
        "Rates of both models are tested by McNemar's test, with Newcombe's paired interval. "
        "Checks, and rates that count different people for the two models, are not tested, and "
        f"their intervals are {UNPAIRED}: a worse value is worse for these people. For a test, "
        "use `against:` in the spec."
        if changes.sampling is Sampling.PAIRED
        else (
            "Shares are tested by z, or by Fisher's test for small expected counts, with "
            "Newcombe's interval; means by Welch; all other numbers by the variances of their "
            "intervals (MOVER). A check compares each group with itself; the worst value is tested "
            "only if the same groups determine it in both results, or if it covers all groups."
        )
    )
    yield Paragraph(
        f"{tests} {level} intervals are for each change separately; p is {corrected} over all "
        "groups of all checks, over all rates, and over all groupings of people. A change that "
        "is not significant may still exist: with few people, even large changes are not "
        "significant.",
        Tone.MUTED,
    )
