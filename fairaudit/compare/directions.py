"""Direction of a change: worse or better, by a check's limit or by the metric's direction.

`measuring.py` says whether it changed at all; without a limit, and of a metric whose sides are
alike, it is only higher or lower.
"""

from __future__ import annotations

import math

from fairaudit.compare.measuring import ChangeTerms
from fairaudit.compare.records import Change, Direction, Scale
from fairaudit.metrics import Better, Disparity, GroupMetric
from fairaudit.verdict import AnyCheck, Check, Limit


def judge_by_metric(
    change: Change, metric: GroupMetric | None, *, favourable: bool | None
) -> Direction:
    """The direction of a group's rate: better or worse for the group, where either way is.

    `favourable` is whether the positive is a benefit, None where nobody says, as of one class.
    """
    if change.way is Direction.SAME or math.isnan(change.value):
        return change.way
    better = Better.NEITHER if metric is None else metric.better.given(favourable=favourable)
    if better is Better.NEITHER:
        return Direction.HIGHER if _rises(change) else Direction.LOWER
    is_better = _rises(change) is (better is Better.HIGHER)
    return Direction.BETTER if is_better else Direction.WORSE


def judge_by_limit(change: Change, check: AnyCheck, terms: ChangeTerms) -> Direction:
    """The direction of a check's value: worse is farther beyond its limit, or nearer to it."""
    limit = check.fail or check.warn
    if change.way is Direction.SAME or math.isnan(change.value) or not isinstance(limit, Limit):
        return change.way
    before, after = change.before.value, change.after.value
    if terms.middle is None:
        then, now = (limit.excess(_clip_at_parity(side, check, limit)) for side in (before, after))
        if then == now:  # on the side of parity where the limit does not look
            return Direction.HIGHER if after > before else Direction.LOWER
        farther = now > then
    else:
        # Both numbers lie on the side of the later one, or of a ratio of 0, which has no mirror.
        side = before if terms.scale is Scale.RATIO and before == 0 else after
        farther = _rises(change) is (side > terms.middle)
    return Direction.WORSE if farther else Direction.BETTER


def _clip_at_parity(value: float, check: AnyCheck, limit: Limit) -> float:
    """A value, or parity where it lies beyond parity and the limit on the other side.

    A group that is ahead of its reference is no worse off when it is less so.
    """
    if not isinstance(check, Check) or check.against is not None:
        return value
    if not isinstance(check.metric, Disparity):
        return value
    ideal = float(check.metric.ideal)
    if limit.below is not None and limit.above is None and float(limit.below) <= ideal:
        return min(value, ideal)
    if limit.above is not None and limit.below is None and float(limit.above) >= ideal:
        return max(value, ideal)
    return value


def _rises(change: Change) -> bool:
    return change.value > (1 if change.scale is Scale.RATIO else 0)
