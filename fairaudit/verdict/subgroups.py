"""Judging a search for subgroups: whether one diverges from everybody by more than a limit."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from fairaudit.cube import Group, Ints
from fairaudit.estimate import Estimate, Significance
from fairaudit.subgroups import Discovery, TestedSubgroups
from fairaudit.verdict.asked import NEAR, Backing, Limit, Status, SubgroupCheck
from fairaudit.verdict.findings import Crossing, Finding, NotEvaluated

_MOST_EXACT = 1000
"""Of more subgroups beyond a limit, none is told as a fraction."""


def judge_subgroups(
    check: SubgroupCheck, found: Discovery, waived: Collection[Group] = ()
) -> Finding | None:
    """The finding of a gate on subgroups: crossed by one that diverges by more than the limit.

    Where the limit asks for significance, one without it only warns. Those `waived`
    are not judged; None where nobody else is left.
    """
    tested, family = found.of(check.rate), found.reported.looked_at
    if not len(tested.p):
        size = found.reported.min_size
        why = f"no subgroup but everybody has min_size = {size:,} in the denominator"
        nobody = NotEvaluated((), (), why, blocks=True)
        limit = check.fail or check.warn
        return Finding(check, Status.INCONCLUSIVE, None, limit, why, not_evaluated=(nobody,))
    halfway: Finding | None = None
    for status, limit in ((Status.FAIL, check.fail), (Status.WARN, check.warn)):
        if limit is None:
            continue
        beyond = _beyond(tested, limit, waived)
        sure = beyond
        if limit.significant:
            sure = beyond[tested.adjusted[beyond] < tested.inference.alpha]
        if len(sure):
            finding = _crossed(check, status, limit, tested, beyond)
            finding = replace(finding, not_cleared=halfway is not None)
            return _told(finding, tested, _farthest(tested, sure), family)
        if len(beyond) and halfway is None:
            # What is to fail warns where it is in doubt; what is to warn says so, and lets pass.
            short = Status.WARN if status is Status.FAIL else Status.PASS
            told = beyond if short is Status.WARN else beyond[:0]
            finding = _crossed(check, short, limit, tested, told)
            finding = replace(finding, backing=Backing.NOT_SIGNIFICANT, not_cleared=True)
            halfway = _told(finding, tested, _farthest(tested, beyond), family)
    left = _left(tested, np.arange(len(tested.p)), waived)
    if halfway is not None or not len(left):
        return halfway
    limit = check.fail or check.warn
    assert limit is not None
    passed = _crossed(check, Status.PASS, limit, tested, left[:0])
    return _told(passed, tested, _farthest(tested, left), family)


def _beyond(tested: TestedSubgroups, limit: Limit, waived: Collection[Group]) -> Ints:
    """The subgroups beyond a limit, exactly where floats cannot tell."""
    assert limit.above is not None
    size, bound = np.abs(tested.divergence), float(limit.above)
    beyond = size > bound
    for at in np.flatnonzero(np.abs(size - bound) <= NEAR).tolist():
        beyond[at] = limit.crossed(float(size[at]), abs(tested.exact_divergence(at)))
    return _left(tested, np.flatnonzero(beyond), waived)


def _left(tested: TestedSubgroups, which: Ints, waived: Collection[Group]) -> Ints:
    if not waived:
        return which
    taken = {frozenset(group) for group in waived}
    stays = [frozenset(tested.entries.group(at)) not in taken for at in which.tolist()]
    return which[np.array(stays, dtype=np.bool_)]


def _farthest(tested: TestedSubgroups, which: Ints) -> int:
    """The one that diverges most; ties: larger n, then the first."""
    size = np.abs(tested.divergence[which])
    order = np.lexsort((which, -tested.entries.under[which], -size))
    return int(which[order[0]])


def _crossed(
    check: SubgroupCheck, status: Status, limit: Limit, tested: TestedSubgroups, beyond: Ints
) -> Finding:
    crossed = _crossings(tested, beyond, limit)
    backing = Backing.SUPPORTED if limit.significant else Backing.UNASKED
    return Finding(check, status, None, limit, "", crossed=crossed, backing=backing)


def _crossings(tested: TestedSubgroups, beyond: Ints, limit: Limit) -> tuple[Crossing, ...]:
    """All subgroups beyond the limit, the farthest first."""
    size = np.abs(tested.divergence)
    order = beyond[np.lexsort((beyond, -size[beyond]))].tolist()
    found = []
    for at in order:
        group = tested.entries.group(at)
        exact = abs(tested.exact_divergence(at)) if len(order) <= _MOST_EXACT else None
        sure = tested.adjusted[at] < tested.inference.alpha
        backing = Backing.UNASKED
        if limit.significant:
            backing = Backing.SUPPORTED if sure else Backing.NOT_SIGNIFICANT
        lower = bool(tested.divergence[at] < 0)
        found.append(Crossing(group, (), float(size[at]), exact, (group,), backing, lower))
    return tuple(found)


def _told(finding: Finding, tested: TestedSubgroups, at: int, family: int) -> Finding:
    """The finding with the subgroup that decides; its value is how far it lies from everybody."""
    chosen = tested.describe(at)
    low, high = chosen.ends
    correction = tested.inference.correction.words
    estimate = Estimate(
        abs(chosen.divergence),
        n=chosen.under,
        exact=abs(chosen.exact),
        numerator=chosen.over,
        denominator=chosen.under,
        low=low,
        high=high,
        method="Newcombe, mapped",
        significance=Significance(chosen.test, chosen.p, chosen.adjusted, family, correction),
    )
    return replace(finding, estimate=estimate, first=chosen.group, subgroup=chosen)
