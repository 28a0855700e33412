"""What backs a finding, in words: its test, missing values, people affected, who was not judged."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairaudit import names
from fairaudit.evidence import Side
from fairaudit.evidence.people_affected import PeopleAffected
from fairaudit.metrics.definitions import NO_DISPARITY
from fairaudit.report import baseline, numbers
from fairaudit.verdict import Backing, Check, Finding, ReversalCheck, Status, SubgroupCheck

_BEYOND = {
    Backing.NOT_SIGNIFICANT: "not significant: not cleared; these numbers cannot tell it from "
    "{hypothesis}",
    Backing.NOT_CONCLUSIVE: "not conclusive: not cleared; the interval lies on both sides of the "
    "limit",
    Backing.UNTESTED: "not tested: not cleared",
    Backing.ONLY_TOGETHER: "not significant: not cleared",
}
"""What is said of a value beyond its limit that lacks the required evidence."""
_WITHIN = {
    Backing.NOT_CONCLUSIVE: "within the limit, not conclusive: the interval lies on both sides of "
    "the limit",
    Backing.SIGNIFICANT_WITHIN: "within the limit, but significant: a p-value this small would be "
    "unusual if there were {hypothesis}",
}
_SECOND_TESTS = {
    "alike in every stratum": "no stratum has a gap",
    "no difference in either rate": "neither rate differs",
}
"""What a second test tests, as a clause, where its hypothesis is none."""


def backing(finding: Finding) -> str:
    """What the evidence says of a value beside its limit; empty where the limit asks for none."""
    if not finding.not_cleared:
        return _WITHIN.get(finding.backing, "").format(hypothesis=hypothesis(finding))
    if finding.backing is Backing.NOT_SIGNIFICANT and _differs_elsewhere(finding):
        return (
            "beyond the limit, not significant: not cleared; the groups differ, but no pair beyond "
            "the limit differs significantly"
        )
    if finding.backing is Backing.NOT_SIGNIFICANT and _is_significant_alone(finding):
        return (
            "beyond the limit, not significant: not cleared; significant by itself, not among "
            "all tests of the spec"
        )
    if finding.backing in _BEYOND:
        text = _BEYOND[finding.backing].format(hypothesis=hypothesis(finding))
        return f"beyond the limit, {text}"
    # The limit that warns decides, and the one that fails is crossed, too.
    return (
        f"beyond the limit that fails ({finding.check.fail}), without the required evidence: not "
        "cleared"
    )


def hypothesis(finding: Finding) -> str:
    """What the test of a finding tests, in words behind "p of"."""
    check = finding.check
    return check.hypothesis if isinstance(check, Check) else NO_DISPARITY


def _is_significant_alone(finding: Finding) -> bool:
    """Whether only the correction for the other tests takes the significance away."""
    test = None if finding.estimate is None else finding.estimate.significance
    alpha = finding.check.inference.alpha
    return test is not None and test.p < alpha <= test.adjusted


def _differs_elsewhere(finding: Finding) -> bool:
    """Whether groups differ significantly, though not those whose value is beyond the limit."""
    test = None if finding.estimate is None else finding.estimate.significance
    return test is not None and test.adjusted < finding.check.inference.alpha


def missing(finding: Finding) -> str:
    """What missing values could change, behind a semicolon; empty where none is missing."""
    bounds = finding.missing
    if bounds is None:
        return ""
    lacking = ((bounds.missing_outcome, "a label or outcome"), (bounds.missing_group, "a group"))
    people = " and ".join(
        f"{numbers.whole(n)} {'person lacks' if n == 1 else 'people lack'} {what}"
        for n, what in lacking
        if n
    )
    if bounds.low is None or bounds.high is None:
        return f"; {people}: no bounds, because {bounds.reason}"
    text = ""
    if people:
        ends = f"between {numbers.number(bounds.low)} and {numbers.number(bounds.high)}"
        text = f"; {people}: {ends}, whatever the missing values are"
    if finding.status is Status.FAIL:
        # Whoever else may be beyond a bound: a check that fails cannot fail the more.
        return text + ("; with them known, the check might not fail" if bounds.turns else "")
    if not bounds.turns:
        return text
    others = [numbers.group_in(other.group, other.stratum) for other in bounds.others]
    groups = numbers.first_few([group for group in others if group], separator="; ")
    text += f"; missing values could put {groups} beyond a limit" if groups else ""
    return f"{text}, which could change the verdict"


def missing_bounds(finding: Finding) -> Iterator[str]:
    """What missing values could change, and the bounds under each assumption about them."""
    if text := missing(finding).removeprefix("; "):
        yield text
    bounds = finding.missing
    if bounds is None:
        return
    assumptions = (
        (
            "people of unknown group stay where they are counted",
            bounds.apart_low,
            bounds.apart_high,
        ),
        (
            "people of unknown group spread over the groups by size",
            bounds.proportional_low,
            bounds.proportional_high,
        ),
    )
    for assumption, low, high in assumptions:
        if low is not None and high is not None:
            ends = dict.fromkeys((numbers.number(low), numbers.number(high)))
            yield f"if {assumption}: {' to '.join(ends)}"


def test(finding: Finding) -> str:
    """The test of a finding behind a comma: its p-value, and that among its family."""
    estimate = finding.estimate
    test = None if estimate is None else estimate.significance
    if test is None or isinstance(finding.check, ReversalCheck):
        return ""
    alpha = finding.check.inference.alpha
    p = numbers.probability(test.p, alpha)
    text = f", p of {hypothesis(finding)} {p} ({numbers.test(test)}"
    text += f"; {numbers.family(test, alpha)} tests)" if test.family > 1 else ")"
    if test.beside is None:
        return text
    second = f"p {numbers.probability(test.beside.p, alpha)} ({test.beside.test})"
    return f"{text}; test that {_second_hypothesis(test.beside.hypothesis)}: {second}"


def _second_hypothesis(hypothesis: str) -> str:
    return _SECOND_TESTS.get(hypothesis, hypothesis)


def tests(finding: Finding) -> Iterator[tuple[str, str]]:
    """The tests of a finding as facts: its own, a second one, and among the family."""
    estimate, alpha = finding.estimate, finding.check.inference.alpha
    test = None if estimate is None else estimate.significance
    if test is None:
        return
    p = numbers.probability(test.p, alpha)
    yield f"test of {hypothesis(finding)}", f"p {p} ({numbers.test(test)})"
    if test.beside is not None:
        second = f"p {numbers.probability(test.beside.p, alpha)} ({test.beside.test})"
        yield f"test that {_second_hypothesis(test.beside.hypothesis)}", second
    if test.family > 1:
        correction = "uncorrected" if test.correction == "none" else f"by {test.correction}"
        adjusted = numbers.probability(test.adjusted, alpha)
        is_search = isinstance(finding.check, SubgroupCheck)
        family = "subgroups searched" if is_search else "tests behind the spec's limits"
        yield (
            "among its family",
            f"p {adjusted}, {correction}, over {numbers.whole(test.family)} {family}",
        )


def facts(finding: Finding) -> Iterator[tuple[str, str]]:
    """How sure a finding is, by name: interval, tests, missing values, people, the baseline."""
    estimate = finding.estimate
    if estimate is not None and not estimate.suppressed:
        if estimate.low is not None and estimate.high is not None:
            level = numbers.confidence(finding.check.inference)
            ends = numbers.bounds(estimate.low, estimate.high)
            yield f"interval, {level}", f"{ends} ({estimate.method})"
        elif estimate.no_interval:
            yield "interval", estimate.no_interval
        yield from tests(finding)
    if text := backing(finding):
        yield "evidence", text
    yield from (("missing", text) for text in missing_bounds(finding))
    yield from (("in people", text) for text in people_affected(finding))
    if finding.practice is not None and finding.practice.shortfall:
        yield "in people", _shortfall(finding.practice)
    if text := few_people(finding):
        yield "few people", text
    yield from _baseline_facts(finding)
    for waived in finding.waived:
        yield "waived", baseline.waiver(waived, finding).removeprefix("waived ")


def _baseline_facts(finding: Finding) -> Iterator[tuple[str, str]]:
    before = finding.before
    if before is None:
        return
    value = "no number" if before.value is None else numbers.number(before.value)
    yield "baseline", f"{before.status}, {value}, {baseline.created(before.earlier)}"
    if before.decided_by and not before.is_decided_alike(finding):
        own = "no number" if before.own is None else numbers.number(before.own)
        groups = "the same groups" if finding.spread else numbers.named_group(finding.first)
        yield "its own", f"{groups} had {own} then; {baseline.deciding_groups(before)} decided"


def people_affected(finding: Finding) -> Iterator[str]:
    """A gap told in people, and whether one person would reverse it."""
    affected = finding.practice
    if affected is None:
        return
    is_open = finding.not_cleared or finding.status is not Status.PASS
    if is_open and affected.to_parity:
        relation = "more than at" if affected.burden else "short of"
        people = "person" if affected.to_parity == 1 else "people"
        side = worse_side(finding)
        group = side.crowd or numbers.named_group(side.group)
        text = f"{group}: {numbers.whole(affected.to_parity)} {people} {relation} "
        text += "the other group's rate"
        if affected.to_limit is not None:
            limit = "more than the limit allows" if affected.burden else "short of the limit"
            text += f", {numbers.whole(affected.to_limit)} {limit}"
        yield text
    if affected.flips and is_open:
        yield "unstable: moving one selection from one group to the other reverses the gap"


def _shortfall(affected: PeopleAffected) -> str:
    """The people of a gap, were both groups at the rate of both together."""
    amount = "too many" if affected.burden else "too few"
    return f"at the rate of both together: {affected.shortfall:,.1f} people {amount}"


def worse_side(finding: Finding) -> Side:
    """The side that the people of a gap belong to: the one with less of what is good."""
    return _sides_of_gap(finding)[0]


def better_side(finding: Finding) -> Side:
    """The side that they are compared with."""
    return _sides_of_gap(finding)[1]


def _sides_of_gap(finding: Finding) -> tuple[Side, Side]:
    affected, part = finding.practice, finding.parts[0]
    assert affected is not None
    assert part.first is not None
    assert part.second is not None
    low, high = sorted((part.first, part.second), key=lambda side: side.estimate.value)
    return (high, low) if affected.burden else (low, high)


def few_people(finding: Finding) -> str:
    """Which gaps a pass on few people may have missed; empty where there are enough."""
    gap = finding.detectable
    if gap is None:
        return ""
    sides = [
        f"{numbers.points(abs(distance)).removeprefix('+')} points {side}"
        for distance, side in ((gap.down, "below"), (gap.up, "above"))
        if not math.isnan(distance)
    ]
    groups = numbers.group_in(gap.group, gap.stratum)
    size = f"{numbers.whole(gap.n)} against {numbers.whole(gap.m)} people"
    level = "" if gap.level is None else f", at level {f'{gap.level:.3g}'.removeprefix('0')}"
    gap_words = (
        f"a gap of less than {' or '.join(sides)}"
        if sides
        else "even the widest possible gap to the other rate"
    )
    power = f"would be found in fewer than {100 * gap.power:g} % of such samples"
    return f"{groups}, {size}: {gap_words} {power}{level}"


def not_judged(finding: Finding) -> Iterator[str]:
    """The groups and strata that a check left out, a line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for row in finding.not_evaluated:
        if not row.blocks:
            detail = f" ({row.detail})" if row.detail else ""
            text = numbers.group_in(row.group, row.stratum) + detail
            by_reason.setdefault(row.reason, []).append(text)
    for reason, groups in by_reason.items():
        listed = numbers.first_few(groups, separator="; ")
        yield f"{names.copied(finding.check.id)}: {reason}{f': {listed}' if listed else ''}"
