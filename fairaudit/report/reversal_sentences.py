"""A Simpson's reversal in one sentence: label of its kind, intervals, tests, `not established`."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.base import names
from fairaudit.judge.simpson import GroupRate, Reversal, ReversalKind, ScanScope
from fairaudit.judge.simpson.records import Stratum
from fairaudit.metrics.inference import Inference
from fairaudit.report import metric_titles, numbers
from fairaudit.report.blocks import Cell, Tone

KIND_WORDS = {
    ReversalKind.EVERY_STRATUM: "reversed in every stratum",
    ReversalKind.ADJUSTED: "reversed after adjustment",
    ReversalKind.MOST_PEOPLE: "reversed for most people",
    ReversalKind.OPPOSITE: "opposite gaps in strata",
    ReversalKind.MASKED: "a gap hidden in the aggregate",
    ReversalKind.EXPLAINED: "a gap that goes with the mix of strata",
}
NOT_ESTABLISHED = "not established"
NOT_LEFT = f"{NOT_ESTABLISHED} after adjustment"
_WHOSE = {
    ReversalKind.OPPOSITE: "opposite gaps by Gail–Simon",
    ReversalKind.MASKED: "the gap after adjustment",
    ReversalKind.EXPLAINED: "the gap overall",
}
"""Which gap the test of a note is about."""
_MOST_COLUMNS = 4
"""So many columns of a scan, or ways to hold columns fixed, are named."""


def describe_scope(scope: ScanScope | None) -> str:
    """What a scan looks at: whose gaps, given which columns, and from which size on."""
    if scope is None:
        return "the report does not say between which groups, given what and from which size on"
    held = [columns for columns in scope.given if {*scope.by} - {*columns}]
    given = [*map(numbers.subset, held), *(["every other column"] if scope.search else [])]
    columns = numbers.first_few([*map(names.name, scope.by)], _MOST_COLUMNS)
    text = f"{columns} given {numbers.first_few(given, _MOST_COLUMNS)}"
    sizes = [f"{100 * scope.min_gap:g} points"] if scope.min_gap else []
    if scope.min_odds_ratio > 1:
        sizes.append(f"an odds ratio of {scope.min_odds_ratio:g}")
    return f"{text}; gaps of {' and '.join(sizes) or 'any size'}{' or more' if sizes else ''}"


def sentence(reversal: Reversal, alpha: float) -> str:
    """A reversal, or a note, in one sentence: each gap with its own interval and test."""
    first, second = map(names.name, reversal.pair)
    named = f"{first} against {second}, {metric_titles.title(reversal.rate, reversal.of)}"
    is_opposite = reversal.kind is ReversalKind.OPPOSITE
    # A mean of gaps that point both ways is nobody's.
    after = "" if is_opposite else adjusted(reversal, alpha)
    overall = f"{_gap(reversal.crude)} overall, {' against '.join(map(share, reversal.crude_pair))}"
    if reversal.crude_p is not None:
        overall += f", p {numbers.probability(reversal.crude_p, alpha)}"
    parts = (overall, after, pattern(reversal))
    return f"{named}: {'; '.join(filter(None, parts))}{_sureness(reversal, alpha)}."


def entry(reversal: Reversal, tone: Tone, inference: Inference) -> tuple[Cell, str]:
    """A reversal behind the word for its kind, or for a gap not established after adjustment."""
    word = KIND_WORDS[reversal.kind]
    if not reversal.is_significant(inference.alpha):
        is_left = not reversal.is_not_left(inference.alpha)
        word = f"{NOT_ESTABLISHED}: {word}" if is_left else NOT_LEFT
    return Cell(word, tone), sentence(reversal, inference.alpha)


def pair(reversal: Reversal) -> str:
    """The two groups of a reversal."""
    first, second = map(names.name, reversal.pair)
    return f"{names.name(reversal.attribute)}: {first} against {second}"


def share(rate: GroupRate) -> str:
    """A rate with its counts, or under survey weights with its people."""
    behind = f"{numbers.whole(rate.over)}/{numbers.whole(rate.under)}"
    if rate.scale != 1:
        behind = f"n = {numbers.whole(rate.n)}"
    return f"{numbers.percent(rate.value)} ({behind})"


def name_given(reversal: Reversal) -> str:
    """The columns that are held fixed."""
    return " and ".join(map(names.name, reversal.given))


def adjusted(reversal: Reversal, alpha: float) -> str:
    """The one gap after adjustment that has a test, with its interval."""
    joined = reversal.joined
    if joined is None or joined.difference is None:
        first, second = (numbers.percent(value) for value in reversal.standardized_pair)
        return f"at the same mix of {name_given(reversal)} {first} against {second}"
    gap, after = joined.difference, f"after adjustment for {name_given(reversal)}"
    if reversal.hangs_on_weights:
        return (
            f"{after} the sign of the gap depends on the weights of the strata: "
            f"{numbers.points(gap)} points by Mantel–Haenszel, "
            f"{numbers.points(reversal.standardized)} by both groups' people; no single "
            "adjusted gap is reported"
        )
    text = _gap(gap)
    if joined.difference_low is not None and joined.difference_high is not None:
        ends = (joined.difference_low, joined.difference_high)
        text += f" [{', '.join(map(numbers.points, ends))}]"
    if joined.p is not None:
        text += f", p {numbers.probability(joined.p, alpha)} (Cochran–Mantel–Haenszel)"
    sure = joined.p is not None and joined.p < alpha
    if reversal.kind is ReversalKind.MASKED or not reversal.crude:
        return f"{after} {text}"
    if gap * reversal.crude <= 0 and sure:
        return f"{after} the other way, {text}"
    if sure or reversal.crude_p is None or reversal.crude_p >= alpha:
        # Of a gap that may be none overall there is nothing that could be left or gone.
        return f"{after} {text}"
    return f"{after} not distinguishable from no gap: {text}"


def _gap(value: float) -> str:
    """`14.2 points lower`, `no gap`."""
    if not value:
        return "no gap"
    return f"{numbers.gap(value)} {'higher' if value > 0 else 'lower'}"


def pattern(reversal: Reversal) -> str:
    """In which strata the gap points the other way, or what share goes with their mix."""
    if reversal.kind is ReversalKind.OPPOSITE:
        return ", ".join(_direction(reversal, side) for side in reversal.directions)
    if reversal.kind is ReversalKind.MASKED:
        return ""
    if reversal.kind is ReversalKind.EXPLAINED:
        return _explained(reversal)
    count, strata = reversal.reversed_strata, reversal.estimable_strata
    if count == strata:
        whole = {1: "the only stratum", 2: "both strata"}.get(strata, f"all {strata} strata")
        return f"the other way in {whole}"
    people, share_of = (
        numbers.percent(value) for value in (reversal.opposite_weight, reversal.opposite_strata)
    )
    return f"the other way in {count} of {strata} strata ({share_of}), with {people} of the people"


def _direction(reversal: Reversal, strata: Sequence[Stratum]) -> str:
    """The mean gap of strata that point the same way, and how many they are."""
    people = sum(stratum.weight for stratum in strata)
    gap = sum(stratum.weight * stratum.difference for stratum in strata) / people
    where = f"in {len(strata)} of {reversal.estimable_strata} strata"
    return f"{_gap(gap)} {where} with {numbers.percent(people)} of the people"


def _explained(reversal: Reversal) -> str:
    """The share of a gap that goes with the mix of strata, with its interval."""
    explained = reversal.explained
    if explained is None:
        return ""
    text = f"{numbers.percent(explained.value)} of the gap"
    if explained.low is None or explained.high is None:
        text += " (no interval: the gap overall may be zero)"
    else:
        text += f" {numbers.bounds(explained.low, explained.high, numbers.per_cent)}"
    return f"{text} goes with the mix of {name_given(reversal)}, at the same mix of both groups"


def _sureness(reversal: Reversal, alpha: float) -> str:
    """What is tested among all comparisons, by its adjusted p-value."""
    test = reversal.significance
    if test is None or reversal.hangs_on_weights:
        return ""
    if test.family == 1 and not reversal.kind.has_both_directions:
        return ""
    gap = _WHOSE.get(reversal.kind, "the reversal")
    text = f"{gap}: p {numbers.probability(test.adjusted, alpha)}"
    if test.family == 1:
        return f" ({text})"
    by = "uncorrected among" if test.correction == "none" else f"by {test.correction} over"
    return f" ({text} {by} {numbers.whole(test.family)} comparisons)"
