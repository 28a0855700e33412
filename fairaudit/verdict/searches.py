"""Judging searches: whether a reversal or a subgroup that one found is beyond its limit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from fairaudit.cube import Group, Ints
from fairaudit.estimate import Estimate, Significance
from fairaudit.simpson import Reversal, ScanResult
from fairaudit.subgroups import Discovery, TestedSubgroups
from fairaudit.verdict.checks import (
    NEAR,
    Backing,
    Limit,
    ReversalCheck,
    ReversalLimit,
    Status,
    SubgroupCheck,
)
from fairaudit.verdict.entries import exclude_group
from fairaudit.verdict.findings import Breach, Finding, NotEvaluated

_MOST_EXACT = 1000
"""Of more subgroups beyond a limit, none is told as a fraction."""


def judge_subgroups(
    check: SubgroupCheck, discovery: Discovery, waived: Collection[Group] = ()
) -> Finding | None:
    """The finding of a gate on subgroups: crossed by one that diverges by more than the limit.

    Where the limit asks for significance, one without it only warns. Those `waived`
    are not judged; None where nobody else is left.
    """
    tested, family = discovery.of(check.rate), discovery.reported.looked_at
    if not len(tested.p):
        least = f"min_size = {discovery.reported.min_size:,}"
        why = f"no subgroup but everybody has {least} in the denominator"
        nobody = NotEvaluated((), (), why, blocks=True)
        limit = check.fail or check.warn
        return Finding(check, Status.INCONCLUSIVE, None, limit, why, not_evaluated=(nobody,))
    halfway: Finding | None = None
    for status, limit in ((Status.FAIL, check.fail), (Status.WARN, check.warn)):
        if limit is None:
            continue
        beyond = _find_beyond(tested, limit, waived)
        sure = beyond
        if limit.significant:
            sure = beyond[tested.adjusted[beyond] < tested.inference.alpha]
        if len(sure):
            finding = _build_finding(check, status, limit, tested, beyond)
            finding = replace(finding, not_cleared=halfway is not None)
            return _name_deciding(finding, tested, _find_farthest(tested, sure), family)
        if len(beyond) and halfway is None:
            # What is to fail warns where it is in doubt; what is to warn says so, and lets pass.
            short = Status.WARN if status is Status.FAIL else Status.PASS
            listed = beyond if short is Status.WARN else beyond[:0]
            finding = _build_finding(check, short, limit, tested, listed)
            finding = replace(finding, backing=Backing.NOT_SIGNIFICANT, not_cleared=True)
            halfway = _name_deciding(finding, tested, _find_farthest(tested, beyond), family)
    remaining = _exclude_waived(tested, np.arange(len(tested.p)), waived)
    if halfway is not None or not len(remaining):
        return halfway
    limit = check.fail or check.warn
    assert limit is not None
    passed = _build_finding(check, Status.PASS, limit, tested, remaining[:0])
    return _name_deciding(passed, tested, _find_farthest(tested, remaining), family)


def _find_beyond(tested: TestedSubgroups, limit: Limit, waived: Collection[Group]) -> Ints:
    """The subgroups beyond a limit, exactly where floats cannot tell."""
    assert limit.above is not None
    size, bound = np.abs(tested.divergence), float(limit.above)
    beyond = size > bound
    for number in np.flatnonzero(np.abs(size - bound) <= NEAR).tolist():
        beyond[number] = limit.crossed(float(size[number]), abs(tested.exact_divergence(number)))
    return _exclude_waived(tested, np.flatnonzero(beyond), waived)


def _exclude_waived(tested: TestedSubgroups, numbers: Ints, waived: Collection[Group]) -> Ints:
    if not waived:
        return numbers
    waived_groups = {frozenset(group) for group in waived}
    stays = [
        frozenset(tested.entries.group(number)) not in waived_groups for number in numbers.tolist()
    ]
    return numbers[np.array(stays, dtype=np.bool_)]


def _find_farthest(tested: TestedSubgroups, numbers: Ints) -> int:
    """The one that diverges most; ties: larger n, then the first."""
    size = np.abs(tested.divergence[numbers])
    order = np.lexsort((numbers, -tested.entries.under[numbers], -size))
    return int(numbers[order[0]])


def _build_finding(
    check: SubgroupCheck, status: Status, limit: Limit, tested: TestedSubgroups, beyond: Ints
) -> Finding:
    crossed = _list_breaches(tested, beyond, limit)
    backing = Backing.SUPPORTED if limit.significant else Backing.UNASKED
    return Finding(check, status, None, limit, "", crossed=crossed, backing=backing)


def _list_breaches(tested: TestedSubgroups, beyond: Ints, limit: Limit) -> tuple[Breach, ...]:
    """All subgroups beyond the limit, the farthest first."""
    size = np.abs(tested.divergence)
    order = beyond[np.lexsort((beyond, -size[beyond]))].tolist()
    breaches = []
    for number in order:
        group = tested.entries.group(number)
        exact = abs(tested.exact_divergence(number)) if len(order) <= _MOST_EXACT else None
        sure = tested.adjusted[number] < tested.inference.alpha
        backing = Backing.UNASKED
        if limit.significant:
            backing = Backing.SUPPORTED if sure else Backing.NOT_SIGNIFICANT
        lower = bool(tested.divergence[number] < 0)
        breaches.append(Breach(group, (), float(size[number]), exact, (group,), backing, lower))
    return tuple(breaches)


def _name_deciding(finding: Finding, tested: TestedSubgroups, number: int, family: int) -> Finding:
    """The finding with the subgroup that decides; its value is how far it lies from everybody."""
    chosen = tested.describe(number)
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


def judge_reversals(check: ReversalCheck, scanned: ScanResult) -> Finding:
    """The finding of a gate on reversals: crossed by one of that kind, or a stronger one.

    What asks for significance and has none is in doubt: it warns where it would fail, and is told
    where it would warn.
    """
    reversals = [
        reversal
        for reversal in scanned.found
        if reversal.rate == check.rate and reversal.of == check.of
    ]
    left_out = [
        exclude_group(group, (), aside) if group else NotEvaluated((), (), aside.why, blocks=False)
        for group, aside in scanned.left_out
    ]
    left_out += [NotEvaluated((), (), why, blocks=True) for why in scanned.too_many]
    doubt: Finding | None = None
    for status, bound in ((Status.FAIL, check.fail), (Status.WARN, check.warn)):
        reaching = [
            reversal
            for reversal in reversals
            if bound and reversal.kind.strength >= bound.kind.strength
        ]
        if bound is None or not reaching:
            continue
        listed = reaching
        if bound.significant:
            listed = [
                reversal for reversal in reaching if reversal.is_significant(check.inference.alpha)
            ]
        if listed:
            backing = Backing.SUPPORTED if bound.significant else Backing.UNASKED
            proven = _build_reversal_finding(check, status, bound, left_out, listed, backing)
            return replace(proven, not_cleared=doubt is not None)
        if doubt is None:
            short = Status.WARN if status is Status.FAIL else Status.PASS
            doubt = _build_reversal_finding(
                check, short, bound, left_out, reaching, Backing.NOT_SIGNIFICANT
            )
            doubt = replace(doubt, not_cleared=True)
    limit = check.fail or check.warn
    if not scanned.compared.get(check.rate):
        why = "no two groups could be compared in two strata or more"
        left_out.append(NotEvaluated((), (), why, blocks=True))
    reasons = [item.reason for item in left_out if item.blocks]
    if reasons and (doubt is None or doubt.status is Status.PASS):
        why = "; ".join(dict.fromkeys(reasons))
        finding = _build_reversal_finding(check, Status.INCONCLUSIVE, limit, left_out)
        return replace(finding, why=why, not_cleared=doubt is not None)
    return doubt or _build_reversal_finding(check, Status.PASS, limit, left_out)


def _build_reversal_finding(
    check: ReversalCheck,
    status: Status,
    bound: ReversalLimit | None,
    left_out: Sequence[NotEvaluated],
    reversals: Sequence[Reversal] = (),
    backing: Backing = Backing.UNASKED,
) -> Finding:
    return Finding(
        check,
        status,
        None,
        bound,
        "",
        not_evaluated=tuple(left_out),
        reversals=tuple(reversals),
        backing=backing,
    )
