"""Direction of one changed value: worse or better, by a check's limit or the metric's direction.

`measuring.py` says whether it changed at all; without a limit, and of a metric whose sides are
alike, it is only higher or lower.
"""

from __future__ import annotations

import math

from fairaudit.judge import AnyCheck, Check, Limit
from fairaudit.metrics import Better, Disparity, GroupMetric, TableMetric
from fairaudit.tools.compare.measuring import ChangeTerms
from fairaudit.tools.compare.records import Change, Direction, Scale


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
    """The direction of a check's value: worse is farther beyond its limit, or nearer to it.

    Where the limit has two bounds, worse is farther from the middle, which is parity if there is.
    """
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
        # Both numbers lie on the side of the later one; on that of the earlier one where the later
        # one is on neither side, or the earlier one is a ratio of 0, which has no mirror.
        is_nothing = terms.scale is Scale.RATIO and before == 0
        side = before if is_nothing or after == terms.middle else after
        farther = _rises(change) is (side > terms.middle)
    return Direction.WORSE if farther else Direction.BETTER


def find_middle(check: Check) -> float | None:
    """Where one side ends and the other begins, of a limit with two bounds; None of others.

    That is parity; without a parity, as of a bare rate, what lies as far from both bounds.
    """
    limit = check.fail or check.warn
    if limit is None or limit.below is None or limit.above is None:
        return None
    parity = find_parity(check)
    return (float(limit.below) + float(limit.above)) / 2 if parity is None else parity


def find_parity(check: Check) -> float | None:
    """The value of a check where there is no disparity; None where no number says that."""
    metric = check.metric
    if check.against is not None:
        return 0.0
    if isinstance(metric, GroupMetric) or (isinstance(metric, TableMetric) and metric.parity):
        return None
    return float(metric.ideal)


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
