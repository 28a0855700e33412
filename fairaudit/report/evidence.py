"""What backs a finding, in words: its evidence, the sides of its gap, who was not judged."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairaudit.evidence import Side
from fairaudit.metrics.definitions import NO_DISPARITY
from fairaudit.report import numbers
from fairaudit.verdict import Backing, Check, Finding

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


def backing(finding: Finding) -> str:
    """What the evidence says of a value beside its limit; empty where the limit asks for none."""
    if not finding.not_cleared:
        return _WITHIN.get(finding.backing, "").format(hypothesis=hypothesis(finding))
    if is_of_others(finding):
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
    """What the test of a finding tests, in words behind "against"."""
    check = finding.check
    return check.hypothesis if isinstance(check, Check) else NO_DISPARITY


def _is_significant_alone(finding: Finding) -> bool:
    """Whether only the correction for the other tests takes the significance away."""
    test = None if finding.estimate is None else finding.estimate.significance
    alpha = finding.check.inference.alpha
    return test is not None and test.p < alpha <= test.adjusted


def is_of_others(finding: Finding) -> bool:
    """Whether groups differ significantly, though not those whose value is beyond the limit."""
    if not finding.not_cleared or finding.backing is not Backing.NOT_SIGNIFICANT:
        return False
    test = None if finding.estimate is None else finding.estimate.significance
    return test is not None and test.adjusted < finding.check.inference.alpha


def sides_of_gap(finding: Finding) -> tuple[Side, Side]:
    """The side that the people of a gap belong to, with less of what is good, and the other."""
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
        yield f"{reason}{f': {listed}' if listed else ''}"
