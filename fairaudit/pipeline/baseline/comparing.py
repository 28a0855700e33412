"""Compares findings with the baseline: what is new or worse fails, what is as before warns."""

from __future__ import annotations

import math
from fractions import Fraction

from fairaudit.base.frozen import replace
from fairaudit.cube import Group
from fairaudit.judge import (
    Before,
    Breach,
    Check,
    Earlier,
    Finding,
    Limit,
    ReversalCheck,
    Status,
    SubgroupCheck,
    status_of_unevaluated,
    worst_status,
)
from fairaudit.judge.simpson import Reversal
from fairaudit.pipeline.baseline.earlier_report import (
    PROVEN,
    Baseline,
    PreviousFinding,
    breach_key,
    groups_of,
    place_of,
    reversal_key,
)

_NEAR = 1e-12
"""Where there are no fractions, less than this is rounding: the same value, not a worse one."""


def compare(finding: Finding, baseline: Baseline) -> Finding:
    """The finding compared with the baseline: what fails no worse than before is a warning.

    A value beyond the limit is as before where the same group (and stratum) was beyond it, by no
    less than the tolerance allows. What could not be evaluated stays open.
    """
    previous = baseline.checks[finding.check.id]
    own = previous.own.get(place_of(finding))
    before = Before(
        baseline.earlier,
        previous.status,
        previous.value,
        _worse_by(finding, own),
        own=own,
        decided_by=previous.decided_by,
        stratum=previous.stratum,
    )
    check = finding.check
    if finding.status is not Status.FAIL:
        return replace(finding, before=before)
    if isinstance(check, ReversalCheck):
        new = tuple(
            reversal
            for reversal in finding.reversals
            if _is_new(reversal, check, previous, baseline)
        )
        before = replace(before, reversals=new)
    else:
        failed = (breach for breach in finding.crossed if breach.backing in PROVEN)
        worse = tuple(
            breach for breach in failed if _is_worse(breach, previous, check, baseline.earlier)
        )
        before = replace(
            before,
            worse=worse,
            own_worse=tuple(_previous_value(breach, previous) for breach in worse),
            between=_previous_groups(finding, previous),
        )
    as_before = not before.worse and not before.reversals
    status = worst_status(Status.WARN, status_of_unevaluated(finding)) if as_before else Status.FAIL
    return replace(finding, status=status, before=before)


def _previous_value(breach: Breach, previous: PreviousFinding) -> float | None:
    """The earlier value of a group that is beyond its limit now, with its sign."""
    was = previous.crossed.get(breach_key(breach))
    return previous.own.get(breach_key(breach)[:2]) if was is None else was.signed_value


def _previous_groups(finding: Finding, previous: PreviousFinding) -> tuple[Group, ...]:
    """The groups of the spread before, where it is between others now."""
    for breach in finding.crossed:
        was = previous.crossed.get(breach_key(breach))
        if finding.spread and was is not None and groups_of(was) != groups_of(breach):
            return was.between
    return ()


def _is_new(
    reversal: Reversal, check: ReversalCheck, previous: PreviousFinding, baseline: Baseline
) -> bool:
    """Whether the baseline lists no such reversal, of that kind or a stronger one.

    One that was waived there was not accepted for good, nor one that was not proven yet.
    """
    was = baseline.reversals.get(reversal_key(reversal))
    if was is None or previous.status not in {Status.FAIL, Status.WARN}:
        return True
    needs_proof = check.fail is not None and check.fail.significant
    proven = was.adjusted is not None and was.adjusted < check.inference.alpha
    return was.kind.strength < reversal.kind.strength or (needs_proof and not proven)


def _is_worse(
    breach: Breach, previous: PreviousFinding, check: Check | SubgroupCheck, earlier: Earlier
) -> bool:
    """Whether a value is beyond the limit where none was, or farther by more than is allowed."""
    was, limit = previous.crossed.get(breach_key(breach)), check.fail
    if was is None or limit is None:
        return True
    side = _side_beyond(breach, limit)
    if not side.is_crossed(was.value, was.exact):
        return True
    if math.isinf(breach.value) or math.isinf(was.value):
        return math.isinf(breach.value) and not math.isinf(was.value)
    sign = -1 if side.above is None else 1
    if breach.exact is not None and was.exact is not None:
        return sign * (breach.exact - was.exact) > Fraction(earlier.tolerance)
    return sign * (breach.value - was.value) > float(earlier.tolerance) + _NEAR


def _side_beyond(breach: Breach, limit: Limit) -> Limit:
    """The bound of a limit that a value is beyond."""
    below = replace(limit, above=None)
    too_low = limit.below is not None and below.is_crossed(breach.value, breach.exact)
    return below if too_low else replace(limit, below=None)


def _worse_by(finding: Finding, own: float | None) -> float | None:
    """How much farther out a group's value is than its own was; None where one is no number."""
    estimate, limit = finding.estimate, finding.limit
    if estimate is None or not isinstance(limit, Limit) or own is None:
        return None
    if isinstance(finding.check, SubgroupCheck):
        own = abs(own)
    if math.isinf(estimate.value) and estimate.value == own:
        return 0.0
    apart = limit.excess(estimate.value) - limit.excess(own)
    return apart if math.isfinite(apart) else None
