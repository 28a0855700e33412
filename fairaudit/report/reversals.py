"""Prose report: Simpson's reversals in sentences, with pictures and tables of strata."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from fairaudit.base import names
from fairaudit.judge import Finding, Status
from fairaudit.judge.simpson import GroupRate, Reversal, ReversalKind, ScanScope, Stratum
from fairaudit.metrics.estimate import Significance
from fairaudit.metrics.terms import Correction, Inference
from fairaudit.report import checks, metric_titles, numbers, pictures
from fairaudit.report.blocks import (
    Block,
    Cell,
    Column,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Tone,
    tabulate,
    text_column,
)
from fairaudit.report.pictures import Line, Lines, Point
from fairaudit.result import AuditResult

_FULL = 3
"""Maximum number of reversals with tables of strata, and of notes."""
_NAMED = 2
"""Maximum number of named pairs of groups per pattern."""
_DRAWN = 12
"""Maximum number of reversals with a picture, in short and in long reports."""
_TOLD = 6
"""Maximum number of reversals in a short report."""
_MOST_STRATA = 100
"""A report lists at most this many strata of a reversal; only JSON has all of them."""
_FEWEST = "those with the fewest people"
_SUPPRESSED = "significance suppressed"
_UNTOLD = (
    "Only reversals whose counts can all be published are listed. Their adjusted p-values are "
    "suppressed, because they depend on all comparisons, including those of hidden groups."
)

HEADING = "Simpson's reversals"
"""The title of the section."""


def section(result: AuditResult, *, is_short: bool) -> Iterator[Block]:
    """The most important reversals with their strata; sentences on other reversals and notes.

    Patterns that are not significant are shown if a check asks for them, and are otherwise counted.
    Without a scan the section is empty.
    """
    reversals = result.reversals
    is_open = result.compared is not None
    if not is_open and (result.reversals_off or result.provenance.suppress_below is None):
        return
    yield Heading(HEADING)
    if not is_open:
        yield Paragraph(_UNTOLD)
    elif not reversals:
        yield Paragraph(_none(result))
    if not reversals:
        return
    inference = result.provenance.inference
    alpha = inference.alpha
    sure = [reversal for reversal in reversals if is_open and reversal.is_significant(alpha)]
    gone = [
        reversal
        for reversal in reversals
        if is_open and reversal not in sure and reversal.is_not_left(alpha)
    ]
    patterns = [reversal for reversal in reversals if reversal not in sure and reversal not in gone]
    # Gaps that strata significantly reverse, and gaps that disappear within strata.
    turned = [*(reversal for reversal in sure if reversal.kind.has_both_directions), *gone]
    notes = [reversal for reversal in sure if not reversal.kind.has_both_directions]
    listed, noted = (turned[:_TOLD], notes[:_FULL]) if is_short else (turned, notes)
    yield from _state(listed, inference, _FULL if is_short else None)
    if noted:
        yield Entries([entry(reversal, Tone.MUTED, inference) for reversal in noted])
    if more := len(turned) + len(notes) - len(listed) - len(noted):
        count = numbers.whole(more)
        yield Paragraph(f"and {count} more: --verbose or -o report.json lists them", Tone.MUTED)
    gated = [
        reversal
        for finding in result.findings
        if finding.status in {Status.FAIL, Status.WARN}
        for reversal in finding.reversals
    ]
    shown = [pattern for pattern in patterns if pattern in gated or not (is_short or is_open)]
    shown = shown[:_FULL] if is_short else shown
    word = MAY_BE_CHANCE if is_open else _SUPPRESSED
    yield from _patterns(patterns, shown, inference, word)
    kinds = {reversal.kind for reversal in [*sure, *gone, *shown]}
    if kinds:
        facts = [
            (KIND_WORDS[kind], kind.description)
            for kind in sorted(kinds, key=lambda kind: -kind.strength)
        ]
        yield from _explain(result, facts, gone=bool(gone), patterns=is_open and bool(shown))


def _state(
    reversals: Sequence[Reversal], inference: Inference, full: int | None, word: str = ""
) -> Iterator[Block]:
    """A sentence for each reversal; the first `full` also have their strata, and some a picture."""
    for index, reversal in enumerate(reversals):
        stated = entry(reversal, Tone.WARN, inference)
        if word:
            stated = (Cell(f"{word}: {KIND_WORDS[reversal.kind]}", Tone.MUTED), stated[1])
        yield Entries([stated])
        if full is None or index < full:
            if index < _DRAWN:
                yield _slopes(reversal)
            yield from proof(reversal, inference)


def _patterns(
    reversals: Sequence[Reversal], shown: Sequence[Reversal], inference: Inference, word: str
) -> Iterator[Block]:
    """The patterns that are not significant: their number, and those that a check asks for."""
    if not reversals:
        return
    pairs: dict[ReversalKind, list[str]] = {}
    for reversal in sorted(reversals, key=lambda reversal: -reversal.kind.strength):
        pairs.setdefault(reversal.kind, []).append(" against ".join(sides(reversal)))
    is_more = len(shown) < len(reversals)
    kinds = "; ".join(
        f"{KIND_WORDS[kind]}: {numbers.whole(len(found))}"
        + (f" ({numbers.first_few(found, _NAMED)})" if is_more else "")
        for kind, found in pairs.items()
    )
    text = f"{numbers.counted(len(reversals), 'pattern')} {word}. {kinds[0].upper()}{kinds[1:]}"
    yield Paragraph(f"{text}{'; -o report.json has them' if is_more else ''}.")
    yield from _state(shown, inference, None, word)


def _none(result: AuditResult) -> str:
    """A sentence that nothing was found, with the scope of the scan."""
    scanned = result.scanned
    scope = describe_scope(None if scanned is None else scanned.scope)
    if not result.compared:
        return (
            "Nothing could be compared: no two groups share two strata of another column "
            f"({scope})."
        )
    comparisons = numbers.counted(result.compared, "comparison")
    if scanned is not None:
        rates = dict.fromkeys(pairs.rate for pairs in scanned.pairs)
        titles = [metric_titles.title(rate, scanned.of) for rate in rates]
        comparisons += f" of {numbers.first_few(titles)} ({scope})"
    else:
        comparisons += f" ({scope})"
    return (
        f"None: in {comparisons} no gap reverses, appears or disappears when another column is "
        "held fixed, and no gaps in strata are significantly opposite (Gail–Simon, p < "
        f"{result.provenance.inference.alpha:g})."
    )


def _explain(
    result: AuditResult, facts: list[tuple[str, str]], *, gone: bool, patterns: bool
) -> Iterator[Block]:
    """The meaning of the words of the section, and how to read its numbers."""
    inference = result.provenance.inference
    alpha = f"{inference.alpha:g}"
    if gone:
        is_raw = inference.correction is Correction.NONE
        correction = "uncorrected" if is_raw else "by Bonferroni over all comparisons"
        text = (
            f"The overall gap is significant (p below {alpha}, {correction}). The gap after "
            f"adjustment, with Mantel–Haenszel weights, is not significant (p of {alpha} or "
            "more), or it is reversed."
        )
        facts.append((NOT_LEFT, text))
    if patterns:
        text = (
            "The numbers show this pattern, but its p-value, corrected over all comparisons, is "
            f"{alpha} or more, or no test for it exists."
        )
        facts.append((MAY_BE_CHANCE, text))
    yield Facts(facts)
    text = (
        "After adjustment: the mean gap of the strata with Mantel–Haenszel weights, with Sato's "
        "interval and the Cochran–Mantel–Haenszel test; the note on the strata has the gaps with "
        "other weights. The column “of people”: the stratum's share of the people of both groups "
        "(not its Mantel–Haenszel weight). A reversal is not more certain than the less certain of "
        "its two gaps."
    )
    yield Paragraph(text, Tone.MUTED)


def proof(reversal: Reversal, inference: Inference) -> Iterator[Block]:
    """The table of the strata of a reversal, its tests, and its other numbers."""
    first, second = sides(reversal)
    shown = _largest(reversal, _MOST_STRATA)
    digits = numbers.digits_of_gaps((row.first.value, row.second.value) for row in shown)
    columns: tuple[Column[Stratum], ...] = (
        text_column(numbers.subset(reversal.given), lambda row: numbers.group(row.stratum)),
        Column(first, lambda row: shares([row.first], digits)[0]),
        Column(second, lambda row: shares([row.second], digits)[0]),
        Column("diff.", lambda row: numbers.points(row.difference)),
        Column("of people", lambda row: numbers.percent(row.weight)),
        Column("p", lambda row: numbers.starred_p(row.significance, inference.alpha)),
    )
    why = f"{_FEWEST}; -o report.json has them"
    omitted = pictures.not_shown(len(reversal.strata) - len(shown), "strata", why)
    yield tabulate(
        f"{metric_titles.title(reversal.rate, reversal.of)} of {names.name(reversal.attribute)}, "
        f"given {name_given(reversal)}",
        columns,
        shown,
        more=lambda _: omitted.strip(),
    )
    mixed, within = numbers.points(reversal.standardized), numbers.points(reversal.within)
    other_weights = (
        f"With other weights, the gap after adjustment is {mixed} points (weight of a stratum: its "
        f"people of both groups) or {within} points (weight: the mean of two shares, how much of "
        f"each group is in the stratum). The overall gap of {numbers.points(reversal.crude)} "
        f"points has two parts: {within} points (the last of these gaps), and "
        f"{numbers.points(reversal.composition)} points because the groups are spread differently "
        "over the strata. These numbers do not show a cause"
    )
    notes = [other_weights, *_tests(reversal, inference)]
    if reversal.incomplete:
        notes.append(f"People with an unknown stratum: {numbers.whole(reversal.incomplete)}")
    if reversal.off_support:
        strata = numbers.first_few([*map(numbers.group, reversal.off_support)], _MOST_STRATA)
        notes.append(f"Only one of the two groups occurs in {strata}")
    if reversal.incomplete or reversal.off_support:
        gap = numbers.points(reversal.crude_everybody)
        notes.append(f"With these people, the overall gap is {gap} points")
    yield Paragraph(". ".join(notes) + ".", Tone.MUTED)


def _largest(reversal: Reversal, most: int) -> list[Stratum]:
    """The strata with the most people, in their order in the reversal."""
    strata = reversal.strata
    heaviest = sorted(range(len(strata)), key=lambda index: -strata[index].weight)[:most]
    return [strata[index] for index in sorted(heaviest)]


def _tests(reversal: Reversal, inference: Inference) -> Iterator[str]:
    """Texts on the tests within strata, and the tests that all gaps are equal or have one sign."""
    alpha, joined = inference.alpha, reversal.joined
    with_it, against = reversal.significant_strata(alpha)
    family = next((s.significance.family for s in reversal.strata if s.significance), 0)
    gaps = f"Strata with a significant gap (*: {numbers.corrected(inference)} for {family} strata)"
    way = "in the direction of the overall gap" if reversal.crude else "higher"
    other = "in the opposite direction" if reversal.crude else "lower"
    yield f"{gaps}: {with_it} {way}, {against} {other}"
    text = f"Mantel–Haenszel odds ratio: {numbers.number(reversal.mantel_haenszel_odds_ratio)}"
    if joined is None:
        yield text
        return
    if joined.odds_low is not None and joined.odds_high is not None:
        text += f" {numbers.bounds(joined.odds_low, joined.odds_high)}"
    yield text
    tests = {
        "the odds ratios of the strata differ": (joined.homogeneity, "Breslow–Day"),
        "the gaps have opposite directions": (joined.interaction, "Gail–Simon"),
    }
    for what, (p, name) in tests.items():
        if p is not None:
            is_shown = "There is" if p < alpha else "There is not enough"
            yield f"{is_shown} evidence that {what}: p {numbers.probability(p, alpha)} ({name})"


def _slopes(reversal: Reversal) -> Figure:
    kept = _largest(reversal, pictures.MOST_LINES)
    pairs = [
        (names.describe_group(stratum.stratum), stratum.first.value, stratum.second.value)
        for stratum in kept
    ]
    known = [pair for pair in pairs if math.isfinite(pair[1] + pair[2])]
    missing = [pair[0] for pair in pairs if pair not in known]
    omitted = pictures.not_shown(len(reversal.strata) - len(kept), "strata", _FEWEST)
    if missing:
        omitted += f" Without a rate of both: {numbers.first_few(missing)}."
    given = numbers.subset(reversal.given)
    first, second = sides(reversal)
    title = metric_titles.title(reversal.rate, reversal.of)
    overall = ("overall", reversal.crude_pair[0].value, reversal.crude_pair[1].value)
    lines = [
        Line(
            label,
            [Point(first, before), Point(second, after)],
            text=f"{numbers.percent(before)} → {numbers.percent(after)}",
            strong=index == 0,
        )
        for index, (label, before, after) in enumerate([overall, *known])
    ]
    return Figure(
        f"{title.capitalize()}: {first} against {second}, overall and by {given}",
        Lines("", title, lines, percent=True),
        note=f"Thick line: all people. Other lines: each {given} separately.{omitted}",
    )


KIND_WORDS = {
    ReversalKind.EVERY_STRATUM: "reversed in every stratum",
    ReversalKind.ADJUSTED: "reversed after adjustment",
    ReversalKind.MOST_PEOPLE: "reversed for most people",
    ReversalKind.OPPOSITE: "opposite gaps in strata",
    ReversalKind.MASKED: "a gap hidden in the aggregate",
    ReversalKind.EXPLAINED: "a gap that the mix of strata explains",
}
MAY_BE_CHANCE = "may be chance"
"""The words on a reversal without a test, or whose test is not significant."""
NOT_LEFT = "overall gap not left after adjustment"
_WHOSE = {
    ReversalKind.OPPOSITE: "opposite gaps by Gail–Simon",
    ReversalKind.MASKED: "the gap after adjustment",
    ReversalKind.EXPLAINED: "the gap overall",
}
"""The gap that the test of a note is about."""
_FROM_BOTH = "calculated from the larger p-value of both gaps"
_OF_BOTH_GAPS = frozenset({ReversalKind.EVERY_STRATUM, ReversalKind.ADJUSTED})
"""The kinds whose p-value is the larger one of the gap overall and the gap after adjustment."""
_MOST_COLUMNS = 4
"""Maximum number of named columns of a scan, or sets of columns held fixed."""


def describe_scope(scope: ScanScope | None) -> str:
    """The scope of a scan in words: columns of groups, conditioning columns, and minimum gaps."""
    if scope is None:
        return "the report does not say between which groups, given what and from which size on"
    held = (columns for columns in scope.given if {*scope.by} - {*columns})
    given = [*map(numbers.subset, held)]
    columns = numbers.first_few([*map(names.name, scope.by)], _MOST_COLUMNS)
    text = f"{columns} given {numbers.first_few(given, _MOST_COLUMNS)}"
    sizes = [f"{100 * scope.min_gap:g} points"] if scope.min_gap else []
    if scope.min_odds_ratio > 1:
        sizes.append(f"an odds ratio of {scope.min_odds_ratio:g}")
    return f"{text}; gaps of {' and '.join(sizes) or 'any size'}{' or more' if sizes else ''}"


def sentence(reversal: Reversal, alpha: float) -> str:
    """A reversal, or a note, in one sentence: each gap with its own interval and test."""
    first, second = sides(reversal)
    named = f"{first} against {second}, {metric_titles.title(reversal.rate, reversal.of)}"
    is_opposite = reversal.kind is ReversalKind.OPPOSITE
    # A mean gap is not meaningful if strata have gaps in both directions.
    after = "" if is_opposite else adjusted(reversal, alpha)
    overall = f"{gap(reversal.crude)} overall, {' against '.join(shares(reversal.crude_pair))}"
    if reversal.crude_p is not None:
        overall += f", p {numbers.probability(reversal.crude_p, alpha)}"
    text = "; ".join(filter(None, (overall, after, pattern(reversal))))
    test, kind = reversal.significance, reversal.kind
    is_stated = test is not None and (test.family > 1 or kind.has_both_directions)
    if test is not None and is_stated and not reversal.hangs_on_weights:
        # The adjusted p-value of the tested gap, among all comparisons.
        text += f"; {_WHOSE.get(kind, 'the reversal')}: "
        text += numbers.adjusted_p(test, alpha, "comparison")
        text += f", {_FROM_BOTH}" * (kind in _OF_BOTH_GAPS)
    return f"{named}: {text}."


def entry(reversal: Reversal, tone: Tone, inference: Inference) -> tuple[Cell, str]:
    """A sentence on a reversal after a word for its kind, or for an unclear adjusted gap."""
    word = KIND_WORDS[reversal.kind]
    if not reversal.is_significant(inference.alpha):
        is_left = not reversal.is_not_left(inference.alpha)
        word = f"{MAY_BE_CHANCE}: {word}" if is_left else NOT_LEFT
    return Cell(word, tone), sentence(reversal, inference.alpha)


def sides(reversal: Reversal) -> list[str]:
    """The names of the two groups of a reversal."""
    return [names.people(((reversal.attribute, level),)) for level in reversal.pair]


def pair(reversal: Reversal) -> str:
    """The two groups of a reversal."""
    first, second = sides(reversal)
    return f"{names.name(reversal.attribute)}: {first} against {second}"


def shares(pair: Sequence[GroupRate], digits: int | None = None) -> list[str]:
    """Two rates with their counts, or with survey weights, with their numbers of people."""
    if digits is None:
        digits = numbers.digits_of_gaps([(pair[0].value, pair[1].value)])
    texts = []
    for rate in pair:
        behind = f"{numbers.whole(rate.over)}/{numbers.whole(rate.under)}"
        if rate.scale != 1 or rate.under != rate.n:
            behind = f"n = {numbers.whole(rate.n)}"
        texts.append(f"{numbers.percent(rate.value, digits)} ({behind})")
    return texts


def overall_and_mixed(reversal: Reversal) -> tuple[list[str], list[str]]:
    """The rates of both groups, overall with counts, and at the same mix of strata."""
    first, second = reversal.crude_pair
    mixed = reversal.standardized_pair
    digits = numbers.digits_of_gaps([(first.value, second.value), mixed])
    return shares((first, second), digits), [numbers.percent(value, digits) for value in mixed]


def name_given(reversal: Reversal) -> str:
    """The names of the columns that are held fixed."""
    return " and ".join(map(names.name, reversal.given))


def adjusted(reversal: Reversal, alpha: float) -> str:
    """The gap that was tested after adjustment, with its interval."""
    joined = reversal.joined
    if joined is None or joined.difference is None:
        _, (first, second) = overall_and_mixed(reversal)
        return f"if both had the same mix of {name_given(reversal)}, {first} against {second}"
    size, after = joined.difference, f"after adjustment for {name_given(reversal)}"
    if reversal.hangs_on_weights:
        return (
            f"{after} the sign of the gap depends on the weights of the strata: "
            f"{numbers.points(size)} points by Mantel–Haenszel, "
            f"{numbers.points(reversal.standardized)} by both groups' people; no single "
            "adjusted gap is reported"
        )
    text = gap(size)
    if joined.difference_low is not None and joined.difference_high is not None:
        text += f" {numbers.bounds(joined.difference_low, joined.difference_high, numbers.points)}"
    if joined.p is not None:
        text += f", p {numbers.probability(joined.p, alpha)} (Cochran–Mantel–Haenszel)"
    sure = joined.p is not None and joined.p < alpha
    if reversal.kind is ReversalKind.MASKED or not reversal.crude:
        return f"{after} {text}"
    if size * reversal.crude <= 0 and sure:
        return f"reversed {after}: {text}"
    if sure or reversal.crude_p is None or reversal.crude_p >= alpha:
        # If the gap overall may be zero, the text does not say that a gap remains or disappears.
        return f"{after} {text}"
    return f"{after} no clear gap: {text}"


def gap(value: float) -> str:
    """The gap in words: `14.2 points lower`, `no gap`."""
    if not value:
        return "no gap"
    return f"{numbers.gap(value)} {'higher' if value > 0 else 'lower'}"


def within(reversal: Reversal) -> str:
    """The gap within strata: in each stratum, by direction, or at the same mix of strata.

    `1.2 to 4.5 points lower within each value of branch`.
    """
    given, kind = name_given(reversal), reversal.kind
    if kind is ReversalKind.EVERY_STRATUM:
        gaps = sorted((stratum.difference for stratum in reversal.strata), key=abs)
        least, most = numbers.gap(gaps[0]).removesuffix(" points"), gap(gaps[-1])
        size = most if most.startswith(f"{least} ") else f"{least} to {most}"
        return f"{size} within each value of {given}"
    if kind is ReversalKind.MOST_PEOPLE:
        return _mean(reversal, reversal.directions[reversal.crude > 0])
    if kind is ReversalKind.OPPOSITE:
        higher, lower = (_mean(reversal, side) for side in reversal.directions)
        return f"{higher}, and {lower}"
    return f"{gap(reversal.standardized)} if both had the same mix of {given}"


def _mean(reversal: Reversal, side: Sequence[Stratum]) -> str:
    """The mean gap over the strata with gaps in one direction, and the strata by name or number."""
    weight = sum(stratum.weight for stratum in side)
    mean = sum(stratum.weight * stratum.difference for stratum in side) / weight
    if len(side) == 1:
        return f"{gap(mean)} for {names.people(side[0].stratum)}"
    return (
        f"{gap(mean)} for {len(side)} of {reversal.estimable_strata} values of "
        f"{name_given(reversal)}"
    )


def pattern(reversal: Reversal) -> str:
    """The strata with an opposite gap, or the share of the gap that the mix of strata explains."""
    given = name_given(reversal)
    if reversal.kind is ReversalKind.OPPOSITE:
        weights = (sum(stratum.weight for stratum in side) for side in reversal.directions)
        return ", ".join(
            f"{_mean(reversal, side)} ({numbers.percent(weight)} of the people)"
            for side, weight in zip(reversal.directions, weights, strict=True)
        )
    if reversal.kind is ReversalKind.MASKED:
        return ""
    if reversal.kind is ReversalKind.EXPLAINED:
        # The share of the gap that the mix of strata explains, with its interval.
        explained = reversal.explained
        if explained is None:
            return ""
        text = f"{numbers.percent(explained.value)} of the gap"
        if explained.low is None or explained.high is None:
            text += " (no interval: the gap overall may be zero)"
        else:
            text += f" {numbers.bounds(explained.low, explained.high, numbers.per_cent)}"
        return f"if both groups had the same mix of {given}, {text} would be gone"
    count, strata = reversal.reversed_strata, reversal.estimable_strata
    if count == strata:
        whole = {1: "the only value", 2: "both values"}.get(strata, f"all {strata} values")
        return f"reversed for {whole} of {given}"
    people = numbers.percent(reversal.opposite_weight)
    return f"reversed for {count} of {strata} values of {given} ({people} of the people)"


def describe_test(reversal: Reversal, alpha: float, write: Callable[[Significance], str]) -> str:
    """The test of a reversal, written by `write`, and whether it shows the reversal."""
    if reversal.significance is None:
        return ""
    if reversal.hangs_on_weights:
        return f"{MAY_BE_CHANCE}: the sign of the adjusted gap depends on the weights"
    test = _FROM_BOTH if reversal.kind in _OF_BOTH_GAPS else reversal.significance.test
    text = f"{write(reversal.significance)}, {test}"
    return text if reversal.is_significant(alpha) else f"{MAY_BE_CHANCE}: {text}"


def find_adjusted(result: AuditResult, finding: Finding) -> Reversal | None:
    """The listed reversal of both groups of a check, if a test shows that strata change the gap."""
    alpha = result.provenance.inference.alpha
    for reversal in result.reversals if finding.crossed else ():
        turns = reversal.kind.reverses and reversal.is_significant(alpha)
        if is_of_gap(reversal, finding) and (turns or reversal.is_not_left(alpha)):
            return reversal
    return None


def is_of_gap(reversal: Reversal, finding: Finding) -> bool:
    """Whether a reversal is about the rate and the two groups of a check without strata."""
    parts = checks.deciding_parts(finding)
    if len(parts) != 1 or finding.stratum:
        return False
    groups = {((reversal.attribute, level),) for level in reversal.pair}
    is_same = (reversal.rate, reversal.of) == (parts[0].metric, finding.check.of)
    return is_same and groups == {side.group for side in parts[0].sides}
