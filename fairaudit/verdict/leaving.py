"""Checks and those who leave the audit: groups that are gone, rows that could turn a verdict."""

from __future__ import annotations

from collections.abc import Iterable

from fairaudit.cube import ExcludeBelow, Group, LostGroup
from fairaudit.evidence.missing_bounds import may_cross
from fairaudit.metrics import Eligibility, Evaluation, describe_groups
from fairaudit.verdict.asked import Check, Limit, Status
from fairaudit.verdict.collecting import collect
from fairaudit.verdict.findings import NotEvaluated

COULD_TURN = NotEvaluated(
    (),
    (),
    "rows that `others: drop` leaves out could put it beyond the limit: say of their values what "
    "is `positive` and `negative`, or leave them out by name in `filter`",
    blocks=True,
)


def of_gone(
    check: Check, gone: Iterable[LostGroup], rule: ExcludeBelow | None
) -> list[NotEvaluated]:
    """The groups that were seen and cannot be judged: they leave the check open.

    Unless the spec would set such a group aside in any case, as too small.
    """
    found, open_by = list[NotEvaluated](), dict[tuple[Group, str], list[Group]]()
    for one in gone:
        standing = None
        if rule is not None and one.share < rule.share:
            standing = Eligibility.EXCLUDED
        elif check.terms.minimum.size is not None and one.people < check.terms.minimum.size:
            standing = Eligibility.SMALL
        else:
            open_by.setdefault((one.stratum, one.why), []).append(one.group)
            continue
        found.append(NotEvaluated(one.group, one.stratum, one.why, blocks=False, standing=standing))
    for (stratum, why), groups in open_by.items():
        reason = f"in the data and not judged: {describe_groups(groups)} ({why})"
        found += [NotEvaluated(group, stratum, reason, blocks=True) for group in groups]
    return found


def could_cross(
    check: Check, status: Status, wide: Evaluation, tried: Iterable[Evaluation]
) -> bool:
    """Whether people of unknown outcome could make a check that does not fail worse.

    `wide` is the evaluation with them, their outcome unknown; `tried` are evaluations in which each
    has one, for measures without bounds and groups that may only then be large enough.
    """
    limits = [check.fail] if status is Status.WARN else [check.fail, check.warn]
    asked = [one for one in limits if one is not None]
    bounded = [may_cross(wide, limit) for limit in asked]
    if True in bounded:
        return True
    minimum = check.terms.minimum.size is not None or check.terms.minimum.events is not None
    if None not in bounded and not minimum:
        return False
    return any(_crosses(check, one, asked) for one in tried)


def _crosses(check: Check, evaluation: Evaluation, limits: Iterable[Limit]) -> bool:
    entries, _ = collect(check, evaluation)
    return any(limit.crossed(one.value, one.exact) for one in entries for limit in limits)
