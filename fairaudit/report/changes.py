"""The report of two results beside each other: what got worse, what better, and how surely."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairaudit import names
from fairaudit.compare import (
    Change,
    Changes,
    CheckChange,
    ComparedResult,
    DifferentCheck,
    Direction,
    GroupChange,
    ReversalChange,
    Sampling,
    Scale,
)
from fairaudit.metrics.terms import Correction
from fairaudit.report import baseline, checks, metric_titles, numbers, rate_changes, reversals
from fairaudit.report.blocks import (
    Block,
    Cell,
    Document,
    Entries,
    Facts,
    Heading,
    Paragraph,
    Tone,
)
from fairaudit.result import Verdict

_FEW_ROWS = 12
_JUDGED = {Verdict.NONE: "UNJUDGED"}
_FEW_REVERSALS = 5
_FEW_GROUPS = 4
_SAID = ": the same people both times"
"""A reason that stands at the top for everything."""
_SURE_TONES = {Direction.WORSE: Tone.BAD, Direction.BETTER: Tone.GOOD}
_SAMPLING = {
    Sampling.INDEPENDENT: "taken to be different people: each change is tested as one of two "
    "independent samples",
    Sampling.SAME_PEOPLE: "the same both times, so nothing is tested: the samples are not "
    "independent. Put both models into one spec (`columns.models`) for a paired test, or say "
    "--different-people if they are others",
    Sampling.PAIRED: "the same, each counted by both: a rate is tested by who changes (McNemar)",
}


def document(changes: Changes, *, all_rows: bool = False) -> Document:
    """The report; tables longer than a dozen rows are cut unless `all_rows`."""
    most = None if all_rows else _FEW_ROWS
    sections = (
        _verdict(changes),
        _checks(changes),
        rate_changes.section(changes, most),
        rate_changes.people(changes, most),
        _reversals(changes, is_short=not all_rows),
        _unlike(changes),
        _meaning(changes),
    )
    return tuple(block for section in sections for block in section)


def _verdict(changes: Changes) -> Iterator[Block]:
    before, after = changes.before, changes.after
    yield Heading(f"Comparison: {_heading(before, after)}")
    word = " → ".join(_JUDGED.get(one.verdict, str(one.verdict).upper()) for one in (before, after))
    tone = Tone.BAD if changes.worse else Tone.GOOD if changes.better else Tone.PLAIN
    yield Entries([(Cell(word, tone), summary(changes))])
    moved = [one for one in changes.checks if _is_told_first(one, changes.alpha)]
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
        yield Entries([(Cell("unlike", Tone.WARN), text) for text in changes.conditions])


def summary(changes: Changes) -> str:
    """How many checks and rates got worse or better, in one sentence."""
    worse, better = len(changes.worse), len(changes.better)
    checks = len(changes.checks)
    text = f"{checks} {_plural('check', checks)} in both: {worse} worse, {better} better"
    untested = sum(not one.is_tested for one in changes.checks)
    text += f", {untested} not tested" if untested else ""
    alone = len(changes.only_before) + len(changes.only_after) + len(changes.otherwise)
    text += f"; {alone} not compared" if alone else ""
    sure = [one.change for one in changes.rates if one.change.is_significant(changes.alpha)]
    down, up = (sum(one.way is way for one in sure) for way in (Direction.WORSE, Direction.BETTER))
    other = len(sure) - down - up
    rates = len(changes.rates)
    text += f"; {numbers.whole(rates)} {_plural('rate', rates)} of groups: "
    if not any(one.change.significance for one in changes.rates):
        return f"{text}none tested"
    text += f"{down} significantly worse and {up} better"
    return text + (f", {other} changed where neither way is better" if other else "")


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _heading(before: ComparedResult, after: ComparedResult) -> str:
    """What the two are called: their models or titles, or where those are one, their data."""
    called = [names.name(one.of) if one.of else _named(one) for one in (before, after)]
    if called[0] != called[1]:
        return " → ".join(called)
    data = [
        names.copied(Path(one.provenance.files[0].path).name) if one.provenance.files else ""
        for one in (before, after)
    ]
    return f"{called[0]}, {data[0]} → {data[1]}" if data[0] != data[1] else called[0]


def _named(one: ComparedResult) -> str:
    """The title of an audit, or else its spec."""
    return names.line(one.provenance.title) or names.copied(one.provenance.spec_path)


def _origin(one: ComparedResult) -> str:
    made = one.provenance
    files = ", ".join(names.copied(file.path) for file in made.files[:2])
    more = f" and {len(made.files) - 2} more" if len(made.files) > 2 else ""
    of = f"{names.name(one.of)} in " if one.of else ""
    return f"{of}{_named(one)}: {files}{more}, {numbers.whole(made.rows)} rows, made {made.created}"


def _checks(changes: Changes) -> Iterator[Block]:
    rest = [one for one in changes.checks if not _is_told_first(one, changes.alpha)]
    rows = [*_entries(rest, changes.alpha).rows]
    rows += [(Cell("asked otherwise", Tone.MUTED), _otherwise(one)) for one in changes.otherwise]
    for one, when in ((changes.only_before, "before"), (changes.only_after, "after")):
        rows += [
            (Cell(f"only {when}", Tone.MUTED), f"{each.check.id}: {each.status.upper()}")
            for each in one
        ]
    if rows:
        others = len(rest) < len(changes.checks)
        yield Heading("The other checks" if others else "Checks")
        yield Entries(rows)


def _otherwise(one: DifferentCheck) -> str:
    """A check that asks something else: its statuses, and what of it changed."""
    statuses = " → ".join(each.status.upper() for each in (one.before, one.after))
    return f"{one.after.check.id}: {statuses}; {one.why} changed"


def _is_told_first(one: CheckChange, alpha: float) -> bool:
    """Whether a check is better or worse, or changed significantly."""
    sure = one.is_significant(alpha)
    return sure or one.is_worse(alpha) or one.is_better(alpha)


def _entries(rows: Sequence[CheckChange], alpha: float) -> Entries:
    return Entries([(_word(one, alpha), _check(one, alpha)) for one in rows], is_titled=True)


def _word(one: CheckChange, alpha: float) -> Cell:
    """What became of a check in one word."""
    if one.is_worse(alpha):
        return Cell("WORSE", Tone.BAD)
    if one.is_better(alpha):
        return Cell("BETTER", Tone.GOOD)
    if one.is_significant(alpha):
        return Cell("CHANGED", Tone.WARN)
    if all(change.way is Direction.SAME for change in one.tested):
        return Cell("SAME", Tone.MUTED)
    return Cell("UNSURE" if one.is_tested else "UNTESTED", Tone.MUTED)


def _check(one: CheckChange, alpha: float) -> str:
    """A check in one sentence: its statuses, its values, the change with its test."""
    then, now = one.before, one.after
    status = f"{then.status.upper()} → {now.status.upper()}"
    text = f"{checks.title(now)}: {status}"
    change = one.change
    pairs = [
        metric_titles.worst_pair(each.first, each.second, each.decided_by) for each in (then, now)
    ]
    values = [numbers.value_of(each) for each in (change.before, change.after)]
    is_other = all(pairs) and pairs[0] != pairs[1]
    if is_other and not now.spread:
        # Whose values these are: a change between different groups is nobody's.
        text += f", worst {values[0]} by {pairs[0]} before, {values[1]} by {pairs[1]} now"
    else:
        if then.estimate is not None or now.estimate is not None:
            text += f", {' → '.join(values)}"
        told = changed(change, alpha)
        text += f"; {told}" if told else ""
        if is_other:
            text += f"; decided by {pairs[0]} before, by {pairs[1]} now"
    text += _by_group(one, alpha)
    if one.newly_beyond:
        text += f"; newly beyond its limit: {baseline.breaches(one.newly_beyond)}"
    if one.recast:
        text += "; its columns, who is counted, or how it is tested are defined otherwise"
    return f"{text} ({now.check.id})"


def _by_group(one: CheckChange, alpha: float) -> str:
    """The groups to tell, each beside itself: the worst ones, and who changed significantly."""
    told = [
        each
        for each in one.groups
        if not (each.decided and each.decides)
        and (each.decided or each.decides or each.change.is_significant(alpha))
    ]
    told.sort(key=lambda each: not (each.decided or each.decides))
    shown = [f"; {_group(each, alpha)}" for each in told[:_FEW_GROUPS]]
    left = len(told) - len(shown)
    more = f"; and {left} more changed significantly" if left else ""
    return "".join(shown) + more


def _group(one: GroupChange, alpha: float) -> str:
    """A group beside itself: `sex=F 0.5000 → 0.3790: -0.1210 [...], worse: p = .0001`."""
    named = numbers.named_group(one.group) if one.group else "all groups"
    where = f" in {numbers.named_group(one.stratum)}" if one.stratum else ""
    change = one.change
    values = " → ".join(numbers.value_of(each) for each in (change.before, change.after))
    told = changed(change, alpha)
    return f"{named}{where} {values}" + (f": {told}" if told else "")


def changed(change: Change, alpha: float) -> str:
    """A change in half a sentence: how far, between what, how surely."""
    if math.isnan(change.value):
        return change.why
    turned = " in its distance from parity, because its sign changed" if change.turned else ""
    if change.way is Direction.SAME:
        return f"no change{turned}"
    is_ratio = change.scale is Scale.RATIO
    text = numbers.number(change.value) if is_ratio else f"{change.value:+.4f}"
    text = f"by a factor of {text}" if is_ratio else text
    if change.low is not None and change.high is not None:
        low, high = (numbers.number(end) for end in (change.low, change.high))
        text += f" [{low}, {high}]"
    return f"{text}{turned}, {_surely(change, alpha)}"


def _surely(change: Change, alpha: float) -> str:
    """How strong the evidence of a change is."""
    ways = {Direction.WORSE: "worse", Direction.BETTER: "better"}
    way = ways.get(change.way, str(change.way))
    test = change.significance
    if test is None:
        why = change.why.removesuffix(_SAID)
        return f"{way}; {why}" if why else way
    p = f"p {numbers.probability(test.p, alpha)} ({test.test}"
    if test.family > 1:
        adjusted = numbers.probability(test.adjusted, alpha).removeprefix("= ")
        how = f"by {test.correction} over" if test.correction != "none" else "uncorrected, one of"
        p += f"; {adjusted} {how} {test.family}"
    if change.is_significant(alpha):
        return f"{way}: {p})"
    return f"{way}, not significant: {p})"


def _reversals(changes: Changes, *, is_short: bool) -> Iterator[Block]:
    found = changes.reversals
    if not found:
        return
    yield Heading("Changed reversals")
    told = found[:_FEW_REVERSALS] if is_short else found
    yield Entries([(_reversal_word(one), _reversal(one)) for one in told])
    if left := found[len(told) :]:
        sure = sum(one.significant for one in left)
        yield Paragraph(
            f"and {numbers.whole(len(left))} more, {numbers.whole(sure) if sure else 'none'} of "
            "them significant: --verbose, or -o changes.json, tells them all",
            Tone.MUTED,
        )


def _reversal_word(one: ReversalChange) -> Cell:
    if one.before is None:
        return Cell("new", Tone.WARN)
    return Cell("gone", Tone.MUTED) if one.after is None else Cell("other", Tone.WARN)


def _reversal(one: ReversalChange) -> str:
    kinds = [reversals.KIND_WORDS[kind] for kind in (one.before, one.after) if kind is not None]
    pair = " against ".join(map(names.name, one.pair))
    chance = "" if one.significant else ", not significant"
    where = (
        f"{metric_titles.title(one.rate)} of the {one.of} by {names.name(one.attribute)}, {pair}"
    )
    return f"{where}, given {numbers.subset(one.given)}: {' → '.join(kinds)}{chance}"


def _unlike(changes: Changes) -> Iterator[Block]:
    rows = [(Cell("new notice", Tone.WARN), text) for text in changes.new_notices]
    rows += [(Cell("notice gone", Tone.MUTED), text) for text in changes.gone_notices]
    if rows:
        yield Heading("Notices")
        yield Entries(rows)


def _meaning(changes: Changes) -> Iterator[Block]:
    yield Heading("How changes are tested")
    if changes.sampling is Sampling.SAME_PEOPLE:
        yield Paragraph(
            "Not tested: the samples are not independent. The changes are ordered by their size.",
            Tone.MUTED,
        )
        return
    how = changes.inference.correction
    corrected = "uncorrected" if how is Correction.NONE else f"corrected by {how.words}"
    level = f"{float(100 * changes.inference.confidence):g} %"
    tests = (
        "A rate of both models is tested by McNemar's test of who changes, with Newcombe's paired "
        "interval. Checks, and rates that do not count the same people by both, are not tested: "
        "name `against:` in the spec for a test of those."
        if changes.sampling is Sampling.PAIRED
        else "A share is tested by z, or by Fisher where few are expected, with Newcombe's "
        "interval; a mean by Welch; every other number by the variances that its own intervals "
        "imply (MOVER). Of a check each group is compared with itself; the worst value is tested "
        "only where it is of the same groups both times, or of all groups together."
    )
    yield Paragraph(
        f"{tests} Intervals of {level} are of each change by itself; p is {corrected} over all "
        "groups of all checks, over all rates, and over all groupings of people. A change without "
        "significance may still be there: few people hide large changes.",
        Tone.MUTED,
    )
