"""The wording of findings: a limit crossed, an undefined value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fairaudit import names
from fairaudit.cube import Group
from fairaudit.errors import Place
from fairaudit.evidence import ComparisonPart, Side
from fairaudit.evidence.people_affected import PeopleAffected
from fairaudit.metrics import Disparity, GroupMetric, Mean, Rate, find_metric
from fairaudit.metrics.comparisons import COMMON_ODDS_RATIO, MIN_RATIO, SHORTFALL
from fairaudit.metrics.rates import BASE_RATE, SELECTION_RATE
from fairaudit.metrics.terms import Correction, Inference
from fairaudit.report import numbers
from fairaudit.result import AuditResult, Verdict
from fairaudit.simpson import Reversal, ReversalKind
from fairaudit.subgroups import SearchedRate, Subgroup
from fairaudit.verdict import (
    Backing,
    Before,
    Check,
    Crossing,
    Earlier,
    Finding,
    Limit,
    ReversalCheck,
    ReversalLimit,
    Status,
    SubgroupCheck,
    Waived,
)

STATUS = {
    Status.PASS: "PASS",
    Status.WARN: "WARN",
    Status.FAIL: "FAIL",
    Status.INCONCLUSIVE: "INCONCLUSIVE",
    Status.SKIPPED: "SKIPPED",
    Status.WAIVED: "WAIVED",
}
VERDICT = {
    Verdict.PASS: "PASS",
    Verdict.FAIL: "FAIL",
    Verdict.INCONCLUSIVE: "INCONCLUSIVE",
    Verdict.NONE: "NONE",
}
_BEYOND = {
    Backing.NOT_SIGNIFICANT: "not significant: not cleared; these numbers cannot tell it from no "
    "difference",
    Backing.NOT_CONCLUSIVE: "not conclusive: not cleared; the interval lies on both sides of the "
    "limit",
    Backing.UNTESTED: "not tested: not cleared",
    Backing.ONLY_TOGETHER: "not significant: not cleared",
}
"""What a limit says of a value beyond it without the evidence that it asks for."""
_WITHIN = {
    Backing.NOT_CONCLUSIVE: "within the limit, not conclusive: the interval lies on both sides of "
    "the limit",
    Backing.SIGNIFICANT_WITHIN: "within the limit, but significant: a p-value so small would be "
    "unusual if the groups were treated alike",
}
KIND = {
    ReversalKind.EVERY_STRATUM: "reversed in every stratum",
    ReversalKind.ADJUSTED: "reversed after adjustment",
    ReversalKind.MOST_PEOPLE: "reversed for most people",
    ReversalKind.MASKED: "a gap hidden in the aggregate",
    ReversalKind.EXPLAINED: "a gap that goes with the mix of strata",
}
_BESIDE = {
    "alike in every stratum": "no stratum has a gap",
    "no difference in either rate": "neither rate differs",
}
_LABEL = "label"
_FEW = 5
MISLEADING_RATE = 0.1
"""Below this reference rate a ratio is shown with the difference beside it."""


def title(finding: Finding) -> str:
    """What was asked: the measure, its reference, the groups and the strata."""
    check = finding.check
    if isinstance(check, ReversalCheck):
        return f"Simpson's reversals of {title_of(check.rate, check.of)}"
    if isinstance(check, SubgroupCheck):
        rate = title_of(check.rate, check.of)
        return f"Subgroups, divergence in {rate} of the {names.name(check.of)}"
    asked = check.asked
    words = [f"{heading_of(asked.id, check.of, asked.title)} of the {names.name(check.of)}"]
    to = ""
    if check.terms.reference is not None:
        named = (
            numbers.named_group(check.terms.reference.group) if check.terms.reference.group else ""
        )
        to = f"to {named or check.terms.reference.policy}"
    elif isinstance(asked, Disparity) and asked.reference and asked.has_other_side:
        to = f"to the {asked.reference} group"
    if isinstance(asked, Disparity) and asked.id == asked.parts[0][0].id:
        # A rate that the spec compares: the rate is the name, the comparison what is done to it.
        rate = heading_of(asked.id, check.of, asked.parts[0][0].title)
        words = [f"{rate} of the {names.name(check.of)}"]
        to = f"{asked.comparison.id.replace('_', ' ')} {to}".rstrip()
    words += [to] if to else []
    if isinstance(asked, Disparity) and asked.mean:
        words.append("mean over groups")
    words += [f"{name} {value}" for name, value in check.terms.parameters.as_texts().items()]
    if check.terms.of_class is not None:
        words.append(f"class {names.name(check.terms.of_class)}")
    if check.terms.at is not None:
        words.append(f"at a score of {check.terms.at}")
    if check.against is not None:
        words.append(f"less that of {names.name(check.against)}")
    words.append(f"by {numbers.subset(check.by)}")
    if check.given:
        averaged = (
            f" (averaged, {names.line(str(check.terms.average))})" if check.terms.average else ""
        )
        words.append(f"given {numbers.subset(check.given)}{averaged}")
    return ", ".join(words)


def id_of(finding: Finding) -> str:
    """The id of a check in a sentence: exact, but for signs that do not print."""
    return names.copied(finding.check.id)


def place(one: Place) -> str:
    """The line of the spec that asks: `loans.yaml:27`."""
    return f"{names.copied(one.file)}:{one.line}"


def answer(finding: Finding) -> str:
    """The finding in one sentence: what is found, what is waived of it, what it was before."""
    sentence = _found(finding)
    sentence += "".join(f"; {waived(one, finding)}" for one in finding.waived)
    told = finding.before and _before(finding, finding.before)
    return f"{sentence}; {told}" if told else sentence


def _found(finding: Finding) -> str:
    if isinstance(finding.check, ReversalCheck):
        return _reversals(finding)
    if finding.estimate is None or not isinstance(finding.limit, Limit):
        return f"not evaluated: {_reasons(finding)}"
    if finding.estimate.suppressed:
        return finding.why or numbers.SUPPRESSED
    signed = _signed(finding)
    assert signed.estimate is not None
    assert isinstance(signed.limit, Limit)
    value = numbers.against(signed.estimate.value, signed.limit, signed.estimate.exact)
    where = f" in {numbers.named_group(finding.stratum)}" if finding.stratum else ""
    about = f"{_sides(finding)}{where}".strip()
    if about and (how := _made_otherwise(finding)):
        about += f" ({how})"
    sentence = f"{about}: " if about else ""
    sentence += f"{value}{_interval(signed)} {relation(signed)}{_test(finding)}"
    sentence += _difference_beside(finding)
    if said := evidence(finding):
        sentence += f"; {said}"
    others = [_crossing(one) for one in finding.crossed if not _is_told(one, finding)]
    if others:
        more = f" and {len(others) - _FEW} more" if len(others) > _FEW else ""
        sentence += f"; also beyond a bound: {', '.join(others[:_FEW])}{more}"
    open_strata = [one for one in finding.not_evaluated if one.stratum and not one.group]
    if open_strata:
        strata = "stratum is" if len(open_strata) == 1 else "strata are"
        sentence += f"; {len(open_strata)} {strata} not judged"
    if finding.why:
        sentence += f"; {finding.why}"
    return sentence + _missing(finding)


def _made_otherwise(finding: Finding) -> str:
    """How the value comes of the rates beside it, where it is not their plain comparison."""
    check = finding.check
    if not isinstance(check, Check):
        return ""
    if check.terms.parameters.as_texts().get("smoothing"):
        return "before smoothing"
    comparison = check.asked.comparison if isinstance(check.asked, Disparity) else None
    if comparison is SHORTFALL:
        return SHORTFALL.formula
    return "the odds are joined within strata" if comparison is COMMON_ODDS_RATIO else ""


def _signed(finding: Finding) -> Finding:
    """The finding of a subgroup below everybody with its sign; its value is a size."""
    check, estimate, limit = finding.check, finding.estimate, finding.limit
    found = finding.subgroup
    if not isinstance(check, SubgroupCheck) or found is None or found.divergence >= 0:
        return finding
    assert estimate is not None
    assert isinstance(limit, Limit)
    turned = replace(
        estimate,
        value=-estimate.value,
        exact=None if estimate.exact is None else -estimate.exact,
        low=None if estimate.high is None else -estimate.high,
        high=None if estimate.low is None else -estimate.low,
    )
    check = replace(check, fail=check.fail and _turned_limit(check.fail))
    return replace(finding, check=check, estimate=turned, limit=_turned_limit(limit))


def _turned_limit(limit: Limit) -> Limit:
    """A limit above, for values of the other sign."""
    return replace(limit, below=None if limit.above is None else -limit.above, above=None)


def evidence(finding: Finding) -> str:
    """What the evidence says of a value beside its limit; empty where nothing is asked of it."""
    if not finding.not_cleared:
        return _WITHIN.get(finding.backing, "")
    if finding.backing is Backing.NOT_SIGNIFICANT and _differs_elsewhere(finding):
        return (
            "beyond the limit, not significant: not cleared; the groups differ, but of no pair "
            "beyond the limit a difference is significant"
        )
    if finding.backing in _BEYOND:
        return f"beyond the limit, {_BEYOND[finding.backing]}"
    # The limit that warns decides, and the one that fails is crossed, too.
    return f"beyond the limit that fails ({finding.check.fail}), without that evidence: not cleared"


def _differs_elsewhere(finding: Finding) -> bool:
    """Whether groups differ significantly, though not those whose value is beyond the limit."""
    found = None if finding.estimate is None else finding.estimate.significance
    return found is not None and found.adjusted < finding.check.inference.alpha


def _missing(finding: Finding) -> str:
    """What values that are not known could do, in half a sentence; empty where all are known."""
    found = finding.missing
    if found is None:
        return ""
    crowds = [(found.missing_outcome, "a label or outcome"), (found.missing_group, "a group")]
    people = " and ".join(
        f"{numbers.whole(n)} {'person lacks' if n == 1 else 'people lack'} {what}"
        for n, what in crowds
        if n
    )
    if found.low is None or found.high is None:
        return f"; {people}: no bounds, as {found.reason}"
    text = ""
    if people:
        ends = f"between {numbers.number(found.low)} and {numbers.number(found.high)}"
        text = f"; {people}: {ends}, whatever the missing values are"
    if finding.status is Status.FAIL:
        # Whoever else may be beyond a bound: a check that fails cannot fail the more.
        return text + ("; were they known, the check might not fail" if found.turns else "")
    if found.others and found.turns:
        whom = [
            " in ".join(numbers.named_group(part) for part in (one.group, one.stratum) if part)
            for one in found.others[:_FEW]
        ]
        more = f" and {len(found.others) - _FEW} more" if len(found.others) > _FEW else ""
        named = f"{'; '.join(filter(None, whom))}{more}"
        text += f"; what is missing could put {named} beyond a bound" if named else ""
    return text + (", which could turn the verdict" if found.turns else "")


def missing_bounds(finding: Finding) -> Iterator[str]:
    """What values that are not known could do, and where missing people would have to belong."""
    text = _missing(finding).removeprefix("; ")
    if text:
        yield text
    found = finding.missing
    if found is None:
        return
    ways = (
        ("people of no known group left where they are counted", found.apart_low, found.apart_high),
        (
            "people of no known group spread over the groups by size",
            found.proportional_low,
            found.proportional_high,
        ),
    )
    for what, low, high in ways:
        if low is not None and high is not None:
            ends = dict.fromkeys((numbers.number(low), numbers.number(high)))
            yield f"{what}: {' to '.join(ends)}"


def waived(one: Waived, finding: Finding) -> str:
    """Who waives what of a check, until when and why; the value, where the sentence has another."""
    whose = numbers.named_group(one.group) if one.group else "all of it"
    values = [_crossing(each) for each in one.crossed if each not in finding.crossed]
    named = f" ({_few(values)})" if values else ""
    until = f"until {one.expires}, approved by {names.line(one.approved_by)}"
    return f"waived for {whose}{named} {until}: {names.line(one.reason)}"


def _before(finding: Finding, before: Before) -> str:
    """How a check that is beyond its limit stands to the baseline; empty where it is not."""
    if before.worse or before.reversals:
        only_warned = before.status == Status.WARN and not (before.worse_by or 0) > 0
        passed = {Status.PASS, Status.SKIPPED, Status.INCONCLUSIVE, Status.WAIVED}
        if only_warned or before.status in passed:
            return f"before: {before.status}, {_made(before.earlier)}"
        both = zip(before.worse, before.own_worse, strict=True)
        values = [_worse(now, own) for now, own in both]
        values += [pair(one) for one in before.reversals]
        worst = _earlier_worst(finding, before)
        return f"worse than before: {_few(values)}{worst}, {_when(before)}"
    beyond = finding.crossed or finding.reversals
    if not beyond or finding.status is Status.WAIVED or not _fails(finding):
        return ""
    others = " against ".join(map(numbers.named_group, before.between))
    moved = f"; previously between other groups: {others}" if others else ""
    return f"as before: {_against(finding, before)}{moved}"


def _worse(now: Crossing, own: float | None) -> str:
    """A value beyond the limit beside what the same group, or spread, had in the baseline."""
    then = "no value before" if own is None else f"{numbers.number(own)} before"
    return f"{_crossing(now)} ({then})"


def _earlier_worst(finding: Finding, before: Before) -> str:
    """Who decided the check in the baseline, where that was not who does now."""
    if before.value is None or not before.decided_by or before.is_decided_alike(finding):
        return ""
    if finding.spread and frozenset(before.stratum) == frozenset(finding.stratum):
        return f"; then {earlier_witness(before)}"  # the value is that of the same spread
    return f"; the worst before: {earlier_witness(before)} {numbers.number(before.value)}"


def earlier_witness(before: Before) -> str:
    """The groups that decided a check in the baseline, and their stratum."""
    groups = " against ".join(map(numbers.named_group, before.decided_by))
    stratum = f" in {numbers.named_group(before.stratum)}" if before.stratum else ""
    return f"{groups}{stratum}"


def _fails(finding: Finding) -> bool:
    """Whether the limit that is crossed is the one that fails."""
    return finding.check.fail is not None and finding.limit == finding.check.fail


def _against(finding: Finding, before: Before) -> str:
    if finding.reversals:
        return _when(before)
    now = math.nan if finding.estimate is None else finding.estimate.value
    then = math.nan if before.own is None else before.own
    values = f"{numbers.number(now)} against {numbers.number(then)}"
    worst = "" if before.between else _earlier_worst(finding, before)
    return f"{values} {_when(before)}{worst}"


def _when(before: Before) -> str:
    return f"{_made(before.earlier)}, tolerance {before.earlier.tolerance}"


def _made(earlier: Earlier) -> str:
    return f"on {earlier.created[:10]} ({age(earlier)})"


def age(earlier: Earlier) -> str:
    """How old a baseline is: `today`, `12 days ago`."""
    days = abs(earlier.days)
    if not days:
        return "today"
    text = f"{numbers.whole(days)} {'day' if days == 1 else 'days'}"
    return f"{text} ago" if earlier.days > 0 else f"{text} after this run"


def crossings(beyond: Sequence[Crossing]) -> str:
    """Who is beyond a limit, with their values: the first few, and how many more."""
    return _few([_crossing(one) for one in beyond])


def _few(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _FEW} more" if len(texts) > _FEW else ""
    return ", ".join(texts[:_FEW]) + more


def _few_of(texts: Sequence[str]) -> list[str]:
    """The first of several texts, and how many more there are."""
    more = len(texts) - _FEW
    return [*texts[:_FEW], *([f"and {more} more"] if more > 0 else [])]


def _is_told(one: Crossing, finding: Finding) -> bool:
    """Whether a crossing is the one that the sentence is about."""
    return one.stratum == finding.stratum and one.group in {(), finding.first}


def _crossing(one: Crossing) -> str:
    where = [numbers.named_group(part) for part in (one.group, one.stratum) if part]
    value = -one.value if one.lower else one.value
    return f"{' in '.join(where)} {numbers.number(value)}".strip()


def _sides(finding: Finding) -> str:
    """Who is compared with whom, with both rates."""
    check = finding.check
    if isinstance(check, SubgroupCheck) and finding.subgroup is not None:
        found = finding.subgroup
        named = f"{numbers.named_group(found.group)} {title_of(check.rate, check.of)}"
        return f"{named} {_rate_of(found)} against everybody {numbers.percent(found.everybody)}"
    if isinstance(check, Check) and isinstance(check.asked, GroupMetric) and finding.estimate:
        behind = numbers.counts(finding.estimate)
        return numbers.named_group(finding.first) + (f" ({behind})" if behind else "")
    if isinstance(check, Check) and isinstance(check.asked, Disparity) and check.asked.mean:
        return check.asked.aggregate
    deciding = [_on_top_first(part, finding) for part in _deciding(finding)]
    parts = [_part(part, check.of) for part in deciding]
    return "; ".join(parts) or witness(finding.first, finding.second, None)


def _on_top_first(part: ComparisonPart, finding: Finding) -> ComparisonPart:
    """The part with the side first that stands on top of a quotient: the lower, of the least."""
    comparison = getattr(getattr(finding.check, "asked", None), "comparison", None)
    first, second = part.first, part.second
    if comparison is not MIN_RATIO or first is None or second is None:
        return part
    is_turned = first.estimate.value > second.estimate.value
    return replace(part, first=second, second=first) if is_turned else part


def _deciding(finding: Finding) -> tuple[ComparisonPart, ...]:
    """The parts to tell: the one that attains the value, or all of them where all count."""
    if finding.estimate is None or len(finding.parts) < 2:  # one part is told
        return finding.parts
    same = [
        part
        for part in finding.parts
        if part.value == finding.estimate.value and part.first and part.second
    ]
    return tuple(same[:1]) or finding.parts


def _part(part: ComparisonPart, of: str) -> str:
    whose = f"{part.metric}: " if find_metric(part.metric) is None else ""
    head = f"{whose}share of {numbers.outcome(part.outcome)}: " if part.outcome else ""
    if part.first is not None and part.second is None:
        return f"{title_of(part.metric)} {_side(part.first, part.metric)}"
    if part.first is None or part.second is None:
        return f"{title_of(part.metric, of)} {numbers.number(part.value)}"
    name = "" if part.outcome else f"{title_of(part.metric, of)} "
    return f"{head}{name}{_side(part.first, part.metric)} against {_side(part.second, part.metric)}"


def _side(side: Side, metric: str) -> str:
    who = side.crowd or numbers.named_group(side.group)
    return f"{who} {numbers.rate(side.estimate, share=is_share(metric))}"


def _interval(finding: Finding) -> str:
    estimate = finding.estimate
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    assert isinstance(finding.limit, Limit)
    ends = (numbers.against(end, finding.limit) for end in (estimate.low, estimate.high))
    return f" [{', '.join(ends)}]"


def _test(finding: Finding) -> str:
    """The test of no disparity: its p-value, and that among all the tests of the family."""
    check, found = finding.check, None
    if finding.estimate is not None:
        found = finding.estimate.significance
    if found is None or isinstance(check, ReversalCheck):
        return ""
    alpha = check.inference.alpha
    one = f", p of no disparity {numbers.probability(found.p, alpha)} ({numbers.test(found)}"
    if found.family > 1:
        adjusted = numbers.probability(found.adjusted, alpha).removeprefix("= ")
        how = f"by {found.correction} over" if found.correction != "none" else "uncorrected, one of"
        one += f"; {adjusted} {how} {found.family} tests"
    if found.beside is None:
        return f"{one})"
    beside = f"p {numbers.probability(found.beside.p, alpha)} ({found.beside.test})"
    return f"{one}); test that {beside_words(found.beside.hypothesis)}: {beside}"


def beside_words(hypothesis: str) -> str:
    """What a test beside the first one tests, as a clause."""
    return _BESIDE.get(hypothesis, hypothesis)


def in_practice(finding: Finding) -> Iterator[str]:
    """A gap told in people, and how much of it rests on how few."""
    people_affected = finding.practice
    if people_affected is None:
        return
    is_open = finding.not_cleared or finding.status is not Status.PASS
    if is_open and people_affected.to_parity:
        how = "more than at" if people_affected.burden else "short of"
        people = "person" if people_affected.to_parity == 1 else "people"
        people = (
            f"{_whose_people(finding)}{numbers.whole(people_affected.to_parity)} {people} {how} "
        )
        people += "the other group's rate"
        if people_affected.to_limit is not None:
            limit = "more than the limit allows" if people_affected.burden else "short of the limit"
            people += f", {numbers.whole(people_affected.to_limit)} {limit}"
        yield people
    if people_affected.flips and is_open:
        yield "unstable: one selection moved from one group to the other turns the gap round"


def at_both_rates(people_affected: PeopleAffected) -> str:
    """The people of a gap, were both groups at the rate of both together."""
    what = "too many" if people_affected.burden else "too few"
    return f"at the rate of both together: {people_affected.shortfall:,.1f} people {what}"


def _whose_people(finding: Finding) -> str:
    """The side that the people of a gap belong to: the one with fewer of what is good."""
    people_affected, part = finding.practice, finding.parts[0]
    assert people_affected is not None
    assert part.first is not None
    assert part.second is not None
    sides = sorted((part.first, part.second), key=lambda side: side.estimate.value)
    side = sides[-1] if people_affected.burden else sides[0]
    return f"{side.crowd or numbers.named_group(side.group)}: "


def thin(finding: Finding) -> str | None:
    """What a pass on few people may have missed."""
    found = finding.detectable
    if found is None:
        return None
    sides = [
        f"{numbers.points(abs(side)).removeprefix('+')} points {way}"
        for side, way in ((found.down, "below"), (found.up, "above"))
        if not math.isnan(side)
    ]
    who = " in ".join(numbers.named_group(one) for one in (found.group, found.stratum) if one)
    size = f"{numbers.whole(found.n)} against {numbers.whole(found.m)} people"
    power = 100 * found.power
    level = "" if found.level is None else f", at level {f'{found.level:.3g}'.removeprefix('0')}"
    if not sides:
        gap = "no gap to the other rate, however wide, would be found in"
        return f"{who}, {size}: {gap} {power:g} % of such samples{level}"
    gap = f"a gap of less than {' or '.join(sides)} would be found in fewer than"
    return f"{who}, {size}: {gap} {power:g} % of such samples{level}"


def relation(finding: Finding) -> str:
    """`< 0.8` where the limit is crossed, `(fails below 0.8)` where it is not."""
    limit, estimate = finding.limit, finding.estimate
    assert isinstance(limit, Limit)
    assert estimate is not None
    if not finding.crossed and not limit.crossed(estimate.value, estimate.exact):
        word = "fails" if _fails(finding) else "warns"
        return f"({word} {limit})"
    too_low = limit.below is not None and estimate.value < float(limit.below) + 1e-9
    if too_low and (limit.above is None or estimate.value <= float(limit.above)):
        return f"< {limit.below}"
    return f"> {limit.above}"


def _difference_beside(finding: Finding) -> str:
    """The difference beside a ratio of no shares, or of small ones, which ratios exaggerate."""
    check, parts = finding.check, _deciding(finding)
    if not isinstance(check, Check) or isinstance(check.asked, GroupMetric) or not parts:
        return ""
    comparison = getattr(check.asked, "comparison", None)
    first, second = parts[0].first, parts[0].second
    if comparison is None or not comparison.quotient or first is None or second is None:
        return ""
    base = max(first.estimate.value, second.estimate.value) if finding.spread else (
        second.estimate.value
    )  # fmt: skip
    gap = first.estimate.value - second.estimate.value
    if not is_share(parts[0].metric):
        return f" (difference {numbers.number(gap, 2)})"
    if math.isnan(base) or base >= MISLEADING_RATE:
        return ""
    return f" (at rates this small look at the difference: {numbers.points(gap)} points)"


def _reasons(finding: Finding) -> str:
    reasons = dict.fromkeys(one.reason for one in finding.not_evaluated if one.blocks)
    return "; ".join(reasons) or finding.why or "there is nothing to evaluate"


def _reversals(finding: Finding) -> str:
    if not finding.reversals and finding.status not in {Status.PASS, Status.INCONCLUSIVE}:
        return numbers.SUPPRESSED
    if finding.status is Status.INCONCLUSIVE and not finding.reversals:
        return finding.why
    limit = finding.limit
    assert isinstance(limit, ReversalLimit)
    if not finding.reversals:
        return f"no reversal of kind {limit.kind} or stronger"
    text = "; ".join(_few_of([_turned(one, finding) for one in finding.reversals]))
    if finding.not_cleared:
        text += f"; {evidence(finding)}"
    return text


def _turned(one: Reversal, finding: Finding) -> str:
    """A reversal in a few words, with its p-value, or why it has none."""
    text = f"{pair(one)}, given {' and '.join(map(names.name, one.given))}, {KIND[one.kind]}"
    if one.significance is None:
        return text
    if one.hangs_on_weights:
        return f"{text} (not established: the sign of the adjusted gap depends on the weights)"
    alpha = finding.check.inference.alpha
    said = f"adjusted p {numbers.probability(one.significance.adjusted, alpha)}"
    if not one.is_significant(alpha):
        said += ", not established"
    return f"{text} ({said})"


def pair(one: Reversal) -> str:
    """The two groups of a reversal."""
    first, second = map(names.name, one.pair)
    return f"{names.name(one.attribute)}: {first} against {second}"


def subgroup(one: Subgroup, searched: SearchedRate, inference: Inference) -> str:
    """A subgroup in one sentence of numbers, with the groups it is part of."""
    low, high = (f"{100 * end:.1f}" for end in one.ends)
    more = "more" if one.divergence >= 0 else "less"
    is_raw = inference.correction is Correction.NONE
    adjusted, uncorrected = ("p", ", uncorrected") if is_raw else ("adjusted p", "")
    text = (
        f"{numbers.named_group(one.group)}: {title_of(searched.rate, searched.of)} "
        f"{_rate_of(one)}, "
        f"{numbers.percent(one.share)} of those it is taken over; "
        f"{100 * abs(one.divergence):.1f} points {more} than everybody "
        f"({numbers.percent(one.everybody)}) [{low}, {high}], {adjusted} "
        f"{numbers.probability(one.adjusted, inference.alpha)} ({one.test}{uncorrected})"
    )
    parts = [
        f"{numbers.named_group(part.group)} {numbers.points(part.divergence)}" for part in one.parts
    ]
    return f"{text}; its parts: {'; '.join(parts)}." if parts else f"{text}."


def _rate_of(one: Subgroup) -> str:
    counts = f"{numbers.whole(one.over)}/{numbers.whole(one.under)}"
    return f"{numbers.percent(one.value)} ({counts})"


def title_of(metric: str, of: str = "") -> str:
    """A metric's title in running text: `selection rate`, of the label `base rate`."""
    record = find_metric(metric)
    name = metric.replace("_", " ") if record is None else record.title
    return heading_of(metric, of, name).lower()


def heading_of(metric: str, of: str, title: str) -> str:
    """A rate's title beside its outcome: nobody is selected by a label such as an income."""
    return BASE_RATE.title if (metric, of) == (SELECTION_RATE.id, _LABEL) else title


def is_share(metric: str) -> bool:
    """Whether a rate is a share, to be written in per cent; false negatives per positive is not."""
    record = find_metric(metric)
    if not isinstance(record, GroupMetric):
        return True
    return isinstance(record, Rate | Mean) and record.bounds == (0, 1)


def said(parameters: Mapping[str, object], averaged: Sequence[str] = ()) -> str:
    """What an entry says beside its measure, in a few words; empty where it says nothing.

    `averaged` are the columns over whose strata a rate was averaged.
    """
    words = {"at": "at a score of", "class": "of class", "average": "averaged,"}
    found = [f"{words.get(name, name)} {_listed(value)}" for name, value in parameters.items()]
    if averaged:
        found.append(f"over {numbers.subset(tuple(averaged))}")
    return f" ({'; '.join(found)})" if found else ""


def _listed(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{names.name(name)} {number:g}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(names.name(str(one)) for one in value)
    return f"{value:g}" if isinstance(value, float) else names.line(str(value))


def short_of(name: str) -> str:
    """A rate by its short name (`TPR`); an outcome by its own."""
    record = find_metric(name)
    return record.short if record is not None and record.short else names.name(name)


def not_judged(finding: Finding) -> Iterator[str]:
    """Whom a check left out, a line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for one in finding.not_evaluated:
        if not one.blocks:
            who = [numbers.named_group(part) for part in (one.group, one.stratum) if part]
            detail = f" ({one.detail})" if one.detail else ""
            by_reason.setdefault(one.reason, []).append(" in ".join(who) + detail)
    for reason, groups in by_reason.items():
        more = f" and {len(groups) - _FEW} more" if len(groups) > _FEW else ""
        whom = f"{'; '.join(groups[:_FEW])}{more}"
        yield f"{id_of(finding)}: {reason}{f': {whom}' if whom else ''}"


def witness(first: Group, second: Group, decided_by: str | None) -> str:
    """The worst pair of a lattice cell, in as few words as it takes."""
    if not first and not second:
        return ""
    text = f"{numbers.group(first)} / {numbers.group(second)}" if second else numbers.group(first)
    return f"{text} ({short_of(decided_by)})" if decided_by else text


def outcome(result: AuditResult) -> str:
    """How many checks came out how, the worst first; what did not occur is not told."""
    words = {
        Status.FAIL: "failed",
        Status.INCONCLUSIVE: "inconclusive",
        Status.WARN: "warned",
        Status.WAIVED: "waived",
        Status.SKIPPED: "skipped",
        Status.PASS: "passed",
    }
    counts = {**result.tally, Status.WAIVED: result.waived}
    found = [f"{counts[one]} {word}" for one, word in words.items() if counts[one]]
    return f"{_checks(result)}: {', '.join(found)}{_not_cleared(result)}"


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
    parts.append(f"{result.waived} waived")
    if found[Status.SKIPPED]:
        parts.append(f"{found[Status.SKIPPED]} skipped")
    return f"{_checks(result)}: {', '.join(parts)}{_not_cleared(result)}"


def _not_cleared(result: AuditResult) -> str:
    """How many of the checks are beyond a limit without the evidence that it asks for."""
    return f"; {result.not_cleared} not cleared" if result.not_cleared else ""


def _checks(result: AuditResult) -> str:
    total = len(result.findings)
    return f"{total} {'check' if total == 1 else 'checks'}"
