"""Simpson's reversals, each in one sentence of numbers, and with the strata that prove it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from fairaudit import names
from fairaudit.estimate import Significance
from fairaudit.metrics.terms import Correction, Inference
from fairaudit.report import metric_titles, numbers, pictures
from fairaudit.report.blocks import (
    Block,
    Cell,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
)
from fairaudit.report.pictures import Slope, Slopes
from fairaudit.result import AuditResult
from fairaudit.simpson import GroupRate, Reversal, ReversalKind
from fairaudit.verdict import Status

KIND_WORDS = {
    ReversalKind.EVERY_STRATUM: "reversed in every stratum",
    ReversalKind.ADJUSTED: "reversed after adjustment",
    ReversalKind.MOST_PEOPLE: "reversed for most people",
    ReversalKind.MASKED: "a gap hidden in the aggregate",
    ReversalKind.EXPLAINED: "a gap that goes with the mix of strata",
}
_FULL = 3
"""So many reversals are shown with their strata, and so many notes."""
_DRAWN = 12
"""So many reversals have a picture, however long the report."""
_TOLD = 6
"""So many reversals are told at all, where the report is short."""
_SEEN = 0.0005
"""A gap of less would read as 0.0 points."""
_WHOSE = {
    ReversalKind.MASKED: "the gap after adjustment",
    ReversalKind.EXPLAINED: "the gap overall",
}
"""Which gap the test of a note is about."""
_NOT_LEFT = "not left after adjustment"
_PATTERN = "not established"
_SUPPRESSED = "significance suppressed"
_UNTOLD = (
    "Only reversals whose counts may all be published are listed. Their adjusted p-values are "
    "suppressed: they depend on all comparisons, those of hidden groups included."
)


def section(result: AuditResult, *, is_short: bool) -> Iterator[Block]:
    """The reversals that matter most with their strata, the others and the notes in words."""
    yield Heading("Simpson's reversals")
    found = result.reversals
    is_open = result.compared is not None
    if not is_open and result.provenance.suppress_below is not None:
        yield Paragraph(_UNTOLD)
    elif not found:
        yield Paragraph(_none(result.compared))
    if not found:
        return
    inference = result.provenance.inference
    alpha = inference.alpha
    sure = [one for one in found if is_open and one.is_significant(alpha)]
    gone = [one for one in found if is_open and one not in sure and one.is_not_left(alpha)]
    patterns = [one for one in found if one not in sure and one not in gone]
    turned = [*(one for one in sure if one.kind.reverses), *gone]
    notes = [one for one in sure if not one.kind.reverses]
    told = turned[:_TOLD] if is_short else turned
    for at, one in enumerate(told):
        yield Entries([entry(one, Tone.WARN, inference)])
        if at < _FULL or not is_short:
            if at < _DRAWN:
                yield _slopes(one, sentence(one, alpha))
            yield from proof(one, inference)
    noted = notes[:_FULL] if is_short else notes
    if noted:
        yield Entries([entry(one, Tone.MUTED, inference) for one in noted])
    if more := [*turned[len(told) :], *notes[len(noted) :]]:
        count = numbers.whole(len(more))
        yield Paragraph(
            f"and {count} more: --verbose, or -o report.json, tells them all", Tone.MUTED
        )
    shown = [one for one in patterns if one in _gated(result)][:_FULL] if is_short else patterns
    word = _PATTERN if is_open else _SUPPRESSED
    yield from _patterns(patterns, shown, inference, word)
    kinds = {one.kind for one in [*sure, *gone, *shown]}
    ordered = sorted(kinds, key=lambda kind: -kind.strength)
    if ordered:
        facts = [(KIND_WORDS[kind], kind.means) for kind in ordered]
        yield Facts(
            [*facts, *_labels(inference, gone=bool(gone), patterns=is_open and bool(shown))]
        )
        yield Paragraph(_reading(result), Tone.MUTED)


def _labels(inference: Inference, *, gone: bool, patterns: bool) -> Iterator[tuple[str, str]]:
    """What is said of a gap that is not there after adjustment, or of a kind that is not sure."""
    alpha = f"{inference.alpha:g}"
    if gone:
        is_raw = inference.correction is Correction.NONE
        how = "uncorrected" if is_raw else "by Bonferroni over all comparisons"
        text = (
            f"The gap overall is significant (p below {alpha}, {how}). After adjustment the gap by "
            f"Mantel and Haenszel's weights is not (p of {alpha} or more), or it points the other "
            "way."
        )
        yield _NOT_LEFT, text
    if patterns:
        text = (
            f"The numbers have this pattern, and its p-value among all comparisons is {alpha} or "
            "more, or no test is of what it claims."
        )
        yield _PATTERN, text


def _gated(result: AuditResult) -> list[Reversal]:
    """The reversals that a check fails or warns for, significant or not."""
    told = {Status.FAIL, Status.WARN}
    return [each for one in result.findings if one.status in told for each in one.reversals]


def _patterns(
    found: Sequence[Reversal], shown: Sequence[Reversal], inference: Inference, word: str
) -> Iterator[Block]:
    """What no test establishes or none is told of: counted; shown where all is, or a check asks."""
    if not found:
        return
    counted = Counter(one.kind for one in found)
    kinds = ", ".join(
        f"{numbers.whole(counted[kind])} {KIND_WORDS[kind]}"
        for kind in ReversalKind
        if counted[kind]
    )
    patterns = "sign pattern" if len(found) == 1 else "sign patterns"
    text = f"{numbers.whole(len(found))} {patterns} {word}: {kinds}"
    is_more = len(shown) < len(found)
    yield Paragraph(f"{text}{'; --verbose, or -o report.json, has them' if is_more else ''}.")
    for at, one in enumerate(shown):
        label = Cell(f"{word}: {KIND_WORDS[one.kind]}", Tone.MUTED)
        yield Entries([(label, sentence(one, inference.alpha))])
        if at < _DRAWN:
            yield _slopes(one, sentence(one, inference.alpha))
        yield from proof(one, inference)


def _none(compared: int | None) -> str:
    if compared is None:
        return "Not looked for: there is no second column to hold fixed, or no rate to compare."
    if not compared:
        return "Nothing could be compared: no two groups share two strata of another column."
    comparisons = "1 comparison" if compared == 1 else f"{numbers.whole(compared)} comparisons"
    return (
        f"None: in {comparisons} no gap turns, hides or vanishes when another column is held fixed."
    )


def entry(one: Reversal, tone: Tone, inference: Inference) -> tuple[Cell, str]:
    """A reversal behind the word for its kind, or for a gap that adjustment does not leave."""
    word = KIND_WORDS[one.kind]
    if not one.is_significant(inference.alpha):
        is_left = not one.is_not_left(inference.alpha)
        word = f"{_PATTERN}: {word}" if is_left else _NOT_LEFT
    return Cell(word, tone), sentence(one, inference.alpha)


def _reading(result: AuditResult) -> str:
    """How to read the numbers of the section."""
    text = (
        "After adjustment: the gaps of the strata at the weights of Mantel and Haenszel, with "
        "Sato's interval; Cochran, Mantel and Haenszel's test is of this gap. Other weights are "
        "named below the strata. Share of people: of both groups together, not the weights of "
        "Mantel and Haenszel. A reversal is as sure as the less sure of its two gaps, overall and "
        "in the strata."
    )
    minimum = result.provenance.minimum
    asked = {"min_size": minimum.size, "min_events": minimum.events}
    if rules := [f"`{name}`" for name, value in asked.items() if value is not None]:
        looks = "looks" if len(rules) == 1 else "look"
        text += (
            f" {' and '.join(rules)} {looks} at both groups as a whole, not at strata: see their "
            "counts."
        )
    return text


def sentence(one: Reversal, alpha: float) -> str:
    """A reversal, or a note, in one sentence: each gap with its own interval and test."""
    first, second = map(names.name, one.pair)
    named = f"{first} against {second}, {metric_titles.title(one.rate, one.of)}"
    parts = (_overall(one, alpha), _adjusted(one, alpha), _pattern(one))
    return f"{named}: {'; '.join(filter(None, parts))}{_sureness(one, alpha)}."


def _given(one: Reversal) -> str:
    return " and ".join(map(names.name, one.given))


def _overall(one: Reversal, alpha: float) -> str:
    """The gap with the strata thrown together, with its test."""
    text = (
        f"{_gap(one.crude)} overall, {share(one.crude_pair[0])} against {share(one.crude_pair[1])}"
    )
    return text if one.crude_p is None else f"{text}, p {numbers.probability(one.crude_p, alpha)}"


def _adjusted(one: Reversal, alpha: float) -> str:
    """The one gap after adjustment that has a test, with its interval."""
    joined = one.joined
    if joined is None or joined.difference is None:
        first, second = (numbers.percent(value) for value in one.standardized_pair)
        return f"at the same mix of {_given(one)} {first} against {second}"
    gap, after = joined.difference, f"after adjustment for {_given(one)}"
    if one.hangs_on_weights:
        return (
            f"{after} the sign of the gap depends on the weights of the strata: "
            f"{numbers.points(gap)} points by Mantel–Haenszel, {numbers.points(one.standardized)} "
            "by both groups' people; no one adjusted gap is claimed"
        )
    text = _gap(gap)
    if joined.difference_low is not None and joined.difference_high is not None:
        ends = (joined.difference_low, joined.difference_high)
        text += f" [{', '.join(map(numbers.points, ends))}]"
    if joined.p is not None:
        text += f", p {numbers.probability(joined.p, alpha)} (Cochran–Mantel–Haenszel)"
    sure = joined.p is not None and joined.p < alpha
    if one.kind is ReversalKind.MASKED or not one.crude:
        return f"{after} {text}"
    if gap * one.crude <= 0 and sure:
        return f"{after} the other way, {text}"
    if sure or one.crude_p is None or one.crude_p >= alpha:
        # Of a gap that may be none overall there is nothing that could be left or gone.
        return f"{after} {text}"
    if gap * one.crude <= 0:
        return f"no such gap remains {after}: {text}"
    return f"{after} these numbers cannot tell it from none: {text}"


def _gap(value: float) -> str:
    """`14.2 points lower`, `no gap`."""
    if not value:
        return "no gap"
    return f"{_size(value)} points {'higher' if value > 0 else 'lower'}"


def _size(value: float) -> str:
    """A gap in points, at as many decimals as it takes to see one."""
    return numbers.points(abs(value)).removeprefix("+") if abs(value) >= _SEEN else (
        f"{100 * abs(value):.2g}"
    )  # fmt: skip


def _pattern(one: Reversal) -> str:
    """In which strata the gap points the other way, or what share goes with their mix."""
    if one.kind is ReversalKind.MASKED:
        return ""
    if one.kind is ReversalKind.EXPLAINED:
        return _explained(one)
    count, strata = one.reversed_strata, one.estimable_strata
    if count == strata:
        whole = {1: "the only stratum", 2: "both strata"}.get(strata, f"all {strata} strata")
        return f"the other way in {whole}"
    people, share_of = (
        numbers.percent(value) for value in (one.opposite_weight, one.opposite_strata)
    )
    return f"the other way in {count} of {strata} strata ({share_of}), with {people} of the people"


def _explained(one: Reversal) -> str:
    """The share of a gap that goes with the mix of strata, with its interval."""
    found = one.explained
    if found is None:
        return ""
    text = f"{numbers.percent(found.value)} of the gap"
    if found.low is None or found.high is None:
        text += " (no interval: the gap overall may be none)"
    else:
        text += f" [{100 * found.low:.1f}, {100 * found.high:.1f}]"
    return f"{text} goes with the mix of {_given(one)}, at the same mix of both groups"


def _weights(one: Reversal) -> Iterator[str]:
    """The gap after adjustment at other weights than those of its test."""
    mixed, within = numbers.points(one.standardized), numbers.points(one.within)
    yield (
        f"the gap after adjustment at other weights: {mixed} points by both groups' people "
        f"together, {within} by the mean of both groups' mixes; in the latter decomposition "
        f"{numbers.points(one.composition)} points correspond to the mix, so that both add up to "
        f"the {numbers.points(one.crude)} overall, which says nothing of causes"
    )


def _sureness(one: Reversal, alpha: float) -> str:
    """What is tested among all comparisons, by its adjusted p-value."""
    found = one.significance
    if one.hangs_on_weights or found is None or (found.family == 1 and not one.kind.reverses):
        return ""
    text = f"{_WHOSE.get(one.kind, 'the reversal')}: p {numbers.probability(found.adjusted, alpha)}"
    if found.family == 1:
        return f" ({text})"
    by = "uncorrected among" if found.correction == "none" else f"by {found.correction} over"
    return f" ({text} {by} {numbers.whole(found.family)} comparisons)"


def share(one: GroupRate) -> str:
    """A rate with its counts, or under survey weights with its people."""
    behind = f"{numbers.whole(one.over)}/{numbers.whole(one.under)}"
    if one.scale != 1:
        behind = f"n = {numbers.whole(one.n)}"
    return f"{numbers.percent(one.value)} ({behind})"


def proof(one: Reversal, inference: Inference) -> Iterator[Block]:
    """The strata of a reversal, and what else a reader should know of it."""
    first, second = map(names.name, one.pair)
    yield Table(
        f"{metric_titles.title(one.rate, one.of)} of {names.name(one.attribute)}, given "
        f"{_given(one)}",
        (numbers.subset(one.given), first, second, "diff.", "share of people", "p"),
        [
            [
                Cell(numbers.group(stratum.stratum)),
                Cell(share(stratum.first)),
                Cell(share(stratum.second)),
                Cell(numbers.points(stratum.difference)),
                Cell(numbers.percent(stratum.weight)),
                Cell(_p_value(stratum.significance, inference.alpha)),
            ]
            for stratum in one.strata
        ],
        (False, True, True, True, True, True),
    )
    notes = [*_weights(one), *_tests(one, inference)]
    if one.incomplete:
        notes.append(f"{numbers.whole(one.incomplete)} people whose stratum is not known")
    if one.off_support:
        strata = ", ".join(numbers.group(stratum) for stratum in one.off_support)
        notes.append(f"only one of the two occurs in {strata}")
    if one.incomplete or one.off_support:
        gap = numbers.points(one.crude_everybody)
        notes.append(f"with them, the gap overall is {gap} points")
    yield Paragraph("; ".join(notes) + ".", Tone.MUTED)


def _p_value(found: Significance | None, alpha: float) -> str:
    if found is None:
        return ""
    text = numbers.probability(found.p, alpha).removeprefix("= ").replace(" ", "")
    return f"{text}{'*' if found.adjusted < alpha else ''}"


def _corrected(inference: Inference) -> str:
    is_raw = inference.correction is Correction.NONE
    return "uncorrected" if is_raw else f"by {inference.correction.words}"


def _tests(one: Reversal, inference: Inference) -> Iterator[str]:
    """The tests of the strata, and of whether they say the same."""
    alpha, found = inference.alpha, one.joined
    with_it, against = one.significant_strata(alpha)
    family = next((s.significance.family for s in one.strata if s.significance), 0)
    how = f"strata with a significant gap (*: {_corrected(inference)} over {family} strata)"
    yield f"{how}: {with_it} the way of the gap overall, {against} the other way"
    text = f"Mantel–Haenszel odds ratio {numbers.number(one.mantel_haenszel_odds_ratio)}"
    if found is None:
        yield text
        return
    if found.odds_low is not None and found.odds_high is not None:
        text += f" [{numbers.number(found.odds_low)}, {numbers.number(found.odds_high)}]"
    yield text
    tests = {
        "one odds ratio in all strata": (found.homogeneity, "Breslow–Day"),
        "gaps of opposite signs": (found.interaction, "Gail–Simon"),
    }
    for what, (p, name) in tests.items():
        if p is not None:
            yield f"{what}: p {numbers.probability(p, alpha)} ({name})"


def _slopes(one: Reversal, text: str) -> Figure:
    """The picture of a reversal; `text` tells it in words."""
    heaviest = sorted(one.strata, key=lambda stratum: -stratum.weight)[: pictures.MOST_LINES]
    kept = [stratum for stratum in one.strata if stratum in heaviest]
    drawn = [
        Slope(numbers.named_group(stratum.stratum), stratum.first.value, stratum.second.value)
        for stratum in kept
    ]
    overall = Slope("overall", one.crude_pair[0].value, one.crude_pair[1].value, strong=True)
    missing = [each.label for each in drawn if not math.isfinite(each.first + each.second)]
    left = pictures.not_shown(len(one.strata) - len(kept), "strata", "those with the fewest people")
    if missing:
        left += f" Without a rate of both: {numbers.first_few(missing)}."
    given = numbers.subset(one.given)
    return Figure(
        f"{metric_titles.title(one.rate, one.of).capitalize()}: {one.pair[0]} against "
        f"{one.pair[1]}, overall and by {given}",
        text + left,
        Slopes(metric_titles.title(one.rate, one.of), one.pair, [overall, *drawn]),
        note=f"Thick: everybody. The others: each {given} by itself.{left}",
    )


def pair(reversal: Reversal) -> str:
    """The two groups of a reversal."""
    first, second = map(names.name, reversal.pair)
    return f"{names.name(reversal.attribute)}: {first} against {second}"
