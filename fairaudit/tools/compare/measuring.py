"""One change: its value, interval, test and direction.

Shares are tested by their counts, means by Welch's test. For other numbers, the variance is
computed from their intervals (MOVER: Zou & Donner 2008), and the change is tested by z. Then an
interval excludes "no change" exactly if the p-value is below the level. The limit of a check or the
direction of a metric decides whether a change is worse or better; otherwise it is only higher or
lower.
"""

from __future__ import annotations

import math

import numpy as np

from fairaudit.base.arrays import Floats
from fairaudit.base.frozen import Frozen, replace
from fairaudit.evidence.pair_tests import Sample, compare_shares, name_share_test
from fairaudit.evidence.records import MASKED_COUNTS
from fairaudit.evidence.value_intervals import UNPAIRED
from fairaudit.judge import AnyCheck, Check, Limit
from fairaudit.metrics import Better, Disparity, GroupMetric, TableMetric
from fairaudit.metrics.estimate import MASKED_RANGE, Estimate, Significance, State
from fairaudit.metrics.terms import Inference
from fairaudit.stats import distributions, means, multiplicity, proportions
from fairaudit.stats.distributions import normal_critical, normal_two_sided
from fairaudit.stats.proportions import GAP_INTERVAL
from fairaudit.tools.compare.records import Change, Direction, Scale

_NEAR = 1e-12
"""Smaller changes are rounding errors."""

_TOO_LITTLE = "not tested: too little variation to test"


class ChangeTerms(Frozen):
    """The terms for measuring and testing a change; `barred` is the reason not to test it.

    `share` is set if the numbers are shares of people with whole counts. `mean` is set if they are
    means over the people of a group without weights. The worst of `values` values was chosen; the
    test is corrected for this choice (Šidák). `middle` is the value between two sides that are
    equally bad; None if only one side is bad. `same_people` is set if both numbers are of the same
    people: then the change is not due to chance. `unpaired` is set if the dependence of the two
    numbers is unknown: then the interval is valid for any dependence.
    """

    inference: Inference
    barred: str = ""
    same_people: bool = False
    unpaired: bool = False
    scale: Scale = Scale.DIFFERENCE
    share: bool = False
    mean: bool = False
    values: int = 1
    middle: float | None = None


def measure_change(before: Estimate, after: Estimate, terms: ChangeTerms) -> Change:
    """The change between two independent samples. `way` is SAME or UNKNOWN; a caller judges it."""
    change = Change(before, after, terms.scale, math.nan, Direction.UNKNOWN)
    for estimate, when in ((before, "before"), (after, "after")):
        if estimate.state is State.SUPPRESSED:
            return replace(change, why=f"suppressed {when}")
        if estimate.state is State.UNDEFINED:
            because = f": {estimate.reason}" if estimate.reason else ""
            return replace(change, why=f"undefined {when}{because}")
    if before.value == after.value and not math.isfinite(after.value):
        nothing = 1.0 if terms.scale is Scale.RATIO else 0.0
        return replace(
            change, value=nothing, way=Direction.SAME, why="not tested: infinite both times"
        )
    ends = sorted((before.value, after.value))
    turned = terms.middle is not None and ends[0] < terms.middle < ends[1]
    base, now = before, after
    if turned and terms.scale is Scale.RATIO and before.value == 0:
        # A ratio of 0 cannot be mirrored.
        now = _mirror(after, terms)
    elif turned:
        base = _mirror(before, terms)
    if terms.scale is Scale.RATIO and 0 in ends:
        # A ratio of 0 has no logarithm, but its difference has an interval.
        terms = replace(terms, scale=Scale.DIFFERENCE)
    nothing = 1.0 if terms.scale is Scale.RATIO else 0.0
    with np.errstate(all="ignore"):
        later, earlier = np.float64(now.value), np.float64(base.value)
        value = float(later / earlier if terms.scale is Scale.RATIO else later - earlier)
    change = replace(
        change, scale=terms.scale, value=value, turned=turned, certain=terms.same_people
    )
    if abs(value - nothing) <= _NEAR:
        change = replace(change, way=Direction.SAME)
    if terms.barred and not terms.unpaired:
        return replace(change, why=terms.barred)
    if MASKED_RANGE in {before.method, after.method}:
        return replace(change, why=f"not tested: {MASKED_COUNTS}")
    return replace(_test_change(replace(change, after=now), base, terms), after=after)


def _mirror(estimate: Estimate, terms: ChangeTerms) -> Estimate:
    """The estimate, mirrored at the middle of the two sides."""
    middle = terms.middle
    assert middle is not None

    def turn(value: float | None) -> float | None:
        if value is None:
            return None
        if terms.scale is Scale.RATIO:
            return middle * middle / value if value else math.inf
        return 2 * middle - value

    value = turn(estimate.value)
    assert value is not None
    return replace(
        estimate,
        value=value,
        low=turn(estimate.high),
        high=turn(estimate.low),
        numerator=None,
        method="",
    )


def _test_change(change: Change, base: Estimate, terms: ChangeTerms) -> Change:
    after = change.after
    if not (math.isfinite(base.value) and math.isfinite(after.value)):
        return replace(change, why="not tested: infinite")
    if terms.unpaired:
        change = _test_by_intervals(change, base, terms)
        method = "" if change.low is None else UNPAIRED
        return replace(change, method=method, significance=None, why=terms.barred)
    if terms.share and base.numerator is not None and after.numerator is not None:
        # The test is z or Fisher's test, and the interval is Newcombe's.
        sides = _make_sample(after), _make_sample(base)
        p, exact = compare_shares(*sides, terms.inference)
        level = multiplicity.sidak_level(terms.inference.alpha, terms.values)
        name = name_share_test(exact=bool(exact[0]), inference=terms.inference)
        ends = proportions.gap_interval(*sides[0][:2], *sides[1][:2], level)
        return _add_test(change, ends, GAP_INTERVAL, p, name, terms)
    if terms.mean and base.method == after.method == "Student":
        # Welch's t-test, whose sums of squares are computed from Student's intervals.
        alpha, moments = terms.inference.alpha, list[means.Summary]()
        for estimate in (after, base):
            low, high, n = estimate.low, estimate.high, estimate.n
            if low is None or high is None or n is None or n < 2:
                return replace(change, why=_TOO_LITTLE)
            error = (high - low) / 2 / float(distributions.t_critical(np.array(n - 1.0), alpha))
            squares = np.array(error * error * n * (n - 1))
            moments.append(means.Summary(np.array(estimate.value), squares, np.array(float(n))))
        gap = means.welch(*moments)
        *_, p = gap.test()
        ends = gap.ends(multiplicity.sidak_level(alpha, terms.values))
        return _add_test(change, ends, "Welch", p, "Welch", terms)
    return _test_by_intervals(change, base, terms)


def _make_sample(estimate: Estimate) -> Sample:
    assert estimate.numerator is not None
    assert estimate.denominator is not None
    return Sample.of_counts(np.array([estimate.numerator]), np.array([estimate.denominator]))


def _test_by_intervals(change: Change, base: Estimate, terms: ChangeTerms) -> Change:
    """The change with a test that takes the variance of each number from its interval."""
    later, alpha = change.after, terms.inference.alpha
    for estimate in (base, later):
        if estimate.low is None or estimate.high is None:
            why = estimate.no_interval.removeprefix("none: ") or "it has no interval"
            return replace(change, why=f"not tested: {why}")
    error = later.error + base.error
    if error and terms.scale is Scale.RATIO:
        return replace(change, why="not tested: the rounding by bins has no logarithm")
    # Value and bounds of both numbers, in logarithms if the change is a ratio.
    ends_of = [[one.value, one.low, one.high] for one in (later, base)]
    after, before = np.array(ends_of, dtype=np.float64)
    if terms.scale is Scale.RATIO:
        with np.errstate(divide="ignore"):
            after, before = np.log(after), np.log(before)
    r = np.array(-1.0) if terms.unpaired else None
    low, high = proportions.mover_difference(
        after[0], (after[1], after[2]), before[0], (before[1], before[2]), r
    )
    gap = float(after[0] - before[0])
    reach = float(gap - low if gap > 0 else high - gap)
    critical = float(normal_critical(alpha))
    with np.errstate(all="ignore"):
        z = max(abs(gap) - error, 0.0) / np.float64(reach) * critical if gap else 0.0
    p = normal_two_sided(np.array([0.0 if math.isnan(z) else z]))
    # For the worst of several values, the interval is widened by the ratio of critical values.
    longer = float(normal_critical(multiplicity.sidak_level(alpha, terms.values))) / critical
    ends = gap - (gap - low) * longer - error, gap + (high - gap) * longer + error
    if terms.scale is Scale.RATIO:
        with np.errstate(all="ignore"):
            ends = np.exp(ends[0]), np.exp(ends[1])
    return _add_test(change, ends, "MOVER", p, "z by MOVER", terms)


def _add_test(
    change: Change,
    ends: tuple[Floats, Floats],
    method: str,
    p: Floats,
    test: str,
    terms: ChangeTerms,
) -> Change:
    """The change with its interval and its test, before correction over the family."""
    low, high = (float(np.ravel(end)[0]) for end in ends)
    corrected = float(np.ravel(multiplicity.sidak(p, terms.values))[0])
    if terms.values > 1:
        method, test = (f"{name}, Šidák over {terms.values} values" for name in (method, test))
    if math.isnan(corrected) or math.isnan(low) or math.isnan(high):
        return replace(change, why=_TOO_LITTLE)
    significance = Significance(test, corrected, corrected, 1, "none")
    return replace(change, low=low, high=high, method=method, significance=significance)


def judge_by_metric(
    change: Change, metric: GroupMetric | None, *, favourable: bool | None
) -> Direction:
    """The direction of a rate: better or worse for the group if the metric has a direction.

    `favourable` says whether the positive is a benefit. None: unknown, as for a single class.
    """
    if change.way is Direction.SAME or math.isnan(change.value):
        return change.way
    better = Better.NEITHER if metric is None else metric.better.given(favourable=favourable)
    if better is Better.NEITHER:
        return Direction.HIGHER if _rises(change) else Direction.LOWER
    is_better = _rises(change) is (better is Better.HIGHER)
    return Direction.BETTER if is_better else Direction.WORSE


def judge_by_limit(change: Change, check: AnyCheck, terms: ChangeTerms) -> Direction:
    """The direction of a check's value: a value is worse if it is farther beyond its limit.

    With two bounds, a value is worse if it is farther from the middle, which is parity if known.
    """
    limit = check.fail or check.warn
    if change.way is Direction.SAME or math.isnan(change.value) or not isinstance(limit, Limit):
        return change.way
    before, after = change.before.value, change.after.value
    if terms.middle is None:
        then, now = before, after
        if (
            isinstance(check, Check)
            and check.against is None
            and isinstance(check.metric, Disparity)
        ):
            # A group that is ahead of its reference is not worse off if the lead shrinks.
            parity = float(check.metric.ideal)
            if limit.below is not None and float(limit.below) <= parity:
                then, now = min(then, parity), min(now, parity)
            elif limit.above is not None and float(limit.above) >= parity:
                then, now = max(then, parity), max(now, parity)
        then, now = limit.excess(then), limit.excess(now)
        if then == now:  # the value changed only on the side without a limit
            return Direction.HIGHER if after > before else Direction.LOWER
        farther = now > then
    else:
        # Compare both numbers on the side of the later number. If this is the middle, or if the
        # earlier number is a ratio of 0 (which has no mirror), use the side of the earlier number.
        is_nothing = terms.scale is Scale.RATIO and before == 0
        side = before if is_nothing or after == terms.middle else after
        farther = _rises(change) is (side > terms.middle)
    return Direction.WORSE if farther else Direction.BETTER


def find_middle(check: Check) -> float | None:
    """The value between the two sides of a limit with two bounds; None for other limits.

    The value is parity. Without parity, as for a bare rate, it is the centre of the bounds.
    """
    limit = check.fail or check.warn
    if limit is None or limit.below is None or limit.above is None:
        return None
    parity = find_parity(check)
    return (float(limit.below) + float(limit.above)) / 2 if parity is None else parity


def find_parity(check: Check) -> float | None:
    """The value of a check without disparity; None if the metric does not define it."""
    metric = check.metric
    if check.against is not None:
        return 0.0
    if isinstance(metric, GroupMetric) or (isinstance(metric, TableMetric) and metric.parity):
        return None
    return float(metric.ideal)


def _rises(change: Change) -> bool:
    return change.value > (1 if change.scale is Scale.RATIO else 0)
