"""Simpson's reversals, each in one sentence of numbers, and with the strata that prove it."""

from __future__ import annotations

from collections.abc import Iterator

from fairaudit import names
from fairaudit.estimate import Significance
from fairaudit.metrics.inference import Inference
from fairaudit.report import figures, numbers, sentences
from fairaudit.report.blocks import Block, Cell, Entries, Facts, Heading, Paragraph, Table, Tone
from fairaudit.result import AuditResult
from fairaudit.simpson import Kind, Reversal, Share

_FULL = 3
"""So many reversals are shown with their strata, and so many notes."""
_DRAWN = 12
"""So many reversals have a picture, however long the report."""
_TOLD = 6
"""So many reversals are told at all, where the report is short."""
_DIGITS = 9
_ROUNDING = 10**-_DIGITS
"""Two parts of a gap that are closer than this are one."""
_WHOSE = {Kind.MASKED: "in the strata: ", Kind.EXPLAINED: "overall: "}
"""Which gap the test of a note is about."""


def section(result: AuditResult, *, is_short: bool) -> Iterator[Block]:
    """The reversals that matter most with their strata, the others and the notes in words."""
    yield Heading("Simpson's reversals")
    found = result.reversals
    if not found:
        yield Paragraph(_none(result.compared))
        return
    inference = result.provenance.inference
    turned = [one for one in found if one.kind.reverses]
    notes = [one for one in found if not one.kind.reverses]
    told = turned[:_TOLD] if is_short else turned
    for at, one in enumerate(told):
        yield Entries([entry(one, Tone.WARN, inference)])
        if not one.suppressed and (at < _FULL or not is_short):
            if at < _DRAWN:
                yield figures.slopes(one, sentence(one, inference.alpha))
            yield from proof(one, inference)
    noted = notes[:_FULL] if is_short else notes
    if noted:
        yield Entries([entry(one, Tone.MUTED, inference) for one in noted])
    if more := [*turned[len(told) :], *notes[len(noted) :]]:
        sure = sum(one.is_significant(inference.alpha) for one in more)
        yield Paragraph(
            f"and {numbers.whole(len(more))} more, {numbers.whole(sure) if sure else 'none'} of "
            "them significant: --verbose, or -o report.json, tells them all",
            Tone.MUTED,
        )
    kinds = sorted({one.kind for one in found}, key=lambda kind: -kind.strength)
    yield Facts([(sentences.KIND[kind], kind.means) for kind in kinds])
    yield Paragraph(_reading(result), Tone.MUTED)


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
    """A reversal behind the word for its kind."""
    return Cell(sentences.KIND[one.kind], tone), sentence(one, inference.alpha)


def _reading(result: AuditResult) -> str:
    """How to read the numbers of the section."""
    text = (
        "The same mix: strata weighed by both groups together. The two parts of a gap are taken "
        "at the mean of both groups' mixes, so that they add up to it. A reversal is as sure as "
        "the less sure of its two gaps, overall and in the strata."
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
    """A reversal, or a note, in one sentence of numbers."""
    first, second = map(names.name, one.pair)
    named = f"{first} against {second}, {sentences.title_of(one.rate, one.of)}"
    if one.suppressed:
        return f"{named}, given {_given(one)}: the numbers are suppressed."
    words = {Kind.MASKED: _masked, Kind.EXPLAINED: _explained}.get(one.kind, _reversed)
    return f"{named}: {words(one)}{_sureness(one, alpha)}."


def _reversed(one: Reversal) -> str:
    """The gap overall and in the strata, and what of it is the mix and what the strata."""
    way, other = ("higher", "lower") if one.crude > 0 else ("lower", "higher")
    text = f"{way} overall, {_overall(one)}, but {other} in {_where(one)}"
    mix = f"at the same mix of {_given(one)} ({_same_mix(one)})"
    if one.kind is Kind.EVERY_STRATUM:
        return f"{text}: {_parts(one)}"
    if one.kind is Kind.ADJUSTED:
        text += f", and {mix}"
    elif one.standardized * one.crude > 0:
        text += f", though {way} {mix}"
    else:
        text += f", and {other if one.standardized else 'no gap'} {mix}"
    return f"{text}: {_parts(one)}"


def _masked(one: Reversal) -> str:
    way = "higher" if one.standardized > 0 else "lower"
    mix = f"{way} at the same mix of {_given(one)} ({_same_mix(one)})"
    return f"hardly a gap overall, {_overall(one)}, but {mix}: {_parts(one)}"


def _explained(one: Reversal) -> str:
    way = "higher" if one.crude > 0 else "lower"
    mix = f"hardly so at the same mix of {_given(one)} ({_same_mix(one)})"
    return f"{way} overall, {_overall(one)}, but {mix}: {_parts(one)}"


def _given(one: Reversal) -> str:
    return " and ".join(map(names.name, one.given))


def _overall(one: Reversal) -> str:
    return f"{share(one.crude_pair[0])} against {share(one.crude_pair[1])}"


def _same_mix(one: Reversal) -> str:
    first, second = (numbers.percent(value) for value in one.standardized_pair)
    return f"{first} against {second}"


def _where(one: Reversal) -> str:
    """In which strata the gap points the other way."""
    count, strata = one.reversed_strata, one.estimable_strata
    if count == strata:
        whole = {1: "the only stratum", 2: "both strata"}.get(strata, f"all {strata} strata")
        return f"{whole} of {_given(one)}"
    people = numbers.percent(one.opposite_weight)
    return f"{count} of {strata} strata of {_given(one)}, with {people} of the people"


def _parts(one: Reversal) -> str:
    """What the mix of strata accounts for, and what is left within them."""
    composition, gap, within = _points(one.composition, one.crude, one.within)
    how = f"how the two spread over {_given(one)} accounts for {composition} points"
    more = abs(one.composition) - abs(one.crude)
    if one.composition * one.crude <= 0:
        sign = "+" if one.composition > 0 else "-"
        how = (
            f"how the two spread over {_given(one)} alone would make it {sign}{composition} points"
        )
    elif abs(more) < _ROUNDING:
        how = f"how the two spread over {_given(one)} accounts for the whole gap of {gap} points"
    elif more > 0:
        how += f", more than the whole gap of {gap}"
    else:
        how += f" of the gap of {gap}"
    if not float(within):
        return f"{how}; within {_given(one)} nothing is left"
    way = "higher" if one.within > 0 else "lower"
    return f"{how}; within {_given(one)} {names.name(one.pair[0])} is {within} points {way}"


def _points(*values: float) -> list[str]:
    """Sizes in percentage points, at as many decimals as it takes to tell unequal ones apart."""
    sizes = [round(abs(value), _DIGITS) * 100 for value in values]
    for digits in range(1, 6):
        texts = [f"{size:.{digits}f}" for size in sizes]
        if len(set(texts)) == len(set(sizes)):
            break
    return texts


def _sureness(one: Reversal, alpha: float) -> str:
    """How well chance explains it, by its adjusted p-value."""
    found = one.significance
    if found is None:
        return ""
    among = f", {numbers.whole(found.family)} comparisons" if found.family > 1 else ""
    return f" ({_WHOSE.get(one.kind, '')}p {numbers.probability(found.adjusted, alpha)}{among})"


def share(one: Share) -> str:
    """A rate with its counts, or under survey weights with its people."""
    behind = f"{numbers.whole(one.over)}/{numbers.whole(one.under)}"
    if one.scale != 1:
        behind = f"n = {numbers.whole(one.n)}"
    return f"{numbers.percent(one.value)} ({behind})"


def proof(one: Reversal, inference: Inference) -> Iterator[Block]:
    """The strata of a reversal, and what else a reader should know of it."""
    first, second = map(names.name, one.pair)
    yield Table(
        f"{sentences.title_of(one.rate, one.of)} of {names.name(one.attribute)}, given "
        f"{_given(one)}",
        (numbers.subset(one.given), first, second, "diff.", "weight", "p"),
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
    notes = list(_tests(one, inference))
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


def _tests(one: Reversal, inference: Inference) -> Iterator[str]:
    """The tests of the gap overall, of the strata, and of whether they say the same."""
    alpha, found = inference.alpha, one.joined
    if one.crude_p is not None:
        yield f"the gap overall: p {numbers.probability(one.crude_p, alpha)}"
    with_it, against = one.significant_strata(alpha)
    how = f"strata with a significant gap (*, {inference.correction.words} among them)"
    yield f"{how}: {with_it} the way of the gap overall, {against} the other way"
    text = f"Mantel–Haenszel odds ratio {numbers.number(one.mantel_haenszel_odds_ratio)}"
    if found is None:
        yield text
        return
    if found.odds_low is not None and found.odds_high is not None:
        text += f" [{numbers.number(found.odds_low)}, {numbers.number(found.odds_high)}]"
    if found.difference is not None:
        text += f", difference {numbers.points(found.difference)} points"
        if found.difference_low is not None and found.difference_high is not None:
            ends = (found.difference_low, found.difference_high)
            text += f" [{', '.join(map(numbers.points, ends))}]"
    if found.p is not None:
        text += f", p {numbers.probability(found.p, alpha)} (Cochran–Mantel–Haenszel)"
    yield text
    tests = {
        "one odds ratio in all strata": (found.homogeneity, "Breslow–Day"),
        "gaps of one sign alone": (found.interaction, "Gail–Simon"),
    }
    for what, (p, name) in tests.items():
        if p is not None:
            yield f"{what}: p {numbers.probability(p, alpha)} ({name})"
